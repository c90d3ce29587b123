#![allow(clippy::unwrap_used)]

use std::sync::mpsc::sync_channel;

use super::receive;
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
