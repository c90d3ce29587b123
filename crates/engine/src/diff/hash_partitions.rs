//! The hashes of keys and rows of a side, in partitions on the local disk.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use lakerace_exec::map_with_states;
use lakerace_io::wait::lock;
use lakerace_io::{Error, Job, Result, private_file};

use super::{Diff, DiffSide};
use crate::checksum::row_hashes;

/// Partitions of a side, and of a partition that is too large for memory.
pub(super) const PARTITIONS: usize = 64;
/// A partition of this level is not divided again: the hash has no more bits for it.
pub(super) const MAX_LEVEL: u32 = 4;
/// Bytes of a key's hash and a row's.
const ENTRY_BYTES: usize = 32;
/// Hashes that are read together where a partition is divided.
const READ_ROWS: usize = 4096;
/// Bytes of a partition that a thread keeps before it writes them.
const BUFFER_BYTES: usize = 64 << 10;
/// The part of the memory for keys that differ and are known one by one; of more, all rows are read as if they
/// differed.
const KNOWN_SHARE: u64 = 8;
/// The part of the memory for the files of a partition, which are there as bytes and as numbers.
const SORTED_SHARE: u64 = 4;

/// The partition of a key, at a level of partitions within partitions.
pub(super) fn partition_of(key: u128, level: u32) -> usize {
    let bits = u64::try_from(key >> 96).unwrap_or(0) >> (PARTITIONS.ilog2() * level);
    usize::try_from(bits).unwrap_or(0) % PARTITIONS
}

/// The hashes of a side.
pub(super) struct HashPartitions {
    /// The files of those that have hashes.
    files: Vec<Mutex<Option<File>>>,
    rows: AtomicU64,
}

/// Keys that differ, by half of their hash, sorted; `None`: too many to list. Both sides read the rows of all of them,
/// so that an equal key that shares its half with another one is recognised as equal.
pub(super) type KeySet = Option<Vec<u64>>;

/// Returns true if a key is one of a set, or may be.
pub(super) fn may_have(set: &KeySet, key: u128) -> bool {
    set.as_ref().is_none_or(|keys| keys.binary_search(&short(key)).is_ok())
}

fn short(key: u128) -> u64 {
    (key & u128::from(u64::MAX)) as u64
}

/// A row, by the hashes of its key and of all of it.
type RowHashes = (u128, u128);

impl HashPartitions {
    fn new() -> Self {
        Self { files: (0..PARTITIONS).map(|_| Mutex::default()).collect(), rows: AtomicU64::new(0) }
    }

    /// Reads all rows of a side.
    pub fn read(side: &DiffSide, job: &Job) -> Result<Self> {
        let partitions = Self::new();
        let mut buffers = vec![HashBuffers::new(0); job.options().threads.max(1)];
        map_with_states(&mut buffers, side.scan.batches()?, |buffers, batch| {
            job.check()?;
            let batch = side.project(&batch?)?;
            side.check_key(&batch)?;
            let (keys, rows) = (side.key.hashes(&batch)?, row_hashes(&batch)?);
            partitions.rows.fetch_add(rows.len() as u64, Ordering::Relaxed);
            keys.into_iter().zip(rows).try_for_each(|entry| buffers.add(entry, &partitions))
        })?;
        buffers.iter_mut().try_for_each(|buffers| buffers.flush(&partitions))?;
        Ok(partitions)
    }

    /// Divides a partition into partitions of the next level.
    fn divided(file: Option<File>, level: u32, job: &Job) -> Result<Self> {
        let partitions = Self::new();
        let mut buffers = HashBuffers::new(level);
        let Some(mut file) = file else { return Ok(partitions) };
        file.seek(SeekFrom::Start(0)).map_err(in_temporary)?;
        let mut bytes = Vec::with_capacity(ENTRY_BYTES * READ_ROWS);
        loop {
            job.check()?;
            bytes.clear();
            Read::by_ref(&mut file)
                .take((ENTRY_BYTES * READ_ROWS) as u64)
                .read_to_end(&mut bytes)
                .map_err(in_temporary)?;
            if bytes.is_empty() {
                break;
            }
            entries(&bytes)?.into_iter().try_for_each(|entry| buffers.add(entry, &partitions))?;
        }
        buffers.flush(&partitions)?;
        Ok(partitions)
    }

    /// Rows of the side.
    pub fn rows(&self) -> u64 {
        self.rows.load(Ordering::Relaxed)
    }

    fn write(&self, number: usize, buffer: &mut Vec<u8>) -> Result<()> {
        if buffer.is_empty() {
            return Ok(());
        }
        let mut file = lock(&self.files[number]);
        let file = match &mut *file {
            Some(file) => file,
            none => none.insert(private_file()?),
        };
        file.write_all(buffer).map_err(in_temporary)?;
        buffer.clear();
        Ok(())
    }
}

/// Hashes of each partition that are not written yet.
#[derive(Clone)]
struct HashBuffers {
    level: u32,
    buffers: Vec<Vec<u8>>,
}

