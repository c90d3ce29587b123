//! Publishing of files.
//!
//! A store takes time to make an object of its parts, and whole objects are a request each: this is done for several
//! files together, while the next ones are written, so that neither time nor memory grows with the number of files.
//! Local files are synced in the meantime; they only need a new name, and get it at the end.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::RecvError;
use std::thread::JoinHandle;

use lakerace_exec::{SemaphorePermit, WeightedSemaphore, spawn_with};
use lakerace_io::{Error, Object, Result, Unpublished};

use super::published::{AddedFile, PublishedFiles};

/// Files that are published concurrently at most.
const FILES_AT_MOST: usize = 16;
/// Bytes that a store may not have yet, of all files together; one file may always have more.
const BYTES_AT_MOST: u64 = 32 << 20;

/// A file whose bytes are all written.
pub(super) struct DoneFile {
    pub file: AddedFile,
    pub output: Unpublished,
    pub object: Object,
}

/// Makes files visible. They are not the table's yet: dropped, it removes them again.
pub(super) struct FilePublisher {
    /// The finished files of this machine.
    waiting: Vec<DoneFile>,
    /// The uploads to a store, the oldest first.
    under_way: VecDeque<UnderWay>,
    /// Bytes of all files in progress that the store does not have yet. Objects that the store is completing do not
    /// count.
    unsent: Arc<WeightedSemaphore>,
    visible: PublishedFiles,
    files: usize,
    /// A write that has lost a file has failed.
    failed: Option<Error>,
}

struct UnderWay {
    thread: JoinHandle<std::result::Result<Result<()>, RecvError>>,
    file: AddedFile,
    object: Object,
}

impl UnderWay {
    fn is_over(&self) -> bool {
        self.thread.is_finished()
    }
}

impl FilePublisher {
    /// No files yet.
    pub fn new() -> Self {
        let (waiting, under_way) = (Vec::new(), VecDeque::new());
        let unsent = Arc::new(WeightedSemaphore::new(BYTES_AT_MOST));
        Self { waiting, under_way, unsent, visible: PublishedFiles::removed(), files: 0, failed: None }
    }

    /// Files so far.
    pub fn files(&self) -> usize {
        self.files
    }

    /// Adds a file. An error may be that of an earlier one.
    pub fn push(&mut self, done: DoneFile) -> Result<()> {
        if let Some(error) = &self.failed {
            return Err(error.clone());
        }
        self.files += 1;
        if done.object.store.has_local_files() {
            self.waiting.push(done);
            return Ok(());
        }
        let DoneFile { file, output, object } = done;
        let acquired = SemaphorePermit::acquire(Arc::clone(&self.unsent), output.unsent_bytes(), &object.store.job);
        let permit = acquired.map_err(|e| self.fail(e))?;
        while self.under_way.len() >= FILES_AT_MOST || self.under_way.front().is_some_and(UnderWay::is_over) {
            self.join_oldest()?;
        }
        let finish = move |(mut output, mut permit): (Unpublished, SemaphorePermit<Arc<WeightedSemaphore>>)| {
            output.prepare()?;
            permit.shrink_to(output.unsent_bytes());
            output.publish()
        };
        match spawn_with("lakerace-finish", (output, permit), finish) {
            Ok(thread) => self.under_way.push_back(UnderWay { thread, file, object }),
            // Without a thread, the caller publishes.
            Err(unpublished) => self.end(finish(unpublished), file, object)?,
        }
        Ok(())
    }

    /// Waits for all of them. The folders of local files are synced before the log names them: [`Job::sync_folders`].
    ///
    /// [`Job::sync_folders`]: lakerace_io::Job::sync_folders
    pub fn finish(mut self) -> Result<PublishedFiles> {
        while !self.under_way.is_empty() {
            self.join_oldest()?;
        }
        self.failed.take().map_or(Ok(()), Err)?;
        for DoneFile { file, output, object } in std::mem::take(&mut self.waiting) {
            object.store.job.check()?;
            let folders = output.made_folders().to_vec();
            let path = PathBuf::from(output.url());
            output.publish_in_group()?;
            // Another writer may have made the folders of a partition, and not have synced them yet.
            let partitions = file.name.matches('/').count();
            path.ancestors().skip(1).take(partitions).for_each(|folder| object.store.job.note_name(folder));
            self.visible.push(file, object, folders);
        }
        Ok(std::mem::replace(&mut self.visible, PublishedFiles::none()))
    }

    fn join_oldest(&mut self) -> Result<()> {
        let Some(UnderWay { thread, file, object }) = self.under_way.pop_front() else { return Ok(()) };
        let panicked = || Err(Error::internal("the thread of an upload panicked"));
        self.end(thread.join().ok().and_then(std::result::Result::ok).unwrap_or_else(panicked), file, object)
    }

    /// Takes the outcome of publishing a file.
    fn end(&mut self, outcome: Result<()>, file: AddedFile, object: Object) -> Result<()> {
        match outcome {
            Ok(()) => self.visible.push(file, object, Vec::new()),
            Err(error) => {
                // The store's answer may be all that is lost.
                self.visible.push_failed(object);
                return Err(self.fail(error));
            }
        }
        Ok(())
    }

    fn fail(&mut self, error: Error) -> Error {
        self.failed.get_or_insert_with(|| error.clone());
        error
    }
}

impl Drop for FilePublisher {
    fn drop(&mut self) {
        // A file that still appears is removed with the others.
        while !self.under_way.is_empty() {
            let _ = self.join_oldest();
        }
    }
}
