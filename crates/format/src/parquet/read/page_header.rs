//! Page headers: the part of Thrift's compact protocol that Parquet's `PageHeader` needs.

use lakerace_io::{Error, Result};

/// The kind of a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PageKind {
    /// Version 1 data: levels and values are compressed together.
    Data {
        /// The encoding of definition levels.
        definition_encoding: i32,
    },
    /// Version 2 data: levels stand uncompressed before the values.
    DataV2 {
        /// Bytes of definition levels.
        definition_bytes: usize,
        /// Bytes of repetition levels.
        repetition_bytes: usize,
        /// Values that are null.
        nulls: usize,
        /// True if the values are compressed.
        is_compressed: bool,
    },
    /// The dictionary.
    Dictionary,
    /// Anything else: to be skipped.
    Other,
}

/// A page header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PageHeader {
    /// The kind of the page that follows.
    pub kind: PageKind,
    /// Values, nulls included.
    pub values: usize,
    /// The encoding of the values, by its number in `parquet.thrift`.
    pub encoding: i32,
    /// Bytes of the page as stored, without the header.
    pub stored_bytes: usize,
    /// Bytes of the page once decompressed.
    pub plain_bytes: usize,
    /// CRC-32 of the stored bytes.
    pub crc: Option<u32>,
}

/// The header at the start of `bytes` and its length; `None` where the bytes end before the header does.
pub(crate) fn parse(bytes: &[u8]) -> Result<Option<(PageHeader, usize)>> {
    let mut input = HeaderInput { bytes, at: 0 };
    match page_header(&mut input) {
        Ok(header) => Ok(Some((header, input.at))),
        Err(HeaderTrouble::Short) => Ok(None),
        Err(HeaderTrouble::Wrong(what)) => Err(Error::corrupt(format!("damaged page header: {what}"))),
    }
}

enum HeaderTrouble {
    Short,
    Wrong(&'static str),
}

type Parsed<T> = std::result::Result<T, HeaderTrouble>;

struct HeaderInput<'a> {
    bytes: &'a [u8],
    at: usize,
}

/// Field types of the compact protocol.
mod wire {
    pub const TRUE: u8 = 1;
    pub const FALSE: u8 = 2;
    pub const BYTE: u8 = 3;
    pub const I16: u8 = 4;
    pub const I32: u8 = 5;
    pub const I64: u8 = 6;
    pub const DOUBLE: u8 = 7;
    pub const BINARY: u8 = 8;
    pub const LIST: u8 = 9;
    pub const SET: u8 = 10;
    pub const MAP: u8 = 11;
    pub const STRUCT: u8 = 12;
    pub const UUID: u8 = 13;
}

/// Limit of nesting: structures in a header are two levels deep, so deeper ones are damage.
const MOST_DEPTH: u32 = 8;

impl HeaderInput<'_> {
    fn byte(&mut self) -> Parsed<u8> {
        let byte = *self.bytes.get(self.at).ok_or(HeaderTrouble::Short)?;
        self.at += 1;
        Ok(byte)
    }

    fn skip(&mut self, count: u64) -> Parsed<()> {
        let left = (self.bytes.len() - self.at) as u64;
        if count > left {
            return Err(HeaderTrouble::Short);
        }
        self.at += count as usize;
        Ok(())
    }

    fn varint(&mut self) -> Parsed<u64> {
        let mut value = 0u64;
        for shift in (0..70).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f).checked_shl(shift).unwrap_or(0);
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err(HeaderTrouble::Wrong("an integer is too long"))
    }

    fn int(&mut self) -> Parsed<i64> {
        let zigzag = self.varint()?;
        Ok((zigzag >> 1) as i64 ^ -((zigzag & 1) as i64))
    }

    fn i32(&mut self) -> Parsed<i32> {
        i32::try_from(self.int()?).map_err(|_| HeaderTrouble::Wrong("an integer is too large"))
    }

    fn count(&mut self) -> Parsed<usize> {
        usize::try_from(self.i32()?).map_err(|_| HeaderTrouble::Wrong("a count is negative"))
    }

    /// The type and number of the next field; `None` at the end of the structure.
    fn field(&mut self, last: &mut i16) -> Parsed<Option<(u8, i16)>> {
        let byte = self.byte()?;
        let kind = byte & 0x0f;
        if kind == 0 {
            return Ok(None);
        }
        let delta = i16::from(byte >> 4);
        let id = if delta == 0 { self.int()? as i16 } else { last.wrapping_add(delta) };
        *last = id;
        Ok(Some((kind, id)))
    }

    fn skip_value(&mut self, kind: u8, depth: u32) -> Parsed<()> {
        if depth > MOST_DEPTH {
            return Err(HeaderTrouble::Wrong("it is nested too deeply"));
        }
        match kind {
            wire::TRUE | wire::FALSE => Ok(()),
            wire::BYTE => self.skip(1),
            wire::I16 | wire::I32 | wire::I64 => self.varint().map(drop),
            wire::DOUBLE => self.skip(8),
            wire::UUID => self.skip(16),
            wire::BINARY => {
                let length = self.varint()?;
                self.skip(length)
            }
            wire::LIST | wire::SET => {
                let byte = self.byte()?;
                let count = if byte >> 4 == 15 { self.varint()? } else { u64::from(byte >> 4) };
                self.skip_elements(byte & 0x0f, count, depth)
            }
            wire::MAP => {
                let count = self.varint()?;
                if count == 0 {
                    return Ok(());
                }
                let kinds = self.byte()?;
                for _ in 0..count {
                    self.skip_elements(kinds >> 4, 1, depth)?;
                    self.skip_elements(kinds & 0x0f, 1, depth)?;
                }
                Ok(())
            }
            wire::STRUCT => {
                let mut last = 0;
                while let Some((kind, _)) = self.field(&mut last)? {
                    self.skip_value(kind, depth + 1)?;
                }
                Ok(())
            }
            _ => Err(HeaderTrouble::Wrong("it has a field of an unknown type")),
        }
    }

    fn skip_elements(&mut self, kind: u8, count: u64, depth: u32) -> Parsed<()> {
        // Booleans take a byte each in a list, and nothing as a field. Every element takes one byte at least, so
        // a false count runs into the end.
        if matches!(kind, wire::TRUE | wire::FALSE) {
            return self.skip(count);
        }
        for _ in 0..count {
            self.skip_value(kind, depth + 1)?;
        }
        Ok(())
    }
}

