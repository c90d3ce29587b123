//! Applying refresh streams to Delta tables: RF1 as upserts, RF2 as deletes by key (TPC-H 3.0.1, clauses 2.6 and 2.7).
//!
//! Each of the four changes of a stream (orders and lines in, lines and orders out) is one commit, and every key says
//! whether it belongs to the table or to an inserted order, and of which stream. So the tables themselves record what
//! was applied: changes that are complete are skipped, and an interrupted stream is completed. A change that is neither
//! complete nor absent was made by something else, and then nothing is applied.

use std::time::Instant;

use arrow::array::{AsArray, RecordBatch};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Int64Type};
use lakerace_delta::{DELTA, UpsertOptions};
use lakerace_format::{ReadRequest, Source, WriteOptions};
use lakerace_io::option::{OUTPUT, SCALE_FACTOR, TPCH, TPCH_FORMAT};
use lakerace_io::{Error, ErrorKind, Job, Result, StorageOptions};
use lakerace_tpch::{Mode, OrderKey, Refresh, Scale, Spec, Table, TpchSource, check_streams, stream_orders};
use serde::Serialize;

use crate::column_item::ColumnItem;
use crate::delta::open_table;
use crate::options::ReadOptions;
use crate::resolve::without_scheme;
use crate::scan::Scan;

/// Which streams to apply, and how.
#[derive(Debug, Clone)]
pub struct ApplyOptions {
    /// The tables' scale factor.
    pub scale: Scale,
    /// The number of streams: from 1 to this one.
    pub streams: u32,
    /// The way in which columns are generated.
    pub mode: Mode,
    /// Approximate bytes of memory for rows and keys; `None`: 1 GiB.
    pub memory_bytes: Option<u64>,
    /// The options of new files.
    pub write: WriteOptions,
    /// Settings of the store.
    pub storage: StorageOptions,
}

/// The outcome of a stream.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AppliedStream {
    /// Its number, from 1.
    pub stream: u32,
    /// The work that there was.
    pub outcome: StreamOutcome,
    /// `orders` and `lineitem`, in this order.
    pub tables: [AppliedTable; 2],
    /// For all of it.
    pub seconds: f64,
}

/// The work that there was for a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum StreamOutcome {
    /// All of it.
    Applied,
    /// Some of it had been done before.
    Completed,
    /// Nothing: it had been applied before.
    AlreadyApplied,
}

/// The effect of a stream on a table. Counts are 0, and versions `None`, where it had been done before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct AppliedTable {
    /// Which.
    pub table: Table,
    /// Rows.
    pub inserted: u64,
    /// Rows.
    pub deleted: u64,
    /// The version that has the new rows.
    pub insert_version: Option<u64>,
    /// The version that lacks the old ones.
    pub delete_version: Option<u64>,
}

/// The tables that streams change.
const TABLES: [Table; 2] = [Table::Orders, Table::LineItem];
/// The changes of a stream, by the place of their table: no line is ever without its order.
const CHANGES: [(usize, StreamChange); 4] =
    [(0, StreamChange::Insert), (1, StreamChange::Insert), (1, StreamChange::Delete), (0, StreamChange::Delete)];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum StreamChange {
    Insert,
    Delete,
}

/// Rows of a stream in a table.
#[derive(Debug, Clone, Copy, Default)]
struct StreamRows {
    /// The number of orders that it inserts.
    inserted: u64,
    /// The number of orders that it deletes.
    to_delete: u64,
}

/// Applies refresh streams, one after the other, to the Delta tables `orders` and `lineitem` in a folder, and calls
/// `tell` for each. Changes that were applied before are skipped.
///
/// # Errors
/// `NotFound` where a table does not exist; `Invalid` where the tables have another scale factor, or where a stream's
/// rows are incomplete: before anything is changed. `Conflict` where another writer is faster.
pub fn apply(
    folder: &str,
    options: &ApplyOptions,
    job: &Job,
    tell: &mut dyn FnMut(&AppliedStream),
) -> Result<Vec<AppliedStream>> {
    check_streams(options.streams)?;
    let folder = if folder.len() > 1 { folder.trim_end_matches('/') } else { folder };
    let apply = StreamApplication { folder: without_scheme(folder, DELTA.scheme).unwrap_or(folder), options, job };
    for table in TABLES {
        apply.check_scale(table)?;
    }
    let found = [apply.look(Table::Orders)?, apply.look(Table::LineItem)?];
    let mut pending = Vec::new();
    for stream in 1..=options.streams {
        let mut changes = Vec::new();
        for (place, change) in CHANGES {
            let rows = found[place].get(stream as usize - 1).copied().unwrap_or_default();
            if apply.is_pending(TABLES[place], stream, change, rows)? {
                changes.push((place, change));
            }
        }
        pending.push((stream, changes));
    }
    let mut streams = Vec::new();
    for (stream, changes) in pending {
        let applied = apply.stream(stream, &changes)?;
        tell(&applied);
        streams.push(applied);
    }
    Ok(streams)
}

