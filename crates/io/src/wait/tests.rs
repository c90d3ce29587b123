#![allow(clippy::unwrap_used, clippy::panic)]

use std::sync::mpsc::sync_channel;
use std::sync::{Arc, Mutex};

use super::*;
use crate::{Error, ErrorKind};

#[test]
fn a_value_that_is_right_is_not_waited_for_even_by_a_cancelled_job() {
    let (watched, job) = (Watched::new(3), Job::default());
    job.cancel();
    assert_eq!(*watched.wait_until(&job, |value| Ok(*value == 3)).unwrap(), 3);
}

#[test]
fn who_waits_hears_of_a_change() {
    let (watched, job) = (Arc::new(Watched::new(0)), Job::default());
    let theirs = Arc::clone(&watched);
    let thread = std::thread::spawn(move || {
        *theirs.lock() = 1;
        theirs.notify_all();
    });
    assert_eq!(*watched.wait_until(&job, |value| Ok(*value == 1)).unwrap(), 1);
    thread.join().unwrap();
}

#[test]
fn an_error_or_a_cancelled_job_ends_the_wait() {
    let (watched, job) = (Watched::new(()), Job::default());
    let error = watched.wait_until(&job, |()| Err(Error::corrupt("broken"))).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corrupt);
    job.cancel();
    assert_eq!(watched.wait_until(&job, |()| Ok(false)).unwrap_err().kind(), ErrorKind::Cancelled);
}

#[test]
fn messages_come_until_the_senders_are_gone_or_the_job_is_cancelled() {
    let (sender, receiver) = sync_channel(2);
    let job = Job::default();
    sender.send(7).unwrap();
    assert_eq!(receive(&receiver, &job).unwrap(), Some(7));
    job.cancel();
    assert_eq!(receive(&receiver, &job).unwrap_err().kind(), ErrorKind::Cancelled);
    drop(sender);
    assert_eq!(receive(&receiver, &job).unwrap(), None);
}

#[test]
fn a_value_outlives_a_thread_that_panicked_with_its_lock() {
    let mutex = Arc::new(Mutex::new(5));
    let theirs = Arc::clone(&mutex);
    let _ = std::thread::spawn(move || {
        let _value = theirs.lock();
        panic!("with the lock");
    })
    .join();
    assert_eq!(*lock(&mutex), 5);
    assert_eq!(into_value(Arc::into_inner(mutex).unwrap()), 5);
}

#[test]
fn numbered_messages_are_taken_in_order() {
    let (sender, receiver) = sync_channel(3);
    [2, 0, 1].into_iter().for_each(|number| sender.send((number, number * 10)).unwrap());
    let (mut messages, job) = (InOrder::new(receiver), Job::default());
    assert_eq!([(); 3].map(|()| messages.take(&job).unwrap()), [Some(0), Some(10), Some(20)]);
    assert_eq!(messages.taken(), 3);
    drop(sender);
    assert_eq!(messages.take(&job).unwrap(), None);
}
