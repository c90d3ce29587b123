//! The Arrow types that columns are decoded to.

use std::sync::Arc;

use arrow::datatypes::{DataType, FieldRef, Schema, SchemaRef, TimeUnit};
use parquet::basic::Type;
use parquet::schema::types::SchemaDescriptor;

use crate::parts::leaf_count;

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

/// The schema with timestamps of 96 bits as microseconds in this time zone, at every level.
pub(crate) fn with_int96_micros(schema: &Schema, stored: &SchemaDescriptor, zone: Option<Arc<str>>) -> SchemaRef {
    int96_micros(schema, stored, &DataType::Timestamp(TimeUnit::Microsecond, zone), |_| true)
}

/// The schema with those timestamps of 96 bits as microseconds that stand in other columns.
pub(crate) fn with_nested_int96_micros(schema: &Schema, stored: &SchemaDescriptor) -> SchemaRef {
    int96_micros(schema, stored, &DataType::Timestamp(TimeUnit::Microsecond, None), DataType::is_nested)
}

fn int96_micros(
    schema: &Schema,
    stored: &SchemaDescriptor,
    to: &DataType,
    which: impl Fn(&DataType) -> bool,
) -> SchemaRef {
    let mut next = 0;
    let fields = schema.fields().iter().map(|field| {
        if which(field.data_type()) {
            return int96_as(field, stored, to, &mut next);
        }
        next += leaf_count(field.data_type());
        Arc::clone(field)
    });
    Arc::new(Schema::new_with_metadata(fields.collect::<Vec<FieldRef>>(), schema.metadata().clone()))
}

fn int96_as(field: &FieldRef, stored: &SchemaDescriptor, to: &DataType, leaf: &mut usize) -> FieldRef {
    use DataType as T;
    let mut below = |field: &FieldRef| int96_as(field, stored, to, leaf);
    let data_type = match field.data_type() {
        T::Struct(fields) => T::Struct(fields.iter().map(below).collect()),
        T::List(field) => T::List(below(field)),
        T::LargeList(field) => T::LargeList(below(field)),
        T::ListView(field) => T::ListView(below(field)),
        T::LargeListView(field) => T::LargeListView(below(field)),
        T::FixedSizeList(field, length) => T::FixedSizeList(below(field), *length),
        T::Map(entries, sorted) => T::Map(below(entries), *sorted),
        flat => {
            let number = std::mem::replace(leaf, *leaf + 1);
            let is_int96 = number < stored.num_columns() && stored.column(number).physical_type() == Type::INT96;
            if is_int96 { to.clone() } else { flat.clone() }
        }
    };
    Arc::new(field.as_ref().clone().with_data_type(data_type))
}
