//! Locks of database files that other SQLite libraries of this process respect, and can't drop.
//!
//! SQLite locks by POSIX records, which belong to a process: two SQLite libraries in one process, such as this one and Python's `sqlite3`,
//! don't see each other's locks. When either of them closes a file, the system drops all locks that the process has on it. So the one that closes
//! takes itself for the last user and removes the log, from which the other one continues.
//!
//! This library locks by open file descriptions instead, on the same bytes. These locks and POSIX records exclude each other, in one process
//! and among many. All connections of a file share one description for their locks, as SQLite counts locks by file. A
//! file that another library of this process has open is not closed here, which would drop the locks of that library: its descriptor is
//! kept, and serves the next connection.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{CStr, c_char, c_int, c_void};
use std::fs::File;
use std::mem::MaybeUninit;
use std::os::fd::{FromRawFd, IntoRawFd};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::ptr;
use std::sync::{Mutex, MutexGuard, Once, PoisonError};

use rusqlite::ffi;

/// A file independent of its name: its device and its inode number.
type FileId = (u64, u64);

/// Endings of files that SQLite never locks.
const UNLOCKED: [&[u8]; 2] = [b"-wal", b"-journal"];

static FILES: Mutex<LockedFiles> = Mutex::new(LockedFiles { by_descriptor: BTreeMap::new(), files: BTreeMap::new() });

thread_local! {
    /// The lock of the table while the process forks.
    static FORKING: std::cell::RefCell<Option<MutexGuard<'static, LockedFiles>>> = const { std::cell::RefCell::new(None) };
}

/// The files that this library has open.
struct LockedFiles {
    by_descriptor: BTreeMap<c_int, FileId>,
    files: BTreeMap<FileId, LockedFile>,
}

#[derive(Default)]
struct LockedFile {
    /// Descriptors that SQLite has open.
    open: Vec<c_int>,
    /// Descriptors that SQLite has closed, and those of locks alone.
    kept: Vec<c_int>,
    /// The descriptor on which all locks are.
    locks: Option<c_int>,
}

/// Has SQLite lock by open file descriptions, where the system has such locks. It must come before the first connection.
pub(crate) fn install() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        if !is_supported() {
            return;
        }
        // SAFETY: the functions live as long as the process, and have the types by which SQLite calls them: `fcntl` with a third argument
        // always, which the ABIs of Linux pass in the same place to a variadic function and to this one. A handler of forks is plain code.
        unsafe {
            let vfs = ffi::sqlite3_vfs_find(c"unix".as_ptr());
            let Some(set) = vfs.as_ref().and_then(|vfs| vfs.xSetSystemCall) else { return };
            libc::pthread_atfork(Some(before_fork), Some(after_fork_in_parent), Some(after_fork_in_child));
            let open: unsafe extern "C" fn(*const c_char, c_int, c_int) -> c_int = open_file;
            let close: unsafe extern "C" fn(c_int) -> c_int = close_file;
            let control: unsafe extern "C" fn(c_int, c_int, *mut c_void) -> c_int = control_file;
            set(vfs, c"open".as_ptr(), std::mem::transmute::<unsafe extern "C" fn(*const c_char, c_int, c_int) -> c_int, ffi::sqlite3_syscall_ptr>(open));
            set(vfs, c"close".as_ptr(), std::mem::transmute::<unsafe extern "C" fn(c_int) -> c_int, ffi::sqlite3_syscall_ptr>(close));
            set(vfs, c"fcntl".as_ptr(), std::mem::transmute::<unsafe extern "C" fn(c_int, c_int, *mut c_void) -> c_int, ffi::sqlite3_syscall_ptr>(control));
        }
    });
}

/// Returns true if the kernel has locks of open file descriptions.
fn is_supported() -> bool {
    // SAFETY: a file in memory is made, asked for a lock by a request that the call may change, and closed.
    unsafe {
        let file = libc::memfd_create(c"lakerace-locks".as_ptr(), libc::MFD_CLOEXEC);
        if file < 0 {
            return false;
        }
        let mut lock: libc::flock = std::mem::zeroed();
        lock.l_type = libc::F_WRLCK as _;
        let answer = libc::fcntl(file, libc::F_OFD_GETLK, ptr::from_mut(&mut lock));
        libc::close(file);
        answer == 0
    }
}

fn files() -> MutexGuard<'static, LockedFiles> {
    FILES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Reads up to `out.len()` bytes of a file's start without dropping locks that any library of this process has on it.
