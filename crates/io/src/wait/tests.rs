#![allow(clippy::unwrap_used)]

use std::sync::mpsc::sync_channel;

use super::{InOrder, receive};
use crate::{ErrorKind, Job};

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
fn numbered_messages_are_taken_in_order() {
    let (sender, receiver) = sync_channel(3);
    [2, 0, 1].into_iter().for_each(|number| sender.send((number, number * 10)).unwrap());
    let (mut messages, job) = (InOrder::new(receiver), Job::default());
    assert_eq!([(); 3].map(|()| messages.take(&job).unwrap()), [Some(0), Some(10), Some(20)]);
    assert_eq!(messages.taken(), 3);
    drop(sender);
    assert_eq!(messages.take(&job).unwrap(), None);
}
