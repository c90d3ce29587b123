//! The columns of a table as Avro stores them, and their schema.
//!
//! A column is refused if a reader would see something else than was written: a type that Avro does not have, a name that it
//! does not allow. The arrow-avro crate gets no type that it would store in a private form.

use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, AsArray, BooleanArray, ListArray, MapArray, RecordBatch, RecordBatchOptions, StructArray,
};
use arrow::buffer::BooleanBuffer;
use arrow::compute::{CastOptions, cast_with_options};
use arrow::datatypes::{
    DECIMAL128_MAX_PRECISION, DataType, Decimal128Type, Decimal256Type, DecimalType, Field, FieldRef, Fields, Schema,
    SchemaRef, TimeUnit,
};
use arrow::error::ArrowError;
use lakerace_io::option::COLUMNS;
use lakerace_io::{Error, Result};
use serde_json::{Value, json};

use crate::map_keys::refuse_keys_twice;
use crate::whole_days::odd_date;

/// The name of the record of a row, as Spark names it.
const ROW_NAME: &str = "topLevelRecord";

/// The stored form of a table.
#[derive(Debug)]
pub(super) struct StoredTable {
    /// The types that values are cast to.
    pub schema: SchemaRef,
    /// Avro's schema, as JSON.
    pub text: String,
}

/// A type of Arrow and the type of Avro in which it is stored.
struct StoredType {
    arrow: DataType,
    avro: Value,
}

impl StoredTable {
    /// The stored form of these columns.
    ///
    /// # Errors
    /// `Unsupported`, naming the column, for a type or a name that Avro does not have, and for a table without columns.
    pub fn new(schema: &Schema) -> Result<Self> {
        if schema.fields().is_empty() {
            return Err(Error::unsupported("a table without columns can't be written as Avro")
                .advice(format!("choose at least one column with {COLUMNS}")));
        }
        let mut names = TypeNames(0);
        let (fields, avro) = stored_fields(schema.fields(), "", &mut names)?;
        let text = json!({ "type": "record", "name": ROW_NAME, "fields": avro }).to_string();
        Ok(Self { schema: Arc::new(Schema::new(fields)), text })
    }

    /// Rows in the stored form. The first one has the number `first_row`, for errors.
    ///
    /// # Errors
    /// `Invalid`, naming the column, for a value without a place in Avro.
    pub fn rows(&self, batch: &RecordBatch, first_row: u64) -> Result<RecordBatch> {
        let columns = batch.columns().iter().zip(self.schema.fields()).map(|(column, field)| {
            stored_column(column, field.data_type(), first_row)
                .map_err(|error| error.at(format!("column {:?}", field.name())))
        });
        let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
        RecordBatch::try_new_with_options(Arc::clone(&self.schema), columns.collect::<Result<_>>()?, &options)
            .map_err(|error| Error::invalid("its values don't fit its schema").because(error))
    }
}

/// Makes a name for each type that needs one.
struct TypeNames(usize);

impl TypeNames {
    /// A name that ends in that of the field, so that readers show a useful one.
    fn next(&mut self, field: &str) -> String {
        self.0 += 1;
        format!("type{}_{field}", self.0)
    }
}

fn stored_fields(fields: &Fields, above: &str, names: &mut TypeNames) -> Result<(Fields, Vec<Value>)> {
    let mut stored = Vec::with_capacity(fields.len());
    let mut avro = Vec::with_capacity(fields.len());
    for field in fields {
        let path = format!("{above}{}", field.name());
        check_name(field.name(), &path)?;
        let (field, kind) = stored_field(field, &path, names)?;
        avro.push(json!({ "name": field.name(), "type": kind }));
        stored.push(field);
    }
    Ok((stored.into(), avro))
}

fn stored_field(field: &FieldRef, path: &str, names: &mut TypeNames) -> Result<(FieldRef, Value)> {
    let StoredType { arrow, avro } = stored_type(field.data_type(), path, names)?;
    let avro = if field.is_nullable() { json!(["null", avro]) } else { avro };
    Ok((Arc::new(Field::new(field.name(), arrow, field.is_nullable())), avro))
}

/// Fails for a name that Avro does not allow.
fn check_name(name: &str, path: &str) -> Result<()> {
    let mut letters = name.chars();
    let is_first = letters.next().is_some_and(|first| first.is_ascii_alphabetic() || first == '_');
    if is_first && letters.all(|letter| letter.is_ascii_alphanumeric() || letter == '_') {
        return Ok(());
    }
    let allowed: String =
        name.chars().map(|letter| if letter.is_ascii_alphanumeric() { letter } else { '_' }).collect();
    let allowed = if allowed.starts_with(|first: char| first.is_ascii_digit()) || allowed.is_empty() {
        format!("_{allowed}")
    } else {
        allowed
    };
    Err(Error::unsupported("Avro allows only letters of ASCII, digits and _ in a name, and no digit first")
        .at(format!("column {path:?}"))
        .advice(format!("rename it, for example to {allowed}; {COLUMNS} renames a column with \"as\"")))
}