struct StreamApplication<'a> {
    folder: &'a str,
    options: &'a ApplyOptions,
    job: &'a Job,
}

impl StreamApplication<'_> {
    fn table_location(&self, table: Table) -> String {
        format!("{}/{table}", self.folder)
    }

    /// The rows of a stream.
    fn source(&self, table: Table, stream: u32, change: StreamChange) -> TpchSource {
        let refresh = match change {
            StreamChange::Insert => Refresh::Insert(stream),
            StreamChange::Delete => Refresh::Delete(stream),
        };
        let spec = Spec { refresh: Some(refresh), mode: self.options.mode, ..Spec::new(table, self.options.scale) };
        TpchSource::new(spec, self.job)
    }

    /// The number of rows.
    fn rows(&self, table: Table, stream: u32, change: StreamChange) -> Result<u64> {
        let source = self.source(table, stream, change);
        source.rows().ok_or_else(|| Error::internal("rows of a stream were not counted").at(source.spec()))
    }

    /// Visits the order keys of a table for which a condition is true.
    fn keys(&self, table: Table, condition: Option<String>, visit: &mut dyn FnMut(i64)) -> Result<()> {
        let place = self.table_location(table);
        let read = ReadOptions {
            columns: Some(ColumnItem::named([order_key(table)])),
            filter: condition,
            storage: self.options.storage.clone(),
            ..ReadOptions::default()
        };
        let scan = Scan::open(&format!("delta:{place}"), &read, self.job).map_err(|error| match error.kind() {
            ErrorKind::NotFound => error.advice(format!(
                "create the tables first: {}",
                TPCH.with([
                    SCALE_FACTOR.to(self.options.scale.to_string()),
                    OUTPUT.to(self.folder),
                    TPCH_FORMAT.to("delta")
                ])
            )),
            _ => error,
        })?;
        for batch in scan.batches()? {
            let batch: RecordBatch = batch?;
            let wrong = || Error::invalid(format!("{} is not a whole number", order_key(table))).at(&place);
            let keys = cast(batch.column(0), &DataType::Int64).map_err(|_| wrong())?;
            let keys = keys.as_primitive_opt::<Int64Type>().ok_or_else(wrong)?;
            keys.iter().flatten().for_each(&mut *visit);
        }
        Ok(())
    }

    /// Fails unless the table's last order is that of its scale: no stream deletes it, and none inserts one after it.
    fn check_scale(&self, table: Table) -> Result<()> {
        let scale = self.options.scale;
        let last = OrderKey::Table(Table::Orders.entities(scale)).key();
        let (mut lasts, mut others) = (0_u64, 0_u64);
        let condition = format!("{} >= {last}", order_key(table));
        self.keys(table, Some(condition), &mut |key| *if key == last { &mut lasts } else { &mut others } += 1)?;
        if lasts > 0 && others == 0 {
            return Ok(());
        }
        let mut largest = None;
        self.keys(table, None, &mut |key| largest = largest.max(Some(key)))?;
        let found = match largest.and_then(OrderKey::decode) {
            None if largest.is_none() => "the table is empty".to_owned(),
            Some(OrderKey::Table(orders)) => {
                format!("the table's last order is number {orders}, as at a scale factor of {}", orders as f64 / 1.5e6)
            }
            _ => "the table's last order is not one that dbgen generates".to_owned(),
        };
        let expected = Table::Orders.entities(scale);
        Err(Error::invalid(format!("{found}; at a scale factor of {scale} it is number {expected}"))
            .at(self.table_location(table))
            .advice("give the scale factor of the tables with -s, or sf in Python"))
    }

    /// The number of rows of each stream in the table.
    fn look(&self, table: Table) -> Result<Vec<StreamRows>> {
        let (scale, streams) = (self.options.scale, self.options.streams);
        let each = stream_orders(scale, 1).end.max(1);
        let last = OrderKey::Inserted(stream_orders(scale, streams).end).key();
        let mut found = vec![StreamRows::default(); streams as usize];
        self.keys(table, Some(format!("{} <= {last}", order_key(table))), &mut |key| {
            let (number, is_inserted) = match OrderKey::decode(key) {
                Some(OrderKey::Table(number)) => (number, false),
                Some(OrderKey::Inserted(number)) => (number, true),
                None => return,
            };
            if let Some(rows) = usize::try_from((number - 1) / each).ok().and_then(|stream| found.get_mut(stream)) {
                *if is_inserted { &mut rows.inserted } else { &mut rows.to_delete } += 1;
            }
        })?;
        Ok(found)
    }

    /// Returns true if a change is still to be made; fails where it was made in part, or to other rows.
    fn is_pending(&self, table: Table, stream: u32, change: StreamChange, found: StreamRows) -> Result<bool> {
        let expected = self.rows(table, stream, change)?;
        let (rows, before, after, verb) = match change {
            StreamChange::Insert => (found.inserted, 0, expected, "inserts"),
            StreamChange::Delete => (found.to_delete, expected, 0, "deletes"),
        };
        if rows == before || rows == after {
            return Ok(rows == before);
        }
        Err(Error::invalid(format!(
            "{rows} of the rows that stream {stream} of scale factor {} {verb} exist, but it {verb} {expected}",
            self.options.scale
        ))
        .at(self.table_location(table))
        .advice(
            "something else has changed these orders, such as a stream of another scale factor: create the tables \
             again",
        ))
    }

    /// Makes the changes of a stream that are still to be made.
    fn stream(&self, stream: u32, changes: &[(usize, StreamChange)]) -> Result<AppliedStream> {
        let started = Instant::now();
        let nothing =
            |table| AppliedTable { table, inserted: 0, deleted: 0, insert_version: None, delete_version: None };
        let mut tables = TABLES.map(nothing);
        for (place, change) in changes {
            let applied = &mut tables[*place];
            let (rows, version) = self.change(applied.table, stream, *change)?;
            match change {
                StreamChange::Insert => (applied.inserted, applied.insert_version) = (rows, version),
                StreamChange::Delete => (applied.deleted, applied.delete_version) = (rows, version),
            }
        }
        let outcome = match changes.len() {
            0 => StreamOutcome::AlreadyApplied,
            all if all == CHANGES.len() => StreamOutcome::Applied,
            _ => StreamOutcome::Completed,
        };
        Ok(AppliedStream { stream, outcome, tables, seconds: started.elapsed().as_secs_f64() })
    }

    /// The rows that a change inserted or deleted, and the version that it made.
    fn change(&self, table: Table, stream: u32, change: StreamChange) -> Result<(u64, Option<u64>)> {
        let source = self.source(table, stream, change);
        let key: Vec<String> = table.key().iter().map(|name| (*name).to_owned()).collect();
        let defaults = UpsertOptions::default();
        let options = UpsertOptions {
            key: key.clone(),
            memory_bytes: self.options.memory_bytes.unwrap_or(defaults.memory_bytes),
            write: self.options.write.clone(),
            ..defaults
        };
        let place = self.table_location(table);
        let target = open_table(&place, &self.options.storage, self.job)?;
        let columns = (change == StreamChange::Delete).then_some(key);
        let batches = source.read(&source.plan(&ReadRequest { columns, ..ReadRequest::default() })?)?;
        let (rows, version) = match change {
            StreamChange::Insert => {
                let changed = lakerace_delta::upsert(&target, batches, &options)?;
                (changed.written.rows, changed.written.version)
            }
            StreamChange::Delete => {
                let changed = lakerace_delta::delete_keys(&target, batches, &options)?;
                (changed.hidden, changed.written.version)
            }
        };
        let expected = self.rows(table, stream, change)?;
        if rows == expected {
            return Ok((rows, version));
        }
        Err(Error::conflict(format!("stream {stream} changed {rows} rows instead of {expected}"))
            .at(place)
            .advice("another writer changes the same orders at the same time: run it again"))
    }
}

/// The column that has the keys of orders.
fn order_key(table: Table) -> &'static str {
    if table == Table::LineItem { "l_orderkey" } else { "o_orderkey" }
}
