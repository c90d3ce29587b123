//! Spark's types, in the JSON of its `DataType.json`, as Arrow's.

use std::collections::HashMap;

use arrow::datatypes::{DataType, Field, Schema, TimeUnit};
use lakerace::{Error, Result};
use serde_json::Value;

/// Spark's schema as Arrow's.
pub(crate) fn arrow_schema(text: &str) -> Result<Schema> {
    schema(text, false)
}

/// Makes the schema of a new table, whose fields have the texts of their metadata, such as comments.
pub(crate) fn arrow_schema_of_table(text: &str) -> Result<Schema> {
    schema(text, true)
}

fn schema(text: &str, has_metadata: bool) -> Result<Schema> {
    let value: Value = serde_json::from_str(text).map_err(|e| Error::internal("not a schema").because(e))?;
    match arrow_type(&value, has_metadata)? {
        DataType::Struct(fields) => Ok(Schema::new(fields)),
        other => Err(Error::internal(format!("a schema of type {other}"))),
    }
}

fn arrow_type(value: &Value, has_metadata: bool) -> Result<DataType> {
    let below = |part: &Value| arrow_type(part, has_metadata);
    if let Some(name) = value.as_str() {
        return arrow_simple(name);
    }
    let is_nullable = |name: &str| value[name].as_bool().unwrap_or(true);
    match value["type"].as_str() {
        Some("struct") => {
            let fields = value["fields"].as_array().map(Vec::as_slice).unwrap_or_default();
            let field = |field: &Value| {
                let name = field["name"].as_str().unwrap_or_default();
                let data_type = below(&field["type"]).map_err(|error| error.at(format!("column {name:?}")))?;
                let plain = Field::new(name, data_type, field["nullable"].as_bool().unwrap_or(true));
                Ok(plain.with_metadata(if has_metadata { texts(&field["metadata"]) } else { HashMap::new() }))
            };
            Ok(DataType::Struct(fields.iter().map(field).collect::<Result<Vec<_>>>()?.into()))
        }
        Some("array") => {
            let item = Field::new("element", below(&value["elementType"])?, is_nullable("containsNull"));
            Ok(DataType::List(item.into()))
        }
        Some("map") => {
            let key = Field::new("key", below(&value["keyType"])?, false);
            let item = Field::new("value", below(&value["valueType"])?, is_nullable("valueContainsNull"));
            let entries = DataType::Struct(vec![key, item].into());
            Ok(DataType::Map(Field::new("key_value", entries, false).into(), false))
        }
        _ => Err(unwritable(&value.to_string())),
    }
}

/// The texts of a field's metadata.
fn texts(metadata: &Value) -> HashMap<String, String> {
    let all = metadata.as_object().into_iter().flatten();
    all.filter_map(|(key, value)| Some((key.clone(), value.as_str()?.to_owned()))).collect()
}

fn arrow_simple(name: &str) -> Result<DataType> {
    Ok(match name {
        "boolean" => DataType::Boolean,
        "byte" => DataType::Int8,
        "short" => DataType::Int16,
        "integer" => DataType::Int32,
        "long" => DataType::Int64,
        "float" => DataType::Float32,
        "double" => DataType::Float64,
        "binary" => DataType::Binary,
        "date" => DataType::Date32,
        "timestamp" => DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into())),
        "timestamp_ntz" => DataType::Timestamp(TimeUnit::Microsecond, None),
        _ if name == "string" || name.starts_with("varchar(") || name.starts_with("char(") => DataType::Utf8,
        _ => decimal(name).ok_or_else(|| unwritable(name))?,
    })
}

/// `decimal(12,2)`.
fn decimal(name: &str) -> Option<DataType> {
    let (digits, scale) = name.strip_prefix("decimal(")?.strip_suffix(')')?.split_once(',')?;
    Some(DataType::Decimal128(digits.trim().parse().ok()?, scale.trim().parse().ok()?))
}

fn unwritable(name: &str) -> Error {
    Error::unsupported(format!("values of Spark's type {name} can't be written"))
        .advice("cast the column, or exclude it")
}

#[cfg(test)]
mod tests;
