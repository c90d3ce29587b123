//! A server that answers each verb with each class of status: nothing but success is success, and no request goes
//! elsewhere.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::sync::{Arc, Mutex};

use lakerace_io::object_store::path::Path;
use lakerace_io::{Error, ErrorKind, IfExists, Job, Location, Object, Output};

/// What a server answers: a status and more headers.
#[derive(Debug, Clone)]
struct Answer {
    status: u16,
    headers: String,
    body: &'static str,
}

/// A server on this machine that gives one answer to all, and keeps the heads of all requests.
struct Server {
    address: SocketAddr,
    heads: Arc<Mutex<Vec<String>>>,
}

impl Server {
    fn start(answer: Answer) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let heads = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&heads);
        std::thread::spawn(move || {
            for connection in listener.incoming() {
                let (connection, answer, seen) = (connection.unwrap(), answer.clone(), Arc::clone(&seen));
                std::thread::spawn(move || serve(connection, &answer, &seen));
            }
        });
        Self { address, heads }
    }

    fn heads(&self) -> Vec<String> {
        self.heads.lock().unwrap().clone()
    }
}

fn serve(mut connection: std::net::TcpStream, answer: &Answer, seen: &Mutex<Vec<String>>) {
    let (mut bytes, mut chunk) = (Vec::new(), [0; 65536]);
    let head_len = loop {
        if let Some(at) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            break at + 4;
        }
        match connection.read(&mut chunk) {
            Ok(0) | Err(_) => return,
            Ok(length) => bytes.extend_from_slice(&chunk[..length]),
        }
    };
    let head = String::from_utf8_lossy(&bytes[..head_len]).into_owned();
    let length = |line: &str| line.to_ascii_lowercase().strip_prefix("content-length: ")?.parse::<usize>().ok();
    let body_len = head.lines().find_map(length).unwrap_or(0);
    let mut left = (head_len + body_len).saturating_sub(bytes.len());
    while left > 0 {
        match connection.read(&mut chunk) {
            Ok(0) | Err(_) => return,
            Ok(length) => left = left.saturating_sub(length),
        }
    }
    let is_head = head.starts_with("HEAD");
    seen.lock().unwrap().push(head);
    let (status, headers, body) = (answer.status, &answer.headers, answer.body);
    let length = if status == 204 || status == 304 { 0 } else { body.len() };
    let head = format!("HTTP/1.1 {status} X\r\nConnection: close\r\n{headers}Content-Length: {length}\r\n\r\n");
    let _ = connection.write_all(head.as_bytes());
    if !is_head {
        let _ = connection.write_all(&body.as_bytes()[..length]);
    }
}

fn object(server: &Server, job: &Job) -> Object {
    let options = [
        ("aws_endpoint_url", format!("http://{}", server.address)),
        ("aws_allow_http", "true".to_owned()),
        ("aws_access_key_id", "key".to_owned()),
        ("aws_secret_access_key", "secret".to_owned()),
        ("aws_session_token", "TOKEN".to_owned()),
        ("aws_region", "us-east-1".to_owned()),
    ];
    let options = options.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
    Location::parse("s3://bucket/folder/x").unwrap().object(&options, job).unwrap()
}

type Verb = (&'static str, fn(&Object) -> Result<(), Error>);

fn put(object: &Object, bytes: usize, if_exists: IfExists) -> Result<(), Error> {
    let mut output = Output::create(&object.store, &object.path, if_exists)?;
    output.write(vec![b'x'; bytes].into())?;
    output.prepare()?;
    output.finish()
}

/// All that a store is asked.
const VERBS: [Verb; 8] = [
    ("GET of a range", |object| object.read_range(0..4).map(drop)),
    ("GET of an end", |object| object.read_tail(4).map(drop)),
    ("HEAD", |object| object.store.stat(&object.path).map(drop)),
    ("PUT", |object| put(object, 4, IfExists::Replace)),
    ("conditional PUT", |object| put(object, 4, IfExists::Error)),
    ("parts", |object| put(object, 20 << 20, IfExists::Replace)),
    ("DELETE", |object| object.store.delete(&object.path)),
    ("LIST", |object| object.store.list(&folder()).map(drop)),
];

fn folder() -> Path {
    Path::from("folder")
}

#[test]
fn redirects_are_refused_and_nothing_goes_elsewhere() {
    let elsewhere = Server::start(Answer {
        status: 200,
        headers: "ETag: \"x\"\r\nLast-Modified: Wed, 21 Oct 2015 07:28:00 GMT\r\n".to_owned(),
        body: "PAR1",
    });
    for status in [300, 301, 302, 303, 307, 308] {
        let headers = format!("Location: http://localhost:{}/x?secret=1\r\n", elsewhere.address.port());
        let server = Server::start(Answer { status, headers, body: "" });
        for (verb, call) in VERBS {
            let error = call(&object(&server, &Job::default())).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Invalid, "{verb}, {status}: {error}");
            let text = error.to_string();
            assert!(text.contains("s3://bucket/folder"), "{verb}, {status}: {text}");
            assert!(text.contains(&format!("redirect ({status})")), "{verb}, {status}: {text}");
            assert!(text.contains("AWS_ENDPOINT_URL") && !text.contains("secret"), "{verb}, {status}: {text}");
        }
        assert!(!server.heads().is_empty());
    }
    assert_eq!(elsewhere.heads(), [""; 0]);
}

