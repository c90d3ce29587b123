//! The rows that an incremental unload reads.

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use arrow::array::BooleanArray;
use arrow::compute::filter_record_batch;
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use arrow::record_batch::RecordBatch;
use lakerace_database::DatabaseSystem;
use lakerace_format::Batches;
use lakerace_format::schema_text::parse_schema;
use lakerace_io::option::{COLUMNS, SINCE};
use lakerace_io::wait::lock;
use lakerace_io::{Error, ErrorKind, Result};

use super::kept::EarlierRun;
use super::mark::WatermarkValue;
use super::{IncrementalUnload, table};
use crate::checksum::row_hashes;
use crate::column_nesting::ColumnNesting;
use crate::database::KnownTypes;
use crate::keys::KeyProjection;
use crate::options::ReadOptions;
use crate::scan::Scan;
use crate::target::CopyTarget;

/// Rows that a run may remember, so that the next one does not send them again.
const REMEMBERED_ROWS: usize = 100;
/// Keys that are held in memory while known rows are left out.
const MOST_KEYS: usize = 1 << 16;

/// Rows on their way.
pub(super) struct IncomingRows {
    pub batches: Batches,
    pub seen: SeenRows,
    /// The source has failed, and not the target.
    pub has_failed: Arc<AtomicBool>,
    /// The types that are kept for the next run.
    pub types: KnownTypes,
    /// They are those that an earlier run has found.
    pub knows_types: bool,
    is_empty: bool,
}

impl IncomingRows {
    /// True where there is nothing to send.
    pub fn is_empty(&self) -> bool {
        self.is_empty
    }
}

/// The watermark and hashes of rows, collected while the rows pass through.
#[derive(Clone)]
pub(super) struct SeenRows(Arc<Mutex<SeenMarks>>);

struct SeenMarks {
    highest: Option<WatermarkValue>,
    /// Rows so far, the first of them by their hashes.
    rows: usize,
    first: Vec<u128>,
    /// Rows of the highest value, and those that have none.
    at_highest: Vec<u128>,
    without_value: Vec<u128>,
}

impl SeenRows {
    /// The knowledge for the next run.
    pub fn kept(&self, before: &EarlierRun, types: KnownTypes) -> EarlierRun {
        let seen = lock(&self.0);
        let mut rows = if seen.rows <= REMEMBERED_ROWS {
            seen.first.clone()
        } else {
            let few = |rows: &[u128]| if rows.len() <= REMEMBERED_ROWS { rows.to_vec() } else { Vec::new() };
            [few(&seen.at_highest), few(&seen.without_value)].concat()
        };
        rows.sort_unstable();
        EarlierRun { has_ended: true, mark: seen.highest.clone(), types, rows, target: before.target.clone() }
    }
}

