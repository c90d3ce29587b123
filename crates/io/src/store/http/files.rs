//! Files of one server as a store.

use std::fmt;
use std::ops::Range;

use async_trait::async_trait;
use bytes::Bytes;
use futures::stream::{self, BoxStream, StreamExt};
use http::Method;
use http::header::{ACCEPT_ENCODING, ACCEPT_RANGES, AUTHORIZATION, HeaderValue, LOCATION, RANGE};
use object_store::client::{HttpClient, HttpRequest, HttpRequestBody, HttpResponse};
use object_store::path::Path;
use object_store::{
    Attributes, CopyOptions, Error as StoreError, GetOptions, GetRange, GetResult, GetResultPayload, ListResult,
    MultipartUpload, ObjectMeta, ObjectStore, PutMultipartOptions, PutOptions, PutPayload, PutResult, Result,
};
use url::Url;

use super::HTTP;
use super::answer::{FileAnswer, wrong};
use crate::error::Error;

/// Redirects that are followed for one file.
const MOST_REDIRECTS: usize = 10;

/// Files of one server.
pub(super) struct HttpFiles {
    client: HttpClient,
    /// The server, with the query that all requests carry.
    root: Url,
    authorization: Option<HeaderValue>,
}

/// In the extensions of an answer: a range was requested, and the whole file follows. Its size may be unknown.
#[derive(Debug, Clone, Copy)]
pub(super) struct WholeFile {
    pub size_bytes: Option<u64>,
}

impl HttpFiles {
    pub(super) fn new(client: HttpClient, root: Url, authorization: Option<HeaderValue>) -> Self {
        Self { client, root, authorization }
    }

    fn url(&self, location: &Path) -> Result<Url> {
        let mut url = self.root.clone();
        let mut segments = url.path_segments_mut().map_err(|()| ours(Error::internal("the URL has no path")))?;
        segments.clear().extend(location.parts().map(|part| part.as_ref().to_owned()));
        drop(segments);
        Ok(url)
    }

    /// Sends a request, and follows redirects: not from https to http, and to other hosts without credentials.
    async fn send(&self, method: &Method, location: &Path, range: Option<&str>) -> Result<HttpResponse> {
        let mut url = self.url(location)?;
        for _ in 0..=MOST_REDIRECTS {
            let answer = self.send_to(method, &url, range).await?;
            let status = answer.status().as_u16();
            if !matches!(status, 301 | 302 | 303 | 307 | 308) {
                return checked(answer, location);
            }
            let next = answer.headers().get(LOCATION).and_then(|value| value.to_str().ok());
            let next = next.and_then(|next| url.join(next).ok());
            let Some(next) = next.filter(|next| matches!(next.scheme(), "http" | "https") && next.has_host()) else {
                return Err(ours(Error::invalid(format!(
                    "the server answers with a redirect ({status}) without an address"
                ))));
            };
            if url.scheme() == "https" && next.scheme() == "http" {
                let text = "the server answers with a redirect from https to plain http, which is not followed";
                return Err(ours(Error::invalid(text).advice("use the plain http address yourself, if that is safe")));
            }
            url = next;
        }
        let text = format!("the server answers with more than {MOST_REDIRECTS} redirects");
        Err(ours(Error::invalid(text).advice(HTTP.advice.no_store)))
    }

    async fn send_to(&self, method: &Method, url: &Url, range: Option<&str>) -> Result<HttpResponse> {
        let mut request = HttpRequest::new(HttpRequestBody::empty());
        *request.method_mut() = method.clone();
        *request.uri_mut() = url.as_str().parse().map_err(|_| ours(Error::usage("the URL can't be requested")))?;
        let headers = request.headers_mut();
        headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
        if let Some(range) = range {
            headers.insert(RANGE, HeaderValue::from_str(range).map_err(generic)?);
        }
        if let Some(authorization) = self.authorization.as_ref().filter(|_| url.origin() == self.root.origin()) {
            headers.insert(AUTHORIZATION, authorization.clone());
        }
        self.client.execute(request).await.map_err(generic)
    }

