#![allow(clippy::unwrap_used)]

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::time::Instant;

use super::*;

/// The counts, once they tell of so many bytes: what has passed is counted behind it.
fn counts_of(proxy: &Proxy, bytes_to_client: u64) -> ProxyCounts {
    let begun = Instant::now();
    loop {
        let counts = proxy.counts();
        if counts.bytes_to_client >= bytes_to_client || begun.elapsed() > Duration::from_secs(10) {
            return counts;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// A server that answers each request's target and body length, keeps connections, and knows a few odd targets.
fn server() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let stream = stream.unwrap();
            std::thread::spawn(move || while serve_one(&stream).is_some() {});
        }
    });
    address
}

fn serve_one(mut stream: &TcpStream) -> Option<()> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        stream.read_exact(&mut byte).ok()?;
        head.push(byte[0]);
    }
    let text = String::from_utf8(head).unwrap();
    let lower = text.to_ascii_lowercase();
    let target = text.split(' ').nth(1).unwrap().to_owned();
    if lower.contains("expect: 100-continue") {
        if target.contains("unwanted") {
            stream.write_all(b"HTTP/1.1 403 Forbidden\r\nContent-Length: 2\r\n\r\nno").ok()?;
            return None;
        }
        stream.write_all(b"HTTP/1.1 100 Continue\r\n\r\n").ok()?;
    }
    let body = match lower.split("content-length: ").nth(1) {
        Some(rest) => {
            let mut body = vec![0; rest.split("\r\n").next().unwrap().parse().unwrap()];
            stream.read_exact(&mut body).ok()?;
            if target.contains("echo") {
                stream
                    .write_all(format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", body.len()).as_bytes())
                    .ok()?;
                return stream.write_all(&body).ok();
            }
            body.len()
        }
        None if lower.contains("transfer-encoding: chunked") => {
            let mut body = Vec::new();
            while !body.ends_with(b"0\r\n\r\n") {
                let mut byte = [0];
                stream.read_exact(&mut byte).ok()?;
                body.push(byte[0]);
            }
            body.len()
        }
        None => 0,
    };
    let host = lower.split("host: ").nth(1).unwrap().split("\r\n").next().unwrap().to_owned();
    let answer = format!("{target} {body} {host}");
    let response = if target.contains("large") {
        format!("HTTP/1.1 200 OK\r\nContent-Length: 3000000\r\n\r\n{}", "x".repeat(3_000_000))
    } else if target.contains("chunked") {
        format!("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n{:x}\r\n{answer}\r\n0\r\n\r\n", answer.len())
    } else if target.contains("empty") {
        "HTTP/1.1 204 No Content\r\n\r\n".to_owned()
    } else if text.starts_with("HEAD") {
        "HTTP/1.1 200 OK\r\nContent-Length: 12345\r\n\r\n".to_owned()
    } else {
        format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{answer}", answer.len())
    };
    stream.write_all(response.as_bytes()).ok()
}

fn proxy_with(change: impl FnOnce(&mut ProxyOptions)) -> Proxy {
    let mut options = ProxyOptions::to(server());
    change(&mut options);
    Proxy::start(options).unwrap()
}

/// Sends requests over one connection and gives all that comes back. Each request must be answered before the last
/// one closes the connection.
fn talk(proxy: &Proxy, requests: &[&str]) -> String {
    let mut stream = TcpStream::connect(proxy.addr()).unwrap();
    for request in requests {
        stream.write_all(request.as_bytes()).unwrap();
    }
    stream.shutdown(std::net::Shutdown::Write).unwrap();
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    String::from_utf8(answer).unwrap()
}

const GET: &str = "GET /b/k HTTP/1.1\r\nHost: bucket.example:1\r\n\r\n";

#[test]
fn requests_pass_untouched_and_are_counted() {
    let proxy = proxy_with(|_| {});
    let answer = talk(
        &proxy,
        &[
            GET,
            "GET /b?list-type=2 HTTP/1.1\r\nHost: h\r\n\r\n",
            "PUT /b/k HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nhello",
            "PUT /b/chunked HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
            "HEAD /b/k HTTP/1.1\r\nHost: h\r\n\r\n",
            "DELETE /b/empty HTTP/1.1\r\nHost: h\r\n\r\n",
            "POST /b/k?uploads HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n\r\n",
        ],
    );
    for expected in [
        "/b/k 0 bucket.example:1",
        "/b?list-type=2 0 h",
        "/b/k 5 h",
        "/b/chunked 13 h",
        "204",
        "12345",
        "/b/k?uploads 0 h",
    ] {
        assert!(answer.contains(expected), "{expected} in {answer}");
    }
    let passed = "/b/k 0 bucket.example:1/b?list-type=2 0 h/b/k 5 h/b/chunked 13 h/b/k?uploads 0 h".len() as u64;
    let counts = counts_of(&proxy, passed);
    assert_eq!((counts.get, counts.list, counts.put), (1, 1, 2));
    assert_eq!((counts.head, counts.delete, counts.post), (1, 1, 1));
    assert_eq!((counts.requests, counts.connections), (7, 1));
    assert_eq!(counts.bytes_from_client, 8);
    assert_eq!(counts.bytes_to_client, passed);
    proxy.reset();
    assert_eq!(proxy.counts(), ProxyCounts::default());
}

