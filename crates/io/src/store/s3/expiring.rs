//! Credentials that are good for a while.

use std::sync::Mutex;
use std::time::{Duration, SystemTime};

use lakerace_exec::lock;

use crate::error::{Error, ErrorKind, Result};
use crate::store::credentials::Credential;

/// Credentials are requested again this long before they expire.
const EARLY: Duration = Duration::from_secs(5 * 60);

/// Pause after a service did not answer, while the last credentials are still valid.
const PAUSE: Duration = Duration::from_secs(30);

/// The last credentials that were returned.
#[derive(Default)]
pub(super) struct ExpiringCredential {
    last: Mutex<Option<HeldCredential>>,
    /// The turn to fetch of callers that must not block.
    turn: tokio::sync::Mutex<()>,
}

/// New credentials, and the time at which they expire.
pub(super) type FetchedCredential = (Credential, Option<SystemTime>);

struct HeldCredential {
    credential: Credential,
    expires: Option<SystemTime>,
    /// The end of the pause after a renewal that failed.
    pause_end: Option<SystemTime>,
}

impl ExpiringCredential {
    /// The last credentials while they are valid, otherwise new ones.
    pub(super) fn get(&self, fetch: impl FnOnce() -> Result<FetchedCredential>) -> Result<Credential> {
        // The lock is held during the fetch: concurrent requests fetch once.
        let mut last = lock(&self.last);
        match fresh(last.as_ref()) {
            Some(credential) => Ok(credential),
            None => renew(&mut last, fetch()),
        }
    }

    /// [`Self::get`] for a fetch that is awaited.
    pub(super) async fn get_later<F>(&self, fetch: impl FnOnce() -> F) -> Result<Credential>
    where
        F: Future<Output = Result<FetchedCredential>>,
    {
        let _turn = self.turn.lock().await;
        if let Some(credential) = fresh(lock(&self.last).as_ref()) {
            return Ok(credential);
        }
        let fetched = fetch().await;
        renew(&mut lock(&self.last), fetched)
    }
}

impl HeldCredential {
    fn is_fresh(&self, now: SystemTime) -> bool {
        match self.pause_end {
            Some(end) => now < end && self.is_valid(now),
            None => self.is_valid(now + EARLY),
        }
    }

    fn is_valid(&self, now: SystemTime) -> bool {
        self.expires.is_none_or(|at| now < at)
    }
}

/// The credentials, if they need not be renewed yet.
fn fresh(last: Option<&HeldCredential>) -> Option<Credential> {
    last.filter(|held| held.is_fresh(SystemTime::now())).map(|held| held.credential.clone())
}

/// Keeps what was fetched. If no service answered, the last credentials are used as long as they are valid.
fn renew(last: &mut Option<HeldCredential>, fetched: Result<FetchedCredential>) -> Result<Credential> {
    let now = SystemTime::now();
    let is_passing = |error: &Error| error.kind() == ErrorKind::Unavailable;
    match (fetched, last) {
        (Ok((credential, expires)), last) => {
            *last = Some(HeldCredential { credential: credential.clone(), expires, pause_end: None });
            Ok(credential)
        }
        (Err(error), Some(held)) if is_passing(&error) && held.is_valid(now) => {
            let problem = error.without_advice();
            tracing::warn!(target: "lakerace_io::warnings", "credentials were not renewed, and are used until they expire: {problem}");
            held.pause_end = Some(now + PAUSE);
            Ok(held.credential.clone())
        }
        (Err(error), _) => Err(error),
    }
}

#[cfg(test)]
mod tests;
