//! A local file under way: hidden beside its target until it is complete.

use std::io::ErrorKind;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use bytes::Bytes;

use super::IfExists;
use super::hidden_file::HiddenFile;
use super::orphaned_files::remove_orphaned_files;
use super::uring::{self, Ring};
use super::writer_thread::Behind;
use crate::path::file_path;
use crate::{Error, FileIo, Job, JobStore, RequestKind, Result};

/// Smaller writes are gathered to this size. A file that is not longer is written at once, whatever way was asked for.
const GATHERED_BYTES: usize = 1 << 20;

#[derive(Debug)]
pub(super) struct LocalFile {
    /// Before the file, which may go when nothing is under way any more.
    writer: Option<Writer>,
    hidden: HiddenFile,
    if_exists: IfExists,
    gathered: Vec<u8>,
    /// Bytes of the file; what is gathered comes next.
    written: u64,
    /// How far a thread of its own may be behind who writes it; none: it has no such thread.
    behind_bytes: Option<usize>,
    job: Job,
}

/// Writes the file while the caller goes on.
#[derive(Debug)]
enum Writer {
    Ring(Box<Ring>),
    Behind(Behind),
}

impl Writer {
    fn write(&mut self, bytes: Bytes) -> Result<()> {
        match self {
            Self::Ring(ring) => ring.write(bytes),
            Self::Behind(behind) => behind.write(bytes),
        }
    }

    /// Waits until everything is written, and says how long the file is.
    fn finish(self) -> Result<u64> {
        match self {
            Self::Ring(ring) => ring.finish(),
            Self::Behind(behind) => behind.finish(),
        }
    }
}

impl LocalFile {
    pub(super) fn create(store: &JobStore, path: &object_store::path::Path, if_exists: IfExists) -> Result<Self> {
        let target = resolve_link(file_path(path));
        check_target(&target, if_exists)?;
        // Folders of tables have many files, and are looked through by vacuum.
        if let (Some(folder), true) = (target.parent(), if_exists != IfExists::ErrorAtEnd) {
            remove_orphaned_files(folder);
        }
        let hidden = HiddenFile::create(target)?;
        let job = store.job.clone();
        job.begin_file(|wanted| uring::probe(&hidden.file, wanted));
        let (gathered, behind_bytes) = (Vec::new(), None);
        Ok(Self { writer: None, hidden, if_exists, gathered, written: 0, behind_bytes, job })
    }

    pub(super) fn write(&mut self, bytes: Bytes) -> Result<()> {
        if let Some(writer) = &mut self.writer {
            return writer.write(bytes);
        }
        if self.gather(&bytes) {
            return Ok(());
        }
        self.writer = self.begin_writer()?;
        if let Some(writer) = &mut self.writer {
            writer.write(Bytes::from(std::mem::take(&mut self.gathered)))?;
            return writer.write(bytes);
        }
        self.flush()?;
        if bytes.len() < GATHERED_BYTES {
            self.gathered.extend_from_slice(&bytes);
            return Ok(());
        }
        self.job.check()?;
        self.send(&bytes)
    }

    pub(super) fn flush(&mut self) -> Result<()> {
        if let Some(writer) = self.writer.take() {
            self.written = writer.finish()?;
        }
        self.job.check()?;
        if !self.gathered.is_empty() {
            let gathered = std::mem::take(&mut self.gathered);
            self.send(&gathered)?;
            self.gathered = gathered;
            self.gathered.clear();
        }
        Ok(())
    }

    /// Like [`Self::flush`], but a thread of its own may go on with what it was given.
    pub(super) fn flush_or_leave(&mut self) -> Result<()> {
        if let Some(Writer::Behind(behind)) = &self.writer {
            behind.close();
            return Ok(());
        }
        self.end()
    }

    /// Like [`Self::flush`], of a file that nothing follows in: while it waits for its name, it holds no buffer.
    pub(super) fn end(&mut self) -> Result<()> {
        self.flush()?;
        self.gathered = Vec::new();
        Ok(())
    }

    pub(super) fn write_behind(&mut self, limit_bytes: usize) {
        self.behind_bytes = Some(limit_bytes);
    }

    pub(super) fn made_folders(&self) -> &[PathBuf] {
        self.hidden.made_folders()
    }

    pub(super) fn publish(&mut self) -> Result<()> {
        match self.hidden.publish(self.if_exists == IfExists::Replace) {
            Err(e) if e.kind() == ErrorKind::AlreadyExists => Err(exists()),
            other => Ok(other?),
        }
    }

    /// Whether a write is kept for later.
    fn gather(&mut self, bytes: &[u8]) -> bool {
        if bytes.len() >= GATHERED_BYTES {
            return false;
        }
        if self.gathered.capacity() == 0 {
            self.gathered.reserve_exact(GATHERED_BYTES);
        }
        let has_room = self.gathered.len() + bytes.len() <= GATHERED_BYTES;
        if has_room {
            self.gathered.extend_from_slice(bytes);
        }
        has_room
    }

    /// What writes the file, unless it is to be written at once.
    fn begin_writer(&self) -> Result<Option<Writer>> {
        let (file, job) = (&self.hidden.file, &self.job);
        match (job.begin_file(|wanted| uring::probe(file, wanted)), self.behind_bytes) {
            (FileIo::Auto | FileIo::Sync, None) => Ok(None),
            (io @ (FileIo::Auto | FileIo::Sync), Some(limit_bytes)) => {
                let may_pass = io == FileIo::Auto;
                Ok(Behind::begin(file, self.written, limit_bytes, may_pass, job)?.map(Writer::Behind))
            }
            (io, _) => {
                let is_direct = io == FileIo::UringDirect;
                Ok(Ring::begin(file, self.written, is_direct, job)?.map(Box::new).map(Writer::Ring))
            }
        }
    }

    fn send(&mut self, bytes: &[u8]) -> Result<()> {
        self.hidden.file.write_all_at(bytes, self.written)?;
        self.written += bytes.len() as u64;
        self.job.meter().count(RequestKind::Put, 1);
        self.job.meter().wrote_bytes(bytes.len() as u64);
        Ok(())
    }
}

/// A link is written through, not replaced.
fn resolve_link(target: PathBuf) -> PathBuf {
    match target.symlink_metadata() {
        Ok(metadata) if metadata.is_symlink() => std::fs::canonicalize(&target).unwrap_or(target),
        _ => target,
    }
}

fn check_target(target: &Path, if_exists: IfExists) -> Result<()> {
    match std::fs::metadata(target) {
        Err(e) if e.kind() == ErrorKind::NotFound => Ok(()),
        Err(e) if e.kind() == ErrorKind::NotADirectory => {
            Err(Error::invalid("a folder of the path is a file").caused_by(e))
        }
        Err(e) => Err(e.into()),
        Ok(metadata) if metadata.is_dir() => {
            Err(Error::invalid("is a folder").advice("name a file, or remove the folder"))
        }
        Ok(metadata) if !metadata.is_file() => {
            Err(Error::unsupported("is not a regular file: it could not appear whole or not at all"))
        }
        Ok(_) if if_exists.is_error() => Err(exists()),
        Ok(_) => Ok(()),
    }
}

fn exists() -> Error {
    Error::conflict("it exists already").advice(
        "remove it, choose another name, or replace it by --mode overwrite (mode); tpch: --overwrite (overwrite)",
    )
}
