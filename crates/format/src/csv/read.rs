//! Running a read: blocks in order from the input, scanned and parsed on many threads, batches in order to the caller.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex};

use arrow::array::{Array, AsArray, RecordBatchOptions, new_null_array};
use arrow::datatypes::{DataType, SchemaRef};
use arrow::record_batch::RecordBatch;
use lakerace_io::wait::{into_value, lock, wait_briefly};
use lakerace_io::{Error, Fetcher, Job, Result};

use super::chain::{Chain, Records, ScannedBlock};
use super::parse::{Parsed, Parser, internal};
use super::scan::Outlook;
use crate::text::{BlockReader, RawBlock, fetch_block, without_byte_order_mark};
use crate::{Constants, Predicate};

/// Blocks that may be under way or ready beyond one for every thread.
const READ_AHEAD: usize = 2;

/// What to do with every block.
pub(super) struct Work {
    pub parser: Parser,
    pub filter: Option<Predicate>,
    /// The columns of the result, by position in the whole schema.
    pub projection: Vec<usize>,
    /// The parser's columns, then those that the files' places give.
    pub whole_schema: SchemaRef,
    /// What these are, by the file's URL.
    pub constants: HashMap<String, Arc<Constants>>,
    pub schema: SchemaRef,
    pub urls: Vec<Arc<str>>,
    pub fetcher: Fetcher,
    pub job: Job,
}

/// The batches of a read.
pub(super) struct Reader {
    blocks: Blocks,
    work: Arc<Work>,
    pending: VecDeque<RecordBatch>,
    /// What ends the read, once the pending batches are taken.
    error: Option<Error>,
    rows_left: u64,
    batch_rows: usize,
    done: bool,
}

/// Where parsed blocks come from.
enum Blocks {
    Inline { input: Box<BlockReader>, chain: Box<Chain> },
    Threads(Arc<Shared>),
}

/// What the threads of a read share. Locks are taken in the order of the fields.
struct Shared {
    work: Arc<Work>,
    input: Mutex<BlockReader>,
    chain: Mutex<Turns>,
    /// The chain has moved on.
    turn: Condvar,
    done: Mutex<Done>,
    /// A block was done.
    ready: Condvar,
    /// A block was taken.
    room: Condvar,
    stop: AtomicBool,
    /// Blocks that may be under way or done and not taken.
    window: usize,
}

struct Turns {
    chain: Chain,
    next: usize,
}

#[derive(Default)]
struct Done {
    blocks: BTreeMap<usize, Result<Parsed>>,
    /// The next block to be taken.
    next: usize,
    /// The number of blocks, once known.
    end: Option<usize>,
}

impl Reader {
    /// Starts reading. One thread does the work itself, when it is asked for the next batch.
    pub fn start(work: Work, input: BlockReader, chain: Chain, limit: Option<u64>, batch_rows: usize) -> Result<Self> {
        let work = Arc::new(work);
        let threads = work.job.options().threads.max(1);
        let blocks = if threads == 1 {
            Blocks::Inline { input: Box::new(input), chain: Box::new(chain) }
        } else {
            Shared::start(&work, input, chain, threads)?
        };
        let rows_left = limit.unwrap_or(u64::MAX);
        Ok(Self { blocks, work, pending: VecDeque::new(), error: None, rows_left, batch_rows, done: false })
    }

    fn next_block(&mut self) -> Result<Option<Parsed>> {
        self.work.job.check()?;
        match &mut self.blocks {
            Blocks::Threads(shared) => shared.take(),
            Blocks::Inline { input, chain } => {
                let Some(raw) = input.next_block()? else { return Ok(None) };
                let scanned = self.work.scan(&raw)?;
                let records = chain.resolve(&scanned)?;
                self.work.parse(records).map(Some)
            }
        }
    }

