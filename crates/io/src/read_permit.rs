//! Reads of files of this machine, with a limited number at a time.

use lakerace_exec::{ProcessLocal, SemaphorePermit, WeightedSemaphore};

use crate::error::Result;
use crate::job::Job;
use crate::open_files::FileShares;

static READS: ProcessLocal<WeightedSemaphore> = ProcessLocal::new(|| WeightedSemaphore::new(u64::MAX));

/// The right to open a file for a read, until it is dropped.
#[derive(Debug)]
pub(crate) struct ReadPermit(#[expect(dead_code, reason = "held until it is dropped")] SemaphorePermit);

impl ReadPermit {
    /// Waits for other reads to end, if there are many. The owner of a permit must not wait for another one.
    pub(crate) fn take(job: &Job) -> Result<Self> {
        let most = FileShares::of_process().reads as u64;
        SemaphorePermit::acquire_when(&*READS, 1, job, |reads| Ok(reads < most)).map(Self)
    }
}

#[cfg(test)]
mod tests;
