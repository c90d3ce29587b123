//! Running a read: blocks in order from the input, scanned and parsed on many threads, batches in order to the caller.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use arrow::array::{RecordBatchOptions, new_null_array};
use arrow::datatypes::SchemaRef;
use arrow::record_batch::RecordBatch;
use lakerace_exec::OrderedPool;
use lakerace_io::{Error, Fetcher, Job, Result};

use super::chain::{BlockChain, BlockRecords, ScannedBlock};
use super::parse::{BatchParser, ParsedBlock, internal};
use super::scan::SpeculativeScan;
use crate::own_texts::with_own_texts;
use crate::text::{BlockReader, RawBlock, fetch_block, pool_options, without_byte_order_mark};
use crate::{Constants, Predicate};

/// The work for every block.
pub(super) struct BlockWork {
    pub parser: BatchParser,
    pub filter: Option<Predicate>,
    /// The columns of the result, by position in the whole schema.
    pub projection: Vec<usize>,
    /// The parser's columns, then those that the files' places give.
    pub whole_schema: SchemaRef,
    /// The constants of files, by the file's URL.
    pub constants: HashMap<String, Arc<Constants>>,
    pub schema: SchemaRef,
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
            let batch = RecordBatch::new_empty(Arc::clone(&self.schema));
            return Ok(ParsedBlock { batch, bad_rows: 0, error: records.error });
        };
        let mut parsed = self.parser.parse(&records.pieces, layout)?;
        parsed.error = parsed.error.or(records.error);
        let mut batch = self.with_constants(parsed.batch, &layout.url)?;
        if let Some(filter) = &self.filter {
            let rows = batch.num_rows();
            let keep = filter.evaluate(&batch).map_err(|error| error.at(&layout.url))?;
            batch = batch.project(&self.projection).map_err(|e| internal(&e))?;
            batch = arrow::compute::filter_record_batch(&batch, &keep).map_err(|e| internal(&e))?;
            if batch.num_rows() < rows / 4 {
                // Its texts are in the block, which would stay in memory for a few rows.
                batch = with_own_texts(&batch)?;
            }
        } else {
            batch = batch.project(&self.projection).map_err(|e| internal(&e))?;
        }
        // The parser's schema is in the file's order, and projection does not change the order of its fields.
        parsed.batch = batch.with_schema(Arc::clone(&self.schema)).map_err(|e| internal(&e))?;
        Ok(parsed)
    }
}

impl BlockWork {
    /// The batch with the columns that its file's place gives.
    fn with_constants(&self, batch: RecordBatch, url: &str) -> Result<RecordBatch> {
        if self.whole_schema.fields().len() == batch.num_columns() {
            return Ok(batch);
        }
        let (rows, constants) = (batch.num_rows(), self.constants.get(url));
        let mut columns = batch.columns().to_vec();
        for field in &self.whole_schema.fields()[columns.len()..] {
            let constant = constants.map(|c| c.array(field.name(), rows)).transpose()?.flatten();
            columns.push(constant.unwrap_or_else(|| new_null_array(field.data_type(), rows)));
        }
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        RecordBatch::try_new_with_options(Arc::clone(&self.whole_schema), columns, &options).map_err(|e| internal(&e))
    }
}
