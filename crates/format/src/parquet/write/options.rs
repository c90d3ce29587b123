//! The shape of a Parquet file: checked options, stored types, the plan for each column.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use arrow::datatypes::{DataType, Field, FieldRef, Fields, IntervalUnit, Schema, SchemaRef, TimeUnit};
use lakerace_io::option::BLOOM_FILTER;
use lakerace_io::{Error, Result};
use parquet::arrow::{ARROW_SCHEMA_META_KEY, ArrowSchemaConverter, encode_arrow_schema};
use parquet::basic::{self, Type};
use parquet::file::metadata::KeyValue;
use parquet::schema::types::SchemaDescPtr;

use crate::extension_types::has_uuid_values;
use crate::nested_types::{contains_type, inner_fields, map_inner_fields};
use crate::options::{Codec, Compression, WriteOptions};
use crate::parquet::encode::block::BlockPool;
use crate::parquet::encode::compress::parquet_codec;
use crate::parquet::logical_types::with_logical_types;
use crate::uuids::UUID_BYTES;

/// Rows in a row group unless options say otherwise: 2^20, as other writers do.
const ROW_GROUP_ROWS: usize = 1 << 20;
/// Encoded bytes in a row group at most, unless options say otherwise.
const ROW_GROUP_BYTES: u64 = 128 << 20;
/// Bytes of a data page before compression, unless options say otherwise.
const PAGE_BYTES: usize = 1 << 20;
/// Parquet counts a page's bytes as i32; far below that, pages only get unwieldy.
const MAX_PAGE_BYTES: usize = 256 << 20;

/// Checked options.
#[derive(Debug, Clone)]
pub(crate) struct CheckedOptions {
    pub(crate) compression: Compression,
    pub(crate) codec: basic::Compression,
    pub(crate) row_group_rows: usize,
    pub(crate) row_group_bytes: u64,
    pub(crate) page_bytes: usize,
    pub(crate) dictionary: bool,
    pub(crate) statistics: bool,
    pub(crate) differences: bool,
    /// Memory of the row groups before.
    pub(crate) blocks: BlockPool,
}

impl CheckedOptions {
    /// Checks options and fills in defaults.
    pub(crate) fn new(options: &WriteOptions) -> Result<Self> {
        let compression = options.compression.unwrap_or(Compression::new(Codec::Snappy));
        let positive = |value: Option<u64>, name: &str| match value {
            Some(0) => Err(Error::usage(format!("{name} is 0")).advice("set at least 1, or omit it")),
            other => Ok(other),
        };
        let rows = positive(options.row_group_rows.map(|v| v as u64), "row_group_rows")?;
        let bytes = positive(options.row_group_bytes, "row_group_bytes")?;
        let page = positive(options.page_bytes.map(|v| v as u64), "page_bytes")?;
        Ok(Self {
            compression,
            codec: parquet_codec(compression)?,
            // Rows of a row group are counted as i32 in places.
            row_group_rows: rows.map_or(ROW_GROUP_ROWS, |r| r.min(i32::MAX as u64) as usize),
            row_group_bytes: bytes.unwrap_or(ROW_GROUP_BYTES),
            page_bytes: page.map_or(PAGE_BYTES, |p| p.min(MAX_PAGE_BYTES as u64) as usize),
            dictionary: options.dictionary,
            statistics: options.statistics,
            differences: options.differences,
            blocks: BlockPool::default(),
        })
    }
}

/// A file's schema, and how each of its top-level columns is encoded.
pub(crate) struct FileLayout {
    /// Parquet's schema.
    pub(crate) descriptor: SchemaDescPtr,
    /// The Arrow schema for readers that know it, and the schema's own metadata.
    pub(crate) key_values: Vec<KeyValue>,
    /// The top-level columns.
    pub(crate) columns: Vec<ColumnLayout>,
}

/// The layout of a top-level column.
#[derive(Debug, Clone)]
pub(crate) struct ColumnLayout {
    /// Its name and type in the batches.
    pub(crate) field: FieldRef,
    /// The stored form: units that Parquet lacks are replaced.
    pub(crate) stored: FieldRef,
    /// Its first leaf.
    pub(crate) first_leaf: usize,
    /// Its leaves.
    pub(crate) leaves: usize,
    /// True if its type is nested, and it is not encoded flat.
    pub(crate) is_nested: bool,
    /// The leaves that get a bloom filter.
    pub(crate) bloom: Vec<usize>,
}

