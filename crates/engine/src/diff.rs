//! Differences between the rows of two locations, by key.
//!
//! Both sides are read once for the hashes of their rows, which are stored in partitions on the local disk by the hash
//! of the key. Partition by partition, the hashes determine which keys differ. If some do, both sides are read again
//! for their rows. Memory holds a partition of hashes, the keys that differ up to a limit, and a partition of rows that
//! differ; a partition that is too large for it is divided again.

mod common_type;
mod hash_partitions;
mod row_partitions;

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow::array::{Array, RecordBatch};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use arrow::util::display::array_value_to_string;
use lakerace_format::schema_text::print_type;
use lakerace_format::suggestions::column_not_found;
use lakerace_format::{is_uuid, narrowed_batch, without_dictionaries};
use lakerace_io::memory_limit::check_memory;
use lakerace_io::option::{COLUMNS, KEY};
use lakerace_io::{Error, Job, Result};
use serde::Serialize;

use self::common_type::common_type;
use self::hash_partitions::{HashPartitions, KeySet};
use self::row_partitions::{RowComparison, RowPartitions};
use crate::database::shown;
use crate::keys::KeyProjection;
use crate::option_scope::check_either_scope;
use crate::{ReadOptions, Scan};

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

/// A side that is read.
struct DiffSide {
    name: String,
    scan: Scan,
    /// The columns of both sides, in the order of the first, and the key.
    columns: Vec<usize>,
    schema: SchemaRef,
    key: KeyProjection,
}

impl DiffSide {
    fn new(name: &str, scan: Scan, common: &[String], key: &[String]) -> Result<Self> {
        let whole = scan.schema();
        let at = |column: &String| whole.index_of(column).map_err(Error::unexpected);
        let columns = common.iter().map(at).collect::<Result<Vec<_>>>()?;
        let schema = Arc::new(without_dictionaries(&whole.project(&columns).map_err(Error::unexpected)?));
        let key = KeyProjection::new(&schema, key).map_err(|error| error.at(name))?;
        Ok(Self { name: name.to_owned(), scan, columns, schema, key })
    }

    /// The compared columns of a batch.
    fn project(&self, batch: &RecordBatch) -> Result<RecordBatch> {
        narrowed_batch(&batch.project(&self.columns).map_err(Error::unexpected)?, &self.schema)
    }

    /// An error where a row has null in its key.
    fn check_key(&self, batch: &RecordBatch) -> Result<()> {
        let keys = self.key.project(batch)?;
        for (field, column) in keys.schema_ref().fields().iter().zip(keys.columns()) {
            if column.logical_null_count() > 0 {
                return Err(Error::invalid(format!("a row has null in the column {:?} of the key", field.name()))
                    .at(&self.name)
                    .advice(format!("exclude such rows with a filter, or choose another key with {KEY}")));
            }
        }
        Ok(())
    }

    /// The error of a key that several rows have. Reads the side again for the key's values.
    fn doubled(&self, hash: u128) -> Error {
        let values = self.key_of(hash).ok().flatten().unwrap_or_else(|| "a key".to_owned());
        Error::invalid(format!("{values} appears in several rows"))
            .at(&self.name)
            .advice(format!("choose a key that is unique with {KEY}"))
    }

    fn key_of(&self, hash: u128) -> Result<Option<String>> {
        for batch in self.scan.batches()? {
            let batch = self.project(&batch?)?;
            let Some(row) = self.key.hashes(&batch)?.iter().position(|known| *known == hash) else { continue };
            let keys = self.key.project(&batch)?;
            let text = |(field, column): (&Arc<Field>, &Arc<dyn Array>)| {
                let value = array_value_to_string(column, row).map_err(Error::unexpected)?;
                Ok(format!("{} = {value}", field.name()))
            };
            let texts = keys.schema_ref().fields().iter().zip(keys.columns()).map(text).collect::<Result<Vec<_>>>()?;
            return Ok(Some(format!("the key {}", texts.join(", "))));
        }
        Ok(None)
    }
}

/// Two locations that are opened for a comparison of their rows by key.
pub struct RowDiff {
    options: DiffOptions,
    first: DiffSide,
    second: DiffSide,
    /// With the columns of one side only, and no rows yet.
    found: Diff,
    job: Job,
}