fn stored_type(data_type: &DataType, path: &str, names: &mut TypeNames) -> Result<StoredType> {
    let same = |avro: Value| Ok(StoredType { arrow: data_type.clone(), avro });
    let as_type = |arrow: DataType, avro: Value| Ok(StoredType { arrow, avro });
    let logical = |of: &str, logical: &str| json!({ "type": of, "logicalType": logical });
    let refused = |what: &str, advice: &str| {
        Err(Error::unsupported(format!("Avro has no type for {what}")).at(format!("column {path:?}")).advice(advice))
    };
    match data_type {
        DataType::Boolean => same("boolean".into()),
        DataType::Int32 => same("int".into()),
        DataType::Int8 | DataType::Int16 | DataType::UInt8 | DataType::UInt16 => as_type(DataType::Int32, "int".into()),
        DataType::Int64 => same("long".into()),
        DataType::UInt32 => as_type(DataType::Int64, "long".into()),
        DataType::UInt64 => {
            refused("unsigned integers of 64 bits", "cast it to bigint if its values fit, or to decimal(20,0)")
        }
        DataType::Float16 => as_type(DataType::Float32, "float".into()),
        DataType::Float32 => same("float".into()),
        DataType::Float64 => same("double".into()),
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => same("string".into()),
        DataType::Binary | DataType::LargeBinary | DataType::BinaryView => same("bytes".into()),
        DataType::FixedSizeBinary(0) => refused("values of no bytes", "omit the column"),
        DataType::FixedSizeBinary(size) => {
            same(json!({ "type": "fixed", "name": names.next(last_name(path)), "size": size }))
        }
        DataType::Date32 | DataType::Date64 => as_type(DataType::Date32, logical("int", "date")),
        DataType::Time32(_) => as_type(DataType::Time32(TimeUnit::Millisecond), logical("int", "time-millis")),
        DataType::Time64(TimeUnit::Nanosecond) => {
            refused("times of nanoseconds", "cast it to a time of microseconds, or to bigint")
        }
        DataType::Time64(_) => as_type(DataType::Time64(TimeUnit::Microsecond), logical("long", "time-micros")),
        DataType::Timestamp(TimeUnit::Nanosecond, _) => refused(
            "timestamps of nanoseconds that all readers know",
            "cast it to a timestamp of microseconds, or to bigint",
        ),
        DataType::Timestamp(unit, zone) => {
            let (unit, name) = match unit {
                TimeUnit::Microsecond | TimeUnit::Nanosecond => (TimeUnit::Microsecond, "timestamp-micros"),
                TimeUnit::Second | TimeUnit::Millisecond => (TimeUnit::Millisecond, "timestamp-millis"),
            };
            match zone {
                // The instants stay the same.
                Some(_) => as_type(DataType::Timestamp(unit, Some("UTC".into())), logical("long", name)),
                None => as_type(DataType::Timestamp(unit, None), logical("long", &format!("local-{name}"))),
            }
        }
        DataType::Decimal32(precision, scale)
        | DataType::Decimal64(precision, scale)
        | DataType::Decimal128(precision, scale)
        | DataType::Decimal256(precision, scale) => decimal(*precision, *scale, path),
        DataType::Dictionary(_, values) => stored_type(values, path, names),
        DataType::RunEndEncoded(_, values) => stored_type(values.data_type(), path, names),
        DataType::Null => refused("a column of nulls only", "cast it to the type of its values, or omit it"),
        DataType::Union(..) => refused("a union of Arrow", "write each of its types as a column of its own"),
        DataType::Duration(_) => refused("durations of a unit", "cast it to bigint"),
        DataType::Interval(_) => refused("intervals of Arrow", "cast it to text"),
        DataType::Struct(fields) if fields.is_empty() => refused("a struct without fields", "omit the column"),
        DataType::Struct(fields) => {
            let name = names.next(last_name(path));
            let (fields, avro) = stored_fields(fields, &format!("{path}."), names)?;
            as_type(DataType::Struct(fields), json!({ "type": "record", "name": name, "fields": avro }))
        }
        DataType::List(item)
        | DataType::LargeList(item)
        | DataType::ListView(item)
        | DataType::LargeListView(item)
        | DataType::FixedSizeList(item, _) => {
            let (item, avro) = stored_field(item, &format!("{path}._elem"), names)?;
            as_type(DataType::List(item), json!({ "type": "array", "items": avro }))
        }
        DataType::Map(entries, _) => map(entries, path, names),
    }
}

/// The name after the last dot of a path.
fn last_name(path: &str) -> &str {
    path.rsplit('.').next().unwrap_or(path)
}

