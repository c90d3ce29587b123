//! Pieces made by several threads, and taken in order.

use std::collections::BTreeMap;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, MutexGuard};
use std::thread::JoinHandle;

use arrow::array::RecordBatch;
use lakerace_io::wait::WatchedValue;
use lakerace_io::{Error, Job, Result};

/// Batches that may be under way or wait to be taken, for each thread.
const WINDOW_OF_EACH: u64 = 2;

/// Makes the batch of some entities.
pub(crate) type Make = dyn Fn(Range<u64>) -> Result<RecordBatch> + Send + Sync;
/// The entities of batches, in order.
pub(crate) type Ranges = Box<dyn Iterator<Item = Range<u64>> + Send>;

/// Batches in the order of their ranges.
pub(crate) enum Pieces {
    /// Made when they are asked for.
    Inline { make: Arc<Make>, ranges: Ranges },
    /// Made ahead.
    Threads(Threads),
}

pub(crate) struct Threads {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
    job: Job,
}

struct Shared {
    state: WatchedValue<State>,
    make: Arc<Make>,
    window: u64,
}

struct State {
    ranges: Ranges,
    /// No range is left.
    ended: bool,
    started: u64,
    taken: u64,
    made: BTreeMap<u64, Result<RecordBatch>>,
    stop: bool,
}

impl Pieces {
    /// Starts the job's threads, or as many as the system starts; none where the job has one only.
    pub(crate) fn start(make: Arc<Make>, ranges: Ranges, job: &Job) -> Self {
        let threads = job.options().threads;
        if threads <= 1 {
            return Self::Inline { make, ranges };
        }
        let state = State { ranges, ended: false, started: 0, taken: 0, made: BTreeMap::new(), stop: false };
        let window = WINDOW_OF_EACH * threads as u64;
        let shared = Arc::new(Shared { state: WatchedValue::new(state), make, window });
        let mut all = Threads { shared, threads: Vec::with_capacity(threads), job: job.clone() };
        for _ in 0..threads {
            let shared = Arc::clone(&all.shared);
            let thread = std::thread::Builder::new().name("lakerace-tpch".to_owned()).spawn(move || shared.work());
            match thread {
                Ok(thread) => all.threads.push(thread),
                // Those that run do all.
                Err(_) if !all.threads.is_empty() => break,
                Err(_) => {
                    let make = Arc::clone(&all.shared.make);
                    let ranges = std::mem::replace(&mut all.shared.lock().ranges, Box::new(std::iter::empty()));
                    return Self::Inline { make, ranges };
                }
            }
        }
        Self::Threads(all)
    }
}

impl Iterator for Pieces {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        match self {
            Self::Inline { make, ranges } => ranges.next().map(|range| make(range)),
            Self::Threads(threads) => threads.take(),
        }
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }

    /// The next range and its number; waits while enough is made.
    fn begin(&self) -> Option<(u64, Range<u64>)> {
        let mut state = self.lock();
        while !state.stop && !state.ended && state.started >= state.taken + self.window {
            state = self.state.wait(state);
        }
        if state.stop || state.ended {
            return None;
        }
        let Some(range) = state.ranges.next() else {
            state.ended = true;
            drop(state);
            self.state.notify_all();
            return None;
        };
        state.started += 1;
        Some((state.started - 1, range))
    }

    /// A thread's life.
    fn work(&self) {
        while let Some((number, range)) = self.begin() {
            let outcome = catch_unwind(AssertUnwindSafe(|| (self.make)(range)))
                .unwrap_or_else(|_| Err(Error::internal("a thread that generates rows failed")));
            self.lock().made.insert(number, outcome);
            self.state.notify_all();
        }
    }
}

impl Threads {
    fn take(&mut self) -> Option<Result<RecordBatch>> {
        let mut state = self.shared.lock();
        loop {
            if let Err(error) = self.job.check() {
                return Some(Err(error));
            }
            let next = state.taken;
            if let Some(made) = state.made.remove(&next) {
                state.taken += 1;
                drop(state);
                self.shared.state.notify_all();
                return Some(made);
            }
            if state.ended && state.taken == state.started {
                return None;
            }
            state = self.shared.state.wait_briefly(state);
        }
    }
}

impl Drop for Threads {
    fn drop(&mut self) {
        self.shared.lock().stop = true;
        self.shared.state.notify_all();
        for thread in self.threads.drain(..) {
            // Its panics have become errors.
            let _ = thread.join();
        }
    }
}