impl FileLayout {
    /// Lays out a file of this schema. A type that Parquet can't hold is an error that names the column.
    pub(crate) fn new(schema: &SchemaRef, options: &WriteOptions) -> Result<Self> {
        let mut stored_fields = Vec::with_capacity(schema.fields().len());
        for field in schema.fields() {
            // Our own encoder knows them, and the parquet crate's, for nested columns, does not.
            if *field.data_type() != DataType::Interval(IntervalUnit::MonthDayNano) {
                check(field.data_type(), field.name())?;
            }
            stored_fields.push(Arc::new(stored_field(field)));
        }
        let stored = Schema::new_with_metadata(stored_fields.clone(), schema.metadata().clone());
        let descriptor = ArrowSchemaConverter::new()
            // The names of list elements and map entries as the format's specification has them.
            .with_coerce_types(true)
            .convert(&stored)
            .and_then(|descriptor| with_logical_types(descriptor, &stored))
            .map_err(|e| Error::unsupported("the schema can't be stored as Parquet").because(e))?;
        let mut columns = Vec::with_capacity(stored_fields.len());
        let mut first_leaf = 0;
        for (at, (field, stored)) in schema.fields().iter().zip(stored_fields).enumerate() {
            let leaves =
                (first_leaf..descriptor.num_columns()).take_while(|l| descriptor.get_column_root_idx(*l) == at).count();
            let is_nested = stored.data_type().is_nested() && !is_encoded_flat(stored.data_type());
            columns.push(ColumnLayout {
                field: Arc::clone(field),
                stored,
                first_leaf,
                leaves,
                is_nested,
                bloom: Vec::new(),
            });
            first_leaf += leaves;
        }
        let mut layout = Self { key_values: key_values(&stored), descriptor: Arc::new(descriptor), columns };
        for name in &options.bloom_filter_columns {
            layout.add_bloom_filter(name)?;
        }
        Ok(layout)
    }

    fn add_bloom_filter(&mut self, name: &str) -> Result<()> {
        let descriptor = &self.descriptor;
        let path = |leaf: usize| descriptor.column(leaf).path().string();
        let mut found = false;
        for column in &mut self.columns {
            for leaf in column.first_leaf..column.first_leaf + column.leaves {
                if column.field.name() != name && path(leaf) != name {
                    continue;
                }
                found = true;
                if descriptor.column(leaf).physical_type() == Type::BOOLEAN {
                    return Err(Error::usage(format!(
                        "column {name:?} is boolean, and booleans can't have bloom filters"
                    ))
                    .advice(format!("remove it from {BLOOM_FILTER}")));
                }
                column.bloom.push(leaf);
            }
        }
        if found {
            return Ok(());
        }
        let known = self.columns.iter().map(|c| c.field.name().clone());
        let known = known.chain((0..descriptor.num_columns()).map(path));
        let nearest = known.min_by_key(|candidate| strsim::damerau_levenshtein(candidate, name));
        let error = Error::not_found(format!("there is no column {name:?} to build a bloom filter for"));
        Err(match nearest {
            Some(nearest) => error.advice(format!("did you mean {nearest:?}?")),
            None => error,
        })
    }
}

/// The Arrow schema, encoded, the mark of the calendar, and the notes of the schema's producer (such as pandas).
fn key_values(stored: &Schema) -> Vec<KeyValue> {
    let fields: Fields = stored.fields().iter().map(|f| Arc::new(hint_field(f))).collect();
    let is_note = |key: &str| key != ARROW_SCHEMA_META_KEY && !key.starts_with(SPARK);
    let notes = stored.metadata().iter().filter(|(key, _)| is_note(key));
    let notes: BTreeMap<String, String> = notes.map(|(key, value)| (key.clone(), value.clone())).collect();
    let hint = Schema::new_with_metadata(fields, notes.clone().into_iter().collect::<HashMap<_, _>>());
    let mut key_values = vec![KeyValue::new(ARROW_SCHEMA_META_KEY.to_owned(), encode_arrow_schema(&hint))];
    if stored.fields().iter().any(|field| has_calendar(field.data_type())) {
        key_values.push(KeyValue::new(CALENDAR_MARK.0.to_owned(), CALENDAR_MARK.1.to_owned()));
    }
    key_values.extend(notes.into_iter().map(|(key, value)| KeyValue::new(key, value)));
    key_values
}

/// Marks dates and timestamps as those of the proleptic Gregorian calendar and in UTC, like Arrow's. Spark trusts only
/// its own files, from 3.1.0 on, and by default it fails to read dates before 1582 and timestamps before 1900 of
/// others. It compares versions as texts.
///
/// Source: Spark, `DataSourceUtils.scala`.
const CALENDAR_MARK: (&str, &str) = ("org.apache.spark.version", "3.5.0");

