//! A local file under way: hidden beside its target until it is complete.

use std::io::ErrorKind;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use bytes::Bytes;

use super::IfExists;
use super::ring::{self, Ring};
use crate::hidden_file::HiddenFile;
use crate::location::file_path;
use crate::{Error, FileIo, Job, JobStore, RequestKind, Result};

/// Smaller writes are gathered to this size. A file that is not longer is written at once, whatever way was asked for.
const GATHERED_BYTES: usize = 1 << 20;

#[derive(Debug)]
pub(super) struct LocalFile {
    /// Before the file, which may go when nothing is under way any more.
    ring: Option<Box<Ring>>,
    hidden: HiddenFile,
    if_exists: IfExists,
    gathered: Vec<u8>,
    /// Bytes of the file; what is gathered comes next.
    written: u64,
    job: Job,
}

impl LocalFile {
    pub(super) fn create(store: &JobStore, path: &object_store::path::Path, if_exists: IfExists) -> Result<Self> {
        let target = resolve_link(file_path(path));
        check_target(&target, if_exists)?;
        let hidden = HiddenFile::create(target)?;
        let job = store.job.clone();
        job.begin_file(|wanted| ring::probe(&hidden.file, wanted));
        Ok(Self { ring: None, hidden, if_exists, gathered: Vec::new(), written: 0, job })
    }

    pub(super) fn write(&mut self, bytes: Bytes) -> Result<()> {
        if let Some(ring) = &mut self.ring {
            return ring.write(bytes);
        }
        if self.gather(&bytes) {
            return Ok(());
        }
        self.ring = self.begin_ring()?;
        if let Some(ring) = &mut self.ring {
            ring.write(Bytes::from(std::mem::take(&mut self.gathered)))?;
            return ring.write(bytes);
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
        if let Some(ring) = self.ring.take() {
            self.written = ring.finish()?;
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

    /// A ring, if the file is to be written by one.
    fn begin_ring(&self) -> Result<Option<Box<Ring>>> {
        match self.job.begin_file(|wanted| ring::probe(&self.hidden.file, wanted)) {
            FileIo::Sync => Ok(None),
            io => {
                let is_direct = io == FileIo::UringDirect;
                Ok(Ring::begin(&self.hidden.file, self.written, is_direct, &self.job)?.map(Box::new))
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
        Ok(_) if if_exists == IfExists::Error => Err(exists()),
        Ok(_) => Ok(()),
    }
}

fn exists() -> Error {
    Error::conflict("it exists already").advice("remove it, choose another name, or allow it to be replaced")
}
