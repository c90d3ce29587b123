//! Prunes row groups and pages that can't hold a row for which the filter is true.

use std::ops::Range;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, UInt64Array};
use arrow::compute::cast;
use arrow::datatypes::{DataType, FieldRef};
use bytes::{Buf, Bytes};
use lakerace_io::{Job, Object, Result};
use parquet::arrow::arrow_reader::statistics::StatisticsConverter;
use parquet::basic::Type as Physical;
use parquet::bloom_filter::Sbbf;
use parquet::errors::ParquetError;
use parquet::file::metadata::RowGroupMetaData;
use parquet::file::reader::{ChunkReader, Length};

use super::trust;
use super::unit::RowGroupUnit;
use crate::columns::ReadColumns;
use crate::panic_guard::guarded;
use crate::parquet::footer::FileMeta;
use crate::parquet::footer::page_index::{chunk_pages, chunk_values};
use crate::predicate::{Bounds, ColumnRef, ColumnStatistics, Predicate, Value};

/// Bloom filters above this are not read: the data they could save is hardly larger.
const BLOOM_BYTES_AT_MOST: usize = 32 << 20;

/// Prunes the row groups of one source.
pub(crate) struct GroupPruner<'a> {
    job: &'a Job,
}

impl<'a> GroupPruner<'a> {
    /// For a job, which may be cancelled.
    pub fn new(job: &'a Job) -> Self {
        Self { job }
    }

    /// Prunes a unit to its remaining part, or returns the reason why nothing remains.
    pub fn prune(&self, unit: &RowGroupUnit, columns: &ReadColumns) -> Result<Result<RowGroupUnit, String>> {
        let Some(predicate) = &columns.predicate else { return Ok(Ok(unit.clone())) };
        self.job.check()?;
        if let Err(reason) = predicate.can_match(&group_statistics(unit)) {
            return Ok(Err(reason));
        }
        let kept = self.pages(unit, columns)?;
        if kept.row_count() == 0 {
            return Ok(Err("page statistics: no page can match".to_owned()));
        }
        Ok(match self.excluded_by_bloom_filter(unit, predicate)? {
            Some(reason) => Err(reason),
            None => Ok(kept),
        })
    }

    /// The unit with the rows that page statistics can't exclude. The same for the same file and filter, wherever it
    /// is called.
    pub fn pages(&self, unit: &RowGroupUnit, columns: &ReadColumns) -> Result<RowGroupUnit> {
        let mut kept = unit.rows.as_ref().clone();
        for conjunct in columns.predicate.iter().flat_map(Predicate::conjuncts) {
            let refs: Vec<&ColumnRef> = conjunct.column_refs().collect();
            let [column] = refs.as_slice() else { continue };
            let keeps = |statistics: &dyn ColumnStatistics| conjunct.can_match(statistics).is_ok();
            if let Some(ranges) = self.matching_pages(unit, column, &keeps)? {
                kept = intersect(&kept, &ranges);
            }
        }
        Ok(if kept == *unit.rows { unit.clone() } else { RowGroupUnit { rows: Arc::new(kept), ..unit.clone() } })
    }

