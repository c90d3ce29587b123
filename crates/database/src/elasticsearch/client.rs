//! Requests to the server, counted, signed and sent again where that helps.

use std::error::Error as _;
use std::io::{Read, Write};
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::{Bytes, BytesMut};
use flate2::Compression;
use flate2::read::MultiGzDecoder;
use flate2::write::GzEncoder;
use lakerace_io::{Error, Job, Meter, RequestKind, Result};
use reqwest::header::{ACCEPT_ENCODING, CONTENT_ENCODING, CONTENT_TYPE, HeaderValue};
use serde::Deserialize;
use serde_json::Value;

use super::credentials::{RequestCredentials, certificates};
use super::location::SearchLocation;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// A server that sends nothing for this long has lost the request.
const SILENCE_TIMEOUT: Duration = Duration::from_secs(120);

/// How long a request besides the rows is sent again.
const PATIENCE: Duration = Duration::from_secs(10);

/// How long a request of rows is sent again, unless the location says otherwise.
const ROW_PATIENCE: Duration = Duration::from_secs(120);

const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// Bytes of an answer, unpacked. A server takes documents of 100 MB by default; a page of several that have more is asked for
/// again with fewer.
const MAX_ANSWER_BYTES: usize = 128 << 20;

/// Bytes of an answer that refuses something: its beginning has the reason.
const MAX_REFUSAL_BYTES: usize = 1 << 20;

/// The least level: bytes halve, and more levels win little.
const GZIP_LEVEL: u32 = 1;

/// A connection to one server, shared by all requests of a job.
#[derive(Clone)]
pub(super) struct SearchClient {
    http: reqwest::Client,
    location: Arc<SearchLocation>,
    credentials: RequestCredentials,
    meter: Arc<Meter>,
    has_gzip: bool,
}

/// A request.
#[derive(Clone)]
pub(super) struct SearchRequest {
    pub method: &'static str,
    /// After the base, with a slash in front.
    pub path: String,
    pub body: Bytes,
    /// Lines of JSON, in place of one object.
    pub is_lines: bool,
}

impl SearchRequest {
    /// A request without a body.
    pub fn bare(method: &'static str, path: impl Into<String>) -> Self {
        Self { method, path: path.into(), body: Bytes::new(), is_lines: false }
    }

    /// A request with an object.
    pub fn json(method: &'static str, path: impl Into<String>, body: &Value) -> Self {
        Self { method, path: path.into(), body: Bytes::from(body.to_string()), is_lines: false }
    }

    /// A request of lines.
    pub fn lines(path: impl Into<String>, body: Bytes) -> Self {
        Self { method: "POST", path: path.into(), body, is_lines: true }
    }
}

/// An answer of a server.
pub(super) struct ServerAnswer {
    pub status: u16,
    pub body: Bytes,
}

/// A request without an answer.
pub(super) struct LostRequest {
    pub error: Error,
    /// True if sending it again may help.
    pub is_transient: bool,
}

/// Pauses between attempts, each twice as long as the one before.
pub(super) struct RetryBackoff {
    pause: Duration,
    until: Instant,
}

impl RetryBackoff {
    pub fn new(patience: Duration) -> Self {
        Self { pause: FIRST_PAUSE, until: Instant::now() + patience }
    }

    /// Waits, and says whether there is time for another attempt.
    pub async fn wait(&mut self) -> bool {
        if Instant::now() + self.pause > self.until {
            return false;
        }
        tokio::time::sleep(self.pause).await;
        self.pause = (self.pause * 2).min(LONGEST_PAUSE);
        true
    }
}

