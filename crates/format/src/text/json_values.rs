//! A JSON array, or JSON values one after the other, as a line for each value.

use std::io::Read;

use lakerace_io::Error;
use lakerace_io::option::INPUT_FORMAT;

use super::ready_bytes::ReadyBytes;

/// Bytes that are read together.
const CHUNK_BYTES: usize = 64 << 10;

const TRUNCATED: &str = "download or create the file again";

/// Between two bytes of the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TokenState {
    /// Before the text.
    Start,
    /// Before the first element of the array, or its end.
    FirstElement,
    /// After a comma of the array.
    Element,
    /// After an element.
    AfterElement,
    /// Between values that are in no array.
    Between,
    /// In a value, outside of its texts.
    Value,
    /// In a text of a value.
    Text,
    /// In a text, after a backslash.
    Escape,
    /// After the end of the array.
    End,
}

/// The values of a text, each on a separate line, with the line ends in it removed. The content of a value is not
/// checked: it may not be JSON. Only the current chunk of the text is in memory.
pub(super) struct JsonValues {
    text: Box<dyn Read + Send>,
    chunk: Vec<u8>,
    lines: ReadyBytes,
    state: TokenState,
    is_array: bool,
    /// Arrays and objects that are open in the current value.
    depth: u64,
    /// Values so far, with the current one.
    values: u64,
    is_done: bool,
}

impl JsonValues {
    pub fn new(text: Box<dyn Read + Send>) -> Self {
        Self {
            text,
            chunk: vec![0; CHUNK_BYTES],
            lines: ReadyBytes::default(),
            state: TokenState::Start,
            is_array: false,
            depth: 0,
            values: 0,
            is_done: false,
        }
    }

    fn fill(&mut self) -> std::io::Result<()> {
        self.is_done = true;
        self.lines.begin();
        let mut chunk = std::mem::take(&mut self.chunk);
        let read = self.text.read(&mut chunk)?;
        let outcome = match read {
            0 => self.end(),
            _ => self.take(&chunk[..read]),
        };
        self.chunk = chunk;
        outcome.map_err(std::io::Error::other)?;
        self.is_done = read == 0;
        Ok(())
    }

    fn take(&mut self, chunk: &[u8]) -> Result<(), Error> {
        let mut at = 0;
        while at < chunk.len() {
            at = match self.state {
                TokenState::Value | TokenState::Text | TokenState::Escape => self.take_value(chunk, at)?,
                _ => self.take_between(chunk, at)?,
            };
        }
        Ok(())
    }

    /// A byte outside of values.
    fn take_between(&mut self, chunk: &[u8], at: usize) -> Result<usize, Error> {
        let byte = chunk[at];
        self.state = match (self.state, byte) {
            (_, b' ' | b'\t' | b'\r' | b'\n') => return Ok(at + 1),
            // A byte order mark.
            (TokenState::Start, 0xef | 0xbb | 0xbf) => return Ok(at + 1),
            (TokenState::Start, b'[') => {
                self.is_array = true;
                TokenState::FirstElement
            }
            (TokenState::Start | TokenState::Between, b'{') => return self.begin(at),
            (TokenState::FirstElement, b']') | (TokenState::AfterElement, b']') => TokenState::End,
            (TokenState::FirstElement | TokenState::Element, byte) if !matches!(byte, b',' | b']' | b'}' | b':') => {
                return self.begin(at);
            }
            (TokenState::AfterElement, b',') => TokenState::Element,
            (state, byte) => return Err(self.unexpected(state, byte)),
        };
        Ok(at + 1)
    }

    fn begin(&mut self, at: usize) -> Result<usize, Error> {
        (self.state, self.depth) = (TokenState::Value, 0);
        self.values += 1;
        Ok(at)
    }

    /// Bytes of a value, up to one that matters.
    fn take_value(&mut self, chunk: &[u8], from: usize) -> Result<usize, Error> {
        for (at, byte) in chunk.iter().enumerate().skip(from) {
            match (self.state, *byte) {
                (TokenState::Escape, _) => self.state = TokenState::Text,
                (TokenState::Text, b'\\') => self.state = TokenState::Escape,
                (TokenState::Text, b'"') => self.state = TokenState::Value,
                (TokenState::Text, b'\n') => {
                    return Err(Error::invalid("a text contains a line break, which JSON writes as \\n")
                        .at(format!("row {}", self.values))
                        .advice("write the text with its line breaks escaped"));
                }
                (TokenState::Text, _) => {}
                (_, b'"') => self.state = TokenState::Text,
                (_, b'{' | b'[') => self.depth += 1,
                // The end of the array, or of nothing, after a value that is neither array nor object.
                (_, b'}' | b']' | b',') if self.depth == 0 => {
                    self.lines.bytes.extend_from_slice(&chunk[from..at]);
                    self.end_value();
                    return Ok(at);
                }
                (_, b'}' | b']') => {
                    self.depth -= 1;
                    if self.depth == 0 {
                        self.lines.bytes.extend_from_slice(&chunk[from..=at]);
                        self.end_value();
                        return Ok(at + 1);
                    }
                }
                (_, b'\n') => {
                    self.lines.bytes.extend_from_slice(&chunk[from..at]);
                    self.lines.bytes.push(b' ');
                    return Ok(at + 1);
                }
                _ => {}
            }
        }
        self.lines.bytes.extend_from_slice(&chunk[from..]);
        Ok(chunk.len())
    }

    fn end_value(&mut self) {
        self.lines.bytes.push(b'\n');
        self.state = if self.is_array { TokenState::AfterElement } else { TokenState::Between };
    }

    fn unexpected(&self, state: TokenState, byte: u8) -> Error {
        let shown = char::from(byte);
        let message = match state {
            TokenState::Start => format!("the text starts with {shown:?}, but JSON of rows starts with [ or {{"),
            TokenState::AfterElement => format!("a comma or ] is missing after the row: {shown:?} follows"),
            TokenState::End => format!("{shown:?} follows the end of the array"),
            TokenState::Between => format!("{shown:?} follows the object"),
            _ => format!("a row is missing before {shown:?}"),
        };
        let error = Error::invalid(message);
        match state {
            TokenState::Start => error.advice(format!("set the actual format with {INPUT_FORMAT}")),
            _ => error.at(format!("row {}", self.values)).advice("fix the JSON"),
        }
    }

    /// The end of the text.
    fn end(&self) -> Result<(), Error> {
        let message = match self.state {
            TokenState::Start | TokenState::Between | TokenState::End => return Ok(()),
            TokenState::FirstElement | TokenState::Element | TokenState::AfterElement => {
                "the JSON array has no end: the text is truncated"
            }
            TokenState::Value | TokenState::Text | TokenState::Escape => "the text ends within a row",
        };
        Err(Error::corrupt(message).at(format!("row {}", self.values)).advice(TRUNCATED))
    }
}

impl Read for JsonValues {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        while self.lines.is_given() && !self.is_done {
            self.fill()?;
        }
        Ok(self.lines.give(buffer))
    }
}

#[cfg(test)]
mod tests;
