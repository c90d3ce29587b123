//! The tree as a file system of Linux.

use std::ffi::OsStr;
use std::fs::OpenOptions;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use fuser::{
    BackgroundSession, Errno, FileAttr, FileHandle, FileType, Filesystem, FopenFlags, Generation, INodeNo, LockOwner,
    MountOption, OpenFlags, ReplyAttr, ReplyData, ReplyDirectory, ReplyEmpty, ReplyEntry, ReplyOpen, ReplyStatfs,
    Request, SessionACL,
};
use lakerace_io::{Error, ErrorKind, Result, printable};

use super::{FileTree, Node, NodeKind};

/// The kernel's door to file systems in user space.
const DEVICE: &str = "/dev/fuse";

/// How long the kernel caches a name and its attributes.
const TTL: Duration = Duration::from_secs(1);

/// The time that an unmount waits for running reads.
const PATIENCE: Duration = Duration::from_secs(2);

/// Threads that answer the kernel: a read that waits for an object store does not hold up others.
const THREADS: usize = 8;

/// A file system that the kernel asks.
#[derive(Debug)]
pub(super) struct MountSession {
    running: BackgroundSession,
    directory: PathBuf,
}

impl MountSession {
    pub(super) fn start(tree: FileTree, directory: &Path, name: &str, allow_other: bool) -> Result<Self> {
        let device = OpenOptions::new().read(true).write(true).open(DEVICE);
        device.map_err(|e| no_device(&e).at(directory.display()))?;
        let mut options = fuser::Config::default();
        options.mount_options = vec![
            MountOption::RO,
            MountOption::DefaultPermissions,
            MountOption::Subtype("lakerace".to_owned()),
            MountOption::FSName(source(name)),
        ];
        options.acl = if allow_other { SessionACL::All } else { SessionACL::Owner };
        options.n_threads = Some(THREADS);
        let files = FuseFiles { tree, owner: (rustix::process::getuid().as_raw(), rustix::process::getgid().as_raw()) };
        let session = fuser::Session::new(files, directory, &options);
        let running = session.map_err(|e| not_mounted(&e).at(directory.display()))?.spawn();
        let running = running.map_err(|e| Error::from(e).at(directory.display()))?;
        Ok(Self { running, directory: directory.to_owned() })
    }

    pub(super) fn is_ended(&self) -> bool {
        self.running.guard.is_finished()
    }

    pub(super) fn unmount(self) -> Result<()> {
        if !self.is_ended() {
            detach(&self.directory)?;
        }
        let began = Instant::now();
        while !self.is_ended() && began.elapsed() < PATIENCE {
            std::thread::sleep(Duration::from_millis(5));
        }
        Ok(())
    }
}

/// Takes the file system out of the tree of paths, whether files of it are open or not.
fn detach(directory: &Path) -> Result<()> {
    let path = std::ffi::CString::new(directory.as_os_str().as_bytes());
    let path = path.map_err(|_| Error::internal("the path contains a NUL character").at(directory.display()))?;
    // SAFETY: the path is a C string that outlives the call.
    if unsafe { libc::umount2(path.as_ptr(), libc::MNT_DETACH) } == 0 {
        return Ok(());
    }
    let error = io::Error::last_os_error();
    // Users other than root have it done by a program of root's.
    let by = |program: &str| std::process::Command::new(program).args(["-u", "-z", "--"]).arg(directory).status();
    match ["fusermount3", "fusermount"].iter().any(|program| by(program).is_ok_and(|status| status.success())) {
        true => Ok(()),
        false => Err(Error::from(error).at(directory.display()).advice("unmount it with umount")),
    }
}

fn no_device(error: &io::Error) -> Error {
    Error::unsupported(format!("this system does not allow FUSE mounts: {DEVICE}: {error}")).advice(
        "load the kernel module fuse; start a container with --device /dev/fuse --cap-add SYS_ADMIN; or export the \
         files to a directory",
    )
}

fn not_mounted(error: &io::Error) -> Error {
    Error::unsupported(format!("the system refuses the mount: {}", error.to_string().trim())).advice(
        "install fuse3, which provides fusermount3, or run as root; start a container with --cap-add SYS_ADMIN; or \
         export the files to a directory",
    )
}

/// The store in tables of mounts, which have their own use for some characters.
fn source(name: &str) -> String {
    printable(name).replace([',', '\\', '\n', '\t', ' '], "_")
}

/// The tree, as the kernel asks for it.
#[derive(Debug)]
struct FuseFiles {
    tree: FileTree,
    owner: (u32, u32),
}