impl HashBuffers {
    fn new(level: u32) -> Self {
        Self { level, buffers: vec![Vec::new(); PARTITIONS] }
    }

    fn add(&mut self, (key, row): RowHashes, partitions: &HashPartitions) -> Result<()> {
        let number = partition_of(key, self.level);
        let buffer = &mut self.buffers[number];
        buffer.extend_from_slice(&key.to_le_bytes());
        buffer.extend_from_slice(&row.to_le_bytes());
        if buffer.len() >= BUFFER_BYTES { partitions.write(number, buffer) } else { Ok(()) }
    }

    fn flush(&mut self, partitions: &HashPartitions) -> Result<()> {
        let mut buffers = self.buffers.iter_mut().enumerate();
        buffers.try_for_each(|(number, buffer)| partitions.write(number, buffer))
    }
}

fn entries(bytes: &[u8]) -> Result<Vec<RowHashes>> {
    let half = |bytes: &[u8]| bytes.try_into().map(u128::from_le_bytes).map_err(Error::unexpected);
    let entry = |entry: &[u8]| Ok((half(&entry[..ENTRY_BYTES / 2])?, half(&entry[ENTRY_BYTES / 2..])?));
    bytes.chunks_exact(ENTRY_BYTES).map(entry).collect()
}

/// The hashes of a partition, sorted by key.
fn sorted(file: Option<File>) -> Result<Vec<RowHashes>> {
    let Some(mut file) = file else { return Ok(Vec::new()) };
    file.seek(SeekFrom::Start(0)).map_err(in_temporary)?;
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes).map_err(in_temporary)?;
    let mut entries = entries(&bytes)?;
    drop(bytes);
    entries.sort_unstable();
    Ok(entries)
}

fn length(file: &Option<File>) -> Result<u64> {
    file.as_ref().map_or(Ok(0), |file| file.metadata().map(|metadata| metadata.len())).map_err(in_temporary)
}

pub(super) fn in_temporary(error: std::io::Error) -> Error {
    Error::from(error).at(std::env::temp_dir().display())
}

/// A comparison of hashes.
struct HashComparison<'a> {
    sides: [&'a DiffSide; 2],
    found: &'a mut Diff,
    keys: KeySet,
    memory_bytes: u64,
    job: &'a Job,
}

/// Counts the rows that differ, and finds their keys.
pub(super) fn compare(
    sides: [&DiffSide; 2],
    hashes: [HashPartitions; 2],
    memory_bytes: u64,
    found: &mut Diff,
    job: &Job,
) -> Result<KeySet> {
    let mut comparison = HashComparison { sides, found, keys: Some(Vec::new()), memory_bytes, job };
    comparison.partitions(&hashes, 0)?;
    let mut keys = comparison.keys;
    keys.iter_mut().for_each(|keys| keys.sort_unstable());
    Ok(keys)
}

impl HashComparison<'_> {
    fn partitions(&mut self, hashes: &[HashPartitions; 2], level: u32) -> Result<()> {
        for number in 0..PARTITIONS {
            self.job.check()?;
            let [first, second] = [0, 1].map(|side: usize| lock(&hashes[side].files[number]).take());
            if length(&first)? + length(&second)? > self.memory_bytes / SORTED_SHARE && level < MAX_LEVEL {
                let divided = |file| HashPartitions::divided(file, level + 1, self.job);
                let parts = [divided(first)?, divided(second)?];
                self.partitions(&parts, level + 1)?;
            } else {
                self.partition([sorted(first)?, sorted(second)?])?;
            }
        }
        Ok(())
    }

    fn note(&mut self, key: u128) {
        let at_most = self.memory_bytes / KNOWN_SHARE / std::mem::size_of::<u64>() as u64;
        match &mut self.keys {
            Some(known) if (known.len() as u64) < at_most => known.push(short(key)),
            many => *many = None,
        }
    }

    /// Compares the hashes of a partition, which are sorted.
    fn partition(&mut self, entries: [Vec<RowHashes>; 2]) -> Result<()> {
        for (side, entries) in self.sides.iter().zip(&entries) {
            if let Some(pair) = entries.windows(2).find(|pair| pair[0].0 == pair[1].0) {
                return Err(side.doubled(pair[0].0));
            }
        }
        let (mut first, mut second) = (entries[0].iter().peekable(), entries[1].iter().peekable());
        loop {
            match (first.peek(), second.peek()) {
                (None, None) => return Ok(()),
                (Some(one), Some(two)) if one.0 == two.0 => {
                    if one.1 == two.1 {
                        self.found.unchanged += 1;
                    } else {
                        self.found.changed += 1;
                        self.note(one.0);
                    }
                    first.next();
                    second.next();
                }
                (Some(one), two) if two.is_none_or(|two| one.0 < two.0) => {
                    self.found.deleted += 1;
                    self.note(one.0);
                    first.next();
                }
                (_, Some(two)) => {
                    self.found.inserted += 1;
                    self.note(two.0);
                    second.next();
                }
                (Some(_), None) => return Err(Error::internal("keys that can't be compared")),
            }
        }
    }
}
