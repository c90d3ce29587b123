#![allow(clippy::unwrap_used)]

use http::{HeaderMap, HeaderName, HeaderValue};

use super::FileAnswer;
use crate::{ErrorKind, Result};

fn read(status: u16, headers: &[(&str, &str)]) -> Result<FileAnswer> {
    let pair = |(name, value): &(&str, &str)| {
        (HeaderName::from_bytes(name.as_bytes()).unwrap(), HeaderValue::from_str(value).unwrap())
    };
    FileAnswer::read(status, &headers.iter().map(pair).collect::<HeaderMap>())
}

#[test]
fn ranges_lengths_and_tags_are_read() {
    let part =
        read(206, &[("content-range", "bytes 10-19/100"), ("content-length", "10"), ("etag", "W/\"x\"")]).unwrap();
    assert_eq!((part.range, part.size_bytes), (Some(10..20), Some(100)));
    let whole = read(200, &[("content-length", "100"), ("last-modified", "Wed, 21 Oct 2015 07:28:00 GMT")]).unwrap();
    assert_eq!((whole.e_tag(), whole.size_bytes), (Some("1445412480-100"), Some(100)));
    assert_eq!(read(200, &[]).unwrap().size_bytes, None);
}

#[test]
fn answers_that_contradict_themselves_are_errors() {
    for (kind, headers) in [
        (ErrorKind::Corrupt, &[("content-length", "10")][..]),
        (ErrorKind::Corrupt, &[("content-range", "bytes 10-19/100"), ("content-length", "11")]),
        (ErrorKind::Corrupt, &[("content-range", "bytes 19-10/100")]),
        (ErrorKind::Corrupt, &[("content-range", "bytes 10-100/100")]),
        (ErrorKind::Corrupt, &[("content-range", "bytes 0-18446744073709551615/*")]),
        (ErrorKind::Corrupt, &[("content-range", "rows 10-19/100")]),
        (ErrorKind::Unsupported, &[("content-range", "bytes 10-19/100"), ("content-encoding", "gzip")]),
    ] {
        assert_eq!(read(206, headers).unwrap_err().kind(), kind, "{headers:?}");
    }
}
