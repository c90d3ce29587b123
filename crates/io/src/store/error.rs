//! Conversion of `object_store`'s errors: by the caller's next step, with the place and advice.

use std::fmt;

use object_store::Error as StoreError;
use object_store::client::{HttpError, HttpErrorKind};

use super::kind::{STORE_KINDS, StoreKind};
use super::s3::S3;
use super::wrap::RefusedAnswer;
use crate::error::{Error, ErrorKind};
use crate::nearest::nearest;
use crate::option::{MODE, STORAGE_OPTION};
use crate::store::options::{ALLOW_FOREIGN_PATHS, RETRY_TIME_OPTION};

/// The error of a request to `place` (a URL or path without credentials).
pub fn store_error(error: StoreError, place: &str) -> Error {
    let kind = StoreKind::of_url(place).unwrap_or(&S3);
    match error {
        // The name of a file of this machine needs no more explanation.
        StoreError::NotFound { .. } if StoreKind::of_url(place).is_none() => Error::not_found("does not exist"),
        StoreError::NotFound { source, .. } => not_found(kind, &chain_text(&*source)),
        StoreError::AlreadyExists { .. } => Error::conflict("it already exists")
            .advice(format!("remove it, choose another name, or replace it with {}", MODE.to("overwrite"))),
        StoreError::Precondition { .. } | StoreError::NotModified { .. } => replaced(),
        StoreError::PermissionDenied { source, .. } | StoreError::Unauthenticated { source, .. } => {
            denied(kind, &chain_text(&*source))
        }
        StoreError::NotSupported { source } => Error::unsupported(format!("the store does not support this: {source}")),
        StoreError::NotImplemented { operation, .. } => {
            Error::unsupported(format!("the store does not implement {operation}"))
        }
        StoreError::InvalidPath { source } => Error::invalid(format!("the store can't hold this name: {source}"))
            .advice("rename the file without control characters"),
        StoreError::UnknownConfigurationKey { key, .. } => unknown_option(&key),
        StoreError::JoinError { source } => Error::internal(format!("an I/O task failed: {source}")),
        StoreError::Generic { source, .. } => generic(kind, source, place),
        other => Error::unavailable(one_line(&other.to_string())),
    }
    .at(place)
}

/// The object has another tag than when it was first seen.
pub(crate) fn replaced() -> Error {
    Error::conflict("replaced while it was read").advice("run it again to read the new one")
}

/// The error if there are no credentials.
pub(crate) fn no_credentials(kind: &StoreKind) -> Error {
    Error::invalid(format!("there are no credentials for {}", kind.name)).advice(kind.advice.no_credentials)
}

/// Options that every store has.
const COMMON_OPTIONS: [&str; 3] = ["timeout", RETRY_TIME_OPTION, ALLOW_FOREIGN_PATHS];

/// A storage option that no store knows.
pub(crate) fn unknown_option(key: &str) -> Error {
    let error = Error::usage(format!("unknown storage option {key:?}"));
    let known = || STORE_KINDS.iter().flat_map(|kind| kind.common_options.iter().copied()).chain(COMMON_OPTIONS);
    match nearest(key, known()) {
        Some(near) => error.advice(format!("did you mean {near}?")),
        None => {
            let known = known().collect::<Vec<_>>().join(", ");
            error.advice(format!("choose one of {known}, or another option of the object_store crate"))
        }
    }
}

/// Returns true if a request that failed like this may succeed when it is sent again.
pub(crate) fn is_transient(error: &StoreError) -> bool {
    match error {
        StoreError::Generic { source, .. } => {
            generic_kind(source.as_ref()) == ErrorKind::Unavailable && find::<RefusedAnswer>(source.as_ref()).is_none()
        }
        _ => false,
    }
}

/// The error of a download that had received bytes before it broke off.
#[derive(Debug)]
pub(crate) struct InterruptedDownload(pub Box<dyn std::error::Error + Send + Sync>);

impl fmt::Display for InterruptedDownload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl std::error::Error for InterruptedDownload {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&*self.0)
    }
}

/// Returns true if the server had sent a part of the file before the request failed.
pub(crate) fn has_progressed(error: &StoreError) -> bool {
    matches!(error, StoreError::Generic { source, .. } if find::<InterruptedDownload>(source.as_ref()).is_some())
}

/// Returns true if the answer to a LIST broke off, or is not a list.
pub(crate) fn is_cut_off_listing(error: &StoreError) -> bool {
    let text = chain_text(error);
    text.contains("list response body") || text.contains("invalid list response")
}

/// Returns true if the store answered with a whole object when a range was requested: it does not support ranges, or
/// the object is empty.
pub(crate) fn is_not_partial(error: &StoreError) -> bool {
    chain_text(error).contains("non-partial response")
}

/// Returns true if a range lies after the object's end, partially or completely. The types that `object_store` has for
/// it are private, and differ from store to store: a file's, memory's, and an answer with fewer bytes.
pub(crate) fn is_range_after_end(error: &StoreError) -> bool {
    let text = error.to_string();
    text.contains("Requested range was invalid")
        || text.contains("Requested") && text.contains("got")
        || text.contains("Wanted range")
}

