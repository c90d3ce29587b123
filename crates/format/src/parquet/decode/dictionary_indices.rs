//! Dictionary indexes of a page.

use lakerace_io::{Error, Result};

use super::block::PageBytes;
use super::error::page_ends;
use super::rle::{Hybrid, Runs, unpack};
use crate::exec::{RowSelection, compact};

/// Takes dictionary values by index.
pub(crate) trait Gather {
    /// Values in the dictionary.
    fn len(&self) -> usize;
    /// One value, `count` times. The index is below [`Self::len`].
    fn repeat(&mut self, index: u32, count: usize);
    /// Values one after the other. All indexes are below [`Self::len`].
    fn gather(&mut self, indexes: &[u32]);
}

/// The indexes of one page: a byte for their width, then a hybrid sequence.
pub(crate) struct Indexes {
    data: PageBytes,
    width: u32,
    hybrid: Hybrid,
}

/// Indexes that are unpacked at once: they stay in the first-level cache.
const CHUNK: usize = 1024;

impl Indexes {
    /// The indexes in the values of a page.
    pub fn new(data: PageBytes) -> Result<Self> {
        // A page of nulls alone may have no byte at all.
        let width = u32::from(data.first().copied().unwrap_or(0));
        Ok(Self { data, width, hybrid: Hybrid::new(width, 1)? })
    }

    /// Takes the next `count` values.
    pub fn read(&mut self, count: usize, gather: &mut impl Gather) -> Result<()> {
        let runs = Runner { gather, width: self.width };
        self.take(count, runs)
    }

    /// Takes those of the next `kept.len()` values that are kept.
    pub fn read_kept(&mut self, kept: RowSelection<'_>, gather: &mut impl Gather) -> Result<()> {
        let runs = KeptRunner { gather, width: self.width, kept };
        self.take(kept.len(), runs)
    }

    fn take(&mut self, count: usize, mut runs: impl Runs) -> Result<()> {
        if self.width == 0 {
            // The width leaves one index, and some writers leave the runs out then.
            return runs.repeated(0, count);
        }
        if count > 0 && self.data.is_empty() {
            return Err(page_ends());
        }
        self.hybrid.take(&self.data, count, &mut runs)
    }

    /// Passes over the next `count` values.
    pub fn skip(&mut self, count: usize) -> Result<()> {
        if self.width == 0 { Ok(()) } else { self.hybrid.skip(&self.data, count) }
    }
}

struct Runner<'a, G> {
    gather: &'a mut G,
    width: u32,
}

struct KeptRunner<'a, 'k, G> {
    gather: &'a mut G,
    width: u32,
    /// Of the values that are left.
    kept: RowSelection<'k>,
}

fn beyond(index: u32, len: usize) -> Error {
    Error::corrupt(format!("dictionary index {index} of a dictionary of {len} values"))
}

impl<G: Gather> Runs for Runner<'_, G> {
    fn repeated(&mut self, value: u32, count: usize) -> Result<()> {
        repeat(self.gather, value, count)
    }

    fn packed(&mut self, bytes: &[u8], bit: usize, count: usize) -> Result<()> {
        chunks(bytes, bit, self.width, count, self.gather.len(), |indexes| self.gather.gather(indexes))
    }
}

impl<G: Gather> Runs for KeptRunner<'_, '_, G> {
    fn repeated(&mut self, value: u32, count: usize) -> Result<()> {
        repeat(self.gather, value, self.kept.take(count).count())
    }

    fn packed(&mut self, bytes: &[u8], bit: usize, count: usize) -> Result<()> {
        chunks(bytes, bit, self.width, count, self.gather.len(), |indexes| {
            let kept = compact(indexes, self.kept.take(indexes.len()));
            self.gather.gather(&indexes[..kept]);
        })
    }
}

fn repeat(gather: &mut impl Gather, index: u32, count: usize) -> Result<()> {
    if count == 0 {
        return Ok(());
    }
    if index as usize >= gather.len() {
        return Err(beyond(index, gather.len()));
    }
    gather.repeat(index, count);
    Ok(())
}

/// Hands `count` packed indexes, of a dictionary of `len` values, to `each`, some at a time.
fn chunks(
    bytes: &[u8],
    bit: usize,
    width: u32,
    count: usize,
    len: usize,
    mut each: impl FnMut(&mut [u32]),
) -> Result<()> {
    let mut chunk = [0u32; CHUNK];
    let mut done = 0;
    while done < count {
        let length = (count - done).min(CHUNK);
        let indexes = &mut chunk[..length];
        unpack(bytes, bit + done * width as usize, width, indexes);
        let largest = indexes.iter().copied().fold(0, u32::max);
        if largest as usize >= len {
            return Err(beyond(largest, len));
        }
        each(indexes);
        done += length;
    }
    Ok(())
}

/// Takes dictionary values to an array's slots.
pub(crate) struct Slots<'a, T> {
    /// The values.
    pub dictionary: &'a [T],
    /// Where they go.
    pub target: &'a mut [T],
    /// The next slot.
    pub at: usize,
}

impl<T: Copy> Gather for Slots<'_, T> {
    fn len(&self) -> usize {
        self.dictionary.len()
    }

    fn repeat(&mut self, index: u32, count: usize) {
        self.target[self.at..self.at + count].fill(self.dictionary[index as usize]);
        self.at += count;
    }

    fn gather(&mut self, indexes: &[u32]) {
        let target = &mut self.target[self.at..self.at + indexes.len()];
        for (slot, index) in target.iter_mut().zip(indexes) {
            // SAFETY: `Gather` promises indexes below `len`.
            *slot = unsafe { *self.dictionary.get_unchecked(*index as usize) };
        }
        self.at += indexes.len();
    }
}
