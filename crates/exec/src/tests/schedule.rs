//! A scheduler for tests: of the threads of a test one runs at a time, and random numbers of a seed say which one.
//!
//! A thread may be switched at each lock and each wait, so the seeds go through orders that a machine seldom shows. A wait ends by
//! a notice. One that ends by its time alone is counted: the machine has forgotten a notice. Where all threads wait, a test fails.

use std::cell::{Cell, RefCell};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, TryLockError};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ThreadStatus {
    Ready,
    /// Waits for a lock that another thread had in this epoch.
    Blocked(u64),
    /// Waits for a notice, or for some time.
    Parked {
        condition: usize,
        is_timed: bool,
    },
    Done,
}

#[derive(Debug)]
struct ScheduleState {
    threads: Vec<ThreadStatus>,
    running: Option<usize>,
    random: u64,
    epoch: u64,
    timeouts: usize,
    is_deadlocked: bool,
}

#[derive(Debug)]
struct Scheduler {
    state: Mutex<ScheduleState>,
    switched: Condvar,
}

thread_local! {
    static CURRENT: RefCell<Option<(Arc<Scheduler>, usize)>> = const { RefCell::new(None) };
    static THREADS_LEFT: Cell<usize> = const { Cell::new(usize::MAX) };
}

/// Runs a test by the schedule of a seed, until its last thread has ended. Gives its outcome, and the number of waits that ended
/// by their time.
pub(crate) fn run_scheduled<R>(seed: u64, test: impl FnOnce() -> R) -> (R, usize) {
    let state = ScheduleState {
        threads: vec![ThreadStatus::Ready],
        running: Some(0),
        random: seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1,
        epoch: 1,
        timeouts: 0,
        is_deadlocked: false,
    };
    let scheduler = Arc::new(Scheduler { state: Mutex::new(state), switched: Condvar::new() });
    CURRENT.set(Some((Arc::clone(&scheduler), 0)));
    let outcome = test();
    CURRENT.set(None);
    scheduler.switch(0, ThreadStatus::Done);
    let mut state = scheduler.lock();
    while state.running.is_some() && !state.is_deadlocked {
        state = scheduler.switched.wait(state).unwrap_or_else(PoisonError::into_inner);
    }
    assert!(!state.is_deadlocked, "seed {seed}: all threads wait");
    (outcome, state.timeouts)
}

/// Has the system start no more than so many further threads, of those that this thread asks for.
pub(crate) fn limit_threads(count: usize) {
    THREADS_LEFT.set(count);
}

pub(crate) fn is_scheduled() -> bool {
    CURRENT.with_borrow(Option::is_some)
}

/// Lets another thread run, maybe.
pub(crate) fn point() {
    switch(ThreadStatus::Ready);
}

pub(crate) fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    point();
    loop {
        match mutex.try_lock() {
            Ok(value) => return value,
            Err(TryLockError::Poisoned(value)) => return value.into_inner(),
            Err(TryLockError::WouldBlock) => switch(ThreadStatus::Blocked(u64::MAX)),
        }
    }
}

/// Waits for a notice. The lock was let go before: no other thread has run since.
pub(crate) fn park(condition: &Condvar, is_timed: bool) {
    switch(ThreadStatus::Parked { condition: address(condition), is_timed });
}

pub(crate) fn notify(condition: &Condvar) {
    if let Some((scheduler, _)) = current() {
        for thread in &mut scheduler.lock().threads {
            if matches!(thread, ThreadStatus::Parked { condition: parked, .. } if *parked == address(condition)) {
                *thread = ThreadStatus::Ready;
            }
        }
    }
}

fn address(condition: &Condvar) -> usize {
    std::ptr::from_ref(condition) as usize
}

fn current() -> Option<(Arc<Scheduler>, usize)> {
    CURRENT.with_borrow(Clone::clone)
}

fn switch(status: ThreadStatus) {
    if let Some((scheduler, own)) = current() {
        scheduler.switch(own, status);
    }
}

/// The work of a thread that is to start, in its turn; `None` where the system starts none.
pub(crate) fn scheduled<T>(work: impl FnOnce() -> T) -> Option<impl FnOnce() -> T> {
    let started = new_thread()?;
    Some(move || started.run(work))
}

fn new_thread() -> Option<StartedThread> {
    let left = THREADS_LEFT.get();
    if left == 0 {
        return None;
    }
    THREADS_LEFT.set(left - 1);
    let place = current().map(|(scheduler, _)| {
        let mut state = scheduler.lock();
        state.threads.push(ThreadStatus::Ready);
        let own = state.threads.len() - 1;
        drop(state);
        (scheduler, own)
    });
    Some(StartedThread(place))
}

struct StartedThread(Option<(Arc<Scheduler>, usize)>);

impl StartedThread {
    fn run<T>(self, work: impl FnOnce() -> T) -> T {
        if let Some((scheduler, own)) = &self.0 {
            CURRENT.set(self.0.clone());
            scheduler.wait(scheduler.lock(), *own);
        }
        work()
    }
}

impl Drop for StartedThread {
    fn drop(&mut self) {
        if let Some((scheduler, own)) = &self.0 {
            CURRENT.set(None);
            scheduler.switch(*own, ThreadStatus::Done);
        }
    }
}

impl Scheduler {
    fn lock(&self) -> MutexGuard<'_, ScheduleState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn switch(&self, own: usize, status: ThreadStatus) {
        let mut state = self.lock();
        let epoch = state.epoch;
        state.threads[own] =
            if matches!(status, ThreadStatus::Blocked(_)) { ThreadStatus::Blocked(epoch) } else { status };
        state.choose();
        self.switched.notify_all();
        if status != ThreadStatus::Done {
            self.wait(state, own);
        }
    }

    fn wait(&self, mut state: MutexGuard<'_, ScheduleState>, own: usize) {
        while state.running != Some(own) {
            assert!(!state.is_deadlocked, "all threads wait: {:?}", state.threads);
            state = self.switched.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

impl ScheduleState {
    /// Chooses the thread that runs next.
    fn choose(&mut self) {
        let epoch = self.epoch;
        let runs = |status: &ThreadStatus| match status {
            ThreadStatus::Ready => true,
            ThreadStatus::Blocked(since) => *since < epoch,
            ThreadStatus::Parked { .. } | ThreadStatus::Done => false,
        };
        let waits_for_time = |status: &ThreadStatus| matches!(status, ThreadStatus::Parked { is_timed: true, .. });
        self.running = self.any(runs);
        if self.running.is_none() {
            self.running = self.any(waits_for_time);
            self.timeouts += usize::from(self.running.is_some());
        }
        match self.running {
            Some(next) => {
                if !matches!(self.threads[next], ThreadStatus::Blocked(_)) {
                    self.epoch += 1;
                }
                self.threads[next] = ThreadStatus::Ready;
            }
            None => self.is_deadlocked = self.threads.iter().any(|status| *status != ThreadStatus::Done),
        }
    }

    fn any(&mut self, is_wanted: impl Fn(&ThreadStatus) -> bool) -> Option<usize> {
        let wanted: Vec<usize> = (0..self.threads.len()).filter(|thread| is_wanted(&self.threads[*thread])).collect();
        // Xorshift.
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        (!wanted.is_empty()).then(|| wanted[(self.random % wanted.len() as u64) as usize])
    }
}
