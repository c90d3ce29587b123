#![allow(clippy::unwrap_used)]

use super::*;
use crate::ErrorKind;

#[test]
fn a_read_waits_for_another_one_until_its_job_is_cancelled() {
    let (job, cancelled) = (Job::default(), Job::default());
    cancelled.cancel();
    let mut permits: Vec<_> = (0..FileShares::of_process().reads).map(|_| ReadPermit::take(&job).unwrap()).collect();
    assert_eq!(ReadPermit::take(&cancelled).unwrap_err().kind(), ErrorKind::Cancelled);
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| ReadPermit::take(&job).is_ok());
        permits.pop();
        assert!(waiting.join().unwrap());
    });
}
