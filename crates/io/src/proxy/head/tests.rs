#![allow(clippy::unwrap_used)]

use super::*;

#[test]
fn requests_say_where_their_body_ends() {
    let head = b"PUT /b/k HTTP/1.1\r\nHost: x\r\nContent-Length: 12\r\nExpect: 100-continue\r\n\r\nbody";
    let parsed = parse_request(head).unwrap().unwrap();
    assert_eq!((parsed.len, parsed.body, parsed.expects_continue), (head.len() - 4, BodyLength::Bytes(12), true));
    assert!(parsed.keep_alive);
    assert_eq!(parse_request(&head[..30]).unwrap(), None);
    assert!(parse_request(b"\x16\x03\x01 TLS hello\r\n\r\n").is_err());
    let chunked = b"PUT / HTTP/1.1\r\nTransfer-Encoding: chunked\r\nContent-Length: 3\r\nConnection: close\r\n\r\n";
    let parsed = parse_request(chunked).unwrap().unwrap();
    assert_eq!((parsed.body, parsed.keep_alive), (BodyLength::Chunked, false));
    assert_eq!(parse_request(b"GET / HTTP/1.0\r\n\r\n").unwrap().unwrap().body, BodyLength::Bytes(0));
}

#[test]
fn some_responses_have_no_body_whatever_they_say() {
    let body = |head: &[u8], method: &str| parse_response(head, method).unwrap().unwrap().body;
    assert_eq!(body(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", "GET"), BodyLength::Bytes(5));
    assert_eq!(body(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", "HEAD"), BodyLength::Bytes(0));
    assert_eq!(body(b"HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n", "GET"), BodyLength::Bytes(0));
    assert_eq!(body(b"HTTP/1.1 204 No Content\r\n\r\n", "DELETE"), BodyLength::Bytes(0));
    assert_eq!(body(b"HTTP/1.1 200 OK\r\n\r\n", "GET"), BodyLength::UntilClose);
}

#[test]
fn chunked_bodies_end_where_they_say_at_any_split() {
    let body = b"5;name=x\r\nhello\r\nA\r\n0123456789\r\n0\r\nTrailer: y\r\n\r\n";
    let mut wire = body.to_vec();
    wire.extend_from_slice(b"GET / HTTP/1.1");
    for step in 1..wire.len() {
        let mut chunks = ChunkedBody::default();
        let mut taken = 0;
        for part in wire.chunks(step) {
            taken += chunks.advance(part).unwrap();
        }
        assert!(chunks.is_done());
        assert_eq!((taken, chunks.data_bytes), (body.len(), 15), "step {step}");
    }
    assert!(ChunkedBody::default().advance(b"zz\r\n").is_err());
    assert!(ChunkedBody::default().advance(b"fffffffffffffffffff\r\n").is_err());
}
