//! Group commit: of the threads that write at the same time, one commits for all.
//!
//! The first to come takes the writer and runs its own work. Those that come in the meantime wait, and the next one of them runs
//! the work of all of them in one transaction. So a disk that takes 5 ms for a commit takes as long for 64 of them, and one
//! thread alone hands nothing over.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread::Thread;
use std::time::{Duration, Instant};

use lakerace_io::wait::lock;
use lakerace_io::{Error, Result};

use super::writer::StoreWriter;

/// Work in a transaction. It may run again where the transaction of many had to be taken back.
type Work<'a> = dyn FnMut(&mut StoreWriter) -> Result<()> + Send + 'a;

/// The most work in one transaction.
const GROUP: usize = 4096;

/// The other works that may be in a work's transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WorkIsolation {
    /// The work of other threads.
    Others,
    /// No other work: the work reads through another connection, which does not see the changes of the transaction.
    Alone,
}

#[derive(Debug, Default)]
pub(super) struct WriteQueue {
    state: Mutex<QueueState>,
}

#[derive(Debug, Default)]
pub(super) struct QueueState {
    pub(super) writer: WriterSlot,
    waiting: VecDeque<Arc<WriteRequest>>,
}

/// The place of the writer.
#[derive(Debug, Default)]
pub(super) enum WriterSlot {
    /// Not open yet.
    #[default]
    Closed,
    Free(Box<StoreWriter>),
    /// In use by some thread, or held by a batch.
    Taken,
}

/// Work that waits for a thread to run it.
struct WriteRequest {
    isolation: WorkIsolation,
    work: Mutex<Option<WorkPointer>>,
    outcome: Mutex<Option<Result<()>>>,
    is_done: AtomicBool,
    thread: Thread,
}

impl std::fmt::Debug for WriteRequest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("WriteRequest")
    }
}

/// Work on the stack of a thread that waits.
struct WorkPointer(*mut Work<'static>);

// SAFETY: the work is `Send`, and its owner waits until no one has the pointer any more.
unsafe impl Send for WorkPointer {}

impl WriteQueue {
    pub(super) fn lock(&self) -> MutexGuard<'_, QueueState> {
        lock(&self.state)
    }

    /// Runs `work` in a transaction, alone or with that of other threads, and commits it.
    pub(super) fn run(
        &self,
        open: &dyn Fn() -> Result<StoreWriter>,
        patience: Duration,
        isolation: WorkIsolation,
        work: &mut Work<'_>,
    ) -> Result<()> {
        let mut state = self.lock();
        if state.waiting.is_empty()
            && let Some(writer) = state.take(open)?
        {
            drop(state);
            let mut held = WriterGuard { queue: self, writer: Some(writer) };
            return held.alone(work);
        }
        // SAFETY: only the lifetime changes. `wait` returns when the request is done or taken back, and by then no
        // thread runs the work any more.
        let pointer = WorkPointer(unsafe { std::mem::transmute::<*mut Work<'_>, *mut Work<'static>>(work) });
        let request = Arc::new(WriteRequest {
            isolation,
            work: Mutex::new(Some(pointer)),
            outcome: Mutex::default(),
            is_done: AtomicBool::new(false),
            thread: std::thread::current(),
        });
        state.waiting.push_back(Arc::clone(&request));
        drop(state);
        self.wait(open, patience, &request)
    }

    fn wait(
        &self,
        open: &dyn Fn() -> Result<StoreWriter>,
        patience: Duration,
        request: &Arc<WriteRequest>,
    ) -> Result<()> {
        let start = Instant::now();
        loop {
            if request.is_done.load(Ordering::Acquire) {
                return request.outcome();
            }
            let mut state = self.lock();
            let is_queued = state.waiting.iter().any(|other| Arc::ptr_eq(other, request));
            if is_queued {
                match state.take(open) {
                    Ok(Some(writer)) => {
                        let group = state.next_group();
                        drop(state);
                        let mut held = WriterGuard { queue: self, writer: Some(writer) };
                        held.together(&group);
                        drop(held);
                        continue;
                    }
                    Ok(None) if start.elapsed() < patience => {}
                    given_up => {
                        state.waiting.retain(|other| !Arc::ptr_eq(other, request));
                        let timed_out = || {
                            Error::unavailable(format!(
                                "the store could not be locked for writing within {} s",
                                patience.as_secs()
                            ))
                            .advice("end the batch that holds the lock, or wait longer with busy_timeout")
                        };
                        return Err(given_up.err().unwrap_or_else(timed_out));
                    }
                }
            }
            drop(state);
            match is_queued {
                true => std::thread::park_timeout(patience.saturating_sub(start.elapsed())),
                // Someone runs it: the work is borrowed until that is over.
                false => std::thread::park_timeout(Duration::from_millis(100)),
            }
        }
    }

    /// Takes the writer away for longer: all others wait.
    pub(super) fn lease(&self, open: &dyn Fn() -> Result<StoreWriter>, patience: Duration) -> Result<Box<StoreWriter>> {
        let mut found = None;
        let start = Instant::now();
        while found.is_none() {
            found = self.lock().take(open)?;
            if found.is_none() {
                if start.elapsed() >= patience {
                    return Err(Error::unavailable("another batch holds the store").advice("end it first"));
                }
                std::thread::sleep(Duration::from_millis(1));
            }
        }
        found.ok_or_else(|| Error::internal("the store has no writer"))
    }

    /// Gives the writer back, and wakes the first that waits.
    pub(super) fn give_back(&self, writer: Option<Box<StoreWriter>>) {
        let mut state = self.lock();
        state.writer = writer.map_or(WriterSlot::Closed, WriterSlot::Free);
        if let Some(first) = state.waiting.front() {
            first.thread.unpark();
        }
    }
}

