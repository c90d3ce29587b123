//! Looking numbers up among numbers in order.

use super::filter::KeyFilter;
use super::{Key, NumberKey};

/// The starts of the keys of each range of numbers, after a filter. A lookup accesses memory once for most keys that do
/// not exist, three times for the others, and lookups of many keys overlap.
#[derive(Debug)]
pub(super) struct KeyBuckets<T> {
    least: T,
    shift: u32,
    /// The index of the first key of each bucket; then twice the number of keys.
    starts: Vec<u32>,
    seed: u64,
    filter: KeyFilter,
}

/// Rows that are looked up together.
pub(super) const BLOCK_ROWS: usize = 1024;
/// Keys of a bucket at most: they are searched one by one.
const LARGEST_BUCKET: u32 = 32;

impl<T: NumberKey + Key> KeyBuckets<T> {
    /// The memory of buckets for so many keys, in bytes.
    pub fn memory_bytes(keys: usize) -> usize {
        (Self::buckets(keys) + 2) * size_of::<u32>() + KeyFilter::memory_bytes(keys)
    }

    fn buckets(keys: usize) -> usize {
        (keys / 2).next_power_of_two()
    }

    /// For keys in order; `None` where they lie so unevenly that some bucket would have many.
    pub fn from_keys(keys: &[T]) -> Option<Self> {
        let (least, largest) = (*keys.first()?, *keys.last()?);
        let buckets = Self::buckets(keys.len());
        let shift = least.bits_to(largest).saturating_sub(buckets.trailing_zeros());
        let mut starts = vec![0u32; buckets + 2];
        for key in keys {
            starts[key.above(least, shift) + 1] += 1;
        }
        if starts.iter().any(|count| *count > LARGEST_BUCKET) {
            return None;
        }
        let mut sum = 0;
        for start in &mut starts {
            sum += *start;
            *start = sum;
        }
        let (seed, mut filter) = (rand::random(), KeyFilter::new(keys.len()));
        keys.iter().for_each(|key| filter.add(key.hash(seed)));
        Some(Self { least, shift, starts, seed, filter })
    }

    /// Calls `found(row, index)` for each row of `batch` whose key is among `keys`, in the order of the rows, with the key's
    /// index.
    pub fn find(&self, keys: &[T], batch: &[T], mut found: impl FnMut(usize, usize)) {
        let (mut candidates, mut ranges) = ([0u16; BLOCK_ROWS], [(0u32, 0u32); BLOCK_ROWS]);
        let last_bucket = self.starts.len() - 2;
        for (block, rows) in batch.chunks(BLOCK_ROWS).enumerate() {
            let mut count = 0;
            for (row, key) in rows.iter().enumerate() {
                // No branch: while one look waits for memory, the next ones are under way. So with the loops below.
                candidates[count] = row as u16;
                count += usize::from(self.filter.may_have(key.hash(self.seed)));
            }
            let candidates = &candidates[..count];
            for (range, row) in ranges.iter_mut().zip(candidates) {
                // A key below the least one wraps to somewhere: it equals none of those that are there.
                let bucket = rows[*row as usize].above(self.least, self.shift).min(last_bucket);
                *range = (self.starts[bucket], self.starts[bucket + 1]);
            }
            let fetched = ranges[..count].iter().map(|range| keys[(range.0 as usize).min(keys.len() - 1)]).max();
            std::hint::black_box(fetched);
            for ((start, end), row) in ranges.iter().zip(candidates) {
                let key = rows[*row as usize];
                let bucket = &keys[*start as usize..*end as usize];
                if let Some(at) = bucket.iter().position(|known| *known == key) {
                    found(block * BLOCK_ROWS + *row as usize, *start as usize + at);
                }
            }
        }
    }
}