pub(crate) fn read_start(path: &Path, out: &mut [u8]) -> std::io::Result<usize> {
    let Ok(name) = std::ffi::CString::new(path.as_os_str().as_encoded_bytes()) else {
        return Err(std::io::ErrorKind::InvalidInput.into());
    };
    // SAFETY: the name ends with NUL. The descriptor is owned here until it is given back.
    unsafe {
        let descriptor = open_file(name.as_ptr(), libc::O_RDONLY | libc::O_CLOEXEC, 0);
        if descriptor < 0 {
            return Err(std::io::Error::last_os_error());
        }
        let file = File::from_raw_fd(descriptor);
        let mut read = 0;
        let outcome = loop {
            match file.read_at(&mut out[read..], read as u64) {
                Ok(0) => break Ok(read),
                Ok(more) => read += more,
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(error) => break Err(error),
            }
        };
        close_file(file.into_raw_fd());
        outcome
    }
}

/// SQLite's `open`: a descriptor of the file that was kept serves again.
unsafe extern "C" fn open_file(path: *const c_char, flags: c_int, mode: c_int) -> c_int {
    // SAFETY: SQLite gives a path that ends with NUL.
    let name = unsafe { CStr::from_ptr(path) }.to_bytes();
    let is_locked = flags & libc::O_EXCL == 0 && !UNLOCKED.iter().any(|ending| name.ends_with(ending));
    if is_locked && let Some(descriptor) = files().reuse(path, flags) {
        return descriptor;
    }
    // SAFETY: the arguments are SQLite's.
    let descriptor = unsafe { libc::open(path, flags, mode) };
    if is_locked && descriptor >= 0 {
        files().add(descriptor);
    }
    descriptor
}

/// SQLite's `close`: a descriptor stays while other connections or libraries of the process have the file open.
unsafe extern "C" fn close_file(descriptor: c_int) -> c_int {
    let is_known = files().close(descriptor);
    // SAFETY: the descriptor is SQLite's.
    if is_known { 0 } else { unsafe { libc::close(descriptor) } }
}

/// SQLite's `fcntl`: requests for POSIX locks become those for locks of the file's open description.
unsafe extern "C" fn control_file(descriptor: c_int, request: c_int, argument: *mut c_void) -> c_int {
    let own_request = match request {
        libc::F_GETLK => libc::F_OFD_GETLK,
        libc::F_SETLK => libc::F_OFD_SETLK,
        libc::F_SETLKW => libc::F_OFD_SETLKW,
        // SAFETY: the arguments are SQLite's.
        _ => return unsafe { libc::fcntl(descriptor, request, argument) },
    };
    let target = files().lock_descriptor(descriptor);
    // SAFETY: the argument of these requests is a lock. That of the system is a copy, in which the process must be 0.
    unsafe {
        let mut lock = argument.cast::<libc::flock>().read();
        lock.l_pid = 0;
        let answer = libc::fcntl(target, own_request, ptr::from_mut(&mut lock));
        if answer == 0 && request == libc::F_GETLK {
            argument.cast::<libc::flock>().write(lock);
        }
        answer
    }
}

impl LockedFiles {
    /// Notes a descriptor that was opened.
    fn add(&mut self, descriptor: c_int) {
        if let Some(id) = regular_file(descriptor) {
            self.by_descriptor.insert(descriptor, id);
            self.files.entry(id).or_default().open.push(descriptor);
        }
    }

    /// A descriptor of the file at `path` that was kept, if it was opened for the same access.
    fn reuse(&mut self, path: *const c_char, flags: c_int) -> Option<c_int> {
        if self.files.values().all(|file| file.kept.is_empty()) {
            return None;
        }
        let mut found = MaybeUninit::<libc::stat>::uninit();
        // SAFETY: the path ends with NUL, and the call fills its output when it returns 0.
        let found = unsafe {
            if libc::stat(path, found.as_mut_ptr()) != 0 {
                return None;
            }
            found.assume_init()
        };
        let file = self.files.get_mut(&(found.st_dev, found.st_ino))?;
        let wanted = flags & libc::O_ACCMODE;
        let at = file.kept.iter().position(|kept| access(*kept) == Some(wanted))?;
        let descriptor = file.kept.swap_remove(at);
        file.open.push(descriptor);
        Some(descriptor)
    }

    /// Closes a descriptor as soon as that drops no locks. False where it is not known here.
    fn close(&mut self, descriptor: c_int) -> bool {
        let Some(file) = self.by_descriptor.get(&descriptor).and_then(|id| self.files.get_mut(id)) else {
            return false;
        };
        let Some(at) = file.open.iter().position(|open| *open == descriptor) else { return false };
        file.open.swap_remove(at);
        file.kept.push(descriptor);
        if file.open.is_empty() {
            self.close_unused();
        }
        true
    }

