//! Open files of this machine, for which a process has a low limit.
//!
//! A file that is read by pieces stays open between them while there is room. If there is none, the one that was not
//! read for the longest time is closed, and opened again for its next piece. A read that finds no room waits for
//! another read to end: reads wait for nothing else while they have a file open, so the wait ends. Complete files that
//! wait for their names are closed if there are many. The rest of the limit is for sockets, pipes, databases and files
//! under way.

use std::collections::HashMap;
use std::fs::{File, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use lakerace_exec::{ProcessLocal, lock};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// The most files that systems other than Linux open if they report no limit.
const UNNAMED_LIMIT: u64 = 10_240;

/// The limit of open files for each use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileShares {
    /// Between two reads.
    pub(crate) kept: usize,
    /// During a read, next to those that are kept.
    pub(crate) reads: usize,
    /// Complete, until they have their names.
    pub(crate) complete: usize,
    /// The files of a load that writes several at the same time.
    pub written: usize,
}

impl FileShares {
    /// The limit of this process, which may change.
    pub fn of_process() -> Self {
        Self::of_limit(getrlimit(Resource::Nofile).current)
    }

    fn of_limit(limit: Option<u64>) -> Self {
        let limit = limit.map_or(usize::MAX, |limit| usize::try_from(limit).unwrap_or(usize::MAX));
        let share = |part: usize| (limit / part).clamp(1, 128);
        Self { kept: share(8), reads: share(8), complete: share(8), written: share(4) }
    }
}

/// Raises the limit of open files of this process to its maximum: the default limit is for programs that use `select`,
/// which can't handle higher numbers. Only for programs: a library leaves the limit to its host.
pub fn raise_limit() {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    if current == maximum {
        return;
    }
    // If the system refuses, the limit stays unchanged.
    let raised = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum });
    if raised.is_err() && current.is_some_and(|current| current < UNNAMED_LIMIT) {
        let _ = setrlimit(Resource::Nofile, Rlimit { current: Some(UNNAMED_LIMIT), maximum });
    }
}

/// Opens something. If too many files are open, the files that are kept between reads are closed, and it is tried once
/// more.
///
/// # Errors
/// Those of `open`.
pub fn open_or_make_room<T>(mut open: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    match open() {
        Err(error) if is_out_of_descriptors(&error) => {
            close_idle();
            open()
        }
        outcome => outcome,
    }
}

fn is_out_of_descriptors(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EMFILE | libc::ENFILE))
}

/// Inode, time of change (s, ns) and size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FileIdentity {
    inode: u64,
    changed: (i64, i64),
    pub(crate) size_bytes: u64,
}

impl FileIdentity {
    pub(crate) fn from_metadata(metadata: &Metadata) -> Self {
        let changed = (metadata.mtime(), metadata.mtime_nsec());
        Self { inode: metadata.ino(), changed, size_bytes: metadata.len() }
    }

    /// The tag of a file: another inode, time of change or size is another object.
    pub(crate) fn e_tag(&self) -> String {
        // The form that `object_store` gives its local tags.
        let micros = i128::from(self.changed.0) * 1_000_000 + i128::from(self.changed.1 / 1000);
        format!("\"{:x}-{micros:x}-{:x}\"", self.inode, self.size_bytes)
    }
}

/// A file that is open to read, and its version at that time.
#[derive(Debug)]
pub(crate) struct OpenedFile {
    pub(crate) file: File,
    pub(crate) version: FileIdentity,
}

/// A file during a read.
#[derive(Debug)]
pub(crate) struct ReadHandle {
    pub(crate) opened: Arc<OpenedFile>,
    /// False: it is closed after this read.
    pub(crate) is_kept: bool,
}

/// The files of one reader. Dropped, it closes them.
#[derive(Debug)]
pub(crate) struct ReaderFiles(u64);

/// Files that are kept open between reads, by reader and number.
static KEPT: ProcessLocal<Mutex<KeptFiles>> = ProcessLocal::new(Mutex::default);

#[derive(Debug, Default)]
struct KeptFiles {
    files: HashMap<(u64, u32), KeptFile>,
    /// Counts the reads.
    clock: u64,
}

#[derive(Debug)]
struct KeptFile {
    opened: Arc<OpenedFile>,
    last_read: u64,
}

impl ReaderFiles {
    /// No file is open.
    pub(crate) fn new() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        Self(NEXT.fetch_add(1, Ordering::Relaxed))
    }

    /// A file that is open.
    pub(crate) fn find(&self, number: u32) -> Option<ReadHandle> {
        lock(&KEPT).find((self.0, number))
    }

    /// Takes a file that was opened, and keeps it open as long as there is room. Where another thread was faster, its file is
    /// the one.
    pub(crate) fn keep(&self, number: u32, opened: OpenedFile) -> ReadHandle {
        let key = (self.0, number);
        let mut all = lock(&KEPT);
        if let Some(first) = all.find(key) {
            return first;
        }
        let opened = Arc::new(opened);
        let is_kept = all.keep(key, &opened, FileShares::of_process().kept);
        ReadHandle { opened, is_kept }
    }
}

impl Drop for ReaderFiles {
    fn drop(&mut self) {
        lock(&KEPT).files.retain(|(reader, _), _| *reader != self.0);
    }
}

impl KeptFiles {
    fn find(&mut self, key: (u64, u32)) -> Option<ReadHandle> {
        self.clock += 1;
        let kept = self.files.get_mut(&key)?;
        kept.last_read = self.clock;
        Some(ReadHandle { opened: Arc::clone(&kept.opened), is_kept: true })
    }

    /// Returns true if there is room for a file, after unused others were closed.
    fn keep(&mut self, key: (u64, u32), opened: &Arc<OpenedFile>, most: usize) -> bool {
        while self.files.len() >= most {
            let idle = self.files.iter().filter(|(_, kept)| kept.is_idle());
            let Some(oldest) = idle.min_by_key(|(_, kept)| kept.last_read).map(|(key, _)| *key) else { return false };
            self.files.remove(&oldest);
        }
        self.clock += 1;
        self.files.insert(key, KeptFile { opened: Arc::clone(opened), last_read: self.clock });
        true
    }
}

impl KeptFile {
    fn is_idle(&self) -> bool {
        Arc::strong_count(&self.opened) == 1
    }
}

fn close_idle() {
    lock(&KEPT).files.retain(|_, kept| !kept.is_idle());
}

#[cfg(test)]
mod tests;