impl SearchClient {
    /// A client of the location's server. Sends nothing.
    pub fn new(location: &Arc<SearchLocation>, job: &Job) -> Result<Self> {
        let (authorities, identity) = certificates()?;
        let mut builder = reqwest::Client::builder()
            .connect_timeout(CONNECT_TIMEOUT)
            .read_timeout(SILENCE_TIMEOUT)
            .redirect(reqwest::redirect::Policy::none())
            .tcp_nodelay(true);
        if location.is_loopback {
            builder = builder.no_proxy();
        }
        if !authorities.is_empty() {
            builder = builder.tls_certs_merge(authorities);
        }
        if let Some(identity) = identity {
            builder = builder.identity(identity);
        }
        let http = builder.build().map_err(|error| {
            Error::invalid(format!("TLS could not be set up: {}", chain(&error))).at(&location.shown)
        })?;
        let has_gzip = location.parameters.gzip.unwrap_or(!location.is_loopback);
        let credentials = RequestCredentials::gather(location)?;
        Ok(Self { http, location: Arc::clone(location), credentials, meter: Arc::clone(job.meter()), has_gzip })
    }

    /// The location of the server.
    pub fn location(&self) -> &SearchLocation {
        &self.location
    }

    /// How long a request of rows is sent again.
    pub fn row_patience(&self) -> Duration {
        self.location.parameters.retry_seconds.map_or(ROW_PATIENCE, Duration::from_secs)
    }

