//! Work on a sequence of items on several threads, its outcomes in the order of the items.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::sync_channel;
use std::sync::{Arc, Mutex};

use crossbeam_channel::{Sender, unbounded};
use lakerace_io::wait::{InOrder as Outcomes, into_value, lock};
use lakerace_io::{Error, Job, Result};

/// Items that may be under way or done and not taken, beyond one for every thread.
const AHEAD: usize = 2;

/// Where items come from, one after the other. `None`: that was all.
pub(super) trait Items: Send + 'static {
    type Item;

    fn next_item(&mut self) -> Result<Option<Self::Item>>;
}

/// What becomes of an item.
type Work<I, T> = dyn Fn(<I as Items>::Item) -> Result<T> + Send + Sync;

/// An item's outcome by its number; `None` behind the last one.
type Numbered<T> = (u64, Result<Option<T>>);

/// The outcomes. After an error, the caller takes no more. Dropped, it stops its threads.
pub(super) struct InOrder<I: Items, T> {
    crew: Crew<I, T>,
    job: Job,
}

enum Crew<I: Items, T> {
    Inline {
        items: I,
        work: Box<Work<I, T>>,
    },
    Threads {
        outcomes: Outcomes<Result<Option<T>>>,
        /// One for each item that may be begun. The threads end when it is gone.
        permits: Sender<()>,
    },
}

struct Shared<I: Items, T> {
    queue: Mutex<Queue<I>>,
    work: Box<Work<I, T>>,
}

struct Queue<I> {
    items: I,
    next: u64,
    has_ended: bool,
}

impl<I: Items, T: Send + 'static> InOrder<I, T> {
    /// Starts as many threads as the job has. A single one is the caller's own.
    pub fn start(items: I, job: &Job, work: impl Fn(I::Item) -> Result<T> + Send + Sync + 'static) -> Result<Self> {
        let (threads, work) = (job.options().threads.max(1), Box::new(work));
        if threads == 1 {
            return Ok(Self { crew: Crew::Inline { items, work }, job: job.clone() });
        }
        let (permits, permitted) = unbounded();
        for _ in 0..threads + AHEAD {
            permits.send(()).map_err(|_| ended())?;
        }
        let (sender, outcomes) = sync_channel(threads + AHEAD);
        let queue = Mutex::new(Queue { items, next: 0, has_ended: false });
        let shared = Arc::new(Shared { queue, work });
        for number in 0..threads {
            let (own, sender, permitted) = (Arc::clone(&shared), sender.clone(), permitted.clone());
            let run = move || {
                while permitted.recv().is_ok() {
                    let Some(outcome) = own.one() else { return };
                    if sender.send(outcome).is_err() {
                        return;
                    }
                }
            };
            match std::thread::Builder::new().name(format!("lakerace-jsonl-{number}")).spawn(run) {
                Ok(_) => {}
                Err(error) if number == 0 => {
                    // The calling thread does all.
                    let Shared { queue, work } =
                        Arc::into_inner(shared).ok_or_else(|| lakerace_io::threads::not_started(&error))?;
                    let items = into_value(queue).items;
                    return Ok(Self { crew: Crew::Inline { items, work }, job: job.clone() });
                }
                // Those that run do all.
                Err(_) => break,
            }
        }
        let crew = Crew::Threads { outcomes: Outcomes::new(outcomes), permits };
        Ok(Self { crew, job: job.clone() })
    }

    /// The outcome of the next item; `None` behind the last one.
    pub fn take(&mut self) -> Result<Option<T>> {
        self.job.check()?;
        match &mut self.crew {
            Crew::Inline { items, work } => items.next_item()?.map(work).transpose(),
            Crew::Threads { outcomes, permits } => {
                let outcome = outcomes.take(&self.job)?.ok_or_else(ended)?;
                let _ = permits.send(());
                outcome
            }
        }
    }
}

impl<I: Items, T> Shared<I, T> {
    /// Takes an item and works on it. `None`: there are no more.
    fn one(&self) -> Option<Numbered<T>> {
        let (number, item) = {
            let mut queue = lock(&self.queue);
            if queue.has_ended {
                return None;
            }
            let number = queue.next;
            queue.next += 1;
            let item = catch_unwind(AssertUnwindSafe(|| queue.items.next_item())).unwrap_or_else(|_| Err(panicked()));
            queue.has_ended = !matches!(item, Ok(Some(_)));
            (number, item)
        };
        let work = |item| catch_unwind(AssertUnwindSafe(|| (self.work)(item))).unwrap_or_else(|_| Err(panicked()));
        Some((number, item.and_then(|item| item.map(work).transpose())))
    }
}

fn ended() -> Error {
    Error::internal("the threads that read JSON lines have ended")
}

fn panicked() -> Error {
    Error::internal("a thread that reads JSON lines failed; report this with the file")
}