impl RowDiff {
    /// Opens both sides.
    ///
    /// # Errors
    /// `NotFound` for a column of the key that a side lacks; `Usage` without a key, or with too little memory.
    pub fn open(first: &str, second: &str, options: &DiffOptions, job: &Job) -> Result<Self> {
        let (first_scan, second_scan) =
            (Scan::open_unchecked(first, &options.first, job)?, Scan::open_unchecked(second, &options.second, job)?);
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
        for (name, schema) in [(first, &first_schema), (second, &second_schema)] {
            if let Some(missing) = key.iter().find(|column| schema.index_of(column).is_err()) {
                let known = schema.fields().iter().map(|field| field.name().as_str());
                return Err(column_not_found(missing, known).at(name));
            }
        }
        if let Some(bytes) = options.memory_bytes {
            check_memory(bytes, common.len()).map_err(|error| error.at(shown(first)))?;
        }
        let found = Diff {
            first_columns: names(&first_schema, &second_schema, false),
            second_columns: names(&second_schema, &first_schema, false),
            ..Diff::default()
        };
        Ok(Self {
            options: options.clone(),
            first: DiffSide::new(first, first_scan, &common, &key)?,
            second: DiffSide::new(second, second_scan, &common, &key)?,
            found,
            job: job.clone(),
        })
    }

    /// The schema of the rows that differ: the compared columns between [`DIFF_CHANGE`], which is `insert`, `delete`, or
    /// `update_preimage` and `update_postimage` one after the other, and [`DIFF_COLUMNS`]. Columns of different types
    /// are compared by their values, and have a type of text; lists, structs and maps have the types of both down to the
    /// values that differ.
    ///
    /// # Errors
    /// `Unsupported` for columns whose values can't be compared.
    pub fn schema(&self) -> Result<SchemaRef> {
        output_schema(&self.first.schema, &self.second.schema)
    }

    /// Compares the rows; those that differ are handed out in batches of one schema.
    ///
    /// # Errors
    /// `Invalid` where a key is null or several rows of a side have it.
    pub fn run(self, take: &mut dyn FnMut(RecordBatch) -> Result<()>) -> Result<Diff> {
        let Self { options, first, second, mut found, job } = self;
        let memory_bytes = options.memory_bytes.unwrap_or(DIFF_MEMORY_BYTES);
        let keys = different_keys(&first, &second, memory_bytes, &mut found, &job)?;
        let is_done = found.changed == 0 && (options.is_summary || found.inserted + found.deleted == 0);
        if is_done {
            return Ok(found);
        }
        let rows = |side: &DiffSide| RowPartitions::read(side, &keys, memory_bytes, &job);
        let rows = [rows(&first)?, rows(&second)?];
        let output = DiffOutput { schema: output_schema(&first.schema, &second.schema)? };
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

/// Reads both sides for their hashes, and finds the keys that differ.
fn different_keys(
    first: &DiffSide,
    second: &DiffSide,
    memory_bytes: u64,
    found: &mut Diff,
    job: &Job,
) -> Result<KeySet> {
    let hashes = [HashPartitions::read(first, job)?, HashPartitions::read(second, job)?];
    found.first_rows = hashes[0].rows();
    found.second_rows = hashes[1].rows();
    hash_partitions::compare([first, second], hashes, memory_bytes, found, job)
}

/// The batches of differences.
struct DiffOutput {
    schema: SchemaRef,
}

fn output_schema(first: &Schema, second: &Schema) -> Result<SchemaRef> {
    let mut fields = vec![Field::new(DIFF_CHANGE, DataType::Utf8, false)];
    for field in first.fields() {
        let Ok(other) = second.field_with_name(field.name()) else { continue };
        if [DIFF_CHANGE, DIFF_COLUMNS].contains(&field.name().as_str()) {
            return Err(Error::unsupported(format!("comparing a column named {:?}", field.name()))
                .advice(format!("name the columns to compare with {COLUMNS}")));
        }
        let (one, two) = (field.data_type(), other.data_type());
        let Some(data_type) = common_type(one, two) else {
            return Err(Error::unsupported(format!("comparing {} with {}", print_type(one), print_type(two)))
                .at(format!("column {:?}", field.name()))
                .advice(format!("name the columns to compare with {COLUMNS}")));
        };
        let mut common = Field::new(field.name(), data_type, true);
        match (is_uuid(field), is_uuid(other)) {
            (true, true) => common.set_metadata(field.metadata().clone()),
            // Their bytes are no text of a UUID: each row would differ.
            (true, false) | (false, true) if one.is_string() || two.is_string() => {
                return Err(Error::unsupported("comparing UUIDs with text")
                    .at(format!("column {:?}", field.name()))
                    .advice(format!("name the columns to compare with {COLUMNS}")));
            }
            _ => {}
        }
        fields.push(common);
    }
    fields.push(Field::new(DIFF_COLUMNS, DataType::Utf8, true));
    Ok(Arc::new(Schema::new(fields)))
}
