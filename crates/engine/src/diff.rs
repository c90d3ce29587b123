//! Differences between the rows of two locations, by key.
//!
//! Both sides are read for the hashes of their rows, which determine the keys that differ. If some do, both sides are
//! read again for their rows.
//!
//! Sides whose keys ascend are merged while they are read. Where a key of either does not ascend, both are read again from
//! the start: their hashes are collected in partitions by the hash of the key, and compared partition by partition.
//! Memory holds hashes up to a limit, beyond which they are on the local disk, the keys that differ up to a limit, and
//! a partition of rows that differ; a partition that is too large for it is divided again.

mod common_type;
mod diff_side;
mod differing_keys;
mod hash_comparison;
mod hash_partitions;
mod ordered_comparison;
mod row_partitions;

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use lakerace_format::is_uuid;
use lakerace_format::schema_text::print_type;
use lakerace_format::suggestions::column_not_found;
use lakerace_io::memory_limit::check_memory;
use lakerace_io::option::{AT, COLUMNS, KEY, SECOND_AT, SUMMARY};
use lakerace_io::{Error, Job, Result};
use serde::Serialize;

use self::common_type::common_type;
use self::diff_side::DiffSide;
use self::row_partitions::{RowComparison, RowPartitions};
use crate::database::shown;
use crate::option_scope::check_either_scope;
use crate::options::ReadOptions;
use crate::scan::Scan;

/// The column that says whether a row was inserted, deleted or updated.
pub const DIFF_CHANGE: &str = "_change_type";
/// The column that names the columns of a changed row that differ.
pub const DIFF_COLUMNS: &str = "_changed_columns";

/// Which rows and columns are compared.
#[derive(Debug, Clone, Default)]
pub struct DiffOptions {
    /// The columns that identify a row; empty: the key of the first table (`lakerace.primaryKey`).
    pub key: Vec<String>,
    /// The read options of the first side.
    pub first: ReadOptions,
    /// The read options of the second side.
    pub second: ReadOptions,
    /// The most differences that are returned; `None`: all. All of them are counted.
    pub limit: Option<u64>,
    /// Differences are counted and not handed out.
    pub is_summary: bool,
    /// Approximate bytes of hashes, keys and rows in memory; `None`: [`DIFF_MEMORY_BYTES`].
    pub memory_bytes: Option<u64>,
}

impl DiffOptions {
    /// The columns of the rows that differ. A summary has no rows, so that values of any two types may be counted.
    fn output_schema(&self, first: &Schema, second: &Schema) -> Result<SchemaRef> {
        let mut fields = vec![Field::new(DIFF_CHANGE, DataType::Utf8, false)];
        for field in first.fields() {
            let Ok(other) = second.field_with_name(field.name()) else { continue };
            if [DIFF_CHANGE, DIFF_COLUMNS].contains(&field.name().as_str()) {
                return Err(Error::unsupported(format!("comparing a column named {:?}", field.name()))
                    .advice(format!("name the columns to compare with {COLUMNS}")));
            }
            let (one, two) = (field.data_type(), other.data_type());
            let data_type = match common_type(one, two) {
                Some(data_type) => data_type,
                None if self.is_summary => DataType::Null,
                None => {
                    return Err(Error::unsupported(format!("comparing {} with {}", print_type(one), print_type(two)))
                        .at(format!("column {:?}", field.name()))
                        .advice(format!(
                            "name the columns to compare with {COLUMNS}, or count differences with {SUMMARY}"
                        )));
                }
            };
            let mut common = Field::new(field.name(), data_type, true);
            if is_uuid(field) && is_uuid(other) {
                common.set_metadata(field.metadata().clone());
            }
            fields.push(common);
        }
        fields.push(Field::new(DIFF_COLUMNS, DataType::Utf8, true));
        Ok(Arc::new(Schema::new(fields)))
    }
}

/// The memory of a comparison where none is given.
pub const DIFF_MEMORY_BYTES: u64 = 512 << 20;

/// Counts of rows that differ.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Diff {
    /// Rows of the first side.
    pub first_rows: u64,
    /// Rows of the second side.
    pub second_rows: u64,
    /// Rows whose key only the second side has.
    pub inserted: u64,
    /// Rows whose key only the first side has.
    pub deleted: u64,
    /// Rows of which both sides have the key, with different values.
    pub changed: u64,
    /// Rows that are the same on both sides.
    pub unchanged: u64,
    /// The columns that differ, with the number of changed rows in which they do.
    pub changed_columns: BTreeMap<String, u64>,
    /// Columns that only the first side has. They are not compared.
    pub first_columns: Vec<String>,
    /// Columns that only the second side has. They are not compared.
    pub second_columns: Vec<String>,
}

impl Diff {
    /// Returns true if the two sides have other rows or other columns.
    pub fn is_different(&self) -> bool {
        let rows = self.inserted + self.deleted + self.changed;
        rows > 0 || !self.first_columns.is_empty() || !self.second_columns.is_empty()
    }
}

/// Two locations that are opened for a comparison of their rows by key.
pub struct RowDiff {
    options: DiffOptions,
    first: Arc<DiffSide>,
    second: Arc<DiffSide>,
    /// With the columns of one side only, and no rows yet.
    found: Diff,
    job: Job,
}

impl RowDiff {
    /// Checks that a file that is to be replaced is none of those that are compared.
    ///
    /// # Errors
    /// `Usage` if it is one, and those of the locations.
    pub fn check_is_no_source(&self, target: &str) -> Result<()> {
        let sides = [(&self.first, &self.options.first), (&self.second, &self.options.second)];
        sides.into_iter().try_for_each(|(side, read)| side.scan.check_is_no_source(&side.name, target, &read.storage))
    }

