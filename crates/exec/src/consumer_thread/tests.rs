#![allow(clippy::unwrap_used, clippy::panic)]

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::{ConsumerItems, ConsumerThread};
use crate::schedule::{limit_threads, point, run_scheduled};
use crate::{CancelToken, Interruption};

/// The errors of a test.
#[derive(Debug, Clone, PartialEq, Eq)]
enum TestError {
    Work(u64),
    Panicked,
    Cancelled,
    Ended,
}

impl From<Interruption> for TestError {
    fn from(interruption: Interruption) -> Self {
        match interruption {
            Interruption::Cancelled => Self::Cancelled,
            Interruption::Ended | Interruption::Forked => Self::Ended,
            Interruption::Panicked(_) => Self::Panicked,
        }
    }
}

/// Items for a thread, and what becomes of it.
#[derive(Debug, Clone, Copy)]
struct Scenario {
    items: u64,
    limit: u64,
    taken_at_once: usize,
    /// The item at which the thread fails, panics, or takes no more.
    fails_at: Option<u64>,
    panics_at: Option<u64>,
    ends_at: Option<u64>,
    /// Dropped instead of finished.
    is_dropped: bool,
}

impl Scenario {
    fn of_seed(seed: u64) -> Self {
        let digit = |place: u32, base: u64| seed.wrapping_mul(0x2545_f491_4f6c_dd1d).rotate_left(7 * place) % base;
        let fault = |place: u32| Some(digit(place, 30)).filter(|at| *at < 8);
        Self {
            items: digit(0, 9),
            limit: 1 + digit(1, 6),
            taken_at_once: 1 + digit(2, 3) as usize,
            fails_at: fault(3),
            panics_at: fault(4),
            ends_at: fault(5),
            is_dropped: digit(6, 4) == 0,
        }
    }

    /// The sum of what the thread consumes, by a loop.
    fn expected(&self) -> Result<u64, TestError> {
        let mut sum = 0;
        for item in 0..self.items {
            match item {
                item if self.panics_at == Some(item) => return Err(TestError::Panicked),
                item if self.fails_at == Some(item) => return Err(TestError::Work(item)),
                item if self.ends_at == Some(item) => return Ok(sum),
                item => sum += item,
            }
        }
        Ok(sum)
    }

    fn consume(self, mut items: ConsumerItems<u64, u64, TestError>, under_way: &AtomicU64) -> Result<u64, TestError> {
        let (mut sum, mut some) = (0, Vec::new());
        while items.take_some(&mut some, self.taken_at_once, self.limit)? {
            for item in &some {
                point();
                match *item {
                    // As a panic, without its message.
                    item if self.panics_at == Some(item) => std::panic::resume_unwind(Box::new("injected")),
                    item if self.fails_at == Some(item) => return Err(TestError::Work(item)),
                    item if self.ends_at == Some(item) => return Ok(sum),
                    item => sum += item,
                }
            }
            under_way.fetch_sub(some.len() as u64, Ordering::SeqCst);
        }
        Ok(sum)
    }

    /// Each item weighs 1. No more are handed over and not consumed than may be.
    fn run(self) -> Result<u64, TestError> {
        let under_way = Arc::new(AtomicU64::new(0));
        let own = Arc::clone(&under_way);
        let consume = move |items| self.consume(items, &own);
        let thread = ConsumerThread::start("test", self.limit, &CancelToken::default(), consume).unwrap();
        for item in 0..self.items {
            // The thread may have ended by an item before.
            thread.send(item, 1)?;
            let now = under_way.fetch_add(1, Ordering::SeqCst) + 1;
            let stays = self.ends_at.is_some() || self.fails_at.is_some() || self.panics_at.is_some();
            assert!(stays || now <= self.limit + self.taken_at_once as u64, "{self:?}: {now}");
        }
        if self.is_dropped {
            drop(thread);
            return self.expected();
        }
        thread.finish()
    }
}

#[test]
fn the_outcome_is_that_of_a_loop_in_every_schedule() {
    for seed in 0..3000 {
        let scenario = Scenario::of_seed(seed);
        let (outcome, timeouts) = run_scheduled(seed, || scenario.run());
        assert_eq!(outcome, scenario.expected(), "seed {seed}: {scenario:?}");
        assert_eq!(timeouts, 0, "seed {seed}: a notice was forgotten: {scenario:?}");
    }
}

#[test]
fn a_thread_that_is_dropped_gives_up_and_frees_what_it_has() {
    let held = Arc::new(());
    for count in 0..5 {
        let (report, last_item) = std::sync::mpsc::channel();
        let consume = move |items: ConsumerItems<_, u64, TestError>| {
            let last = items.last();
            report.send(last.unwrap().map(|_: Arc<()>| ())).unwrap();
            Ok(0)
        };
        let thread = ConsumerThread::start("test", 10, &CancelToken::default(), consume).unwrap();
        (0..count).for_each(|_| thread.send(Arc::clone(&held), 1).unwrap());
        drop(thread);
        assert_eq!(last_item.recv().unwrap(), Err(TestError::Cancelled), "{count}");
        assert_eq!(Arc::strong_count(&held), 1);
    }
}

#[test]
fn a_cancelled_sender_waits_no_longer() {
    let (cancel, (release, wait)) = (CancelToken::default(), std::sync::mpsc::channel::<()>());
    let consume = move |items: ConsumerItems<u64, u64, TestError>| {
        // Nothing is consumed until the sender is gone.
        let _ = wait.recv();
        Ok(items.count() as u64)
    };
    let thread = ConsumerThread::start("test", 2, &cancel, consume).unwrap();
    thread.send(1, 2).unwrap();
    cancel.cancel();
    assert_eq!(thread.send(2, 1), Err(TestError::Cancelled));
    drop(release);
}

#[test]
fn without_a_thread_there_is_none() {
    limit_threads(0);
    let thread = ConsumerThread::start("test", 1, &CancelToken::default(), |items: ConsumerItems<u8, _, TestError>| {
        Ok(items.count())
    });
    limit_threads(usize::MAX);
    assert!(thread.is_err());
}
