//! Connections don't survive a fork: SQLite's locks belong to the process that took them, and the child inherits its
//! records of them. So connections are closed before each fork, and opened again on their next use.

use std::cell::RefCell;
use std::collections::HashSet;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, Once, RwLockWriteGuard, TryLockError, Weak};
use std::time::{Duration, Instant};

use lakerace_io::Result;
use lakerace_io::wait::lock;
use rusqlite::config::DbConfig;

use super::connections::{StoreConnections, tainted};
use super::queue::{QueueState, WriterSlot};
use super::reader::StoreReader;

/// How long a fork waits for operations of other threads.
const PATIENCE: Duration = Duration::from_secs(10);

static HOMES: Mutex<Vec<Weak<StoreConnections>>> = Mutex::new(Vec::new());

/// Files, by device and number, of which the parent's connections were open when this process was forked.
static TAINTED: Mutex<Option<HashSet<(u64, u64)>>> = Mutex::new(None);

thread_local! {
    static FORKING: RefCell<Option<ForkGuards>> = const { RefCell::new(None) };
}

/// Guards that are held while the process forks. They come first: they are dropped before the values that they guard.
struct ForkGuards {
    homes: Vec<Closed>,
    _all: MutexGuard<'static, Vec<Weak<StoreConnections>>>,
}

struct Closed {
    _gate: Option<RwLockWriteGuard<'static, ()>>,
    _readers: MutexGuard<'static, Vec<StoreReader>>,
    _queue: MutexGuard<'static, QueueState>,
    is_clean: bool,
    connections: Arc<StoreConnections>,
}

/// Has connections closed at each fork.
pub(super) fn register(connections: &Arc<StoreConnections>) {
    static ONCE: Once = Once::new();
    // SAFETY: the three functions live as long as the process.
    ONCE.call_once(|| unsafe {
        libc::pthread_atfork(Some(prepare), Some(parent), Some(child));
    });
    let mut homes = lock(&HOMES);
    homes.retain(|home| home.strong_count() > 0);
    homes.push(Arc::downgrade(connections));
}

/// Returns an error if this process may not open the file at `path`.
pub(super) fn check(path: &Path) -> Result<()> {
    let tainted_files = lock(&TAINTED);
    let Some(files) = &*tainted_files else { return Ok(()) };
    match std::fs::metadata(path) {
        Ok(found) if files.contains(&(found.dev(), found.ino())) => Err(tainted()),
        _ => Ok(()),
    }
}

extern "C" fn prepare() {
    let all = lock(&HOMES);
    let homes = all.iter().filter_map(Weak::upgrade).map(close).collect();
    FORKING.with_borrow_mut(|forking| *forking = Some(ForkGuards { homes, _all: all }));
}

extern "C" fn parent() {
    FORKING.with_borrow_mut(|forking| *forking = None);
}

extern "C" fn child() {
    let Some(forking) = FORKING.with_borrow_mut(Option::take) else { return };
    for home in &forking.homes {
        home.connections.read_lock.is_forked();
        if !home.is_clean {
            home.connections.is_tainted.store(true, Ordering::Relaxed);
            if let Ok(found) = std::fs::metadata(&home.connections.path) {
                let mut tainted_files = lock(&TAINTED);
                tainted_files.get_or_insert_default().insert((found.dev(), found.ino()));
            }
        }
    }
}

/// Waits for the operations of a store and closes its connections.
fn close(connections: Arc<StoreConnections>) -> Closed {
    let start = Instant::now();
    // SAFETY: the locks live in `connections`, which `Closed` keeps and drops after the guards.
    let stays: &'static StoreConnections = unsafe { &*Arc::as_ptr(&connections) };
    let gate = loop {
        match stays.gate.try_write() {
            Ok(gate) => break Some(gate),
            Err(TryLockError::Poisoned(gate)) => break Some(gate.into_inner()),
            Err(TryLockError::WouldBlock) if start.elapsed() > PATIENCE => break None,
            Err(TryLockError::WouldBlock) => std::thread::sleep(Duration::from_micros(100)),
        }
    };
    let mut readers = lock(&stays.readers);
    let mut queue = stays.queue.lock();
    let mut is_clean = gate.is_some() && stays.outstanding.load(Ordering::Acquire) == 0;
    readers.drain(..).for_each(|reader| without_checkpoint(&reader.connection));
    is_clean &= stays.read_lock.close(without_checkpoint);
    match std::mem::take(&mut queue.writer) {
        WriterSlot::Free(writer) => without_checkpoint(&writer.connection),
        WriterSlot::Closed => {}
        WriterSlot::Taken => {
            queue.writer = WriterSlot::Taken;
            is_clean = false;
        }
    }
    Closed { _gate: gate, _readers: readers, _queue: queue, is_clean, connections }
}

/// Lets a connection be closed without moving the log into the file, which may take long.
fn without_checkpoint(connection: &rusqlite::Connection) {
    // If this is refused, the connection moves the log when it is closed.
    let _ = connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true);
}
