//! Arrow types as Delta knows them.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::datatypes::{DataType, Field, FieldRef, Fields, Schema, TimeUnit};
use lakerace_format::schema_text::print_type;
use lakerace_io::option::COLUMNS;
use lakerace_io::{Error, Result};

use super::strict::{pair, refuse_same_names};

/// The schema of a table for batches of this one: each type becomes the Delta type that holds all of its values, and
/// everything is nullable. A type without such a one is an error that names the column. Columns of nulls alone have the
/// types of `known`, the columns of a table that exists.
pub(crate) fn table_types(schema: &Schema, known: Option<&Fields>) -> Result<Schema> {
    refuse_same_names(schema)?;
    let fields = schema.fields().iter().map(|field| table_field(field, known)).collect::<Result<Vec<FieldRef>>>()?;
    Ok(Schema::new(fields))
}

fn table_field(field: &Field, known: Option<&Fields>) -> Result<FieldRef> {
    let known = known.and_then(|known| known.find(field.name())).map(|(_, known)| known.data_type());
    let data_type =
        table_type(field.data_type(), known).map_err(|error| error.at(format!("column {:?}", field.name())))?;
    let kept = field.metadata().iter().filter(|(key, _)| DESCRIBING.contains(&key.as_str()));
    let metadata: HashMap<_, _> = kept.map(|(key, value)| (key.clone(), value.clone())).collect();
    Ok(Arc::new(Field::new(field.name(), data_type, true).with_metadata(metadata)))
}

/// The metadata of columns that a new table keeps: comments, and the type `CHAR(n)` or `VARCHAR(n)` by which Spark
/// identifies a text.
pub(crate) const DESCRIBING: [&str; 2] = ["comment", "__CHAR_VARCHAR_TYPE_STRING"];

/// The type of a table that holds all values of this one. `known`, the type of an existing column, is used for columns
/// of nulls.
pub(crate) fn table_type(data_type: &DataType, known: Option<&DataType>) -> Result<DataType> {
    use DataType as T;
    Ok(match data_type {
        T::Boolean | T::Int8 | T::Int16 | T::Int32 | T::Int64 | T::Float32 | T::Float64 | T::Date32 => {
            data_type.clone()
        }
        T::UInt8 => T::Int16,
        T::UInt16 => T::Int32,
        T::UInt32 => T::Int64,
        T::UInt64 => T::Decimal128(20, 0),
        T::Float16 => T::Float32,
        T::Date64 => T::Date32,
        T::Utf8 | T::LargeUtf8 | T::Utf8View => T::Utf8,
        T::Binary | T::LargeBinary | T::BinaryView | T::FixedSizeBinary(_) => T::Binary,
        T::Timestamp(_, zone) => T::Timestamp(TimeUnit::Microsecond, zone.as_ref().map(|_| "UTC".into())),
        T::Decimal32(precision, scale) | T::Decimal64(precision, scale) | T::Decimal128(precision, scale)
            if *scale >= 0 =>
        {
            T::Decimal128(*precision, *scale)
        }
        T::Decimal256(precision, scale) if *precision <= 38 && *scale >= 0 => T::Decimal128(*precision, *scale),
        T::Dictionary(_, value) => table_type(value, known)?,
        T::List(item) | T::LargeList(item) | T::FixedSizeList(item, _) | T::ListView(item) | T::LargeListView(item) => {
            let known = match known {
                Some(T::List(known)) => Some(known.data_type()),
                _ => None,
            };
            T::List(Arc::new(Field::new("element", table_type(item.data_type(), known)?, true)))
        }
        T::Struct(fields) if fields.is_empty() => {
            return Err(Error::unsupported("Delta tables have no type for a struct without fields")
                .advice(format!("exclude it with {COLUMNS}")));
        }
        T::Struct(fields) => {
            let known = match known {
                Some(T::Struct(known)) => Some(known),
                _ => None,
            };
            T::Struct(fields.iter().map(|field| table_field(field, known)).collect::<Result<_>>()?)
        }
        T::Map(entries, _) => map_type(entries, known)?,
        T::Null => {
            if let Some(known) = known {
                return Ok(known.clone());
            }
            return Err(Error::unsupported("a column of only nulls has no type")
                .advice(format!("cast it to the intended type, or exclude it with {COLUMNS}")));
        }
        other => {
            return Err(Error::unsupported(format!("Delta tables have no type for {}", print_type(other)))
                .advice(format!("cast the column, or exclude it with {COLUMNS}")));
        }
    })
}

fn map_type(entries: &Field, known: Option<&DataType>) -> Result<DataType> {
    let DataType::Struct(fields) = entries.data_type() else {
        return Err(Error::invalid("a map whose entries are not structs"));
    };
    let [key, value] = fields.as_ref() else {
        return Err(Error::invalid("a map whose entries are not pairs"));
    };
    let known = match known {
        Some(DataType::Map(known, _)) => pair(known),
        _ => None,
    };
    let key = Field::new("key", table_type(key.data_type(), known.map(|[key, _]| key.data_type()))?, false);
    let known_value = known.map(|[_, value]| value.data_type());
    let value = Field::new("value", table_type(value.data_type(), known_value)?, true);
    let entries = Field::new("key_value", DataType::Struct(vec![key, value].into()), false);
    Ok(DataType::Map(Arc::new(entries), false))
}
