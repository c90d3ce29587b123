//! Root strings as views.

use std::sync::Arc;

use arrow::datatypes::{DataType, FieldRef, Schema, SchemaRef};

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
