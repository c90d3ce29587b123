//! JSON, pulled from bytes without a tree of values.

use std::borrow::Cow;

/// Reads JSON from the start. Every method skips blanks first.
#[derive(Debug, Clone)]
pub struct Json<'a> {
    bytes: &'a [u8],
    at: usize,
}

/// The position of bytes that are not JSON, and the reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NoJson {
    /// The byte, from 0.
    pub at: usize,
    /// The problem at the place, as the end of a sentence.
    pub why: &'static str,
}

/// Why values are refused that are nested too deep, though they are JSON.
pub(crate) const TOO_DEEP: &str = "values are nested too deeply";

const VALUE: &str = "a value is expected";
const CUT: &str = "the text has no closing quote";
const ESCAPE: &str = "the escape sequence of a text is not valid";
const UTF8: &str = "the text is not valid UTF-8";
const CONTROL: &str = "a control character in a text must be escaped";

/// The kind of the next value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it")]
pub enum JsonKind {
    Null,
    Boolean,
    Number,
    Text,
    Array,
    Object,
}

/// Values nested deeper than this are refused, as the stack is finite.
const DEEPEST: usize = 512;

/// The result of a method that reads, or the position of bytes that are not JSON.
pub type Read<T> = Result<T, NoJson>;

impl<'a> Json<'a> {
    /// Reads these bytes.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    /// The position, in bytes.
    pub fn position(&self) -> usize {
        self.at
    }

    /// Returns true if only blanks are left.
    pub fn is_at_end(&mut self) -> bool {
        self.peek().is_err()
    }

    /// The kind of the next value.
    pub fn kind(&mut self) -> Read<JsonKind> {
        match self.peek()? {
            b'n' => Ok(JsonKind::Null),
            b't' | b'f' => Ok(JsonKind::Boolean),
            b'"' => Ok(JsonKind::Text),
            b'[' => Ok(JsonKind::Array),
            b'{' => Ok(JsonKind::Object),
            b'-' | b'0'..=b'9' => Ok(JsonKind::Number),
            _ => self.wrong(),
        }
    }

    /// Reads `null`.
    pub fn null(&mut self) -> Read<()> {
        self.word(b"null")
    }

    /// Reads `true` or `false`.
    pub fn boolean(&mut self) -> Read<bool> {
        if self.peek()? == b't' { self.word(b"true").map(|()| true) } else { self.word(b"false").map(|()| false) }
    }

