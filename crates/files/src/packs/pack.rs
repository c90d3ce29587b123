//! Packs: immutable objects that hold the contents of many files.
//!
//! A pack is [`MAGIC`], stored bytes one after the other, a footer, XXH3-64 of the footer and its length, 8
//! little-endian bytes each, and [`MAGIC`] again. The footer is JSON lines, compressed by Zstandard: name, number of
//! the part, start, length and encoding of each content. Reads do not need the footer: it describes the contents of a
//! pack for the case that the index is lost.

use std::sync::Mutex;

use bytes::Bytes;
use lakerace_io::{Error, Result};
use serde::Serialize;
use xxhash_rust::xxh3::xxh3_64;

use crate::index::Segment;
use crate::random;

/// The first and the last bytes of a pack.
pub(super) const MAGIC: &[u8; 8] = b"LRPACK01";

/// The stored bytes from which on a pack is full.
pub(super) const PACK_BYTES: usize = 12 << 20;

const FOOTER_LEVEL: i32 = 3;

/// A pack that is being filled.
#[derive(Debug)]
pub(super) struct OpenPack {
    pub(super) id: u128,
    bytes: Vec<u8>,
    footer: Vec<u8>,
}

/// A full pack, on its way to the store.
#[derive(Debug)]
pub(super) struct SealedPack {
    pub(super) id: u128,
    pub(super) bytes: Bytes,
    /// True if the pack is in the store; locked while it is sent.
    pub(super) is_sent: Mutex<bool>,
}

#[derive(Serialize)]
struct FooterLine<'a> {
    name: &'a str,
    part: u64,
    start: u64,
    len: u32,
    size: usize,
    encoding: &'a str,
}

/// The stored form of a content's part.
pub(super) struct StoredPart<'a> {
    pub(super) name: &'a str,
    pub(super) number: u64,
    pub(super) size: usize,
    pub(super) encoding: &'a str,
    pub(super) stored: &'a [u8],
}

impl OpenPack {
    pub(super) fn new() -> Result<Self> {
        let mut id = [0; 16];
        random::fill(&mut id)?;
        Ok(Self { id: u128::from_le_bytes(id), bytes: MAGIC.to_vec(), footer: Vec::new() })
    }

    pub(super) fn add(&mut self, part: &StoredPart<'_>) -> Result<Segment> {
        let start = self.bytes.len() as u64;
        let len = u32::try_from(part.stored.len()).map_err(|_| Error::internal("a part exceeds 4 GiB"))?;
        let StoredPart { name, number, size, encoding, .. } = *part;
        let line = FooterLine { name, part: number, start, len, size, encoding };
        serde_json::to_writer(&mut self.footer, &line).map_err(Error::unexpected)?;
        self.footer.push(b'\n');
        self.bytes.extend_from_slice(part.stored);
        Ok(Segment { pack: self.id, start, len, check_sum: check_sum(part.stored) })
    }

    pub(super) fn is_full(&self) -> bool {
        self.bytes.len() >= PACK_BYTES
    }

    pub(super) fn stored(&self, start: u64, len: u32) -> Option<&[u8]> {
        let start = usize::try_from(start).ok()?;
        self.bytes.get(start..start.checked_add(len as usize)?)
    }

    pub(super) fn seal(mut self) -> Result<SealedPack> {
        let footer = zstd::bulk::compress(&self.footer, FOOTER_LEVEL).map_err(Error::from)?;
        self.bytes.extend_from_slice(&footer);
        self.bytes.extend_from_slice(&xxh3_64(&footer).to_le_bytes());
        self.bytes.extend_from_slice(&(footer.len() as u64).to_le_bytes());
        self.bytes.extend_from_slice(MAGIC);
        Ok(SealedPack { id: self.id, bytes: self.bytes.into(), is_sent: Mutex::new(false) })
    }
}

/// The check sum that a segment keeps of its stored bytes.
pub(super) fn check_sum(stored: &[u8]) -> u32 {
    xxh3_64(stored) as u32
}
