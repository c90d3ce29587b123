//! Finding the rows of a table that have one of many keys.

use std::sync::OnceLock;

use hashbrown::HashTable;

use super::bitset::BitSet;
use super::column_stats::KeyColumnValues;
use super::columns::KeyColumns;
use super::filter::KeyFilter;
use super::sorted_lookup::{BLOCK_ROWS, KeyBuckets};
use super::{Key, KeyList, Keys, NumberKey};

/// Stretches in order of a batch that are walked through one by one.
const STRETCHES_AT_MOST: usize = 4;

/// Distinct keys in order, to be found in the rows of other batches. Shared by threads.
///
/// Batches whose keys are mostly in order, as in files of lakerace, are merged with the set in one pass over both. Rows
/// of other batches are looked up: dense numbers in a set of bits, evenly spread ones in buckets, all others in a hash
/// table. Each lookup structure is built when it is first needed.
#[derive(Debug)]
pub(crate) struct KeySet {
    keys: Keys,
    /// `None`: the keys lie too far apart.
    bits: OnceLock<Option<BitSet>>,
    /// `None`: they are spread unevenly.
    narrow: OnceLock<Option<KeyBuckets<u64>>>,
    wide: OnceLock<Option<KeyBuckets<u128>>>,
    hashed: OnceLock<HashedKeys>,
    /// The values of each key column but the first.
    values: OnceLock<Vec<KeyColumnValues>>,
}

#[derive(Debug)]
struct HashedKeys {
    seed: u64,
    filter: KeyFilter,
    /// Indexes of keys.
    table: HashTable<u32>,
}

/// The least number of rows of a batch in order, for each key in its range, with which a walk is as fast as a set of bits.
const WALKED_ROWS_PER_KEY: usize = 16;

impl KeySet {
    /// The set of these keys, which are in order and distinct, at most 2^32 of them.
    pub fn new(keys: Keys) -> Self {
        let (narrow, wide, hashed) = (OnceLock::new(), OnceLock::new(), OnceLock::new());
        Self { keys, bits: OnceLock::new(), narrow, wide, hashed, values: OnceLock::new() }
    }

    /// The keys, in order.
    pub fn keys(&self) -> &Keys {
        &self.keys
    }

    /// The memory of a set of so many keys in addition to the keys themselves, at most, in bytes.
    pub fn lookup_bytes(keys: usize) -> usize {
        // An index and a control byte each, and 8 slots for 7 keys, rounded up to a power of two.
        if keys == 0 {
            return 0;
        }
        let slots = (keys * 8 / 7).next_power_of_two();
        let hashed = slots * (size_of::<u32>() + 1) + KeyFilter::memory_bytes(keys);
        hashed.max(KeyBuckets::<u128>::memory_bytes(keys))
    }

    /// Calls `found(row, index)` for each row of `batch` whose key is in the set, in the order of the rows, with the key's index.
    pub fn find(&self, batch: &Keys, mut found: impl FnMut(usize, usize)) {
        let ends = batch.stretch_ends(STRETCHES_AT_MOST);
        if ends.len() <= 1 {
            return self.find_in_all(batch, found);
        }
        // The end of a run, and the start of the next one.
        let mut begin = 0;
        for end in ends {
            let stretch = batch.take(&(begin as u32..end as u32).collect::<Vec<_>>());
            self.find_in_all(&stretch, |row, index| found(begin + row, index));
            begin = end;
        }
    }

    fn find_in_all(&self, batch: &Keys, found: impl FnMut(usize, usize)) {
        match (&self.keys, batch) {
            (Keys::Narrow(keys), Keys::Narrow(batch)) => match self.bits() {
                Some(bits) if !(is_long(keys, batch) && batch.is_sorted()) => bits.find(batch, found),
                _ => self.find_number(&self.narrow, keys, batch, found),
            },
            (Keys::Wide(keys), Keys::Wide(batch)) => self.find_number(&self.wide, keys, batch, found),
            (Keys::Bytes(keys), Keys::Bytes(batch)) => self.find_in(keys, batch, found),
            (keys, batch) => debug_assert!(false, "keys of other columns: {keys:?}, {batch:?}"),
        }
    }

    /// The number of keys in a range, whose ends are lists of one key; `None`: it has no upper end.
    pub fn count_between(&self, low: &Keys, high: Option<&Keys>) -> usize {
        self.keys.count_between(low, high)
    }