    /// The rows of the pages that have to be read according to the statistics of one column; `None` if the file has
    /// none.
    pub fn matching_pages(
        &self,
        unit: &RowGroupUnit,
        column: &ColumnRef,
        keeps: &dyn Fn(&dyn ColumnStatistics) -> bool,
    ) -> Result<Option<Vec<Range<u64>>>> {
        let Some(stored) = StoredColumn::find(&unit.file, column) else { return Ok(None) };
        let leaf = stored.leaf;
        let group = unit.file.metadata().row_group(unit.row_group);
        if !trust::of_column(&unit.file, leaf) || unit.file.may_move(group, leaf) {
            return Ok(None);
        }
        let Some(values) = chunk_values(&unit.file, unit.row_group, leaf)? else { return Ok(None) };
        let Some(pages) = chunk_pages(&unit.file, unit.row_group, leaf)? else { return Ok(None) };
        let groups = [unit.row_group];
        let bounds = guarded("the column index", || {
            let converter = stored.converter(&unit.file)?;
            let mins = converter.data_page_mins(&values, &groups)?;
            let maxes = converter.data_page_maxes(&values, &groups)?;
            Ok((mins, maxes, converter.data_page_null_counts(&values, &groups)?))
        });
        let Ok((mins, maxes, null_counts)) = bounds else { return Ok(None) };
        let count = pages.pages.len();
        if [mins.len(), maxes.len(), null_counts.len()] != [count; 3] {
            return Ok(None);
        }
        let (Some(mins), Some(maxes)) = (widened(column, mins), widened(column, maxes)) else {
            return Ok(None);
        };
        let of_chunk = group_statistics(unit).bounds(column);
        if !trust::cover_chunk(&mins, &maxes, &null_counts, &of_chunk) {
            return Ok(None);
        }
        let mut kept: Vec<Range<u64>> = Vec::new();
        for (number, page) in pages.pages.iter().enumerate() {
            let bounds = Bounds {
                min: Value::from_array(&mins, number),
                max: Value::from_array(&maxes, number),
                null_count: stored.null_count(&null_counts, number),
            };
            let statistics = OneColumn { rows: page.rows.end - page.rows.start, column, bounds };
            if page.rows.is_empty() || !keeps(&statistics) {
                continue;
            }
            match kept.last_mut() {
                Some(last) if last.end == page.rows.start => last.end = page.rows.end,
                _ => kept.push(page.rows.clone()),
            }
        }
        Ok(Some(kept))
    }

    /// Why the bloom filters of a unit exclude it.
    fn excluded_by_bloom_filter(&self, unit: &RowGroupUnit, predicate: &Predicate) -> Result<Option<String>> {
        for (column, values) in predicate.equalities() {
            let Some(stored) = StoredColumn::find(&unit.file, &column) else { continue };
            let leaf = stored.leaf;
            let group = unit.file.metadata().row_group(unit.row_group);
            if unit.file.may_move(group, leaf) {
                continue;
            }
            let chunk = group.column(leaf);
            let length = chunk.bloom_filter_length().map_or(0, |length| usize::try_from(length).unwrap_or(usize::MAX));
            if chunk.bloom_filter_offset().is_none() || length > BLOOM_BYTES_AT_MOST {
                continue;
            }
            let data_type = stored.field.data_type();
            // A value of the table's type equals that of the file's if both have the same scale.
            let table_type = &column.data_type;
            if data_type != table_type
                && !(data_type.is_integer() && table_type.is_integer())
                && !(data_type.is_floating() && table_type.is_floating())
            {
                continue;
            }
            let stored: Option<Vec<StoredValue>> =
                values.iter().map(|value| StoredValue::from_value(value, chunk.column_type(), data_type)).collect();
            let Some(stored) = stored else { continue };
            let reader = ObjectBytes { object: &unit.file.object, size: unit.file.size_bytes };
            let filter = guarded("the bloom filter", || Sbbf::read_from_column_chunk(chunk, &reader));
            // A damaged filter excludes nothing.
            let Ok(Some(filter)) = filter else { continue };
            if filter.num_blocks() > 0 && !stored.iter().any(|value| value.is_in(&filter)) {
                return Ok(Some(format!("bloom filter: {} has none of the values", column.name())));
            }
        }
        Ok(None)
    }
}

/// The footer's statistics of a unit's values.
pub(super) fn group_statistics(unit: &RowGroupUnit) -> impl ColumnStatistics + use<'_> {
    GroupStatistics { file: &unit.file, group: unit.file.metadata().row_group(unit.row_group) }
}

/// The footer's bounds of a column in a row group.
pub(super) fn group_bounds(file: &FileMeta, group: &RowGroupMetaData, column: &ColumnRef) -> Bounds {
    GroupStatistics { file, group }.bounds(column)
}

/// A column of a file with one value for each row: a root column, or a field of structs.
pub(super) struct StoredColumn {
    /// Its number among the leaves of the file.
    pub leaf: usize,
    field: FieldRef,
    is_root: bool,
}