    /// Reads a number, and returns its text.
    pub fn number(&mut self) -> Read<&'a str> {
        self.peek()?;
        let start = self.at;
        self.at += usize::from(self.bytes[start] == b'-');
        let whole = self.at;
        let digits = self.digits()?;
        if digits > 1 && self.bytes[whole] == b'0' {
            return Err(NoJson { at: start, why: "a number can't start with zero" });
        }
        if self.bytes.get(self.at) == Some(&b'.') {
            self.at += 1;
            self.digits()?;
        }
        if matches!(self.bytes.get(self.at), Some(b'e' | b'E')) {
            self.at += 1;
            self.at += usize::from(matches!(self.bytes.get(self.at), Some(b'+' | b'-')));
            self.digits()?;
        }
        std::str::from_utf8(&self.bytes[start..self.at]).map_err(|_| NoJson { at: start, why: VALUE })
    }

    /// Skips one digit at least.
    fn digits(&mut self) -> Read<usize> {
        let rest = &self.bytes[self.at.min(self.bytes.len())..];
        let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        self.at += digits;
        if digits == 0 { Err(NoJson { at: self.at, why: "a digit is expected" }) } else { Ok(digits) }
    }

    /// Reads a text. It is borrowed if it has no escapes.
    pub fn text(&mut self) -> Read<Cow<'a, str>> {
        if self.peek()? != b'"' {
            return Err(NoJson { at: self.at, why: "a text in double quotes is expected" });
        }
        let start = self.at + 1;
        let run = self.run(start)?;
        let end = start + run.len();
        if self.bytes[end] == b'"' {
            self.at = end + 1;
            return std::str::from_utf8(run).map(Cow::Borrowed).map_err(|_| NoJson { at: start, why: UTF8 });
        }
        self.escaped(start, end).map(Cow::Owned)
    }

    /// The bytes up to the next quote or escape.
    fn run(&self, start: usize) -> Read<&'a [u8]> {
        let bytes: &'a [u8] = self.bytes;
        let rest = &bytes[start.min(bytes.len())..];
        let end = plain_bytes(rest);
        match rest.get(end) {
            Some(b'"' | b'\\') => Ok(&rest[..end]),
            Some(_) => Err(NoJson { at: start + end, why: CONTROL }),
            None => Err(NoJson { at: start, why: CUT }),
        }
    }

    fn escaped(&mut self, start: usize, first: usize) -> Read<String> {
        let mut text = self.bytes[start..first].to_vec();
        self.at = first;
        loop {
            match *self.bytes.get(self.at).ok_or(NoJson { at: self.at, why: CUT })? {
                b'"' => {
                    self.at += 1;
                    return String::from_utf8(text).map_err(|_| NoJson { at: start, why: UTF8 });
                }
                b'\\' => self.escape(&mut text)?,
                _ => {
                    let run = self.run(self.at)?;
                    text.extend_from_slice(run);
                    self.at += run.len();
                }
            }
        }
    }

    fn escape(&mut self, text: &mut Vec<u8>) -> Read<()> {
        let at = self.at;
        let byte = *self.bytes.get(at + 1).ok_or(NoJson { at, why: ESCAPE })?;
        self.at += 2;
        let plain = match byte {
            b'"' | b'\\' | b'/' => byte,
            b'b' => 8,
            b'f' => 12,
            b'n' => b'\n',
            b'r' => b'\r',
            b't' => b'\t',
            b'u' => {
                let character = self.unicode()?;
                text.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
                return Ok(());
            }
            _ => return Err(NoJson { at, why: ESCAPE }),
        };
        text.push(plain);
        Ok(())
    }

    /// Reads the digits after `\u`, including the second half of a surrogate pair.
    fn unicode(&mut self) -> Read<char> {
        let at = self.at;
        let high = self.hex()?;
        if !(0xD800..0xE000).contains(&high) {
            return char::from_u32(high).ok_or(NoJson { at, why: ESCAPE });
        }
        if self.bytes.get(self.at..self.at + 2) != Some(b"\\u") {
            return Err(NoJson { at, why: ESCAPE });
        }
        self.at += 2;
        let low = self.hex()?;
        if high >= 0xDC00 || !(0xDC00..0xE000).contains(&low) {
            return Err(NoJson { at, why: ESCAPE });
        }
        char::from_u32(0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00)).ok_or(NoJson { at, why: ESCAPE })
    }

    fn hex(&mut self) -> Read<u32> {
        let at = self.at;
        let digits = self.bytes.get(at..at + 4).filter(|digits| digits.iter().all(u8::is_ascii_hexdigit));
        let digits = digits.and_then(|digits| std::str::from_utf8(digits).ok());
        self.at += 4;
        digits.and_then(|digits| u32::from_str_radix(digits, 16).ok()).ok_or(NoJson { at, why: ESCAPE })
    }

    /// Reads `[`; [`Self::next`] is then called before each value.
    pub fn open_array(&mut self) -> Read<()> {
        self.byte(b'[')
    }

    /// Returns true if the array has another value. `is_first` is true before the first one, and then false.
    pub fn next(&mut self, is_first: &mut bool) -> Read<bool> {
        self.another(b']', is_first)
    }

    /// Reads `{`; [`Self::key`] is then called before each value.
    pub fn open_object(&mut self) -> Read<()> {
        self.byte(b'{')
    }

    /// The next key of the object: the text between its quotes, borrowed if it has no escapes; `None` at the end of the
    /// object.
    pub fn key(&mut self, is_first: &mut bool) -> Read<Option<Cow<'a, str>>> {
        if !self.another(b'}', is_first)? {
            return Ok(None);
        }
        let key = self.text().map_err(|wrong| match wrong.at == self.at {
            true => NoJson { why: "a name in double quotes is expected", ..wrong },
            false => wrong,
        })?;
        self.byte(b':').map_err(|wrong| NoJson { why: "a colon is expected", ..wrong })?;
        Ok(Some(key))
    }

    /// Skips the next key if its text is exactly `quoted`, with its quotes and its colon, and without blanks. Otherwise
    /// nothing is read, and [`Self::key`] returns the key. `is_first` is as for [`Self::key`].
    pub fn expected_key(&mut self, quoted: &[u8], is_first: &mut bool) -> bool {
        let rest = &self.bytes[self.at.min(self.bytes.len())..];
        let rest = if *is_first { Some(rest) } else { rest.strip_prefix(b",") };
        let Some(rest) = rest.and_then(|rest| rest.strip_prefix(quoted)) else { return false };
        *is_first = false;
        self.at = self.bytes.len() - rest.len();
        true
    }

    /// Reads a number that is written as an integer of at most 18 digits. Otherwise nothing is read.
    pub fn short_integer(&mut self) -> Option<i64> {
        let rest = &self.bytes[self.at.min(self.bytes.len())..];
        let digits = rest.strip_prefix(b"-").unwrap_or(rest);
        let mut value = 0;
        let mut length = 0;
        while let Some(digit) = digits.get(length).map(|byte| byte.wrapping_sub(b'0')).filter(|digit| *digit < 10) {
            if length == 18 {
                return None;
            }
            value = value * 10 + i64::from(digit);
            length += 1;
        }
        let has_more = matches!(digits.get(length), Some(b'.' | b'e' | b'E'));
        let has_zero = length > 1 && digits[0] == b'0';
        if length == 0 || has_more || has_zero {
            return None;
        }
        let is_negative = digits.len() < rest.len();
        self.at += length + usize::from(is_negative);
        Some(if is_negative { -value } else { value })
    }

    /// Skips a value, and gives its bytes.
    pub fn skip(&mut self) -> Read<&'a [u8]> {
        self.peek()?;
        let start = self.at;
        self.pass(0)?;
        Ok(&self.bytes[start..self.at])
    }

    fn pass(&mut self, depth: usize) -> Read<()> {
        if depth > DEEPEST {
            return Err(NoJson { at: self.at, why: TOO_DEEP });
        }
        let mut is_first = true;
        match self.kind()? {
            JsonKind::Null => self.null(),
            JsonKind::Boolean => self.boolean().map(|_| ()),
            JsonKind::Number => self.number().map(|_| ()),
            JsonKind::Text => self.text().map(|_| ()),
            JsonKind::Array => {
                self.open_array()?;
                while self.next(&mut is_first)? {
                    self.pass(depth + 1)?;
                }
                Ok(())
            }
            JsonKind::Object => {
                self.open_object()?;
                while self.key(&mut is_first)?.is_some() {
                    self.pass(depth + 1)?;
                }
                Ok(())
            }
        }
    }

    fn another(&mut self, end: u8, is_first: &mut bool) -> Read<bool> {
        let byte = self.peek()?;
        if byte == end {
            self.at += 1;
            return Ok(false);
        }
        if !std::mem::take(is_first) {
            self.byte(b',').map_err(|wrong| NoJson { why: "a comma or the end is expected", ..wrong })?;
        }
        Ok(true)
    }

    fn byte(&mut self, wanted: u8) -> Read<()> {
        if self.peek()? != wanted {
            return self.wrong();
        }
        self.at += 1;
        Ok(())
    }

    fn word(&mut self, word: &[u8]) -> Read<()> {
        self.peek()?;
        if !self.bytes[self.at..].starts_with(word) {
            return self.wrong();
        }
        self.at += word.len();
        Ok(())
    }

    fn peek(&mut self) -> Read<u8> {
        loop {
            match self.bytes.get(self.at) {
                Some(b' ' | b'\n' | b'\t' | b'\r') => self.at += 1,
                Some(byte) => return Ok(*byte),
                None => return self.wrong(),
            }
        }
    }

    fn wrong<T>(&self) -> Read<T> {
        Err(NoJson { at: self.at, why: VALUE })
    }
}

