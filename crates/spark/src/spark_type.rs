//! Arrow's types as Spark's, in the JSON of Spark's `DataType.json`.

use arrow::datatypes::{DataType, Field, Schema, TimeUnit};
use lakerace::{Error, Result, print_type};
use serde_json::{Map, Value, json};

use crate::call::UNIT;

/// The filters on a column that can be left to the engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FilterPushdown {
    /// All comparisons mean the same as in Spark.
    Exact,
    /// Only `IS NULL` and `IS NOT NULL`: Spark takes NaN as equal to itself and greater than all, and truncates
    /// nanoseconds.
    Nulls,
}

impl FilterPushdown {
    /// For a column of this type.
    pub(crate) fn for_type(data_type: &DataType) -> Self {
        match data_type {
            DataType::Dictionary(_, values) => Self::for_type(values),
            DataType::Timestamp(unit, _) if *unit != TimeUnit::Nanosecond => Self::Exact,
            DataType::Boolean
            | DataType::Utf8
            | DataType::LargeUtf8
            | DataType::Utf8View
            | DataType::Binary
            | DataType::LargeBinary
            | DataType::BinaryView
            | DataType::Date32 => Self::Exact,
            other if other.is_integer() || other.is_decimal() => Self::Exact,
            _ => Self::Nulls,
        }
    }

    /// As Java reads it.
    pub(crate) fn code(self) -> &'static str {
        match self {
            Self::Exact => "exact",
            Self::Nulls => "nulls",
        }
    }
}

/// A fitted schema as Spark's. A column that Spark has no type for is an error that names it.
pub(crate) fn spark_schema(schema: &Schema) -> Result<Value> {
    let fields = schema.fields().iter().map(|field| spark_field(field)).collect::<Result<Vec<_>>>()?;
    Ok(json!({"type": "struct", "fields": fields}))
}

fn spark_field(field: &Field) -> Result<Value> {
    let named = |error: Error| error.at(format!("column {:?}", field.name()));
    let spark = spark_type(field.data_type()).map_err(named)?;
    Ok(json!({"name": field.name(), "type": spark, "nullable": field.is_nullable(), "metadata": {}}))
}

/// A fitted schema as Spark's, with the metadata of a Delta table's columns by the text of its log.
pub(crate) fn spark_schema_of_table(schema: &Schema, text: &str) -> Result<Value> {
    let table =
        serde_json::from_str(text).map_err(|e| Error::corrupt("the table's schema can't be read").because(e))?;
    let mut schema = spark_schema(schema)?;
    add_metadata(&mut schema, &table);
    Ok(schema)
}

/// Adds the metadata of a Delta table's schema, which has the same form, to the fields of a schema.
fn add_metadata(schema: &mut Value, table: &Value) {
    if let (Some(fields), Some(known)) =
        (schema.get_mut("fields").and_then(Value::as_array_mut), table["fields"].as_array())
    {
        for field in fields {
            let Some(known) = known.iter().find(|known| known["name"] == field["name"]) else { continue };
            if let Some(metadata) = known["metadata"].as_object() {
                let kept = metadata.iter().filter(|(key, _)| is_for_spark(key));
                field["metadata"] = kept.map(|(key, value)| (key.clone(), value.clone())).collect::<Map<_, _>>().into();
            }
            add_metadata(&mut field["type"], &known["type"]);
        }
        return;
    }
    for part in ["elementType", "keyType", "valueType"] {
        if schema.get(part).is_some() {
            add_metadata(&mut schema[part], &table[part]);
        }
    }
}

/// Returns true if Spark gets the metadata of a field under this key: comments, the lengths of `CHAR` and `VARCHAR`,
/// defaults and keys of users, but neither Delta's own keys nor those that Spark derives itself.
fn is_for_spark(key: &str) -> bool {
    let is_own = ["delta.", "parquet.", "PARQUET:", "__"].iter().any(|prefix| key.starts_with(prefix));
    key == "__CHAR_VARCHAR_TYPE_STRING" || (key != "EXISTS_DEFAULT" && !is_own)
}

fn spark_type(data_type: &DataType) -> Result<Value> {
    let simple = |name: &str| Ok(Value::from(name));
    match data_type {
        DataType::Null => simple("void"),
        DataType::Boolean => simple("boolean"),
        DataType::Int8 => simple("byte"),
        DataType::Int16 | DataType::UInt8 => simple("short"),
        DataType::Int32 | DataType::UInt16 => simple("integer"),
        DataType::Int64 | DataType::UInt32 => simple("long"),
        DataType::Float32 => simple("float"),
        DataType::Float64 => simple("double"),
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => simple("string"),
        DataType::Binary | DataType::LargeBinary | DataType::BinaryView | DataType::FixedSizeBinary(_) => {
            simple("binary")
        }
        DataType::Date32 => simple("date"),
        DataType::Timestamp(_, Some(_)) => simple("timestamp"),
        DataType::Timestamp(_, None) => simple("timestamp_ntz"),
        DataType::Duration(_) => simple("interval day to second"),
        DataType::Decimal32(digits, scale)
        | DataType::Decimal64(digits, scale)
        | DataType::Decimal128(digits, scale) => Ok(format!("decimal({digits},{scale})").into()),
        DataType::Dictionary(_, values) => spark_type(values),
        DataType::List(item) | DataType::LargeList(item) | DataType::FixedSizeList(item, _) => {
            let element = spark_type(item.data_type())?;
            Ok(json!({"type": "array", "elementType": element, "containsNull": item.is_nullable()}))
        }
        DataType::Struct(fields) => {
            let fields = fields.iter().map(|field| spark_field(field)).collect::<Result<Vec<_>>>()?;
            Ok(json!({"type": "struct", "fields": fields}))
        }
        DataType::Map(entries, _) => {
            let DataType::Struct(fields) = entries.data_type() else { return Err(foreign(data_type)) };
            let [key, value] = fields.as_ref() else { return Err(foreign(data_type)) };
            let (key, nulls) = (spark_type(key.data_type())?, value.is_nullable());
            let value = spark_type(value.data_type())?;
            Ok(json!({"type": "map", "keyType": key, "valueType": value, "valueContainsNull": nulls}))
        }
        other => Err(foreign(other)),
    }
}

fn foreign(data_type: &DataType) -> Error {
    Error::unsupported(format!("Spark has no type for {}", print_type(data_type)))
        .advice("exclude the column: option(\"columns\", \"a,b\") names those to read")
}

/// The filters that each column supports.
pub(crate) fn filtering(schema: &Schema) -> String {
    let codes = schema.fields().iter().map(|field| FilterPushdown::for_type(field.data_type()).code());
    codes.collect::<Vec<_>>().join(&UNIT.to_string())
}

#[cfg(test)]
mod tests;
