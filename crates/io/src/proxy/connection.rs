//! A client's connection, and the one to the server.

use std::io;
use std::sync::atomic::AtomicU64;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::ProxySetup;
use super::counts::add;
use super::head::{BodyLength, ChunkedBody, LONGEST_HEAD, RequestHead, ResponseHead, parse_request, parse_response};
use super::splice::Splice;
use crate::store::wrap::rate_limit::BytePace;

/// Large copies cost few system calls.
const BUFFER_BYTES: usize = 256 << 10;

/// A connection with the bytes that have arrived on it.
struct ProxyWire {
    stream: TcpStream,
    buffer: Box<[u8]>,
    start: usize,
    end: usize,
}

/// A fault of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RequestFault {
    Error,
    Reset,
    Stall,
}

/// Serves requests until either side is done.
pub(super) async fn serve(client: TcpStream, setup: &ProxySetup) -> io::Result<()> {
    client.set_nodelay(true)?;
    let mut client = ProxyWire::new(client);
    let mut server: Option<ProxyWire> = None;
    let mut paces = ConnectionPaces::new(setup.options.bytes_per_second);
    let mut counted = false;
    while let Some(head) = client.request_head().await? {
        if head.target.starts_with("/__lakerace/") {
            administer(&mut client, &head, setup).await?;
            continue;
        }
        if !counted {
            add(&setup.counters.connections, 1);
            counted = true;
        }
        let number = setup.counters.request(&head.method, &head.target);
        let fault = fault_of(setup, number);
        if fault == Some(RequestFault::Error) {
            return refuse(&mut client, "500 Internal Server Error", "InternalError", "injected by the proxy").await;
        }
        let raw = client.peek(head.len).to_vec();
        client.consume(head.len);
        let reused = server.take().filter(ProxyWire::is_open);
        // A server may close an idle connection just as the request is on its way.
        let mut may_repeat = reused.is_some() && head.body == BodyLength::Bytes(0);
        let mut wire = match reused {
            Some(wire) => Ok(wire),
            None => ProxyWire::connect(&setup.options.target).await,
        };
        let outcome = loop {
            let mut connected = match wire {
                Ok(connected) => connected,
                Err(e) => return refuse(&mut client, "502 Bad Gateway", "ServiceUnavailable", &e.to_string()).await,
            };
            match exchange(&mut client, &mut connected, (&head, &raw), setup, fault, &mut paces).await {
                Err(BrokenExchange::BeforeAnswer(_)) if may_repeat => {
                    may_repeat = false;
                    wire = ProxyWire::connect(&setup.options.target).await;
                }
                Err(BrokenExchange::BeforeAnswer(e) | BrokenExchange::Later(e)) => return Err(e),
                Ok(reusable) => break reusable.then_some(connected),
            }
        };
        server = outcome;
        if !head.keep_alive || server.is_none() {
            break;
        }
    }
    client.stream.shutdown().await
}

/// The bounds on one client's connection.
struct ConnectionPaces {
    up: BytePace,
    down: BytePace,
}

impl ConnectionPaces {
    fn new(bytes_per_second: Option<f64>) -> Self {
        Self { up: BytePace::new(bytes_per_second), down: BytePace::new(bytes_per_second) }
    }
}

/// The way in which an exchange broke off: before any answer of the server, or later.
enum BrokenExchange {
    BeforeAnswer(io::Error),
    Later(io::Error),
}

impl From<io::Error> for BrokenExchange {
    fn from(error: io::Error) -> Self {
        Self::Later(error)
    }
}

fn fault_of(setup: &ProxySetup, number: u64) -> Option<RequestFault> {
    let faults = &setup.options.faults;
    let hits = |every: Option<u64>| every.is_some_and(|n| n > 0 && number.is_multiple_of(n));
    let fault = if hits(faults.error_every) {
        RequestFault::Error
    } else if hits(faults.reset_every) {
        RequestFault::Reset
    } else if hits(faults.stall_every) {
        RequestFault::Stall
    } else {
        return None;
    };
    add(&setup.counters.faults, 1);
    Some(fault)
}

