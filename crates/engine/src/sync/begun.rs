//! The rows that a run has started to bring.

use std::cell::Cell;
use std::sync::Arc;

use lakerace_delta::{Snapshot, entry_digest};
use lakerace_format::Batches;
use lakerace_io::Result;
use serde::{Deserialize, Serialize};

use super::leased::LeasedTarget;
use super::{SyncState, columns_by_stored_name};
use crate::{WriteMode, load};

/// The method of finding changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum ChangeDetection {
    /// By the table's change feed.
    Feed,
    /// By comparing two versions.
    Comparison,
}

/// Changes of which the target may have any part.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct InFlightSync {
    /// The version to which they lead.
    pub version: u64,
    /// The digest of its entry. States of earlier versions lack it.
    #[serde(default)]
    pub entry: Option<u64>,
    /// The method of finding them.
    pub way: ChangeDetection,
}

/// A run that brings the changes up to a version.
pub(super) struct SyncRun<'a> {
    pub target: &'a LeasedTarget<'a>,
    pub to: &'a Snapshot,
    /// The target's state.
    state: &'a SyncState,
    begun: InFlightSync,
    is_noted: Cell<bool>,
    /// The target may lack columns of the version.
    lacks_columns: Cell<bool>,
}

impl<'a> SyncRun<'a> {
    pub fn new(
        target: &'a LeasedTarget<'a>,
        state: &'a SyncState,
        to: &'a Snapshot,
        way: ChangeDetection,
    ) -> Result<Self> {
        let entry = entry_digest(to.table(), to.version())?;
        let begun = InFlightSync { version: to.version(), entry, way };
        let now = columns_by_stored_name(to)?;
        let lacks_columns = state.columns.as_ref().is_none_or(|known| now.keys().any(|name| !known.contains_key(name)));
        let is_noted = Cell::new(state.begun == Some(begun));
        Ok(Self { target, to, state, begun, is_noted, lacks_columns: Cell::new(lacks_columns) })
    }

    /// The version that the target has.
    pub fn from(&self) -> u64 {
        self.state.version
    }

    pub fn key(&self) -> &'a [String] {
        &self.state.key
    }

    /// Returns true if the target may have a part of the changes, by this run or by one that was stopped.
    pub fn is_dirty(&self) -> bool {
        self.is_noted.get() || self.state.begun.is_some()
    }

    /// Puts rows there, or removes them. Nothing is sent where there are none, except for the columns that the target lacks.
    pub fn send(&self, batches: Batches, mode: WriteMode) -> Result<u64> {
        let schema = Arc::clone(batches.schema());
        let mut batches = batches.filter(|batch| !matches!(batch, Ok(batch) if batch.num_rows() == 0));
        let first = batches.next().transpose()?;
        let brings_columns = mode == WriteMode::Upsert && self.lacks_columns.replace(false);
        if first.is_none() && !brings_columns {
            return Ok(0);
        }
        if !self.is_noted.get() {
            self.target.note(&SyncState { begun: Some(self.begun), ..self.state.clone() })?;
            self.is_noted.set(true);
        }
        let batches = Batches::new(schema, first.map(Ok).into_iter().chain(batches));
        let options = self.target.copy_options(mode, self.key());
        Ok(load::run(batches, self.target.target(), None, &options, self.target.follower.job)?.rows)
    }
}
