//! Arrow's extension types of columns, as the metadata of their fields: UUIDs and JSON.

use std::sync::Arc;

use arrow::datatypes::{DataType, Field, FieldRef, Fields, Schema, SchemaRef};

use crate::nested_types::map_inner_fields;

/// The key of an extension type's name.
pub const EXTENSION_NAME: &str = "ARROW:extension:name";
/// The name of UUIDs, which have 16 bytes.
pub const UUID_EXTENSION: &str = "arrow.uuid";
/// The key of an extension type's parameters.
const PARAMETERS: &str = "ARROW:extension:metadata";
const JSON: &str = "arrow.json";

/// Returns true if the values of a field are UUIDs.
pub fn is_uuid(field: &Field) -> bool {
    *field.data_type() == DataType::FixedSizeBinary(16) && field.extension_type_name() == Some(UUID_EXTENSION)
}

/// Returns true if the values of a field are UUIDs, or indices of a dictionary of UUIDs.
pub(crate) fn has_uuid_values(field: &Field) -> bool {
    match field.data_type() {
        DataType::Dictionary(_, values) => {
            **values == DataType::FixedSizeBinary(16) && field.extension_type_name() == Some(UUID_EXTENSION)
        }
        _ => is_uuid(field),
    }
}

/// Returns true if the values of a field are texts of JSON.
pub(crate) fn is_json(field: &Field) -> bool {
    let is_text = match field.data_type() {
        DataType::Dictionary(_, values) => values.is_string(),
        other => other.is_string(),
    };
    is_text && field.extension_type_name() == Some(JSON)
}

/// Declares the values of a field to be UUIDs.
pub(crate) fn mark_uuid(field: &mut Field) {
    field.metadata_mut().insert(EXTENSION_NAME.to_owned(), UUID_EXTENSION.to_owned());
}

/// Declares the values of a field to be texts of JSON.
pub(crate) fn mark_json(field: &mut Field) {
    field.metadata_mut().insert(EXTENSION_NAME.to_owned(), JSON.to_owned());
    field.metadata_mut().insert(PARAMETERS.to_owned(), String::new());
}

/// Keeps the extension type of a field that gets the values of `other`, too, if both have it. A column of nulls alone
/// takes the one of the other.
pub(crate) fn join_extension_types(field: &mut Field, other: &Field) {
    if *other.data_type() == DataType::Null || field.extension_type_name() == other.extension_type_name() {
        return;
    }
    let is_null = *field.data_type() == DataType::Null;
    for key in [EXTENSION_NAME, PARAMETERS] {
        match other.metadata().get(key).filter(|_| is_null) {
            Some(value) => field.metadata_mut().insert(key.to_owned(), value.clone()),
            None => field.metadata_mut().remove(key),
        };
    }
}

/// The schema for other libraries: JSON is text, also within columns. polars warns of columns of `arrow.json`, or reads
/// them as a type that has no functions of texts. pyarrow filters no such columns. UUIDs have no dictionary: other libraries
/// have the extension type on the values of a dictionary, where Arrow's fields here have none.
pub fn exported_schema(schema: &Schema) -> SchemaRef {
    let fields: Fields = schema.fields().iter().map(exported_field).collect();
    Arc::new(Schema::new_with_metadata(fields, schema.metadata().clone()))
}

fn exported_field(field: &FieldRef) -> FieldRef {
    let data_type = map_inner_fields(field.data_type(), exported_field).unwrap_or_else(|| field.data_type().clone());
    let mut exported = field.as_ref().clone().with_data_type(data_type);
    if is_json(field) {
        for key in [EXTENSION_NAME, PARAMETERS] {
            exported.metadata_mut().remove(key);
        }
    }
    if let DataType::Dictionary(_, values) = field.data_type()
        && has_uuid_values(field)
    {
        exported.set_data_type(values.as_ref().clone());
    }
    Arc::new(exported)
}

#[cfg(test)]
mod tests;
