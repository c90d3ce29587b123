//! A device that loses what was not synced.
//!
//! A VFS in front of SQLite's own notes what is written to the files of one folder, and what a sync has made durable. [`Device::watch`]
//! says when the power is cut: what the device would then have is written to another folder. Of the changes since a file's last sync,
//! any set survives, and each in any set of its sectors of 512 bytes.

#![allow(unsafe_code, reason = "SQLite's interface to file systems is one of C")]

use std::collections::BTreeMap;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use rusqlite::ffi;

const SECTOR_BYTES: usize = 512;

/// Numbers in no order, the same for the same seed.
#[derive(Debug, Clone)]
pub struct Numbers(u64);

impl Numbers {
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15))
    }

    /// A number below `end`.
    pub fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % end
    }
}

enum Change {
    Write(usize, Vec<u8>),
    Length(usize),
}

impl Change {
    fn apply(&self, bytes: &mut Vec<u8>) {
        match self {
            Self::Write(at, data) => write(bytes, *at, data),
            Self::Length(len) => bytes.resize(*len, 0),
        }
    }
}

fn write(bytes: &mut Vec<u8>, at: usize, data: &[u8]) {
    let end = at + data.len();
    if bytes.len() < end {
        bytes.resize(end, 0);
    }
    bytes[at..end].copy_from_slice(data);
}

/// A file as the device has it.
#[derive(Default)]
struct Image {
    /// Whether a sync has made the file's name durable.
    is_named: bool,
    /// Whether it was removed: until names are synced, it may come back.
    is_removed: bool,
    synced: Vec<u8>,
    unsynced: Vec<Change>,
}

impl Image {
    fn sync(&mut self) {
        let Self { synced, unsynced, .. } = self;
        unsynced.drain(..).for_each(|change| change.apply(synced));
        self.is_named = true;
    }

    /// What is left after a loss of power; `None` where the file is gone.
    fn survivor(&self, numbers: &mut Numbers) -> Option<Vec<u8>> {
        let (kind, first) = (numbers.below(4), numbers.below(self.unsynced.len() as u64 + 1) as usize);
        if kind == 0 && (!self.is_named || self.is_removed) {
            return None;
        }
        let mut bytes = self.synced.clone();
        for (number, change) in self.unsynced.iter().enumerate() {
            let survives = match kind {
                0 => false,
                1 => number <= first,
                2 => numbers.below(2) == 0,
                _ => true,
            };
            match change {
                _ if !survives => {}
                // The last one of a prefix, and one in four of others, is torn.
                Change::Write(at, data) if (kind == 1 && number == first) || (kind != 1 && numbers.below(4) == 0) => {
                    for (sector, part) in data.chunks(SECTOR_BYTES).enumerate() {
                        if numbers.below(2) == 0 {
                            write(&mut bytes, at + sector * SECTOR_BYTES, part);
                        }
                    }
                }
                change => change.apply(&mut bytes),
            }
        }
        Some(bytes)
    }
}

/// Says how many changes of the store were confirmed when the power was cut.
type Confirmed = Box<dyn Fn() -> u64 + Send>;

struct Watch {
    folder: String,
    out: PathBuf,
    numbers: Numbers,
    confirmed: Confirmed,
    /// Calls of the device until the next cut.
    calls_left: u64,
    most_calls: u64,
    cuts: Vec<Cut>,
}

/// A loss of power: the folder with what is left, and the changes that were confirmed before.
#[derive(Debug)]
pub struct Cut {
    pub folder: PathBuf,
    pub confirmed: u64,
}

#[derive(Default)]
struct State {
    files: BTreeMap<String, Image>,
    watch: Option<Watch>,
}

static STATE: Mutex<Option<State>> = Mutex::new(None);
static REAL: OnceLock<usize> = OnceLock::new();

/// The device, of which a process has one.
pub struct Device;

impl Device {
    /// Puts the device in front of all files that SQLite opens from now on.
    pub fn install() {
        REAL.get_or_init(|| {
            // SAFETY: the VFS that is registered lives as long as the process, as does the one behind it.
            unsafe {
                let real = ffi::sqlite3_vfs_find(std::ptr::null());
                assert!(!real.is_null());
                let own = Box::leak(Box::new(*real));
                own.pNext = std::ptr::null_mut();
                own.iVersion = own.iVersion.min(2);
                own.zName = c"loses".as_ptr();
                own.szOsFile = (size_of::<File>() + (*real).szOsFile as usize) as c_int;
                own.xOpen = Some(open);
                own.xDelete = Some(delete);
                assert_eq!(ffi::sqlite3_vfs_register(own, 1), ffi::SQLITE_OK);
                real as usize
            }
        });
    }

