//! The entry of a write: it adds files, and may replace all rows or some of them.

use std::collections::BTreeSet;

use delta_kernel::transaction::{Transaction, UpdateTable, UpdateTableOperation};
use lakerace_io::option::REPLACE_WHERE;
use lakerace_io::{Error, Result, WriteMode};

use super::AddedFile;
use super::replace_where::{ReplaceCondition, ReplacedWhere};
use crate::commit::{CommitAction, WriteBase};
use crate::snapshot::Snapshot;

/// The action of a write's commit.
pub(crate) enum WriteAction {
    /// That of a mode.
    Mode(WriteMode),
    /// An overwrite of some partitions of the version that the write is based on.
    Where { base: Box<Snapshot>, replaced: ReplacedWhere },
}

impl WriteAction {
    /// The action of a write to this base.
    ///
    /// # Errors
    /// `NotFound` for a condition where there is no table yet, and those of [`ReplacedWhere::new`].
    pub fn new(base: &WriteBase, mode: WriteMode, condition: Option<&ReplaceCondition>) -> Result<Self> {
        match (condition, base) {
            (None, _) => Ok(Self::Mode(mode)),
            (Some(condition), WriteBase::Existing(snapshot)) => {
                let replaced = ReplacedWhere::new(snapshot, condition.clone())?;
                Ok(Self::Where { base: snapshot.clone(), replaced })
            }
            (Some(_), WriteBase::New { .. }) => {
                Err(Error::not_found("there is no table yet whose rows could be replaced")
                    .advice(format!("omit {REPLACE_WHERE} for the write that creates it")))
            }
        }
    }

    /// Checks the files to add, before the commit.
    ///
    /// # Errors
    /// Those of [`ReplacedWhere::check_files`].
    pub fn check_files(&mut self, files: &[AddedFile]) -> Result<()> {
        match self {
            Self::Mode(_) => Ok(()),
            Self::Where { base, replaced } => replaced.check_files(base, files),
        }
    }

    fn action(&self) -> &dyn CommitAction {
        match self {
            Self::Mode(mode) => mode,
            Self::Where { replaced, .. } => replaced,
        }
    }
}

impl CommitAction for WriteAction {
    fn operation(&self) -> (UpdateTableOperation, Vec<(&'static str, String)>) {
        self.action().operation()
    }

    fn check(&self, snapshot: &Snapshot) -> Result<()> {
        self.action().check(snapshot)
    }

    fn outdated(&self, snapshot: &Snapshot) -> BTreeSet<String> {
        self.action().outdated(snapshot)
    }

    fn stage(&mut self, snapshot: &Snapshot, update: &mut Transaction<UpdateTable>) -> Result<bool> {
        match self {
            Self::Mode(mode) => mode.stage(snapshot, update),
            Self::Where { replaced, .. } => replaced.stage(snapshot, update),
        }
    }
}
