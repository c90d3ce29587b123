//! The names that separate the pages of `files`, read from the file directly: where SQLite stops at a damaged page,
//! they give the start of the next sound one. The format is SQLite's, <https://www.sqlite.org/fileformat2.html>.

use std::collections::HashSet;

use rusqlite::Connection;

use super::connect::read_at;

/// An interior page of an index, which a table without row numbers is.
const INTERIOR_INDEX: u8 = 2;

/// Deeper trees have more pages than a file may have.
const MAX_DEPTH: usize = 20;

/// The names in the interior pages below page `root`, in order. Damaged pages are skipped.
pub(super) fn separators(connection: &Connection, root: u32, page_bytes: usize) -> Vec<Vec<u8>> {
    let mut found = Vec::new();
    let mut walk = TreePageWalk { connection, page_bytes, seen: HashSet::new() };
    walk.page(root, 0, &mut found);
    found.sort();
    found.dedup();
    found
}

struct TreePageWalk<'c> {
    connection: &'c Connection,
    page_bytes: usize,
    seen: HashSet<u32>,
}

impl TreePageWalk<'_> {
    fn page(&mut self, number: u32, depth: usize, found: &mut Vec<Vec<u8>>) {
        if number == 0 || depth > MAX_DEPTH || !self.seen.insert(number) {
            return;
        }
        let mut page = vec![0; self.page_bytes];
        let at = u64::from(number - 1) * self.page_bytes as u64;
        if !read_at(self.connection, &mut page, at) || page[0] != INTERIOR_INDEX {
            return;
        }
        let cells = usize::from(u16::from_be_bytes([page[3], page[4]]));
        for cell in 0..cells {
            let Some(offset) = page.get(12 + 2 * cell..14 + 2 * cell) else { break };
            let offset = usize::from(u16::from_be_bytes([offset[0], offset[1]]));
            let Some((left, rest)) = page.get(offset..).and_then(<[u8]>::split_first_chunk::<4>) else { continue };
            let name = self.name(rest).map(<[u8]>::to_vec);
            self.page(u32::from_be_bytes(*left), depth + 1, found);
            found.extend(name);
        }
        if let Some(right) = page.get(8..12).and_then(<[u8]>::first_chunk::<4>) {
            self.page(u32::from_be_bytes(*right), depth + 1, found);
        }
    }

    /// The first column of a cell after its left child; only its start if it continues in other pages.
    fn name<'a>(&self, cell: &'a [u8]) -> Option<&'a [u8]> {
        let (payload, at) = varint(cell)?;
        let local = self.local(usize::try_from(payload).ok()?);
        let record = cell.get(at..)?;
        let record = &record[..record.len().min(local)];
        let (header, first) = varint(record)?;
        let (kind, _) = varint(record.get(first..)?)?;
        // Texts have odd numbers from 13 on.
        let length = usize::try_from(kind.checked_sub(13).filter(|rest| rest % 2 == 0)? / 2).ok()?;
        let name = record.get(usize::try_from(header).ok()?..)?;
        Some(&name[..name.len().min(length)])
    }

    /// How many bytes of a payload are in the page itself.
    fn local(&self, payload: usize) -> usize {
        let usable = self.page_bytes;
        let (most, least) = ((usable - 12) * 64 / 255 - 23, (usable - 12) * 32 / 255 - 23);
        if payload <= most {
            return payload;
        }
        let wanted = least + (payload - least) % (usable - 4);
        if wanted <= most { wanted } else { least }
    }
}

/// A number of one to nine bytes, and how many these are.
fn varint(bytes: &[u8]) -> Option<(u64, usize)> {
    let mut value = 0_u64;
    for (at, byte) in bytes.iter().take(9).enumerate() {
        if at == 8 {
            return Some(((value << 8) | u64::from(*byte), 9));
        }
        value = (value << 7) | u64::from(byte & 0x7f);
        if byte & 0x80 == 0 {
            return Some((value, at + 1));
        }
    }
    None
}