/// Returns true if the store answered 416: the range starts after the object's end.
pub(crate) fn is_range_not_satisfiable(error: &StoreError) -> bool {
    status_code(&chain_text(error)) == Some(416)
}

/// The addresses that are tried last for credentials, on a machine of a cloud provider.
const INSTANCE_METADATA: [&str; 2] = ["169.254.169.254", "metadata.google.internal"];

fn not_found(kind: &StoreKind, text: &str) -> Error {
    match element(text, "Code") {
        // Some servers answer so with status 404.
        Some(code) if is_denial(code) => denied(kind, text),
        Some("NoSuchBucket" | "ContainerNotFound") => {
            Error::not_found(format!("the {} does not exist", kind.container)).advice(kind.advice.no_container)
        }
        _ => Error::not_found("does not exist").advice(kind.advice.no_object),
    }
}

fn is_denial(code: &str) -> bool {
    const DENIALS: [&str; 13] = [
        "AccessDenied",
        "InvalidAccessKeyId",
        "SignatureDoesNotMatch",
        "ExpiredToken",
        "InvalidToken",
        "RequestTimeTooSkewed",
        // Azure
        "AuthenticationFailed",
        "AuthorizationFailure",
        "AuthorizationPermissionMismatch",
        "InvalidAuthenticationInfo",
        "NoAuthenticationInformation",
        "PublicAccessNotPermitted",
        // versitygw, with status 404
        "XAdminUserNotFound",
    ];
    DENIALS.contains(&code)
}

fn denied(kind: &StoreKind, text: &str) -> Error {
    let code = element(text, "Code").unwrap_or("AccessDenied");
    let advice = match code {
        "InvalidAccessKeyId" | "InvalidTokenId" | "XAdminUserNotFound" => {
            "check AWS_ACCESS_KEY_ID: the store does not know this key"
        }
        "SignatureDoesNotMatch" => "check AWS_SECRET_ACCESS_KEY and AWS_REGION",
        "ExpiredToken" => "the session token has expired: get a new one",
        "RequestTimeTooSkewed" => "set this machine's clock",
        _ => kind.advice.denied,
    };
    Error::invalid(format!("the store denies access: {code}")).advice(advice)
}

fn generic(kind: &StoreKind, source: Box<dyn std::error::Error + Send + Sync>, place: &str) -> Error {
    if let Some(error) = find_io_error(source.as_ref()) {
        if let Some(own) = error.get_ref().and_then(|inner| inner.downcast_ref::<Error>()) {
            return own.clone();
        }
        return Error::from(std::io::Error::new(error.kind(), error.to_string()));
    }
    if let Some(error) = find::<Error>(source.as_ref()) {
        // The error of a provider of credentials explains the problem.
        return error.clone();
    }
    if let Some(refused) = find::<RefusedAnswer>(source.as_ref()) {
        return refused_answer(kind, refused);
    }
    let text = chain_text(source.as_ref());
    if INSTANCE_METADATA.iter().any(|host| text.contains(host)) {
        return no_credentials(kind);
    }
    let error_kind = generic_kind(source.as_ref());
    match element(&text, "Code") {
        Some("NoSuchBucket" | "NoSuchKey" | "ContainerNotFound" | "BlobNotFound") => return not_found(kind, &text),
        Some(code) if is_denial(code) => return denied(kind, &text),
        // Azure drops the parts of an upload where an object gets its name in the meantime.
        Some("InvalidBlockList") => {
            return Error::conflict("another writer has put an object with this name at the same time")
                .advice("run it again");
        }
        Some(code) => {
            let message = element(&text, "Message").unwrap_or_default();
            return Error::new(error_kind, format!("the store answered {code}: {}", one_line(message)));
        }
        None => {}
    }
    if text.contains("not allowed") && text.contains("scheme") || text.contains("URL scheme is not allowed") {
        return Error::usage("the endpoint is plain http, which is not allowed by default").advice(format!(
            "set AWS_ALLOW_HTTP=true or {}, or use an https endpoint",
            STORAGE_OPTION.to("aws_allow_http=true")
        ));
    }
    let error = match (status_code(&text), unreached_host(source.as_ref(), &text, place)) {
        (Some(status), _) => Error::new(error_kind, format!("the store answered with status {status}")),
        (None, Some(host)) => {
            Error::new(error_kind, format!("{host} can't be reached: {}", one_line(&root_cause(source.as_ref()))))
        }
        (None, None) => Error::new(error_kind, one_line(cause(&text))),
    };
    if error_kind == ErrorKind::Unavailable {
        error.advice("check that the store is reachable, then run it again")
    } else {
        error
    }
}

