//! HTTP clients that send each request only to the store, and reject answers that wrongly claim success.
//!
//! The clients of `object_store` follow redirects. A redirected PUT may become a GET, so that nothing is stored; a
//! redirected GET hands the session token to another host. It has no setting for it, so the client is built here, from the
//! same settings.

use std::fmt;
use std::net::SocketAddr;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use http::header::{CONTENT_LENGTH, CONTENT_TYPE, ETAG};
use http::{HeaderMap, Method, Uri};
use object_store::client::{
    HttpClient, HttpConnector, HttpError, HttpErrorKind, HttpRequest, HttpResponse, HttpResponseBody, HttpService,
};
use object_store::{ClientConfigKey, ClientOptions, Error, Result};
use rand::seq::SliceRandom;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use reqwest::redirect::Policy;
use reqwest::tls::Certificate;
use reqwest::{NoProxy, Proxy};

/// Makes clients that follow no redirect.
#[derive(Debug, Clone, Default)]
pub(crate) struct NoRedirectConnector {
    /// Redirects are answers, which the caller follows or refuses.
    answers_redirects: bool,
}

impl NoRedirectConnector {
    /// Clients of a store. Where `answers_redirects` is true, a redirect is an answer and no error.
    pub(crate) fn new(answers_redirects: bool) -> Self {
        Self { answers_redirects }
    }
}

impl HttpConnector for NoRedirectConnector {
    fn connect(&self, options: &ClientOptions) -> Result<HttpClient> {
        Ok(HttpClient::new(NoRedirectClient {
            inner: HttpClient::new(client(options)?),
            answers_redirects: self.answers_redirects,
        }))
    }
}

#[derive(Debug)]
struct NoRedirectClient {
    inner: HttpClient,
    answers_redirects: bool,
}

#[async_trait]
impl HttpService for NoRedirectClient {
    async fn call(&self, request: HttpRequest) -> std::result::Result<HttpResponse, HttpError> {
        let method = request.method().clone();
        let uri = request.uri().clone();
        let is_azure = request.headers().contains_key("x-ms-version");
        let response = self.inner.execute(request).await.map_err(broken_off)?;
        let status = response.status();
        if status.is_redirection() && status.as_u16() != NOT_MODIFIED && !self.answers_redirects {
            return Err(refuse(RefusedAnswer::redirect(&response)));
        }
        if status.is_success() && !is_answer(method.as_str(), status.as_u16(), is_azure) {
            return Err(refuse(RefusedAnswer::NoAnswer { method: method.to_string(), status: status.as_u16() }));
        }
        if !status.is_success() || self.answers_redirects {
            return Ok(response);
        }
        if is_page(&method, &uri, response.headers()) {
            return Err(refuse(RefusedAnswer::page(&method, &uri, response.headers())));
        }
        if !expects_xml(&method, &uri) || has_xml_type(response.headers()) {
            return Ok(response);
        }
        let (head, body) = response.into_parts();
        let body = body.bytes().await.map_err(broken_off)?;
        match is_xml(&body) {
            true => Ok(HttpResponse::from_parts(head, body.into())),
            false => Err(refuse(RefusedAnswer::page(&method, &uri, &head.headers))),
        }
    }
}

/// Marks a connection that broke while a request was sent as an error after which the request may be sent again;
/// `object_store` does not recognize it.
fn broken_off(error: HttpError) -> HttpError {
    use std::io::ErrorKind::{BrokenPipe, ConnectionAborted, ConnectionReset, UnexpectedEof};
    let mut cause = std::error::Error::source(&error);
    while let Some(found) = cause {
        let kind = found.downcast_ref::<std::io::Error>().map(std::io::Error::kind);
        if matches!(kind, Some(BrokenPipe | ConnectionAborted | ConnectionReset | UnexpectedEof)) {
            return HttpError::new(HttpErrorKind::Interrupted, error);
        }
        cause = found.source();
    }
    error
}

const NOT_MODIFIED: u16 = 304;

/// Returns true if this status means that a store has done the request.
fn is_answer(method: &str, status: u16, is_azure: bool) -> bool {
    match method {
        "GET" | "HEAD" => matches!(status, 200 | 206),
        "DELETE" => matches!(status, 200 | 202 | 204),
        // Azure has started to copy an object, or answers for each of several.
        _ => matches!(status, 200 | 201) || status == 202 && is_azure,
    }
}

/// Returns true if an answer is a page for people, as proxies and login pages send it with a status of success. An object
/// may be a page, too, but a store names its tag. Google says that empty answers are HTML.
fn is_page(method: &Method, uri: &Uri, headers: &HeaderMap) -> bool {
    let is_empty = headers.get(CONTENT_LENGTH).is_some_and(|length| length == "0");
    content_type(headers).starts_with("text/html")
        && !headers.contains_key(ETAG)
        && (*method == Method::HEAD || !is_empty)
        && !METADATA_PATHS.iter().any(|path| uri.path().starts_with(path))
}

