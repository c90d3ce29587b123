#![allow(clippy::unwrap_used)]

use std::io::{Read, Write};
use std::net::TcpListener;
use std::sync::Arc;
use std::time::Duration;

use super::ask;
use crate::profile::Observations;
use crate::store::kind::StoreClient;
use crate::store::s3::S3;

/// Answers one request.
fn region_of(answer: &'static str) -> Option<String> {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/bucket", listener.local_addr().unwrap());
    let server = std::thread::spawn(move || {
        let mut connection = listener.accept().unwrap().0;
        let mut head = [0; 4096];
        let length = connection.read(&mut head).unwrap();
        connection
            .write_all(format!("HTTP/1.1 {answer}Content-Length: 0\r\nConnection: close\r\n\r\n").as_bytes())
            .unwrap();
        String::from_utf8_lossy(&head[..length]).into_owned()
    });
    let observed = Arc::new(Observations::new(Observations::s3()));
    let mut client = StoreClient::new(&S3, Duration::ZERO, &observed);
    client.options = client.options.with_allow_http(true);
    let found = ask(&url, &client, &client.options).unwrap().map(|region| region.name);
    let head = server.join().unwrap();
    assert!(head.starts_with("HEAD /bucket ") && !head.to_lowercase().contains("authorization"), "{head}");
    found
}

#[test]
fn a_bucket_tells_its_region_to_anyone() {
    for status in ["200 OK", "403 Forbidden", "301 Moved"] {
        let answer: &'static str = format!("{status}\r\nx-amz-bucket-region: eu-central-1\r\n").leak();
        assert_eq!(region_of(answer).as_deref(), Some("eu-central-1"), "{status}");
    }
    assert_eq!(region_of("404 Not Found\r\n"), None);
    // It is shown on a terminal, and becomes part of a host's name.
    assert_eq!(region_of("200 OK\r\nx-amz-bucket-region: evil.host/\r\n"), None);
}
