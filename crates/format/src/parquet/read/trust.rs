//! Checks of the bounds of a file: some writers' bounds are wrong.
//!
//! Sources: parquet-format, `parquet.thrift` (`Statistics`, `ColumnOrder`); PARQUET-251, PARQUET-686, PARQUET-1655.

use arrow::array::{Array, ArrayRef, UInt64Array};
use parquet::basic::{ColumnOrder, ConvertedType, LogicalType, SortOrder, Type as Physical};
use parquet::file::metadata::ColumnChunkMetaData;
use parquet::file::statistics::Statistics;
use parquet::schema::types::ColumnDescriptor;

use crate::parquet::footer::FileMeta;
use crate::predicate::{Bounds, Value};

/// Returns true if the bounds of a column are in the order of its type.
///
/// Without an order, and in the fields that preceded it, writers compared signed numbers: the bounds of unsigned ones
/// and of bytes do not apply. Decimals in byte arrays of any length were compared byte by byte.
pub(crate) fn of_column(file: &FileMeta, leaf: usize) -> bool {
    let metadata = file.metadata().file_metadata();
    let column = metadata.schema_descr().column(leaf);
    let order = metadata.column_orders().and_then(|orders| orders.get(leaf));
    let is_decimal = matches!(column.logical_type_ref(), Some(LogicalType::Decimal { .. }))
        || column.converted_type() == ConvertedType::DECIMAL;
    match order {
        Some(ColumnOrder::UNKNOWN) => false,
        None | Some(ColumnOrder::UNDEFINED) => is_signed_number(&column),
        Some(_) => !(is_decimal && column.physical_type() == Physical::BYTE_ARRAY),
    }
}

/// Returns true if the bounds of a column chunk are in the order of its type, and as long as its values.
pub(crate) fn of_chunk(file: &FileMeta, leaf: usize, chunk: &ColumnChunkMetaData) -> bool {
    let Some(statistics) = chunk.statistics() else { return false };
    let column = chunk.column_descr();
    if statistics.is_min_max_deprecated() {
        return is_signed_number(column);
    }
    let has_length = match (statistics, usize::try_from(column.type_length())) {
        (Statistics::FixedLenByteArray(bounds), Ok(length)) if !is_cut(column) => {
            [bounds.min_opt(), bounds.max_opt()].into_iter().flatten().all(|bound| bound.len() == length)
        }
        _ => true,
    };
    has_length && of_column(file, leaf)
}

/// Numbers of 32 and 64 bits that are compared as signed ones.
fn is_signed_number(column: &ColumnDescriptor) -> bool {
    let is_number = matches!(
        column.physical_type(),
        Physical::BOOLEAN | Physical::INT32 | Physical::INT64 | Physical::FLOAT | Physical::DOUBLE
    );
    is_number && (column.sort_order() == SortOrder::SIGNED || column.physical_type() == Physical::BOOLEAN)
}

/// Bytes without a meaning, whose bounds may be shorter than they.
fn is_cut(column: &ColumnDescriptor) -> bool {
    column.logical_type_ref().is_none() && column.converted_type() == ConvertedType::NONE
}

/// Returns true if the bounds of the pages of a chunk reach as far as those of the chunk, and their nulls are as many.
/// Otherwise the page index belongs to other pages. Only bounds of numbers are known to be exact.
pub(crate) fn cover_chunk(mins: &ArrayRef, maxes: &ArrayRef, nulls: &UInt64Array, chunk: &Bounds) -> bool {
    let values = |array: &ArrayRef| -> Option<Vec<Value>> {
        let all = (0..array.len()).map(|page| Value::from_array(array, page));
        let known: Vec<Value> = all.flatten().filter(|value| matches!(value, Value::Integer(_))).collect();
        (!known.is_empty()).then_some(known)
    };
    let reaches = |array: &ArrayRef, bound: &Option<Value>, wrong| match (bound, values(array)) {
        (Some(bound @ Value::Integer(_)), Some(values)) => {
            values.iter().any(|value| value.compare(bound).is_some_and(|order| order != wrong))
        }
        _ => true,
    };
    let counted = nulls.null_count() == 0 && chunk.null_count.is_some();
    let same_nulls = !counted || Some(nulls.values().iter().sum::<u64>()) == chunk.null_count;
    same_nulls
        && reaches(mins, &chunk.min, std::cmp::Ordering::Greater)
        && reaches(maxes, &chunk.max, std::cmp::Ordering::Less)
}
