#![allow(clippy::unwrap_used)]

use super::OrderedPipe;
use crate::schedule::run_scheduled;
use crate::{CancelToken, Interruption, PoolOptions};

fn options(threads: usize) -> PoolOptions {
    PoolOptions { thread_name: "test", threads, window: threads + 1, joins: false }
}

#[test]
fn outcomes_come_in_order_and_no_more_are_under_way_than_may_be() {
    for seed in 0..1000 {
        let threads = 1 + seed as usize % 4;
        let (_, timeouts) = run_scheduled(seed, || {
            let double = |item: usize| Ok::<_, Interruption>(2 * item);
            let mut pipe = OrderedPipe::start(options(threads), &CancelToken::default(), double);
            let mut outcomes = Vec::new();
            for item in 0..10 {
                outcomes.extend(pipe.push(item).unwrap());
                assert!(item + 1 - outcomes.len() <= threads);
            }
            while let Some(outcome) = pipe.take().unwrap() {
                outcomes.push(outcome);
            }
            assert_eq!(outcomes, (0..10).map(|item| 2 * item).collect::<Vec<_>>());
        });
        assert_eq!(timeouts, 0, "seed {seed}");
    }
}

#[test]
fn an_error_comes_in_its_place_and_then_the_pipe_has_ended() {
    for seed in 0..1000 {
        let threads = 1 + seed as usize % 4;
        run_scheduled(seed, || {
            let fails = |item: usize| if item == 3 { Err(Interruption::Panicked(Box::new(item))) } else { Ok(item) };
            let mut pipe = OrderedPipe::start(options(threads), &CancelToken::default(), fails);
            let mut outcomes = 0;
            let error = (0..20).find_map(|item| match pipe.push(item) {
                Ok(outcome) => {
                    outcomes += usize::from(outcome.is_some());
                    None
                }
                Err(error) => Some(error),
            });
            assert!(matches!(error, Some(Interruption::Panicked(_))));
            assert_eq!(outcomes, 3);
        });
    }
}

#[test]
fn a_cancelled_pipe_takes_nothing() {
    let cancel = CancelToken::default();
    let mut pipe = OrderedPipe::start(options(3), &cancel, Ok::<_, Interruption>);
    cancel.cancel();
    assert!(matches!(pipe.push(1), Err(Interruption::Cancelled)));
}
