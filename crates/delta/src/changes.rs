//! Changes of a table's rows from version to version: its change data feed.
//!
//! The change files (`_change_data`) of a version list the rows that were inserted and deleted, and the state of
//! updated rows before and after. For other versions the changes follow from the files and deletion vectors that were
//! added and removed: a row that was replaced is one deleted and one inserted. Format:
//! <https://github.com/delta-io/delta/blob/master/PROTOCOL.md#change-data-files>.
//!
//! The kernel determines whether the versions have a feed. Their entries are read here: of a file of which only the
//! deletion vector changed, only those rows are read in which the two vectors differ.

mod entries;
mod pieces;
mod refusals;
mod rows;

use std::ops::RangeInclusive;
use std::sync::Arc;

use arrow::datatypes::{DataType, Field, FieldRef, Schema, SchemaRef, TimeUnit};
use delta_kernel::engine::arrow_conversion::TryIntoArrow;
use delta_kernel::schema::StructType;
use delta_kernel::table_changes::TableChanges;
use delta_kernel::{Engine, Snapshot as KernelSnapshot, SnapshotRef};
use lakerace_format::{Batches, TableSchema};
use lakerace_io::option::TO;
use lakerace_io::{Error, ErrorKind, Result};
use url::Url;

use self::entries::FeedEntries;
pub(crate) use self::pieces::narrower_part;
use crate::kernel::engine::TableEngine;
use crate::kernel::error::guarded;
use crate::paths::ROOT;
use crate::snapshot::Snapshot;
use crate::snapshot::columns::TableColumns;
use crate::snapshot::partitions::Partitions;
use crate::table::{LIST_VERSIONS, Table};

/// The column of a feed and of change files with the kind of the change.
pub const CHANGE_TYPE: &str = "_change_type";
/// The column of a feed that says in which version.
pub const COMMIT_VERSION: &str = "_commit_version";
/// The column of a feed that says when that version was made.
pub const COMMIT_TIMESTAMP: &str = "_commit_timestamp";
/// The columns that a feed has next to the table's.
pub(crate) const FEED_COLUMNS: [&str; 3] = [CHANGE_TYPE, COMMIT_VERSION, COMMIT_TIMESTAMP];

/// Returns true if the feed has a column of this name, which no table with a feed may have. Case makes no difference.
pub(crate) fn is_feed_column(name: &str) -> bool {
    FEED_COLUMNS.iter().any(|reserved| reserved.eq_ignore_ascii_case(name))
}

/// Ranges of versions that are read apart: each opens the table's log.
const RANGES_AT_MOST: u64 = 200;

/// The source of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChangeOrigin {
    /// New data files, and rows that are not deleted any more: each row is an `insert`.
    Added,
    /// Data files that went, and rows that a deletion vector hides: each row is a `delete`.
    Removed,
    /// Change files: rows of any type.
    ChangeFile,
}

/// The changes of the versions from `from` to `to` (by default the last one), both included: the table's columns, and
/// `_change_type` (`insert`, `delete`, `update_preimage`, `update_postimage`), `_commit_version` and
/// `_commit_timestamp`.
///
/// Where the schema changes within the range, all rows have the columns of its last version: columns that were added
/// later are null, and widened ones have the wider type.
///
/// It is an error of kind `Unsupported` if `delta.enableChangeDataFeed` was not set in all of these versions, or if
/// types can't become those of the last version.
pub fn changes(table: &Table, from: u64, to: Option<u64>) -> Result<Batches> {
    let all = [ChangeOrigin::Added, ChangeOrigin::Removed, ChangeOrigin::ChangeFile];
    ChangeFeed::open(table, from, to)?.read(&all, None)
}

/// Splits versions into ranges that can be read independently, and returns the columns that all ranges have. A range is
/// one version, or several where there are more than 200; it is the whole range where the schema changes within it.
pub fn change_ranges(table: &Table, from: u64, to: Option<u64>) -> Result<(Vec<(u64, u64)>, SchemaRef)> {
    let feed = ChangeFeed::open(table, from, to)?;
    let ranges = match feed.pieces.len() {
        1 => divided(feed.range),
        _ => vec![(*feed.range.start(), *feed.range.end())],
    };
    Ok((ranges, feed.schema))
}

/// Divides versions into consecutive ranges of nearly equal length.
fn divided(range: RangeInclusive<u64>) -> Vec<(u64, u64)> {
    let (first, last) = range.into_inner();
    let length = (last - first + 1).div_ceil(RANGES_AT_MOST);
    (0..)
        .map(|at| first + at * length)
        .take_while(|from| *from <= last)
        .map(|from| (from, last.min(from + length - 1)))
        .collect()
}

/// Versions of one schema, and their partitions.
struct SchemaPiece {
    versions: RangeInclusive<u64>,
    partitions: Arc<Partitions>,
}

/// The change data feed of some versions of a table, which can be read in parts.
pub struct ChangeFeed {
    table: Table,
    range: RangeInclusive<u64>,
    pieces: Vec<SchemaPiece>,
    schema: SchemaRef,
    /// The columns as data files and change files have them.
    columns: Arc<TableSchema>,
}