fn decimal(precision: u8, scale: i8, path: &str) -> Result<StoredType> {
    if scale < 0 || scale as u8 > precision {
        return Err(Error::unsupported(format!("Avro has no decimals of {precision} digits with a scale of {scale}"))
            .at(format!("column {path:?}"))
            .advice(format!("cast it to a scale from 0 to its precision, {precision}")));
    }
    let arrow = match precision <= DECIMAL128_MAX_PRECISION {
        true => DataType::Decimal128(precision, scale),
        false => DataType::Decimal256(precision, scale),
    };
    let avro = json!({ "type": "bytes", "logicalType": "decimal", "precision": precision, "scale": scale });
    Ok(StoredType { arrow, avro })
}

fn map(entries: &FieldRef, path: &str, names: &mut TypeNames) -> Result<StoredType> {
    let place = || format!("column {path:?}");
    let fields = match entries.data_type() {
        DataType::Struct(fields) if fields.len() == 2 => fields,
        _ => return Err(Error::invalid("the entries of a map must have a key and a value").at(place())),
    };
    if !is_text(fields[0].data_type()) {
        return Err(Error::unsupported("Avro has maps with keys of text only")
            .at(place())
            .advice("cast the keys to text, or write the map as a list of structs"));
    }
    let key = Arc::new(Field::new("key", DataType::Utf8, false));
    let value = Arc::new(fields[1].as_ref().clone().with_name("value"));
    let (value, avro) = stored_field(&value, &format!("{path}._value"), names)?;
    let entries = Field::new("entries", DataType::Struct(vec![key, value].into()), false);
    Ok(StoredType { arrow: DataType::Map(Arc::new(entries), false), avro: json!({ "type": "map", "values": avro }) })
}

fn is_text(data_type: &DataType) -> bool {
    match data_type {
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => true,
        DataType::Dictionary(_, values) => is_text(values),
        _ => false,
    }
}

fn stored_column(column: &ArrayRef, to: &DataType, first_row: u64) -> Result<ArrayRef> {
    if let Some(odd) = odd_date(column) {
        return Err(Error::invalid(format!("the date64 value {odd} ms is not a whole day, but Avro's dates are days"))
            .advice("cast the column to a timestamp"));
    }
    let stored = if column.data_type() == to {
        Arc::clone(column)
    } else {
        let options = CastOptions { safe: false, ..CastOptions::default() };
        cast_with_options(column, to, &options)
            .map_err(|error| Error::invalid("its values have no place in Avro").because(error))?
    };
    // Readers keep one of the entries.
    refuse_keys_twice(&stored, first_row)?;
    check_decimals(&stored)?;
    without_bit_offsets(&stored).map_err(|error| Error::internal("its values can't be aligned").because(error))
}

/// The same values, where arrays of booleans start at a whole byte: the arrow-avro crate takes the bit at which the items
/// of a list start for a number of items.
fn without_bit_offsets(array: &ArrayRef) -> std::result::Result<ArrayRef, ArrowError> {
    let nulls = array.nulls().cloned();
    Ok(match array.data_type() {
        DataType::Boolean if array.offset() != 0 => {
            let values = array.as_boolean().values();
            let aligned = BooleanBuffer::collect_bool(values.len(), |row| values.value(row));
            Arc::new(BooleanArray::new(aligned, nulls))
        }
        DataType::Struct(fields) => {
            let columns = array.as_struct().columns().iter().map(without_bit_offsets).collect::<Result<_, _>>()?;
            Arc::new(StructArray::try_new(fields.clone(), columns, nulls)?)
        }
        DataType::List(field) => {
            let list = array.as_list::<i32>();
            let items = without_bit_offsets(list.values())?;
            Arc::new(ListArray::try_new(Arc::clone(field), list.offsets().clone(), items, nulls)?)
        }
        DataType::Map(field, is_sorted) => {
            let map = array.as_map();
            let entries: ArrayRef = Arc::new(map.entries().clone());
            let entries = without_bit_offsets(&entries)?.as_struct().clone();
            Arc::new(MapArray::try_new(Arc::clone(field), map.offsets().clone(), entries, nulls, *is_sorted)?)
        }
        _ => Arc::clone(array),
    })
}

/// Fails for decimals with more digits than their type: Arrow does not check them.
fn check_decimals(array: &ArrayRef) -> Result<()> {
    let too_long = |error| Error::invalid("a decimal has more digits than its type").because(error);
    match array.data_type() {
        DataType::Decimal128(precision, scale) => {
            let values = array.as_primitive::<Decimal128Type>().iter().flatten();
            values
                .into_iter()
                .try_for_each(|value| Decimal128Type::validate_decimal_precision(value, *precision, *scale))
                .map_err(too_long)
        }
        DataType::Decimal256(precision, scale) => {
            let mut values = array.as_primitive::<Decimal256Type>().iter().flatten();
            values
                .try_for_each(|value| Decimal256Type::validate_decimal_precision(value, *precision, *scale))
                .map_err(too_long)
        }
        DataType::Struct(_) => array.as_struct().columns().iter().try_for_each(check_decimals),
        DataType::List(_) => check_decimals(array.as_list::<i32>().values()),
        DataType::Map(..) => check_decimals(array.as_map().values()),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests;
