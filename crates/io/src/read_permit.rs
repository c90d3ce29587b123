//! Reads of files of this machine, of which some go on at a time.

use crate::open_files::FileShares;
use crate::wait::Watched;
use crate::{Job, Result};

/// The right to open a file for a read, until it is dropped.
#[derive(Debug)]
pub(crate) struct ReadPermit(());

static READS: Watched<usize> = Watched::new(0);

impl ReadPermit {
    /// Waits for other reads to end, where there are many. Who has a permit must not wait for another one.
    pub(crate) fn take(job: &Job) -> Result<Self> {
        let most = FileShares::of_process().reads;
        *READS.wait_until(job, |reads| Ok(*reads < most))? += 1;
        Ok(Self(()))
    }
}

impl Drop for ReadPermit {
    fn drop(&mut self) {
        *READS.lock() -= 1;
        READS.notify_all();
    }
}

#[cfg(test)]
mod tests;