    /// Size and tag of a file: by a HEAD, or by a range of one byte if the server does not support HEAD.
    async fn head(&self, location: &Path, options: &GetOptions) -> Result<GetResult> {
        let answer = match self.send(&Method::HEAD, location, None).await {
            Ok(response) => Some(FileAnswer::read(200, response.headers()).map_err(ours)?),
            Err(error) if is_missing(&error) => return Err(error),
            Err(StoreError::PermissionDenied { .. }) => None,
            Err(error) if refuses_method(&error) => None,
            Err(error) => return Err(error),
        };
        if let Some(answer) = answer
            && let Some(size_bytes) = answer.size_bytes
        {
            check_tag(&answer, options, location)?;
            return Ok(result(&answer, location, size_bytes, 0..size_bytes, stream::empty().boxed()));
        }
        let options = GetOptions { range: Some(GetRange::Bounded(0..1)), ..options.clone() };
        match self.get(location, &options).await {
            Ok(found) if found.extensions.get::<WholeFile>().is_some_and(|whole| whole.size_bytes.is_none()) => {
                Err(ours(
                    Error::unsupported("the server does not report the file's size").advice("download the file first"),
                ))
            }
            // A file of no bytes has no first one.
            Err(error) if crate::store::error::is_range_not_satisfiable(&error) => {
                let answer = FileAnswer::read(200, &http::HeaderMap::new()).map_err(ours)?;
                Ok(result(&answer, location, 0, 0..0, stream::empty().boxed()))
            }
            other => other,
        }
    }

    async fn get(&self, location: &Path, options: &GetOptions) -> Result<GetResult> {
        let asked = options.range.as_ref().map(header_of);
        let response = self.send(&Method::GET, location, asked.as_deref()).await?;
        let status = response.status().as_u16();
        let has_ranges = response.headers().get(ACCEPT_RANGES).is_some_and(|value| value.as_bytes() == b"bytes");
        let answer = FileAnswer::read(status, response.headers()).map_err(ours)?;
        check_tag(&answer, options, location)?;
        if let (200, Some(GetRange::Suffix(n)), true, Some(size)) =
            (status, &options.range, has_ranges, answer.size_bytes)
            && size > *n
        {
            // It takes ranges, but not from the end.
            drop(response);
            let options = GetOptions { range: Some(GetRange::Bounded(size - n..size)), ..options.clone() };
            return Box::pin(self.get(location, &options)).await;
        }
        let body = response.into_body().bytes_stream().map(|chunk| chunk.map_err(generic)).boxed();
        match (&answer.range, &options.range) {
            (None, None) => {
                let size_bytes = answer.size_bytes.ok_or_else(|| {
                    ours(
                        Error::unsupported("the server does not report the file's size")
                            .advice("download the file first"),
                    )
                })?;
                Ok(result(&answer, location, size_bytes, 0..size_bytes, body))
            }
            (None, Some(_)) => {
                // The server sends the whole file for any range. The caller takes the part that it needs.
                let size_bytes = answer.size_bytes;
                let range = 0..size_bytes.unwrap_or(u64::MAX);
                let mut whole = result(&answer, location, range.end, range, body);
                whole.extensions.insert(WholeFile { size_bytes });
                Ok(whole)
            }
            (Some(_), None) => Err(ours(wrong("a part of the file, though the whole file was requested"))),
            (Some(range), Some(asked)) => {
                let size_bytes = answer.size_bytes.ok_or_else(|| ours(wrong("a part of a file of unknown size")))?;
                let expected = expected(asked, size_bytes);
                if *range != expected {
                    let text = format!(
                        "bytes {}..{}, though {}..{} were requested",
                        range.start, range.end, expected.start, expected.end
                    );
                    return Err(ours(wrong(&text)));
                }
                Ok(result(&answer, location, size_bytes, range.clone(), body))
            }
        }
    }
}

/// The bytes of a range in a file of this size.
pub(super) fn expected(range: &GetRange, size_bytes: u64) -> Range<u64> {
    match range {
        GetRange::Bounded(range) => range.start..range.end.min(size_bytes),
        GetRange::Offset(start) => *start..size_bytes,
        GetRange::Suffix(n) => size_bytes.saturating_sub(*n)..size_bytes,
    }
}

