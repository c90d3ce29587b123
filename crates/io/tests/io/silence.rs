//! A server that accepts connections and says nothing, or stops in the middle of a body: the retry time bounds the requests.

use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use lakerace_io::object_store::path::Path;
use lakerace_io::{Error, ErrorKind, IfExists, Job, Location, Object, Output};

/// A server on this machine that keeps the first lines of requests.
struct SilentServer {
    address: SocketAddr,
    requests: Arc<Mutex<Vec<String>>>,
}

impl SilentServer {
    /// `start` is all that it answers.
    fn start(start: &'static str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let requests = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&requests);
        std::thread::spawn(move || {
            for connection in listener.incoming() {
                let (connection, seen) = (connection.unwrap(), Arc::clone(&seen));
                std::thread::spawn(move || serve(connection, &seen, start));
            }
        });
        Self { address, requests }
    }

    /// An object of a store of each kind, all of which are on this server.
    fn objects(&self, retry_time: &str, job: &Job) -> Vec<Object> {
        let server = format!("http://{}", self.address);
        let s3 = vec![
            ("aws_endpoint_url", server.as_str()),
            ("aws_access_key_id", "key"),
            ("aws_secret_access_key", "secret"),
            ("aws_region", "us-east-1"),
        ];
        let google = vec![("google_base_url", server.as_str()), ("google_skip_signature", "true")];
        let azure = vec![
            ("azure_storage_account_name", "account"),
            ("azure_storage_endpoint", server.as_str()),
            ("azure_skip_signature", "true"),
        ];
        let file = format!("{server}/folder/x");
        [
            ("s3://bucket/folder/x", s3),
            ("gs://bucket/folder/x", google),
            ("az://container/folder/x", azure),
            (file.as_str(), vec![]),
        ]
        .into_iter()
        .map(|(url, options)| {
            let common = [("allow_http", "true"), ("timeout", "200ms"), ("retry_time", retry_time)];
            let all = options.iter().chain(&common).map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
            Location::parse(url).unwrap().object(&all.collect(), job).unwrap()
        })
        .collect()
    }

    /// The requests since the last call.
    fn take_requests(&self) -> Vec<String> {
        std::mem::take(&mut *self.requests.lock().unwrap())
    }
}

fn serve(connection: TcpStream, requests: &Mutex<Vec<String>>, start: &str) {
    let mut reader = BufReader::new(connection);
    let mut line = String::new();
    let mut is_first = true;
    // The connection stays open until the client closes it.
    while reader.read_line(&mut line).unwrap_or(0) > 0 {
        if is_first {
            requests.lock().unwrap().push(line.trim_end().to_owned());
            is_first = false;
        }
        if line == "\r\n" {
            let _ = reader.get_mut().write_all(start.as_bytes());
        }
        line.clear();
    }
}

type Verb = (&'static str, fn(&Object) -> Result<(), Error>);

const READS: [Verb; 2] = [
    ("GET of a range", |object| object.read_range(0..4).map(drop)),
    ("GET of an end", |object| object.read_tail(4).map(drop)),
];

const OTHERS: [Verb; 4] = [
    ("HEAD", |object| object.store.stat(&object.path).map(drop)),
    ("LIST", |object| object.store.list(&Path::from("folder")).map(drop)),
    ("DELETE", |object| object.store.delete(&object.path)),
    ("PUT", |object| {
        let mut output = Output::create(&object.store, &object.path, IfExists::Replace)?;
        output.write("data".into())?;
        output.prepare()?;
        output.finish()
    }),
];

#[test]
fn a_server_without_answers_gets_no_request_after_the_retry_time() {
    let server = SilentServer::start("");
    let mut seen = 0;
    // An attempt takes longer than the retry time.
    for object in server.objects("100ms", &Job::default()) {
        for (verb, call) in READS.into_iter().chain(OTHERS) {
            let error = call(&object).unwrap_err();
            let requests = server.take_requests();
            // A connection that times out early has none.
            assert!(requests.len() <= 1, "{verb} of {}: {requests:?}", object.url());
            seen += requests.len();
            let is_local = requests.is_empty();
            assert!(is_local || error.kind() == ErrorKind::Unavailable, "{verb} of {}: {error}", object.url());
        }
    }
    assert!(seen > 0);
}

#[test]
fn a_body_that_stops_is_requested_once_without_a_retry_time() {
    const HEAD: &str = "HTTP/1.1 206 X\r\nContent-Length: 4\r\nContent-Range: bytes 0-3/4\r\nETag: \"x\"\r\nLast-Modified: \
                        Wed, 21 Oct 2015 07:28:00 GMT\r\n\r\nP";
    let server = SilentServer::start(HEAD);
    let mut seen = 0;
    for object in server.objects("0s", &Job::default()) {
        for (verb, call) in READS {
            let error = call(&object).unwrap_err();
            let requests = server.take_requests();
            let gets = requests.iter().filter(|line| line.starts_with("GET")).count();
            assert!(gets <= 1, "{verb} of {}: {requests:?}", object.url());
            seen += gets;
            assert_eq!(error.kind(), ErrorKind::Unavailable, "{verb} of {}: {error}", object.url());
        }
    }
    assert!(seen > 0);
}