    /// The values of each of these key columns but the first.
    pub fn values(&self, columns: &KeyColumns) -> &[KeyColumnValues] {
        self.values.get_or_init(|| KeyColumnValues::from_keys(columns, &self.keys))
    }

    fn find_number<T: NumberKey + Key>(
        &self,
        buckets: &OnceLock<Option<KeyBuckets<T>>>,
        keys: &Vec<T>,
        batch: &Vec<T>,
        found: impl FnMut(usize, usize),
    ) {
        if keys.is_empty() || batch.is_empty() {
            return;
        }
        if batch.is_sorted() && !is_between(keys, batch) {
            return merge_numbers(keys, batch, found);
        }
        match buckets.get_or_init(|| KeyBuckets::from_keys(keys)) {
            Some(buckets) => buckets.find(keys, batch, found),
            None => self.hashed.get_or_init(|| HashedKeys::new(keys)).find(keys, batch, found),
        }
    }

    fn find_in<L: KeyList>(&self, keys: &L, batch: &L, found: impl FnMut(usize, usize)) {
        if keys.len() == 0 || batch.len() == 0 {
            return;
        }
        if batch.is_sorted() {
            merge(keys, batch, found);
        } else {
            self.hashed.get_or_init(|| HashedKeys::new(keys)).find(keys, batch, found);
        }
    }

    fn bits(&self) -> Option<&BitSet> {
        self.bits.get_or_init(|| BitSet::from_keys(&self.keys)).as_ref()
    }
}

/// Returns true if a batch, if it is in order, has many rows for each key in its range.
fn is_long<L: KeyList>(keys: &L, batch: &L) -> bool {
    if batch.len() == 0 {
        return true;
    }
    let first = first_not_below(keys, 0, batch.key(0));
    let last = first_not_below(keys, first, batch.key(batch.len() - 1));
    (last - first) * WALKED_ROWS_PER_KEY <= batch.len()
}

/// Returns true if a batch in order has so few rows for the keys in its range that a walk would fetch nearly all of the
/// keys' memory, and skip little of it.
fn is_between<L: KeyList>(keys: &L, batch: &L) -> bool {
    let first = first_not_below(keys, 0, batch.key(0));
    let inside = first_not_below(keys, first, batch.key(batch.len() - 1)) - first;
    (batch.len() * WALKED_RATIO + 1..batch.len() * JUMPED_RATIO).contains(&inside)
}

impl HashedKeys {
    fn new(keys: &impl KeyList) -> Self {
        let seed = rand::random();
        let hash = |index: &u32| keys.key(*index as usize).hash(seed);
        let mut table = HashTable::with_capacity(keys.len());
        let mut filter = KeyFilter::new(keys.len());
        for index in 0..keys.len() as u32 {
            let key = hash(&index);
            filter.add(key);
            table.insert_unique(key, index, hash);
        }
        Self { seed, filter, table }
    }

    fn find<L: KeyList>(&self, keys: &L, batch: &L, mut found: impl FnMut(usize, usize)) {
        if keys.len() == 0 {
            return;
        }
        let mut candidates = [0u32; BLOCK_ROWS];
        for start in (0..batch.len()).step_by(BLOCK_ROWS) {
            let mut count = 0;
            for row in start..(start + BLOCK_ROWS).min(batch.len()) {
                // No branch: while one look waits for memory, the next ones are under way.
                candidates[count] = row as u32;
                count += usize::from(self.filter.may_have(batch.key(row).hash(self.seed)));
            }
            for row in &candidates[..count] {
                let key = batch.key(*row as usize);
                let is_key = |index: &u32| keys.key(*index as usize) == key;
                if let Some(index) = self.table.find(key.hash(self.seed), is_key) {
                    found(*row as usize, *index as usize);
                }
            }
        }
    }
}

/// With so many keys for each row or more, keys are skipped.
const JUMPED_RATIO: usize = 512;
/// Lists of numbers in order are walked step by step if one is at most so many times longer than the other.
const WALKED_RATIO: usize = 8;

