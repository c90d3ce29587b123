//! The types of Arrow that can be written, and their types in ORC.

use std::sync::Arc;

use arrow::datatypes::{DataType, Field, FieldRef, Fields, Schema};

use crate::error::{Error, Result};
use crate::schema::MAX_DECIMAL_PRECISION;

/// The schema with every type replaced by the one that ORC holds its values in.
///
/// # Errors
/// Unsupported for types without an equivalent in ORC; the place names the column, the message the type to cast it to.
pub(crate) fn stored_schema(schema: &Schema) -> Result<Schema> {
    Ok(Schema::new(stored_fields(schema.fields(), "")?))
}

fn stored_fields(fields: &Fields, path: &str) -> Result<Fields> {
    fields.iter().map(|field| stored_field(field, &format!("{path}{}", field.name()))).collect()
}

fn stored_field(field: &FieldRef, path: &str) -> Result<FieldRef> {
    let data_type = stored_type(field.data_type(), path)?;
    Ok(Arc::new(Field::new(field.name(), data_type, field.is_nullable())))
}

fn stored_type(data_type: &DataType, path: &str) -> Result<DataType> {
    let unsupported = |advice: &str| {
        // The type alone: below it there may be names of fields, which keep their letters.
        let name = match data_type {
            DataType::ListView(_) => "list_view".to_owned(),
            DataType::LargeListView(_) => "large_list_view".to_owned(),
            DataType::RunEndEncoded(..) => "run_end_encoded".to_owned(),
            other => other.to_string().split('(').next().unwrap_or_default().to_ascii_lowercase(),
        };
        Err(Error::unsupported(format!("ORC has no type for {name}; {advice}")).at(format!("column {path:?}")))
    };
    Ok(match data_type {
        DataType::UInt8 => DataType::Int16,
        DataType::UInt16 => DataType::Int32,
        DataType::UInt32 => DataType::Int64,
        DataType::Float16 => DataType::Float32,
        DataType::Date64 => DataType::Date32,
        DataType::UInt64 => return unsupported("cast it to int64 if its values fit, or to decimal(20,0)"),
        DataType::Time32(_) | DataType::Time64(_) => return unsupported("cast it to int64, or to text"),
        DataType::Duration(_) => return unsupported("cast it to int64"),
        DataType::Interval(_) => return unsupported("cast it to text"),
        DataType::Null => return unsupported("cast it to the type of its values"),
        DataType::Union(..) => return unsupported("write each of its types as a separate column"),
        DataType::RunEndEncoded(..) => return unsupported("cast it to the type of its values"),
        DataType::ListView(_) | DataType::LargeListView(_) => return unsupported("cast it to a list"),
        DataType::Decimal256(precision, scale) => {
            let advice = format!("cast it to a decimal with at most {MAX_DECIMAL_PRECISION} digits");
            return match *precision <= MAX_DECIMAL_PRECISION && *scale >= 0 {
                true => unsupported(&format!("cast it to decimal({precision},{scale})")),
                false => unsupported(&advice),
            };
        }
        DataType::Decimal32(precision, scale)
        | DataType::Decimal64(precision, scale)
        | DataType::Decimal128(precision, scale)
            if *scale < 0 || *scale as u8 > *precision =>
        {
            return unsupported(&format!("cast it to a scale from 0 to its precision, {precision}"));
        }
        // Texts keep their numbers; other dictionaries are spread out.
        DataType::Dictionary(key, value) => match stored_type(value, path)? {
            DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => {
                DataType::Dictionary(key.clone(), value.clone())
            }
            spread => spread,
        },
        DataType::List(item) => DataType::List(stored_field(item, &format!("{path}._elem"))?),
        DataType::LargeList(item) => DataType::LargeList(stored_field(item, &format!("{path}._elem"))?),
        DataType::FixedSizeList(item, size) => {
            DataType::FixedSizeList(stored_field(item, &format!("{path}._elem"))?, *size)
        }
        DataType::Map(entries, sorted) => {
            DataType::Map(Arc::new(entries.as_ref().clone().with_data_type(stored_entries(entries, path)?)), *sorted)
        }
        DataType::Struct(fields) => DataType::Struct(stored_fields(fields, &format!("{path}."))?),
        other => other.clone(),
    })
}

fn stored_entries(entries: &FieldRef, path: &str) -> Result<DataType> {
    let DataType::Struct(fields) = entries.data_type() else {
        return Err(Error::invalid("the entries of a map must be structs").at(format!("column {path}")));
    };
    let [key, value] = &fields[..] else {
        return Err(Error::invalid("the entries of a map must have a key and a value").at(format!("column {path}")));
    };
    let key = stored_field(key, &format!("{path}._key"))?;
    let value = stored_field(value, &format!("{path}._value"))?;
    Ok(DataType::Struct(Fields::from(vec![key, value])))
}

/// The type that arrays are cast to before they are encoded: dictionaries of anything but text are spread out, and halves of
/// floats made whole.
pub(crate) fn spread_type(data_type: &DataType) -> DataType {
    let field = |field: &FieldRef| Arc::new(field.as_ref().clone().with_data_type(spread_type(field.data_type())));
    match data_type {
        DataType::Dictionary(_, value) => match value.as_ref() {
            DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => data_type.clone(),
            other => spread_type(other),
        },
        DataType::Float16 => DataType::Float32,
        DataType::List(item) => DataType::List(field(item)),
        DataType::LargeList(item) => DataType::LargeList(field(item)),
        DataType::FixedSizeList(item, size) => DataType::FixedSizeList(field(item), *size),
        DataType::Map(entries, sorted) => DataType::Map(field(entries), *sorted),
        DataType::Struct(fields) => DataType::Struct(fields.iter().map(field).collect()),
        other => other.clone(),
    }
}