fn page_header(input: &mut HeaderInput<'_>) -> Parsed<PageHeader> {
    let (mut kind, mut plain, mut stored, mut crc) = (None, None, None, None);
    let (mut data, mut dictionary, mut data_v2) = (None, None, None);
    let mut last = 0;
    while let Some((wire, id)) = input.field(&mut last)? {
        match (wire, id) {
            (wire::I32, 1) => kind = Some(input.i32()?),
            (wire::I32, 2) => plain = Some(input.count()?),
            (wire::I32, 3) => stored = Some(input.count()?),
            (wire::I32, 4) => crc = Some(input.i32()? as u32),
            (wire::STRUCT, 5) => data = Some(data_header(input)?),
            (wire::STRUCT, 7) => dictionary = Some(data_header(input)?),
            (wire::STRUCT, 8) => data_v2 = Some(data_header_v2(input)?),
            (wire, _) => input.skip_value(wire, 0)?,
        }
    }
    let missing = HeaderTrouble::Wrong("a field is missing");
    let (Some(plain_bytes), Some(stored_bytes)) = (plain, stored) else { return Err(missing) };
    let (kind, values, encoding) = match (kind, data, dictionary, data_v2) {
        (Some(0), Some((values, encoding, definition_encoding)), _, _) => {
            (PageKind::Data { definition_encoding }, values, encoding)
        }
        (Some(2), _, Some((values, encoding, _)), _) => (PageKind::Dictionary, values, encoding),
        (Some(3), _, _, Some(parts)) => parts,
        (Some(0 | 2 | 3) | None, _, _, _) => return Err(missing),
        (Some(_), _, _, _) => (PageKind::Other, 0, 0),
    };
    Ok(PageHeader { kind, values, encoding, stored_bytes, plain_bytes, crc })
}

/// The number of values, their encoding, and the encoding of definition levels. A dictionary's header starts with the
/// same fields.
fn data_header(input: &mut HeaderInput<'_>) -> Parsed<(usize, i32, i32)> {
    let (mut values, mut encoding, mut definition) = (None, None, 3);
    let mut last = 0;
    while let Some((wire, id)) = input.field(&mut last)? {
        match (wire, id) {
            (wire::I32, 1) => values = Some(input.count()?),
            (wire::I32, 2) => encoding = Some(input.i32()?),
            (wire::I32, 3) => definition = input.i32()?,
            (wire, _) => input.skip_value(wire, 0)?,
        }
    }
    match (values, encoding) {
        (Some(values), Some(encoding)) => Ok((values, encoding, definition)),
        _ => Err(HeaderTrouble::Wrong("a field is missing")),
    }
}

fn data_header_v2(input: &mut HeaderInput<'_>) -> Parsed<(PageKind, usize, i32)> {
    let (mut values, mut nulls, mut encoding, mut definition, mut repetition) = (None, None, None, None, None);
    let mut is_compressed = true;
    let mut last = 0;
    while let Some((wire, id)) = input.field(&mut last)? {
        match (wire, id) {
            (wire::I32, 1) => values = Some(input.count()?),
            (wire::I32, 2) => nulls = Some(input.count()?),
            (wire::I32, 4) => encoding = Some(input.i32()?),
            (wire::I32, 5) => definition = Some(input.count()?),
            (wire::I32, 6) => repetition = Some(input.count()?),
            (wire::TRUE, 7) => is_compressed = true,
            (wire::FALSE, 7) => is_compressed = false,
            (wire, _) => input.skip_value(wire, 0)?,
        }
    }
    match (values, nulls, encoding, definition, repetition) {
        (Some(values), Some(nulls), Some(encoding), Some(definition_bytes), Some(repetition_bytes)) => {
            Ok((PageKind::DataV2 { definition_bytes, repetition_bytes, nulls, is_compressed }, values, encoding))
        }
        _ => Err(HeaderTrouble::Wrong("a field is missing")),
    }
}

#[cfg(test)]
mod tests;
