//! Rows into an index.

use std::sync::Arc;

use arrow::datatypes::SchemaRef;
use arrow::record_batch::RecordBatch;
use lakerace_format::{Sink, Written};
use lakerace_io::option::{KEY, RESUME};
use lakerace_io::{Error, Job, Result};

use super::chunk::RequestChunkBuilder;
use super::client::{SearchClient, SearchRequest};
use super::encode::{DocumentAction, LineEncoder};
use super::journal::LoadJournal;
use super::location::{SearchLocation, escape};
use super::mapping::is_in_document;
use super::sender::{ChunkSender, REQUEST_BYTES};
use super::settings::SwitchableSetting;
use super::state::forget_states;
use super::target::{LoadRun, LoadTarget};
use crate::WriteMode;
use crate::dead_letter::DeadLetters;
use crate::options::SinkOptions;

/// After this number of requests, an index in use is not refreshed until the load ends.
const QUIET_AFTER_REQUESTS: u64 = 8;

/// A load.
pub(super) struct ElasticsearchSink {
    client: SearchClient,
    job: Job,
    schema: SchemaRef,
    target: LoadTarget,
    run: LoadRun,
    journal: LoadJournal,
    encoder: LineEncoder,
    /// `None` once the load has ended.
    sender: Option<ChunkSender>,
    builder: RequestChunkBuilder,
    /// Rows of this run.
    rows: u64,
    /// Rows of this run that are acknowledged.
    acknowledged: u64,
    /// Acknowledged rows of earlier runs that the index has not taken.
    rejected_before: u64,
    /// True if that number is known: journals of earlier versions lack it.
    knows_rejected: bool,
    must_be_new: bool,
    /// The state that stays where rows are replaced.
    job_state: Option<String>,
    is_finished: bool,
}

impl ElasticsearchSink {
    /// Begins a load.
    pub fn open(location: SearchLocation, schema: SchemaRef, options: &SinkOptions, job: &Job) -> Result<Self> {
        let location = Arc::new(location);
        let at = |error: Error| if error.location().is_some() { error } else { error.at(&location.shown) };
        Self::check(&location, &schema, options)?;
        let action = action(options, &schema, &location);
        let client = SearchClient::new(&location, job).map_err(at)?;
        let journal = LoadJournal::new(&client, job);
        let mut run = LoadRun::find(&journal, &location, options)?;
        let letters = DeadLetters::create(options, job)?;
        let target = LoadTarget::open(&client, &schema, options, &mut run, &journal, job).map_err(at)?;
        let knows_rejected = run.entry.acknowledged_rows == 0 || run.entry.uuid.is_some();
        run.entry.uuid = Some(target.uuid.clone()).filter(|uuid| !uuid.is_empty());
        let rejected_before = run.entry.rejected_rows;
        let dates = &location.parameters.date;
        let may_narrow = |path: &str| options.allow_narrowing || dates.iter().any(|name| name == path);
        let encoder = LineEncoder::new(&schema, &options.key, action, &target.fields, &run.entry.run).map_err(at)?;
        let encoder = encoder.allow_narrowing(may_narrow);
        let sender =
            Some(ChunkSender::new(&client, &target.index, run.was_begun, (letters, options.advice_on_rejected()), job));
        let must_be_new = options.mode == WriteMode::Error;
        let (builder, job) = (RequestChunkBuilder::default(), job.clone());
        let mut sink = Self {
            client,
            job,
            schema,
            target,
            run,
            journal,
            encoder,
            sender,
            builder,
            rows: 0,
            acknowledged: 0,
            rejected_before,
            knows_rejected,
            must_be_new,
            job_state: options.job_state.clone(),
            is_finished: false,
        };
        sink.note_begin()?;
        Ok(sink)
    }

    /// Fails where [`Self::open`] would fail before it writes. Returns true if the index exists.
    pub fn examine(location: SearchLocation, schema: &SchemaRef, options: &SinkOptions, job: &Job) -> Result<bool> {
        let location = Arc::new(location);
        let at = |error: Error| if error.location().is_some() { error } else { error.at(&location.shown) };
        Self::check(&location, schema, options)?;
        let client = SearchClient::new(&location, job).map_err(at)?;
        let mut run = LoadRun::find(&LoadJournal::new(&client, job), &location, options)?;
        let (exists, fields) = LoadTarget::examine(&client, schema, options, &mut run, job).map_err(at)?;
        let action = action(options, schema, &location);
        LineEncoder::new(schema, &options.key, action, &fields, &run.entry.run).map_err(at)?;
        Ok(exists)
    }