impl IncrementalUnload<'_> {
    /// Starts to read from the stored value, with the kept types, or with those of the source where the kept ones do not fit.
    pub(super) fn incoming_of_any_types(&self, kept: &EarlierRun, target: Option<&CopyTarget>) -> Result<IncomingRows> {
        match self.incoming(kept, true, target) {
            Err(_) if kept.types.found.is_some() => self.incoming(kept, false, target),
            outcome => outcome,
        }
    }

    /// Starts to read from the stored value.
    pub(super) fn incoming(
        &self,
        kept: &EarlierRun,
        knows_types: bool,
        target: Option<&CopyTarget>,
    ) -> Result<IncomingRows> {
        let read = self.read(kept.mark.as_ref())?;
        let declares_none = DatabaseSystem::for_location(self.source).is_some_and(|system| system.infers_types);
        let kept_types = Some(&kept.types).filter(|types| declares_none && knows_types && types.found.is_some());
        let mut given =
            read.csv.schema.as_deref().filter(|_| declares_none).map(parse_schema).transpose()?.map(Arc::new);
        let (scan, knows_types) = match (kept_types, DatabaseSystem::for_location(self.source)) {
            (Some(types), Some(system)) => {
                given = match (given, types.given.clone()) {
                    // A table has its other columns all the same.
                    (Some(now), Some(before)) if system.has_other_columns => Some(with_fields(&now, &before)),
                    (now, before) => now.or(before),
                };
                let types = KnownTypes { given: given.clone(), found: types.found.clone() };
                (Scan::open_known(system, self.source, &types, &read, self.job)?, true)
            }
            (_, system) => {
                let scan = self.open(&read)?;
                match system.filter(|_| declares_none) {
                    Some(system) => (self.with_types_of_target(scan, system, &given, &read, target)?, false),
                    None => (scan, false),
                }
            }
        };
        let found = declares_none.then(|| scan.source_schema());
        let is_in_source = self.is_in_source(&scan, &read)?;
        let batches = scan.batches()?;
        self.check_column(batches.schema(), is_in_source)?;
        let (batches, seen, has_failed) = self.noted(batches, kept)?;
        let (batches, is_empty) = begun(batches)?;
        Ok(IncomingRows { batches, seen, has_failed, types: KnownTypes { given, found }, knows_types, is_empty })
    }

    /// Returns true if the source has the column, be it read or not.
    fn is_in_source(&self, scan: &Scan, read: &ReadOptions) -> Result<bool> {
        let name = &self.since.column;
        if read.columns.is_none() || scan.source_schema().column_with_name(name).is_some() {
            return Ok(scan.source_schema().column_with_name(name).is_some());
        }
        // A source that was opened for some columns may know no others.
        let read = ReadOptions { nesting: ColumnNesting::Unchanged, ..read.clone() };
        let whole = crate::schema::schema(self.source, &read, self.job)?;
        Ok(whole.columns.iter().any(|column| column.name == *name))
    }

    fn open(&self, read: &ReadOptions) -> Result<Scan> {
        match DatabaseSystem::for_location(self.target) {
            Some(_) => Scan::open(self.source, read, self.job),
            None => table::open_source(self, read),
        }
    }

    /// The scan, with the target's types of columns that are null everywhere.
    fn with_types_of_target(
        &self,
        scan: Scan,
        system: &'static DatabaseSystem,
        given: &Option<SchemaRef>,
        read: &ReadOptions,
        target: Option<&CopyTarget>,
    ) -> Result<Scan> {
        let found = scan.source_schema();
        if target.is_none() || !found.fields().iter().any(|field| *field.data_type() == DataType::Null) {
            return Ok(scan);
        }
        let there = match Scan::open(
            self.target,
            &ReadOptions { storage: read.storage.clone(), ..ReadOptions::default() },
            self.job,
        ) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(scan),
            there => there?.source_schema(),
        };
        let typed = |field: &Arc<Field>| match there.field_with_name(field.name()) {
            Ok(known) if *field.data_type() == DataType::Null => {
                Arc::new(field.as_ref().clone().with_data_type(known.data_type().clone()))
            }
            _ => Arc::clone(field),
        };
        let fields: Vec<Arc<Field>> = found.fields().iter().map(typed).collect();
        let found = Arc::new(Schema::new_with_metadata(fields, found.metadata().clone()));
        let types = KnownTypes { given: given.clone(), found: Some(found) };
        Scan::open_known(system, self.source, &types, read, self.job)
    }

    fn check_column(&self, schema: &SchemaRef, is_in_source: bool) -> Result<()> {
        let name = &self.since.column;
        if let Ok(field) = schema.field_with_name(name) {
            if !is_in_source && self.options.read.nesting != ColumnNesting::Unchanged {
                return Err(Error::usage(format!("column {name:?} is not a column of the source itself"))
                    .at(SINCE)
                    .advice("name one of the source: rows are read from its highest value on"));
            }
            return WatermarkValue::check(field.data_type(), self.since);
        }
        if is_in_source && self.options.read.columns.is_some() {
            let message = format!("column {name:?} is not among those that are copied");
            return Err(Error::usage(message).at(SINCE).advice(format!("name it in {COLUMNS}, too")));
        }
        let known = schema.fields().iter().map(|field| field.name().as_str());
        Err(lakerace_format::suggestions::column_not_found(name, known).at(SINCE))
    }

    /// The rows that the target does not have unchanged; the watermark and hashes for the next run are collected on the way.
    fn noted(&self, batches: Batches, kept: &EarlierRun) -> Result<(Batches, SeenRows, Arc<AtomicBool>)> {
        let schema = Arc::clone(batches.schema());
        let at = schema.index_of(&self.since.column).map_err(Error::unexpected)?;
        let seen = SeenRows(Arc::new(Mutex::new(SeenMarks {
            highest: kept.mark.clone(),
            rows: 0,
            first: Vec::new(),
            at_highest: Vec::new(),
            without_value: Vec::new(),
        })));
        let (noted, has_failed) = (Arc::clone(&seen.0), Arc::new(AtomicBool::new(false)));
        let mut again = RepeatedRows::new(kept, KeyProjection::new(&schema, &self.options.load.key)?);
        let failed = Arc::clone(&has_failed);
        let rows = batches.map(move |batch| {
            let fail = |error: &Error| {
                // Other types help against neither.
                let is_of_types = !matches!(error.kind(), ErrorKind::Cancelled | ErrorKind::Unavailable);
                failed.store(is_of_types, Ordering::Release);
            };
            let batch = batch.inspect_err(fail)?;
            lock(&noted).note(&batch, at)?;
            again.without_known(batch, at)
        });
        Ok((Batches::new(schema, rows), seen, has_failed))
    }
}

