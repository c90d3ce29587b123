//! A comparison of two sides in any order, by the hashes of their rows in partitions.

use std::sync::Mutex;

use lakerace_exec::{into_value, map_slice};
use lakerace_io::wait::lock;
use lakerace_io::{Job, Result};

use super::Diff;
use super::diff_side::{DiffSide, KeyHash, RowHash};
use super::differing_keys::DifferingKeys;
use super::hash_partitions::{HashMemory, HashPartition, HashPartitions, MAX_LEVEL, PARTITIONS};

/// The part of the memory for hashes that wait for their comparison.
const WAITING_SHARE: u64 = 2;
/// The part of the memory for the partitions that are compared at a time.
const COMPARED_SHARE: u64 = 4;
/// Bytes of a partition at most: its rows have numbers of 32 bits.
const MAX_PARTITION_BYTES: u64 = 16 << 30;

/// Counts the rows that differ, and finds their keys.
///
/// # Errors
/// `Invalid` where several rows of a side have the same key, or one has null.
pub(super) fn compare(sides: [&DiffSide; 2], memory_bytes: u64, found: &mut Diff, job: &Job) -> Result<DifferingKeys> {
    let memory = HashMemory::new(memory_bytes / WAITING_SHARE);
    let hashes = [HashPartitions::read(sides[0], &memory, job)?, HashPartitions::read(sides[1], &memory, job)?];
    found.first_rows = hashes[0].rows();
    found.second_rows = hashes[1].rows();
    let threads = job.options().threads.max(1);
    let comparison = HashComparison {
        sides,
        partition_bytes: (memory_bytes / COMPARED_SHARE / threads as u64).min(MAX_PARTITION_BYTES),
        totals: Mutex::new(HashTotals { found, keys: DifferingKeys::new(memory_bytes) }),
        // A divided partition does not fit the memory.
        divided_memory: HashMemory::new(0),
        job,
    };
    let numbers: Vec<usize> = (0..PARTITIONS).collect();
    map_slice(&numbers, threads, |number| {
        comparison.partition([0, 1].map(|side: usize| hashes[side].take(*number)), 0)
    })?;
    Ok(into_value(comparison.totals).keys.sorted())
}

struct HashComparison<'a> {
    sides: [&'a DiffSide; 2],
    /// Bytes of a partition that is divided, at least.
    partition_bytes: u64,
    totals: Mutex<HashTotals<'a>>,
    divided_memory: HashMemory,
    job: &'a Job,
}

struct HashTotals<'a> {
    found: &'a mut Diff,
    keys: DifferingKeys,
}

impl HashComparison<'_> {
    fn partition(&self, [first, second]: [HashPartition; 2], level: u32) -> Result<()> {
        self.job.check()?;
        if first.bytes()? + second.bytes()? > self.partition_bytes && level < MAX_LEVEL {
            let divided = |part| HashPartitions::divided(part, level + 1, &self.divided_memory, self.job);
            let parts = [divided(first)?, divided(second)?];
            return (0..PARTITIONS)
                .try_for_each(|number| self.partition([parts[0].take(number), parts[1].take(number)], level + 1));
        }
        let found = PartitionDiff::new(&first.rows()?, &second.rows()?)
            .map_err(|doubled| self.sides[doubled.side].doubled(doubled.key))?;
        let mut totals = lock(&self.totals);
        totals.found.inserted += found.inserted;
        totals.found.deleted += found.deleted;
        totals.found.changed += found.changed;
        totals.found.unchanged += found.unchanged;
        totals.keys.add_all(&found.keys);
        Ok(())
    }
}

/// The findings of a partition's comparison.
#[derive(Debug, Default, PartialEq, Eq)]
struct PartitionDiff {
    inserted: u64,
    deleted: u64,
    changed: u64,
    unchanged: u64,
    /// The keys that differ, by half of their hash.
    keys: Vec<u64>,
}

/// A key that several rows of a side have.
#[derive(Debug, PartialEq, Eq)]
struct DoubledKey {
    side: usize,
    key: KeyHash,
}

impl PartitionDiff {
    fn new(first: &[RowHash], second: &[RowHash]) -> std::result::Result<Self, DoubledKey> {
        let mut index = KeyIndex::new(first, second);
        for (number, row) in first.iter().enumerate() {
            if index.find_or_add(row.key, number).is_some() {
                return Err(DoubledKey { side: 0, key: row.key });
            }
        }
        let mut found = Self::default();
        let mut is_met = vec![false; first.len()];
        for (number, row) in second.iter().enumerate() {
            match index.find_or_add(row.key, first.len() + number) {
                None => {
                    found.inserted += 1;
                    found.keys.push(row.key.low);
                }
                Some(known) if known >= first.len() || is_met[known] => {
                    return Err(DoubledKey { side: 1, key: row.key });
                }
                Some(known) => {
                    is_met[known] = true;
                    if first[known].row == row.row {
                        found.unchanged += 1;
                    } else {
                        found.changed += 1;
                        found.keys.push(row.key.low);
                    }
                }
            }
        }
        let deleted = first.iter().zip(&is_met).filter(|(_, is_met)| !**is_met);
        found.keys.extend(deleted.map(|(row, _)| row.key.low));
        found.deleted = found.keys.len() as u64 - found.inserted - found.changed;
        Ok(found)
    }
}

/// A hash table of the keys of a partition's rows, with open addressing: the keys are hashes, and rows are not moved.
struct KeyIndex<'a> {
    first: &'a [RowHash],
    second: &'a [RowHash],
    /// Numbers of rows, those of the second side after those of the first, plus one; zero is an empty slot.
    slots: Vec<u32>,
}

impl<'a> KeyIndex<'a> {
    fn new(first: &'a [RowHash], second: &'a [RowHash]) -> Self {
        let slots = ((first.len() + second.len()) * 4 / 3 + 1).next_power_of_two();
        Self { first, second, slots: vec![0; slots] }
    }

    /// The row that has a key; if there is none, it becomes the key of the row `number`.
    #[inline]
    fn find_or_add(&mut self, key: KeyHash, number: usize) -> Option<usize> {
        let mask = self.slots.len() - 1;
        let mut at = key.low as usize & mask;
        loop {
            let known = self.slots[at] as usize;
            if known == 0 {
                self.slots[at] = (number + 1) as u32;
                return None;
            }
            if self.row(known - 1).key == key {
                return Some(known - 1);
            }
            at = (at + 1) & mask;
        }
    }

    #[inline]
    fn row(&self, number: usize) -> RowHash {
        match self.first.get(number) {
            Some(row) => *row,
            None => self.second[number - self.first.len()],
        }
    }
}

#[cfg(test)]
mod tests;
