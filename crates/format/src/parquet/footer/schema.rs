//! The Arrow types that columns are decoded to.

use std::cell::RefCell;
use std::sync::Arc;

use arrow::datatypes::{DataType, FieldRef, Fields, IntervalUnit, Schema, SchemaRef};
use parquet::arrow::ARROW_SCHEMA_META_KEY;
use parquet::basic::{ConvertedType, Type};
use parquet::file::metadata::{ParquetMetaData, RowGroupMetaData};
use parquet::schema::types::SchemaDescriptor;

use crate::nested_types::map_inner_fields;

/// The schema with root strings and bytes as views and without root dictionaries; `None` if nothing changes.
pub(crate) fn with_root_views(schema: &Schema) -> Option<SchemaRef> {
    let mut changed = false;
    let fields: Vec<FieldRef> = schema
        .fields()
        .iter()
        .map(|field| match view_type(field.data_type()) {
            None => Arc::clone(field),
            Some(data_type) => {
                changed = true;
                Arc::new(field.as_ref().clone().with_data_type(data_type))
            }
        })
        .collect();
    changed.then(|| Arc::new(Schema::new_with_metadata(fields, schema.metadata().clone())))
}

fn view_type(data_type: &DataType) -> Option<DataType> {
    match data_type {
        DataType::Utf8 | DataType::LargeUtf8 => Some(DataType::Utf8View),
        DataType::Binary | DataType::LargeBinary => Some(DataType::BinaryView),
        DataType::Dictionary(_, value) => Some(view_type(value).unwrap_or_else(|| value.as_ref().clone())),
        _ => None,
    }
}

/// The schema with other types for timestamps of 96 bits, at every level.
pub(crate) fn with_int96(schema: &Schema, stored: &SchemaDescriptor, to: &dyn Fn(&DataType) -> DataType) -> SchemaRef {
    with_leaves(schema, &|leaf, known| if is_int96(stored, leaf) { to(known) } else { known.clone() })
}

/// Returns true if a leaf column has timestamps of 96 bits.
pub(crate) fn is_int96(stored: &SchemaDescriptor, leaf: usize) -> bool {
    leaf < stored.num_columns() && stored.column(leaf).physical_type() == Type::INT96
}

/// The schema with texts as values of enumerations, which the parquet crate takes for bytes.
pub(crate) fn with_enum_texts(schema: &SchemaRef, stored: &SchemaDescriptor) -> SchemaRef {
    let is_enum =
        |leaf: usize| stored.columns().get(leaf).is_some_and(|column| column.converted_type() == ConvertedType::ENUM);
    if !(0..stored.num_columns()).any(is_enum) {
        return Arc::clone(schema);
    }
    with_leaves(schema, &|leaf, known| match known {
        DataType::Binary if is_enum(leaf) => DataType::Utf8,
        _ => known.clone(),
    })
}

/// The schema with months in intervals of root columns. Without a hint of its writer, the parquet crate takes an interval for one of
/// days and milliseconds, and drops its months.
pub(crate) fn with_months(schema: &SchemaRef, metadata: &ParquetMetaData) -> SchemaRef {
    let is_days = |field: &FieldRef| *field.data_type() == DataType::Interval(IntervalUnit::DayTime);
    if is_hinted(metadata) || !schema.fields().iter().any(is_days) {
        return Arc::clone(schema);
    }
    let whole = |field: &FieldRef| match is_days(field) {
        true => Arc::new(field.as_ref().clone().with_data_type(DataType::Interval(IntervalUnit::MonthDayNano))),
        false => Arc::clone(field),
    };
    Arc::new(Schema::new_with_metadata(
        schema.fields().iter().map(whole).collect::<Fields>(),
        schema.metadata().clone(),
    ))
}

/// Returns true if the file contains the writer's Arrow schema.
pub(crate) fn is_hinted(metadata: &ParquetMetaData) -> bool {
    let pairs = metadata.file_metadata().key_value_metadata();
    pairs.is_some_and(|pairs| pairs.iter().any(|pair| pair.key == ARROW_SCHEMA_META_KEY))
}

/// Bytes of a column chunk from which on its texts may be too many for offsets of 32 bits.
const LARGE_CHUNK_BYTES: i64 = 1 << 30;

/// The schema with 64-bit offsets for texts and bytes within other columns, if a row group has so many bytes of them
/// that 32 bits may be too few for a batch. Root columns are views and have no such limit.
pub(crate) fn with_large_texts(schema: &SchemaRef, metadata: &ParquetMetaData) -> SchemaRef {
    let groups = metadata.row_groups();
    let is_large = |leaf: usize| {
        let chunk_bytes = |group: &RowGroupMetaData| group.columns().get(leaf).map(|c| c.uncompressed_size());
        groups.iter().filter_map(chunk_bytes).any(|bytes| bytes >= LARGE_CHUNK_BYTES)
    };
    let leaves = metadata.file_metadata().schema_descr().num_columns();
    if !(0..leaves).any(is_large) {
        return Arc::clone(schema);
    }
    with_leaves(schema, &|leaf, known| match known {
        DataType::Utf8 if is_large(leaf) => DataType::LargeUtf8,
        DataType::Binary if is_large(leaf) => DataType::LargeBinary,
        _ => known.clone(),
    })
}

/// The types of the leaf columns of a column.
pub(crate) fn leaf_types(field: &FieldRef) -> Vec<DataType> {
    leaf_fields(field).iter().map(|leaf| leaf.data_type().clone()).collect()
}

/// The fields of the leaf columns of a column.
pub(crate) fn leaf_fields(field: &FieldRef) -> Vec<FieldRef> {
    let fields = RefCell::new(Vec::new());
    let note = |_, known: &FieldRef| {
        fields.borrow_mut().push(Arc::clone(known));
        Arc::clone(known)
    };
    with_leaves_of(field, &mut 0, &note);
    fields.into_inner()
}

/// The schema with other types for its leaf columns, each by its number and its type.
fn with_leaves(schema: &Schema, to: &dyn Fn(usize, &DataType) -> DataType) -> SchemaRef {
    let typed = |leaf, field: &FieldRef| -> FieldRef {
        Arc::new(field.as_ref().clone().with_data_type(to(leaf, field.data_type())))
    };
    with_leaf_fields(schema, &typed)
}

/// The schema with other fields for its leaf columns, each by its number.
pub(in crate::parquet) fn with_leaf_fields(schema: &Schema, to: &dyn Fn(usize, &FieldRef) -> FieldRef) -> SchemaRef {
    let mut next = 0;
    let fields: Vec<FieldRef> = schema.fields().iter().map(|field| with_leaves_of(field, &mut next, to)).collect();
    Arc::new(Schema::new_with_metadata(fields, schema.metadata().clone()))
}

fn with_leaves_of(field: &FieldRef, next: &mut usize, to: &dyn Fn(usize, &FieldRef) -> FieldRef) -> FieldRef {
    match map_inner_fields(field.data_type(), |inner| with_leaves_of(inner, next, to)) {
        Some(data_type) => Arc::new(field.as_ref().clone().with_data_type(data_type)),
        None => to(std::mem::replace(next, *next + 1), field),
    }
}

#[cfg(test)]
mod tests;
