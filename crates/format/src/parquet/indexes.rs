//! Dictionary indexes of a page.

use lakerace_io::{Error, Result};

use super::block::PageBytes;
use super::column::page_ends;
use super::hybrid::{Hybrid, Runs, unpack};

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
        if self.width == 0 {
            // The width leaves one index, and some writers leave the runs out then.
            return Runner { gather, width: 0 }.repeated(0, count);
        }
        if count > 0 && self.data.is_empty() {
            return Err(page_ends());
        }
        self.hybrid.take(&self.data, count, &mut Runner { gather, width: self.width })
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

fn beyond(index: u32, len: usize) -> Error {
    Error::corrupt(format!("dictionary index {index} of a dictionary of {len} values"))
}

impl<G: Gather> Runs for Runner<'_, G> {
    fn repeated(&mut self, value: u32, count: usize) -> Result<()> {
        if count == 0 {
            return Ok(());
        }
        if value as usize >= self.gather.len() {
            return Err(beyond(value, self.gather.len()));
        }
        self.gather.repeat(value, count);
        Ok(())
    }

    fn packed(&mut self, bytes: &[u8], bit: usize, count: usize) -> Result<()> {
        let mut chunk = [0u32; CHUNK];
        let mut done = 0;
        while done < count {
            let length = (count - done).min(CHUNK);
            let indexes = &mut chunk[..length];
            unpack(bytes, bit + done * self.width as usize, self.width, indexes);
            let largest = indexes.iter().copied().fold(0, u32::max);
            if largest as usize >= self.gather.len() {
                return Err(beyond(largest, self.gather.len()));
            }
            self.gather.gather(indexes);
            done += length;
        }
        Ok(())
    }
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