impl FuseFiles {
    fn attributes(&self, node: &Node) -> FileAttr {
        let time = time_of(node.mtime_ms);
        let (kind, perm, nlink) = match node.kind {
            NodeKind::File => (FileType::RegularFile, 0o444, 1),
            NodeKind::Folder => (FileType::Directory, 0o555, 2),
        };
        FileAttr {
            ino: INodeNo(node.id),
            size: node.size,
            blocks: node.size.div_ceil(512),
            atime: time,
            mtime: time,
            ctime: time,
            crtime: time,
            kind,
            perm,
            nlink,
            uid: self.owner.0,
            gid: self.owner.1,
            rdev: 0,
            blksize: 128 << 10,
            flags: 0,
        }
    }

    /// Returns the kernel's number for an error, and reports the message of an error that the number doesn't describe.
    fn number(&self, error: &Error) -> Errno {
        let number = match error.kind() {
            ErrorKind::NotFound => return Errno::ENOENT,
            ErrorKind::Conflict => Errno::ESTALE,
            ErrorKind::Cancelled => Errno::EINTR,
            _ => Errno::EIO,
        };
        self.tree.tell(&error.to_string());
        number
    }
}

fn time_of(ms: i64) -> SystemTime {
    let since = Duration::from_millis(ms.unsigned_abs());
    let time = if ms < 0 { UNIX_EPOCH.checked_sub(since) } else { UNIX_EPOCH.checked_add(since) };
    time.unwrap_or(UNIX_EPOCH)
}

impl Filesystem for FuseFiles {
    fn lookup(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        // No name in a store is anything but UTF-8.
        let Some(name) = name.to_str() else { return reply.error(Errno::ENOENT) };
        match self.tree.lookup(parent.0, name) {
            Ok(node) => reply.entry(&TTL, &self.attributes(&node), Generation(0)),
            Err(e) => reply.error(self.number(&e)),
        }
    }

    fn forget(&self, _: &Request, node: INodeNo, lookups: u64) {
        self.tree.forget(node.0, lookups);
    }

    fn getattr(&self, _: &Request, node: INodeNo, _: Option<FileHandle>, reply: ReplyAttr) {
        match self.tree.node(node.0) {
            Ok(node) => reply.attr(&TTL, &self.attributes(&node)),
            Err(e) => reply.error(self.number(&e)),
        }
    }

    fn open(&self, _: &Request, node: INodeNo, _: OpenFlags, reply: ReplyOpen) {
        match self.tree.open(node.0) {
            Ok(handle) => reply.opened(FileHandle(handle), FopenFlags::empty()),
            Err(e) => reply.error(self.number(&e)),
        }
    }

    fn read(
        &self,
        _: &Request,
        _: INodeNo,
        handle: FileHandle,
        offset: u64,
        size: u32,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyData,
    ) {
        match self.tree.read(handle.0, offset, size as usize) {
            Ok(bytes) => reply.data(&bytes),
            Err(e) => reply.error(self.number(&e)),
        }
    }

    fn release(
        &self,
        _: &Request,
        _: INodeNo,
        handle: FileHandle,
        _: OpenFlags,
        _: Option<LockOwner>,
        _: bool,
        reply: ReplyEmpty,
    ) {
        self.tree.close(handle.0);
        reply.ok();
    }

    fn opendir(&self, _: &Request, node: INodeNo, _: OpenFlags, reply: ReplyOpen) {
        match self.tree.open_folder(node.0) {
            Ok(handle) => reply.opened(FileHandle(handle), FopenFlags::empty()),
            Err(e) => reply.error(self.number(&e)),
        }
    }

    fn readdir(&self, _: &Request, _: INodeNo, handle: FileHandle, offset: u64, mut reply: ReplyDirectory) {
        let mut add = |entry: &super::FolderEntry| {
            let kind = match entry.kind {
                NodeKind::File => FileType::RegularFile,
                NodeKind::Folder => FileType::Directory,
            };
            !reply.add(INodeNo(entry.id), entry.next, kind, &entry.name)
        };
        match self.tree.entries(handle.0, offset, &mut add) {
            Ok(()) => reply.ok(),
            Err(e) => reply.error(self.number(&e)),
        }
    }

    fn releasedir(&self, _: &Request, _: INodeNo, handle: FileHandle, _: OpenFlags, reply: ReplyEmpty) {
        self.tree.close_folder(handle.0);
        reply.ok();
    }

    fn statfs(&self, _: &Request, _: INodeNo, reply: ReplyStatfs) {
        reply.statfs(0, 0, 0, 0, 0, 4_096, super::tree::MAX_PART_BYTES as u32, 4_096);
    }
}
