//! A store, independent of its home.

mod append;

use std::path::Path;

use lakerace_io::object_store::path::Path as ObjectPath;
use lakerace_io::{Error, JobStore, Result};
use serde::Serialize;

use crate::directory::DirectoryHome;
use crate::home::{
    CompactOutcome, ContentSink, Each, FileVersion, Home, IfExists, PendingAppend, Progress, PutOptions,
    RandomAccessFile, Reads, Stat, VerifyOutcome, Write, WriteBatch,
};
use crate::index::Index;
use crate::memory::MemoryHome;
use crate::name::{Glob, shown};
use crate::options::Options;
use crate::own::StorePaths;
use crate::packs::PackHome;
use crate::random;
use crate::sqlite::SqliteHome;

/// Names that one look at a home gives.
const PAGE: usize = 1_000;

/// Named contents in one place.
///
/// Locations: a path is a SQLite file, one that ends in `/` or is a directory a directory; `sqlite:` and `dir:` in front say
/// which; `memory:` is in memory, as long as the store is open.
#[derive(Debug)]
pub struct Store {
    home: Box<dyn HomeDebug>,
    own: StorePaths,
}

/// A home that can be shown.
trait HomeDebug: Home + std::fmt::Debug {}

impl<T: Home + std::fmt::Debug> HomeDebug for T {}

/// An entry of a folder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum Child {
    /// Its name, without a slash at the end.
    Folder(String),
    /// A file.
    File(Stat),
}

impl Child {
    /// Its whole name.
    pub fn name(&self) -> &str {
        match self {
            Self::Folder(name) => name,
            Self::File(stat) => &stat.name,
        }
    }
}

impl Store {
    /// Opens a store, and makes it where there is none.
    pub fn open(location: &str, options: Options) -> Result<Self> {
        random::reseed_at_fork();
        if location.is_empty() {
            return Err(Error::usage("the location is empty").advice("give a file, a directory, or memory:"));
        }
        if location == "memory:" {
            return Ok(Self { home: Box::new(MemoryHome::open(&options)?), own: StorePaths::Elsewhere });
        }
        if let Some(path) = location.strip_prefix("dir:") {
            return Self::in_directory(Path::new(path), &options);
        }
        let (path, is_file) = match location.strip_prefix("sqlite:") {
            Some(path) => (path, true),
            None => (location, false),
        };
        if path.contains("://") {
            return Err(Error::usage("file stores are not supported at this location")
                .at(location)
                .advice("give a file, a directory, or memory:"));
        }
        if !is_file && (path.ends_with('/') || Path::new(path).is_dir()) {
            return Self::in_directory(Path::new(path), &options);
        }
        let home = SqliteHome::open(Path::new(path), options)?;
        Ok(Self { home: Box::new(home), own: StorePaths::file(Path::new(path)) })
    }

    /// The file or the directory of a store on this machine; `None` of one in memory.
    pub fn local_path(location: &str) -> Option<&Path> {
        let is_elsewhere = location.is_empty() || location == "memory:" || location.contains("://");
        let path = ["dir:", "sqlite:"].iter().find_map(|kind| location.strip_prefix(kind)).unwrap_or(location);
        (!is_elsewhere).then(|| Path::new(path))
    }

    fn in_directory(path: &Path, options: &Options) -> Result<Self> {
        Ok(Self { home: Box::new(DirectoryHome::open(path, options)?), own: StorePaths::directory(path) })
    }

    /// Opens a store on an object store, and makes it where there is none: packs below the folder `root`, which its user knows as `location`,
    /// and their index.
    pub fn on_packs(
        (store, root): (JobStore, ObjectPath),
        location: &str,
        index: Box<dyn Index>,
        options: &Options,
    ) -> Result<Self> {
        random::reseed_at_fork();
        let own = match store.has_local_files() {
            true => StorePaths::Packs(format!("/{root}").into()),
            false => StorePaths::Elsewhere,
        };
        let home = PackHome::open((store, root, location.to_owned()), index, options)?;
        Ok(Self { home: Box::new(home), own })
    }