/// The paths of services of a machine that hand out credentials.
const METADATA_PATHS: [&str; 4] = ["/latest/", "/v2/credentials", "/computeMetadata/", "/metadata/"];

/// Returns true if a store answers this request with XML: a LIST, a DELETE of several objects, a step of an upload.
fn expects_xml(method: &Method, uri: &Uri) -> bool {
    let query = uri.query().unwrap_or_default();
    let mut names = query.split('&').map(|pair| pair.split('=').next().unwrap_or_default());
    match *method {
        Method::GET => query.contains("list-type=") || query.contains("comp=list"),
        Method::POST => names.any(|name| matches!(name, "delete" | "uploads" | "uploadId")),
        _ => false,
    }
}

fn content_type(headers: &HeaderMap) -> String {
    let value = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    value.unwrap_or_default().trim().to_ascii_lowercase()
}

fn has_xml_type(headers: &HeaderMap) -> bool {
    let content_type = content_type(headers);
    ["application/xml", "text/xml"].iter().any(|xml| content_type.starts_with(xml))
}

/// Returns true if a body starts like XML. An empty one is left to `object_store`.
fn is_xml(body: &[u8]) -> bool {
    let text = body.strip_prefix(b"\xef\xbb\xbf").unwrap_or(body).trim_ascii_start();
    let starts_with = |start: &[u8]| text.get(..start.len()).is_some_and(|front| front.eq_ignore_ascii_case(start));
    text.is_empty() || text[0] == b'<' && !starts_with(b"<!doctype html") && !starts_with(b"<html")
}

/// An error after which the request is not repeated.
fn refuse(refused: RefusedAnswer) -> HttpError {
    HttpError::new(HttpErrorKind::Unknown, refused)
}

/// An answer that is neither success nor an error of the store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum RefusedAnswer {
    /// The store sends us elsewhere.
    Redirect {
        /// The status of the answer.
        status: u16,
        /// Scheme, host and port of the redirect's target, if the answer contains it.
        to: Option<String>,
        /// The region of the bucket, if the answer contains it.
        region: Option<String>,
    },
    /// A status of success that does not belong to the request.
    NoAnswer {
        /// The method of the request.
        method: String,
        /// The status of the answer.
        status: u16,
    },
    /// A page of something that is not the store.
    Page {
        /// The method of the request.
        method: String,
        /// Scheme, host and port of the store.
        endpoint: String,
        /// The type of the answer.
        content_type: String,
        /// The store answers such a request with XML.
        expects_xml: bool,
    },
}

impl RefusedAnswer {
    fn page(method: &Method, uri: &Uri, headers: &HeaderMap) -> Self {
        let authority = uri.authority().map(|authority| authority.as_str().rsplit('@').next().unwrap_or_default());
        let endpoint = format!("{}://{}", uri.scheme_str().unwrap_or_default(), authority.unwrap_or_default());
        let content_type = content_type(headers);
        // It is part of an error that a terminal shows.
        let content_type = content_type.split(';').next().unwrap_or_default().trim().to_owned();
        Self::Page { method: method.to_string(), endpoint, content_type, expects_xml: expects_xml(method, uri) }
    }

    fn redirect(response: &http::Response<HttpResponseBody>) -> Self {
        let header = |name: &str| response.headers().get(name).and_then(|value| value.to_str().ok());
        let to = header("location").and_then(|location| url::Url::parse(location).ok());
        Self::Redirect {
            status: response.status().as_u16(),
            // Its path and query may contain a signature of the request.
            to: to.map(|url| url.origin().ascii_serialization()),
            region: bucket_region(response.headers()),
        }
    }
}

/// The region that an answer of Amazon names.
pub(crate) fn bucket_region(headers: &HeaderMap) -> Option<String> {
    let region = headers.get("x-amz-bucket-region")?.to_str().ok()?;
    is_region(region).then(|| region.to_owned())
}

/// Checks the form of a region's name, because it is part of an error that a terminal shows.
fn is_region(text: &str) -> bool {
    !text.is_empty() && text.len() < 40 && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
}

impl fmt::Display for RefusedAnswer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Redirect { status, to, .. } => {
                write!(f, "the store answers with a redirect ({status})")?;
                if let Some(to) = to {
                    write!(f, " to {to}")?;
                }
                f.write_str(", which is not followed")
            }
            Self::NoAnswer { method, status } => write!(f, "the store answers with status {status} to a {method}"),
            Self::Page { method, endpoint, content_type, expects_xml } => {
                let found = if content_type.is_empty() { "text" } else { content_type };
                let lacks = if *expects_xml { "is no XML" } else { "is not the answer of a store" };
                write!(f, "{endpoint} answers a {method} with {found}, which {lacks}")
            }
        }
    }
}

impl std::error::Error for RefusedAnswer {}

