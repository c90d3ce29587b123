#![allow(clippy::unwrap_used)]

use std::cell::Cell;
use std::sync::mpsc::channel;
use std::time::Duration;

use super::InFlight;
use crate::{Error, ErrorKind, Job};

/// The error of a part that finds no room.
fn refused(in_flight: &InFlight, bytes: usize) -> ErrorKind {
    let looks = Cell::new(0);
    let check = || {
        looks.set(looks.get() + 1);
        if looks.get() > 1 { Err(Error::unavailable("no room")) } else { Ok(()) }
    };
    in_flight.permit(bytes, &Job::default(), check).map(drop).unwrap_err().kind()
}

#[test]
fn parts_of_several_outputs_share_their_room() {
    let (first, job) = (InFlight::new(32), Job::default());
    let second = first.clone();
    let held = first.permit(20, &job, || Ok(())).unwrap();
    let other = second.permit(12, &job, || Ok(())).unwrap();
    assert_eq!((first.bytes(), second.bytes()), (32, 32));
    assert_eq!(refused(&second, 1), ErrorKind::Unavailable);
    drop(held);
    assert_eq!(second.bytes(), 12);
    drop(second.permit(20, &job, || Ok(())).unwrap());
    drop(other);
    assert_eq!(first.bytes(), 0);
}

#[test]
fn two_parts_are_always_let_through() {
    let (in_flight, job) = (InFlight::new(1), Job::default());
    let _first = in_flight.permit(8, &job, || Ok(())).unwrap();
    let _second = in_flight.permit(8, &job, || Ok(())).unwrap();
    assert_eq!(refused(&in_flight, 8), ErrorKind::Unavailable);
}

#[test]
fn who_waits_goes_on_when_there_is_room_or_the_job_is_cancelled() {
    let (in_flight, job) = (InFlight::new(8), Job::default());
    let held = in_flight.permit(8, &job, || Ok(())).unwrap();
    let (sender, receiver) = channel();
    std::thread::scope(|scope| {
        scope.spawn(|| sender.send(in_flight.permit(8, &job, || Ok(())).map(drop)).unwrap());
        // Two parts of 8 may always be: a third one waits.
        receiver.recv_timeout(Duration::from_secs(60)).unwrap().unwrap();
        let _second = in_flight.permit(8, &job, || Ok(())).unwrap();
        scope.spawn(|| sender.send(in_flight.permit(8, &job, || Ok(())).map(drop)).unwrap());
        assert!(receiver.recv_timeout(Duration::from_millis(100)).is_err());
        drop(held);
        receiver.recv_timeout(Duration::from_secs(60)).unwrap().unwrap();
        let _third = in_flight.permit(8, &job, || Ok(())).unwrap();
        scope.spawn(|| sender.send(in_flight.permit(8, &job, || Ok(())).map(drop)).unwrap());
        job.cancel();
        let outcome = receiver.recv_timeout(Duration::from_secs(60)).unwrap();
        assert_eq!(outcome.unwrap_err().kind(), ErrorKind::Cancelled);
    });
}