/// Exchanges a request and its response. Returns true if both connections can be used again.
async fn exchange(
    client: &mut ProxyWire,
    server: &mut ProxyWire,
    (head, raw): (&RequestHead, &[u8]),
    setup: &ProxySetup,
    fault: Option<RequestFault>,
    paces: &mut ConnectionPaces,
) -> Result<bool, BrokenExchange> {
    let counters = &setup.counters;
    let mut sent = server.stream.write_all(raw).await.is_ok();
    let mut response = None;
    if sent && head.expects_continue {
        let first = server.response_head(&head.method).await.map_err(BrokenExchange::BeforeAnswer)?;
        if first.status == 100 {
            client.stream.write_all(server.peek(first.len)).await?;
            server.consume(first.len);
        } else {
            // The server does not want the body, and the client will not send it.
            response = Some(first);
        }
    }
    let refused = response.is_some();
    if sent && !refused {
        paces.up.begin();
        // A server that answers before it has read everything may close its side: its answer still counts.
        sent = copy_body(client, server, head.body, &mut paces.up, &counters.bytes_from_client, None).await.is_ok();
    }
    let response = match response {
        Some(response) => response,
        None => server.final_head(client, &head.method).await?,
    };
    if !setup.options.latency.is_zero() {
        tokio::time::sleep(setup.options.latency).await;
    }
    client.stream.write_all(server.peek(response.len)).await?;
    server.consume(response.len);
    let stop_at = match (fault, response.body) {
        (None, _) => None,
        (Some(_), BodyLength::Bytes(n)) => Some(n / 2),
        (Some(_), _) => Some(1),
    };
    paces.down.begin();
    copy_body(server, client, response.body, &mut paces.down, &counters.bytes_to_client, stop_at).await?;
    match fault {
        Some(RequestFault::Reset) => {
            client.stream.set_zero_linger()?;
            Err(BrokenExchange::Later(io::ErrorKind::ConnectionReset.into()))
        }
        Some(RequestFault::Stall) => {
            client.wait_for_close().await;
            Err(BrokenExchange::Later(io::ErrorKind::TimedOut.into()))
        }
        _ => Ok(sent && !refused && response.keep_alive),
    }
}

/// Passes a body on, up to `stop_at` bytes of it.
async fn copy_body(
    from: &mut ProxyWire,
    to: &mut ProxyWire,
    length: BodyLength,
    pace: &mut BytePace,
    counter: &AtomicU64,
    stop_at: Option<u64>,
) -> io::Result<()> {
    let mut chunks = ChunkedBody::default();
    let mut left = match (length, stop_at) {
        (_, Some(stop)) => stop,
        (BodyLength::Bytes(n), None) => n,
        _ => u64::MAX,
    };
    let mut splice = Splice::default();
    while left > 0 && !chunks.is_done() {
        let step = pace.step(BUFFER_BYTES).min(usize::try_from(left).unwrap_or(usize::MAX));
        let (n, data) = if matches!(length, BodyLength::Bytes(_)) && from.is_empty() && Splice::is_worth(left) {
            let n = splice.pass(&from.stream, &to.stream, step).await?;
            (n, n as u64)
        } else {
            copy_step(from, to, (length == BodyLength::Chunked).then_some(&mut chunks), step).await?
        };
        if n == 0 {
            return if length == BodyLength::UntilClose { Ok(()) } else { Err(io::ErrorKind::UnexpectedEof.into()) };
        }
        add(counter, data);
        pace.passed(n).await;
        left -= n as u64;
    }
    Ok(())
}

/// Copies the arrived bytes of a body, at most `step`, waiting for the first one; returns their number, and the number
/// of them without the frames of chunks. Nothing at the end.
async fn copy_step(
    from: &mut ProxyWire,
    to: &mut ProxyWire,
    chunks: Option<&mut ChunkedBody>,
    step: usize,
) -> io::Result<(usize, u64)> {
    if from.is_empty() && from.fill().await? == 0 {
        return Ok((0, 0));
    }
    let available = from.available(step);
    let (n, data) = match chunks {
        Some(chunks) => {
            let before = chunks.data_bytes;
            let n = chunks.advance(available)?;
            (n, chunks.data_bytes - before)
        }
        None => (available.len(), available.len() as u64),
    };
    to.stream.write_all(from.peek(n)).await?;
    from.consume(n);
    Ok((n, data))
}

async fn administer(client: &mut ProxyWire, head: &RequestHead, setup: &ProxySetup) -> io::Result<()> {
    client.consume(head.len);
    if let BodyLength::Bytes(n) = head.body {
        client.skip(n).await?;
    }
    let body = match (head.method.as_str(), head.target.as_str()) {
        ("GET", "/__lakerace/counts") => serde_json::to_string(&setup.counters.read()).map_err(io::Error::other)?,
        ("POST", "/__lakerace/reset") => {
            setup.counters.reset();
            "{}".to_owned()
        }
        _ => {
            return answer(client, "404 Not Found", "application/json", "{\"error\":\"no such endpoint\"}", true).await;
        }
    };
    answer(client, "200 OK", "application/json", &body, true).await
}

