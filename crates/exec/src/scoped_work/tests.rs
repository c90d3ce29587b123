#![allow(clippy::unwrap_used, clippy::panic)]

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::{Builder, current, scope};

use super::{
    ScopedWork, consume_ordered, map_ordered, map_slice, map_with_states, run_both, spawn_or_run, spawn_or_run_by,
};
use crate::schedule::limit_threads;
use crate::{CancelToken, Interruption, PoolOptions};

/// An error of a test, by what failed.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Failure(&'static str);

impl From<Interruption> for Failure {
    fn from(interruption: Interruption) -> Self {
        match interruption {
            Interruption::Cancelled => Self("cancelled"),
            Interruption::Ended | Interruption::Forked => Self("ended"),
            Interruption::Panicked(_) => Self("panicked"),
        }
    }
}

/// No system has so much address space for a stack.
fn without_memory() -> Builder {
    Builder::new().stack_size(1 << 60)
}

#[test]
fn work_runs_on_a_thread_of_its_own_or_else_on_the_calling_one() {
    let (mine, mut changed) = (current().id(), 0);
    let (other, same) = scope(|scope| {
        let other = spawn_or_run(scope, || current().id());
        let same = spawn_or_run_by(without_memory(), scope, || {
            changed += 1;
            current().id()
        });
        assert!(matches!(same, ScopedWork::Done(_)));
        (other.join().unwrap(), same.join().unwrap())
    });
    assert_ne!(other, mine);
    assert_eq!((same, changed), (mine, 1));
}

#[test]
fn a_panic_of_the_work_is_that_of_its_thread() {
    let joined = scope(|scope| spawn_or_run(scope, || panic!("of this test")).join());
    assert!(joined.is_err());
}

#[test]
fn a_slice_is_mapped_in_order_until_its_first_error() {
    let items: Vec<u64> = (0..100).collect();
    for threads in [1, 2, 7] {
        let doubled = map_slice(&items, threads, |item| Ok::<_, Failure>(2 * item)).unwrap();
        assert!(doubled.into_iter().eq((0..100).map(|item| 2 * item)));
        let begun = AtomicUsize::new(0);
        let fails = |item: &u64| {
            begun.fetch_add(1, Ordering::SeqCst);
            if *item == 3 { Err(Failure("work")) } else { Ok(()) }
        };
        assert_eq!(map_slice(&items, threads, fails), Err(Failure("work")));
        assert!(begun.load(Ordering::SeqCst) <= 100);
        let panics = |item: &u64| if *item == 3 { panic!("of this test") } else { Ok::<_, Failure>(()) };
        assert_eq!(map_slice(&items, threads, panics), Err(Failure("panicked")));
    }
}

#[test]
fn each_thread_has_a_state_for_itself() {
    for started in [0, 1, usize::MAX] {
        limit_threads(started);
        let mut sums = [0u64; 4];
        let doubled = map_with_states(&mut sums, 0..1000u64, |sum, item| {
            *sum += item;
            Ok::<_, Failure>(2 * item)
        });
        limit_threads(usize::MAX);
        assert!(doubled.unwrap().into_iter().eq((0..1000).map(|item| 2 * item)));
        assert_eq!(sums.iter().sum::<u64>(), 1000 * 999 / 2, "{started} threads");
    }
    let none = map_with_states(&mut [] as &mut [()], 0..3, |(), item| Ok::<_, Failure>(item));
    assert_eq!(none, Err(Failure("ended")));
}

#[test]
fn a_panic_of_the_items_is_an_error() {
    let items = |begun: &AtomicUsize| {
        let number = begun.fetch_add(1, Ordering::SeqCst);
        if number == 5 { std::panic::resume_unwind(Box::new("injected")) } else { Some(number) }
    };
    for threads in [1, 3] {
        let begun = AtomicUsize::new(0);
        let mapped = map_with_states(&mut vec![(); threads], std::iter::from_fn(|| items(&begun)), |(), item| {
            Ok::<_, Failure>(item)
        });
        assert_eq!(mapped, Err(Failure("panicked")));
        assert_eq!(begun.load(Ordering::SeqCst), 6, "nothing is begun after it");
    }
}

