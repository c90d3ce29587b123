//! The hashes of keys and rows of a side, in partitions on the local disk.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
use std::sync::Mutex;

use lakerace_io::threads::spawn_or_run;
use lakerace_io::wait::lock;
use lakerace_io::{Error, Job, Result, private_file};

use super::{Diff, DiffSide};
use crate::checksum::row_hashes;

/// Partitions of a side: the hashes of one of both sides are in memory at a time.
const PARTITIONS: usize = 64;
/// Bytes of a key's hash and a row's.
const ENTRY_BYTES: usize = 32;
/// Bytes of a partition that a thread keeps before it writes them.
const BUFFER_BYTES: usize = 64 << 10;
/// Keys that differ and are known one by one; of more, all rows are read as if they differed.
const KNOWN_AT_MOST: usize = 8 << 20;

/// The partition of a key.
pub(super) fn partition_of(key: u128, partitions: usize) -> usize {
    usize::try_from(key >> 96).unwrap_or(0) % partitions
}

/// The hashes of a side.
pub(super) struct HashPartitions {
    files: Vec<Mutex<File>>,
    rows: Mutex<u64>,
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

impl HashPartitions {
    /// Reads all rows of a side.
    pub fn read(side: &DiffSide, job: &Job) -> Result<Self> {
        let files = (0..PARTITIONS).map(|_| private_file().map(Mutex::new)).collect::<Result<Vec<_>>>()?;
        let partitions = Self { files, rows: Mutex::new(0) };
        let batches = Mutex::new(side.scan.batches()?);
        let work = || {
            let mut buffers = vec![Vec::new(); PARTITIONS];
            loop {
                job.check()?;
                let next = lock(&batches).next();
                let Some(batch) = next else { break };
                let batch = side.project(&batch?)?;
                side.check_key(&batch)?;
                let (keys, rows) = (side.key.hashes(&batch)?, row_hashes(&batch)?);
                *lock(&partitions.rows) += rows.len() as u64;
                for (key, row) in keys.into_iter().zip(rows) {
                    let number = partition_of(key, PARTITIONS);
                    let buffer: &mut Vec<u8> = &mut buffers[number];
                    buffer.extend_from_slice(&key.to_le_bytes());
                    buffer.extend_from_slice(&row.to_le_bytes());
                    if buffer.len() >= BUFFER_BYTES {
                        partitions.write(number, buffer)?;
                    }
                }
            }
            buffers.iter_mut().enumerate().try_for_each(|(number, buffer)| partitions.write(number, buffer))
        };
        std::thread::scope(|scope| {
            let workers: Vec<_> = (0..job.options().threads.max(1)).map(|_| spawn_or_run(scope, work)).collect();
            let ends = workers.into_iter().map(|worker| {
                worker.join().unwrap_or_else(|_| Err(Error::internal("a thread that hashed rows panicked")))
            });
            ends.collect::<Vec<_>>().into_iter().collect::<Result<()>>()
        })?;
        Ok(partitions)
    }

    /// Rows of the side.
    pub fn rows(&self) -> u64 {
        *lock(&self.rows)
    }

    fn write(&self, number: usize, buffer: &mut Vec<u8>) -> Result<()> {
        lock(&self.files[number]).write_all(buffer).map_err(in_temporary)?;
        buffer.clear();
        Ok(())
    }

    /// The hashes of a partition, sorted by key.
    fn sorted(&self, number: usize) -> Result<Vec<(u128, u128)>> {
        let mut file = lock(&self.files[number]);
        file.seek(SeekFrom::Start(0)).map_err(in_temporary)?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).map_err(in_temporary)?;
        let half = |bytes: &[u8]| bytes.try_into().map(u128::from_le_bytes).map_err(Error::unexpected);
        let entry = |entry: &[u8]| Ok((half(&entry[..ENTRY_BYTES / 2])?, half(&entry[ENTRY_BYTES / 2..])?));
        let mut entries = bytes.chunks_exact(ENTRY_BYTES).map(entry).collect::<Result<Vec<_>>>()?;
        drop(bytes);
        entries.sort_unstable();
        Ok(entries)
    }
}

pub(super) fn in_temporary(error: std::io::Error) -> Error {
    Error::from(error).at(std::env::temp_dir().display())
}

/// Counts the rows that differ, and finds their keys.
pub(super) fn compare(
    sides: [&DiffSide; 2],
    hashes: [HashPartitions; 2],
    found: &mut Diff,
    job: &Job,
) -> Result<KeySet> {
    let mut keys = Some(Vec::new());
    let note = |keys: &mut KeySet, key: u128| match keys {
        Some(known) if known.len() < KNOWN_AT_MOST => known.push(short(key)),
        many => *many = None,
    };
    for number in 0..PARTITIONS {
        job.check()?;
        let entries = [hashes[0].sorted(number)?, hashes[1].sorted(number)?];
        for (side, entries) in sides.iter().zip(&entries) {
            if let Some(pair) = entries.windows(2).find(|pair| pair[0].0 == pair[1].0) {
                return Err(side.doubled(pair[0].0));
            }
        }
        let (mut first, mut second) = (entries[0].iter().peekable(), entries[1].iter().peekable());
        loop {
            match (first.peek(), second.peek()) {
                (None, None) => break,
                (Some(one), Some(two)) if one.0 == two.0 => {
                    if one.1 == two.1 {
                        found.unchanged += 1;
                    } else {
                        found.changed += 1;
                        note(&mut keys, one.0);
                    }
                    first.next();
                    second.next();
                }
                (Some(one), two) if two.is_none_or(|two| one.0 < two.0) => {
                    found.deleted += 1;
                    note(&mut keys, one.0);
                    first.next();
                }
                (_, Some(two)) => {
                    found.inserted += 1;
                    note(&mut keys, two.0);
                    second.next();
                }
                (Some(_), None) => return Err(Error::internal("keys that can't be compared")),
            }
        }
    }
    keys.iter_mut().for_each(|keys| keys.sort_unstable());
    Ok(keys)
}
