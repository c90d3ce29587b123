//! The context that every job carries: its meter, its cancel flag and its limits.

mod file_io;

use std::collections::HashMap;
use std::future::Future;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use lakerace_exec::{CANCEL_POLL, CancelToken, lock};

use crate::address_space::threads_within;
use crate::durability::{DurabilityLevel, JobSyncs};
use crate::error::{Error, Result};
use crate::file_io::{FileIo, FileIoSeen};
use crate::meter::Meter;
use crate::output::page_cache::PageCache;
use crate::pipe::Pipe;
use crate::plan::RangeOptions;
use crate::runtime;

/// Limits and tuning of one job. `Default` suits a laptop and a small server alike.
#[derive(Debug, Clone)]
pub struct JobOptions {
    /// Threads that decode or encode. Requests in flight are bounded by [`RangeOptions`].
    pub threads: usize,
    /// The options by which byte ranges become requests.
    pub ranges: RangeOptions,
    /// The way to write files of this machine.
    pub file_io: FileIo,
    /// Durability of files of this machine.
    pub durability: DurabilityLevel,
}

impl Default for JobOptions {
    fn default() -> Self {
        Self {
            threads: threads_within(std::thread::available_parallelism().map_or(1, usize::from)),
            ranges: RangeOptions::default(),
            file_io: FileIo::default(),
            durability: DurabilityLevel::default(),
        }
    }
}

/// A handle on one running job: cheap to clone, shared by every part of it.
#[derive(Debug, Clone)]
pub struct Job {
    options: Arc<JobOptions>,
    meter: Arc<Meter>,
    cancelled: CancelToken,
    file_io_seen: Arc<FileIoSeen>,
    page_cache: Arc<PageCache>,
    syncs: Arc<JobSyncs>,
    pipes: Arc<Mutex<HashMap<String, Arc<Pipe>>>>,
    has_reporter: bool,
}

impl Job {
    /// A job with these limits and a separate meter.
    pub fn new(options: JobOptions) -> Self {
        Self {
            options: Arc::new(options),
            meter: Arc::new(Meter::default()),
            cancelled: CancelToken::default(),
            file_io_seen: Arc::default(),
            page_cache: Arc::default(),
            syncs: Arc::default(),
            pipes: Arc::default(),
            has_reporter: false,
        }
    }

    /// Makes a job for a part that uses this many threads.
    pub fn with_threads(&self, threads: usize) -> Self {
        self.with_options(JobOptions { threads, ..self.options.as_ref().clone() })
    }

    /// Makes a job for a part that has other limits.
    pub fn with_options(&self, options: JobOptions) -> Self {
        Self { options: Arc::new(options), ..self.clone() }
    }

    /// Makes a job for a part whose caller reports the warnings of the whole job: [`Self::has_reporter`].
    pub fn with_reporter(&self) -> Self {
        Self { has_reporter: true, ..self.clone() }
    }

    /// Returns true if a caller of this part reports the warnings, so that the part itself does not.
    pub fn has_reporter(&self) -> bool {
        self.has_reporter
    }

    /// Makes a job for a part that has to be done when the job is cancelled: it has a separate cancel flag.
    pub fn uncancelled(&self) -> Self {
        Self { cancelled: CancelToken::default(), ..self.clone() }
    }

    /// The limits of this job.
    pub fn options(&self) -> &JobOptions {
        &self.options
    }

    /// The cost of this job so far.
    pub fn meter(&self) -> &Arc<Meter> {
        &self.meter
    }

    pub(crate) fn file_io_seen(&self) -> &FileIoSeen {
        &self.file_io_seen
    }

    /// The pipes that this job has opened, by name.
    pub(crate) fn pipes(&self) -> MutexGuard<'_, HashMap<String, Arc<Pipe>>> {
        lock(&self.pipes)
    }

    pub(crate) fn page_cache(&self) -> &PageCache {
        &self.page_cache
    }

    pub(crate) fn syncs(&self) -> &JobSyncs {
        &self.syncs
    }

    /// Asks every part of the job to stop. Returns immediately; the parts stop within a second.
    pub fn cancel(&self) {
        self.cancelled.cancel();
    }

    /// Returns true if [`Self::cancel`] was called.
    pub fn is_cancelled(&self) -> bool {
        self.cancelled.is_cancelled()
    }

    /// An error of kind `Cancelled` once the job was cancelled. Loops call this once a batch.
    pub fn check(&self) -> Result<()> {
        if self.is_cancelled() { Err(Error::cancelled()) } else { Ok(()) }
    }

    /// Runs a future on the shared I/O runtime and waits for it, or for the job's cancellation.
    ///
    /// Must not be called from a thread of that runtime.
    pub fn block_on<T: Send + 'static>(&self, future: impl Future<Output = Result<T>> + Send + 'static) -> Result<T> {
        let (sender, receiver) = std::sync::mpsc::sync_channel(1);
        let task = runtime()?.spawn(async move {
            let outcome = future.await;
            // The receiver no longer exists if the job was cancelled: then the outcome is not needed.
            let _ = sender.send(outcome);
        });
        loop {
            match receiver.recv_timeout(CANCEL_POLL) {
                Ok(outcome) => return outcome,
                Err(std::sync::mpsc::RecvTimeoutError::Timeout) if self.is_cancelled() => {
                    task.abort();
                    return Err(Error::cancelled());
                }
                Err(std::sync::mpsc::RecvTimeoutError::Timeout) => {}
                Err(std::sync::mpsc::RecvTimeoutError::Disconnected) => {
                    return Err(Error::internal("an I/O task ended without a result"));
                }
            }
        }
    }
}

impl AsRef<CancelToken> for Job {
    fn as_ref(&self) -> &CancelToken {
        &self.cancelled
    }
}

impl Default for Job {
    fn default() -> Self {
        Self::new(JobOptions::default())
    }
}

/// The time for which [`block_with_grace`] waits.
const PATIENCE: Duration = Duration::from_secs(10);

/// Waits ten seconds at most for a cleanup after a job that may be cancelled: the job's own waiting would give up
/// immediately.
pub(crate) fn block_with_grace(work: impl Future<Output = ()> + Send + 'static) {
    let Ok(runtime) = runtime() else { return };
    let (sender, receiver) = std::sync::mpsc::sync_channel(1);
    runtime.spawn(async move {
        work.await;
        let _ = sender.send(());
    });
    let _ = receiver.recv_timeout(PATIENCE);
}
