//! Footers with fields that are not of the format.
//!
//! Some writers use field numbers of their own, which the format has given to other things since: Dremio's files have a
//! list where `ColumnMetaData` has the length of a bloom filter. Readers made by the Thrift compiler skip a field whose
//! type is not the one that they expect; the parquet crate reads on in the wrong place. So such fields are cut out, and so
//! are types that the format does not have.
//!
//! Sources: Apache Thrift, `thrift-compact-protocol.md`; parquet-format, `parquet.thrift`.

use std::collections::BTreeSet;

/// Types of the compact protocol.
pub(super) mod wire {
    pub(crate) const STOP: u8 = 0;
    pub(crate) const TRUE: u8 = 1;
    pub(crate) const FALSE: u8 = 2;
    pub(crate) const I8: u8 = 3;
    pub(crate) const I16: u8 = 4;
    pub(crate) const I32: u8 = 5;
    pub(crate) const I64: u8 = 6;
    pub(crate) const DOUBLE: u8 = 7;
    pub(crate) const BINARY: u8 = 8;
    pub(crate) const LIST: u8 = 9;
    pub(crate) const SET: u8 = 10;
    pub(crate) const MAP: u8 = 11;
    pub(crate) const STRUCT: u8 = 12;
    pub(crate) const UUID: u8 = 13;
}

/// The last `ConvertedType` of the format, INTERVAL. Old writers had types of their own after it: parquet-cpp marked
/// columns of nulls so. Without it a column is of its physical type.
const LAST_CONVERTED_TYPE: i64 = 21;

/// Structs in structs beyond this are refused. The format has fewer than ten.
const DEPTH_AT_MOST: usize = 32;

/// The footer without the fields whose type differs from the format's. `None` if there is no such field, or if the
/// bytes are not a footer.
pub(crate) fn without_wrong_fields(footer: &[u8]) -> Option<Vec<u8>> {
    let mut mender = FooterMender::new(footer);
    mender.structure(ThriftStruct::File)?;
    (mender.cut > 0).then_some(mender.out)
}

/// The leaf columns that are encrypted under a footer that is not. Such a footer is signed: 28 bytes lie between its
/// end, which is a zero, and the trailer. Other footers are not checked.
pub(crate) fn encrypted_leaves(footer: &[u8]) -> BTreeSet<usize> {
    const SIGNATURE_BYTES: usize = 28;
    let last = footer.len().checked_sub(SIGNATURE_BYTES + 1).and_then(|at| footer.get(at));
    let mut mender = FooterMender::new(footer);
    if last == Some(&wire::STOP) && mender.structure(ThriftStruct::File).is_some() {
        return mender.encrypted;
    }
    BTreeSet::new()
}

/// The field of a column chunk with the key by which it is encrypted.
const CRYPTO_METADATA: i16 = 8;

/// The structs whose fields are checked.
#[derive(Debug, Clone, Copy)]
enum ThriftStruct {
    File,
    SchemaElement,
    RowGroup,
    Chunk,
    ChunkMetaData,
}

/// The content of a field.
#[derive(Debug, Clone, Copy)]
enum Field {
    /// A value of this type, kept unchanged.
    Plain(u8),
    /// A number of 32 bits from 0 to this one, kept unchanged.
    UpTo(i64),
    /// A list of this type, kept unchanged.
    ListOf(u8),
    /// A list of structs whose fields are checked.
    Structs(ThriftStruct),
    /// A struct whose fields are checked.
    One(ThriftStruct),
}