    /// The store as its user knows it.
    pub fn location(&self) -> &str {
        self.home.location()
    }

    /// The home, for reads and writes that a store has no shorter way for.
    pub fn home(&self) -> &dyn Home {
        &*self.home
    }

    /// The files of this machine that are the store itself.
    pub(crate) fn own(&self) -> &StorePaths {
        &self.own
    }

    /// An error where a local file is the store's own: it is neither put nor written to.
    pub fn refuse_own(&self, path: &Path) -> Result<()> {
        self.own.refuse(path)
    }

    /// Puts a content.
    pub fn put(&self, name: &str, data: &[u8], options: &PutOptions) -> Result<()> {
        self.home.put(name, data, options)
    }

    /// A content.
    pub fn get(&self, name: &str) -> Result<Vec<u8>> {
        get(&*self.home, name)
    }

    /// Gives a content to `sink`, and its length.
    pub fn get_into(&self, name: &str, sink: &mut dyn ContentSink) -> Result<usize> {
        self.home.get(name, sink)
    }

    /// Puts files, all of them or none. A directory guarantees this except for crashes and concurrent access by others.
    pub fn put_many<'a>(
        &self,
        files: impl IntoIterator<Item = (&'a str, &'a [u8])>,
        options: &PutOptions,
    ) -> Result<u64> {
        let mut batch = self.home.batch()?;
        let mut count = 0;
        for (name, data) in files {
            batch.put(name, data, options)?;
            count += 1;
        }
        batch.commit()?;
        Ok(count)
    }

    /// Opens a content for reading by positions.
    pub fn open_read(&self, name: &str) -> Result<Box<dyn RandomAccessFile>> {
        self.home.open(name)
    }

    /// Begins a content that comes in parts. Where a write fails, the content does not appear: writes after it and `finish` are errors
    /// of kind `Usage`.
    pub fn create(&self, name: &str, options: &PutOptions) -> Result<Box<dyn Write>> {
        let writer = self.home.create(name, options)?;
        Ok(Box::new(WholeWrite { writer, place: format!("{}: {}", self.location(), shown(name)), is_failed: false }))
    }

    /// The state of a file; `None` where there is none. Later reads return this version or a later one.
    pub fn version(&self, name: &str) -> Result<Option<FileVersion>> {
        self.home.version(name)
    }

    /// Appends to a file, or puts it if it doesn't exist, in one step: concurrent appends of others are kept. The file
    /// keeps its metadata, unless `options` have others.
    ///
    /// The content is written as a whole, except in a directory, where bytes are appended to the file itself.
    pub fn append(&self, name: &str, tail: &mut dyn PendingAppend, options: &PutOptions) -> Result<()> {
        append::append(self, name, tail, options)
    }

    /// Begins writes that become visible together; in a directory, one after the other.
    pub fn batch(&self) -> Result<Box<dyn WriteBatch>> {
        self.home.batch()
    }

    /// Opens a state of all files.
    pub fn snapshot(&self) -> Result<Box<dyn Reads>> {
        self.home.snapshot()
    }

    /// A file's properties; `None` where there is no such file.
    pub fn stat(&self, name: &str) -> Result<Option<Stat>> {
        self.home.stat(name)
    }

    /// Returns true if there is a file of this name.
    pub fn exists(&self, name: &str) -> Result<bool> {
        Ok(self.home.stat(name)?.is_some())
    }

    /// Removes a file.
    pub fn remove(&self, name: &str) -> Result<()> {
        self.home.remove(name)
    }

    /// Removes all files of a folder and says how many; all of the store where the folder is empty.
    pub fn remove_tree(&self, folder: &str) -> Result<u64> {
        self.home.remove_prefix(&folder_prefix(folder))
    }

    /// Renames a file.
    pub fn rename(&self, from: &str, to: &str, if_exists: IfExists) -> Result<()> {
        self.home.rename(from, to, if_exists)
    }

    /// Renames all files of a folder, together where the home can; says how many.
    pub fn rename_tree(&self, from: &str, to: &str, if_exists: IfExists) -> Result<u64> {
        let (from, to) = (folder_prefix(from), folder_prefix(to));
        if to.starts_with(&from) {
            return Err(Error::usage("a folder can't be moved into itself").at(shown(&to)));
        }
        let mut batch = self.home.batch()?;
        let mut count = 0;
        self.each(&from, &mut |stat| {
            count += 1;
            batch.rename(&stat.name, &format!("{to}{}", &stat.name[from.len()..]), if_exists).map(|()| true)
        })?;
        batch.commit()?;
        Ok(count)
    }

    /// Copies a file.
    pub fn copy(&self, from: &str, to: &str, if_exists: IfExists) -> Result<()> {
        self.home.copy(from, to, if_exists)
    }

    /// Calls `each` with the files whose names begin with `prefix`, in the order of their names' bytes, until it is false.
    pub fn each(&self, prefix: &str, each: &mut dyn FnMut(&Stat) -> Result<bool>) -> Result<()> {
        let mut from = String::new();
        loop {
            let page = self.home.list(prefix, &from, PAGE)?;
            for stat in &page {
                if !each(stat)? {
                    return Ok(());
                }
            }
            match page.last() {
                Some(last) if page.len() == PAGE => from = next_name(&last.name),
                _ => return Ok(()),
            }
        }
    }

    /// The files whose names begin with `prefix`, in the order of their names' bytes.
    pub fn list(&self, prefix: &str) -> Result<Vec<Stat>> {
        self.collect(prefix, |_| true)
    }

    /// The files of a pattern, in the order of their names' bytes.
    pub fn glob(&self, pattern: &str) -> Result<Vec<Stat>> {
        let glob = Glob::parse(pattern)?;
        self.collect(glob.prefix(), |name| glob.matches(name))
    }

    fn collect(&self, prefix: &str, is_wanted: impl Fn(&str) -> bool) -> Result<Vec<Stat>> {
        let mut found = Vec::new();
        self.each(prefix, &mut |stat| {
            if is_wanted(&stat.name) {
                found.push(stat.clone());
            }
            Ok(true)
        })?;
        Ok(found)
    }

    /// Lists the entries directly in a folder, in the order of names: a look for each folder in it, however much that holds.
    pub fn children(&self, folder: &str) -> Result<Vec<Child>> {
        children(&*self.home, folder)
    }

    /// Replaces a file's metadata, which is JSON.
    pub fn set_metadata(&self, name: &str, metadata: Option<&str>) -> Result<()> {
        self.home.set_metadata(name, metadata)
    }

    /// Reads everything and reports the damage.
    pub fn verify(&self) -> Result<VerifyOutcome> {
        self.verify_with(&mut |_, _| true)
    }

    /// Verifies as long as `progress` is true.
    pub fn verify_with(&self, progress: Progress<'_>) -> Result<VerifyOutcome> {
        self.home.verify(progress)
    }

    /// Gives space back.
    pub fn compact(&self) -> Result<CompactOutcome> {
        self.compact_with(&mut |_, _| true)
    }

    /// Compacts as long as `progress` is true. The work done until then stays done.
    pub fn compact_with(&self, progress: Progress<'_>) -> Result<CompactOutcome> {
        self.home.compact(progress)
    }

    /// Makes all that was put survive a loss of power, with any [`Durability`](crate::Durability); does nothing in memory.
    pub fn flush(&self) -> Result<()> {
        self.home.flush()
    }

    /// Commits writes that wait in memory for their commit: the last names and contents of a store of packs. Without this call, errors
    /// of that commit are not reported. Other stores have committed each write already: nothing is done, and their
    /// [`Durability`](crate::Durability) decides what a loss of power takes. [`Self::flush`] syncs them.
    pub fn close(&self) -> Result<()> {
        self.home.close()
    }

    /// Trains a dictionary from the store's small files; gives its number.
    pub fn train(&self) -> Result<u32> {
        self.home.train()
    }

    /// Takes warnings of operations that did not fail.
    pub fn warnings(&self) -> Vec<String> {
        self.home.warnings()
    }
}

