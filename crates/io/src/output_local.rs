//! A local file under way: hidden beside its target until it is complete.

use std::fs::File;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use super::IfExists;
use crate::hidden_file::HiddenFile;
use crate::location::file_path;
use crate::{Error, Job, JobStore, RequestKind, Result};

/// Smaller writes are gathered to this size.
const GATHERED_BYTES: usize = 1 << 20;

#[derive(Debug)]
pub(super) struct LocalFile {
    hidden: HiddenFile,
    if_exists: IfExists,
    gathered: Vec<u8>,
    job: Job,
}

impl LocalFile {
    pub(super) fn create(store: &JobStore, path: &object_store::path::Path, if_exists: IfExists) -> Result<Self> {
        let target = resolve_link(file_path(path));
        check_target(&target, if_exists)?;
        let hidden = HiddenFile::create(target)?;
        Ok(Self { hidden, if_exists, gathered: Vec::new(), job: store.job.clone() })
    }

    pub(super) fn write(&mut self, bytes: &[u8]) -> Result<()> {
        if bytes.len() < GATHERED_BYTES {
            if self.gathered.capacity() == 0 {
                self.gathered.reserve_exact(GATHERED_BYTES);
            }
            if self.gathered.len() + bytes.len() <= GATHERED_BYTES {
                self.gathered.extend_from_slice(bytes);
                return Ok(());
            }
        }
        self.flush()?;
        if bytes.len() < GATHERED_BYTES {
            self.gathered.extend_from_slice(bytes);
            return Ok(());
        }
        self.job.check()?;
        send(&mut self.hidden.file, bytes, &self.job)
    }

    pub(super) fn flush(&mut self) -> Result<()> {
        self.job.check()?;
        if !self.gathered.is_empty() {
            send(&mut self.hidden.file, &self.gathered, &self.job)?;
            self.gathered.clear();
        }
        Ok(())
    }

    pub(super) fn publish(&mut self) -> Result<()> {
        match self.hidden.publish(self.if_exists == IfExists::Replace) {
            Err(e) if e.kind() == ErrorKind::AlreadyExists => Err(exists()),
            other => Ok(other?),
        }
    }
}

fn send(file: &mut File, bytes: &[u8], job: &Job) -> Result<()> {
    file.write_all(bytes)?;
    job.meter().count(RequestKind::Put, 1);
    job.meter().wrote_bytes(bytes.len() as u64);
    Ok(())
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
