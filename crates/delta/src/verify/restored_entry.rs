//! Copies of an entry that is damaged, and the proof that a copy is the entry.

use bytes::Bytes;
use lakerace_io::{ObjectInfo, Result};

use super::state::EntryActions;
use crate::Table;
use crate::log::completeness::{check_entry, is_counted};

/// The beginning of Hadoop's checksum files.
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

impl EntryCopy {
    /// The copies of an entry: files whose names begin with the entry's, such as `NAME.json.bak`.
    pub fn find(table: &Table, folder: &[ObjectInfo], entry: &str) -> Result<Vec<Self>> {
        let mut copies = Vec::new();
        for info in folder {
            let Some(name) = info.path.filename() else { continue };
            let rest = name.trim_start_matches('.').strip_prefix(entry);
            if name == entry || rest.is_none_or(|rest| rest == ".crc") {
                continue;
            }
            let bytes = table.store().object(info.path.clone()).read_range(0..info.size_bytes)?;
            if check_entry(&bytes).is_err() {
                continue;
            }
            if let Ok(actions) = EntryActions::parse(&bytes) {
                copies.push(Self { entry: entry.to_owned(), name: name.to_owned(), bytes, actions });
            }
        }
        Ok(copies)
    }

    /// The reason for which this copy is the entry: by what is left of it, by Hadoop's checksums of it, or by the transaction that
    /// the version's checksum file names. `None`: nothing proves it yet.
    pub fn proof(&self, left: &Bytes, checksums: Option<&Bytes>, transaction: Option<&str>) -> Option<String> {
        match checksums.map(|checksums| matches_checksums(&self.bytes, checksums)) {
            Some(true) => return Some("the entry's checksum file has its checksums".to_owned()),
            Some(false) => return None,
            None => {}
        }
        if left.len() >= SHARED_BYTES && self.bytes.starts_with(left) && is_counted(&self.bytes) {
            return Some(
                "it begins with what is left of the entry, and has all actions that this announces".to_owned(),
            );
        }
        let own = self.actions.transaction.as_deref()?;
        (transaction == Some(own)).then(|| "the version's checksum file names its transaction".to_owned())
    }
}

/// Whether bytes have the checksums of Hadoop's file for them. Format: `crc\0`, the bytes of a block as a big-endian 32-bit number, and
/// a CRC-32 of each block.
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