    /// Rejects schemas and options that can't be loaded, before the first request.
    pub fn check(location: &SearchLocation, schema: &SchemaRef, options: &SinkOptions) -> Result<()> {
        if matches!(options.mode, WriteMode::Upsert | WriteMode::Delete)
            && options.key.is_empty()
            && schema.index_of(super::mapping::ID).is_err()
        {
            let what = "rows are replaced and deleted by their key, and no key is given";
            return Err(Error::usage(what).at(&location.shown).advice(format!("set its columns with {KEY}")));
        }
        let at = |error: Error| if error.location().is_some() { error } else { error.at(&location.shown) };
        super::mapping::properties(schema, &location.parameters).map_err(at)?;
        let action = action(options, schema, location);
        LineEncoder::new(schema, &options.key, action, &serde_json::Map::new(), "").map_err(at).map(drop)
    }

    /// Notes the load in the journal before it has a row. A staging index was noted before it was made.
    fn note_begin(&mut self) -> Result<()> {
        if self.run.entry.load.is_empty() || self.run.was_begun || self.target.is_staging {
            return Ok(());
        }
        self.run.entry.staging = None;
        self.journal.create()?;
        self.journal.write(&self.run.entry)
    }

    fn sender(&self) -> Result<&ChunkSender> {
        self.sender.as_ref().ok_or_else(|| Error::internal("the load has already ended"))
    }

    fn row(&mut self, rows: &super::encode::EncodedRows<'_>, batch: &RecordBatch, row: usize) -> Result<()> {
        let number = self.run.entry.acknowledged_rows + (self.rows - self.acknowledged);
        self.rows += 1;
        let start = self.builder.lines.len();
        let first_line = match rows.write(row, number, &mut self.builder.lines) {
            Ok(first_line) => first_line,
            Err(reason) => {
                self.builder.lines.truncate(start);
                return self.sender()?.reject(batch, row, number, reason);
            }
        };
        let mut start = start;
        let name = self.encoder.has_key().then(|| self.builder.hash(start, first_line));
        if let Some(name) = name.filter(|name| self.sender().is_ok_and(|sender| sender.is_under_way(*name))) {
            // An earlier row of this document is on its way: it must not arrive after this one.
            let lines = self.builder.lines.split_off(start);
            self.send()?;
            self.sender()?.settle()?;
            self.builder.lines.extend_from_slice(&lines);
            start = 0;
            self.builder.push(start, first_line, row, number, Some(name));
            return Ok(());
        }
        self.builder.push(start, first_line, row, number, name);
        if self.builder.lines.len() >= self.sender()?.request_bytes() {
            self.send()?;
        }
        Ok(())
    }

    fn send(&mut self) -> Result<()> {
        if self.builder.is_empty() {
            return Ok(());
        }
        if !self.target.is_staging && self.sender()?.counts().requests >= QUIET_AFTER_REQUESTS {
            self.target.quiet(SwitchableSetting::InUse)?;
        }
        let chunk = self.builder.take();
        self.sender()?.send(chunk)
    }

    /// Has all rows so far acknowledged.
    fn acknowledge(&mut self) -> Result<()> {
        self.send()?;
        self.sender()?.settle()?;
        let counts = self.sender()?.counts();
        if counts.taken + counts.rejected != self.rows {
            let message = format!(
                "{} rows were sent, but {} are confirmed and {} rejected",
                self.rows, counts.taken, counts.rejected
            );
            return Err(Error::internal(message).at(&self.client.location().shown));
        }
        if !self.target.is_durable {
            let path = format!("/{}/_flush", escape(&self.target.index));
            self.client.object(&self.job, SearchRequest::bare("POST", path))?;
        }
        self.run.entry.acknowledged_rows += self.rows - self.acknowledged;
        self.run.entry.rejected_rows = self.rejected_before + counts.rejected;
        self.acknowledged = self.rows;
        Ok(())
    }

    /// Notes the rows that are acknowledged, where the load has a name.
    fn note_rows(&self) -> Result<()> {
        if self.run.entry.load.is_empty() { Ok(()) } else { self.journal.write(&self.run.entry) }
    }

