//! The blocks of files in units of work, and the batches that threads make of them.

use std::collections::VecDeque;
use std::io::Read;
use std::sync::Arc;

use arrow::array::RecordBatch;
use lakerace_exec::OrderedPool;
use lakerace_io::{Error, Fetcher, Job, Object, Result};

use super::codec::BlockCodec;
use super::container::{BlockScanner, FileHeader, StoredBlock};
use super::decoder::{BlockRows, FileDecoders, UnpackedBlock};
use crate::batch_selection::BatchSelection;
use crate::input::Constants;
use crate::text::stored_bytes;

/// Stored bytes of a unit, unless one block has more: blocks of other writers have some kilobytes.
const UNIT_BYTES: usize = 512 << 10;

/// Memory of the batches that a thread makes ahead of the consumer. The rest of its unit waits as bytes.
const AHEAD_BYTES: usize = 64 << 20;

/// A file that is read.
pub(super) struct UnitFile {
    pub object: Object,
    pub header: FileHeader,
    pub codec: BlockCodec,
    pub decoders: Arc<FileDecoders>,
    pub constants: Option<Arc<Constants>>,
    /// False for a file that the plan leaves out.
    pub is_read: bool,
}

/// Blocks of one file.
pub(super) struct BlockUnit {
    /// The file, by its number in the plan.
    file: usize,
    blocks: Vec<StoredBlock>,
}

/// All blocks of a read, in order.
pub(super) struct BlockUnits {
    files: Arc<[UnitFile]>,
    fetcher: Fetcher,
    next_file: usize,
    current: Option<(usize, BlockScanner)>,
    /// The error after the blocks of the last unit.
    error: Option<Error>,
    job: Job,
}

impl BlockUnits {
    /// The blocks of these files, whose bytes are fetched.
    pub fn new(files: Arc<[UnitFile]>, fetcher: Fetcher, job: &Job) -> Self {
        Self { files, fetcher, next_file: 0, current: None, error: None, job: job.clone() }
    }

    fn scanner(&self, file: usize) -> Result<BlockScanner> {
        let UnitFile { object, header, .. } = &self.files[file];
        match object.stream() {
            Some(pipe) => {
                let mut bytes = std::io::BufReader::new(pipe.reader(&self.job)?);
                std::io::copy(&mut bytes.by_ref().take(header.length), &mut std::io::sink())?;
                Ok(BlockScanner::new(Box::new(bytes), header.length, None, header.sync))
            }
            None => {
                let size = object.size_bytes.unwrap_or(0);
                let bytes = stored_bytes(&self.fetcher, file, header.length.min(size)..size);
                Ok(BlockScanner::new(Box::new(bytes), header.length, Some(size), header.sync))
            }
        }
    }

    fn next_unit(&mut self) -> Result<Option<BlockUnit>> {
        if let Some(error) = self.error.take() {
            return Err(error);
        }
        loop {
            if self.current.is_none() {
                let file = self.next_file;
                let Some(next) = self.files.get(file) else { return Ok(None) };
                self.next_file += 1;
                if !next.is_read {
                    continue;
                }
                let scanner = self.scanner(file).map_err(|error| error.at(next.object.url()))?;
                self.current = Some((file, scanner));
            }
            let Some((file, scanner)) = &mut self.current else { continue };
            let file = *file;
            let (mut blocks, mut bytes) = (Vec::new(), 0);
            while bytes < UNIT_BYTES {
                match scanner.next_block() {
                    Ok(Some(block)) => {
                        bytes += block.packed.len().max(1);
                        blocks.push(block);
                        continue;
                    }
                    Ok(None) => {}
                    // The rows before it are given first.
                    Err(error) => self.error = Some(error.at(self.files[file].object.url())),
                }
                self.current = None;
                break;
            }
            if !blocks.is_empty() {
                return Ok(Some(BlockUnit { file, blocks }));
            }
            if let Some(error) = self.error.take() {
                return Err(error);
            }
        }
    }
}

impl Iterator for BlockUnits {
    type Item = Result<BlockUnit>;

    fn next(&mut self) -> Option<Self::Item> {
        self.next_unit().transpose()
    }
}

/// Makes batches of blocks.
pub(super) struct UnitReader {
    pub files: Arc<[UnitFile]>,
    pub selection: BatchSelection,
    pub batch_rows: usize,
}

/// The rows of a unit that are not decoded yet.
type UnitRows = BlockRows<Box<dyn Iterator<Item = Result<UnpackedBlock>> + Send>>;

/// The batches of a unit: those that were made ahead, and the rest.
pub(super) struct ReadUnit {
    file: usize,
    ready: VecDeque<Result<RecordBatch>>,
    rest: Option<UnitRows>,
}

impl UnitReader {
    /// Unpacks and decodes a unit, up to some memory.
    pub fn read(&self, unit: BlockUnit) -> ReadUnit {
        let BlockUnit { file, blocks } = unit;
        let codec = self.files[file].codec;
        let unpack = move |block: StoredBlock| {
            let StoredBlock { at, rows, packed } = block;
            let bytes = codec.unpack(packed).map_err(|error| error.at(format!("block at byte {at}")))?;
            Ok(UnpackedBlock { at, rows, bytes })
        };
        let blocks = Box::new(blocks.into_iter().map(unpack)) as Box<_>;
        let mut rows = BlockRows::new(Arc::clone(&self.files[file].decoders), blocks, self.batch_rows);
        let (mut ready, mut bytes) = (VecDeque::new(), 0);
        while bytes < AHEAD_BYTES {
            let Some(batch) = self.finish_next(file, &mut rows) else {
                return ReadUnit { file, ready, rest: None };
            };
            bytes += batch.as_ref().map_or(AHEAD_BYTES, RecordBatch::get_array_memory_size);
            ready.push_back(batch);
        }
        ReadUnit { file, ready, rest: Some(rows) }
    }

    fn finish_next(&self, file: usize, rows: &mut UnitRows) -> Option<Result<RecordBatch>> {
        let constants = self.files[file].constants.as_deref();
        let batch = rows.next()?.and_then(|batch| self.selection.select(batch, constants));
        Some(batch.map_err(|error| error.at(self.files[file].object.url())))
    }
}

/// The batches of all units, up to a limit.
pub(super) struct UnitBatches {
    pub units: OrderedPool<BlockUnit, ReadUnit, Error>,
    pub reader: Arc<UnitReader>,
    pub current: Option<ReadUnit>,
    pub rows_left: u64,
    pub job: Job,
}

impl UnitBatches {
    fn next_batch(&mut self) -> Result<Option<RecordBatch>> {
        while self.rows_left > 0 {
            let Some(unit) = &mut self.current else {
                self.current = self.units.take()?;
                if self.current.is_none() {
                    return Ok(None);
                }
                continue;
            };
            self.job.check()?;
            let next = match unit.ready.pop_front() {
                Some(batch) => Some(batch),
                None => unit.rest.as_mut().and_then(|rows| self.reader.finish_next(unit.file, rows)),
            };
            let Some(batch) = next else {
                self.current = None;
                continue;
            };
            let batch = batch?;
            if batch.num_rows() == 0 {
                continue;
            }
            let rows = (batch.num_rows() as u64).min(self.rows_left);
            self.rows_left -= rows;
            self.job.meter().read_rows(rows);
            return Ok(Some(batch.slice(0, rows as usize)));
        }
        Ok(None)
    }
}

impl Iterator for UnitBatches {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        self.next_batch().transpose()
    }
}
