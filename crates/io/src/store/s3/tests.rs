#![allow(clippy::unwrap_used)]

use std::io::{Read, Write};
use std::net::TcpListener;
use std::sync::Arc;

use object_store::ObjectStoreExt;
use object_store::path::Path;

use crate::{Error, Job, Location};

/// Answers one PUT, and gives what its header says of the body's hash.
fn hash_of_one_put(more: &[(&str, &str)]) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let endpoint = format!("http://{}", listener.local_addr().unwrap());
    let server = std::thread::spawn(move || {
        let mut connection = listener.accept().unwrap().0;
        let (mut seen, mut chunk) = (Vec::new(), [0; 4096]);
        while !seen.ends_with(b"the body") {
            let length = connection.read(&mut chunk).unwrap();
            assert!(length > 0, "the request ended early");
            seen.extend_from_slice(&chunk[..length]);
        }
        connection.write_all(b"HTTP/1.1 200 OK\r\nETag: \"1\"\r\nContent-Length: 0\r\n\r\n").unwrap();
        let text = String::from_utf8(seen).unwrap();
        text.lines().find_map(|line| line.strip_prefix("x-amz-content-sha256: ")).unwrap().to_owned()
    });
    let settings = [
        ("aws_endpoint_url", endpoint.as_str()),
        ("aws_allow_http", "true"),
        ("aws_access_key_id", "me"),
        ("aws_secret_access_key", "mine"),
    ];
    let settings = settings.iter().chain(more).map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    let options = settings.collect();
    let (store, _) = Location::parse("s3://bucket/name").unwrap().open(&options, &Job::default()).unwrap();
    let (put, path) = (Arc::clone(&store.store), Path::from("name"));
    store.wait(async move { put.put(&path, "the body".into()).await.map_err(Error::unexpected) }).unwrap();
    server.join().unwrap()
}

#[test]
fn bodies_are_hashed_where_settings_say_so() {
    assert_eq!(hash_of_one_put(&[]), "UNSIGNED-PAYLOAD");
    let hashed = hash_of_one_put(&[("aws_unsigned_payload", "false")]);
    // printf 'the body' | sha256sum
    assert_eq!(hashed, "fa8242e99f48966ca514092b4233b446851f42b57ad5031bf133e1dd76787f3e");
}

#[test]
fn a_setting_that_cannot_be_used_is_named_without_its_value() {
    for name in ["timeout", "connect_timeout", "aws_conditional_put", "aws_checksum_algorithm", "aws_unsigned_payload"]
    {
        let options =
            [("aws_endpoint_url", "http://127.0.0.1:9"), ("aws_allow_http", "true"), ("aws_access_key_id", "me")];
        let options = options.into_iter().chain([("aws_secret_access_key", "mine"), (name, "hunter2")]);
        let options = options.map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
        let error = Location::parse("s3://bucket/name").unwrap().open(&options, &Job::default()).err().unwrap();
        assert_eq!(error.kind(), crate::ErrorKind::Usage, "{name}: {error}");
        assert!(error.to_string().contains(name), "{name}: {error}");
        assert!(!error.to_string().contains("hunter2"), "{name}: {error}");
    }
}

#[test]
fn a_token_file_that_no_header_can_hold_is_named_without_its_token() {
    let folder = tempfile::tempdir().unwrap();
    for (number, (token, is_right)) in
        [("hunter2", true), ("hunter2\n", false), ("hunter2\r", false)].into_iter().enumerate()
    {
        // Stores with equal settings are shared.
        let file = folder.path().join(format!("token {number}"));
        std::fs::write(&file, token).unwrap();
        let options = [
            ("aws_endpoint_url", "http://127.0.0.1:9"),
            ("aws_allow_http", "true"),
            ("aws_container_credentials_full_uri", "http://127.0.0.1:9/credentials"),
            ("aws_container_authorization_token_file", file.to_str().unwrap()),
        ];
        let options = options.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
        let opened = Location::parse("s3://bucket/name").unwrap().open(&options, &Job::default());
        let error = opened.err().map(|error| error.to_string());
        assert_eq!(error.is_none(), is_right, "{error:?}");
        let is_named = |error: String| error.contains(file.to_str().unwrap()) && !error.contains("hunter2");
        assert!(error.is_none_or(is_named));
    }
}
