//! Events of requests over HTTP: where to and how they ended, without headers and queries, by which requests are signed.

use std::time::Instant;

use object_store::client::{HttpError, HttpRequest, HttpResponse};

use crate::meter::{REQUESTS, RequestKind};

/// The target of the events of retries.
pub(super) const RETRIES: &str = "lakerace_io::retries";

/// A request that is being sent: its event is logged when this is dropped, so that a request that is given up has one, too.
pub(super) struct RequestLog {
    kind: RequestKind,
    method: String,
    target: RequestTarget,
    range: Option<String>,
    sent_bytes: u64,
    started: Instant,
    status: Option<u16>,
    received_bytes: Option<u64>,
    failure: Option<String>,
}

/// The store and the path of a request.
pub(super) struct RequestTarget {
    pub(super) store: String,
    pub(super) path: String,
}

impl RequestTarget {
    /// The host and the path of a request. The user in front of a host and the query stay out.
    pub(super) fn new(request: &HttpRequest) -> Self {
        let uri = request.uri();
        let host = uri.host().unwrap_or_default();
        let store = uri.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"));
        Self { store, path: uri.path().to_owned() }
    }
}

impl RequestLog {
    /// Returns true if events of requests are logged.
    pub(super) fn is_wanted() -> bool {
        tracing::enabled!(target: REQUESTS, tracing::Level::DEBUG)
    }

    pub(super) fn begin(kind: RequestKind, request: &HttpRequest) -> Self {
        let range = request.headers().get("range").and_then(|value| value.to_str().ok());
        Self {
            kind,
            method: request.method().to_string(),
            target: RequestTarget::new(request),
            range: range.map(|range| range.trim_start_matches("bytes=").to_owned()),
            sent_bytes: request.body().content_length() as u64,
            started: Instant::now(),
            status: None,
            received_bytes: None,
            failure: None,
        }
    }

    /// Notes the beginning of the answer, or the reason why there is none.
    pub(super) fn end(&mut self, outcome: &Result<HttpResponse, HttpError>) {
        match outcome {
            Ok(response) => {
                let length = response.headers().get("content-length").and_then(|value| value.to_str().ok());
                self.received_bytes = length.and_then(|length| length.parse().ok());
                self.status = Some(response.status().as_u16());
            }
            Err(error) => self.failure = Some(format!("{:?}", error.kind())),
        }
    }
}

impl Drop for RequestLog {
    fn drop(&mut self) {
        let failure = self.failure.as_deref().or(self.status.is_none().then_some("given up"));
        tracing::debug!(
            target: REQUESTS,
            method = self.method,
            kind = self.kind.name(),
            store = self.target.store,
            path = self.target.path,
            range = self.range,
            sent_bytes = self.sent_bytes,
            received_bytes = self.received_bytes,
            status = self.status,
            failure,
            ms = self.started.elapsed().as_millis() as u64,
            "request"
        );
    }
}