/// Answers in the server's place and closes.
async fn refuse(client: &mut ProxyWire, status: &str, code: &str, message: &str) -> io::Result<()> {
    let body = format!("<?xml version=\"1.0\"?><Error><Code>{code}</Code><Message>{message}</Message></Error>");
    answer(client, status, "application/xml", &body, false).await?;
    // Closing with unread bytes would reset the connection under the answer.
    client.stream.shutdown().await?;
    client.wait_for_close().await;
    Ok(())
}

async fn answer(client: &mut ProxyWire, status: &str, kind: &str, body: &str, keep: bool) -> io::Result<()> {
    let connection = if keep { "keep-alive" } else { "close" };
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nConnection: {connection}\r\n\r\n",
        body.len()
    );
    client.stream.write_all(format!("{head}{body}").as_bytes()).await
}

impl ProxyWire {
    fn new(stream: TcpStream) -> Self {
        Self { stream, buffer: vec![0; BUFFER_BYTES].into_boxed_slice(), start: 0, end: 0 }
    }

    async fn connect(target: &str) -> io::Result<Self> {
        let stream = TcpStream::connect(target).await?;
        stream.set_nodelay(true)?;
        Ok(Self::new(stream))
    }

    fn is_empty(&self) -> bool {
        self.start == self.end
    }

    fn available(&self, most: usize) -> &[u8] {
        &self.buffer[self.start..self.end.min(self.start + most)]
    }

    fn peek(&self, n: usize) -> &[u8] {
        &self.buffer[self.start..self.start + n]
    }

    fn consume(&mut self, n: usize) {
        self.start += n;
    }

    /// Reads the arrived bytes, at least one; 0 at the end.
    async fn fill(&mut self) -> io::Result<usize> {
        if self.start > 0 {
            self.buffer.copy_within(self.start..self.end, 0);
            (self.start, self.end) = (0, self.end - self.start);
        }
        let n = self.stream.read(&mut self.buffer[self.end..]).await?;
        self.end += n;
        Ok(n)
    }

    /// Returns true if an idle connection can be used again: the server may have closed it in the meantime.
    fn is_open(&self) -> bool {
        let mut byte = [0];
        self.is_empty() && matches!(self.stream.try_read(&mut byte), Err(e) if e.kind() == io::ErrorKind::WouldBlock)
    }

    /// The next request's head, still in the buffer; `None` where the client is done.
    async fn request_head(&mut self) -> io::Result<Option<RequestHead>> {
        loop {
            if let Some(head) = parse_request(self.available(BUFFER_BYTES))? {
                return Ok(Some(head));
            }
            self.check_head()?;
            if self.fill().await? == 0 {
                return if self.is_empty() { Ok(None) } else { Err(io::ErrorKind::UnexpectedEof.into()) };
            }
        }
    }

    async fn response_head(&mut self, method: &str) -> io::Result<ResponseHead> {
        loop {
            if let Some(head) = parse_response(self.available(BUFFER_BYTES), method)? {
                return Ok(head);
            }
            self.check_head()?;
            if self.fill().await? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
    }

    /// The head of the final response; interim ones are passed on to the client.
    async fn final_head(&mut self, client: &mut ProxyWire, method: &str) -> Result<ResponseHead, BrokenExchange> {
        loop {
            let head = self.response_head(method).await.map_err(BrokenExchange::BeforeAnswer)?;
            if head.status >= 200 {
                return Ok(head);
            }
            client.stream.write_all(self.peek(head.len)).await?;
            self.consume(head.len);
        }
    }

    fn check_head(&self) -> io::Result<()> {
        let too_long = self.end - self.start >= LONGEST_HEAD;
        if too_long { Err(io::Error::new(io::ErrorKind::InvalidData, "the header does not end")) } else { Ok(()) }
    }

    async fn skip(&mut self, mut n: u64) -> io::Result<()> {
        while n > 0 {
            if self.is_empty() && self.fill().await? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            let step = self.available(BUFFER_BYTES).len().min(usize::try_from(n).unwrap_or(usize::MAX));
            self.consume(step);
            n -= step as u64;
        }
        Ok(())
    }

    /// Reads and drops bytes until the client closes the connection.
    async fn wait_for_close(&mut self) {
        while matches!(self.stream.read(&mut self.buffer).await, Ok(n) if n > 0) {}
    }
}
