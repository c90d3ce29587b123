//! An attempt of a request: bounded in time, as late as the server asks for, and given up where no server has ever answered.
//!
//! `object_store` repeats attempts, within a time, and knows neither `Retry-After` nor how long an attempt may take.

use std::fmt::Display;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use async_trait::async_trait;
use object_store::client::{
    HttpClient, HttpConnector, HttpError, HttpErrorKind, HttpRequest, HttpResponse, HttpService,
};
use object_store::{ClientOptions, Result};

use super::conditional::{ConditionalConnector, completes_upload};
use super::request_log::{RETRIES, RequestTarget};
use super::retrying::{STALL, upload_time};
use crate::profile::Observations;
use crate::store::azure::AzureSigner;
use crate::store::kind::StoreKind;

/// Attempts to reach a store that has never answered: its address is probably wrong.
const FIRST_CONTACT_ATTEMPTS: u32 = 6;

/// The longest wait that a server may ask for by `Retry-After`.
const LONGEST_WAIT: Duration = Duration::from_secs(30);

/// Makes HTTP clients whose attempts are bounded.
#[derive(Debug, Clone)]
pub(crate) struct AttemptConnector {
    inner: ConditionalConnector,
    retry_time: Duration,
    contact: Arc<ServerContact>,
    observed: Arc<Observations>,
}

/// The servers of one store that have been reached so far.
#[derive(Debug, Default)]
struct ServerContact {
    has_answered: AtomicBool,
    failures: AtomicU32,
}

impl AttemptConnector {
    /// Clients of one store. `retry_time` is the time within which attempts are repeated; no wait is longer.
    pub(crate) fn new(kind: &'static StoreKind, retry_time: Duration, observed: &Arc<Observations>) -> Self {
        let observed = Arc::clone(observed);
        Self { inner: ConditionalConnector::new(kind), retry_time, contact: Arc::default(), observed }
    }

    /// Has conditional requests signed again.
    pub(crate) fn set_signer(&mut self, signer: AzureSigner) {
        self.inner.set_signer(signer);
    }
}

impl HttpConnector for AttemptConnector {
    fn connect(&self, options: &ClientOptions) -> Result<HttpClient> {
        let client = AttemptClient {
            inner: self.inner.connect(options)?,
            longest_wait: LONGEST_WAIT.min(self.retry_time),
            contact: Arc::clone(&self.contact),
            observed: Arc::clone(&self.observed),
        };
        Ok(HttpClient::new(client))
    }
}

#[derive(Debug)]
struct AttemptClient {
    inner: HttpClient,
    longest_wait: Duration,
    contact: Arc<ServerContact>,
    observed: Arc<Observations>,
}

#[async_trait]
impl HttpService for AttemptClient {
    async fn call(&self, request: HttpRequest) -> std::result::Result<HttpResponse, HttpError> {
        let limit = time_limit(&request);
        let target = tracing::enabled!(target: RETRIES, tracing::Level::INFO).then(|| RequestTarget::new(&request));
        let attempt = self.inner.execute(request);
        let outcome = tokio::time::timeout(limit, attempt).await.unwrap_or_else(|_| Err(timed_out(limit)));
        match outcome {
            Ok(response) => {
                self.contact.has_answered.store(true, Ordering::Relaxed);
                if let Some(date) = response.headers().get("date").and_then(|value| value.to_str().ok())
                    && let Ok(date) = chrono::DateTime::parse_from_rfc2822(date)
                {
                    self.observed.observe_clock(date.timestamp());
                }
                if is_repeated(response.status().as_u16()) {
                    log_failure(target.as_ref(), &response.status(), true);
                }
                if let Some(wait) = retry_after(&response) {
                    tokio::time::sleep(wait.min(self.longest_wait)).await;
                }
                Ok(response)
            }
            Err(error) => {
                let reason = error.kind();
                let error = self.give_up_early(error);
                log_failure(target.as_ref(), &format_args!("{reason:?}"), is_repeated_after(&error));
                Err(error)
            }
        }
    }
}

impl AttemptClient {
    /// An error for which no other attempt is made if no server has ever answered.
    fn give_up_early(&self, error: HttpError) -> HttpError {
        if error.kind() != HttpErrorKind::Connect || self.contact.has_answered.load(Ordering::Relaxed) {
            return error;
        }
        let failures = self.contact.failures.fetch_add(1, Ordering::Relaxed) + 1;
        if failures < FIRST_CONTACT_ATTEMPTS { error } else { HttpError::new(HttpErrorKind::Unknown, error) }
    }
}

/// Returns true for an answer after which `object_store` sends a request again.
fn is_repeated(status: u16) -> bool {
    status >= 500 || matches!(status, 408 | 429)
}

/// Returns true for an error after which `object_store` may send a request again.
fn is_repeated_after(error: &HttpError) -> bool {
    !matches!(error.kind(), HttpErrorKind::Unknown | HttpErrorKind::Decode)
}

fn log_failure(target: Option<&RequestTarget>, reason: &dyn Display, is_repeated: bool) {
    let Some(RequestTarget { store, path }) = target else { return };
    if is_repeated {
        tracing::info!(target: RETRIES, store, path, %reason, "attempt failed, and is repeated while retry time is left");
    } else {
        tracing::info!(target: RETRIES, store, path, %reason, "attempt failed, and is not repeated");
    }
}

/// Headers with the source of a copied object: of S3, of Google and of Azure.
const COPY_SOURCES: [&str; 3] = ["x-amz-copy-source", "x-goog-copy-source", "x-ms-copy-source"];

/// The longest time that a server may work before it answers: it copies an object, joins the parts of an upload, or
/// deletes many objects.
const LONGEST_WORK: Duration = Duration::from_secs(60 * 60);

/// The time that an attempt may take until the answer starts.
fn time_limit(request: &HttpRequest) -> Duration {
    let is_copy = COPY_SOURCES.iter().any(|name| request.headers().contains_key(*name));
    // A POST without a query asks for a token, except for Google's deletion of many objects.
    let is_store_call = request.uri().query().is_some() || request.uri().path().starts_with("/batch");
    if is_copy || completes_upload(request) || (request.method().as_str() == "POST" && is_store_call) {
        return LONGEST_WORK;
    }
    STALL + upload_time(request.body().content_length())
}

fn timed_out(limit: Duration) -> HttpError {
    let text = format!("no progress for {} seconds", limit.as_secs());
    HttpError::new(HttpErrorKind::Timeout, std::io::Error::new(std::io::ErrorKind::TimedOut, text))
}

/// The wait that a server asks for: seconds, or a date (RFC 9110, section 10.2.3).
fn retry_after(response: &HttpResponse) -> Option<Duration> {
    if !matches!(response.status().as_u16(), 429 | 503) {
        return None;
    }
    let text = response.headers().get("retry-after")?.to_str().ok()?.trim();
    match text.parse::<u64>() {
        Ok(seconds) => Some(Duration::from_secs(seconds)),
        Err(_) => {
            let date = chrono::DateTime::parse_from_rfc2822(text).ok()?;
            let at = UNIX_EPOCH + Duration::from_secs(u64::try_from(date.timestamp()).ok()?);
            at.duration_since(SystemTime::now()).ok()
        }
    }
}

#[cfg(test)]
mod tests;
