#![allow(clippy::unwrap_used)]

use std::sync::Arc;
use std::time::Duration;

use super::bounded_queue;
use crate::schedule::run_scheduled;
use crate::{CancelToken, Interruption, WorkerThreads, into_value, lock};

#[test]
fn items_come_in_order_and_weigh_no_more_than_the_limit() {
    for seed in 0..1000 {
        let limit = seed % 7;
        let (_, timeouts) = run_scheduled(seed, || {
            let (sender, receiver) = bounded_queue(limit, &CancelToken::default());
            let shared = Arc::clone(&sender.0);
            let ends = std::sync::Mutex::new(Some(sender));
            WorkerThreads::start("test", 1, move || {
                let sender = lock(&ends).take().unwrap();
                (0..20).for_each(|item| sender.send(item, item % 5).unwrap());
            });
            for item in 0..20 {
                let state = shared.state.lock();
                assert!(state.weight <= limit || state.waiting.len() == 1);
                drop(state);
                assert_eq!(receiver.receive().unwrap(), Some(item));
            }
            assert_eq!(receiver.receive().unwrap(), None);
        });
        assert_eq!(timeouts, 0, "seed {seed}");
    }
}

#[test]
fn a_sender_hears_that_its_receiver_is_gone() {
    for seed in 0..200 {
        let (_, timeouts) = run_scheduled(seed, || {
            let (sender, receiver) = bounded_queue(1, &CancelToken::default());
            let end = std::sync::Mutex::new(Some(receiver));
            WorkerThreads::start("test", 1, move || drop(lock(&end).take()));
            let ended = (0..).find_map(|item| sender.send(item, 1).err());
            assert!(matches!(ended, Some(Interruption::Ended)));
        });
        assert_eq!(timeouts, 0, "seed {seed}");
    }
}

#[test]
fn both_ends_hear_of_a_cancellation() {
    let cancel = CancelToken::default();
    let (sender, receiver) = bounded_queue(10, &cancel);
    sender.send((), 1).unwrap();
    cancel.cancel();
    assert!(matches!(sender.send((), 1), Err(Interruption::Cancelled)));
    assert!(matches!(receiver.receive(), Err(Interruption::Cancelled)));
}

#[test]
fn a_receiver_that_is_dropped_drops_what_waits() {
    let held = Arc::new(());
    let (sender, receiver) = bounded_queue(10, &CancelToken::default());
    sender.send(Arc::clone(&held), 1).unwrap();
    drop(receiver);
    assert_eq!(Arc::strong_count(&held), 1);
    drop(sender);
    into_value(std::sync::Mutex::new(held));
}

#[test]
fn a_receiver_waits_for_an_item_or_the_end_or_a_time() {
    let cancel = CancelToken::default();
    let (sender, receiver) = bounded_queue(10, &cancel);
    assert!(!receiver.wait_within(Duration::ZERO));
    sender.send((), 1).unwrap();
    assert!(receiver.wait_within(Duration::MAX / 4));
    receiver.receive().unwrap().unwrap();
    let late = std::thread::spawn(move || sender.send((), 1).map(|()| sender).unwrap());
    assert!(receiver.wait_within(Duration::MAX / 4));
    receiver.receive().unwrap().unwrap();
    let sender = late.join().unwrap();
    cancel.cancel();
    assert!(receiver.wait_within(Duration::MAX / 4));
    drop(sender);
    assert!(receiver.wait_within(Duration::MAX / 4));
}

#[test]
fn a_patient_receiver_gets_all_items_in_order() {
    for seed in 0..1000 {
        let limit = seed % 7;
        let (_, timeouts) = run_scheduled(seed, || {
            let (sender, receiver) = bounded_queue(limit, &CancelToken::default());
            let receiver = receiver.patient(Duration::ZERO);
            let ends = std::sync::Mutex::new(Some(sender));
            WorkerThreads::start("test", 1, move || {
                let sender = lock(&ends).take().unwrap();
                (0..20).for_each(|item| sender.send(item, item % 5).unwrap());
            });
            (0..20).for_each(|item| assert_eq!(receiver.receive().unwrap(), Some(item)));
            assert_eq!(receiver.receive().unwrap(), None);
        });
        assert_eq!(timeouts, 0, "seed {seed}");
    }
}

#[test]
fn a_patient_receiver_is_woken_by_a_full_queue_and_by_the_end() {
    const PATIENCE: Duration = Duration::from_secs(3600);
    for items in 0..50 {
        let (sender, receiver) = bounded_queue(4, &CancelToken::default());
        let receiver = receiver.patient(PATIENCE);
        let made = std::thread::spawn(move || (0..items).for_each(|item| sender.send(item, 1 + item % 6).unwrap()));
        let received: Vec<u64> = std::iter::from_fn(|| receiver.receive().unwrap()).collect();
        assert_eq!(received, (0..items).collect::<Vec<_>>());
        made.join().unwrap();
    }
}

#[test]
fn a_patient_receiver_does_not_wait_for_ever_for_a_sender_that_rests() {
    let (sender, receiver) = bounded_queue(1000, &CancelToken::default());
    let receiver = receiver.patient(Duration::from_micros(100));
    let (answer, answers) = std::sync::mpsc::channel();
    let made = std::thread::spawn(move || {
        for item in 0..200 {
            sender.send(item, 1).unwrap();
            assert_eq!(answers.recv().unwrap(), item);
        }
    });
    while let Some(item) = receiver.receive().unwrap() {
        answer.send(item).unwrap();
    }
    made.join().unwrap();
}
