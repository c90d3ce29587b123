//! Writing one object so that it appears whole or not at all.

use std::io::Write;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard};

use bytes::Bytes;
use lakerace_exec::lock;

use crate::error::{Error, Result};
use crate::job::Job;
use crate::store::object::JobStore;

mod direct;
pub(crate) mod hidden_file;
mod hidden_name;
mod in_flight;
mod local;
pub(crate) mod orphaned_files;
pub(crate) mod page_cache;
pub(crate) mod permissions;
mod stream;
mod upload;
#[cfg(target_os = "linux")]
mod uring;
#[cfg(not(target_os = "linux"))]
#[path = "output/uring_none.rs"]
mod uring;
mod writer_thread;

pub use in_flight::InFlight;
use local::LocalFile;
use stream::OutputStream;
use upload::MultipartOutput;

/// The treatment of an object that exists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IfExists {
    /// Fail with `Conflict`, and leave the object unchanged.
    ///
    /// Exact on local disks and on S3. Some S3-compatible stores ignore the condition on which a multipart upload is
    /// completed: there the only check is the one at the start.
    Error,
    /// As [`Self::Error`], without the check at the start: for names that no one else makes, such as random ones, that
    /// request would be superfluous.
    ErrorAtEnd,
    /// Replace it when the new object is complete.
    Replace,
}

impl IfExists {
    /// Returns true if an existing object stays.
    pub(crate) fn is_error(self) -> bool {
        self != Self::Replace
    }
}

/// A new object under way. If it is dropped before [`Self::finish`], no object appears.
///
/// Local: a hidden file next to the target, renamed at the end, written as [`JobOptions::file_io`](crate::JobOptions)
/// says. S3: one PUT up to `part_bytes`, and above it a multipart upload, whose parts are sent while the caller
/// continues encoding, with a bounded number in flight.
#[derive(Debug)]
pub struct Output {
    object: Unpublished,
    position: u64,
    end: OutputEnd,
}

/// The way in which [`Output::finish`] ends.
#[derive(Debug)]
enum OutputEnd {
    /// Makes the object visible.
    Publish,
    /// Waits until the store has all of it. Who has the handle makes it visible.
    Prepare(Deferred),
    /// Sends the rest. The owner of the handle waits for it and makes it visible.
    Leave(Deferred),
}

/// A new object that is complete, but not visible. If it is dropped before [`Self::publish`], no object appears.
#[derive(Debug)]
pub struct Unpublished {
    target: OutputTarget,
    url: String,
    failed: Option<Error>,
}

/// Keeps an [`Output`] that another part of the job writes and finishes from becoming visible too early.
#[derive(Debug, Clone, Default)]
pub struct Deferred(Arc<Mutex<DeferredState>>);

#[derive(Debug, Default)]
struct DeferredState {
    position: u64,
    finished: Option<Unpublished>,
}

#[derive(Debug)]
enum OutputTarget {
    Local(Box<LocalFile>),
    Stream(OutputStream),
    Upload(Box<MultipartOutput>),
}

impl Output {
    /// Starts a new object at `path`.
    pub fn create(store: &JobStore, path: &object_store::path::Path, if_exists: IfExists) -> Result<Self> {
        let url = store.url(path);
        store.job.check()?;
        if path.is_root() {
            return Err(Error::usage("the target has no name").at(url).advice("give the name of a file"));
        }
        store.check_writable(path)?;
        let target = if store.has_local_files() {
            OutputTarget::Local(Box::new(LocalFile::create(store, path, if_exists).map_err(|e| e.at(&url))?))
        } else {
            OutputTarget::Upload(Box::new(MultipartOutput::create(store, path, if_exists)?))
        };
        Ok(Self::to(target, url))
    }

    /// Passes bytes on to a writer immediately, such as standard output, which messages call `name`. Written bytes
    /// can't be taken back.
    pub fn stream(writer: Box<dyn Write + Send>, name: &str, job: &Job) -> Self {
        let target = OutputTarget::Stream(OutputStream::new(writer, job));
        Self::to(target, name.to_owned())
    }

    fn to(target: OutputTarget, url: String) -> Self {
        Self { object: Unpublished { target, url, failed: None }, position: 0, end: OutputEnd::Publish }
    }

    /// From here on, [`Self::finish`] prepares this output ([`Unpublished::prepare`]) and leaves it with the handle.
    pub fn defer(&mut self) -> Deferred {
        let handle = Deferred::default();
        self.end = OutputEnd::Prepare(handle.clone());
        handle
    }

    /// Defers like [`Self::defer`]. In addition, [`Self::finish`] does not wait for bytes that a separate thread is
    /// still writing or syncing, or for parts that are under way to a store: this is left to the caller that takes the
    /// output from the handle.
    pub fn defer_unwritten(&mut self) -> Deferred {
        let handle = Deferred::default();
        self.end = OutputEnd::Leave(handle.clone());
        handle
    }

    /// From here on, a separate thread writes a local file that would be written by blocking writes. The caller may be
    /// up to `limit_bytes` ahead of the thread, and gets an error of the thread from its next call. A few files of a
    /// process have such a thread concurrently; all others, and those below 1 MiB, are written by the caller. If writes
    /// don't block, this has no effect.
    pub fn write_behind(&mut self, limit_bytes: usize) {
        if let OutputTarget::Local(file) = &mut self.object.target {
            file.write_behind(limit_bytes);
        }
    }

