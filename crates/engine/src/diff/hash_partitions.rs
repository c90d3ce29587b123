//! The hashes of keys and rows of a side, in partitions: in memory up to a limit, beyond it on the local disk.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use lakerace_exec::map_with_states;
use lakerace_io::wait::lock;
use lakerace_io::{Error, Job, Result, private_file};

use super::diff_side::{DiffSide, KeyHash, RowHash};

/// Partitions of a side, and of a partition that is too large for memory.
pub(super) const PARTITIONS: usize = 64;
/// A partition of this level is not divided again: the hash has no more bits for it.
pub(super) const MAX_LEVEL: u32 = 4;
/// Bytes of a row's hashes, in memory and in a file.
const ROW_BYTES: usize = size_of::<RowHash>();
/// Rows of a partition that a thread keeps before it hands them over.
const BLOCK_ROWS: usize = 2048;

/// The partition of a key, at a level of partitions within partitions.
pub(super) fn partition_of(key: u128, level: u32) -> usize {
    let bits = u64::try_from(key >> 96).unwrap_or(0) >> (PARTITIONS.ilog2() * level);
    usize::try_from(bits).unwrap_or(0) % PARTITIONS
}

/// Bytes that hashes may still take in memory.
pub(super) struct HashMemory(AtomicU64);

impl HashMemory {
    pub fn new(bytes: u64) -> Self {
        Self(AtomicU64::new(bytes))
    }

    /// Takes bytes, if there are so many.
    fn take(&self, bytes: u64) -> bool {
        self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(bytes)).is_ok()
    }
}

/// The hashes of a side.
pub(super) struct HashPartitions<'a> {
    partitions: Vec<Mutex<HashPartition>>,
    rows: AtomicU64,
    memory: &'a HashMemory,
}

/// The hashes of a partition, in no order.
#[derive(Default)]
pub(super) struct HashPartition {
    blocks: Vec<Vec<RowHash>>,
    /// The rows that did not fit the memory.
    file: Option<File>,
}

impl<'a> HashPartitions<'a> {
    fn new(memory: &'a HashMemory) -> Self {
        Self { partitions: (0..PARTITIONS).map(|_| Mutex::default()).collect(), rows: AtomicU64::new(0), memory }
    }

    /// Reads all rows of a side.
    pub fn read(side: &DiffSide, memory: &'a HashMemory, job: &Job) -> Result<Self> {
        let partitions = Self::new(memory);
        let mut buffers = vec![HashBuffers::new(0); job.options().threads.max(1)];
        map_with_states(&mut buffers, side.scan.batches()?, |buffers, batch| {
            job.check()?;
            let rows = side.hashes(&side.project(&batch?)?)?;
            partitions.rows.fetch_add(rows.len() as u64, Ordering::Relaxed);
            rows.into_iter().try_for_each(|row| buffers.add(row, &partitions))
        })?;
        buffers.iter_mut().try_for_each(|buffers| buffers.flush(&partitions))?;
        Ok(partitions)
    }

    /// Divides a partition into partitions of the next level.
    pub fn divided(partition: HashPartition, level: u32, memory: &'a HashMemory, job: &Job) -> Result<Self> {
        let divided = Self::new(memory);
        let mut buffers = HashBuffers::new(level);
        partition.each_block(|block| {
            job.check()?;
            block.iter().try_for_each(|row| buffers.add(*row, &divided))
        })?;
        buffers.flush(&divided)?;
        Ok(divided)
    }

    /// Rows of the side.
    pub fn rows(&self) -> u64 {
        self.rows.load(Ordering::Relaxed)
    }

    /// A partition, which is empty then.
    pub fn take(&self, number: usize) -> HashPartition {
        std::mem::take(&mut *lock(&self.partitions[number]))
    }

