//! Copies of an entry that is damaged, and the proof that a copy is the entry.

use std::collections::HashMap;

use bytes::Bytes;
use lakerace_io::{ObjectInfo, Result};

use super::state::EntryActions;
use crate::log::completeness::{check_entry, is_counted};
use crate::table::Table;

/// The magic bytes of Hadoop's checksum files.
const MAGIC: &[u8] = b"crc\0";
/// Bytes of the copy that an unfinished entry must share with it at least: those in which writers name themselves.
const SHARED_BYTES: usize = 64;

/// A complete copy of an entry, next to it in the log.
pub(super) struct EntryCopy {
    /// The entry's name.
    pub entry: String,
    /// The copy's name.
    pub name: String,
    pub bytes: Bytes,
    pub actions: EntryActions,
}

/// Copies of entries by the entries' names: files whose names start with these, such as `NAME.json.bak`.
pub(super) fn copies_by_entry(folder: &[ObjectInfo]) -> HashMap<String, Vec<ObjectInfo>> {
    /// Digits of a version, and the ending.
    const NAME_BYTES: usize = 20 + ".json".len();
    let mut copies: HashMap<String, Vec<ObjectInfo>> = HashMap::new();
    for info in folder {
        let name = info.path.filename().unwrap_or_default();
        let Some((entry, rest)) = name.trim_start_matches('.').split_at_checked(NAME_BYTES) else { continue };
        if name != entry && rest != ".crc" && entry.ends_with(".json") {
            copies.entry(entry.to_owned()).or_default().push(info.clone());
        }
    }
    copies
}

impl EntryCopy {
    /// A copy, read; or why it is none.
    pub fn read(table: &Table, info: &ObjectInfo, entry: &str) -> Result<std::result::Result<Self, String>> {
        let bytes = table.store().object(info.path.clone()).read_range(0..info.size_bytes)?;
        if let Err(problem) = check_entry(&bytes) {
            return Ok(Err(problem));
        }
        let name = info.path.filename().unwrap_or_default().to_owned();
        Ok(match EntryActions::parse(&bytes) {
            Ok(actions) => Ok(Self { entry: entry.to_owned(), name, bytes, actions }),
            Err(error) => Err(error.message().to_owned()),
        })
    }

    /// The proof that this copy is the entry: the remaining bytes of the entry, Hadoop's checksums of it, or the
    /// transaction that the version's checksum file names. `None`: nothing proves it yet.
    pub fn proof(&self, left: &Bytes, checksums: Option<&Bytes>, transaction: Option<&str>) -> Option<String> {
        match checksums.map(|checksums| matches_checksums(&self.bytes, checksums)) {
            Some(true) => return Some("the entry's checksum file has its checksums".to_owned()),
            Some(false) => return None,
            None => {}
        }
        if left.len() >= SHARED_BYTES && self.bytes.starts_with(left) && is_counted(&self.bytes) {
            return Some("it starts with the remains of the entry, and has all actions that these announce".to_owned());
        }
        let own = self.actions.transaction.as_deref()?;
        (transaction == Some(own)).then(|| "the version's checksum file names its transaction".to_owned())
    }
}

/// Returns true if bytes have the checksums in Hadoop's file for them. Format: `crc\0`, the bytes of a block as a
/// big-endian 32-bit number, and a CRC-32 of each block.
pub(super) fn matches_checksums(bytes: &[u8], checksums: &[u8]) -> bool {
    let number = |bytes: &[u8]| bytes.try_into().map(u32::from_be_bytes).ok();
    let Some(rest) = checksums.strip_prefix(MAGIC) else { return false };
    let Some((block, sums)) = rest.split_at_checked(4) else { return false };
    let Some(block) = number(block).filter(|block| *block > 0) else { return false };
    let mut blocks = bytes.chunks(block as usize);
    let mut sums = sums.chunks_exact(4);
    let all = sums.by_ref().all(|sum| blocks.next().is_some_and(|block| number(sum) == Some(crc32(block))));
    all && blocks.next().is_none() && sums.remainder().is_empty()
}

fn crc32(bytes: &[u8]) -> u32 {
    let mut crc = flate2::Crc::new();
    crc.update(bytes);
    crc.sum()
}

#[cfg(test)]
mod tests;
