//! Running a read: blocks in order from the input, scanned and parsed on many threads, batches in order to the caller.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use arrow::record_batch::RecordBatch;
use lakerace_exec::OrderedPool;
use lakerace_io::{Error, Fetcher, Job, Result};

use super::chain::{BlockChain, BlockRecords, ScannedBlock};
use super::parse::{BatchParser, ParsedBlock};
use super::scan::SpeculativeScan;
use crate::batch_selection::BatchSelection;
use crate::input::Constants;
use crate::own_texts::with_own_texts;
use crate::text::{BlockReader, RawBlock, fetch_block, pool_options, without_byte_order_mark};

/// The work for every block.
pub(super) struct BlockWork {
    pub parser: BatchParser,
    pub selection: BatchSelection,
    /// The constants of files, by the file's URL.
    pub constants: HashMap<String, Arc<Constants>>,
    pub urls: Vec<Arc<str>>,
    pub fetcher: Fetcher,
    pub job: Job,
}

/// The batches of a read.
pub(super) struct CsvBatches {
    /// `None` once nothing more is wanted: its threads end.
    blocks: Option<OrderedPool<RawBlock, ParsedBlock, Error>>,
    job: Job,
    pending: VecDeque<RecordBatch>,
    /// The error that ends the read, once the pending batches are taken.
    error: Option<Error>,
    rows_left: u64,
    batch_rows: usize,
}

impl CsvBatches {
    /// Starts reading: blocks are scanned and parsed on the job's threads, and their ends joined in order. One thread does the work
    /// itself, when it is asked for the next batch.
    pub fn start(
        work: BlockWork,
        mut input: BlockReader,
        mut chain: BlockChain,
        limit: Option<u64>,
        batch_rows: usize,
    ) -> Self {
        let job = work.job.clone();
        let scanning = Arc::new(work);
        let parsing = Arc::clone(&scanning);
        let blocks = OrderedPool::start_chained(
            pool_options("lakerace-csv", &job),
            &job,
            std::iter::from_fn(move || input.next_block().transpose()),
            move |raw: RawBlock| scanning.scan(&raw),
            move |scanned| chain.resolve(&scanned),
            move |records| parsing.parse(records),
        );
        let rows_left = limit.unwrap_or(u64::MAX);
        Self { blocks: Some(blocks), job, pending: VecDeque::new(), error: None, rows_left, batch_rows }
    }

    /// Takes a block's rows: cut to the limit and to batches.
    fn accept(&mut self, parsed: ParsedBlock) {
        self.job.meter().bad_rows(parsed.bad_rows);
        let rows = (parsed.batch.num_rows() as u64).min(self.rows_left);
        self.rows_left -= rows;
        let rows = rows as usize;
        for from in (0..rows).step_by(self.batch_rows) {
            self.pending.push_back(parsed.batch.slice(from, self.batch_rows.min(rows - from)));
        }
        if self.rows_left == 0 {
            self.blocks = None;
        } else if parsed.error.is_some() {
            self.error = parsed.error;
            self.blocks = None;
        }
    }
}

impl Iterator for CsvBatches {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(batch) = self.pending.pop_front() {
                self.job.meter().read_rows(batch.num_rows() as u64);
                return Some(Ok(batch));
            }
            let Some(blocks) = self.blocks.as_mut().filter(|_| self.rows_left > 0) else {
                self.blocks = None;
                return self.error.take().map(Err);
            };
            match blocks.take() {
                Ok(Some(parsed)) => self.accept(parsed),
                Ok(None) => self.blocks = None,
                Err(error) => (self.blocks, self.error) = (None, Some(error)),
            }
        }
    }
}

impl BlockWork {
    /// The part of the work that needs no other block.
    fn scan(&self, raw: &RawBlock) -> Result<ScannedBlock> {
        let url = Arc::clone(&self.urls[raw.file]);
        let mut bytes = fetch_block(&raw.data, &self.fetcher)?;
        if raw.is_first {
            bytes = without_byte_order_mark(bytes, &url)?;
        }
        let outlook = SpeculativeScan::scan(&bytes, &self.parser.rules);
        Ok(ScannedBlock { url, bytes, outlook, is_first: raw.is_first, is_last: raw.is_last })
    }

    /// The rest of it, once the records are known: typed, filtered, projected.
    fn parse(&self, records: BlockRecords) -> Result<ParsedBlock> {
        let Some(layout) = &records.layout else {
            return Ok(ParsedBlock { batch: self.selection.empty(), bad_rows: 0, error: records.error });
        };
        let mut parsed = self.parser.parse(&records.pieces, layout)?;
        parsed.error = parsed.error.or(records.error);
        let (rows, constants) = (parsed.batch.num_rows(), self.constants.get(layout.url.as_ref()));
        let batch = self.selection.select(parsed.batch, constants.map(Arc::as_ref));
        parsed.batch = batch.map_err(|error| error.at(&layout.url))?;
        if parsed.batch.num_rows() < rows / 4 {
            // Its texts are in the block, which would stay in memory for a few rows.
            parsed.batch = with_own_texts(&parsed.batch)?;
        }
        Ok(parsed)
    }
}