/// The number of bytes before the first quote, backslash or control character: eight are checked together, as most
/// texts are short.
fn plain_bytes(text: &[u8]) -> usize {
    const ONES: u64 = u64::MAX / 255;
    const HIGHS: u64 = ONES << 7;
    // The high bits of bytes that are zero, and perhaps of bytes after these.
    let zeros = |word: u64| word.wrapping_sub(ONES) & !word & HIGHS;
    let mut at = 0;
    while let Some(Ok(eight)) = text.get(at..at + 8).map(<[u8; 8]>::try_from) {
        let word = u64::from_le_bytes(eight);
        let quotes = zeros(word ^ (ONES * u64::from(b'"')));
        let escapes = zeros(word ^ (ONES * u64::from(b'\\')));
        let controls = word.wrapping_sub(ONES * 0x20) & !word & HIGHS;
        let found = quotes | escapes | controls;
        if found != 0 {
            return at + found.trailing_zeros() as usize / 8;
        }
        at += 8;
    }
    let is_plain = |byte: &&u8| !matches!(**byte, b'"' | b'\\' | 0..0x20);
    at + text[at..].iter().take_while(is_plain).count()
}

/// Writes a text with its quotes.
pub fn write_text(out: &mut Vec<u8>, text: &[u8]) {
    const HEX: &[u8; 16] = b"0123456789abcdef";
    out.push(b'"');
    let mut from = 0;
    for (at, &byte) in text.iter().enumerate() {
        if byte >= 0x20 && byte != b'"' && byte != b'\\' {
            continue;
        }
        out.extend_from_slice(&text[from..at]);
        from = at + 1;
        match byte {
            b'"' | b'\\' => out.extend_from_slice(&[b'\\', byte]),
            b'\n' => out.extend_from_slice(b"\\n"),
            b'\r' => out.extend_from_slice(b"\\r"),
            b'\t' => out.extend_from_slice(b"\\t"),
            _ => {
                out.extend_from_slice(b"\\u00");
                out.extend_from_slice(&[HEX[usize::from(byte >> 4)], HEX[usize::from(byte & 15)]]);
            }
        }
    }
    out.extend_from_slice(&text[from..]);
    out.push(b'"');
}

#[cfg(test)]
mod tests;