    /// Sends a request once.
    pub async fn send(&self, request: &SearchRequest) -> std::result::Result<ServerAnswer, LostRequest> {
        let url = format!("{}{}", self.location.base, request.path);
        let (body, is_packed) = self.packed(request).map_err(fatal)?;
        let method = reqwest::Method::from_bytes(request.method.as_bytes())
            .map_err(|_| fatal(Error::internal("an unknown HTTP method")))?;
        let headers = self.credentials.headers(request.method, &url, &body).await.map_err(fatal)?;
        let mut builder = self.http.request(method, &url).headers(headers);
        if self.has_gzip {
            builder = builder.header(ACCEPT_ENCODING, HeaderValue::from_static("gzip"));
        }
        if is_packed {
            builder = builder.header(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
        }
        let sent = body.len() as u64;
        if !body.is_empty() {
            let kind = if request.is_lines { "application/x-ndjson" } else { "application/json" };
            builder = builder.header(CONTENT_TYPE, HeaderValue::from_static(kind)).body(body);
        }
        self.meter.count(kind_of(request), 1);
        let answer = builder.send().await.map_err(|error| self.lost(&error))?;
        self.meter.wrote_bytes(sent);
        let status = answer.status().as_u16();
        let was_packed = answer.headers().get(CONTENT_ENCODING).is_some_and(|value| value == "gzip");
        let most = if status < 300 { MAX_ANSWER_BYTES } else { MAX_REFUSAL_BYTES };
        let body = self.body(answer, most).await?;
        self.meter.read_bytes(body.len() as u64);
        let body = match was_packed {
            true if status >= 300 => beginning(&body, most),
            true => unpacked(&body, most).map_err(|error| fatal(error.at(&self.location.shown)))?,
            false => body,
        };
        Ok(ServerAnswer { status, body })
    }

    /// Reads the body of an answer. A refusal is cut at `most` bytes, as its first bytes say enough; a longer success
    /// is an error.
    async fn body(&self, mut answer: reqwest::Response, most: usize) -> std::result::Result<Bytes, LostRequest> {
        let is_refusal = answer.status().as_u16() >= 300;
        let mut body = BytesMut::new();
        while let Some(piece) = answer.chunk().await.map_err(|error| self.lost(&error))? {
            if body.len() + piece.len() > most {
                if is_refusal {
                    break;
                }
                return Err(fatal(too_large(most).at(&self.location.shown)));
            }
            body.extend_from_slice(&piece);
        }
        Ok(body.freeze())
    }

    fn packed(&self, request: &SearchRequest) -> Result<(Bytes, bool)> {
        if !self.has_gzip || request.body.len() < 1024 {
            return Ok((request.body.clone(), false));
        }
        let mut encoder = GzEncoder::new(Vec::with_capacity(request.body.len() / 4), Compression::new(GZIP_LEVEL));
        encoder.write_all(&request.body)?;
        Ok((encoder.finish()?.into(), true))
    }

    /// Sends a request until the server answers something else than that it is busy, for `patience` at most.
    pub async fn ask(&self, request: SearchRequest, patience: Duration) -> Result<ServerAnswer> {
        let mut backoff = RetryBackoff::new(patience);
        loop {
            let failed = match self.send(&request).await {
                Ok(answer) if !is_busy(answer.status) => return Ok(answer),
                Ok(answer) => self.refusal(&answer),
                Err(lost) if lost.is_transient => lost.error,
                Err(lost) => return Err(lost.error),
            };
            if !backoff.wait().await {
                return Err(failed);
            }
        }
    }

    /// [`Self::ask`] from a thread that is none of the runtime's.
    pub fn call(&self, job: &Job, request: SearchRequest) -> Result<ServerAnswer> {
        let client = self.clone();
        job.block_on(async move { client.ask(request, PATIENCE).await })
    }

    /// [`Self::call`] where any answer but success is an error; the answer is an object.
    pub fn object(&self, job: &Job, request: SearchRequest) -> Result<Value> {
        let answer = self.call(job, request)?;
        if answer.status >= 300 {
            return Err(self.refusal(&answer));
        }
        self.parsed(&answer)
    }

    /// [`Self::object`], and `None` where there is no such thing.
    pub fn found(&self, job: &Job, request: SearchRequest) -> Result<Option<Value>> {
        let answer = self.call(job, request)?;
        match answer.status {
            404 => Ok(None),
            200..=299 => self.parsed(&answer).map(Some),
            _ => Err(self.refusal(&answer)),
        }
    }

    /// The object of an answer.
    pub fn parsed<'a, T: Deserialize<'a>>(&self, answer: &'a ServerAnswer) -> Result<T> {
        serde_json::from_slice(&answer.body).map_err(|error| {
            Error::unavailable("the answer is not a response of an Elasticsearch server")
                .because(error)
                .at(&self.location.shown)
                .advice("check the host, the port and any proxy in between")
        })
    }

    /// The error of an answer that is no success.
    pub fn refusal(&self, answer: &ServerAnswer) -> Error {
        let said = ServerFailure::from_body(&answer.body);
        let text = said.text(answer.status);
        let error = match answer.status {
            401 => Error::invalid(format!("the server rejects this user or API key: {text}")).advice(
                "set ELASTICSEARCH_API_KEY, or ELASTICSEARCH_USER and ELASTICSEARCH_PASSWORD, or write user:password@ before the host",
            ),
            403 if said.is_block() => blocked(&text),
            403 => Error::invalid(format!("this user or API key is not allowed to do this: {text}"))
                .advice("grant its role the privileges that the guide lists"),
            404 => Error::not_found(text),
            429 if said.is_block() => blocked(&text),
            408 | 429 | 502..=504 => Error::unavailable(format!("the server is busy: {text}")).advice("run it again later"),
            409 => Error::conflict(text),
            413 => Error::invalid("the server does not accept a request of this size")
                .advice("raise http.max_content_length of the server"),
            500.. => Error::unavailable(text),
            _ => Error::invalid(text),
        };
        error.at(&self.location.shown)
    }

    fn lost(&self, error: &reqwest::Error) -> LostRequest {
        let text = chain(error);
        let shown = &self.location.shown;
        if text.contains("certificate")
            || text.contains("TLS")
            || text.contains("tls")
            || text.contains("InvalidContentType")
        {
            let error = Error::invalid(format!("TLS failed: {text}")).at(shown).advice(
                "use elasticsearch+https: for servers with TLS and elasticsearch: for servers without; \
                 ELASTICSEARCH_CA names the certificate file of a private authority",
            );
            return fatal(error);
        }
        let what = if error.is_connect() { "the server does not answer" } else { "the connection broke" };
        let advice = "check that the server runs, and check the host and the port; then run it again";
        LostRequest {
            error: Error::unavailable(format!("{what}: {text}")).at(shown).advice(advice),
            is_transient: true,
        }
    }
}

/// Returns true if a status says that the same request may succeed later.
pub(super) fn is_busy(status: u16) -> bool {
    matches!(status, 408 | 429 | 502..=504)
}

/// The error of an index that rejects writes, mostly because a disk is full.
pub(super) fn blocked(text: &str) -> Error {
    Error::unavailable(format!("the index is blocked: {text}"))
        .advice("free space on the server's disk, or remove the block from the index's settings, then run it again")
}

/// A server's account of a failure.
pub(super) struct ServerFailure {
    kind: String,
    reason: String,
}

impl ServerFailure {
    /// Reads an answer's `error`, whichever form it has.
    pub fn from_body(body: &[u8]) -> Self {
        let value: Value = serde_json::from_slice(body).unwrap_or_default();
        Self::of_error(&value["error"])
    }