    /// Cuts the power at any of the next `most_calls` calls that change files in `folder`, again and again. What is left goes to
    /// folders in `out`.
    pub fn watch(folder: &Path, out: &Path, numbers: Numbers, most_calls: u64, confirmed: Confirmed) {
        let mut numbers = numbers;
        let calls_left = 1 + numbers.below(most_calls);
        let (folder, out, cuts) = (folder.to_str().unwrap().to_owned(), out.to_owned(), Vec::new());
        let watch = Watch { folder, out, numbers, confirmed, calls_left, most_calls, cuts };
        *state() = Some(State { files: BTreeMap::new(), watch: Some(watch) });
    }

    /// Ends the watch and gives the losses of power.
    pub fn cuts() -> Vec<Cut> {
        state().take().and_then(|state| state.watch).map(|watch| watch.cuts).unwrap_or_default()
    }
}

fn state() -> MutexGuard<'static, Option<State>> {
    STATE.lock().unwrap_or_else(PoisonError::into_inner)
}

fn real() -> *mut ffi::sqlite3_vfs {
    *REAL.get().unwrap() as *mut ffi::sqlite3_vfs
}

/// Notes a change of a file that is watched, and cuts the power where it is time.
fn note(name: &str, change: impl FnOnce(&mut BTreeMap<String, Image>)) {
    let mut state = state();
    if let Some(State { files, watch: Some(watch) }) = &mut *state
        && name.starts_with(&watch.folder)
    {
        change(files);
        watch.calls_left -= 1;
        if watch.calls_left == 0 {
            watch.cut(files);
        }
    }
}

impl Watch {
    /// Cuts the power: what the files then have goes to a folder.
    fn cut(&mut self, files: &BTreeMap<String, Image>) {
        self.calls_left = 1 + self.numbers.below(self.most_calls);
        let folder = self.out.join(self.cuts.len().to_string());
        std::fs::create_dir_all(&folder).unwrap();
        for (name, image) in files {
            if let Some(bytes) = image.survivor(&mut self.numbers) {
                std::fs::write(folder.join(Path::new(name).file_name().unwrap()), bytes).unwrap();
            }
        }
        self.cuts.push(Cut { folder, confirmed: (self.confirmed)() });
    }
}

/// An open file; SQLite's own follows it in memory.
#[repr(C)]
struct File {
    base: ffi::sqlite3_file,
    name: *mut String,
}

/// # Safety
/// `file` is one that [`open`] has made.
unsafe fn inner_file(file: *mut ffi::sqlite3_file) -> *mut ffi::sqlite3_file {
    // SAFETY: `szOsFile` has room for both.
    unsafe { file.byte_add(size_of::<File>()) }
}

/// # Safety
/// `file` is one that [`open`] has made.
unsafe fn name<'a>(file: *mut ffi::sqlite3_file) -> &'a str {
    // SAFETY: the name goes with the file, in `close`.
    unsafe { (*(*file.cast::<File>()).name).as_str() }
}

/// Calls a method of the file behind.
macro_rules! pass {
    ($file:expr, $method:ident $(, $argument:expr)*) => {{
        // SAFETY: SQLite calls with a file that `open` has made, whose own methods are there.
        unsafe {
            let file = inner_file($file);
            ((*(*file).pMethods).$method.unwrap())(file $(, $argument)*)
        }
    }};
}

unsafe extern "C" fn open(
    _: *mut ffi::sqlite3_vfs,
    path: *const c_char,
    file: *mut ffi::sqlite3_file,
    flags: c_int,
    out: *mut c_int,
) -> c_int {
    static METHODS: OnceLock<Methods> = OnceLock::new();
    // SAFETY: the arguments are SQLite's; `file` has `szOsFile` bytes.
    unsafe {
        let own = file.cast::<File>();
        (*own).base.pMethods = std::ptr::null();
        let opened = ((*real()).xOpen.unwrap())(real(), path, inner_file(file), flags, out);
        if opened != ffi::SQLITE_OK {
            return opened;
        }
        let name = if path.is_null() { String::new() } else { CStr::from_ptr(path).to_string_lossy().into_owned() };
        note(&name, |files| {
            let image = files.entry(name.clone()).or_default();
            if image.is_removed {
                *image = Image::default();
            }
        });
        (*own).name = Box::into_raw(Box::new(name));
        (*own).base.pMethods = &METHODS.get_or_init(methods).0;
    }
    ffi::SQLITE_OK
}

unsafe extern "C" fn delete(_: *mut ffi::sqlite3_vfs, path: *const c_char, sync: c_int) -> c_int {
    // SAFETY: the arguments are SQLite's.
    let (deleted, name) = unsafe {
        (((*real()).xDelete.unwrap())(real(), path, sync), CStr::from_ptr(path).to_string_lossy().into_owned())
    };
    note(&name, |files| match (sync, files.get_mut(&name)) {
        (0, Some(image)) => image.is_removed = true,
        _ => drop(files.remove(&name)),
    });
    deleted
}

/// The methods live as long as the process and are of no thread.
struct Methods(ffi::sqlite3_io_methods);
// SAFETY: they are functions.
unsafe impl Send for Methods {}
// SAFETY: they are functions.
unsafe impl Sync for Methods {}