impl Reads for Store {
    fn get(&self, name: &str, sink: &mut dyn ContentSink) -> Result<usize> {
        self.home.get(name, sink)
    }

    fn get_many(&self, names: &[&str], each: Each<'_>) -> Result<()> {
        self.home.get_many(names, each)
    }

    fn stat(&self, name: &str) -> Result<Option<Stat>> {
        self.home.stat(name)
    }

    fn list(&self, prefix: &str, from: &str, limit: usize) -> Result<Vec<Stat>> {
        self.home.list(prefix, from, limit)
    }

    fn open(&self, name: &str) -> Result<Box<dyn RandomAccessFile>> {
        self.home.open(name)
    }
}

/// A content that appears as a whole or not at all: after a failed write, it never appears with a gap.
struct WholeWrite {
    writer: Box<dyn Write>,
    place: String,
    is_failed: bool,
}

impl WholeWrite {
    fn check(&self) -> Result<()> {
        match self.is_failed {
            true => Err(Error::usage("an earlier part of the file could not be written")
                .at(&self.place)
                .advice("write the file again from its start")),
            false => Ok(()),
        }
    }
}

impl Write for WholeWrite {
    fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.check()?;
        let written = self.writer.write(bytes);
        self.is_failed = written.is_err();
        written
    }

    fn read_back(&mut self, offset: u64, out: &mut [u8]) -> Result<usize> {
        self.check()?;
        self.writer.read_back(offset, out)
    }

    fn finish(self: Box<Self>) -> Result<()> {
        self.check()?;
        self.writer.finish()
    }
}

