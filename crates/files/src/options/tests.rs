#![allow(clippy::unwrap_used, reason = "a test may panic")]

use lakerace_io::ErrorKind;

use super::*;

#[test]
fn compressions_are_read_as_they_are_shown() {
    for text in
        ["none", "zstd", "zstd:9", "zstd-dict", "zstd-dict:19", "lz4", "snappy", "gzip:1", "bz2", "xz", "brotli:11"]
    {
        assert_eq!(text.parse::<Compression>().map(|c| c.to_string()).unwrap(), text);
    }
    assert_eq!("zstd:3".parse::<Compression>().unwrap().to_string(), "zstd");
}

#[test]
fn others_are_refused() {
    for text in ["", "zip", "lz4:1", "zstd:23", "gzip:x", "lz4-dict", "ZSTD"] {
        assert_eq!(text.parse::<Compression>().map_err(|e| e.kind()), Err(ErrorKind::Usage), "{text}");
    }
    assert_eq!("fast".parse::<Durability>().map_err(|e| e.kind()), Err(ErrorKind::Usage));
    assert_eq!("full".parse::<Durability>().unwrap(), Durability::Full);
}