fn methods() -> Methods {
    Methods(ffi::sqlite3_io_methods {
        iVersion: 2,
        xClose: Some(close),
        xRead: Some(read),
        xWrite: Some(write_at),
        xTruncate: Some(truncate),
        xSync: Some(sync),
        xFileSize: Some(file_size),
        xLock: Some(lock),
        xUnlock: Some(unlock),
        xCheckReservedLock: Some(check_reserved_lock),
        xFileControl: Some(file_control),
        xSectorSize: Some(sector_size),
        xDeviceCharacteristics: Some(device_characteristics),
        xShmMap: Some(shm_map),
        xShmLock: Some(shm_lock),
        xShmBarrier: Some(shm_barrier),
        xShmUnmap: Some(shm_unmap),
        xFetch: None,
        xUnfetch: None,
    })
}

unsafe extern "C" fn close(file: *mut ffi::sqlite3_file) -> c_int {
    let closed = pass!(file, xClose);
    // SAFETY: `open` has made the name, and SQLite closes a file once.
    drop(unsafe { Box::from_raw((*file.cast::<File>()).name) });
    closed
}

unsafe extern "C" fn read(file: *mut ffi::sqlite3_file, out: *mut c_void, len: c_int, at: ffi::sqlite3_int64) -> c_int {
    pass!(file, xRead, out, len, at)
}

unsafe extern "C" fn write_at(
    file: *mut ffi::sqlite3_file,
    data: *const c_void,
    len: c_int,
    at: ffi::sqlite3_int64,
) -> c_int {
    let written = pass!(file, xWrite, data, len, at);
    // SAFETY: SQLite gives `len` bytes.
    let (name, bytes) = unsafe { (name(file), std::slice::from_raw_parts(data.cast::<u8>(), len as usize)) };
    let change = Change::Write(at as usize, bytes.to_vec());
    note(name, |files| files.entry(name.to_owned()).or_default().unsynced.push(change));
    written
}

unsafe extern "C" fn truncate(file: *mut ffi::sqlite3_file, len: ffi::sqlite3_int64) -> c_int {
    let truncated = pass!(file, xTruncate, len);
    // SAFETY: SQLite gives a file that is open.
    let name = unsafe { name(file) };
    let change = Change::Length(len as usize);
    note(name, |files| files.entry(name.to_owned()).or_default().unsynced.push(change));
    truncated
}

/// The disk below is not asked: what counts is what this device notes.
unsafe extern "C" fn sync(file: *mut ffi::sqlite3_file, _: c_int) -> c_int {
    // SAFETY: SQLite gives a file that is open.
    let name = unsafe { name(file) };
    note(name, |files| {
        let image = files.entry(name.to_owned()).or_default();
        let is_new = !image.is_named;
        image.sync();
        // With the first sync of a file, SQLite syncs the names of its folder.
        if is_new {
            files.retain(|_, image| !image.is_removed);
        }
    });
    ffi::SQLITE_OK
}

unsafe extern "C" fn file_size(file: *mut ffi::sqlite3_file, out: *mut ffi::sqlite3_int64) -> c_int {
    pass!(file, xFileSize, out)
}

unsafe extern "C" fn lock(file: *mut ffi::sqlite3_file, level: c_int) -> c_int {
    pass!(file, xLock, level)
}

unsafe extern "C" fn unlock(file: *mut ffi::sqlite3_file, level: c_int) -> c_int {
    pass!(file, xUnlock, level)
}

unsafe extern "C" fn check_reserved_lock(file: *mut ffi::sqlite3_file, out: *mut c_int) -> c_int {
    pass!(file, xCheckReservedLock, out)
}

unsafe extern "C" fn file_control(file: *mut ffi::sqlite3_file, control: c_int, argument: *mut c_void) -> c_int {
    pass!(file, xFileControl, control, argument)
}

unsafe extern "C" fn sector_size(file: *mut ffi::sqlite3_file) -> c_int {
    pass!(file, xSectorSize)
}

unsafe extern "C" fn device_characteristics(file: *mut ffi::sqlite3_file) -> c_int {
    pass!(file, xDeviceCharacteristics)
}

unsafe extern "C" fn shm_map(
    file: *mut ffi::sqlite3_file,
    page: c_int,
    len: c_int,
    extend: c_int,
    out: *mut *mut c_void,
) -> c_int {
    pass!(file, xShmMap, page, len, extend, out)
}

unsafe extern "C" fn shm_lock(file: *mut ffi::sqlite3_file, offset: c_int, count: c_int, flags: c_int) -> c_int {
    pass!(file, xShmLock, offset, count, flags)
}

unsafe extern "C" fn shm_barrier(file: *mut ffi::sqlite3_file) {
    pass!(file, xShmBarrier);
}

unsafe extern "C" fn shm_unmap(file: *mut ffi::sqlite3_file, delete: c_int) -> c_int {
    pass!(file, xShmUnmap, delete)
}
