//! The frame of a container file: its header, and the frames of its blocks.
//!
//! A header is a mark, a map of texts to bytes with the schema and the codec, and a sync marker of 16 random bytes. A block is
//! a number of rows, a number of bytes, these bytes, and the sync marker again.

use std::io::{BufRead, Read};

use bytes::Bytes;
use lakerace_io::{Error, Result};

use super::codec::MAX_BLOCK_BYTES;

/// The first bytes of a file.
pub(super) const MAGIC: &[u8] = b"Obj\x01";

/// Bytes of a sync marker.
const SYNC_BYTES: usize = 16;

/// The most bytes of an integer.
const MAX_VARINT_BYTES: usize = 10;

/// The key of the schema in a header.
const SCHEMA: &str = "avro.schema";

/// The key of the codec in a header.
const CODEC: &str = "avro.codec";

/// The random bytes that end the header and each block of a file.
pub(super) type SyncMarker = [u8; SYNC_BYTES];

/// The header of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FileHeader {
    /// The metadata, in the order of the file.
    pub metadata: Vec<(String, Bytes)>,
    pub sync: SyncMarker,
    /// Bytes of the header.
    pub length: u64,
}

impl FileHeader {
    /// The header at the start of a file; `None` where more bytes are needed.
    ///
    /// # Errors
    /// `Corrupt` for other bytes.
    pub fn parse(front: &Bytes) -> Result<Option<Self>> {
        let mut rest = front.clone();
        match Self::take(&mut rest) {
            Ok((metadata, sync)) => {
                let length = (front.len() - rest.len()) as u64;
                Ok(Some(Self { metadata, sync, length }))
            }
            Err(HeaderFault::Short) => Ok(None),
            Err(HeaderFault::Wrong(message)) => {
                Err(Error::corrupt(message).at(format!("header, byte {}", front.len() - rest.len())))
            }
        }
    }

    fn take(rest: &mut Bytes) -> Result<(Vec<(String, Bytes)>, SyncMarker), HeaderFault> {
        let n = rest.len().min(MAGIC.len());
        if rest[..n] != MAGIC[..n] {
            return Err(HeaderFault::Wrong("it does not start as an Avro file does, with Obj and a 1".to_owned()));
        }
        take_bytes(rest, MAGIC.len())?;
        let mut metadata = Vec::new();
        loop {
            let count = take_long(rest)?;
            if count == 0 {
                break;
            }
            if count < 0 {
                // The bytes of the entries follow, for readers that skip them.
                take_long(rest)?;
            }
            for _ in 0..count.unsigned_abs() {
                let key = take_sized(rest)?;
                let key = String::from_utf8(key.to_vec())
                    .map_err(|_| HeaderFault::Wrong("a key of the metadata is not valid UTF-8".to_owned()))?;
                metadata.push((key, take_sized(rest)?));
            }
        }
        let mut sync = SyncMarker::default();
        sync.copy_from_slice(&take_bytes(rest, SYNC_BYTES)?);
        Ok((metadata, sync))
    }

    fn get(&self, key: &str) -> Option<&Bytes> {
        self.metadata.iter().find(|(known, _)| known == key).map(|(_, value)| value)
    }

    /// The text of the schema.
    ///
    /// # Errors
    /// `Corrupt` where there is none.
    pub fn schema(&self) -> Result<&str> {
        let bytes = self.get(SCHEMA).ok_or_else(|| Error::corrupt("the header has no schema"))?;
        std::str::from_utf8(bytes).map_err(|_| Error::corrupt("the schema in the header is not valid UTF-8"))
    }

    /// The name of the codec; none where the header does not name one.
    pub fn codec(&self) -> Option<&[u8]> {
        self.get(CODEC).map(AsRef::as_ref)
    }

    /// The metadata of programs, as far as it is text.
    pub fn notes(&self) -> impl Iterator<Item = (String, String)> {
        let own = self.metadata.iter().filter(|(key, _)| !is_reserved(key));
        own.filter_map(|(key, value)| Some((key.clone(), String::from_utf8(value.to_vec()).ok()?)))
    }

    /// The bytes of a header with this metadata.
    pub fn encode<'a>(
        schema: &'a str,
        codec: &'a str,
        notes: impl Iterator<Item = (&'a str, &'a str)>,
        sync: &SyncMarker,
    ) -> Vec<u8> {
        let notes = notes.filter(|(key, _)| !is_reserved(key));
        let entries: Vec<(&str, &str)> = [(SCHEMA, schema), (CODEC, codec)].into_iter().chain(notes).collect();
        let mut header = MAGIC.to_vec();
        put_long(entries.len() as i64, &mut header);
        for text in entries.into_iter().flat_map(|(key, value)| [key, value]) {
            put_long(text.len() as i64, &mut header);
            header.extend_from_slice(text.as_bytes());
        }
        put_long(0, &mut header);
        header.extend_from_slice(sync);
        header
    }
}

/// Returns true for keys that the format keeps for itself.
fn is_reserved(key: &str) -> bool {
    key.starts_with("avro.")
}

/// The reason why a header can't be taken.
enum HeaderFault {
    /// More bytes are needed.
    Short,
    Wrong(String),
}

fn take_bytes(rest: &mut Bytes, n: usize) -> Result<Bytes, HeaderFault> {
    if rest.len() < n { Err(HeaderFault::Short) } else { Ok(rest.split_to(n)) }
}

fn take_sized(rest: &mut Bytes) -> Result<Bytes, HeaderFault> {
    let length = take_long(rest)?;
    let length = usize::try_from(length).map_err(|_| HeaderFault::Wrong(format!("a length is {length}")))?;
    take_bytes(rest, length)
}