    /// Closes the kept descriptors of files that no other library of this process has open.
    fn close_unused(&mut self) {
        let elsewhere = self.open_elsewhere();
        let Self { by_descriptor, files } = self;
        files.retain(|id, file| {
            let stays = !file.open.is_empty() || elsewhere.contains(id);
            if !stays {
                for kept in &file.kept {
                    by_descriptor.remove(kept);
                    // SAFETY: the descriptor is this library's, and not in use.
                    unsafe { libc::close(*kept) };
                }
            }
            stays
        });
    }

    /// The regular files of which this process has descriptors that are not this library's.
    fn open_elsewhere(&self) -> BTreeSet<FileId> {
        let Ok(listed) = std::fs::read_dir("/proc/self/fd") else { return BTreeSet::new() };
        let descriptors = listed.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<c_int>().ok());
        descriptors.filter(|one| !self.by_descriptor.contains_key(one)).filter_map(regular_file).collect()
    }

    /// The descriptor on which the locks of a descriptor's file are.
    fn lock_descriptor(&mut self, descriptor: c_int) -> c_int {
        if !self.by_descriptor.contains_key(&descriptor) {
            self.add(descriptor);
        }
        let Some(file) = self.by_descriptor.get(&descriptor).and_then(|id| self.files.get_mut(id)) else {
            return descriptor;
        };
        if let Some(locks) = file.locks {
            return locks;
        }
        // A connection that writes may come later: its locks need a descriptor that is open for writing.
        let locks = match access(descriptor) {
            Some(libc::O_RDWR) => descriptor,
            _ => match reopened(descriptor, libc::O_RDWR) {
                Some(made) => {
                    file.kept.push(made);
                    made
                }
                None => descriptor,
            },
        };
        file.locks = Some(locks);
        if let Some(id) = self.by_descriptor.get(&descriptor).copied() {
            self.by_descriptor.insert(locks, id);
        }
        locks
    }

    /// Gives this child of a fork separate file descriptions: locks on the inherited ones belong to its parent.
    fn part_from_parent(&mut self) {
        let Self { by_descriptor, files } = self;
        files.retain(|_, file| {
            file.locks = None;
            for kept in file.kept.drain(..) {
                by_descriptor.remove(&kept);
                // SAFETY: the descriptor is this library's, and not in use.
                unsafe { libc::close(kept) };
            }
            for descriptor in &file.open {
                if let Some(made) = access(*descriptor).and_then(|mode| reopened(*descriptor, mode)) {
                    // SAFETY: both descriptors are this library's.
                    unsafe {
                        libc::dup3(made, *descriptor, libc::O_CLOEXEC);
                        libc::close(made);
                    }
                }
            }
            !file.open.is_empty()
        });
    }
}

/// The file of a descriptor, if it is a regular one.
fn regular_file(descriptor: c_int) -> Option<FileId> {
    let mut found = MaybeUninit::<libc::stat>::uninit();
    // SAFETY: the call fills its output when it returns 0.
    let found = unsafe {
        if libc::fstat(descriptor, found.as_mut_ptr()) != 0 {
            return None;
        }
        found.assume_init()
    };
    (found.st_mode & libc::S_IFMT == libc::S_IFREG).then_some((found.st_dev, found.st_ino))
}

/// The access that a descriptor was opened for: reading, writing or both.
fn access(descriptor: c_int) -> Option<c_int> {
    // SAFETY: the request has no argument.
    let flags = unsafe { libc::fcntl(descriptor, libc::F_GETFL) };
    (flags >= 0).then_some(flags & libc::O_ACCMODE)
}

/// Another open description of a descriptor's file.
fn reopened(descriptor: c_int, mode: c_int) -> Option<c_int> {
    let path = std::ffi::CString::new(format!("/proc/self/fd/{descriptor}")).ok()?;
    // SAFETY: the path ends with NUL.
    let made = unsafe { libc::open(path.as_ptr(), mode | libc::O_CLOEXEC) };
    (made >= 0).then_some(made)
}

extern "C" fn before_fork() {
    let held = files();
    FORKING.with_borrow_mut(|forking| *forking = Some(held));
}

extern "C" fn after_fork_in_parent() {
    FORKING.with_borrow_mut(|forking| *forking = None);
}

extern "C" fn after_fork_in_child() {
    if let Some(mut held) = FORKING.with_borrow_mut(Option::take) {
        held.part_from_parent();
    }
}
