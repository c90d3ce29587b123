//! What became of a table's rows from version to version: its change data feed.
//!
//! A version with change files (`_change_data`) says by them which rows were inserted, deleted, and how they were before and
//! after an update. Of other versions it follows from the files and deletion vectors that came and went: a row that was replaced
//! is one deleted and one inserted. Format: <https://github.com/delta-io/delta/blob/master/PROTOCOL.md#change-data-files>.

mod pieces;

use std::ops::RangeInclusive;
use std::sync::Arc;
use std::sync::mpsc::sync_channel;
use std::thread;

use arrow::array::RecordBatch;
use arrow::datatypes::{Schema, SchemaRef};
use delta_kernel::Engine;
use delta_kernel::engine::arrow_conversion::TryIntoArrow;
use delta_kernel::engine::arrow_data::EngineDataArrowExt;
use delta_kernel::schema::StructType;
use delta_kernel::table_changes::TableChanges;
use delta_kernel::table_changes::scan::TableChangesScan;
use lakerace_format::Batches;
use lakerace_io::{Error, Job, Result};
use url::Url;

use self::pieces::Columns;
use crate::Table;
use crate::kernel::engine::TableEngine;
use crate::kernel::error::{from_kernel, guarded};
use crate::paths::ROOT;
use crate::snapshot::columns::TableColumns;

/// The column of change files that says what became of a row.
pub(crate) const CHANGE_TYPE: &str = "_change_type";
/// Batches that wait for their reader.
const AHEAD: usize = 2;
/// Ranges of versions that are read apart: each opens the table's log.
const RANGES_AT_MOST: u64 = 200;

/// The changes of the versions from `from` to `to` (the last one where it is not said), both included: the table's columns, and
/// `_change_type` (`insert`, `delete`, `update_preimage`, `update_postimage`), `_commit_version` and `_commit_timestamp`.
///
/// Where the schema changes within the range, all rows have the columns of its last version: those that were added later are
/// null, and those that were widened have the wider type.
///
/// The table must have had `delta.enableChangeDataFeed` in all of these versions: else it is an error of kind `Unsupported`. So are
/// types that can't become those of the last version.
pub fn changes(table: &Table, from: u64, to: Option<u64>) -> Result<Batches> {
    let (pieces, engine, schema, _) = opened(table, from, to)?;
    Ok(read(pieces, engine, schema, table.job().clone(), table.place().to_owned()))
}

/// The same versions in ranges that can be read apart, and the columns of all: each range has these, too. They are the versions one
/// by one, several together where there are more than [`RANGES_AT_MOST`], and all in one range where the schema changes within them.
pub fn change_ranges(table: &Table, from: u64, to: Option<u64>) -> Result<(Vec<(u64, u64)>, SchemaRef)> {
    let (pieces, _, schema, range) = opened(table, from, to)?;
    let ranges = match pieces.len() {
        1 => divided(range),
        _ => vec![(*range.start(), *range.end())],
    };
    Ok((ranges, schema))
}

/// Consecutive ranges, about alike in length.
fn divided(range: RangeInclusive<u64>) -> Vec<(u64, u64)> {
    let (first, last) = range.into_inner();
    let length = (last - first + 1).div_ceil(RANGES_AT_MOST);
    (0..)
        .map(|at| first + at * length)
        .take_while(|from| *from <= last)
        .map(|from| (from, last.min(from + length - 1)))
        .collect()
}

/// What a feed is read by: its pieces, their columns, and the versions.
type Opened = (Vec<Piece>, Arc<TableEngine>, SchemaRef, RangeInclusive<u64>);