    /// Takes a block's rows: cut to the limit and to batches.
    fn accept(&mut self, parsed: Parsed) {
        self.work.job.meter().bad_rows(parsed.bad_rows);
        let rows = (parsed.batch.num_rows() as u64).min(self.rows_left);
        self.rows_left -= rows;
        let rows = rows as usize;
        for from in (0..rows).step_by(self.batch_rows) {
            self.pending.push_back(parsed.batch.slice(from, self.batch_rows.min(rows - from)));
        }
        if self.rows_left == 0 {
            self.finish();
        } else if parsed.error.is_some() {
            self.error = parsed.error;
            self.finish();
        }
    }

    fn finish(&mut self) {
        self.done = true;
        self.stop();
    }

    fn stop(&self) {
        if let Blocks::Threads(shared) = &self.blocks {
            shared.stop();
        }
    }
}

impl Iterator for Reader {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(batch) = self.pending.pop_front() {
                self.work.job.meter().read_rows(batch.num_rows() as u64);
                return Some(Ok(batch));
            }
            if self.done || self.rows_left == 0 {
                self.finish();
                return self.error.take().map(Err);
            }
            match self.next_block() {
                Ok(Some(parsed)) => self.accept(parsed),
                Ok(None) => self.finish(),
                Err(error) => {
                    self.error = Some(error);
                    self.finish();
                }
            }
        }
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        self.stop();
    }
}

impl Work {
    /// The part of the work that needs no other block.
    fn scan(&self, raw: &RawBlock) -> Result<ScannedBlock> {
        let url = Arc::clone(&self.urls[raw.file]);
        let mut bytes = fetch_block(&raw.data, &self.fetcher)?;
        if raw.is_first {
            bytes = without_byte_order_mark(bytes, &url)?;
        }
        let outlook = Outlook::of(&bytes, &self.parser.rules);
        Ok(ScannedBlock { url, bytes, outlook, is_first: raw.is_first, is_last: raw.is_last })
    }

    /// The rest of it, once the records are known: typed, filtered, projected.
    fn parse(&self, records: Records) -> Result<Parsed> {
        let Some(layout) = &records.layout else {
            let batch = RecordBatch::new_empty(Arc::clone(&self.schema));
            return Ok(Parsed { batch, bad_rows: 0, error: records.error });
        };
        let mut parsed = self.parser.parse(&records.pieces, layout)?;
        parsed.error = parsed.error.or(records.error);
        let mut batch = self.with_constants(parsed.batch, &layout.url)?;
        if let Some(filter) = &self.filter {
            let rows = batch.num_rows();
            let keep = filter.evaluate(&batch)?;
            batch = batch.project(&self.projection).map_err(|e| internal(&e))?;
            batch = arrow::compute::filter_record_batch(&batch, &keep).map_err(|e| internal(&e))?;
            if batch.num_rows() < rows / 4 {
                batch = without_block(batch)?;
            }
        } else {
            batch = batch.project(&self.projection).map_err(|e| internal(&e))?;
        }
        // The parser's schema is in the file's order; projecting keeps its fields as they are.
        parsed.batch = batch.with_schema(Arc::clone(&self.schema)).map_err(|e| internal(&e))?;
        Ok(parsed)
    }
}

impl Work {
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

/// Copies texts out of the block, so that it does not stay in memory for a few rows.
fn without_block(batch: RecordBatch) -> Result<RecordBatch> {
    let columns = batch.columns().iter().map(|column| match column.data_type() {
        DataType::Utf8View => Arc::new(column.as_string_view().gc()) as _,
        _ => Arc::clone(column),
    });
    let options = arrow::record_batch::RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    RecordBatch::try_new_with_options(batch.schema(), columns.collect(), &options).map_err(|e| internal(&e))
}

impl Shared {
    fn start(work: &Arc<Work>, input: BlockReader, chain: Chain, threads: usize) -> Result<Blocks> {
        let shared = Arc::new(Self {
            work: Arc::clone(work),
            input: Mutex::new(input),
            chain: Mutex::new(Turns { chain, next: 0 }),
            turn: Condvar::new(),
            done: Mutex::new(Done::default()),
            ready: Condvar::new(),
            room: Condvar::new(),
            stop: AtomicBool::new(false),
            window: threads + READ_AHEAD,
        });
        for i in 0..threads {
            let thread = Arc::clone(&shared);
            let spawned = std::thread::Builder::new().name(format!("lakerace-csv-{i}")).spawn(move || thread.run());
            match spawned {
                Ok(_) => {}
                Err(error) if i == 0 => {
                    // The calling thread does all.
                    let all = Arc::into_inner(shared).ok_or_else(|| lakerace_io::threads::not_started(&error))?;
                    let (input, turns) = (into_value(all.input), into_value(all.chain));
                    return Ok(Blocks::Inline { input: Box::new(input), chain: Box::new(turns.chain) });
                }
                // Those that run do all.
                Err(_) => break,
            }
        }
        Ok(Blocks::Threads(shared))
    }

