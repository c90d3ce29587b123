//! A store as a file system that can be read, by FUSE.

#[cfg(all(target_os = "linux", feature = "mount"))]
mod fuse;
mod tree;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use lakerace_io::{Error, Result};

use crate::store::Store;

pub use tree::{FileTree, FolderEntry, Node, NodeKind, Tell};

/// How a store is mounted.
#[derive(Debug, Clone, Default)]
pub struct MountOptions {
    /// The folder of the store that is shown; all of it where this is empty.
    pub folder: String,
    /// Users other than the one that mounts may read, too.
    pub allow_other: bool,
}

/// A mounted store, which is unmounted on drop.
#[derive(Debug)]
pub struct Mount {
    #[cfg(all(target_os = "linux", feature = "mount"))]
    session: fuse::MountSession,
    #[cfg(not(all(target_os = "linux", feature = "mount")))]
    never: std::convert::Infallible,
}

impl Mount {
    /// Mounts a store on an empty directory, for reading. `tell` gets messages that a file system can't return: the
    /// reasons of failed reads, and names that no path can hold.
    ///
    /// An error of kind `Unsupported` where the platform, the kernel or the user's rights don't allow it.
    pub fn new(store: Arc<Store>, directory: &Path, options: &MountOptions, tell: Tell) -> Result<Self> {
        let directory = checked(&store, directory)?;
        let name = store.location().to_owned();
        let tree = FileTree::new(store, &options.folder, tell)?;
        Self::start(tree, &directory, &name, options)
    }

    #[cfg(all(target_os = "linux", feature = "mount"))]
    fn start(tree: FileTree, directory: &Path, name: &str, options: &MountOptions) -> Result<Self> {
        fuse::MountSession::start(tree, directory, name, options.allow_other).map(|session| Self { session })
    }

    #[cfg(not(all(target_os = "linux", feature = "mount")))]
    fn start(_: FileTree, directory: &Path, _: &str, _: &MountOptions) -> Result<Self> {
        Err(Error::unsupported("stores can only be mounted on Linux, by a build with the feature `mount`")
            .at(directory.display())
            .advice("export the files to a directory instead"))
    }

    /// Returns true if it was unmounted by others.
    pub fn is_ended(&self) -> bool {
        #[cfg(all(target_os = "linux", feature = "mount"))]
        {
            self.session.is_ended()
        }
        #[cfg(not(all(target_os = "linux", feature = "mount")))]
        match self.never {}
    }

    /// Unmounts it. Where files of it are still open, it leaves the tree of paths together and ends with this process.
    pub fn unmount(self) -> Result<()> {
        #[cfg(all(target_os = "linux", feature = "mount"))]
        {
            self.session.unmount()
        }
        #[cfg(not(all(target_os = "linux", feature = "mount")))]
        match self.never {}
    }
}

/// The directory's real path. It must be empty, as its files could not be seen, and not be of the store, which would show itself.
fn checked(store: &Store, directory: &Path) -> Result<PathBuf> {
    let place = |e: std::io::Error| Error::from(e).at(directory.display());
    let real = directory.canonicalize().map_err(|e| {
        let is_absent = e.kind() == std::io::ErrorKind::NotFound;
        let error = place(e);
        if is_absent { error.advice("create the directory first") } else { error }
    })?;
    if !real.is_dir() {
        return Err(Error::invalid("not a directory").at(directory.display()).advice("choose an empty directory"));
    }
    let own = store.location();
    let own = Path::new(own.strip_prefix("dir:").unwrap_or(own)).canonicalize();
    if own.is_ok_and(|own| own.is_dir() && real.starts_with(own)) {
        return Err(Error::invalid("the directory is inside of the store, so the mount would contain itself")
            .at(directory.display())
            .advice("choose an empty directory elsewhere"));
    }
    if std::fs::read_dir(&real).map_err(place)?.next().is_some() {
        return Err(Error::invalid("the directory is not empty, and the mount would hide its files")
            .at(directory.display())
            .advice("choose an empty directory"));
    }
    Ok(real)
}