fn opened(table: &Table, from: u64, to: Option<u64>) -> Result<Opened> {
    let named = |error: Error| error.at(table.place());
    if to.is_some_and(|to| to < from) {
        return Err(named(Error::usage(format!("version {from} is behind version {}", to.unwrap_or(0)))));
    }
    // Whether there is a table, and such a version, is said here.
    let latest = table.snapshot(None)?;
    if let Some(version) = [Some(from), to].into_iter().flatten().find(|version| *version > latest.version()) {
        let message = format!("there is no version {version}: the last one is {}", latest.version());
        return Err(named(Error::not_found(message)));
    }
    let engine = Arc::new(TableEngine::new(table.paths())?);
    let range = from..=to.unwrap_or(latest.version());
    let pieces = pieces::pieces(engine.as_ref(), range.clone()).map_err(named)?;
    let scans = pieces.iter().map(|piece| scan(engine.as_ref(), piece)).collect::<Result<Vec<_>>>().map_err(named)?;
    let (schema, pieces) = conforming(&pieces, scans).map_err(named)?;
    Ok((pieces, engine, schema, range))
}

/// The changes of versions that have one schema.
fn scan(engine: &TableEngine, versions: &RangeInclusive<u64>) -> Result<TableChangesScan> {
    let root = Url::parse(ROOT).map_err(|e| Error::internal(e.to_string()))?;
    let (from, to) = (*versions.start(), *versions.end());
    let feed = guarded(|| TableChanges::try_new(root, engine, from, Some(to)))?;
    guarded(|| feed.into_scan_builder().build())
}

/// Versions that have one schema, and the way from it to the last one.
struct Piece {
    scan: TableChangesScan,
    columns: Columns,
}

/// The last schema, and how the rows of each piece come to it.
fn conforming(versions: &[RangeInclusive<u64>], scans: Vec<TableChangesScan>) -> Result<(SchemaRef, Vec<Piece>)> {
    let last = scans.last().ok_or_else(|| Error::internal("no version is to be read"))?.logical_schema().clone();
    let whole = arrow_schema(&last)?;
    let schema = Arc::new(if scans.len() == 1 { whole } else { pieces::nullable(&whole) });
    let piece = |(versions, scan): (&RangeInclusive<u64>, TableChangesScan)| {
        let own = scan.logical_schema().clone();
        let columns = Columns::new(&own, &arrow_schema(&own)?, &last, &schema).map_err(|error| {
            let end = versions.end();
            error.advice(format!("read the changes up to version {end} (--to {end}, to) and those behind it apart"))
        })?;
        Ok(Piece { scan, columns })
    };
    let pieces = versions.iter().zip(scans).map(piece).collect::<Result<_>>()?;
    Ok((schema, pieces))
}

/// A schema without what the log alone needs to know of it.
fn arrow_schema(schema: &StructType) -> Result<Schema> {
    let schema: Schema = schema.try_into_arrow().map_err(|e| Error::unsupported(e.to_string()))?;
    Ok(Schema::new(schema.fields().iter().map(TableColumns::plain).collect::<Vec<_>>()))
}

/// Reads on a thread of its own: the kernel's reader stays on one.
fn read(pieces: Vec<Piece>, engine: Arc<TableEngine>, schema: SchemaRef, job: Job, place: String) -> Batches {
    let (sender, receiver) = sync_channel::<Result<RecordBatch>>(AHEAD);
    let given = Arc::clone(&schema);
    let work = move || -> Result<()> {
        for Piece { scan, columns } in pieces {
            let batches = guarded(|| scan.execute(Arc::clone(&engine) as Arc<dyn Engine>))?;
            for batch in batches {
                job.check()?;
                let batch = batch.and_then(EngineDataArrowExt::try_into_record_batch).map_err(from_kernel)?;
                if sender.send(Ok(columns.conform(&batch)?)).is_err() {
                    // Nobody reads them any more.
                    return Ok(());
                }
            }
        }
        Ok(())
    };
    let worker = thread::spawn(work);
    let mut worker = Some(worker);
    let next = move || match receiver.recv() {
        Ok(batch) => Some(batch),
        Err(_) => match worker.take()?.join() {
            Ok(Ok(())) => None,
            Ok(Err(error)) => Some(Err(error.at(&place))),
            Err(_) => Some(Err(Error::corrupt("the change data feed can't be understood").at(&place))),
        },
    };
    Batches::new(given, std::iter::from_fn(next))
}

#[cfg(test)]
mod tests;
