#![allow(clippy::unwrap_used)]

use super::*;

fn answer(status: &str, body: &str) -> StoreError {
    let text = format!("Error performing GET x in 1ms - Server returned non-2xx status code: {status}: {body}");
    StoreError::Generic { store: "S3", source: text.into() }
}

#[test]
fn kinds_follow_the_answer() {
    let cases = [
        (answer("500 Internal Server Error", ""), ErrorKind::Unavailable),
        (answer("503 Slow Down", "<Code>SlowDown</Code>"), ErrorKind::Unavailable),
        (answer("400 Bad Request", "<Code>InvalidArgument</Code>"), ErrorKind::Invalid),
        (answer("403 Forbidden", "<Code>SignatureDoesNotMatch</Code>"), ErrorKind::Invalid),
        (answer("404 Not Found", "<Code>NoSuchBucket</Code>"), ErrorKind::NotFound),
        (answer("412 Precondition Failed", ""), ErrorKind::Conflict),
        (answer("416 Range Not Satisfiable", ""), ErrorKind::Corrupt),
    ];
    for (error, kind) in cases {
        let text = error.to_string();
        assert_eq!(store_error(error, "s3://b/k").kind(), kind, "{text}");
    }
}

#[test]
fn a_missing_bucket_is_told_from_a_missing_key() {
    let missing = |code: &str| {
        let source = format!("status code: 404 Not Found: <Error><Code>{code}</Code></Error>").into();
        store_error(StoreError::NotFound { path: "k".into(), source }, "s3://b/k").to_string()
    };
    assert!(missing("NoSuchBucket").contains("bucket does not exist"));
    let advice = "check its name, which is case-sensitive, and the name of the bucket";
    assert_eq!(missing("NoSuchKey"), format!("s3://b/k: does not exist ({advice})"));
    let local = StoreError::NotFound { path: "k".into(), source: "No such file".into() };
    assert_eq!(store_error(local, "/x/k").to_string(), "/x/k: does not exist");
}

#[test]
fn keys_in_an_answer_are_not_shown() {
    let body = "<Error><Code>InvalidAccessKeyId</Code><AWSAccessKeyId>AKIASECRET</AWSAccessKeyId></Error>";
    let source = format!("status code: 403 Forbidden: {body}").into();
    let error = store_error(StoreError::PermissionDenied { path: "k".into(), source }, "s3://b/k");
    assert_eq!(error.kind(), ErrorKind::Invalid);
    assert!(!error.to_string().contains("AKIASECRET"), "{error}");
    assert!(error.to_string().contains("AWS_ACCESS_KEY_ID"), "{error}");
}

#[test]
fn a_full_disk_is_unavailable_with_advice() {
    let source = Box::new(std::io::Error::from(std::io::ErrorKind::StorageFull));
    let error = store_error(StoreError::Generic { store: "Local", source }, "/x");
    assert_eq!(error.kind(), ErrorKind::Unavailable);
    assert!(error.to_string().contains("free some space"), "{error}");
}

#[test]
fn transient_is_what_a_second_request_may_mend() {
    assert!(is_transient(&answer("500 Internal Server Error", "")));
    assert!(is_transient(&StoreError::Generic { store: "S3", source: "HTTP error: connection reset".into() }));
    assert!(!is_transient(&answer("400 Bad Request", "")));
    assert!(is_range_not_satisfiable(&answer("416 Range Not Satisfiable", "")));
}

#[test]
fn what_the_system_denies_has_advice() {
    let error = Error::from(std::io::Error::from(std::io::ErrorKind::PermissionDenied));
    assert_eq!(error.kind(), ErrorKind::Invalid);
    assert!(error.advice_text().is_some_and(|advice| advice.contains("permissions")), "{error}");
    // Trying again does not help here, either.
    let error = Error::from(std::io::Error::from_raw_os_error(libc::EROFS));
    assert_eq!(error.kind(), ErrorKind::Invalid);
    assert!(error.advice_text().is_some_and(|advice| advice.contains("mount it writable")), "{error}");
}