impl ThriftStruct {
    /// The format's field with this number; `None` if there is none.
    fn field(self, id: i16) -> Option<Field> {
        use Field::{ListOf, One, Plain, Structs, UpTo};
        Some(match (self, id) {
            (Self::File, 1) => Plain(wire::I32),
            (Self::File, 3) => Plain(wire::I64),
            (Self::File, 4) => Structs(Self::RowGroup),
            (Self::File, 2) => Structs(Self::SchemaElement),
            (Self::File, 5 | 7) => ListOf(wire::STRUCT),
            (Self::File, 6 | 9) => Plain(wire::BINARY),
            (Self::File, 8) => Plain(wire::STRUCT),
            (Self::SchemaElement, 1..=3 | 5 | 7..=9) => Plain(wire::I32),
            (Self::SchemaElement, 4) => Plain(wire::BINARY),
            (Self::SchemaElement, 6) => UpTo(LAST_CONVERTED_TYPE),
            (Self::SchemaElement, 10) => Plain(wire::STRUCT),
            (Self::RowGroup, 1) => Structs(Self::Chunk),
            (Self::RowGroup, 2 | 3 | 5 | 6) => Plain(wire::I64),
            (Self::RowGroup, 4) => ListOf(wire::STRUCT),
            (Self::RowGroup, 7) => Plain(wire::I16),
            (Self::Chunk, 1 | 9) => Plain(wire::BINARY),
            (Self::Chunk, 2 | 4 | 6) => Plain(wire::I64),
            (Self::Chunk, 3) => One(Self::ChunkMetaData),
            (Self::Chunk, 5 | 7) => Plain(wire::I32),
            (Self::Chunk, 8) => Plain(wire::STRUCT),
            (Self::ChunkMetaData, 1 | 4 | 15) => Plain(wire::I32),
            (Self::ChunkMetaData, 2) => ListOf(wire::I32),
            (Self::ChunkMetaData, 3) => ListOf(wire::BINARY),
            (Self::ChunkMetaData, 5..=7 | 9..=11 | 14) => Plain(wire::I64),
            (Self::ChunkMetaData, 8 | 13) => ListOf(wire::STRUCT),
            (Self::ChunkMetaData, 12 | 16 | 17) => Plain(wire::STRUCT),
            _ => return None,
        })
    }
}

/// Copies a footer, field by field. All methods give `None` where the bytes end early or make no sense.
pub(super) struct FooterMender<'a> {
    pub(super) input: &'a [u8],
    pub(super) at: usize,
    out: Vec<u8>,
    /// Fields left out.
    cut: usize,
    /// The number of the column chunk in its row group.
    chunk: usize,
    /// The numbers of those that are encrypted.
    encrypted: BTreeSet<usize>,
}

impl<'a> FooterMender<'a> {
    pub(super) fn new(footer: &'a [u8]) -> Self {
        let out = Vec::with_capacity(footer.len());
        Self { input: footer, at: 0, out, cut: 0, chunk: 0, encrypted: BTreeSet::new() }
    }

    fn structure(&mut self, kind: ThriftStruct) -> Option<()> {
        let (mut last, mut last_kept) = (0i16, 0i16);
        loop {
            let Some((id, found)) = self.next_field(last)? else {
                self.out.push(wire::STOP);
                return Some(());
            };
            last = id;
            if matches!(kind, ThriftStruct::Chunk) && id == CRYPTO_METADATA {
                self.encrypted.insert(self.chunk);
            }
            let expected = kind.field(id);
            if expected.is_some_and(|field| !self.fits(field, found)) {
                self.skip(found, 0)?;
                self.cut += 1;
                continue;
            }
            self.field_header(id, last_kept, found);
            last_kept = id;
            match expected {
                Some(Field::Structs(kind)) => self.structures(kind)?,
                Some(Field::One(kind)) => self.structure(kind)?,
                _ => {
                    let start = self.at;
                    self.skip(found, 0)?;
                    self.out.extend_from_slice(&self.input[start..self.at]);
                }
            }
        }
    }

    /// The number and the type of the next field after the one of number `last`; `None` within, at the end of the struct.
    pub(super) fn next_field(&mut self, last: i16) -> Option<Option<(i16, u8)>> {
        let header = self.byte()?;
        let found = header & 0x0f;
        if found == wire::STOP {
            return Some(None);
        }
        let id = match header >> 4 {
            0 => i16::try_from(zigzag(self.varint()?)).ok()?,
            step => last.checked_add(i16::from(step))?,
        };
        Some(Some((id, found)))
    }

    fn structures(&mut self, kind: ThriftStruct) -> Option<()> {
        let start = self.at;
        let (_, count) = self.list_header()?;
        self.out.extend_from_slice(&self.input[start..self.at]);
        (0..count).try_for_each(|number| {
            if matches!(kind, ThriftStruct::Chunk) {
                self.chunk = usize::try_from(number).ok()?;
            }
            self.structure(kind)
        })
    }