impl QueueState {
    /// The work of the next transaction.
    fn next_group(&mut self) -> Vec<Arc<WriteRequest>> {
        let sociable =
            self.waiting.iter().take(GROUP).take_while(|request| request.isolation == WorkIsolation::Others).count();
        // Work that stays alone is first where none is sociable.
        let count = sociable.max(1).min(self.waiting.len());
        self.waiting.drain(..count).collect()
    }

    /// Takes the writer, unless another thread uses it.
    fn take(&mut self, open: &dyn Fn() -> Result<StoreWriter>) -> Result<Option<Box<StoreWriter>>> {
        match std::mem::replace(&mut self.writer, WriterSlot::Taken) {
            WriterSlot::Free(writer) => Ok(Some(writer)),
            WriterSlot::Taken => Ok(None),
            WriterSlot::Closed => match open() {
                Ok(writer) => Ok(Some(Box::new(writer))),
                Err(e) => {
                    self.writer = WriterSlot::Closed;
                    Err(e)
                }
            },
        }
    }
}

/// The writer while a thread uses it, returned to the queue on drop, after a panic, too.
struct WriterGuard<'a> {
    queue: &'a WriteQueue,
    writer: Option<Box<StoreWriter>>,
}

impl Drop for WriterGuard<'_> {
    fn drop(&mut self) {
        if let Some(writer) = &mut self.writer {
            // After a panic, a transaction is open.
            writer.rollback();
        }
        self.queue.give_back(self.writer.take());
    }
}

impl WriterGuard<'_> {
    fn alone(&mut self, work: &mut Work<'_>) -> Result<()> {
        let Some(writer) = &mut self.writer else { return Err(Error::internal("the store has no writer")) };
        transact(writer, work)
    }

    /// Runs the work of all, in one transaction if that succeeds, else each in its own.
    fn together(&mut self, group: &[Arc<WriteRequest>]) {
        let Some(writer) = &mut self.writer else { return };
        let _answers = CompletionGuard(group);
        if group.len() > 1 && try_together(writer, group) {
            return;
        }
        for request in group {
            let done = request.call(|work| transact(writer, work));
            request.finish(done);
        }
    }
}

/// Answers those whose work a panic has left undone.
struct CompletionGuard<'a>(&'a [Arc<WriteRequest>]);

impl Drop for CompletionGuard<'_> {
    fn drop(&mut self) {
        for request in self.0 {
            if !request.is_done.load(Ordering::Acquire) {
                request.finish(Err(Error::internal("the thread that wrote on behalf of this one panicked")));
            }
        }
    }
}

fn transact(writer: &mut StoreWriter, work: &mut Work<'_>) -> Result<()> {
    writer.begin()?;
    match work(writer) {
        Ok(()) => writer.commit(),
        Err(e) => {
            writer.rollback();
            Err(e)
        }
    }
}

/// Runs the work of all in one transaction. False where one failed when it had changed something, or the commit did: nothing has
/// happened then.
fn try_together(writer: &mut StoreWriter, group: &[Arc<WriteRequest>]) -> bool {
    if writer.begin().is_err() {
        return false;
    }
    let mut outcomes = Vec::with_capacity(group.len());
    for request in group {
        writer.is_dirty = false;
        let outcome = request.call(|work| work(writer));
        if outcome.is_err() && (writer.is_dirty || writer.connection.is_autocommit()) {
            writer.rollback();
            return false;
        }
        outcomes.push(outcome);
    }
    if writer.commit().is_err() {
        return false;
    }
    for (request, outcome) in group.iter().zip(outcomes) {
        request.finish(outcome);
    }
    true
}

impl WriteRequest {
    fn call(&self, run: impl FnOnce(&mut Work<'static>) -> Result<()>) -> Result<()> {
        let pointer = lock(&self.work);
        let Some(pointer) = pointer.as_ref() else { return Err(Error::internal("the queued write is gone")) };
        // SAFETY: the owner of the work waits until `is_done`, which follows this call. The lock makes it the only user.
        run(unsafe { &mut *pointer.0 })
    }

    fn finish(&self, outcome: Result<()>) {
        *lock(&self.work) = None;
        *lock(&self.outcome) = Some(outcome);
        self.is_done.store(true, Ordering::Release);
        self.thread.unpark();
    }

    fn outcome(&self) -> Result<()> {
        let outcome = lock(&self.outcome).take();
        outcome.unwrap_or_else(|| Err(Error::internal("a write has no result")))
    }
}