/// A client with the settings of `object_store`, except for redirects.
fn client(options: &ClientOptions) -> Result<reqwest::Client> {
    let text = |key: ClientConfigKey| options.get_config_value(&key);
    let mut builder = reqwest::ClientBuilder::new()
        .redirect(Policy::none())
        .user_agent(text(ClientConfigKey::UserAgent).unwrap_or_else(|| USER_AGENT.to_owned()))
        .https_only(!flag(options, ClientConfigKey::AllowHttp)?)
        .tls_danger_accept_invalid_certs(flag(options, ClientConfigKey::AllowInvalidCertificates)?)
        // The length of a body is the length of the object.
        .no_gzip()
        .no_brotli()
        .no_zstd()
        .no_deflate();
    if let Some(headers) = options.get_default_headers() {
        builder = builder.default_headers(headers.clone());
    }
    if let Some(proxy) = proxy(options)? {
        builder = builder.proxy(proxy);
        if let Some(pem) = text(ClientConfigKey::ProxyCaCertificate) {
            builder = builder.tls_certs_merge([Certificate::from_pem(pem.as_bytes()).map_err(generic)?]);
        }
    }
    if flag(options, ClientConfigKey::RandomizeAddresses)? {
        builder = builder.dns_resolver(Arc::new(ShuffledResolver));
    }
    if flag(options, ClientConfigKey::NoSystemCertificates)? {
        builder = builder.tls_certs_only([]);
    }
    for (key, set) in TIMES {
        if let Some(value) = text(key) {
            let time = humantime::parse_duration(&value).map_err(|_| invalid(key, &value))?;
            builder = set(builder, time);
        }
    }
    if let Some(connections) = number(options, ClientConfigKey::PoolMaxIdlePerHost)? {
        builder = builder.pool_max_idle_per_host(connections);
    }
    if let Some(bytes) = number::<u32>(options, ClientConfigKey::Http2MaxFrameSize)? {
        builder = builder.http2_max_frame_size(Some(bytes));
    }
    if flag(options, ClientConfigKey::Http2KeepAliveWhileIdle)? {
        builder = builder.http2_keep_alive_while_idle(true);
    }
    if flag(options, ClientConfigKey::Http1Only)? {
        builder = builder.http1_only();
    }
    if flag(options, ClientConfigKey::Http2Only)? {
        builder = builder.http2_prior_knowledge();
    }
    builder.build().map_err(generic)
}

const USER_AGENT: &str = concat!("lakerace/", env!("CARGO_PKG_VERSION"));

type SetTime = fn(reqwest::ClientBuilder, Duration) -> reqwest::ClientBuilder;

/// Settings that are times.
const TIMES: [(ClientConfigKey, SetTime); 6] = [
    (ClientConfigKey::Timeout, |builder, time| builder.timeout(time)),
    (ClientConfigKey::ConnectTimeout, |builder, time| builder.connect_timeout(time)),
    (ClientConfigKey::ReadTimeout, |builder, time| builder.read_timeout(time)),
    (ClientConfigKey::PoolIdleTimeout, |builder, time| builder.pool_idle_timeout(time)),
    (ClientConfigKey::Http2KeepAliveInterval, |builder, time| builder.http2_keep_alive_interval(time)),
    (ClientConfigKey::Http2KeepAliveTimeout, |builder, time| builder.http2_keep_alive_timeout(time)),
];

/// Takes the addresses of a host in any order: connections spread over the machines of a store.
struct ShuffledResolver;

impl Resolve for ShuffledResolver {
    fn resolve(&self, name: Name) -> Resolving {
        Box::pin(async move {
            let mut addresses: Vec<SocketAddr> = tokio::net::lookup_host((name.as_str(), 0)).await?.collect();
            addresses.shuffle(&mut rand::rng());
            Ok(Box::new(addresses.into_iter()) as Addrs)
        })
    }
}

fn proxy(options: &ClientOptions) -> Result<Option<Proxy>> {
    let Some(url) = options.get_config_value(&ClientConfigKey::ProxyUrl) else { return Ok(None) };
    let mut proxy = Proxy::all(url).map_err(generic)?;
    if let Some(excludes) = options.get_config_value(&ClientConfigKey::ProxyExcludes) {
        proxy = proxy.no_proxy(NoProxy::from_string(&excludes));
    }
    Ok(Some(proxy))
}

fn flag(options: &ClientOptions, key: ClientConfigKey) -> Result<bool> {
    let Some(value) = options.get_config_value(&key) else { return Ok(false) };
    match value.to_ascii_lowercase().as_str() {
        "1" | "true" | "on" | "yes" | "y" => Ok(true),
        "0" | "false" | "off" | "no" | "n" => Ok(false),
        _ => Err(invalid(key, &value)),
    }
}

fn number<T: FromStr>(options: &ClientOptions, key: ClientConfigKey) -> Result<Option<T>> {
    let value = options.get_config_value(&key);
    value.map(|value| value.parse().map_err(|_| invalid(key, &value))).transpose()
}

fn invalid(key: ClientConfigKey, value: &str) -> Error {
    generic(format!("{value:?} is not a valid value of {}", key.as_ref()))
}

fn generic(source: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Error {
    Error::Generic { store: "HTTP", source: source.into() }
}