/// An answer that is neither success nor an error of the store.
fn refused_answer(kind: &StoreKind, refused: &RefusedAnswer) -> Error {
    let error = Error::new(refused_kind(refused), refused.to_string());
    match refused {
        RefusedAnswer::Page { .. } => error.advice(format!(
            "a proxy or a login page may answer in place of the store: check the network, then run it again, or {}",
            kind.advice.no_store
        )),
        RefusedAnswer::Redirect { region: Some(region), .. } => {
            error.advice(format!("the bucket is in the region {region}: set AWS_REGION={region}"))
        }
        RefusedAnswer::Redirect { .. } if *kind == S3 => error.advice(
            "set AWS_ENDPOINT_URL to the address of the store itself, and AWS_REGION to the region of the bucket",
        ),
        RefusedAnswer::Redirect { .. } | RefusedAnswer::NoAnswer { .. } => error.advice(kind.advice.no_store),
    }
}

fn refused_kind(refused: &RefusedAnswer) -> ErrorKind {
    match refused {
        RefusedAnswer::Page { .. } => ErrorKind::Unavailable,
        RefusedAnswer::Redirect { .. } | RefusedAnswer::NoAnswer { .. } => ErrorKind::Invalid,
    }
}

/// 5xx, resets and time-outs may be retried; other 4xx may not.
fn generic_kind(source: &(dyn std::error::Error + 'static)) -> ErrorKind {
    if let Some(own) = find::<Error>(source) {
        return own.kind();
    }
    if let Some(refused) = find::<RefusedAnswer>(source) {
        return refused_kind(refused);
    }
    if source.downcast_ref::<object_store::path::Error>().is_some() {
        return ErrorKind::Invalid;
    }
    let text = chain_text(source);
    if text.contains("Wanted range") {
        return ErrorKind::Corrupt;
    }
    match status_code(&text) {
        Some(416) => ErrorKind::Corrupt,
        Some(404) => ErrorKind::NotFound,
        Some(412) => ErrorKind::Conflict,
        Some(408 | 429) => ErrorKind::Unavailable,
        Some(501) => ErrorKind::Unsupported,
        Some(100..=499) => ErrorKind::Invalid,
        _ => ErrorKind::Unavailable,
    }
}

fn find_io_error<'a>(error: &'a (dyn std::error::Error + 'static)) -> Option<&'a std::io::Error> {
    // Only errors of the local disk: below an HTTP error, an I/O error is a broken connection.
    if chain_text(error).contains("HTTP error") { None } else { find(error) }
}

/// The first error of this type, among an error and its sources.
pub(crate) fn find<'a, E: std::error::Error + 'static>(
    mut error: &'a (dyn std::error::Error + 'static),
) -> Option<&'a E> {
    loop {
        if let Some(found) = error.downcast_ref::<E>() {
            return Some(found);
        }
        error = error.source()?;
    }
}

/// The host of a request without an answer, because no connection was made or nothing came in time; `None` of other errors.
/// `text` names the request, unless the URL of `place` was requested.
fn unreached_host<'a>(source: &(dyn std::error::Error + 'static), text: &'a str, place: &'a str) -> Option<&'a str> {
    let is_unreached = |error: &HttpError| matches!(error.kind(), HttpErrorKind::Connect | HttpErrorKind::Timeout);
    let chain = std::iter::successors(Some(source), |error| error.source());
    chain.filter_map(|error| error.downcast_ref::<HttpError>()).find(|error| is_unreached(error))?;
    let is_requested = ["http://", "https://"].iter().any(|scheme| place.starts_with(scheme));
    let (_, url) = text.split_once("://").or_else(|| place.split_once("://").filter(|_| is_requested))?;
    let authority = url.split(['/', '?', '#', ' ', ')']).next()?;
    let host = authority.rsplit('@').next()?;
    (!host.is_empty()).then_some(host)
}

/// The message of the error below all others.
pub(crate) fn root_cause(source: &(dyn std::error::Error + 'static)) -> String {
    let chain = std::iter::successors(Some(source), |error| error.source());
    chain.last().map(ToString::to_string).unwrap_or_default()
}

/// The messages of an error and of everything below it, which `object_store` shows in part only.
fn chain_text(error: &(dyn std::error::Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        let message = cause.to_string();
        if !text.contains(&message) {
            text.push_str(": ");
            text.push_str(&message);
        }
        next = cause.source();
    }
    text
}

/// The text of the first `<name>` element of an S3 error body.
fn element<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let (_, rest) = text.split_once(&format!("<{name}>"))?;
    rest.split_once(&format!("</{name}>")).map(|(inside, _)| inside)
}

/// `object_store` keeps the status of an answer only in its message.
fn status_code(text: &str) -> Option<u16> {
    let (_, rest) = text.split_once("status code: ")?;
    rest.get(..3)?.parse().ok()
}

/// The cause of an error, without the request (its URL is the error's place) and its retries.
fn cause(text: &str) -> &str {
    match text.split_once(" - ") {
        Some((request, cause)) if request.contains("Error performing") => cause,
        _ => text,
    }
}

/// A text of a server in one line, cut at a length.
pub(crate) fn one_line(text: &str) -> String {
    const LONGEST: usize = 300;
    let mut line: String = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if line.chars().count() > LONGEST {
        line = line.chars().take(LONGEST).chain(['…']).collect();
    }
    line
}

#[cfg(test)]
mod tests;