    fn stop(&self) {
        self.stop.store(true, Ordering::Release);
        self.room.notify_all();
        self.turn.notify_all();
        self.ready.notify_all();
    }

    fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Acquire) || self.work.job.is_cancelled()
    }

    /// A thread's loop: until the input ends, or nobody wants more.
    fn run(&self) {
        while !self.is_stopped() {
            let (index, raw) = match self.next_raw() {
                Some((index, Ok(Some(raw)))) => (index, raw),
                Some((index, Ok(None))) => {
                    lock(&self.done).end.get_or_insert(index);
                    self.ready.notify_all();
                    return;
                }
                Some((index, Err(error))) => return self.give(index, Err(error)),
                None => return,
            };
            let outcome = catch_unwind(AssertUnwindSafe(|| self.block(index, &raw)));
            match outcome {
                Ok(Some(outcome)) => self.give(index, outcome),
                Ok(None) => return,
                Err(_) => {
                    return self.give(index, Err(Error::internal("a CSV thread failed; report this with the file")));
                }
            }
        }
    }

    /// The next block of the input, once there is room for it. `None`: stop.
    fn next_raw(&self) -> Option<(usize, Result<Option<RawBlock>>)> {
        let mut input = lock(&self.input);
        if self.is_stopped() {
            return None;
        }
        let index = input.next_index();
        let mut done = lock(&self.done);
        while index >= done.next + self.window {
            if self.is_stopped() {
                return None;
            }
            done = wait_briefly(&self.room, done);
        }
        if done.end.is_some() {
            return None;
        }
        drop(done);
        let next = input.next_block();
        if next.is_err() {
            // Nothing comes behind it; whoever takes the error ends the read.
            lock(&self.done).end.get_or_insert(index + 1);
        }
        Some((index, next))
    }

    fn block(&self, index: usize, raw: &RawBlock) -> Option<Result<Parsed>> {
        let scanned = self.work.scan(raw);
        let mut turns = lock(&self.chain);
        while turns.next != index {
            if self.is_stopped() {
                return None;
            }
            turns = wait_briefly(&self.turn, turns);
        }
        let records = scanned.and_then(|scanned| turns.chain.resolve(&scanned));
        if records.is_ok() {
            turns.next += 1;
        }
        drop(turns);
        self.turn.notify_all();
        Some(records.and_then(|records| self.work.parse(records)))
    }

    fn give(&self, index: usize, outcome: Result<Parsed>) {
        lock(&self.done).blocks.insert(index, outcome);
        self.ready.notify_all();
    }

    /// The next block in order, when it is done. `None`: that was all.
    fn take(&self) -> Result<Option<Parsed>> {
        let mut done = lock(&self.done);
        loop {
            let next = done.next;
            if let Some(outcome) = done.blocks.remove(&next) {
                done.next += 1;
                drop(done);
                self.room.notify_all();
                return outcome.map(Some);
            }
            if done.end.is_some_and(|end| next >= end) {
                return Ok(None);
            }
            self.work.job.check()?;
            done = wait_briefly(&self.ready, done);
        }
    }
}