/// The prefix of Spark's notes on a file that it writes: its columns, and its calendar. A schema that pyarrow has read
/// from such a file repeats them, but they do not apply to other files.
const SPARK: &str = "org.apache.spark.";

/// Returns true if values of a type are days or times of a calendar.
fn has_calendar(data_type: &DataType) -> bool {
    contains_type(data_type, &|inner| matches!(inner, DataType::Date32 | DataType::Date64 | DataType::Timestamp(..)))
}

/// Names the column of a type that Parquet can't hold.
fn check(data_type: &DataType, path: &str) -> Result<()> {
    let unsupported = |what: &str, advice: &str| {
        Err(Error::unsupported(format!("Parquet has no type for {what}")).at(format!("column {path:?}")).advice(advice))
    };
    match data_type {
        DataType::Union(..) => unsupported("a union", "write its variants as separate columns"),
        DataType::Interval(IntervalUnit::MonthDayNano) => unsupported(
            "intervals of months and nanoseconds inside of other columns",
            "store the interval as a top-level column, or cast it to a duration or to text",
        ),
        DataType::Struct(fields) if fields.is_empty() => unsupported("a struct without fields", "omit the column"),
        DataType::Dictionary(_, value) if value.is_nested() => {
            unsupported("a dictionary of nested values", "cast the column to the dictionary's value type")
        }
        DataType::Dictionary(_, value) => check(value, path),
        DataType::RunEndEncoded(_, value) if value.data_type().is_nested() => {
            unsupported("run-end encoded nested values", "cast the column to the values' type")
        }
        DataType::RunEndEncoded(_, value) => check(value.data_type(), path),
        other => {
            let mut fields = inner_fields(other).into_iter().flatten();
            fields.try_for_each(|field| check(field.data_type(), &format!("{path}.{}", field.name())))
        }
    }
}

/// Returns true if a type that Arrow calls nested is only another encoding of a flat one.
fn is_encoded_flat(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Dictionary(..) | DataType::RunEndEncoded(..))
}

/// The stored form of a field.
fn stored_field(field: &Field) -> Field {
    let stored = field.clone().with_data_type(stored_type(field.data_type()));
    // A column of nulls has to be nullable to be written at all.
    if *field.data_type() == DataType::Null { stored.with_nullable(true) } else { stored }
}

/// Parquet counts no seconds, and dates in days only.
fn stored_type(data_type: &DataType) -> DataType {
    map_type(data_type, stored_field, |data_type| match data_type {
        DataType::Timestamp(TimeUnit::Second, zone) => DataType::Timestamp(TimeUnit::Millisecond, zone.clone()),
        DataType::Time32(TimeUnit::Second) => DataType::Time32(TimeUnit::Millisecond),
        DataType::Date64 => DataType::Date32,
        other => other.clone(),
    })
}

/// The form of a field that the file declares to readers: layouts that only newer Arrow libraries know are left out.
fn hint_field(field: &Field) -> Field {
    // Readers know the type of UUIDs for values, and not for dictionaries of them.
    if has_uuid_values(field) {
        return field.clone().with_data_type(DataType::FixedSizeBinary(UUID_BYTES));
    }
    let hint = map_type(field.data_type(), hint_field, |data_type| match data_type {
        DataType::Utf8View => DataType::Utf8,
        DataType::BinaryView => DataType::Binary,
        other => other.clone(),
    });
    let hint = match hint {
        DataType::ListView(item) => DataType::List(item),
        DataType::LargeListView(item) => DataType::LargeList(item),
        DataType::RunEndEncoded(_, value) => value.data_type().clone(),
        other => other,
    };
    field.clone().with_data_type(hint)
}

/// Applies `leaf` to the flat types inside a type and `inner` to the fields of nested ones.
fn map_type(data_type: &DataType, inner: impl Fn(&Field) -> Field, leaf: impl Fn(&DataType) -> DataType) -> DataType {
    let one = |field: &FieldRef| -> FieldRef { Arc::new(inner(field)) };
    match data_type {
        DataType::Dictionary(key, value) => DataType::Dictionary(key.clone(), Box::new(leaf(value))),
        DataType::RunEndEncoded(ends, values) => DataType::RunEndEncoded(Arc::clone(ends), one(values)),
        other => map_inner_fields(other, one).unwrap_or_else(|| leaf(other)),
    }
}
