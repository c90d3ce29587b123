//! A local file under way: hidden beside its target until it is complete.

use std::fs::File;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, RenameFlags};

use super::IfExists;
use crate::location::file_path;
use crate::{Error, Job, JobStore, RequestKind, Result};

/// Smaller writes are gathered to this size.
const GATHERED_BYTES: usize = 1 << 20;

#[derive(Debug)]
pub(super) struct LocalFile {
    file: File,
    hidden: PathBuf,
    target: PathBuf,
    if_exists: IfExists,
    gathered: Vec<u8>,
    job: Job,
    /// Folders made for this file, outermost first: they go with it.
    made_folders: Vec<PathBuf>,
    published: bool,
}

impl LocalFile {
    pub(super) fn create(store: &JobStore, path: &object_store::path::Path, if_exists: IfExists) -> Result<Self> {
        let target = resolve_link(file_path(path));
        check_target(&target, if_exists)?;
        let folder = target.parent().ok_or_else(|| Error::usage("the target has no folder"))?;
        let made_folders = make_folders(folder)?;
        let (file, hidden) = match create_hidden(folder, &target) {
            Ok(created) => created,
            Err(e) => {
                remove_folders(&made_folders);
                return Err(e.into());
            }
        };
        let job = store.job.clone();
        Ok(Self { file, hidden, target, if_exists, gathered: Vec::new(), job, made_folders, published: false })
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
        send(&mut self.file, bytes, &self.job)
    }

    pub(super) fn flush(&mut self) -> Result<()> {
        self.job.check()?;
        if !self.gathered.is_empty() {
            send(&mut self.file, &self.gathered, &self.job)?;
            self.gathered.clear();
        }
        Ok(())
    }

    pub(super) fn publish(&mut self) -> Result<()> {
        match self.if_exists {
            IfExists::Replace => std::fs::rename(&self.hidden, &self.target)?,
            IfExists::Error => rename_if_absent(&self.hidden, &self.target)?,
        }
        self.published = true;
        Ok(())
    }
}

impl Drop for LocalFile {
    fn drop(&mut self) {
        if !self.published {
            // Nothing can be told from here; a file that can't be removed stays hidden.
            let _ = std::fs::remove_file(&self.hidden);
            remove_folders(&self.made_folders);
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

/// Makes the missing folders and says which.
fn make_folders(folder: &Path) -> Result<Vec<PathBuf>> {
    let missing: Vec<PathBuf> = folder.ancestors().take_while(|f| !f.exists()).map(Path::to_path_buf).collect();
    let mut made = Vec::new();
    for folder in missing.into_iter().rev() {
        match std::fs::create_dir(&folder) {
            Ok(()) => made.push(folder),
            // Somebody else was faster.
            Err(e) if e.kind() == ErrorKind::AlreadyExists => {}
            Err(e) => {
                remove_folders(&made);
                return Err(e.into());
            }
        }
    }
    Ok(made)
}

fn remove_folders(made: &[PathBuf]) {
    for folder in made.iter().rev() {
        // One that holds something by now is somebody else's, too, and stays.
        let _ = std::fs::remove_dir(folder);
    }
}

/// `.NAME.lakerace-RANDOM.tmp`: hidden, and told from other programs' files by its name.
fn create_hidden(folder: &Path, target: &Path) -> std::io::Result<(File, PathBuf)> {
    let name = target.file_name().unwrap_or_default().to_string_lossy();
    // Names have 255 bytes at most.
    let mut end = name.len().min(200);
    while !name.is_char_boundary(end) {
        end -= 1;
    }
    loop {
        let hidden = folder.join(format!(".{}.lakerace-{:016x}.tmp", &name[..end], rand::random::<u64>()));
        match File::options().write(true).create_new(true).open(&hidden) {
            Ok(file) => return Ok((file, hidden)),
            Err(e) if e.kind() == ErrorKind::AlreadyExists => {}
            Err(e) => return Err(e),
        }
    }
}

fn rename_if_absent(from: &Path, to: &Path) -> Result<()> {
    match rustix::fs::renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
        Ok(()) => Ok(()),
        Err(rustix::io::Errno::EXIST) => Err(exists()),
        // Not every file system knows the flag; a hard link does not replace either.
        Err(rustix::io::Errno::INVAL | rustix::io::Errno::NOSYS | rustix::io::Errno::NOTSUP) => {
            match std::fs::hard_link(from, to) {
                Ok(()) => Ok(std::fs::remove_file(from)?),
                Err(e) if e.kind() == ErrorKind::AlreadyExists => Err(exists()),
                Err(e) => Err(e.into()),
            }
        }
        Err(e) => Err(std::io::Error::from(e).into()),
    }
}
