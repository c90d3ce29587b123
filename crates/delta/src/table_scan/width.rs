//! Approximate bytes of a value by its type, for use where no footer states them.

use arrow::datatypes::DataType;

/// Bytes of a text; the number that Spark takes, too.
const TEXT_BYTES: u64 = 20;

/// Bytes of a value of a type.
pub(super) fn width(data_type: &DataType) -> u64 {
    match data_type {
        DataType::Struct(fields) => fields.iter().map(|field| width(field.data_type())).sum::<u64>().max(1),
        DataType::List(item) | DataType::Map(item, _) => width(item.data_type()),
        DataType::FixedSizeBinary(bytes) => u64::try_from(*bytes).unwrap_or(1).max(1),
        DataType::Boolean | DataType::Null => 1,
        other => other.primitive_width().map_or(TEXT_BYTES, |bytes| bytes as u64),
    }
}