/// Merges like [`merge`], without a branch for each step where both lists have similar lengths.
fn merge_numbers<T: NumberKey + Key>(keys: &Vec<T>, batch: &Vec<T>, mut found: impl FnMut(usize, usize)) {
    let (Some(first), Some(last)) = (batch.first(), batch.last()) else { return };
    let (begin, end) = (first_not_below(keys, 0, *first), keys.partition_point(|key| key <= last));
    let inside = &keys[begin.min(end)..end];
    if inside.len() > batch.len() * WALKED_RATIO || batch.len() > inside.len() * WALKED_RATIO {
        return merge(keys, batch, found);
    }
    // Two interleaved walks: a step waits for what it compared, but not for the other walk. A key that occurs twice is
    // in one of them.
    let mut middle = batch.len() / 2;
    while middle > 0 && middle < batch.len() && batch[middle - 1] == batch[middle] {
        middle += 1;
    }
    let border = batch.get(middle).map_or(inside.len(), |key| inside.partition_point(|known| known < key));
    let mut first = OrderedWalk { keys: &inside[..border], batch: &batch[..middle], index: 0, row: 0 };
    let mut second = OrderedWalk { keys: &inside[border..], batch: &batch[middle..], index: 0, row: 0 };
    let (mut pairs, mut behind) = ([(0, 0); BLOCK_ROWS], Vec::new());
    let mut later = [(0, 0); BLOCK_ROWS];
    loop {
        let steps = first.steps().min(second.steps()).min(BLOCK_ROWS);
        if steps == 0 {
            break;
        }
        let (mut count, mut later_count) = (0, 0);
        for _ in 0..steps {
            first.step(&mut pairs, &mut count);
            second.step(&mut later, &mut later_count);
        }
        pairs[..count].iter().for_each(|(row, index)| found(*row, begin + index));
        behind.extend_from_slice(&later[..later_count]);
    }
    first.finish(&mut |row, index| found(row, begin + index));
    behind.iter().for_each(|(row, index)| found(middle + row, begin + border + index));
    second.finish(&mut |row, index| found(middle + row, begin + border + index));
}

/// A walk through keys in order and a batch in order.
struct OrderedWalk<'a, T> {
    keys: &'a [T],
    batch: &'a [T],
    index: usize,
    row: usize,
}

impl<T: NumberKey> OrderedWalk<'_, T> {
    /// Steps that do not leave either list.
    fn steps(&self) -> usize {
        (self.keys.len() - self.index).min(self.batch.len() - self.row)
    }

    /// Goes on in one list or both; `pairs` has room for one more.
    #[inline]
    fn step(&mut self, pairs: &mut [(usize, usize); BLOCK_ROWS], count: &mut usize) {
        let (key, other) = (self.keys[self.index], self.batch[self.row]);
        pairs[*count] = (self.row, self.index);
        *count += usize::from(key == other);
        // If a key occurs twice in the batch, both rows are found.
        self.index += usize::from(key < other);
        self.row += usize::from(other <= key);
    }

    fn finish(mut self, found: &mut dyn FnMut(usize, usize)) {
        let mut pairs = [(0, 0); BLOCK_ROWS];
        loop {
            let steps = self.steps().min(BLOCK_ROWS);
            if steps == 0 {
                return;
            }
            let mut count = 0;
            (0..steps).for_each(|_| self.step(&mut pairs, &mut count));
            pairs[..count].iter().for_each(|(row, index)| found(*row, *index));
        }
    }
}

/// Walks through both in order. The longer stretches without a match are jumped over.
fn merge<L: KeyList>(keys: &L, batch: &L, mut found: impl FnMut(usize, usize)) {
    let (mut index, mut row) = (0, 0);
    while row < batch.len() {
        let key = batch.key(row);
        index = first_not_below(keys, index, key);
        if index == keys.len() {
            return;
        }
        if keys.key(index) == key {
            found(row, index);
            row += 1;
        } else {
            row = first_not_below(batch, row + 1, keys.key(index));
        }
    }
}

/// The first index from `from` on whose key is not smaller than `key`: by steps that double, then by halving.
fn first_not_below<'a, L: KeyList>(keys: &'a L, from: usize, key: L::Key<'a>) -> usize {
    let (mut low, mut step) = (from, 1);
    while low + step <= keys.len() && keys.key(low + step - 1) < key {
        low += step;
        step *= 2;
    }
    let mut high = (low + step - 1).min(keys.len());
    while low < high {
        let middle = low + (high - low) / 2;
        if keys.key(middle) < key {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    low
}
