//! Credentials that are good for a while.

use std::sync::Mutex;
use std::time::{Duration, SystemTime};

use lakerace_exec::lock;

use crate::error::Result;
use crate::store::credentials::Credential;

/// Credentials are requested again this long before they expire.
const EARLY: Duration = Duration::from_secs(5 * 60);

/// The last credentials that were returned.
#[derive(Default)]
pub(super) struct ExpiringCredential {
    last: Mutex<Option<(Credential, Option<SystemTime>)>>,
}

impl ExpiringCredential {
    /// The last credentials while they are valid, otherwise new ones with the time at which they expire.
    pub(super) fn get(&self, fetch: impl FnOnce() -> Result<(Credential, Option<SystemTime>)>) -> Result<Credential> {
        // The lock is held during the fetch: concurrent requests fetch once.
        let mut last = lock(&self.last);
        let is_good = |expires: &Option<SystemTime>| expires.is_none_or(|at| SystemTime::now() + EARLY < at);
        if let Some((credential, _)) = last.as_ref().filter(|(_, expires)| is_good(expires)) {
            return Ok(credential.clone());
        }
        let (credential, expires) = fetch()?;
        *last = Some((credential.clone(), expires));
        Ok(credential)
    }
}