impl StoredColumn {
    /// `None` for a column that is nested, missing in the file, or that has another name there.
    pub fn find(file: &FileMeta, column: &ColumnRef) -> Option<Self> {
        let (name, inner) = column.path.split_first()?;
        let root = file.schema().fields().iter().position(|field| field.name() == name)?;
        let mut field = &file.schema().fields()[root];
        let mut above = Vec::new();
        for name in inner {
            let DataType::Struct(members) = field.data_type() else { return None };
            above.push(field);
            field = members.iter().find(|member| member.name() == name)?;
        }
        if field.data_type().is_nested() {
            return None;
        }
        // The root column with this field alone.
        let alone = above.into_iter().rev().fold(Arc::clone(field), |inner, outer| {
            Arc::new(outer.as_ref().clone().with_data_type(DataType::Struct([inner].into())))
        });
        let [leaf] = file.leaves_of(root, &alone)[..] else { return None };
        let stored = file.metadata().file_metadata().schema_descr().column(leaf);
        let is_root = inner.is_empty();
        (is_root || (stored.max_rep_level() == 0 && stored.path().parts() == column.path)).then(|| Self {
            leaf,
            field: Arc::clone(field),
            is_root,
        })
    }

    fn converter<'a>(&'a self, file: &'a FileMeta) -> Result<StatisticsConverter<'a>, ParquetError> {
        let metadata = file.metadata().file_metadata();
        let converter = StatisticsConverter::from_column_index(self.leaf, &self.field, metadata.schema_descr())?;
        let orders = metadata.column_orders().map(Vec::as_slice);
        Ok(converter.with_missing_null_counts_as_zero(false).with_column_orders(orders))
    }

    /// A number of nulls. Whether those of a field count the nulls of the structs above it depends on the writer.
    fn null_count(&self, counts: &UInt64Array, number: usize) -> Option<u64> {
        (self.is_root && number < counts.len() && counts.is_valid(number)).then(|| counts.value(number))
    }
}

/// Statistics as the source's type, where a file's is narrower.
fn widened(column: &ColumnRef, array: ArrayRef) -> Option<ArrayRef> {
    if array.data_type() == &column.data_type { Some(array) } else { cast(&array, &column.data_type).ok() }
}

/// The rows that are in both lists of ranges.
pub(crate) fn intersect(left: &[Range<u64>], right: &[Range<u64>]) -> Vec<Range<u64>> {
    let (mut i, mut j) = (0, 0);
    let mut both = Vec::new();
    while let (Some(a), Some(b)) = (left.get(i), right.get(j)) {
        let range = a.start.max(b.start)..a.end.min(b.end);
        if !range.is_empty() {
            both.push(range);
        }
        if a.end < b.end { i += 1 } else { j += 1 }
    }
    both
}

/// The statistics of a row group.
struct GroupStatistics<'a> {
    file: &'a FileMeta,
    group: &'a RowGroupMetaData,
}

impl ColumnStatistics for GroupStatistics<'_> {
    fn row_count(&self) -> Option<u64> {
        u64::try_from(self.group.num_rows()).ok()
    }

    fn bounds(&self, column: &ColumnRef) -> Bounds {
        if column.path.first().is_some_and(|name| self.file.schema().field_with_name(name).is_err()) {
            if let Some(constants) = &self.file.constants
                && column.path.first().is_some_and(|name| constants.get(name).is_some())
            {
                return constants.bounds_of(column, self.row_count()).unwrap_or_default();
            }
            // The file does not have the column: it is null in all rows.
            return Bounds { null_count: self.row_count(), ..Bounds::default() };
        }
        let Some(stored) = StoredColumn::find(self.file, column) else { return Bounds::default() };
        let leaf = stored.leaf;
        let found = guarded("the statistics", || {
            let converter = stored.converter(self.file)?;
            let mins = converter.row_group_mins([self.group])?;
            let maxes = converter.row_group_maxes([self.group])?;
            Ok((mins, maxes, converter.row_group_null_counts([self.group])?))
        });
        let Ok((mins, maxes, null_counts)) = found else { return Bounds::default() };
        let bound = |array| {
            let array = widened(column, array)?;
            Value::from_array(&array, 0)
        };
        let trusted =
            trust::of_chunk(self.file, leaf, self.group.column(leaf)) && !self.file.may_move(self.group, leaf);
        let null_count = stored.null_count(&null_counts, 0);
        let bound = |array| bound(array).filter(|_| trusted);
        Bounds { min: bound(mins), max: bound(maxes), null_count }.plausible(self.row_count())
    }
}

