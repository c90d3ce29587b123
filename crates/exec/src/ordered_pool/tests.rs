#![allow(clippy::unwrap_used, clippy::panic)]

use std::panic::resume_unwind;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::{OrderedPool, PoolOptions};
use crate::schedule::{limit_threads, point, run_scheduled};
use crate::{CancelToken, Interruption};

/// The errors of a test.
#[derive(Debug, Clone, PartialEq, Eq)]
enum TestError {
    Source(u64),
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

type Outcomes = Vec<Result<u64, TestError>>;

/// A read with faults, each at the item of its number.
#[derive(Debug, Clone, Copy)]
struct Scenario {
    threads: usize,
    window: usize,
    items: u64,
    source_fails_at: Option<u64>,
    work_fails_at: Option<u64>,
    work_panics_at: Option<u64>,
    cancelled_at: Option<u64>,
    /// Outcomes that the consumer takes before it drops the pool.
    taken: u64,
    is_chained: bool,
}

impl Scenario {
    fn of_seed(seed: u64) -> Self {
        let digit = |place: u32, base: u64| seed.wrapping_mul(0x2545_f491_4f6c_dd1d).rotate_left(7 * place) % base;
        let fault = |place: u32| Some(digit(place, 24)).filter(|at| *at < 8);
        Self {
            threads: 1 + digit(0, 4) as usize,
            window: 1 + digit(1, 5) as usize,
            items: digit(2, 9),
            source_fails_at: fault(3),
            work_fails_at: fault(4),
            work_panics_at: fault(5),
            cancelled_at: None,
            taken: if digit(6, 3) == 0 { digit(7, 9) } else { 20 },
            is_chained: digit(8, 2) == 0,
        }
    }

    /// The outcomes by a loop.
    fn expected(&self) -> Outcomes {
        let mut outcomes = Vec::new();
        for item in 0..self.items.max(self.source_fails_at.map_or(0, |at| at + 1)) {
            let outcome = match item {
                item if self.source_fails_at == Some(item) => Err(TestError::Source(item)),
                item if item >= self.items => break,
                item if self.work_panics_at == Some(item) => Err(TestError::Panicked),
                item if self.work_fails_at == Some(item) => Err(TestError::Work(item)),
                item => Ok(item * item),
            };
            outcomes.push(outcome);
            if outcomes.last().is_some_and(Result::is_err) {
                break;
            }
        }
        outcomes.truncate(self.taken as usize);
        outcomes
    }

