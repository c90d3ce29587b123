//! A collection as a sink.

use std::sync::Arc;

use arrow::datatypes::SchemaRef;
use arrow::record_batch::RecordBatch;
use bson::{Document, doc};
use lakerace_format::{Narrowing, Sink, Written};
use lakerace_io::option::RESUME;
use lakerace_io::{Error, Result};

use super::columns::BsonEncoding;
use super::failure;
use super::journal::MongoJournal;
use super::kept_schema::KeptSchema;
use super::sender::{CommandSender, DeliveredCommand, LANES};
use super::statement::{AddedRow, CommandBuffer, DocumentRows, IdPlan, WriteStatement};
use super::target::MongoTarget;
use crate::dead_letter::DeadLetters;
use crate::fnv::part_of;
use crate::narrowing::{whole_milliseconds, with_columns};
use crate::options::{BatchRows, SinkOptions};

/// The approximate size of a command in bytes: large enough that answers cost little, small enough that four of them
/// fit into little memory.
const COMMAND_BYTES: usize = 1 << 20;
/// Rows between two checks for a cancelled job.
const BLOCK_ROWS: usize = 64;

/// The purpose of a sink.
pub(super) struct SinkPlan {
    pub statement: WriteStatement,
    pub ids: IdPlan,
    pub kept: Option<KeptSchema>,
    pub encoding: BsonEncoding,
}

/// Writes rows as documents.
pub(super) struct MongoSink {
    target: MongoTarget,
    plan: SinkPlan,
    schema: SchemaRef,
    buffers: Vec<CommandBuffer>,
    sender: CommandSender,
    letters: Option<DeadLetters>,
    advice_on_rejected: String,
    journal: Option<MongoJournal>,
    /// The number of the next row, from 0, those that an earlier run had acknowledged included.
    next_row: u64,
    acknowledged_at_start: u64,
    /// The number of rows that were acknowledged at the start and are in no document.
    rejected_at_start: u64,
    keeps_staging: bool,
    confirmed: u64,
    rejected: u64,
    bytes: u64,
    is_done: bool,
}

impl MongoSink {
    pub(super) fn new(
        target: MongoTarget,
        plan: SinkPlan,
        schema: SchemaRef,
        journal: Option<MongoJournal>,
        options: &SinkOptions,
    ) -> Result<Self> {
        let lanes = if plan.statement == WriteStatement::Insert { 1 } else { LANES };
        let concern = target.write_concern();
        let buffer = || CommandBuffer::new(target.loading(), plan.statement, &concern);
        let buffers = (0..lanes).map(|_| buffer()).collect::<Result<_>>()?;
        let acknowledged = journal.as_ref().map_or(0, |journal| journal.acknowledged_rows);
        let rejected_at_start = journal.as_ref().map_or(0, |journal| journal.rejected_rows);
        // A staging collection that was made for this run has no row of an earlier one.
        let may_be_there = options.resume && (acknowledged > 0 || !target.is_aside());
        Ok(Self {
            sender: CommandSender::new(&target.connection, target.loading(), may_be_there),
            letters: DeadLetters::create(options, &target.connection.job)?,
            advice_on_rejected: options.advice_on_rejected(),
            keeps_staging: journal.is_some() && matches!(options.batch_rows, BatchRows::Rows(_)),
            is_done: journal.as_ref().is_some_and(|journal| journal.is_finished),
            target,
            plan,
            schema,
            buffers,
            journal,
            next_row: acknowledged,
            acknowledged_at_start: acknowledged,
            rejected_at_start,
            confirmed: 0,
            rejected: 0,
            bytes: 0,
        })
    }

    fn add(&mut self, batch: &RecordBatch) -> Result<()> {
        let ids = self.plan.ids.clone();
        let rows = DocumentRows::new(batch, &self.schema, &ids, self.plan.encoding)?;
        for buffer in &mut self.buffers {
            buffer.start_batch(batch);
        }
        let lanes = if self.buffers.len() > 1 { Some(self.lanes(batch, &ids)?) } else { None };
        for row in 0..batch.num_rows() {
            let lane = lanes.as_ref().map_or(0, |lanes| lanes[row]);
            if row % BLOCK_ROWS == 0 {
                self.target.connection.job.check()?;
            }
            self.add_row(&rows, batch, row, lane)?;
        }
        Ok(())
    }

    #[inline]
    fn add_row(&mut self, rows: &DocumentRows<'_>, batch: &RecordBatch, row: usize, lane: usize) -> Result<()> {
        let number = self.next_row;
        self.next_row += 1;
        loop {
            match self.buffers[lane].add(rows, batch, row, number) {
                AddedRow::Yes => break,
                AddedRow::Full => {
                    self.send(lane)?;
                    self.buffers[lane].start_batch(batch);
                }
                AddedRow::Rejected(reason) => return self.reject(batch, row, &reason, false),
            }
        }
        if self.buffers[lane].bytes() >= COMMAND_BYTES {
            self.send(lane)?;
            self.buffers[lane].start_batch(batch);
        }
        Ok(())
    }

    /// The lane of each row, by its key.
    fn lanes(&self, batch: &RecordBatch, ids: &IdPlan) -> Result<Vec<usize>> {
        let columns = match ids {
            IdPlan::Row(_) => return Ok(vec![0; batch.num_rows()]),
            IdPlan::Column(index) => vec![*index],
            IdPlan::Key(key) | IdPlan::Server(key) => key.clone(),
        };
        let failed = |error: arrow::error::ArrowError| Error::unsupported("the key can't be compared").because(error);
        let fields =
            columns.iter().map(|index| arrow::row::SortField::new(self.schema.field(*index).data_type().clone()));
        let converter = arrow::row::RowConverter::new(fields.collect()).map_err(failed)?;
        let key: Vec<_> = columns.iter().map(|index| batch.column(*index).clone()).collect();
        let keys = converter.convert_columns(&key).map_err(failed)?;
        Ok(keys.iter().map(|key| part_of(key.as_ref(), LANES)).collect())
    }