fn header_of(range: &GetRange) -> String {
    match range {
        GetRange::Bounded(range) => format!("bytes={}-{}", range.start, range.end.saturating_sub(1)),
        GetRange::Offset(start) => format!("bytes={start}-"),
        GetRange::Suffix(n) => format!("bytes=-{n}"),
    }
}

fn result(
    answer: &FileAnswer,
    location: &Path,
    size_bytes: u64,
    range: Range<u64>,
    body: BoxStream<'static, Result<Bytes>>,
) -> GetResult {
    GetResult {
        payload: GetResultPayload::Stream(body),
        meta: answer.meta(location, size_bytes),
        range,
        attributes: Attributes::default(),
        extensions: http::Extensions::default(),
    }
}

/// The file is the one that was seen before. Its tag is compared here: servers compare weak ones never, and none of theirs with times.
fn check_tag(answer: &FileAnswer, options: &GetOptions, location: &Path) -> Result<()> {
    match &options.if_match {
        Some(known) if answer.e_tag() != Some(known.as_str()) => {
            Err(StoreError::Precondition { path: location.to_string(), source: "the file has another tag".into() })
        }
        _ => Ok(()),
    }
}

/// An answer of success, or the error for the status.
fn checked(answer: HttpResponse, location: &Path) -> Result<HttpResponse> {
    let status = answer.status().as_u16();
    let path = location.to_string();
    let text = format!("the server answered with status code: {status}");
    match status {
        200 | 206 => Ok(answer),
        404 | 410 => Err(StoreError::NotFound { path, source: text.into() }),
        401 | 403 | 407 => Err(StoreError::PermissionDenied { path, source: text.into() }),
        _ => Err(StoreError::Generic { store: "HTTP", source: text.into() }),
    }
}

fn is_missing(error: &StoreError) -> bool {
    matches!(error, StoreError::NotFound { .. })
}

/// Returns true if a server does not support a method.
fn refuses_method(error: &StoreError) -> bool {
    let text = error.to_string();
    text.ends_with("status code: 405") || text.ends_with("status code: 501")
}

fn generic(source: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> StoreError {
    StoreError::Generic { store: "HTTP", source: source.into() }
}

/// Our own error while it passes through `object_store`.
pub(super) fn ours(error: Error) -> StoreError {
    generic(error)
}

/// Without the query and the authorization, which may be secrets.
impl fmt::Debug for HttpFiles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for HttpFiles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "HttpFiles({})", self.root.origin().ascii_serialization())
    }
}

#[async_trait]
impl ObjectStore for HttpFiles {
    async fn get_opts(&self, location: &Path, options: GetOptions) -> Result<GetResult> {
        match options.head {
            true => self.head(location, &options).await,
            false => self.get(location, &options).await,
        }
    }

    async fn put_opts(&self, location: &Path, _: PutPayload, _: PutOptions) -> Result<PutResult> {
        Err(ours(HTTP.read_only(location.as_ref())))
    }

    async fn put_multipart_opts(&self, location: &Path, _: PutMultipartOptions) -> Result<Box<dyn MultipartUpload>> {
        Err(ours(HTTP.read_only(location.as_ref())))
    }

    fn delete_stream(&self, locations: BoxStream<'static, Result<Path>>) -> BoxStream<'static, Result<Path>> {
        locations.map(|location| Err(ours(HTTP.read_only(location?.as_ref())))).boxed()
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        let error = ours(HTTP.no_listing(prefix.map(AsRef::as_ref).unwrap_or_default()));
        stream::once(async move { Err(error) }).boxed()
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> Result<ListResult> {
        Err(ours(HTTP.no_listing(prefix.map(AsRef::as_ref).unwrap_or_default())))
    }

    async fn copy_opts(&self, _: &Path, to: &Path, _: CopyOptions) -> Result<()> {
        Err(ours(HTTP.read_only(to.as_ref())))
    }
}
