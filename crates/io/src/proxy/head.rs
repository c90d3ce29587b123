//! The proxy's part of HTTP/1.1 (RFC 9112): the ends of heads and bodies.

use std::io;

/// Heads beyond this are refused.
pub(super) const LONGEST_HEAD: usize = 64 << 10;

const MOST_HEADERS: usize = 128;

/// The end of a body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BodyLength {
    Bytes(u64),
    Chunked,
    /// Until the sender closes the connection.
    UntilClose,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) struct RequestHead {
    /// Bytes of the head, the empty line included.
    pub(super) len: usize,
    pub(super) method: String,
    pub(super) target: String,
    pub(super) body: BodyLength,
    pub(super) expects_continue: bool,
    pub(super) keep_alive: bool,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) struct ResponseHead {
    pub(super) len: usize,
    pub(super) status: u16,
    pub(super) body: BodyLength,
    pub(super) keep_alive: bool,
}

fn invalid(text: impl Into<String>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, text.into())
}

/// The head at the start of `bytes`; `None` if it is not complete.
pub(super) fn parse_request(bytes: &[u8]) -> io::Result<Option<RequestHead>> {
    let mut headers = [httparse::EMPTY_HEADER; MOST_HEADERS];
    let mut request = httparse::Request::new(&mut headers);
    let len = match request.parse(bytes).map_err(|e| invalid(format!("not an HTTP request: {e}")))? {
        httparse::Status::Complete(len) => len,
        httparse::Status::Partial => return Ok(None),
    };
    let fields = HeadFields::parse(request.headers)?;
    Ok(Some(RequestHead {
        len,
        method: request.method.unwrap_or_default().to_owned(),
        target: request.path.unwrap_or_default().to_owned(),
        // Without either header, a request has no body.
        body: fields.length.unwrap_or(BodyLength::Bytes(0)),
        expects_continue: fields.expects_continue,
        keep_alive: fields.keep_alive(request.version),
    }))
}

/// The head at the beginning of `bytes`, as the answer to a request with `method`.
pub(super) fn parse_response(bytes: &[u8], method: &str) -> io::Result<Option<ResponseHead>> {
    let mut headers = [httparse::EMPTY_HEADER; MOST_HEADERS];
    let mut response = httparse::Response::new(&mut headers);
    let len = match response.parse(bytes).map_err(|e| invalid(format!("not an HTTP response: {e}")))? {
        httparse::Status::Complete(len) => len,
        httparse::Status::Partial => return Ok(None),
    };
    let fields = HeadFields::parse(response.headers)?;
    let status = response.code.unwrap_or_default();
    let bodiless = method == "HEAD" || status < 200 || matches!(status, 204 | 304);
    let body = if bodiless { BodyLength::Bytes(0) } else { fields.length.unwrap_or(BodyLength::UntilClose) };
    let keep_alive = fields.keep_alive(response.version) && body != BodyLength::UntilClose;
    Ok(Some(ResponseHead { len, status, body, keep_alive }))
}

#[derive(Default)]
struct HeadFields {
    length: Option<BodyLength>,
    expects_continue: bool,
    close: bool,
    asked_to_keep: bool,
}

impl HeadFields {
    fn parse(headers: &[httparse::Header<'_>]) -> io::Result<Self> {
        let mut fields = Self::default();
        for header in headers {
            let value = std::str::from_utf8(header.value).unwrap_or_default().trim();
            if header.name.eq_ignore_ascii_case("content-length") {
                let bytes = value.parse().map_err(|_| invalid("the Content-Length is not a number"))?;
                // Transfer-Encoding overrides it (RFC 9112, section 6.3).
                fields.length.get_or_insert(BodyLength::Bytes(bytes));
            } else if header.name.eq_ignore_ascii_case("transfer-encoding") {
                fields.length = Some(BodyLength::Chunked);
            } else if header.name.eq_ignore_ascii_case("expect") {
                fields.expects_continue = value.eq_ignore_ascii_case("100-continue");
            } else if header.name.eq_ignore_ascii_case("connection") {
                let has = |token: &str| value.split(',').any(|t| t.trim().eq_ignore_ascii_case(token));
                fields.close |= has("close");
                fields.asked_to_keep |= has("keep-alive");
            }
        }
        Ok(fields)
    }

    fn keep_alive(&self, version: Option<u8>) -> bool {
        !self.close && (version == Some(1) || self.asked_to_keep)
    }
}

/// Finds the end of a chunked body in the bytes that pass.
#[derive(Debug, Default)]
pub(super) struct ChunkedBody {
    state: ChunkState,
    /// Bytes of data so far, without sizes and line ends.
    pub(super) data_bytes: u64,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum ChunkState {
    #[default]
    SizeStart,
    Size(u64),
    /// The rest of a size's line: extensions.
    SizeLine(u64),
    Data(u64),
    DataEnd,
    /// A line of the trailer, empty so far or not.
    Trailer {
        empty: bool,
    },
    Done,
}

impl ChunkedBody {
    pub(super) fn is_done(&self) -> bool {
        self.state == ChunkState::Done
    }

    /// The number of `bytes` that belong to the body.
    pub(super) fn advance(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut at = 0;
        while at < bytes.len() && !self.is_done() {
            if let ChunkState::Data(left) = self.state {
                let n = left.min((bytes.len() - at) as u64);
                at += n as usize;
                self.data_bytes += n;
                self.state = if n == left { ChunkState::DataEnd } else { ChunkState::Data(left - n) };
                continue;
            }
            self.state = self.step(bytes[at])?;
            at += 1;
        }
        Ok(at)
    }

    fn step(&self, byte: u8) -> io::Result<ChunkState> {
        let digit = |byte: u8| (byte as char).to_digit(16).map(u64::from);
        let after_size =
            |size: u64| if size == 0 { ChunkState::Trailer { empty: true } } else { ChunkState::Data(size) };
        Ok(match (self.state, byte) {
            (ChunkState::SizeStart, _) => ChunkState::Size(digit(byte).ok_or_else(|| invalid("a chunk has no size"))?),
            (ChunkState::Size(size), b'\n') | (ChunkState::SizeLine(size), b'\n') => after_size(size),
            (ChunkState::Size(size), _) => match digit(byte) {
                Some(digit) => {
                    let larger = size.checked_mul(16).and_then(|s| s.checked_add(digit));
                    ChunkState::Size(larger.ok_or_else(|| invalid("a chunk size exceeds 64 bits"))?)
                }
                None => ChunkState::SizeLine(size),
            },
            (ChunkState::DataEnd, b'\n') => ChunkState::SizeStart,
            (ChunkState::DataEnd, b'\r') => ChunkState::DataEnd,
            (ChunkState::DataEnd, _) => return Err(invalid("a chunk is longer than its size")),
            (ChunkState::Trailer { empty: true }, b'\n') => ChunkState::Done,
            (ChunkState::Trailer { .. }, b'\n') => ChunkState::Trailer { empty: true },
            (ChunkState::Trailer { empty }, b'\r') => ChunkState::Trailer { empty },
            (ChunkState::Trailer { .. }, _) => ChunkState::Trailer { empty: false },
            (state, _) => state,
        })
    }
}

#[cfg(test)]
mod tests;