    fn send(&mut self, lane: usize) -> Result<()> {
        let command = self.buffers[lane].take();
        let fixed = (self.buffers.len() > 1).then_some(lane);
        let delivered = self.sender.send(fixed, command)?;
        self.account(delivered)
    }

    fn account(&mut self, delivered: Vec<DeliveredCommand>) -> Result<()> {
        for delivered in delivered {
            let confirmed = (delivered.command.len() - delivered.rejected.len()) as u64;
            self.confirmed += confirmed;
            self.bytes += delivered.command.payload();
            self.target.connection.job.meter().wrote_rows(confirmed);
            for rejected in &delivered.rejected {
                let (batch, row) =
                    delivered.command.row(rejected.index).ok_or_else(|| Error::internal("a row has no batch"))?;
                let (batch, reason) = (batch.clone(), failure::reason(rejected.code));
                self.reject(&batch, row, &reason, rejected.code == 11000)?;
            }
        }
        Ok(())
    }

    fn reject(&mut self, batch: &RecordBatch, row: usize, reason: &str, is_duplicate: bool) -> Result<()> {
        match &self.letters {
            Some(letters) => {
                letters.reject(batch, row, reason)?;
                self.rejected += 1;
                Ok(())
            }
            None => {
                let error = if is_duplicate { Error::conflict(reason) } else { Error::invalid(reason) };
                Err(error.advice(&self.advice_on_rejected))
            }
        }
    }

    fn flush(&mut self) -> Result<()> {
        for lane in 0..self.buffers.len() {
            if self.buffers[lane].len() > 0 {
                self.send(lane)?;
            }
        }
        let delivered = self.sender.wait_for_all()?;
        self.account(delivered)?;
        self.letters.as_ref().map_or(Ok(()), DeadLetters::flush)
    }

    fn acknowledge(&mut self, is_finished: bool) -> Result<()> {
        match &mut self.journal {
            Some(journal) => {
                journal.rejected_rows = self.rejected_at_start + self.rejected;
                journal.acknowledge(&self.target.connection, self.next_row, is_finished)
            }
            None => Ok(()),
        }
    }

    fn complete(&mut self) -> Result<()> {
        self.flush()?;
        if self.is_done && self.next_row == self.acknowledged_at_start {
            return Ok(());
        }
        // Another run of the load may have dropped the staging collection: then this is a conflict, before any row is
        // visible.
        let replaced = if self.target.is_aside() { self.target.replaced()? } else { None };
        if let Some(journal) = self.journal.as_mut().filter(|_| self.target.is_aside()) {
            journal.is_publishing = true;
            journal.replaced_options = replaced.as_ref().map(|info| info.options.clone()).unwrap_or_default();
        }
        self.acknowledge(false)?;
        let published = self.target.publish(self.plan.kept.as_ref(), replaced)?;
        if let (Some(journal), Some(uuid)) = (&mut self.journal, published) {
            // Some servers give a renamed collection another id.
            journal.uuid = Some(uuid);
        }
        self.acknowledge(true)?;
        self.is_done = true;
        Ok(())
    }

    fn with_location<T>(&self, result: Result<T>) -> Result<T> {
        result.map_err(|error| error.at(&self.target.connection.location))
    }
}

impl Sink for MongoSink {
    fn write(&mut self, batch: RecordBatch) -> Result<()> {
        if self.is_done && batch.num_rows() > 0 {
            return Err(Error::conflict("the load is finished, but its source has more rows now")
                .at(&self.target.connection.location)
                .advice(format!("start a new load, without {RESUME}")));
        }
        let outcome = self.add(&batch);
        self.with_location(outcome)
    }

    fn checkpoint(&mut self) -> Result<()> {
        let outcome = self.flush().and_then(|()| self.acknowledge(false));
        self.with_location(outcome)
    }

    fn acknowledged_rows(&self) -> u64 {
        self.acknowledged_at_start
    }

    fn narrowing(&self) -> Option<Narrowing> {
        let narrow: Narrowing = Arc::new(|batch| {
            let columns = batch.columns().iter().map(whole_milliseconds).collect::<Result<Vec<_>>>()?;
            with_columns(batch, columns)
        });
        self.plan.encoding.allows_narrowing.then_some(narrow)
    }

    fn finish(mut self: Box<Self>) -> Result<Written> {
        let outcome = self.complete();
        self.with_location(outcome)?;
        Ok(Written {
            rows: self.confirmed,
            bytes: self.bytes,
            files: vec![self.target.connection.location.to_string()],
            rejected: self.rejected,
            ..Written::default()
        })
    }
}

impl Drop for MongoSink {
    fn drop(&mut self) {
        if !self.is_done {
            self.sender.drain();
            if !self.keeps_staging {
                self.target.discard();
            }
        }
    }
}

/// The write concern of a load: that of the location, otherwise `majority`.
pub(super) fn write_concern(location: &super::location::MongoLocation) -> Document {
    let asked = &location.write_concern;
    let mut concern = match asked.w.as_deref().map(str::parse::<i32>) {
        Some(Ok(servers)) => doc! { "w": servers },
        Some(Err(_)) => doc! { "w": asked.w.clone().unwrap_or_default() },
        None => doc! { "w": "majority" },
    };
    if let Some(journal) = asked.journal {
        concern.insert("j", journal);
    }
    if let Some(timeout) = asked.timeout_ms {
        concern.insert("wtimeout", timeout);
    }
    concern
}
