//! Reading rows by ranges of their numbers, on several threads, in order.

use std::sync::Arc;

use arrow::array::{RecordBatch, RecordBatchOptions};
use arrow::compute::filter_record_batch;
use arrow::datatypes::SchemaRef;
use lakerace_exec::{Interruption, ProducerThreads, ValueSender};
use lakerace_format::{Batches, Predicate};
use lakerace_io::option::SCHEMA;
use lakerace_io::threads::not_started;
use lakerace_io::{Error, Job, Result};
use rusqlite::Connection;
use rusqlite::types::Value;

use super::decode::ColumnDecoder;
use super::error::failed;
use super::infer::TypedColumn;
use super::location::quoted;
use super::row_lookup::numbers_sql;

/// Rows of a batch, where no one asks for fewer.
const BATCH_ROWS: usize = 8192;
/// Bytes of values that end a batch before.
const BATCH_BYTES: usize = 8 << 20;
/// Batches that a thread may be ahead.
const AHEAD: u64 = 3;

/// The shared state of all threads of a scan.
pub(super) struct SqliteScan {
    pub place: String,
    /// The text after FROM.
    pub from: String,
    pub rowid: Option<&'static str>,
    /// Row numbers are found by an index, and not by ranges.
    pub is_by_index: bool,
    /// The part of the filter that SQLite evaluates, and its parameters.
    pub pushed: Option<(String, Vec<Value>)>,
    /// All of the filter, bound to `columns`.
    pub filter: Option<Predicate>,
    /// The columns that are read.
    pub columns: Vec<TypedColumn>,
    /// The positions of the columns that are returned.
    pub output: Vec<usize>,
    /// The schema of the columns that are returned.
    pub schema: SchemaRef,
    pub batch_rows: Option<usize>,
    pub limit: u64,
}

/// The batches of a thread; `None` where a unit has ended.
type UnitBatches = ProducerThreads<Option<RecordBatch>, Error>;
type BatchSender = ValueSender<Option<RecordBatch>, Error>;

/// Reads units, each by its first and last row number, with a thread for each connection.
pub(super) fn scan(
    scan: SqliteScan,
    units: Vec<(i64, i64)>,
    connections: Vec<Connection>,
    job: &Job,
) -> Result<Batches> {
    let (scan, units) = (Arc::new(scan), Arc::new(units));
    let threads = connections.len();
    let start = |(number, connection): (usize, Connection)| {
        let (scan, units, own_job) = (Arc::clone(&scan), Arc::clone(&units), job.clone());
        let producer = move |sender: &BatchSender| {
            let mut units = units.iter().skip(number).step_by(threads);
            units.try_for_each(|unit| read_unit(&scan, *unit, &connection, sender, &own_job))
        };
        ProducerThreads::start("lakerace-sqlite", AHEAD, job, [producer]).map_err(|error| not_started(&error))
    };
    let threads = connections.into_iter().enumerate().map(start).collect::<Result<_>>()?;
    let rows = OrderedUnits { threads, unit: 0, units: units.len(), left: scan.limit, job: job.clone() };
    Ok(Batches::new(Arc::clone(&scan.schema), rows))
}

/// Takes batches from the threads in the order of the units.
struct OrderedUnits {
    threads: Vec<UnitBatches>,
    unit: usize,
    units: usize,
    left: u64,
    job: Job,
}

impl Iterator for OrderedUnits {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        while self.unit < self.units && self.left > 0 {
            let threads = self.threads.len();
            match self.threads[self.unit % threads].take() {
                Ok(Some(Some(batch))) => {
                    let rows = batch.num_rows().min(usize::try_from(self.left).unwrap_or(usize::MAX));
                    self.left -= rows as u64;
                    self.job.meter().read_rows(rows as u64);
                    return Some(Ok(batch.slice(0, rows)));
                }
                Ok(Some(None)) => self.unit += 1,
                Ok(None) => return Some(Err(Interruption::Ended.into())),
                Err(error) => return Some(Err(self.job.check().err().unwrap_or(error))),
            }
        }
        None
    }
}

/// Reads a unit. Who takes its batches may have gone, which ends the thread.
fn read_unit(
    scan: &SqliteScan,
    unit: (i64, i64),
    connection: &Connection,
    sender: &BatchSender,
    job: &Job,
) -> Result<()> {
    read_rows(scan, unit, connection, sender, job).map_err(|error| error.at(&scan.place))?;
    Ok(sender.send(Ok(None), 1)?)
}