    fn complete(&mut self) -> Result<Written> {
        self.acknowledge()?;
        let location = self.client.location().clone();
        self.target.check_same(&location)?;
        self.target.put_back()?;
        self.target.catalog.refresh(&self.target.index)?;
        self.check_searchable(&location)?;
        if self.target.is_staging {
            // A load that is stopped after the switch is found by this, and sends no row again.
            self.note_rows()?;
            // A load that is stopped after this leaves jobs that start over.
            forget_states(&self.client, &self.job, self.job_state.as_deref())?;
            self.target.catalog.switch(&location.index, &self.target.index, self.must_be_new)?;
        }
        self.is_finished = true;
        self.run.entry.is_finished = true;
        self.note_rows()?;
        let counts = self.sender()?.counts();
        Ok(Written {
            rows: counts.taken,
            bytes: counts.bytes,
            files: vec![location.shown.clone()],
            rejected: counts.rejected,
            ..Written::default()
        })
    }

    /// Checks that every row is stored, and that every value of it is found by searches.
    fn check_searchable(&self, location: &SearchLocation) -> Result<()> {
        let names: Vec<&str> = self
            .schema
            .fields()
            .iter()
            .filter(|field| is_in_document(field))
            .map(|field| field.name().as_str())
            .collect();
        let ignored =
            self.target.catalog.ignored(&self.target.index, &names)?.saturating_sub(self.target.ignored_before);
        if ignored > 0 {
            let message = format!("{ignored} rows have values that their fields store but do not index (_ignored)");
            return Err(Error::invalid(message)
                .at(&location.shown)
                .advice("raise the field's ignore_above, or choose another mapping of it with ?body="));
        }
        if self.target.is_staging && self.knows_rejected { self.check_count(location) } else { Ok(()) }
    }

    /// A new index has one document for each row.
    fn check_count(&self, location: &SearchLocation) -> Result<()> {
        let entry = &self.run.entry;
        let taken = entry.acknowledged_rows.saturating_sub(entry.rejected_rows);
        let there = self.target.catalog.count(&self.target.index, None)?;
        let message = format!("the server confirmed {taken} rows, but has {there}");
        if there == taken {
            return Ok(());
        }
        // For identical rows, only the count distinguishes two rows from one that was sent twice.
        if there < taken && self.encoder.has_key() {
            return Err(Error::conflict(format!("{message}: several rows have the same key"))
                .at(&location.shown)
                .advice(format!("keep one row of each key, and run it again without {RESUME}")));
        }
        Err(Error::corrupt(message).at(&location.shown).advice(format!("run it again without {RESUME}")))
    }

    /// Removes everything that a run that continues does not need.
    fn undo(&mut self) {
        // Dropping the sender waits for requests on their way: a row that arrives after the index is gone would create
        // it again.
        self.sender = None;
        let job = Job::default();
        let target = &mut self.target;
        target.catalog = super::catalog::IndexCatalog::new(&self.client, &job);
        let goes_on = !self.run.entry.load.is_empty() && self.run.entry.acknowledged_rows > 0;
        // The caller already gets the error of the load; the next load restores the rest.
        let _ = if target.is_staging && !goes_on { target.catalog.remove(&target.index) } else { target.put_back() };
    }
}

impl Sink for ElasticsearchSink {
    fn write(&mut self, batch: RecordBatch) -> Result<()> {
        self.job.check()?;
        if self.builder.lines.capacity() == 0 {
            self.builder.lines.reserve(REQUEST_BYTES + REQUEST_BYTES / 8);
        }
        self.builder.begin(&batch);
        let encoder = self.encoder.clone();
        let rows = encoder.rows(&batch).map_err(|error| error.at(&self.client.location().shown))?;
        for row in 0..batch.num_rows() {
            self.row(&rows, &batch, row)?;
        }
        self.job.meter().wrote_rows(batch.num_rows() as u64);
        Ok(())
    }

    fn checkpoint(&mut self) -> Result<()> {
        self.acknowledge()?;
        self.note_rows()
    }

    fn acknowledged_rows(&self) -> u64 {
        self.run.entry.acknowledged_rows
    }

    fn finish(mut self: Box<Self>) -> Result<Written> {
        self.complete()
    }
}

impl Drop for ElasticsearchSink {
    fn drop(&mut self) {
        if !self.is_finished {
            self.undo();
        }
    }
}

/// Rows with numbers for names can be put there again and again. With a key, rows that are added must be new, and so must all
/// rows of a new index.
fn action(options: &SinkOptions, schema: &SchemaRef, location: &SearchLocation) -> DocumentAction {
    let has_key = !options.key.is_empty() || schema.index_of(super::mapping::ID).is_ok();
    match options.mode {
        WriteMode::Delete => DocumentAction::Delete,
        _ if location.parameters.creates_only => DocumentAction::Create,
        WriteMode::Append if !options.key.is_empty() => DocumentAction::Create,
        WriteMode::Error | WriteMode::Overwrite if has_key => DocumentAction::Create,
        _ => DocumentAction::Index,
    }
}
