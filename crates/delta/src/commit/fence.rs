//! Numbers that the log keeps by name (`txn`): an entry that raises one fails where another entry was faster to raise it.

use lakerace_io::option::RESUME;
use lakerace_io::{Error, Result};

use crate::snapshot::Snapshot;

/// Rows of a load, as an entry of the log counts them (`txn`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LoadRows {
    /// The load's name.
    pub name: String,
    /// The table's count before the entry.
    pub before: Option<u64>,
    /// The table's count after the entry.
    pub after: u64,
}

impl LoadRows {
    /// The number of rows of a load of this name, as counted in the table.
    pub fn counted(snapshot: &Snapshot, name: &str) -> Result<Option<u64>> {
        let kernel = snapshot.kernel().clone();
        let version = snapshot.table().kernel(|engine| kernel.get_app_id_version(name, engine))?;
        Ok(version.and_then(|rows| u64::try_from(rows).ok()))
    }

    pub(super) fn check(&self, snapshot: &Snapshot) -> Result<()> {
        if Self::counted(snapshot, &self.name)? == self.before {
            return Ok(());
        }
        Err(Error::conflict("another run of the same load has written to the table in the meantime")
            .at(snapshot.table().location())
            .advice(format!("run it again: with {RESUME}, or unchanged if the application names its transactions")))
    }

    pub(super) fn version(&self) -> i64 {
        i64::try_from(self.after).unwrap_or(i64::MAX)
    }
}

/// The number of a job in a version of a table. Every commit of the job that has a fence raises it, so that one whose rows were read
/// before another run of the job has committed is a conflict.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommitFence {
    name: String,
    before: Option<u64>,
    /// The number with the commit that passes; `None`: the next one.
    after: Option<u64>,
}

impl CommitFence {
    /// Reads the fence of a job of this name from a version. `None`: there is no table yet.
    pub fn read(snapshot: Option<&Snapshot>, name: &str) -> Result<Self> {
        let before = snapshot.map(|snapshot| LoadRows::counted(snapshot, name)).transpose()?.flatten();
        Ok(Self { name: name.to_owned(), before, after: None })
    }

    /// The fence of a transaction of an application of this name: the commit that passes sets its number in the table.
    pub fn of_transaction(snapshot: Option<&Snapshot>, name: &str, number: u64) -> Result<Self> {
        Ok(Self { after: Some(number), ..Self::read(snapshot, name)? })
    }

    /// The number with the commit that passes.
    pub(crate) fn passed(&self) -> LoadRows {
        let after = self.after.unwrap_or_else(|| self.before.map_or(1, |before| before.saturating_add(1)));
        LoadRows { name: self.name.clone(), before: self.before, after }
    }

    /// The fence after the commit that passed this one.
    pub fn next(&self) -> Self {
        Self { name: self.name.clone(), before: Some(self.passed().after), after: None }
    }

    /// Returns true if a version has this very number.
    pub fn matches(&self, snapshot: &Snapshot) -> Result<bool> {
        Ok(LoadRows::counted(snapshot, &self.name)? == self.before)
    }
}