    /// Hands rows over, and leaves an empty block.
    fn add_block(&self, number: usize, block: &mut Vec<RowHash>) -> Result<()> {
        if block.is_empty() {
            return Ok(());
        }
        let is_kept = self.memory.take((block.capacity() * ROW_BYTES) as u64);
        let mut partition = lock(&self.partitions[number]);
        if is_kept {
            partition.blocks.push(std::mem::take(block));
            return Ok(());
        }
        let file = match &mut partition.file {
            Some(file) => file,
            none => none.insert(private_file()?),
        };
        let halves = block.iter().flat_map(|row| [row.key.low, row.key.high, row.row]);
        let bytes: Vec<u8> = halves.flat_map(u64::to_le_bytes).collect();
        file.write_all(&bytes).map_err(in_temporary)?;
        block.clear();
        Ok(())
    }
}

impl HashPartition {
    /// Bytes of its rows.
    pub fn bytes(&self) -> Result<u64> {
        let blocks: usize = self.blocks.iter().map(|block| block.len() * ROW_BYTES).sum();
        let length = |file: &File| file.metadata().map(|metadata| metadata.len());
        let stored = self.file.as_ref().map_or(Ok(0), length).map_err(in_temporary)?;
        Ok(blocks as u64 + stored)
    }

    /// All rows together.
    pub fn rows(self) -> Result<Vec<RowHash>> {
        let bytes = usize::try_from(self.bytes()?).unwrap_or(usize::MAX);
        let mut rows = Vec::with_capacity(bytes / ROW_BYTES);
        self.each_block(|block| {
            rows.extend_from_slice(block);
            Ok(())
        })?;
        Ok(rows)
    }

    fn each_block(self, mut each: impl FnMut(&[RowHash]) -> Result<()>) -> Result<()> {
        self.blocks.into_iter().try_for_each(|block| each(&block))?;
        let Some(mut file) = self.file else { return Ok(()) };
        file.seek(SeekFrom::Start(0)).map_err(in_temporary)?;
        let (mut bytes, step) = (Vec::new(), (ROW_BYTES * BLOCK_ROWS) as u64);
        let mut rows = Vec::with_capacity(BLOCK_ROWS);
        loop {
            bytes.clear();
            Read::by_ref(&mut file).take(step).read_to_end(&mut bytes).map_err(in_temporary)?;
            if bytes.is_empty() {
                return Ok(());
            }
            rows.clear();
            rows.extend(bytes.chunks_exact(ROW_BYTES).map(row_of));
            each(&rows)?;
        }
    }
}

fn row_of(bytes: &[u8]) -> RowHash {
    let number = |at: usize| u64::from_le_bytes(std::array::from_fn(|byte| bytes[at * 8 + byte]));
    RowHash { key: KeyHash { low: number(0), high: number(1) }, row: number(2) }
}

/// Rows of each partition that are not handed over yet.
#[derive(Clone)]
struct HashBuffers {
    level: u32,
    blocks: Vec<Vec<RowHash>>,
}

impl HashBuffers {
    fn new(level: u32) -> Self {
        Self { level, blocks: vec![Vec::new(); PARTITIONS] }
    }

    #[inline]
    fn add(&mut self, row: RowHash, partitions: &HashPartitions<'_>) -> Result<()> {
        let number = partition_of(row.key.whole(), self.level);
        let block = &mut self.blocks[number];
        if block.capacity() == 0 {
            block.reserve_exact(BLOCK_ROWS);
        }
        block.push(row);
        if block.len() == BLOCK_ROWS { partitions.add_block(number, block) } else { Ok(()) }
    }

    fn flush(&mut self, partitions: &HashPartitions<'_>) -> Result<()> {
        let mut blocks = self.blocks.iter_mut().enumerate();
        blocks.try_for_each(|(number, block)| {
            block.shrink_to_fit();
            partitions.add_block(number, block)
        })
    }
}

fn in_temporary(error: std::io::Error) -> Error {
    Error::from(error).at(std::env::temp_dir().display())
}