fn take_long(rest: &mut Bytes) -> Result<i64, HeaderFault> {
    let front = &rest[..rest.len().min(MAX_VARINT_BYTES)];
    match front.iter().position(|byte| byte & 0x80 == 0) {
        Some(last) => {
            let bytes = rest.split_to(last + 1);
            long_of(&bytes).ok_or_else(|| HeaderFault::Wrong("an integer has more than 64 bits".to_owned()))
        }
        None if front.len() < MAX_VARINT_BYTES => Err(HeaderFault::Short),
        None => Err(HeaderFault::Wrong("an integer has more than 64 bits".to_owned())),
    }
}

/// The integer that these bytes, all of them, stand for.
pub(super) fn long_of(bytes: &[u8]) -> Option<i64> {
    let mut value = 0_u64;
    for (at, byte) in bytes.iter().enumerate() {
        if at == MAX_VARINT_BYTES - 1 && *byte > 1 {
            return None;
        }
        value |= u64::from(byte & 0x7f) << (7 * at);
    }
    Some((value >> 1) as i64 ^ -((value & 1) as i64))
}

/// Appends an integer.
pub(super) fn put_long(value: i64, out: &mut Vec<u8>) {
    let mut left = ((value << 1) ^ (value >> 63)) as u64;
    while left > 0x7f {
        out.push(left as u8 | 0x80);
        left >>= 7;
    }
    out.push(left as u8);
}

/// Appends a block: its frame, and the packed rows within.
pub(super) fn put_block(rows: u64, packed: &[u8], sync: &SyncMarker, out: &mut Vec<u8>) {
    out.reserve(packed.len() + SYNC_BYTES + 2 * MAX_VARINT_BYTES);
    put_long(rows as i64, out);
    put_long(packed.len() as i64, out);
    out.extend_from_slice(packed);
    out.extend_from_slice(sync);
}

/// A block as stored.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct StoredBlock {
    /// The position of its first byte in the file.
    pub at: u64,
    pub rows: u64,
    /// The packed rows.
    pub packed: Vec<u8>,
}

/// The blocks of a file, in order.
pub(super) struct BlockScanner {
    bytes: Box<dyn BufRead + Send>,
    at: u64,
    /// The size of the file, where it is known.
    size: Option<u64>,
    sync: SyncMarker,
}

impl BlockScanner {
    /// Starts at the first block, whose position is given.
    pub fn new(bytes: Box<dyn BufRead + Send>, at: u64, size: Option<u64>, sync: SyncMarker) -> Self {
        Self { bytes, at, size, sync }
    }

    /// The next block; none at the end of the file.
    ///
    /// # Errors
    /// `Corrupt`, naming the position of the block, for a file that ends within one and for a wrong sync marker.
    pub fn next_block(&mut self) -> Result<Option<StoredBlock>> {
        let at = self.at;
        if self.bytes.fill_buf()?.is_empty() {
            return Ok(None);
        }
        self.block(at).map(Some).map_err(|error| error.at(format!("block at byte {at}")))
    }

    fn block(&mut self, at: u64) -> Result<StoredBlock> {
        let (rows, length) = (self.long()?, self.long()?);
        let rows = u64::try_from(rows).map_err(|_| Error::corrupt(format!("the block states {rows} rows")))?;
        let length = u64::try_from(length).map_err(|_| Error::corrupt(format!("the block states {length} bytes")))?;
        let left = self.size.map(|size| size.saturating_sub(self.at));
        if left.is_some_and(|left| length.saturating_add(SYNC_BYTES as u64) > left) {
            return Err(Error::corrupt(format!(
                "the file ends within the block, which states {length} bytes: it is truncated, or damaged"
            )));
        }
        if length > MAX_BLOCK_BYTES {
            return Err(Error::unsupported(format!("the block has {length} bytes, more than {MAX_BLOCK_BYTES}"))
                .advice("write the file with smaller blocks"));
        }
        // The length may be wrong: memory grows with the bytes that there are.
        let mut packed = Vec::new();
        self.bytes.by_ref().take(length).read_to_end(&mut packed)?;
        self.at += packed.len() as u64;
        let mut sync = Vec::new();
        self.bytes.by_ref().take(SYNC_BYTES as u64).read_to_end(&mut sync)?;
        self.at += sync.len() as u64;
        if packed.len() as u64 != length || sync.len() != SYNC_BYTES {
            return Err(truncated());
        }
        if sync != self.sync {
            return Err(Error::corrupt("the sync marker after the block is not that of the header")
                .advice("fetch or write the file again: it is damaged"));
        }
        Ok(StoredBlock { at, rows, packed })
    }

    fn long(&mut self) -> Result<i64> {
        let mut bytes = Vec::with_capacity(MAX_VARINT_BYTES);
        while bytes.len() < MAX_VARINT_BYTES {
            let mut byte = [0];
            if self.bytes.read(&mut byte)? == 0 {
                return Err(truncated());
            }
            self.at += 1;
            bytes.push(byte[0]);
            if byte[0] & 0x80 == 0 {
                break;
            }
        }
        let is_whole = bytes.last().is_some_and(|last| last & 0x80 == 0);
        let long = if is_whole { long_of(&bytes) } else { None };
        long.ok_or_else(|| Error::corrupt("an integer of the block has more than 64 bits"))
    }
}

fn truncated() -> Error {
    Error::corrupt("the file ends within the block: it is truncated")
}

#[cfg(test)]
mod tests;
