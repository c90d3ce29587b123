//! The elements of a BSON document, straight from its bytes.

use lakerace_io::{Error, Result};

pub(super) const DOUBLE: u8 = 0x01;
pub(super) const STRING: u8 = 0x02;
pub(super) const DOCUMENT: u8 = 0x03;
pub(super) const ARRAY: u8 = 0x04;
pub(super) const BINARY: u8 = 0x05;
pub(super) const UNDEFINED: u8 = 0x06;
pub(super) const OBJECT_ID: u8 = 0x07;
pub(super) const BOOLEAN: u8 = 0x08;
pub(super) const DATE: u8 = 0x09;
pub(super) const NULL: u8 = 0x0a;
pub(super) const INT32: u8 = 0x10;
pub(super) const INT64: u8 = 0x12;
pub(super) const DECIMAL128: u8 = 0x13;

/// The name of a type in messages.
pub(super) fn type_name(kind: u8) -> &'static str {
    match kind {
        DOUBLE => "double",
        STRING => "string",
        DOCUMENT => "document",
        ARRAY => "array",
        BINARY => "binary",
        UNDEFINED => "undefined",
        OBJECT_ID => "objectId",
        BOOLEAN => "bool",
        DATE => "date",
        NULL => "null",
        0x0b => "regex",
        0x0c => "dbPointer",
        0x0d => "javascript",
        0x0e => "symbol",
        0x0f => "javascriptWithScope",
        INT32 => "int",
        0x11 => "timestamp",
        INT64 => "long",
        DECIMAL128 => "decimal",
        0xff => "minKey",
        0x7f => "maxKey",
        _ => "unknown",
    }
}

/// A value: its type and its bytes.
#[derive(Debug, Clone, Copy)]
pub(super) struct BsonValue<'a> {
    pub kind: u8,
    pub bytes: &'a [u8],
}

impl<'a> BsonValue<'a> {
    pub(super) fn is_null(self) -> bool {
        matches!(self.kind, NULL | UNDEFINED)
    }

    pub(super) fn array<const N: usize>(self) -> Result<[u8; N]> {
        self.bytes.try_into().map_err(|_| damaged())
    }

    pub(super) fn i32(self) -> Result<i32> {
        self.array().map(i32::from_le_bytes)
    }

    pub(super) fn i64(self) -> Result<i64> {
        self.array().map(i64::from_le_bytes)
    }

    pub(super) fn f64(self) -> Result<f64> {
        self.array().map(f64::from_le_bytes)
    }

    /// The bytes of a string, without its length and the zero at its end.
    pub(super) fn text(self) -> Result<&'a str> {
        let end = self.bytes.len().checked_sub(1).ok_or_else(damaged)?;
        let bytes = self.bytes.get(4..end).ok_or_else(damaged)?;
        std::str::from_utf8(bytes).map_err(|_| Error::corrupt("a string is not UTF-8"))
    }

    /// The subtype and the bytes of a binary value.
    pub(super) fn binary(self) -> Result<(u8, &'a [u8])> {
        let subtype = *self.bytes.get(4).ok_or_else(damaged)?;
        let mut bytes = &self.bytes[5..];
        if subtype == 2 {
            // The old form has its length twice.
            bytes = bytes.get(4..).ok_or_else(damaged)?;
        }
        Ok((subtype, bytes))
    }
}

/// A damaged document.
pub(super) fn damaged() -> Error {
    Error::corrupt("a document from the server is damaged")
}

/// Walks the elements of a document or array.
#[derive(Debug, Clone)]
pub(super) struct ElementIterator<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> ElementIterator<'a> {
    /// Makes a reader of a document with its length in front.
    pub(super) fn new(document: &'a [u8]) -> Result<Self> {
        let length = document.get(..4).and_then(|bytes| bytes.try_into().ok()).map(i32::from_le_bytes);
        match length {
            Some(length) if usize::try_from(length) == Ok(document.len()) && document.len() >= 5 => {
                Ok(Self { bytes: document, at: 4 })
            }
            _ => Err(damaged()),
        }
    }

    /// The next element's name and value. `expected` is the name that it probably has: it is compared before it is searched.
    #[inline]
    pub(super) fn next_element(&mut self, expected: &[u8]) -> Result<Option<(&'a [u8], BsonValue<'a>)>> {
        let kind = *self.bytes.get(self.at).ok_or_else(damaged)?;
        if kind == 0 {
            return if self.at + 1 == self.bytes.len() { Ok(None) } else { Err(damaged()) };
        }
        let rest = &self.bytes[self.at + 1..];
        let name_length = if rest.len() > expected.len() && rest[expected.len()] == 0 && rest.starts_with(expected) {
            expected.len()
        } else {
            memchr::memchr(0, rest).ok_or_else(damaged)?
        };
        let value = &rest[name_length + 1..];
        let length = value_length(kind, value).ok_or_else(damaged)?;
        let bytes = value.get(..length).ok_or_else(damaged)?;
        self.at += 1 + name_length + 1 + length;
        Ok(Some((&rest[..name_length], BsonValue { kind, bytes })))
    }
}

/// The length of the value at the start of `bytes`.
#[inline]
fn value_length(kind: u8, bytes: &[u8]) -> Option<usize> {
    let prefix = |extra: usize| {
        let length = i32::from_le_bytes(bytes.get(..4)?.try_into().ok()?);
        usize::try_from(length).ok()?.checked_add(extra)
    };
    match kind {
        DOUBLE | DATE | INT64 | 0x11 => Some(8),
        INT32 => Some(4),
        BOOLEAN => Some(1),
        NULL | UNDEFINED | 0xff | 0x7f => Some(0),
        STRING | 0x0d | 0x0e => prefix(4).filter(|length| *length > 4),
        DOCUMENT | ARRAY | 0x0f => prefix(0).filter(|length| *length >= 5),
        BINARY => prefix(5),
        OBJECT_ID => Some(12),
        DECIMAL128 => Some(16),
        0x0b => {
            let pattern = memchr::memchr(0, bytes)? + 1;
            Some(pattern + memchr::memchr(0, bytes.get(pattern..)?)? + 1)
        }
        0x0c => prefix(16),
        _ => None,
    }
}

/// A value as canonical extended JSON, `{"$oid": "…"}` and so on.
pub(super) fn extended_json(value: BsonValue<'_>) -> Result<String> {
    let mut text = String::new();
    super::json::write(&mut text, value)?;
    Ok(text)
}

/// The `_id` of a document, for messages.
pub(super) fn shown_id(document: &[u8]) -> String {
    let found = || -> Result<Option<String>> {
        let mut elements = ElementIterator::new(document)?;
        while let Some((name, value)) = elements.next_element(b"_id")? {
            if name == b"_id" {
                return extended_json(value).map(Some);
            }
        }
        Ok(None)
    };
    found().ok().flatten().map_or_else(|| "a document without _id".to_owned(), |id| format!("_id {id}"))
}
