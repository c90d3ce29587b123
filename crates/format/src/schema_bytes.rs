//! Arrow schemas as bytes: IPC's Schema table, which keeps every type and all metadata.

use arrow::datatypes::Schema;
use arrow::error::ArrowError;
use arrow::ipc::convert::{IpcSchemaEncoder, try_fb_to_schema};
use arrow::ipc::root_as_schema;
use arrow::ipc::writer::DictionaryTracker;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use crate::impossible_types::ImpossibleType;

/// The bytes of a schema.
pub fn encode_schema(schema: &Schema) -> Vec<u8> {
    // Without a tracker, a column of a dictionary is a panic.
    let mut tracker = DictionaryTracker::new(false);
    IpcSchemaEncoder::new().with_dictionary_tracker(&mut tracker).schema_to_fb(schema).finished_data().to_vec()
}

/// The schema of such bytes; an error if they are invalid.
pub fn decode_schema(bytes: &[u8]) -> Result<Schema, ArrowError> {
    let root = root_as_schema(bytes).map_err(|e| ArrowError::ParseError(e.to_string()))?;
    let schema = try_fb_to_schema(root)?;
    match ImpossibleType::find(&schema) {
        Some(found) => Err(ArrowError::SchemaError(found.to_string())),
        None => Ok(schema),
    }
}

/// The bytes of a schema as base64.
///
/// ```
/// use arrow::datatypes::{DataType, Field, Schema};
/// use lakerace_format::{schema_from_base64, schema_to_base64};
/// let schema = Schema::new(vec![Field::new_dictionary("kind", DataType::Int32, DataType::Utf8, true)]);
/// assert_eq!(schema_from_base64(&schema_to_base64(&schema)).unwrap(), schema);
/// ```
pub fn schema_to_base64(schema: &Schema) -> String {
    STANDARD.encode(encode_schema(schema))
}

/// The schema of such a text; an error if it is invalid.
pub fn schema_from_base64(text: &str) -> Result<Schema, ArrowError> {
    decode_schema(&STANDARD.decode(text).map_err(|e| ArrowError::ParseError(e.to_string()))?)
}