#[test]
fn a_redirect_to_another_region_names_it() {
    let headers = "x-amz-bucket-region: eu-west-1\r\nLocation: https://bucket.s3.eu-west-1.amazonaws.com/x\r\n";
    for headers in [headers, &headers[..headers.find("Location").unwrap()]] {
        let server = Server::start(Answer { status: 301, headers: headers.to_owned(), body: "" });
        for (verb, call) in VERBS {
            let error = call(&object(&server, &Job::default())).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Invalid, "{verb}: {error}");
            assert!(error.to_string().contains("AWS_REGION=eu-west-1"), "{verb}: {error}");
        }
    }
}

#[test]
fn what_is_no_success_is_an_error() {
    // 5xx are sent again, which takes a while: other tests have them.
    for status in [203, 204, 205, 304, 400, 401, 403, 404, 405, 410, 411, 416, 451] {
        let server = Server::start(Answer { status, headers: "ETag: \"x\"\r\n".to_owned(), body: "no" });
        for (verb, call) in VERBS {
            let outcome = call(&object(&server, &Job::default()));
            let is_success = match (verb, status) {
                // What is not there has no size, and nothing has no end.
                ("HEAD", 404) | ("GET of an end", 416) => true,
                _ => false,
            };
            assert_eq!(outcome.is_ok(), is_success, "{verb}, {status}: {outcome:?}");
            if let Err(error) = outcome {
                assert!(error.to_string().contains("s3://bucket/"), "{verb}, {status}: {error}");
                assert!(!error.to_string().contains("TOKEN"), "{verb}, {status}: {error}");
                assert_ne!(error.kind(), ErrorKind::Internal, "{verb}, {status}: {error}");
            }
        }
    }
}

#[test]
fn other_bytes_than_were_asked_for_are_errors() {
    let wrong = [
        (200, "ETag: \"x\"\r\nLast-Modified: Wed, 21 Oct 2015 07:28:00 GMT\r\n"),
        (206, "ETag: \"x\"\r\nLast-Modified: Wed, 21 Oct 2015 07:28:00 GMT\r\nContent-Range: bytes 100-103/1000\r\n"),
        (206, "ETag: \"x\"\r\nLast-Modified: Wed, 21 Oct 2015 07:28:00 GMT\r\n"),
        (206, "Content-Range: bytes 0-3/4\r\n"),
    ];
    for (status, headers) in wrong {
        let server = Server::start(Answer { status, headers: headers.to_owned(), body: "PAR1" });
        let outcome = object(&server, &Job::default()).read_range(10..14);
        assert!(outcome.is_err(), "{status}, {headers:?}: {outcome:?}");
    }
}

const PAGE: &str = "<!DOCTYPE html>\n<html><body>Please log in</body></html>";

/// The folder of a store of each kind, all of which are on a server.
fn folders(server: &Server, job: &Job) -> Vec<(&'static str, Object)> {
    let endpoint = || format!("http://{}", server.address);
    let google = [("google_base_url", endpoint()), ("google_skip_signature", "true".to_owned())];
    let azure = [
        ("azure_storage_account_name", "account".to_owned()),
        ("azure_storage_endpoint", endpoint()),
        ("azure_skip_signature", "true".to_owned()),
    ];
    let open = |url: &str, options: &[(&str, String)]| {
        let more = [("allow_http", "true".to_owned())];
        let all = options.iter().chain(&more).map(|(name, value)| ((*name).to_owned(), value.clone()));
        Location::parse(url).unwrap().object(&all.collect(), job).unwrap()
    };
    vec![
        ("s3://bucket/", object(server, job)),
        ("gs://bucket/", open("gs://bucket/folder/x", &google)),
        ("az://container/", open("az://container/folder/x", &azure)),
    ]
}

#[test]
fn a_page_in_place_of_an_answer_is_an_error_that_names_the_server() {
    let server = Server::start(Answer {
        status: 200,
        headers: "Content-Type: text/html; charset=utf-8\r\n".to_owned(),
        body: PAGE,
    });
    let job = Job::default();
    // Google's PUT needs credentials.
    for (place, object) in folders(&server, &job).into_iter().take(1) {
        for (verb, call) in VERBS {
            let before = server.heads().len();
            let error = call(&object).unwrap_err();
            let text = error.to_string();
            assert_eq!(error.kind(), ErrorKind::Unavailable, "{place}, {verb}: {text}");
            assert!(text.contains(&format!("http://{}", server.address)), "{place}, {verb}: {text}");
            assert!(text.contains("text/html"), "{place}, {verb}: {text}");
            assert_eq!(text.contains("is no XML"), verb == "LIST" || text.contains("POST"), "{place}, {verb}: {text}");
            // It is not sent again: an upload that failed is removed.
            assert!(server.heads().len() - before <= 2, "{place}, {verb}: {:?}", server.heads());
        }
    }
}

#[test]
fn a_list_that_is_no_xml_is_an_error() {
    for (headers, body) in [
        ("", PAGE),
        ("Content-Type: application/xhtml+xml\r\n", PAGE),
        ("Content-Type: application/json\r\n", "{}"),
        ("Content-Type: text/plain\r\n", "no"),
    ] {
        let server = Server::start(Answer { status: 200, headers: headers.to_owned(), body });
        for (place, object) in folders(&server, &Job::default()) {
            let error = object.store.list(&folder()).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Unavailable, "{place}, {headers:?}: {error}");
            assert!(error.to_string().contains("is no XML"), "{place}, {headers:?}: {error}");
        }
    }
    let list = "<?xml version=\"1.0\"?>\n<ListBucketResult><Name>bucket</Name></ListBucketResult>";
    for headers in ["", "Content-Type: text/plain\r\n", "Content-Type: application/xml\r\n"] {
        let server = Server::start(Answer { status: 200, headers: headers.to_owned(), body: list });
        assert!(object(&server, &Job::default()).store.list(&folder()).unwrap().is_empty(), "{headers:?}");
    }
}