    /// The outcomes by a pool, which begins no more items than it may, and takes its turns in order.
    fn run(self) -> Outcomes {
        let (cancel, begun, turns) = (CancelToken::default(), Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
        let (counted, cancelling) = (Arc::clone(&begun), cancel.clone());
        let source = (0..).map_while(move |item| {
            point();
            if self.cancelled_at == Some(item) {
                cancelling.cancel();
            }
            if self.source_fails_at == Some(item) {
                return Some(Err(TestError::Source(item)));
            }
            counted.fetch_add(1, Ordering::SeqCst);
            (item < self.items).then_some(Ok(item))
        });
        let work = move |item| {
            point();
            if self.work_panics_at == Some(item) {
                // As a panic, without its message.
                resume_unwind(Box::new("injected"));
            }
            if self.work_fails_at == Some(item) { Err(TestError::Work(item)) } else { Ok(item * item) }
        };
        let options = PoolOptions { thread_name: "test", threads: self.threads, window: self.window, joins: false };
        let mut pool = if self.is_chained {
            let chain = move |square: u64| {
                point();
                let turn = turns.fetch_add(1, Ordering::SeqCst);
                assert_eq!(square, turn * turn);
                Ok(square)
            };
            OrderedPool::start_chained(options, &cancel, source, work, chain, Ok)
        } else {
            OrderedPool::start(options, &cancel, source, work)
        };
        let mut outcomes = Vec::new();
        while (outcomes.len() as u64) < self.taken {
            let outcome = pool.take().transpose();
            // The last call of the source finds that there is nothing more.
            let most = outcomes.len() as u64 + 1 + self.window as u64;
            assert!(begun.load(Ordering::SeqCst) <= most, "{self:?}");
            match outcome {
                Some(outcome) => outcomes.push(outcome),
                None => break,
            }
        }
        outcomes
    }
}

#[test]
fn outcomes_are_those_of_a_loop_in_every_schedule() {
    for seed in 0..3000 {
        let scenario = Scenario::of_seed(seed);
        if scenario.threads == 1 && scenario.work_panics_at.is_some() {
            // The panic is the caller's own.
            continue;
        }
        let (outcomes, timeouts) = run_scheduled(seed, || scenario.run());
        assert_eq!(outcomes, scenario.expected(), "seed {seed}: {scenario:?}");
        assert_eq!(timeouts, 0, "seed {seed}: a notice was forgotten: {scenario:?}");
    }
}

#[test]
fn a_cancelled_pool_gives_outcomes_in_order_and_then_says_so() {
    for seed in 0..500 {
        let cancelled_at = Some(seed % 5);
        let (threads, window, items, taken) = (1 + seed as usize % 4, 3, 50, 50);
        let scenario =
            Scenario { threads, window, items, taken, cancelled_at, ..Scenario::of_seed(0).without_faults() };
        let (mut outcomes, _) = run_scheduled(seed, || scenario.run_until_error());
        assert_eq!(outcomes.pop(), Some(Err(TestError::Cancelled)), "seed {seed}");
        assert!(outcomes.len() <= 5 + 3, "seed {seed}");
        let expected: Outcomes = (0..outcomes.len() as u64).map(|item| Ok(item * item)).collect();
        assert_eq!(outcomes, expected, "seed {seed}");
    }
}

impl Scenario {
    fn without_faults(self) -> Self {
        Self { source_fails_at: None, work_fails_at: None, work_panics_at: None, ..self }
    }

    fn run_until_error(self) -> Outcomes {
        let mut outcomes = self.run();
        if let Some(end) = outcomes.iter().position(Result::is_err) {
            outcomes.truncate(end + 1);
        }
        outcomes
    }
}

#[test]
fn the_threads_that_start_do_all() {
    for started in 0..3 {
        let scenario = Scenario { threads: 4, items: 40, taken: 50, ..Scenario::of_seed(0).without_faults() };
        limit_threads(started);
        let (outcomes, _) = run_scheduled(7, || scenario.run());
        limit_threads(usize::MAX);
        assert_eq!(outcomes, scenario.expected(), "{started} threads");
    }
}

#[test]
fn threads_of_the_system_give_the_same() {
    for joins in [false, true] {
        for threads in [1, 2, 7] {
            let options = PoolOptions { thread_name: "test", threads, window: threads + 2, joins };
            let numbers = (0..1000).map(Ok::<u64, TestError>);
            let work = |item: u64| if item == 900 { Err(TestError::Work(item)) } else { Ok(item + 1) };
            let mut pool = OrderedPool::start(options, &CancelToken::default(), numbers, work);
            for item in 0..900 {
                assert_eq!(pool.take(), Ok(Some(item + 1)));
            }
            assert_eq!(pool.take(), Err(TestError::Work(900)));
            assert_eq!(pool.take(), Ok(None));
        }
    }
}

#[test]
fn a_pool_that_is_dropped_early_frees_what_it_has() {
    let held = Arc::new(());
    for seed in 0..200 {
        run_scheduled(seed, || {
            let own = Arc::clone(&held);
            let source = (0..).map(move |_| Ok::<_, TestError>(Arc::clone(&own)));
            let options = PoolOptions { thread_name: "test", threads: 3, window: 4, joins: false };
            let mut pool = OrderedPool::start(options, &CancelToken::default(), source, Ok);
            for _ in 0..seed % 6 {
                pool.take().unwrap().unwrap();
            }
        });
    }
    // The last thread of a schedule may be on its way out.
    while Arc::strong_count(&held) > 1 {
        std::thread::yield_now();
    }
}
