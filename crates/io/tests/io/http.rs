//! Files of HTTP servers: with ranges, without, with wrong answers, and behind redirects.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use lakerace_io::{ErrorKind, IfExists, Job, Location, Object, Output, StorageOptions};

/// A request as a server sees it.
#[derive(Debug, Clone)]
struct Request {
    method: String,
    target: String,
    headers: Vec<(String, String)>,
}

impl Request {
    fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }
}

/// An answer: its status, its headers, and its body, of which a length is announced.
struct Answer {
    status: u16,
    headers: Vec<(&'static str, String)>,
    body: Vec<u8>,
    /// `None`: the body ends with the connection.
    announced_bytes: Option<usize>,
}

impl Answer {
    fn new(status: u16, headers: Vec<(&'static str, String)>, body: &[u8]) -> Self {
        Self { status, headers, body: body.to_vec(), announced_bytes: Some(body.len()) }
    }
}

/// How a server differs from a good one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Manner {
    Good,
    /// It takes no ranges.
    Whole,
    /// The same, and it does not tell the size.
    WholeOfUnknownSize,
    /// The same, and its first answer breaks off.
    WholeBrokenOnce,
    /// It takes no ranges from the end.
    NoSuffix,
    /// It takes no HEAD.
    NoHead,
    /// It answers with other bytes than were asked for.
    OtherRange,
    /// It says another length than the range has.
    OtherLength,
    /// It packs what it sends.
    Packed,
    /// It sends fewer bytes than it announces, each time.
    Short,
    /// It fails twice, then it is good.
    FailsTwice,
}

struct Server {
    address: SocketAddr,
    requests: Arc<Mutex<Vec<Request>>>,
}

impl Server {
    fn start(answer: impl Fn(&Request, usize) -> Answer + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let (requests, answer) = (Arc::new(Mutex::new(Vec::new())), Arc::new(answer));
        let seen = Arc::clone(&requests);
        std::thread::spawn(move || {
            for connection in listener.incoming() {
                let (seen, answer) = (Arc::clone(&seen), Arc::clone(&answer));
                std::thread::spawn(move || serve(connection.unwrap(), &seen, answer.as_ref()));
            }
        });
        Self { address, requests }
    }

    fn file(manner: Manner, bytes: Vec<u8>) -> Self {
        Self::start(move |request, number| answer(manner, request, number, &bytes))
    }

    fn object(&self, name: &str, options: &[(&str, &str)], job: &Job) -> Object {
        let options = options.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        let text = format!("http://{}/{name}", self.address);
        Location::parse(&text).unwrap().object(&StorageOptions::from_iter(options), job).unwrap()
    }

    fn seen(&self) -> Vec<Request> {
        self.requests.lock().unwrap().clone()
    }
}

fn serve(connection: TcpStream, seen: &Mutex<Vec<Request>>, answer: &dyn Fn(&Request, usize) -> Answer) {
    let mut reader = BufReader::new(connection);
    let mut lines = Vec::new();
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).unwrap_or(0) == 0 {
            return;
        }
        match line.trim_end() {
            "" => break,
            line => lines.push(line.to_owned()),
        }
    }
    let mut first = lines[0].split(' ').map(str::to_owned);
    let (method, target) = (first.next().unwrap(), first.next().unwrap());
    let header = |line: &String| line.split_once(": ").map(|(name, value)| (name.to_lowercase(), value.to_owned()));
    let request = Request { method, target, headers: lines[1..].iter().filter_map(header).collect() };
    let number = {
        let mut seen = seen.lock().unwrap();
        seen.push(request.clone());
        seen.len()
    };
    let Answer { status, headers, body, announced_bytes } = answer(&request, number);
    let mut head = format!("HTTP/1.1 {status} X\r\nConnection: close\r\n");
    headers.iter().for_each(|(name, value)| head += &format!("{name}: {value}\r\n"));
    if let Some(bytes) = announced_bytes {
        head += &format!("Content-Length: {bytes}\r\n");
    }
    let connection = reader.get_mut();
    let _ = connection.write_all(format!("{head}\r\n").as_bytes());
    if request.method != "HEAD" {
        let _ = connection.write_all(&body);
    }
    let _ = connection.shutdown(std::net::Shutdown::Write);
    let _ = connection.read(&mut [0]);
}