    /// Reads an `error`.
    pub fn of_error(error: &Value) -> Self {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        // For a search that fails on its shards, this is the reason of the first one.
        let error = match &error["root_cause"][0] {
            Value::Null => error,
            cause => cause,
        };
        match error {
            Value::String(reason) => Self { kind: String::new(), reason: reason.clone() },
            error => Self { kind: text(&error["type"]), reason: text(&error["reason"]) },
        }
    }

    /// The server's word for it.
    pub fn kind(&self) -> &str {
        &self.kind
    }

    /// The reason in the server's words.
    pub fn reason(&self) -> &str {
        &self.reason
    }

    pub fn is_block(&self) -> bool {
        self.kind == "cluster_block_exception"
    }

    fn text(&self, status: u16) -> String {
        match (self.kind.as_str(), self.reason.as_str()) {
            ("", "") => format!("status {status}"),
            ("", reason) => reason.to_owned(),
            (kind, reason) => format!("{reason} ({kind})"),
        }
    }
}

fn kind_of(request: &SearchRequest) -> RequestKind {
    match request.method {
        "DELETE" => RequestKind::Delete,
        "PUT" => RequestKind::Put,
        "HEAD" => RequestKind::Head,
        "POST" if request.is_lines => RequestKind::Put,
        _ => RequestKind::Get,
    }
}

/// Decompresses a body of at most `most` bytes: a few bytes may expand to all of the memory.
fn unpacked(body: &Bytes, most: usize) -> Result<Bytes> {
    let mut plain = Vec::with_capacity(body.len().saturating_mul(4).min(most));
    let mut decoder = MultiGzDecoder::new(body.as_ref()).take(most as u64 + 1);
    decoder.read_to_end(&mut plain).map_err(|error| {
        Error::unavailable("a response could not be decompressed").because(error).advice("add ?gzip=false")
    })?;
    if plain.len() > most { Err(too_large(most)) } else { Ok(plain.into()) }
}

/// Decompresses the first bytes of a body, as far as it can be read.
fn beginning(body: &Bytes, most: usize) -> Bytes {
    let mut plain = Vec::new();
    // The decoder returns an error at the cut, after all bytes before it.
    let _ = MultiGzDecoder::new(body.as_ref()).take(most as u64).read_to_end(&mut plain);
    plain.into()
}

/// The beginning of the message of an answer that is too large.
const TOO_LARGE: &str = "a response has more than";

fn too_large(most: usize) -> Error {
    Error::unavailable(format!("{TOO_LARGE} {} MiB", most >> 20))
        .advice("check for a proxy between this machine and the server, and that no document is that large")
}

/// Returns true if an answer exceeded the size limit, so that a request for fewer documents may succeed.
pub(super) fn is_too_large(error: &Error) -> bool {
    error.message().starts_with(TOO_LARGE)
}

fn fatal(error: Error) -> LostRequest {
    LostRequest { error, is_transient: false }
}

/// An error with its causes, without the URL, which may have a query.
fn chain(error: &reqwest::Error) -> String {
    let mut text = String::new();
    let mut next = error.source();
    while let Some(cause) = next {
        if !text.is_empty() {
            text.push_str(": ");
        }
        text.push_str(&cause.to_string());
        next = cause.source();
    }
    if text.is_empty() { "no response arrived in time".to_owned() } else { text }
}