impl SqliteScan {
    fn sql(&self) -> String {
        let mut columns: Vec<String> = self.rowid.iter().map(|rowid| (*rowid).to_owned()).collect();
        columns.extend(self.columns.iter().map(|column| quoted(column.field.name())));
        if columns.is_empty() {
            columns.push("NULL".to_owned());
        }
        let mut conditions = Vec::new();
        match (self.rowid, &self.pushed) {
            (Some(rowid), Some((condition, _))) if self.is_by_index => {
                conditions.push(format!("{rowid} IN ({})", numbers_sql(rowid, &self.from, condition)));
            }
            (rowid, pushed) => {
                conditions.extend(rowid.map(|rowid| format!("{rowid} BETWEEN ? AND ?")));
                conditions.extend(pushed.iter().map(|(sql, _)| sql.clone()));
            }
        }
        let conditions =
            if conditions.is_empty() { String::new() } else { format!(" WHERE {}", conditions.join(" AND ")) };
        let order = self.rowid.map(|rowid| format!(" ORDER BY {rowid}")).unwrap_or_default();
        format!("SELECT {} FROM {}{conditions}{order}", columns.join(", "), self.from)
    }

    fn finish(&self, decoders: &mut [ColumnDecoder], rows: usize) -> Result<RecordBatch> {
        let columns = decoders.iter_mut().zip(&self.columns).map(|(decoder, column)| {
            decoder.finish().map_err(|error| error.at(format!("column {:?}", column.field.name())))
        });
        let columns = columns.collect::<Result<Vec<_>>>()?;
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        let output = self.output.iter().map(|at| Arc::clone(&columns[*at])).collect();
        let given = RecordBatch::try_new_with_options(Arc::clone(&self.schema), output, &options)
            .map_err(|error| Error::invalid("a column declared NOT NULL may have nulls").because(error))?;
        let Some(filter) = &self.filter else { return Ok(given) };
        let schema = super::infer::schema(&self.columns);
        let read = RecordBatch::try_new_with_options(schema, columns, &options).map_err(Error::unexpected)?;
        filter_record_batch(&given, &filter.evaluate(&read)?).map_err(Error::unexpected)
    }
}

fn read_rows(
    scan: &SqliteScan,
    (first, last): (i64, i64),
    connection: &Connection,
    sender: &BatchSender,
    job: &Job,
) -> Result<()> {
    let mut statement = connection.prepare_cached(&scan.sql()).map_err(failed)?;
    let mut parameter = 1;
    let range: &[i64] = if scan.rowid.is_some() && !scan.is_by_index { &[first, last] } else { &[] };
    for value in range {
        statement.raw_bind_parameter(parameter, value).map_err(failed)?;
        parameter += 1;
    }
    for value in scan.pushed.iter().flat_map(|(_, values)| values) {
        statement.raw_bind_parameter(parameter, value).map_err(failed)?;
        parameter += 1;
    }
    let decoders = scan.columns.iter().map(|column| ColumnDecoder::new(column.field.data_type(), column.is_given));
    let mut decoders = decoders.collect::<Result<Vec<_>>>()?;
    let batch_rows = scan.batch_rows.unwrap_or(BATCH_ROWS).min(BATCH_ROWS);
    let first_column = usize::from(scan.rowid.is_some());
    let (mut rows, mut bytes, mut number) = (0usize, 0usize, 0u64);
    let mut stream = statement.raw_query();
    while let Some(row) = stream.next().map_err(failed)? {
        number += 1;
        for (column, decoder) in decoders.iter_mut().enumerate() {
            let value = row.get_ref(first_column + column).map_err(failed)?;
            bytes += decoder.push(value).map_err(|found| misfit(scan, row, column, number, found))?;
        }
        rows += 1;
        if rows == batch_rows || bytes >= BATCH_BYTES {
            job.check()?;
            job.meter().read_bytes(bytes as u64);
            let batch = scan.finish(&mut decoders, rows)?;
            (rows, bytes) = (0, 0);
            if batch.num_rows() > 0 {
                sender.send(Ok(Some(batch)), 1)?;
            }
        }
    }
    if rows > 0 {
        job.meter().read_bytes(bytes as u64);
        let batch = scan.finish(&mut decoders, rows)?;
        if batch.num_rows() > 0 {
            sender.send(Ok(Some(batch)), 1)?;
        }
    }
    Ok(())
}

fn misfit(scan: &SqliteScan, row: &rusqlite::Row<'_>, column: usize, number: u64, found: &str) -> Error {
    let name = match scan.rowid {
        Some(_) => row.get::<_, i64>(0).map_or_else(|_| "a row".to_owned(), |rowid| format!("rowid {rowid}")),
        None => format!("row {number}"),
    };
    let field = &scan.columns[column].field;
    let wanted = lakerace_format::schema_text::print_field_type(field);
    // A text that is not UTF-8 can still be read as bytes.
    let other = if field.data_type().is_string() { "binary" } else { "utf8" };
    Error::invalid(format!("it is {found}, but the column's type is {wanted}"))
        .at(format!("column {:?}: {name}", field.name()))
        .advice(format!("set another type with {SCHEMA}, such as \"{} {other}\"", field.name()))
}
