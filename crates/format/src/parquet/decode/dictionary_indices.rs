//! Dictionary indexes of a page.

use lakerace_io::{Error, Result};

use super::block::PageBytes;
use super::error::page_ends;
use super::packed_gather::{PackedRun, PaddedDictionary};
use super::rle::{HybridDecoder, ValueRuns, unpack, unpack_one};
use crate::exec::{RowSelection, compact};

/// Takes dictionary values by index.
pub(crate) trait IndexGather {
    /// Values in the dictionary.
    fn len(&self) -> usize;
    /// Repeats a value `count` times. The index is below [`Self::len`].
    fn repeat(&mut self, index: u32, count: usize);
    /// Values one after the other. All indexes are below [`Self::len`].
    fn gather(&mut self, indexes: &[u32]);
    /// Takes the values of the first indexes of a run, and returns their number; 0 if they have to be unpacked.
    fn gather_packed(&mut self, run: &PackedRun<'_>) -> usize {
        let _ = run;
        0
    }
}

/// The indexes of one page: a byte for their width, then a hybrid sequence.
pub(crate) struct PageIndexes {
    data: PageBytes,
    width: u32,
    hybrid: HybridDecoder,
    chunk: Box<IndexChunk>,
}

/// Indexes that are unpacked together: they stay in the first-level cache.
const CHUNK: usize = 1024;

/// If at most one of so many indexes is kept, the kept ones are unpacked one by one.
const UNPACK_ALL_FROM: usize = 4;

/// Unpacked indexes. Most runs and reads are short, so all of a page use the same memory.
type IndexChunk = [u32; CHUNK];

impl PageIndexes {
    /// The indexes in the values of a page.
    pub fn new(data: PageBytes) -> Result<Self> {
        // A page of nulls alone may have no byte at all.
        let width = u32::from(data.first().copied().unwrap_or(0));
        Ok(Self { data, width, hybrid: HybridDecoder::new(width, 1)?, chunk: Box::new([0; CHUNK]) })
    }

    /// Takes the next `count` values.
    pub fn read(&mut self, count: usize, gather: &mut impl IndexGather) -> Result<()> {
        let Self { data, width, hybrid, chunk } = self;
        take(data, *width, hybrid, count, IndexRunner { gather, width: *width, chunk })
    }

    /// Takes those of the next `kept.len()` values that are kept.
    pub fn read_kept(&mut self, kept: RowSelection<'_>, gather: &mut impl IndexGather) -> Result<()> {
        let Self { data, width, hybrid, chunk } = self;
        take(data, *width, hybrid, kept.len(), KeptRunner { gather, width: *width, kept, chunk })
    }

    /// Skips the next `count` values.
    pub fn skip(&mut self, count: usize) -> Result<()> {
        if self.width == 0 { Ok(()) } else { self.hybrid.skip(&self.data, count) }
    }
}

/// Hands the next `count` indexes to `runs`.
fn take(data: &[u8], width: u32, hybrid: &mut HybridDecoder, count: usize, mut runs: impl ValueRuns) -> Result<()> {
    if width == 0 {
        // The width leaves one index, and some writers leave the runs out then.
        return runs.repeated(0, count);
    }
    if count > 0 && data.is_empty() {
        return Err(page_ends());
    }
    hybrid.take(data, count, &mut runs)
}

struct IndexRunner<'a, G> {
    gather: &'a mut G,
    width: u32,
    chunk: &'a mut IndexChunk,
}

struct KeptRunner<'a, 'k, G> {
    gather: &'a mut G,
    width: u32,
    /// The selection of the values that are left.
    kept: RowSelection<'k>,
    chunk: &'a mut IndexChunk,
}

fn beyond(index: u32, len: usize) -> Error {
    Error::corrupt(format!("dictionary index {index} is out of range for a dictionary of {len} values"))
}

impl<G: IndexGather> ValueRuns for IndexRunner<'_, G> {
    fn repeated(&mut self, value: u32, count: usize) -> Result<()> {
        repeat(self.gather, value, count)
    }

    fn packed(&mut self, bytes: &[u8], bit: usize, count: usize) -> Result<()> {
        let mut packed = PackedRun { bytes, bit, width: self.width, count };
        packed.advance(self.gather.gather_packed(&packed));
        unpack_run(&packed, self.chunk, self.gather.len(), |indexes| self.gather.gather(indexes))
    }
}

impl<G: IndexGather> ValueRuns for KeptRunner<'_, '_, G> {
    fn repeated(&mut self, value: u32, count: usize) -> Result<()> {
        repeat(self.gather, value, self.kept.take(count).count())
    }

