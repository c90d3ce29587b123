//! A proxy in front of the server that fails as it is told.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use lakerace_io::runtime;
use serde_json::{Value, json};

use crate::server::endpoint;

/// What happens to a request.
pub enum Fault {
    /// It is passed on.
    None,
    /// It is not, and this is the answer.
    Answer(u16, &'static str),
    /// It is passed on, and the connection breaks before the answer.
    CutAfterSending,
    /// It is passed on, and the answer is changed.
    Change(fn(String) -> String),
    /// Every third row of it is answered by 429, and not passed on.
    BusyThirds,
}

type Plan = dyn Fn(&str, &str, usize) -> Fault + Send + Sync;

/// A proxy. `plan` is asked with method, path and the number of the request among those of this path's last segment.
pub struct Proxy {
    pub endpoint: String,
    pub seen: Arc<Mutex<Vec<String>>>,
}

impl Proxy {
    pub fn start(plan: impl Fn(&str, &str, usize) -> Fault + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let endpoint = format!("http://{}", listener.local_addr().unwrap());
        let seen = Arc::new(Mutex::new(Vec::new()));
        let (plan, numbers): (Arc<Plan>, _) = (Arc::new(plan), Arc::new(AtomicUsize::new(0)));
        let record = Arc::clone(&seen);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (plan, record, numbers) = (Arc::clone(&plan), Arc::clone(&record), Arc::clone(&numbers));
                std::thread::spawn(move || serve(stream, &*plan, &record, &numbers));
            }
        });
        Self { endpoint, seen }
    }
}

fn serve(stream: TcpStream, plan: &Plan, record: &Mutex<Vec<String>>, bulks: &AtomicUsize) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let mut writer = stream;
    while let Some((method, path, body)) = request(&mut reader) {
        record.lock().unwrap().push(format!("{method} {path} {}", String::from_utf8_lossy(&body)));
        let number =
            if path.contains("_bulk") || path.contains("/_search?") { bulks.fetch_add(1, Ordering::SeqCst) } else { 0 };
        let (status, answer) = match plan(&method, &path, number) {
            Fault::None => forward(&method, &path, body),
            Fault::Answer(status, answer) => (status, answer.to_owned()),
            Fault::CutAfterSending => {
                forward(&method, &path, body);
                return;
            }
            Fault::Change(change) => {
                let (status, answer) = forward(&method, &path, body);
                (status, change(answer))
            }
            Fault::BusyThirds => busy_thirds(&method, &path, &body),
        };
        let head = format!(
            "HTTP/1.1 {status} X\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
            answer.len()
        );
        if writer.write_all(head.as_bytes()).and_then(|()| writer.write_all(answer.as_bytes())).is_err() {
            return;
        }
    }
}

fn request(reader: &mut BufReader<TcpStream>) -> Option<(String, String, Vec<u8>)> {
    let mut line = String::new();
    reader.read_line(&mut line).ok()?;
    let mut words = line.split(' ');
    let (method, path) = (words.next()?.to_owned(), words.next()?.to_owned());
    let mut length = 0;
    loop {
        let mut header = String::new();
        reader.read_line(&mut header).ok()?;
        match header.trim().to_ascii_lowercase().split_once(':') {
            Some(("content-length", value)) => length = value.trim().parse().ok()?,
            Some(_) => {}
            None => break,
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    Some((method, path, body))
}

fn forward(method: &str, path: &str, body: Vec<u8>) -> (u16, String) {
    let (url, method) = (format!("{}{path}", endpoint()), method.parse().unwrap());
    runtime().unwrap().block_on(async move {
        let kind = if url.contains("_bulk") { "application/x-ndjson" } else { "application/json" };
        let request = reqwest::Client::new().request(method, url).header("content-type", kind);
        let answer = if body.is_empty() { request.send().await } else { request.body(body).send().await }.unwrap();
        (answer.status().as_u16(), answer.text().await.unwrap())
    })
}

/// Passes two of three rows on.
fn busy_thirds(method: &str, path: &str, body: &[u8]) -> (u16, String) {
    let lines: Vec<&[u8]> = body.split_inclusive(|byte| *byte == b'\n').collect();
    let pairs: Vec<&[&[u8]]> = lines.chunks(2).collect();
    let passed: Vec<u8> =
        pairs.iter().enumerate().filter(|(at, _)| at % 3 != 0).flat_map(|(_, pair)| pair.concat()).collect();
    let mut theirs = Vec::new();
    if !passed.is_empty() {
        let (_, answer) = forward(method, path, passed);
        let answer: Value = serde_json::from_str(&answer).unwrap();
        theirs = answer["items"].as_array().unwrap().clone();
    }
    let mut theirs = theirs.into_iter();
    let busy =
        json!({ "index": { "status": 429, "error": { "type": "es_rejected_execution_exception", "reason": "x" } } });
    let items: Vec<Value> =
        (0..pairs.len()).map(|at| if at % 3 == 0 { busy.clone() } else { theirs.next().unwrap() }).collect();
    (200, json!({ "errors": true, "items": items }).to_string())
}
