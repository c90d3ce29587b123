#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use super::{SemaphorePermit, WeightedSemaphore};
use crate::schedule::run_scheduled;
use crate::{CancelToken, Interruption, ProcessLocal, WorkerThreads};

fn acquire(semaphore: &Arc<WeightedSemaphore>, weight: u64) -> SemaphorePermit<Arc<WeightedSemaphore>> {
    SemaphorePermit::acquire::<Interruption>(Arc::clone(semaphore), weight, &CancelToken::default()).unwrap()
}

#[test]
fn holders_weigh_no_more_than_the_limit_unless_one_is_alone() {
    for seed in 0..1000 {
        let (_, timeouts) = run_scheduled(seed, || {
            let semaphore = Arc::new(WeightedSemaphore::new(10));
            let shared = Arc::clone(&semaphore);
            WorkerThreads::start("test", 3, move || {
                for weight in [4, 7, 12, 3] {
                    let mut permit = acquire(&shared, weight);
                    assert!(shared.used() <= 10.max(weight));
                    permit.shrink_to(weight / 2);
                    assert!(shared.used() <= 10);
                }
            });
            drop(acquire(&semaphore, 9));
        });
        assert_eq!(timeouts, 0, "seed {seed}");
    }
}

#[test]
fn a_permit_is_refused_where_there_is_no_room_and_given_back() {
    static HOLDERS: ProcessLocal<WeightedSemaphore> = ProcessLocal::new(|| WeightedSemaphore::new(2));
    let first = SemaphorePermit::try_acquire(&*HOLDERS, 1).unwrap();
    let _second = SemaphorePermit::try_acquire(&*HOLDERS, 1).unwrap();
    assert!(SemaphorePermit::try_acquire(&*HOLDERS, 1).is_none());
    drop(first);
    assert!(SemaphorePermit::try_acquire(&*HOLDERS, 1).is_some());
    assert_eq!(HOLDERS.used(), 1);
}

#[test]
fn a_wait_ends_by_a_cancellation_or_an_error_of_the_caller() {
    let (semaphore, cancel) = (WeightedSemaphore::new(1), CancelToken::default());
    let _holder = SemaphorePermit::try_acquire(&semaphore, 1);
    let fails = |_| Err(Interruption::Ended);
    assert!(matches!(SemaphorePermit::acquire_when(&semaphore, 1, &cancel, fails), Err(Interruption::Ended)));
    cancel.cancel();
    assert!(matches!(SemaphorePermit::acquire(&semaphore, 1, &cancel), Err(Interruption::Cancelled)));
}
