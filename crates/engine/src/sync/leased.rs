//! A target that a run has the right to write to.

use lakerace_io::Result;

use super::{STATE, SyncState, TableFollower};
use crate::WriteMode;
use crate::database::DatabaseTarget;
use crate::lease::TargetLease;
use crate::options::{CopyOptions, LoadOptions};
use crate::target::CopyTarget;

/// A target, and the right to write to it.
pub(super) struct LeasedTarget<'a> {
    pub follower: &'a TableFollower<'a>,
    pub lease: TargetLease,
}

impl LeasedTarget<'_> {
    /// Notes how far the run is.
    pub fn note(&self, state: &SyncState) -> Result<()> {
        self.lease.write(state)
    }

    /// The target of a load that is a part of this job.
    pub fn target(&self) -> CopyTarget {
        let target = DatabaseTarget::new(self.follower.system, self.follower.target);
        CopyTarget::Database(target.of_job(STATE, self.lease.guard()).adding_columns())
    }

    /// The options of the copy to the target.
    pub fn copy_options(&self, mode: WriteMode, key: &[String]) -> CopyOptions {
        copy_options(self.follower, mode, key)
    }
}

/// The options of a copy to the target of a follower.
pub(super) fn copy_options(follower: &TableFollower<'_>, mode: WriteMode, key: &[String]) -> CopyOptions {
    let given = &follower.options.load;
    let load = LoadOptions {
        key: key.to_vec(),
        batch_rows: given.batch_rows,
        max_rows_per_second: given.max_rows_per_second,
        allow_narrowing: given.allow_narrowing,
        ..LoadOptions::default()
    };
    CopyOptions { mode, load, ..CopyOptions::default() }
}