impl ChangeFeed {
    /// Opens the feed that [`changes`] reads.
    ///
    /// # Errors
    /// Those of [`changes`] that follow from the first and the last version.
    pub fn open(table: &Table, from: u64, to: Option<u64>) -> Result<Self> {
        let named = |error: Error| error.at(table.location());
        if to.is_some_and(|to| to < from) {
            return Err(named(Error::usage(format!("version {from} is after version {}", to.unwrap_or(0)))));
        }
        // This reports a missing table or version.
        let latest = table.snapshot(None)?;
        if let Some(version) = [Some(from), to].into_iter().flatten().find(|version| *version > latest.version()) {
            let message = format!("version {version} does not exist: the last one is {}", latest.version());
            return Err(named(Error::not_found(message).advice(LIST_VERSIONS)));
        }
        let range = from..=to.unwrap_or(latest.version());
        Self::of_versions(table, range, &latest).map_err(|error| named(refusals::not_kept(table, from, error)))
    }

    fn of_versions(table: &Table, range: RangeInclusive<u64>, latest: &Snapshot) -> Result<Self> {
        let engine = table.engine();
        let versions = pieces::pieces(engine, range.clone())?;
        let end_of = |piece: &RangeInclusive<u64>| -> Result<SnapshotRef> {
            check_feed(engine, piece, latest.version())?;
            match *piece.end() {
                end if end == latest.version() => Ok(Arc::clone(latest.kernel())),
                end => guarded(|| KernelSnapshot::builder_for(ROOT).at_version(end).build(engine)),
            }
        };
        let ends = versions.iter().map(end_of).collect::<Result<Vec<_>>>()?;
        let last = ends.last().ok_or_else(|| Error::internal("there is no version to read"))?;
        let stored = TableColumns::new(&last.schema(), last.table_configuration().column_mapping_mode())?;
        let schema = feed_schema(&arrow_schema(&last.schema())?, ends.len() > 1);
        let columns = Arc::new(stored.with_more(&schema)?);
        let piece = |(versions, end): (&RangeInclusive<u64>, &SnapshotRef)| {
            pieces::check_columns(&end.schema(), &last.schema(), &schema).map_err(|error| {
                let end = versions.end();
                error.advice(format!(
                    "read the changes up to version {end} ({}) and the later ones separately",
                    TO.to(end.to_string())
                ))
            })?;
            let partitions = Arc::new(Partitions::new(end, &last.schema(), columns.schema())?);
            Ok(SchemaPiece { versions: versions.clone(), partitions })
        };
        let pieces = versions.iter().zip(&ends).map(piece).collect::<Result<_>>()?;
        Ok(Self { table: table.clone(), range, pieces, schema, columns })
    }

    /// Its columns.
    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// The changes of these origins, in the order of versions, with these columns; `None`: all. Neither bytes of other
    /// columns are read, nor rows that have not changed, except for those that share pages with others.
    pub fn read(&self, origins: &[ChangeOrigin], columns: Option<&[String]>) -> Result<Batches> {
        let schema = match columns {
            None => Arc::clone(&self.schema),
            Some(names) => {
                let field = |name: &String| self.schema.field_with_name(name).cloned();
                let fields = names.iter().map(field).collect::<std::result::Result<Vec<Field>, _>>();
                Arc::new(Schema::new(fields.map_err(|e| Error::from_source(ErrorKind::Usage, e))?))
            }
        };
        let has_moments = schema.column_with_name(COMMIT_TIMESTAMP).is_some();
        let entries = FeedEntries::new(&self.table, &self.pieces, origins, has_moments)?;
        Ok(rows::read(entries, schema, &self.columns))
    }
}

/// An error where the kernel can't read a feed of the first and the last of these versions.
fn check_feed(engine: &TableEngine, versions: &RangeInclusive<u64>, latest: u64) -> Result<()> {
    let root = Url::parse(ROOT).map_err(Error::unexpected)?;
    let (from, to) = (*versions.start(), *versions.end());
    let mut without = None;
    let feed = guarded(|| {
        TableChanges::try_new(root, engine as &dyn Engine, from, Some(to))
            .inspect_err(|error| without = refusals::version_without_feed(error))
    });
    let feed = match without {
        Some(version) => return Err(refusals::no_feed(engine, version, latest)),
        None => feed?,
    };
    guarded(|| feed.into_scan_builder().build()).map(drop)
}

/// The columns that a feed has in addition to the table's: the kind of the change, the version, and its time.
fn feed_fields() -> [Field; 3] {
    let time = DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into()));
    [
        Field::new(CHANGE_TYPE, DataType::Utf8, false),
        Field::new(COMMIT_VERSION, DataType::Int64, false),
        Field::new(COMMIT_TIMESTAMP, time, false),
    ]
}

/// The columns of a table and those of its feed. Rows of earlier schemas may lack any.
fn feed_schema(table: &Schema, has_earlier_schemas: bool) -> SchemaRef {
    let own = feed_fields().into_iter().map(Arc::new);
    let all = Schema::new(table.fields().iter().cloned().chain(own).collect::<Vec<FieldRef>>());
    Arc::new(if has_earlier_schemas { pieces::nullable(&all) } else { all })
}

/// A schema without the metadata that only the log needs.
fn arrow_schema(schema: &StructType) -> Result<Schema> {
    let schema: Schema = schema.try_into_arrow().map_err(|e| Error::from_source(ErrorKind::Unsupported, e))?;
    Ok(Schema::new(schema.fields().iter().map(TableColumns::plain).collect::<Vec<_>>()))
}

#[cfg(test)]
mod tests;