    /// Returns true if a field of type `found` that starts here matches the format's definition.
    fn fits(&self, field: Field, found: u8) -> bool {
        let (outer, inner) = match field {
            Field::Plain(expected) => (expected, None),
            Field::UpTo(last) => return found == wire::I32 && (0..=last).contains(&self.number()),
            Field::One(_) => (wire::STRUCT, None),
            Field::ListOf(inner) => (wire::LIST, Some(inner)),
            Field::Structs(_) => (wire::LIST, Some(wire::STRUCT)),
        };
        // An empty list may name any type.
        let list_fits =
            |inner| self.input.get(self.at).is_some_and(|header| header & 0x0f == inner || header >> 4 == 0);
        found == outer && inner.is_none_or(list_fits)
    }

    /// The number that starts here; -1 if there is none.
    pub(super) fn number(&self) -> i64 {
        let mut ahead = FooterMender { at: self.at, ..FooterMender::new(&[]) };
        ahead.input = self.input;
        ahead.varint().map_or(-1, zigzag)
    }

    fn field_header(&mut self, id: i16, last: i16, found: u8) {
        match id.checked_sub(last) {
            Some(step @ 1..=15) => self.out.push((step as u8) << 4 | found),
            _ => {
                self.out.push(found);
                let id = i32::from(id);
                let mut rest = ((id << 1) ^ (id >> 31)) as u32;
                while rest >= 0x80 {
                    self.out.push(rest as u8 | 0x80);
                    rest >>= 7;
                }
                self.out.push(rest as u8);
            }
        }
    }

    /// Type and count of the elements of a list.
    pub(super) fn list_header(&mut self) -> Option<(u8, u64)> {
        let header = self.byte()?;
        let count = if header >> 4 == 15 { self.varint()? } else { u64::from(header >> 4) };
        Some((header & 0x0f, count))
    }

    pub(super) fn skip(&mut self, found: u8, depth: usize) -> Option<()> {
        if depth > DEPTH_AT_MOST {
            return None;
        }
        match found {
            wire::TRUE | wire::FALSE => Some(()),
            wire::I8 => self.pass(1),
            wire::I16 | wire::I32 | wire::I64 => self.varint().map(drop),
            wire::DOUBLE => self.pass(8),
            wire::UUID => self.pass(16),
            wire::BINARY => {
                let length = self.varint()?;
                self.pass(length)
            }
            wire::LIST | wire::SET => {
                let (inner, count) = self.list_header()?;
                (0..count).try_for_each(|_| self.skip_element(inner, depth))
            }
            wire::MAP => {
                let count = self.varint()?;
                let types = if count == 0 { 0 } else { self.byte()? };
                (0..count).try_for_each(|_| {
                    self.skip_element(types >> 4, depth)?;
                    self.skip_element(types & 0x0f, depth)
                })
            }
            wire::STRUCT => loop {
                let header = self.byte()?;
                if header & 0x0f == wire::STOP {
                    return Some(());
                }
                if header >> 4 == 0 {
                    self.varint()?;
                }
                self.skip(header & 0x0f, depth + 1)?;
            },
            _ => None,
        }
    }

    /// An element of a list, a set or a map, where booleans take a byte.
    fn skip_element(&mut self, found: u8, depth: usize) -> Option<()> {
        if matches!(found, wire::TRUE | wire::FALSE) { self.pass(1) } else { self.skip(found, depth + 1) }
    }

    pub(super) fn byte(&mut self) -> Option<u8> {
        let byte = *self.input.get(self.at)?;
        self.at += 1;
        Some(byte)
    }

    fn pass(&mut self, bytes: u64) -> Option<()> {
        let end = self.at.checked_add(usize::try_from(bytes).ok()?)?;
        self.at = Some(end).filter(|end| *end <= self.input.len())?;
        Some(())
    }

    pub(super) fn varint(&mut self) -> Option<u64> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Some(value);
            }
        }
        None
    }
}

pub(super) fn zigzag(value: u64) -> i64 {
    (value >> 1) as i64 ^ -((value & 1) as i64)
}

#[cfg(test)]
mod tests;
