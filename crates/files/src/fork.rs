//! Coordination of operations with forks. The locks of stores belong to threads of this process, so a fork waits until
//! no operation holds one: the child has no thread that would release it.

use std::cell::Cell;
use std::sync::Once;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use lakerace_io::wait::OwningProcess;
use lakerace_io::{Error, Result};

/// How long a fork waits for operations of other threads.
const PATIENCE: Duration = Duration::from_secs(10);

/// How long an operation and a fork wait between two looks at each other.
const MOMENT: Duration = Duration::from_micros(50);

/// Operations of all threads.
static RUNNING: AtomicUsize = AtomicUsize::new(0);

static IS_FORKING: AtomicBool = AtomicBool::new(false);

/// Forks on the way to this process at which operations of other threads ran.
static TAINTED: AtomicU32 = AtomicU32::new(0);

thread_local! {
    /// Operations of this thread, one in another.
    static DEPTH: Cell<usize> = const { Cell::new(0) };
    static IS_CLEAN: Cell<bool> = const { Cell::new(true) };
}

/// Who opened a store, by which a child knows that it has inherited it.
#[derive(Debug)]
pub(crate) struct OpeningProcess {
    owner: OwningProcess,
    tainted: u32,
}

/// An operation that runs: no fork in the meantime.
pub(crate) struct RunningOperation(());

impl OpeningProcess {
    /// This process opens a store.
    pub(crate) fn new() -> Self {
        static ONCE: Once = Once::new();
        // SAFETY: the three functions live as long as the process.
        ONCE.call_once(|| unsafe {
            libc::pthread_atfork(Some(prepare), Some(parent), Some(child));
        });
        Self { owner: OwningProcess::current(), tainted: TAINTED.load(Ordering::SeqCst) }
    }

    /// Returns true if this process is a child of the one that opened the store.
    pub(crate) fn is_forked(&self) -> bool {
        self.owner.is_forked()
    }

    /// Begins an operation. An error in a child whose parent had one running at the fork: its locks are held for good.
    pub(crate) fn enter(&self) -> Result<RunningOperation> {
        if TAINTED.load(Ordering::Relaxed) != self.tainted {
            return Err(Error::usage("this process was forked while other threads were using the store")
                .advice("open the store again, or start child processes by spawn"));
        }
        Ok(enter())
    }
}

/// Begins an operation.
pub(crate) fn enter() -> RunningOperation {
    let depth = DEPTH.get();
    DEPTH.set(depth + 1);
    if depth == 0 {
        loop {
            RUNNING.fetch_add(1, Ordering::SeqCst);
            if !IS_FORKING.load(Ordering::SeqCst) {
                break;
            }
            RUNNING.fetch_sub(1, Ordering::SeqCst);
            std::thread::sleep(MOMENT);
        }
    }
    RunningOperation(())
}

impl Drop for RunningOperation {
    fn drop(&mut self) {
        let depth = DEPTH.get() - 1;
        DEPTH.set(depth);
        if depth == 0 {
            RUNNING.fetch_sub(1, Ordering::SeqCst);
        }
    }
}

extern "C" fn prepare() {
    while IS_FORKING.swap(true, Ordering::SeqCst) {
        // Another thread forks.
        std::thread::sleep(MOMENT);
    }
    // Operations of this thread continue in both processes.
    let own = usize::from(DEPTH.get() > 0);
    let start = Instant::now();
    while RUNNING.load(Ordering::SeqCst) > own && start.elapsed() < PATIENCE {
        std::thread::sleep(MOMENT);
    }
    IS_CLEAN.set(RUNNING.load(Ordering::SeqCst) <= own);
}

extern "C" fn parent() {
    IS_FORKING.store(false, Ordering::SeqCst);
}

extern "C" fn child() {
    if !IS_CLEAN.get() {
        TAINTED.fetch_add(1, Ordering::SeqCst);
    }
    RUNNING.store(usize::from(DEPTH.get() > 0), Ordering::SeqCst);
    IS_FORKING.store(false, Ordering::SeqCst);
}