#[test]
fn two_are_done_at_once_or_one_after_the_other() {
    for started in [0, 1] {
        limit_threads(started);
        let both = run_both(|| Ok::<_, Failure>(1), || Ok("one"));
        let own = run_both(|| Err::<(), _>(Failure("other")), || Err::<(), _>(Failure("own")));
        let other = run_both(|| Err::<(), _>(Failure("other")), || Ok(()));
        let panics: fn() -> Result<(), Failure> = || std::panic::resume_unwind(Box::new("injected"));
        let panicked = run_both(panics, || Ok(()));
        limit_threads(usize::MAX);
        assert_eq!((both, own), (Ok((1, "one")), Err(Failure("own"))), "{started} threads");
        assert_eq!((other, panicked.map(|((), ())| ())), (Err(Failure("other")), Err(Failure("panicked"))));
    }
}

#[test]
fn outcomes_are_consumed_in_order_on_the_calling_thread() {
    for threads in [1, 2, 5] {
        let options = PoolOptions { thread_name: "test", threads, window: 2 * threads, joins: true };
        let (mine, mut seen, cancel) = (current().id(), Vec::new(), CancelToken::default());
        consume_ordered(
            options,
            &cancel,
            (0..100).map(Ok::<_, Failure>),
            |item: u64| Ok(3 * item),
            |item| {
                assert_eq!(current().id(), mine);
                seen.push(item);
                Ok(())
            },
        )
        .unwrap();
        assert!(seen.into_iter().eq((0..100).map(|item| 3 * item)));
        let fails = |item| if item == 5 { Err(Failure("consumer")) } else { Ok(()) };
        assert_eq!(consume_ordered(options, &cancel, (0..).map(Ok), Ok, fails), Err(Failure("consumer")));
        let fails = |item| if item == 5 { Err(Failure("work")) } else { Ok(item) };
        assert_eq!(consume_ordered(options, &cancel, (0..).map(Ok), fails, |_| Ok(())), Err(Failure("work")));
    }
}

#[test]
fn results_are_taken_in_order_on_one_thread_at_a_time() {
    for threads in [0, 1, 2, 7] {
        let (mut seen, under_way) = (Vec::new(), AtomicUsize::new(0));
        let work = |thread: usize, item: u64| {
            assert!(thread < threads.max(1));
            assert!(under_way.fetch_add(1, Ordering::SeqCst) < threads.max(1));
            // Later ones are done sooner.
            (0..10 - item % 10).for_each(|_| std::thread::yield_now());
            under_way.fetch_sub(1, Ordering::SeqCst);
            Ok(2 * item)
        };
        let take = |item| {
            seen.push(item);
            Ok::<_, Failure>(())
        };
        map_ordered((0..100).map(Ok), (2, threads), work, take).unwrap();
        assert!(seen.into_iter().eq((0..100).map(|item| 2 * item)));
    }
}

#[test]
fn the_first_error_ends_it() {
    let fails_at =
        |bad: i32, what: &'static str| move |item: i32| if item == bad { Err(Failure(what)) } else { Ok(item) };
    let broken = || (0..10).map(|item| if item == 7 { Err(Failure("source")) } else { Ok(item) });
    for threads in [1, 2, 5] {
        let error_of = |items: &mut dyn Iterator<Item = Result<i32, Failure>>, works: i32, takes: i32| {
            let (work, take) = (fails_at(works, "work"), fails_at(takes, "take"));
            map_ordered(items, (2, threads), |_, item| work(item), |item| take(item).map(|_| ())).unwrap_err().0
        };
        let mut made = 0;
        let mut counted = (0..1000).map(|item| {
            made += 1;
            Ok(item)
        });
        assert_eq!(error_of(&mut counted, 5, 6), "work");
        assert!(made < 30, "{made} were made");
        assert_eq!(error_of(&mut (0..1000).map(Ok), 6, 5), "take");
        assert_eq!(error_of(&mut broken(), -1, -1), "source");
        // The error of the work belongs to an earlier item.
        assert_eq!(error_of(&mut broken(), 6, -1), "work");
    }
}

#[test]
fn a_panic_is_an_error_that_no_thread_waits_for() {
    let panics_at = |bad: i32| move |item: i32| if item == bad { panic!("at {bad}") } else { Ok(item) };
    for (works, takes) in [(5, -1), (-1, 5)] {
        let (work, take) = (panics_at(works), panics_at(takes));
        let outcome = map_ordered((0..1000).map(Ok), (2, 3), |_, item| work(item), |item| take(item).map(|_| ()));
        assert_eq!(outcome, Err(Failure("panicked")));
    }
}