fn answer(manner: Manner, request: &Request, number: usize, bytes: &[u8]) -> Answer {
    let tag = ("ETag", "\"1\"".to_owned());
    let size = bytes.len();
    if manner == Manner::FailsTwice && number <= 2 {
        return Answer::new(503, vec![], b"");
    }
    if request.method == "HEAD" {
        return match manner {
            Manner::NoHead => Answer::new(405, vec![], b""),
            _ => Answer::new(200, vec![tag], bytes),
        };
    }
    let whole = |headers| Answer::new(200, headers, bytes);
    match manner {
        Manner::Whole => return whole(vec![tag]),
        Manner::WholeOfUnknownSize => return Answer { announced_bytes: None, ..whole(vec![tag]) },
        Manner::WholeBrokenOnce if number == 1 => {
            return Answer { body: bytes[..size / 2].to_vec(), ..whole(vec![tag]) };
        }
        Manner::WholeBrokenOnce => return whole(vec![tag]),
        _ => {}
    }
    let Some(range) = request.header("range").and_then(|range| range.strip_prefix("bytes=")) else {
        return whole(vec![tag]);
    };
    let (first, last) = range.split_once('-').unwrap();
    let range = match (first.parse::<usize>(), last.parse::<usize>()) {
        (Ok(first), Ok(last)) => first..(last + 1).min(size),
        (Ok(first), Err(_)) => first..size,
        _ if manner == Manner::NoSuffix => return whole(vec![tag, ("Accept-Ranges", "bytes".to_owned())]),
        (Err(_), last) => size.saturating_sub(last.unwrap())..size,
    };
    if range.start >= size {
        return Answer::new(416, vec![("Content-Range", format!("bytes */{size}"))], b"");
    }
    let shift = usize::from(manner == Manner::OtherRange && range.start > 0);
    let place = format!("bytes {}-{}/{size}", range.start - shift, range.end - 1 - shift);
    let mut part = Answer::new(206, vec![tag, ("Content-Range", place)], &bytes[range]);
    match manner {
        Manner::OtherLength => {
            part.body.pop();
            part.announced_bytes = Some(part.body.len());
        }
        Manner::Packed => part.headers.push(("Content-Encoding", "gzip".to_owned())),
        Manner::Short => part.body.clear(),
        _ => {}
    }
    part
}

fn pattern(len: usize) -> Vec<u8> {
    (0..len as u64).map(|i| (i.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 40) as u8).collect()
}

#[test]
fn files_are_read_by_ranges() {
    let bytes = pattern(3_000_000);
    for (manner, requests) in [(Manner::Good, 4), (Manner::NoSuffix, 5), (Manner::NoHead, 5), (Manner::FailsTwice, 6)] {
        let server = Server::file(manner, bytes.clone());
        let job = Job::default();
        let object = server.object("x", &[], &job);
        let tail = object.read_tail(1000).unwrap();
        assert_eq!((tail.size_bytes, tail.e_tag.as_deref()), (3_000_000, Some("\"1\"")), "{manner:?}");
        assert!(tail.bytes == bytes[2_999_000..], "{manner:?}");
        let object = Object { e_tag: tail.e_tag, ..object };
        assert!(object.read_range(1_000_000..2_000_000).unwrap() == bytes[1_000_000..2_000_000], "{manner:?}");
        assert_eq!(object.read_range(2_999_999..3_000_001).unwrap_err().kind(), ErrorKind::Corrupt, "{manner:?}");
        let info = object.store.stat(&object.path).unwrap().unwrap();
        assert_eq!(info.size_bytes, 3_000_000, "{manner:?}");
        assert_eq!(server.seen().len(), requests, "{manner:?}");
        let counted = job.meter().counts();
        assert_eq!(counted.requests.get + counted.requests.head, requests as u64, "{manner:?}");
        let another = Object { e_tag: Some("\"2\"".to_owned()), ..object };
        assert_eq!(another.read_range(0..10).unwrap_err().kind(), ErrorKind::Conflict, "{manner:?}");
    }
}

#[test]
fn a_server_without_ranges_is_read_once() {
    let bytes = pattern(3_000_000);
    for (manner, requests) in [(Manner::Whole, 1), (Manner::WholeOfUnknownSize, 1), (Manner::WholeBrokenOnce, 2)] {
        let server = Server::file(manner, bytes.clone());
        let object = server.object("x", &[], &Job::default());
        let readers: Vec<_> = (0..4u64)
            .map(|i| {
                let object = object.clone();
                std::thread::spawn(move || (i, object.read_range(i * 700_000..i * 700_000 + 900_000).unwrap()))
            })
            .collect();
        for reader in readers {
            let (i, read) = reader.join().unwrap();
            assert!(read == bytes[i as usize * 700_000..][..900_000], "{manner:?}");
        }
        let tail = object.read_tail(1 << 40).unwrap();
        assert!(tail.bytes == bytes && tail.size_bytes == 3_000_000, "{manner:?}");
        assert_eq!(object.read_range(3_000_000..3_000_001).unwrap_err().kind(), ErrorKind::Corrupt);
        assert_eq!(server.seen().len(), requests, "{manner:?}");
    }
    let empty = Server::file(Manner::Whole, Vec::new()).object("x", &[], &Job::default());
    assert_eq!(empty.read_tail(10).unwrap().size_bytes, 0);
}