fn get(reads: &(impl Reads + ?Sized), name: &str) -> Result<Vec<u8>> {
    let mut content = Vec::new();
    let size = reads.get(name, &mut content)?;
    debug_assert!(size <= content.capacity());
    // SAFETY: a home that answers `Ok` has written all `size` bytes that it asked for.
    unsafe { content.set_len(size) };
    Ok(content)
}

/// The common prefix of the names of a folder's files.
pub(crate) fn folder_prefix(folder: &str) -> String {
    let folder = folder.trim_end_matches('/');
    if folder.is_empty() { String::new() } else { format!("{folder}/") }
}

/// The least name after another one.
fn next_name(name: &str) -> String {
    format!("{name}\0")
}

/// Lists the children of a folder whose stored names are at least `from`, in the order of stored names, in which a
/// folder has a `/` after its name. A name that is both a file and a folder is returned twice. The second value is the
/// start of the next page, if one is needed.
pub(crate) fn children_page(
    reads: &(impl Reads + ?Sized),
    prefix: &str,
    from: &str,
) -> Result<(Vec<Child>, Option<String>)> {
    let page = reads.list(prefix, from, PAGE)?;
    let is_last = page.len() < PAGE;
    let (mut last, mut found): (Option<String>, Vec<Child>) = (None, Vec::new());
    for stat in page {
        match stat.name[prefix.len()..].split_once('/') {
            None => {
                last = Some(next_name(&stat.name));
                found.push(Child::File(stat));
            }
            Some((part, _)) => {
                let name = format!("{prefix}{part}");
                if found.last() == Some(&Child::Folder(name.clone())) {
                    continue;
                }
                // `0` follows `/`: the next page starts after the folder, unless it ended in this page.
                last = Some(format!("{name}0"));
                found.push(Child::Folder(name));
            }
        }
    }
    match last {
        None if !is_last => Err(Error::internal("a page of one folder's files")),
        _ if is_last => Ok((found, None)),
        last => Ok((found, last)),
    }
}

fn children(reads: &(impl Reads + ?Sized), folder: &str) -> Result<Vec<Child>> {
    let prefix = folder_prefix(folder);
    let (mut from, mut found): (String, Vec<Child>) = (String::new(), Vec::new());
    loop {
        let (page, next) = children_page(reads, &prefix, &from)?;
        found.extend(page);
        match next {
            Some(next) => from = next,
            None => break,
        }
    }
    found.sort_by(|a, b| a.name().cmp(b.name()));
    found.dedup();
    Ok(found)
}
