#![allow(clippy::unwrap_used)]

use std::panic::resume_unwind;
use std::sync::Arc;

use super::{ProducerThreads, ValueSender};
use crate::{CancelToken, Interruption};

type Sender = ValueSender<u64, Interruption>;

/// Makes the numbers of one thread out of `count`.
fn numbers(thread: u64) -> impl FnOnce(&Sender) -> Result<(), Interruption> {
    move |sender| (0..100).try_for_each(|number| sender.send(Ok(3 * number + thread), 1))
}

#[test]
fn the_values_of_all_threads_come_once_each() {
    let values = ProducerThreads::start("test", 2, &CancelToken::default(), (0..3).map(numbers)).unwrap().joined();
    let mut seen: Vec<u64> = std::iter::from_fn(|| values.take().unwrap()).collect();
    seen.sort_unstable();
    assert!(seen.into_iter().eq(0..300));
}

#[test]
fn an_error_or_a_panic_of_a_thread_is_not_the_end_of_the_values() {
    type Producer = Box<dyn FnOnce(&Sender) -> Result<(), Interruption> + Send>;
    let fails: fn() -> Producer = || Box::new(|_| Err(Interruption::Ended));
    let panics: fn() -> Producer = || Box::new(|_| resume_unwind(Box::new("injected")));
    for bad in [fails, panics] {
        let producers: [Producer; 2] = [Box::new(numbers(0)), bad()];
        let values = ProducerThreads::start("test", 2, &CancelToken::default(), producers).unwrap();
        let outcomes: Vec<_> = std::iter::from_fn(|| values.take().transpose()).collect();
        assert_eq!(outcomes.iter().filter(|outcome| outcome.is_err()).count(), 1);
        assert_eq!(outcomes.len(), 101);
    }
}

#[test]
fn threads_end_when_their_values_are_dropped_or_not_wanted_any_more() {
    let (held, cancel) = (Arc::new(()), CancelToken::default());
    let endless = |_| {
        let held = Arc::clone(&held);
        move |sender: &Sender| {
            let _held = held;
            (0..).try_for_each(|number| sender.send(Ok(number), 1))
        }
    };
    drop(ProducerThreads::start("test", 2, &cancel, (0..3).map(endless)).unwrap().joined());
    assert_eq!(Arc::strong_count(&held), 1);
    let values = ProducerThreads::start("test", 2, &cancel, (0..3).map(endless)).unwrap().joined();
    cancel.cancel();
    assert!(matches!(values.take(), Err(Interruption::Cancelled)));
    drop(values);
    assert_eq!(Arc::strong_count(&held), 1);
}