#[test]
fn wrong_answers_are_errors() {
    for (manner, kind) in [
        (Manner::OtherRange, ErrorKind::Corrupt),
        (Manner::OtherLength, ErrorKind::Corrupt),
        (Manner::Packed, ErrorKind::Unsupported),
        (Manner::Short, ErrorKind::Unavailable),
    ] {
        let server = Server::file(manner, pattern(10_000));
        let error = server.object("x", &[], &Job::default()).read_range(100..200).unwrap_err();
        assert_eq!(error.kind(), kind, "{manner:?}: {error}");
        assert!(error.to_string().contains(&format!("http://{}/x", server.address)), "{error}");
    }
    for (status, kind) in [
        (400, ErrorKind::Invalid),
        (401, ErrorKind::Invalid),
        (403, ErrorKind::Invalid),
        (404, ErrorKind::NotFound),
        (410, ErrorKind::NotFound),
        (500, ErrorKind::Unavailable),
        (503, ErrorKind::Unavailable),
    ] {
        let server = Server::start(move |_, _| Answer::new(status, vec![], b"no"));
        let object = server.object("x", &[("retry_time", "0s")], &Job::default());
        let error = object.read_range(0..10).unwrap_err();
        assert_eq!(error.kind(), kind, "{status}: {error}");
        assert!(!error.to_string().contains("AWS_"), "{status}: {error}");
    }
}

#[test]
fn names_are_encoded_and_queries_are_sent_but_not_shown() {
    let server = Server::file(Manner::Good, pattern(1000));
    for name in ["a%20b", "100%25", "%2541", "k=v", "%C3%A4%E2%82%AC", "a+b&c", "x%23y", "what%3F.csv", "semi;colon"] {
        let object = server.object(&format!("{name}?X-Amz-Signature=topsecret"), &[], &Job::default());
        object.read_range(0..10).unwrap();
        let asked = server.seen().last().unwrap().target.clone();
        let (path, query) = asked.split_once('?').unwrap();
        let decoded = |text: &str| percent_encoding::percent_decode_str(text).decode_utf8().unwrap().into_owned();
        assert_eq!((decoded(path), query), (decoded(&format!("/{name}")), "X-Amz-Signature=topsecret"));
        assert!(!object.url().contains("topsecret"), "{}", object.url());
        let again = Location::parse(&object.url()).unwrap().object(&StorageOptions::default(), &Job::default());
        assert_eq!(again.unwrap().path, object.path);
    }
}

#[test]
fn redirects_are_followed_without_credentials_for_other_hosts() {
    let target = Server::file(Manner::Good, pattern(1000));
    let elsewhere = format!("http://localhost:{}/data", target.address.port());
    let server = Server::start(move |request, _| match request.target.split('?').next() {
        Some("/near") => Answer::new(307, vec![("Location", "/far".to_owned())], b""),
        _ => Answer::new(302, vec![("Location", elsewhere.clone())], b""),
    });
    for options in [&[("http_bearer_token", "topsecret")][..], &[("http_user", "me"), ("http_password", "topsecret")]] {
        let object = server.object("near?token=topsecret", options, &Job::default());
        assert!(object.read_range(10..20).unwrap() == pattern(1000)[10..20]);
        let own = server.seen();
        let own = &own[own.len() - 2..];
        assert!(own.iter().all(|request| request.header("authorization").is_some()), "{own:?}");
        let other = target.seen().pop().unwrap();
        assert_eq!((other.header("authorization"), other.header("range")), (None, Some("bytes=10-19")), "{other:?}");
        assert_eq!(other.target, "/data");
    }
    let circle = Server::start(|_, _| Answer::new(301, vec![("Location", "/x".to_owned())], b""));
    let error = circle.object("x", &[], &Job::default()).read_range(0..1).unwrap_err();
    assert_eq!((error.kind(), circle.seen().len()), (ErrorKind::Invalid, 11), "{error}");
    for to in ["", "ftp://host/x", "file:///etc/passwd"] {
        let server = Server::start(move |_, _| Answer::new(302, vec![("Location", to.to_owned())], b""));
        let error = server.object("", &[], &Job::default()).read_range(0..1).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid, "{to}: {error}");
    }
}

#[test]
fn nothing_is_written_removed_or_listed() {
    let server = Server::file(Manner::Good, pattern(10));
    let object = server.object("x", &[], &Job::default());
    let written = Output::create(&object.store, &object.path, IfExists::Replace).map(drop).unwrap_err();
    let removed = object.store.delete(&object.path).unwrap_err();
    let listed = object.store.list(&object.path).map(drop).unwrap_err();
    for error in [written, removed, listed] {
        assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
    }
    assert_eq!(server.seen().len(), 0);
}

#[test]
fn options_are_those_of_http() {
    let location = Location::parse("http://127.0.0.1:1/x").unwrap();
    for (options, says) in [
        (&[("http_bearer_token", "a"), ("http_user", "b")][..], "both"),
        (&[("http_password", "topsecret")], "without http_user"),
        (&[("connect_timeout", "topsecret")], "connect_timeout"),
        (&[("http_bearer_tokn", "topsecret")], "did you mean http_bearer_token?"),
    ] {
        let options = options.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        let error = location.open(&StorageOptions::from_iter(options), &Job::default()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Usage, "{error}");
        assert!(error.to_string().contains(says) && !error.to_string().contains("topsecret"), "{error}");
    }
}