#[test]
fn a_body_waits_for_leave() {
    let proxy = proxy_with(|_| {});
    let expect = "PUT /b/k HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n";
    let mut stream = TcpStream::connect(proxy.addr()).unwrap();
    stream.write_all(expect.as_bytes()).unwrap();
    let mut interim = [0; 25];
    stream.read_exact(&mut interim).unwrap();
    assert_eq!(&interim, b"HTTP/1.1 100 Continue\r\n\r\n");
    stream.write_all(b"hello").unwrap();
    stream.shutdown(std::net::Shutdown::Write).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.ends_with("/b/k 5 h"), "{answer}");
    let refused = talk(&proxy, &[&expect.replace("/b/k", "/b/unwanted")]);
    assert!(refused.starts_with("HTTP/1.1 403") && refused.ends_with("no"), "{refused}");
}

#[test]
fn python_reads_and_resets_the_counts() {
    let proxy = proxy_with(|_| {});
    talk(&proxy, &[GET, GET]);
    let counts = talk(&proxy, &["GET /__lakerace/counts HTTP/1.1\r\nHost: h\r\n\r\n"]);
    let (_, body) = counts.split_once("\r\n\r\n").unwrap();
    let read: ProxyCounts = serde_json::from_str(body).unwrap();
    assert_eq!((read, read.get, read.connections), (proxy.counts(), 2, 1));
    talk(&proxy, &["POST /__lakerace/reset HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n\r\n"]);
    assert_eq!(proxy.counts().requests, 0);
    assert!(talk(&proxy, &["GET /__lakerace/x HTTP/1.1\r\nHost: h\r\n\r\n"]).starts_with("HTTP/1.1 404"));
}

#[test]
fn faults_come_when_they_are_due() {
    let proxy = proxy_with(|o| o.faults.error_every = Some(2));
    assert!(talk(&proxy, &[GET]).starts_with("HTTP/1.1 200"));
    assert!(talk(&proxy, &[GET]).starts_with("HTTP/1.1 500"));
    let proxy = proxy_with(|o| o.faults.reset_every = Some(1));
    let broken = talk(&proxy, &["GET /large HTTP/1.1\r\nHost: h\r\n\r\n"]);
    assert!(broken.len() < 2_000_000, "{}", broken.len());
    assert_eq!(counts_of(&proxy, 1_500_000).bytes_to_client, 1_500_000);
    let proxy = proxy_with(|o| o.faults.stall_every = Some(1));
    let mut stream = TcpStream::connect(proxy.addr()).unwrap();
    stream.write_all(GET.as_bytes()).unwrap();
    stream.set_read_timeout(Some(Duration::from_millis(300))).unwrap();
    let mut answer = Vec::new();
    assert!(stream.read_to_end(&mut answer).is_err());
    assert!(answer.starts_with(b"HTTP/1.1 200"));
}

#[test]
fn large_bodies_pass_whole_and_paced() {
    for rate in [None, Some(30e6)] {
        let proxy = proxy_with(|o| {
            o.bytes_per_second = rate;
            o.latency = Duration::from_millis(2);
        });
        let answer = talk(&proxy, &["GET /large HTTP/1.1\r\nHost: h\r\n\r\n", GET]);
        assert_eq!(answer.matches('x').count(), 3_000_000 + "example".matches('x').count());
        let passed = 3_000_000 + "/b/k 0 bucket.example:1".len() as u64;
        assert_eq!(counts_of(&proxy, passed).bytes_to_client, passed);
    }
}

#[test]
fn large_bodies_come_in_order_both_ways_and_end_where_they_should() {
    let proxy = proxy_with(|_| {});
    let body: String = (0..700_000).map(|i| format!("{i},")).collect();
    let put = format!("PUT /echo HTTP/1.1\r\nHost: h\r\nContent-Length: {}\r\n\r\n{body}", body.len());
    let answer = talk(&proxy, &[&put, &put, GET]);
    let mut parts = answer.split("\r\n\r\n").skip(1);
    for last in ["HTTP/1.1 200 OK", "HTTP/1.1 200 OK"] {
        let part = parts.next().unwrap();
        assert!(part.starts_with(&body) && part[body.len()..].starts_with(last), "{} bytes", part.len());
    }
    assert_eq!(parts.next(), Some("/b/k 0 bucket.example:1"));
    assert_eq!(proxy.counts().bytes_from_client, 2 * body.len() as u64);
}

#[test]
fn a_client_that_leaves_a_body_harms_no_other() {
    let proxy = proxy_with(|_| {});
    let mut leaving = TcpStream::connect(proxy.addr()).unwrap();
    leaving.write_all(b"GET /large HTTP/1.1\r\nHost: h\r\n\r\n").unwrap();
    leaving.read_exact(&mut [0; 1000]).unwrap();
    drop(leaving);
    assert!(talk(&proxy, &[GET]).ends_with("/b/k 0 bucket.example:1"));
}

#[test]
fn a_server_that_is_away_is_a_bad_gateway() {
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
    let proxy = Proxy::start(ProxyOptions::to(closed)).unwrap();
    assert!(talk(&proxy, &[GET]).starts_with("HTTP/1.1 502"));
}
