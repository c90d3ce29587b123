//! Files on their way into sight.
//!
//! A store takes its time to make an object of its parts, and whole objects are a request each: this is done for several
//! files at once, while the next ones are written, so that neither time nor memory grows with the number of files. Files of
//! this machine only need a new name, and get it in the end.

use std::collections::VecDeque;
use std::thread::JoinHandle;

use lakerace_io::{Error, Object, Output, Result};

use super::files::{AddedFile, Published};

/// Files at once at most.
const FILES_AT_MOST: usize = 16;
/// Bytes that a store may not have yet, of all files together; one file may always be under way.
const BYTES_AT_MOST: u64 = 64 << 20;

/// A file whose bytes are all written.
pub(super) struct DoneFile {
    pub file: AddedFile,
    pub output: Output,
    pub object: Object,
}

/// Makes files visible. They are not the table's yet: dropped, it removes them again.
pub(super) struct Finishing {
    /// Those of this machine.
    waiting: Vec<DoneFile>,
    /// Those of a store, the oldest first.
    under_way: VecDeque<UnderWay>,
    visible: Published,
    files: usize,
    /// A write that has lost a file has failed.
    failed: Option<Error>,
}

struct UnderWay {
    thread: JoinHandle<Result<()>>,
    file: AddedFile,
    object: Object,
}

impl UnderWay {
    /// What the store may not have yet.
    fn bytes(&self) -> u64 {
        self.file.size_bytes.min(BYTES_AT_MOST)
    }
}

impl Finishing {
    /// No files yet.
    pub fn new() -> Self {
        Self { waiting: Vec::new(), under_way: VecDeque::new(), visible: Published::removed(), files: 0, failed: None }
    }

    /// Files so far.
    pub fn files(&self) -> usize {
        self.files
    }

    /// Takes a file. An error may be that of one before.
    pub fn push(&mut self, done: DoneFile) -> Result<()> {
        if let Some(error) = &self.failed {
            return Err(error.clone());
        }
        self.files += 1;
        if done.object.store.local_files {
            self.waiting.push(done);
            return Ok(());
        }
        let more = done.file.size_bytes.min(BYTES_AT_MOST);
        while !self.has_room(more) {
            self.join_oldest()?;
        }
        let DoneFile { file, output, object } = done;
        let begun = std::thread::Builder::new().name("lakerace-finish".to_owned()).spawn(move || output.finish());
        let thread = begun.map_err(|e| self.fail(Error::from(e).at("a thread for an upload")))?;
        self.under_way.push_back(UnderWay { thread, file, object });
        Ok(())
    }

    fn has_room(&self, bytes: u64) -> bool {
        let held: u64 = self.under_way.iter().map(UnderWay::bytes).sum();
        self.under_way.is_empty() || (self.under_way.len() < FILES_AT_MOST && held + bytes <= BYTES_AT_MOST)
    }

    /// Waits for all of them.
    pub fn finish(mut self) -> Result<Published> {
        while !self.under_way.is_empty() {
            self.join_oldest()?;
        }
        self.failed.take().map_or(Ok(()), Err)?;
        for DoneFile { file, output, object } in std::mem::take(&mut self.waiting) {
            object.store.job.check()?;
            let folders = output.made_folders().to_vec();
            output.finish()?;
            self.visible.push(file, object, folders);
        }
        Ok(std::mem::replace(&mut self.visible, Published::none()))
    }

    fn join_oldest(&mut self) -> Result<()> {
        let Some(UnderWay { thread, file, object }) = self.under_way.pop_front() else { return Ok(()) };
        match thread.join().unwrap_or_else(|_| Err(Error::internal("the thread of an upload panicked"))) {
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

impl Drop for Finishing {
    fn drop(&mut self) {
        // What appears is removed with the others.
        while !self.under_way.is_empty() {
            let _ = self.join_oldest();
        }
    }
}
