//! The Arrow types that columns are decoded to.

use std::sync::Arc;

use arrow::datatypes::{DataType, FieldRef, Schema, SchemaRef, TimeUnit};
use parquet::basic::Type;
use parquet::schema::types::SchemaDescriptor;

/// The schema with root strings and bytes as views and without root dictionaries; `None` where that changes nothing.
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

/// The schema with timestamps of 96 bits as microseconds in UTC, at every level.
pub(crate) fn with_int96_micros(schema: &Schema, stored: &SchemaDescriptor) -> SchemaRef {
    let mut leaf = 0;
    let fields: Vec<FieldRef> = schema.fields().iter().map(|field| int96_micros(field, stored, &mut leaf)).collect();
    Arc::new(Schema::new(fields))
}

fn int96_micros(field: &FieldRef, stored: &SchemaDescriptor, leaf: &mut usize) -> FieldRef {
    let data_type = match field.data_type() {
        DataType::Struct(fields) => {
            DataType::Struct(fields.iter().map(|field| int96_micros(field, stored, leaf)).collect())
        }
        DataType::List(field) => DataType::List(int96_micros(field, stored, leaf)),
        DataType::Map(entries, sorted) => DataType::Map(int96_micros(entries, stored, leaf), *sorted),
        flat => {
            let number = std::mem::replace(leaf, *leaf + 1);
            let is_int96 = number < stored.num_columns() && stored.column(number).physical_type() == Type::INT96;
            if is_int96 { DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into())) } else { flat.clone() }
        }
    };
    Arc::new(field.as_ref().clone().with_data_type(data_type))
}