    /// From here on, the parts that are on their way to a store are within this bound, which several outputs may share;
    /// [`Self::write`] waits for room. For files of this machine, this has no effect.
    pub fn limit_in_flight(&mut self, in_flight: &InFlight) {
        if let OutputTarget::Upload(upload) = &mut self.object.target {
            upload.limit_in_flight(in_flight);
        }
    }

    /// The name that a user knows: a local path or a URL. Without credentials.
    pub fn url(&self) -> &str {
        self.object.url()
    }

    /// Appends bytes; blocks while too many parts are under way.
    pub fn write(&mut self, bytes: Bytes) -> Result<()> {
        self.position += bytes.len() as u64;
        if let OutputEnd::Prepare(handle) | OutputEnd::Leave(handle) = &self.end {
            handle.lock().position = self.position;
        }
        self.object.attempt(|target| match target {
            OutputTarget::Local(file) => file.write(bytes),
            OutputTarget::Stream(stream) => stream.write(&bytes),
            OutputTarget::Upload(upload) => upload.write(bytes),
        })
    }

    /// Bytes written so far.
    pub fn position(&self) -> u64 {
        self.position
    }

    /// Waits until the store has everything that was written: see [`Unpublished::prepare`].
    pub fn prepare(&mut self) -> Result<()> {
        self.object.prepare()
    }

    /// Ends the object, and makes it visible unless that was deferred.
    pub fn finish(mut self) -> Result<()> {
        let handle = match self.end {
            OutputEnd::Publish => return self.object.publish(),
            OutputEnd::Prepare(handle) => {
                self.object.prepare()?;
                handle
            }
            OutputEnd::Leave(handle) => {
                self.object.attempt(OutputTarget::leave)?;
                handle
            }
        };
        handle.lock().finished = Some(self.object);
        Ok(())
    }
}

impl Unpublished {
    /// The name that a user knows: a local path or a URL. Without credentials.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Folders of this machine that were made for it and for others that have not appeared, the outermost first. Whoever
    /// removes it after [`Self::publish`] hands them to [`give_up_folders`](crate::give_up_folders).
    pub fn made_folders(&self) -> &[PathBuf] {
        match &self.target {
            OutputTarget::Local(file) => file.made_folders(),
            OutputTarget::Stream(_) | OutputTarget::Upload(_) => &[],
        }
    }

    /// Bytes that were written and that a store does not have yet; 0 where files are of this machine.
    pub fn unsent_bytes(&self) -> u64 {
        match &self.target {
            OutputTarget::Local(_) | OutputTarget::Stream(_) => 0,
            OutputTarget::Upload(upload) => upload.unsent_bytes(),
        }
    }

    /// Sends the rest and waits until the store has everything, without making it visible: the last step,
    /// [`Self::publish`], is then short. A folder sink does this for all files before it publishes the first.
    ///
    /// An object that was not longer than one part is sent whole by [`Self::publish`]: its PUT is what makes it
    /// visible.
    pub fn prepare(&mut self) -> Result<()> {
        self.attempt(|target| match target {
            OutputTarget::Local(file) => file.end(),
            OutputTarget::Stream(stream) => stream.flush(),
            OutputTarget::Upload(upload) => upload.prepare(),
        })
    }

    /// Makes the object visible, after it is prepared. If the job is to be durable, a file of this machine is then on
    /// the disk with its name; and so are all names that the job has given before.
    pub fn publish(self) -> Result<()> {
        self.publish_as(false)
    }

    /// Publishes like [`Self::publish`], a file of this machine that is one of several: [`Job::sync_folders`] puts their names on the disk.
    pub fn publish_in_group(self) -> Result<()> {
        self.publish_as(true)
    }

    fn publish_as(mut self, in_group: bool) -> Result<()> {
        self.prepare()?;
        self.attempt(|target| match target {
            OutputTarget::Local(file) => file.publish(in_group),
            // It is out already.
            OutputTarget::Stream(_) => Ok(()),
            OutputTarget::Upload(upload) => upload.publish(),
        })
    }

    /// An output that failed once has lost bytes: it fails for good, and is never published.
    fn attempt(&mut self, step: impl FnOnce(&mut OutputTarget) -> Result<()>) -> Result<()> {
        if let Some(error) = &self.failed {
            return Err(error.clone());
        }
        let outcome = step(&mut self.target).map_err(|e| e.at(&self.url));
        self.failed = outcome.as_ref().err().cloned();
        outcome
    }
}

impl OutputTarget {
    /// Sends the rest; does not wait for parts that are on their way already.
    fn leave(&mut self) -> Result<()> {
        match self {
            Self::Local(file) => file.leave(),
            Self::Stream(stream) => stream.flush(),
            Self::Upload(upload) => upload.send_rest(),
        }
    }
}

impl Deferred {
    /// Bytes written so far.
    pub fn position(&self) -> u64 {
        self.lock().position
    }

    /// The output that [`Output::finish`] has left.
    pub fn take(&self) -> Option<Unpublished> {
        self.lock().finished.take()
    }

    fn lock(&self) -> MutexGuard<'_, DeferredState> {
        lock(&self.0)
    }
}

#[cfg(test)]
mod tests;