    fn packed(&mut self, bytes: &[u8], bit: usize, count: usize) -> Result<()> {
        let packed = PackedRun { bytes, bit, width: self.width, count };
        let kept = self.kept.take(count);
        if kept.count() <= count / UNPACK_ALL_FROM {
            return self.few(&packed, kept);
        }
        let mut left = kept;
        unpack_run(&packed, self.chunk, self.gather.len(), |indexes| {
            let kept = compact(indexes, left.take(indexes.len()));
            self.gather.gather(&indexes[..kept]);
        })
    }
}

impl<G: IndexGather> KeptRunner<'_, '_, G> {
    /// Unpacks the kept indexes of a run alone.
    fn few(&mut self, run: &PackedRun<'_>, kept: RowSelection<'_>) -> Result<()> {
        let mut filled = 0;
        for piece in kept.pieces() {
            if filled + piece.rows > CHUNK {
                gather_checked(self.gather, &self.chunk[..filled], run.width)?;
                filled = 0;
            }
            for row in piece.kept_rows() {
                self.chunk[filled] =
                    unpack_one(run.bytes, run.bit + (piece.start + row) * run.width as usize, run.width);
                filled += 1;
            }
        }
        gather_checked(self.gather, &self.chunk[..filled], run.width)
    }
}

/// Takes the values of indexes of `width` bits.
fn gather_checked(gather: &mut impl IndexGather, indexes: &[u32], width: u32) -> Result<()> {
    check_indexes(indexes, gather.len(), width)?;
    gather.gather(indexes);
    Ok(())
}

fn repeat(gather: &mut impl IndexGather, index: u32, count: usize) -> Result<()> {
    if count == 0 {
        return Ok(());
    }
    if index as usize >= gather.len() {
        return Err(beyond(index, gather.len()));
    }
    gather.repeat(index, count);
    Ok(())
}

/// Hands the indexes of a run, of a dictionary of `len` values, to `each`, a chunk at a time.
fn unpack_run(run: &PackedRun<'_>, chunk: &mut IndexChunk, len: usize, mut each: impl FnMut(&mut [u32])) -> Result<()> {
    let mut done = 0;
    while done < run.count {
        let length = (run.count - done).min(CHUNK);
        let indexes = &mut chunk[..length];
        unpack(run.bytes, run.bit + done * run.width as usize, run.width, indexes);
        check_indexes(indexes, len, run.width)?;
        each(indexes);
        done += length;
    }
    Ok(())
}

/// Returns an error if one of the indexes of `width` bits is not below `len`.
fn check_indexes(indexes: &[u32], len: usize, width: u32) -> Result<()> {
    if are_below(indexes, len, width) { Ok(()) } else { Err(beyond(indexes.iter().copied().fold(0, u32::max), len)) }
}

/// Returns true if all indexes of `width` bits are below `len`.
fn are_below(indexes: &[u32], len: usize, width: u32) -> bool {
    match i32::try_from(len) {
        // Signs of differences: the smallest set of vector instructions has no maximum.
        Ok(len) if width < i32::BITS => {
            indexes.iter().fold(0, |signs, index| signs | (len - 1).wrapping_sub(*index as i32)) >= 0
        }
        _ => indexes.iter().all(|index| (*index as usize) < len),
    }
}

/// Takes dictionary values to an array's slots.
pub(crate) struct IndexSlots<'a, T> {
    /// The values.
    pub dictionary: &'a PaddedDictionary<T>,
    /// The target of the values.
    pub target: &'a mut [T],
    /// The next slot.
    pub at: usize,
}

impl<T: Copy + Default> IndexGather for IndexSlots<'_, T> {
    fn len(&self) -> usize {
        self.dictionary.values().len()
    }

    fn repeat(&mut self, index: u32, count: usize) {
        self.target[self.at..self.at + count].fill(self.dictionary.values()[index as usize]);
        self.at += count;
    }

    fn gather(&mut self, indexes: &[u32]) {
        let target = &mut self.target[self.at..self.at + indexes.len()];
        let dictionary = self.dictionary.values();
        for (slot, index) in target.iter_mut().zip(indexes) {
            // SAFETY: `IndexGather` promises indexes below `len`. The copy is of whole vectors, which a move of 16 bytes is not.
            unsafe { std::ptr::copy_nonoverlapping(dictionary.as_ptr().add(*index as usize), slot, 1) };
        }
        self.at += indexes.len();
    }

    fn gather_packed(&mut self, run: &PackedRun<'_>) -> usize {
        let taken = self.dictionary.gather(run, &mut self.target[self.at..self.at + run.count]);
        self.at += taken;
        taken
    }
}