/// A schema with the additional fields of another one.
fn with_fields(schema: &SchemaRef, other: &SchemaRef) -> SchemaRef {
    let lacks = |field: &&Arc<Field>| schema.column_with_name(field.name()).is_none();
    let fields: Vec<_> = schema.fields().iter().chain(other.fields().iter().filter(lacks)).cloned().collect();
    Arc::new(Schema::new_with_metadata(fields, schema.metadata().clone()))
}

/// The batches from the first row on, and whether there is none.
fn begun(mut batches: Batches) -> Result<(Batches, bool)> {
    let schema = Arc::clone(batches.schema());
    let first = loop {
        match batches.next().transpose()? {
            Some(batch) if batch.num_rows() == 0 => {}
            first => break first,
        }
    };
    let is_empty = first.is_none();
    Ok((Batches::new(schema, first.map(Ok).into_iter().chain(batches)), is_empty))
}

impl SeenMarks {
    fn note(&mut self, batch: &RecordBatch, at: usize) -> Result<()> {
        if batch.num_rows() == 0 {
            return Ok(());
        }
        if self.rows + batch.num_rows() <= REMEMBERED_ROWS {
            self.first.extend(row_hashes(batch)?);
        }
        self.rows += batch.num_rows();
        let column = batch.column(at);
        let before = self.highest.take();
        let highest = WatermarkValue::highest(before.clone(), column)?;
        if let Some(highest) = &highest {
            if before.as_ref() != Some(highest) {
                self.at_highest.clear();
            }
            let places = highest.places(column)?;
            remember(&mut self.at_highest, batch, &places.at)?;
            remember(&mut self.without_value, batch, &places.without)?;
        }
        self.highest = highest;
        Ok(())
    }
}

/// Adds hashes of rows, up to one more than [`REMEMBERED_ROWS`]: that one shows that there are too many.
fn remember(rows: &mut Vec<u128>, batch: &RecordBatch, which: &BooleanArray) -> Result<()> {
    if which.true_count() > 0 && rows.len() <= REMEMBERED_ROWS {
        let some = filter_record_batch(batch, which).map_err(Error::unexpected)?;
        let some = some.slice(0, some.num_rows().min(REMEMBERED_ROWS + 1));
        rows.extend(row_hashes(&some)?);
    }
    Ok(())
}

/// Rows that were read before, and that the target has.
struct RepeatedRows {
    known: HashSet<u128>,
    mark: Option<WatermarkValue>,
    key: KeyProjection,
    /// Keys of rows that are sent: a later row of one of them is sent, too, as the last one counts.
    sent: HashSet<u128>,
}

impl RepeatedRows {
    fn new(kept: &EarlierRun, key: KeyProjection) -> Self {
        Self { known: kept.rows.iter().copied().collect(), mark: kept.mark.clone(), key, sent: HashSet::new() }
    }

    fn without_known(&mut self, batch: RecordBatch, at: usize) -> Result<RecordBatch> {
        let Some(mark) = self.mark.as_ref().filter(|_| !self.known.is_empty()) else { return Ok(batch) };
        let is_above = mark.is_below(batch.column(at))?;
        let keys = self.key.hashes(&batch)?;
        let is_candidate: BooleanArray = is_above.iter().map(|above| Some(above != Some(true))).collect();
        let mut hashes = match is_candidate.true_count() {
            0 => Vec::new(),
            _ => row_hashes(&filter_record_batch(&batch, &is_candidate).map_err(Error::unexpected)?)?,
        }
        .into_iter();
        let mut is_sent = Vec::with_capacity(batch.num_rows());
        for (row, key) in keys.into_iter().enumerate() {
            let hash = if is_candidate.value(row) { hashes.next() } else { None };
            let is_known = hash.is_some_and(|hash| self.known.contains(&hash)) && !self.sent.contains(&key);
            if !is_known {
                self.sent.insert(key);
            }
            is_sent.push(Some(!is_known));
        }
        if self.sent.len() > MOST_KEYS {
            self.known.clear();
        }
        filter_record_batch(&batch, &BooleanArray::from(is_sent)).map_err(Error::unexpected)
    }
}
