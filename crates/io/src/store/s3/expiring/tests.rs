#![allow(clippy::unwrap_used)]

use std::time::{Duration, SystemTime};

use super::{ExpiringCredential, FetchedCredential};
use crate::error::{Error, Result};
use crate::store::credentials::Credential;

/// Credentials of a key that expire after this many seconds.
fn credential(key: &str, seconds: u64) -> Result<FetchedCredential> {
    let credential = Credential { key_id: key.to_owned(), secret_key: "s".to_owned(), token: None };
    Ok((credential, Some(SystemTime::now() + Duration::from_secs(seconds))))
}

#[test]
fn credentials_are_renewed_before_they_expire() {
    let held = ExpiringCredential::default();
    assert_eq!(held.get(|| credential("first", 60)).unwrap().key_id, "first");
    // Less than five minutes are left.
    assert_eq!(held.get(|| credential("second", 3600)).unwrap().key_id, "second");
    assert_eq!(held.get(|| unreachable!()).unwrap().key_id, "second");
}

#[test]
fn valid_credentials_outlast_a_service_that_does_not_answer() {
    let held = ExpiringCredential::default();
    assert!(held.get(|| Err(Error::unavailable("down"))).is_err());
    assert_eq!(held.get(|| credential("first", 60)).unwrap().key_id, "first");
    let mut asked = 0;
    for _ in 0..3 {
        let found = held.get(|| {
            asked += 1;
            Err(Error::unavailable("down"))
        });
        assert_eq!(found.unwrap().key_id, "first");
    }
    assert_eq!(asked, 1);
}

#[test]
fn a_denial_and_expired_credentials_are_errors() {
    let held = ExpiringCredential::default();
    held.get(|| credential("first", 60)).unwrap();
    assert_eq!(held.get(|| Err(Error::invalid("no"))).err().unwrap().message(), "no");
    held.get(|| credential("second", 0)).unwrap();
    assert_eq!(held.get(|| Err(Error::unavailable("down"))).err().unwrap().message(), "down");
}

#[tokio::test]
async fn awaited_credentials_are_fetched_once() {
    let held = ExpiringCredential::default();
    let asked = std::sync::atomic::AtomicUsize::new(0);
    let get = || {
        held.get_later(|| async {
            asked.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            tokio::task::yield_now().await;
            credential("first", 3600)
        })
    };
    let found = futures::future::join_all([get(), get(), get()]).await;
    assert!(found.into_iter().all(|found| found.unwrap().key_id == "first"));
    assert_eq!(asked.into_inner(), 1);
}