    /// Opens both sides.
    ///
    /// # Errors
    /// `NotFound` for a column of the key that a side lacks; `Usage` without a key, or with too little memory.
    pub fn open(first: &str, second: &str, options: &DiffOptions, job: &Job) -> Result<Self> {
        let open = |place: &str, read: &ReadOptions| {
            Scan::open_unchecked(place, &ReadOptions { is_read_again: true, ..read.clone() }, job)
        };
        let first_scan = open(first, &options.first)?;
        let second_scan = open(second, &options.second).map_err(|error| error.naming(&SECOND_AT, &AT))?;
        check_either_scope([
            (&options.first, first_scan.place_kind(), &shown(first)),
            (&options.second, second_scan.place_kind(), &shown(second)),
        ])?;
        let key = key_names(options, &first_scan)?;
        let (first_schema, second_schema) = (first_scan.schema(), second_scan.schema());
        let names = |schema: &Schema, other: &Schema, is_common: bool| -> Vec<String> {
            let names = schema.fields().iter().map(|field| field.name().clone());
            names.filter(|name| other.index_of(name).is_ok() == is_common).collect()
        };
        let common = names(&first_schema, &second_schema, true);
        let sides = [(first, &first_schema, &options.first), (second, &second_schema, &options.second)];
        for (name, schema, read) in sides {
            let Some(missing) = key.iter().find(|column| schema.index_of(column).is_err()) else { continue };
            if read.columns.is_some() {
                let error = Error::usage(format!("the column {missing:?} of the key is not among the compared ones"));
                return Err(error.at(name).advice(format!("add it to {COLUMNS}")));
            }
            let known = schema.fields().iter().map(|field| field.name().as_str());
            return Err(column_not_found(missing, known).at(name));
        }
        if let Some(bytes) = options.memory_bytes {
            check_memory(bytes, common.len()).map_err(|error| error.at(shown(first)))?;
        }
        let found = Diff {
            first_columns: names(&first_schema, &second_schema, false),
            second_columns: names(&second_schema, &first_schema, false),
            ..Diff::default()
        };
        let mut first = DiffSide::new(first, first_scan, &common, &key)?;
        let mut second = DiffSide::new(second, second_scan, &common, &key)?;
        DiffSide::share_texts(&mut first, &mut second)?;
        Ok(Self { options: options.clone(), first: Arc::new(first), second: Arc::new(second), found, job: job.clone() })
    }

    /// The schema of the rows that differ: the compared columns between [`DIFF_CHANGE`], which is `insert`, `delete`, or
    /// `update_preimage` and `update_postimage` one after the other, and [`DIFF_COLUMNS`]. Columns of different types
    /// are compared by their values, and have a type of text; lists, structs and maps have the types of both down to the
    /// values that differ.
    ///
    /// # Errors
    /// `Unsupported` for columns whose values can't be compared.
    pub fn schema(&self) -> Result<SchemaRef> {
        self.options.output_schema(&self.first.schema, &self.second.schema)
    }

    /// Compares the rows; those that differ are handed out in batches of one schema.
    ///
    /// # Errors
    /// `Invalid` where a key is null or several rows of a side have it.
    pub fn run(self, take: &mut dyn FnMut(RecordBatch) -> Result<()>) -> Result<Diff> {
        let Self { options, first, second, mut found, job } = self;
        let memory_bytes = options.memory_bytes.unwrap_or(DIFF_MEMORY_BYTES);
        let rows = different_rows([&first, &second], &options, memory_bytes, &mut found, &job)?;
        let is_done = found.changed == 0 && (options.is_summary || found.inserted + found.deleted == 0);
        let Some(rows) = rows.filter(|_| !is_done) else { return Ok(found) };
        let output = DiffOutput { schema: options.output_schema(&first.schema, &second.schema)? };
        let left = if options.is_summary { 0 } else { options.limit.unwrap_or(u64::MAX) };
        let mut comparison = RowComparison {
            sides: [&first, &second],
            output: &output,
            left,
            memory_bytes,
            changed_columns: &mut found.changed_columns,
            job: &job,
            take,
        };
        comparison.partitions(rows)?;
        Ok(found)
    }
}

fn key_names(options: &DiffOptions, first: &Scan) -> Result<Vec<String>> {
    if !options.key.is_empty() {
        return Ok(options.key.clone());
    }
    let property = first.open_version().and_then(|version| version.properties().remove(lakerace_delta::KEY_PROPERTY));
    let names: Vec<String> =
        property.iter().flat_map(|names| names.split(',')).map(|name| name.trim().to_owned()).collect();
    if names.is_empty() {
        return Err(
            Error::usage("there is no key to compare the rows by").advice(format!("name its columns with {KEY}"))
        );
    }
    Ok(names)
}

/// Counts the rows that differ, and returns them, and others for which it can't be told yet; `None`: there are none.
fn different_rows(
    sides: [&Arc<DiffSide>; 2],
    options: &DiffOptions,
    memory_bytes: u64,
    found: &mut Diff,
    job: &Job,
) -> Result<Option<[RowPartitions; 2]>> {
    if let Some(rows) = ordered_comparison::compare(sides, options.is_summary, memory_bytes, found, job)? {
        return Ok(Some(rows));
    }
    let keys = hash_comparison::compare([sides[0], sides[1]], memory_bytes, found, job)?;
    if keys.is_empty() || (options.is_summary && found.changed == 0) {
        return Ok(None);
    }
    let read = |side| RowPartitions::read(side, &keys, memory_bytes, job);
    Ok(Some([read(sides[0])?, read(sides[1])?]))
}

/// The batches of differences.
struct DiffOutput {
    schema: SchemaRef,
}