/// The statistics of one page.
struct OneColumn<'a> {
    rows: u64,
    column: &'a ColumnRef,
    bounds: Bounds,
}

impl ColumnStatistics for OneColumn<'_> {
    fn row_count(&self) -> Option<u64> {
        Some(self.rows)
    }

    fn bounds(&self, column: &ColumnRef) -> Bounds {
        if column.path == self.column.path { self.bounds.clone() } else { Bounds::default() }
    }

    fn label(&self) -> &str {
        "page statistics"
    }
}

/// A value as a column chunk stores it.
enum StoredValue {
    Int32(i32),
    Int64(i64),
    Float(f32),
    Double(f64),
    Bytes(Vec<u8>),
    /// The chunk's type can't hold it.
    Nowhere,
}

impl StoredValue {
    /// `None` if the form in which the chunk stores it is unknown.
    fn from_value(value: &Value, physical: Physical, data_type: &DataType) -> Option<Self> {
        use DataType as T;
        Some(match (physical, data_type, value) {
            (Physical::INT32, T::UInt8 | T::UInt16 | T::UInt32, Value::Integer(v)) => match v.to_i128() {
                Some(v) => u32::try_from(v).map_or(Self::Nowhere, |v| Self::Int32(v as i32)),
                None => Self::Nowhere,
            },
            (
                Physical::INT32,
                T::Int8
                | T::Int16
                | T::Int32
                | T::Date32
                | T::Time32(_)
                | T::Decimal32(..)
                | T::Decimal64(..)
                | T::Decimal128(..),
                Value::Integer(v),
            ) => v.to_i128().and_then(|v| i32::try_from(v).ok()).map_or(Self::Nowhere, Self::Int32),
            (Physical::INT64, T::UInt64, Value::Integer(v)) => {
                v.to_i128().and_then(|v| u64::try_from(v).ok()).map_or(Self::Nowhere, |v| Self::Int64(v as i64))
            }
            (
                Physical::INT64,
                T::Int64 | T::Time64(_) | T::Timestamp(..) | T::Decimal32(..) | T::Decimal64(..) | T::Decimal128(..),
                Value::Integer(v),
            ) => v.to_i128().and_then(|v| i64::try_from(v).ok()).map_or(Self::Nowhere, Self::Int64),
            (Physical::FLOAT, T::Float32, Value::Float(v)) => {
                if f64::from(*v as f32) == *v {
                    Self::Float(*v as f32)
                } else {
                    Self::Nowhere
                }
            }
            (Physical::DOUBLE, T::Float64, Value::Float(v)) => Self::Double(*v),
            (Physical::BYTE_ARRAY, T::Utf8View | T::BinaryView, Value::Bytes(bytes)) => Self::Bytes(bytes.clone()),
            (Physical::FIXED_LEN_BYTE_ARRAY, T::FixedSizeBinary(_), Value::Bytes(bytes)) => Self::Bytes(bytes.clone()),
            _ => return None,
        })
    }

    fn is_in(&self, filter: &Sbbf) -> bool {
        match self {
            Self::Int32(v) => filter.check(v),
            Self::Int64(v) => filter.check(v),
            Self::Float(v) => filter.check(v),
            Self::Double(v) => filter.check(v),
            Self::Bytes(v) => filter.check(v.as_slice()),
            Self::Nowhere => false,
        }
    }
}

/// An object as the parquet crate reads bloom filters from it.
struct ObjectBytes<'a> {
    object: &'a Object,
    size: u64,
}

impl Length for ObjectBytes<'_> {
    fn len(&self) -> u64 {
        self.size
    }
}

impl ChunkReader for ObjectBytes<'_> {
    type T = bytes::buf::Reader<Bytes>;

    fn get_read(&self, start: u64) -> Result<Self::T, ParquetError> {
        let length = self.size.saturating_sub(start).min(4096) as usize;
        Ok(self.get_bytes(start, length)?.reader())
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes, ParquetError> {
        let end = start.checked_add(length as u64).filter(|end| *end <= self.size && length <= BLOOM_BYTES_AT_MOST);
        let end = end.ok_or_else(|| ParquetError::EOF(format!("{length} bytes at {start} are too many")))?;
        self.object.read_range(start..end).map_err(|error| ParquetError::External(Box::new(error)))
    }
}
