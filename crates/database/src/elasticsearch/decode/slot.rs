//! The values of one column, as they arrive.

use std::borrow::Cow;
use std::sync::Arc;

use arrow::array::builder::{
    BinaryBuilder, BooleanBuilder, Date32Builder, Decimal256Builder, Float32Builder, Float64Builder, Int64Builder,
    NullBufferBuilder, StringBuilder, Time64NanosecondBuilder, UInt64Builder,
};
use arrow::array::{
    Array, ArrayRef, AsArray, Decimal128Builder, ListArray, MapArray, NullArray, StructArray, make_array,
};
use arrow::buffer::OffsetBuffer;
use arrow::compute::{CastOptions, cast_with_options};
use arrow::datatypes::{DataType, Field, FieldRef, TimeUnit, i256};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use lakerace_format::calendar::units_per_second;
use lakerace_format::json::{Json, JsonKind, write_text};
use lakerace_format::predicate::time::parse_time;
use lakerace_format::schema_text::print_type;
use lakerace_io::{Error, Result};

use super::fields::Fields;
use super::number;
use super::{MappedField, Pushed, UnmappedNames, wrong};
use crate::elasticsearch::date_format::{DAY_NS, DateFormats};
use crate::elasticsearch::schema::JSON_TEXT;
use crate::elasticsearch::time::{quick_date, quick_timestamp};

/// A column that grows value by value.
pub(super) enum Slot {
    Null(usize),
    Boolean(BooleanBuilder),
    Integer {
        values: Int64Builder,
        least: i64,
        most: i64,
    },
    Unsigned(UInt64Builder),
    /// With whether the values must be floats of 16 bits.
    Float32(Float32Builder, bool),
    Float64(Float64Builder),
    Decimal {
        values: Decimal128Builder,
        precision: u8,
        scale: i8,
    },
    WideDecimal {
        values: Decimal256Builder,
        precision: u8,
        scale: i8,
    },
    Text(StringBuilder),
    /// A value of any type as JSON.
    Json(StringBuilder),
    Binary(BinaryBuilder),
    Date(Date32Builder, DateFormats),
    Timestamp {
        values: Int64Builder,
        unit: TimeUnit,
        formats: DateFormats,
        /// Digits beyond the unit are cut: the server has fewer of them than the unit.
        cuts: bool,
        /// Some were.
        has_cut: bool,
    },
    Time {
        values: Time64NanosecondBuilder,
        unit: TimeUnit,
    },
    List {
        items: Box<Slot>,
        item: FieldRef,
        ends: Vec<i32>,
        count: i32,
        nulls: NullBufferBuilder,
    },
    Struct {
        fields: Box<Fields>,
        nulls: NullBufferBuilder,
    },
}

impl Slot {
    /// An empty column.
    pub fn new(field: &Field, mapped: MappedField<'_>) -> Result<Self> {
        if field.metadata().contains_key(JSON_TEXT) {
            return Ok(Self::Json(StringBuilder::new()));
        }
        let integer = |least, most| Self::Integer { values: Int64Builder::new(), least, most };
        Ok(match field.data_type() {
            DataType::Null => Self::Null(0),
            DataType::Boolean => Self::Boolean(BooleanBuilder::new()),
            DataType::Int8 => integer(i8::MIN.into(), i8::MAX.into()),
            DataType::Int16 => integer(i16::MIN.into(), i16::MAX.into()),
            DataType::Int32 => integer(i32::MIN.into(), i32::MAX.into()),
            DataType::Int64 | DataType::Duration(_) => integer(i64::MIN, i64::MAX),
            DataType::UInt8 => integer(0, u8::MAX.into()),
            DataType::UInt16 => integer(0, u16::MAX.into()),
            DataType::UInt32 => integer(0, u32::MAX.into()),
            DataType::UInt64 => Self::Unsigned(UInt64Builder::new()),
            DataType::Float16 => Self::Float32(Float32Builder::new(), true),
            DataType::Float32 => Self::Float32(Float32Builder::new(), false),
            DataType::Float64 => Self::Float64(Float64Builder::new()),
            DataType::Decimal32(precision, scale)
            | DataType::Decimal64(precision, scale)
            | DataType::Decimal128(precision, scale) => {
                let data_type = DataType::Decimal128(*precision, *scale);
                let values = Decimal128Builder::new().with_data_type(data_type);
                Self::Decimal { values, precision: *precision, scale: *scale }
            }
            DataType::Decimal256(precision, scale) => {
                let values = Decimal256Builder::new().with_data_type(field.data_type().clone());
                Self::WideDecimal { values, precision: *precision, scale: *scale }
            }
            DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => Self::Text(StringBuilder::new()),
            DataType::Binary | DataType::LargeBinary | DataType::BinaryView | DataType::FixedSizeBinary(_) => {
                Self::Binary(BinaryBuilder::new())
            }
            DataType::Date32 => Self::Date(Date32Builder::new(), mapped.formats()),
            DataType::Date64 => Self::timestamp(TimeUnit::Millisecond, mapped),
            DataType::Timestamp(unit, _) => Self::timestamp(*unit, mapped),
            DataType::Time32(unit) | DataType::Time64(unit) => {
                Self::Time { values: Time64NanosecondBuilder::new(), unit: *unit }
            }
            DataType::Dictionary(_, values) => {
                Self::new(&Field::new(field.name(), values.as_ref().clone(), true), mapped)?
            }
            DataType::List(item) | DataType::LargeList(item) | DataType::FixedSizeList(item, _) => {
                Self::list(item, mapped)?
            }
            DataType::Map(entries, _) => Self::list(entries, mapped)?,
            DataType::Struct(fields) => {
                let fields = fields.iter().map(|field| (Arc::clone(field), mapped.inner(field.name()))).collect();
                Self::Struct { fields: Box::new(Fields::new(fields)?), nulls: NullBufferBuilder::new(0) }
            }
            other => {
                return Err(Error::unsupported(format!(
                    "column {:?} is of type {}, which no Elasticsearch field can hold",
                    field.name(),
                    print_type(other)
                )));
            }
        })
    }

    fn timestamp(unit: TimeUnit, mapped: MappedField<'_>) -> Self {
        let (values, formats) = (Int64Builder::new(), mapped.formats());
        Self::Timestamp { values, unit, formats, cuts: mapped.is_inferred, has_cut: false }
    }

    fn list(item: &FieldRef, mapped: MappedField<'_>) -> Result<Self> {
        let items = Box::new(Self::new(item, mapped)?);
        Ok(Self::List { items, item: Arc::clone(item), ends: Vec::new(), count: 0, nulls: NullBufferBuilder::new(0) })
    }

    /// Takes the next value. Names in it that no field takes are noted.
    pub fn push(&mut self, json: &mut Json<'_>, unmapped: &mut UnmappedNames) -> Pushed {
        let kind = json.kind()?;
        if kind == JsonKind::Null {
            json.null()?;
            self.push_null();
            return Ok(());
        }
        match self {
            Self::Null(_) => wrong("a value where none is expected"),
            Self::Boolean(values) => {
                values.append_value(boolean(json, kind)?);
                Ok(())
            }
            Self::Integer { values, least, most } => {
                let value = match json.short_integer() {
                    Some(value) => Some(value),
                    None => number::integer(&digits(json, kind, "an integer")?),
                };
                let Some(value) = value.filter(|value| (*least..=*most).contains(value)) else {
                    return wrong("a number that is not an integer in its column's range");
                };
                values.append_value(value);
                Ok(())
            }
            Self::Unsigned(values) => {
                let Some(value) = number::unsigned(&digits(json, kind, "an integer")?) else {
                    return wrong("a number that is not an integer from 0 to 2^64-1");
                };
                values.append_value(value);
                Ok(())
            }
            Self::Float32(values, is_half) => {
                let found = number::float32(&digits(json, kind, "a number")?);
                let Some(value) = found.filter(|value| !*is_half || number::is_half(*value)) else {
                    return wrong(
                        "a value that its column's float can't represent; read it as float64, which has more digits",
                    );
                };
                values.append_value(value);
                Ok(())
            }
            Self::Float64(values) => {
                let Some(value) = number::float64(&digits(json, kind, "a number")?) else {
                    return wrong(
                        "a value that no float can represent; read it as utf8 or a decimal, which have more digits",
                    );
                };
                values.append_value(value);
                Ok(())
            }
            Self::Decimal { values, precision, scale } => {
                let value = decimal(json, kind, *precision, *scale)?;
                values.append_value(value.as_i128());
                Ok(())
            }
            Self::WideDecimal { values, precision, scale } => {
                values.append_value(decimal(json, kind, *precision, *scale)?);
                Ok(())
            }
            Self::Text(values) => {
                values.append_value(text(json, kind)?);
                Ok(())
            }
            Self::Json(values) => {
                values.append_value(String::from_utf8_lossy(json.skip()?));
                Ok(())
            }
            Self::Binary(values) => {
                let Ok(bytes) = STANDARD.decode(plain_text(json, kind, "base64")?.as_bytes()) else {
                    return wrong("text that is not valid base64");
                };
                values.append_value(bytes);
                Ok(())
            }
            Self::Date(values, formats) => {
                values.append_value(date(json, kind, formats)?);
                Ok(())
            }
            Self::Timestamp { values, unit, formats, cuts, has_cut } => {
                let nanoseconds = instant(json, kind, formats)?;
                let per_unit = i128::from(1_000_000_000 / units_per_second(*unit));
                if nanoseconds.rem_euclid(per_unit) != 0 {
                    if !*cuts {
                        return wrong("a timestamp with more digits than its column's unit has");
                    }
                    *has_cut = true;
                }
                let Ok(value) = i64::try_from(nanoseconds.div_euclid(per_unit)) else {
                    return wrong("a timestamp beyond its column's range");
                };
                values.append_value(value);
                Ok(())
            }
            Self::Time { values, unit } => {
                let per_unit = 1_000_000_000 / units_per_second(*unit);
                let Some(value) = parse_time(&plain_text(json, kind, "a time")?).filter(|value| value % per_unit == 0)
                else {
                    return wrong("text that is not a time in this column's unit");
                };
                values.append_value(value);
                Ok(())
            }
            Self::List { items, ends, count, nulls, .. } => {
                let items_before = *count;
                if kind == JsonKind::Array {
                    let mut is_first = true;
                    json.open_array()?;
                    while json.next(&mut is_first)? {
                        items.push(json, unmapped)?;
                        *count += 1;
                    }
                } else {
                    // To the server, a value is a list of one.
                    items.push(json, unmapped)?;
                    *count += 1;
                }
                debug_assert!(*count >= items_before);
                ends.push(*count);
                nulls.append_non_null();
                Ok(())
            }
            Self::Struct { fields, nulls } => {
                let is_valid = Self::push_object(fields, json, unmapped)?;
                nulls.append(is_valid);
                Ok(())
            }
        }
    }

    /// Appends a text, or null, that is stored outside of the document: the `_id` that was made from a value of the
    /// column's type.
    pub fn push_text(&mut self, text: Option<&str>) -> Pushed {
        match (self, text) {
            (slot, None) => slot.push_null(),
            (Self::Text(values), Some(text)) => values.append_value(text),
            (slot, Some(text)) => {
                let mut quoted = Vec::with_capacity(text.len() + 2);
                write_text(&mut quoted, text.as_bytes());
                slot.push(&mut Json::new(&quoted), &mut UnmappedNames::default())?;
            }
        }
        Ok(())
    }

    /// Takes null.
    pub fn push_null(&mut self) {
        match self {
            Self::Null(count) => *count += 1,
            Self::Boolean(values) => values.append_null(),
            Self::Integer { values, .. } | Self::Timestamp { values, .. } => values.append_null(),
            Self::Unsigned(values) => values.append_null(),
            Self::Float32(values, _) => values.append_null(),
            Self::Float64(values) => values.append_null(),
            Self::Decimal { values, .. } => values.append_null(),
            Self::WideDecimal { values, .. } => values.append_null(),
            Self::Text(values) | Self::Json(values) => values.append_null(),
            Self::Binary(values) => values.append_null(),
            Self::Date(values, _) => values.append_null(),
            Self::Time { values, .. } => values.append_null(),
            Self::List { ends, count, nulls, .. } => {
                ends.push(*count);
                nulls.append_null();
            }
            Self::Struct { fields, nulls } => {
                fields.push_null();
                nulls.append_null();
            }
        }
    }

    /// Tells each field, by its name after `path`, that has cut digits of a time.
    pub fn cut_fields(&self, path: &str, told: &mut Vec<String>) {
        match self {
            Self::Timestamp { has_cut: true, .. } => told.push(path.to_owned()),
            Self::List { items, .. } => items.cut_fields(path, told),
            Self::Struct { fields, .. } => fields.cut_fields(&format!("{path}."), told),
            _ => {}
        }
    }

    /// Returns true if the last value is null.
    pub fn ends_with_null(&self) -> bool {
        let is_null = |bits: Option<&[u8]>, length: usize| {
            let last = length.wrapping_sub(1);
            bits.is_some_and(|bits| bits.get(last / 8).is_some_and(|byte| byte >> (last % 8) & 1 == 0))
        };
        match self {
            Self::Null(count) => *count > 0,
            Self::Boolean(values) => is_null(values.validity_slice(), values_len(values)),
            Self::Integer { values, .. } | Self::Timestamp { values, .. } => {
                is_null(values.validity_slice(), values_len(values))
            }
            Self::Unsigned(values) => is_null(values.validity_slice(), values_len(values)),
            Self::Float32(values, _) => is_null(values.validity_slice(), values_len(values)),
            Self::Float64(values) => is_null(values.validity_slice(), values_len(values)),
            Self::Decimal { values, .. } => is_null(values.validity_slice(), values_len(values)),
            Self::WideDecimal { values, .. } => is_null(values.validity_slice(), values_len(values)),
            Self::Text(values) | Self::Json(values) => is_null(values.validity_slice(), values_len(values)),
            Self::Binary(values) => is_null(values.validity_slice(), values_len(values)),
            Self::Date(values, _) => is_null(values.validity_slice(), values_len(values)),
            Self::Time { values, .. } => is_null(values.validity_slice(), values_len(values)),
            Self::List { nulls, .. } | Self::Struct { nulls, .. } => is_null(nulls.as_slice(), nulls.len()),
        }
    }

    /// The values since the last call, as an array of this type.
    pub fn finish(&mut self, data_type: &DataType) -> Result<ArrayRef> {
        let array: ArrayRef = match self {
            Self::Null(count) => Arc::new(NullArray::new(std::mem::take(count))),
            Self::Boolean(values) => Arc::new(values.finish()),
            Self::Integer { values, .. } | Self::Timestamp { values, .. } => Arc::new(values.finish()),
            Self::Unsigned(values) => Arc::new(values.finish()),
            Self::Float32(values, _) => Arc::new(values.finish()),
            Self::Float64(values) => Arc::new(values.finish()),
            Self::Decimal { values, .. } => Arc::new(values.finish()),
            Self::WideDecimal { values, .. } => Arc::new(values.finish()),
            Self::Text(values) | Self::Json(values) => Arc::new(values.finish()),
            Self::Binary(values) => Arc::new(values.finish()),
            Self::Date(values, _) => Arc::new(values.finish()),
            Self::Time { values, .. } => Arc::new(values.finish()),
            Self::List { items, item, ends, count, nulls } => {
                *count = 0;
                let offsets = OffsetBuffer::from_lengths(lengths(&std::mem::take(ends)));
                let values = items.finish(item.data_type())?;
                Arc::new(ListArray::try_new(Arc::clone(item), offsets, values, nulls.finish()).map_err(failed)?)
            }
            Self::Struct { fields, nulls } => {
                let DataType::Struct(types) = data_type else {
                    return Err(Error::internal("a struct column without struct type"));
                };
                let (arrays, length) = (fields.finish()?, nulls.len());
                let nulls = nulls.finish();
                Arc::new(if types.is_empty() {
                    StructArray::new_empty_fields(length, nulls)
                } else {
                    StructArray::try_new(types.clone(), arrays, nulls).map_err(failed)?
                })
            }
        };
        as_type(array, data_type)
    }
}

fn values_len(values: &impl arrow::array::ArrayBuilder) -> usize {
    values.len()
}

fn lengths(ends: &[i32]) -> Vec<usize> {
    let mut before = 0;
    ends.iter().map(|end| (*end - std::mem::replace(&mut before, *end)) as usize).collect()
}

/// Casts the values, or fails: nothing becomes null here.
fn as_type(array: ArrayRef, data_type: &DataType) -> Result<ArrayRef> {
    if array.data_type() == data_type {
        return Ok(array);
    }
    if let DataType::Map(entries, is_sorted) = data_type {
        let list = array.as_list::<i32>();
        let map = MapArray::try_new(
            Arc::clone(entries),
            list.offsets().clone(),
            list.values().as_struct().clone(),
            list.nulls().cloned(),
            *is_sorted,
        );
        return Ok(Arc::new(map.map_err(failed)?));
    }
    // Times of day and days are numbers underneath.
    if let (DataType::Int64, DataType::Timestamp(_, _) | DataType::Date64 | DataType::Duration(_)) =
        (array.data_type(), data_type)
    {
        let data = array.to_data().into_builder().data_type(data_type.clone()).build().map_err(failed)?;
        return Ok(make_array(data));
    }
    let options = CastOptions { safe: false, ..CastOptions::default() };
    cast_with_options(&array, data_type, &options).map_err(|error| {
        Error::invalid(format!("values of an index can't be read as {}", print_type(data_type))).because(error)
    })
}

fn failed(error: arrow::error::ArrowError) -> Error {
    Error::internal("the values did not form an array").because(error)
}

pub(super) fn name_of(kind: JsonKind) -> &'static str {
    match kind {
        JsonKind::Null => "null",
        JsonKind::Boolean => "a boolean",
        JsonKind::Number => "a number",
        JsonKind::Text => "a text",
        JsonKind::Array => "an array",
        JsonKind::Object => "an object",
    }
}

fn misplaced<T>(kind: JsonKind, wanted: &str) -> Pushed<T> {
    wrong(format!("{} where {wanted} is expected", name_of(kind)))
}

fn boolean(json: &mut Json<'_>, kind: JsonKind) -> Pushed<bool> {
    match kind {
        JsonKind::Boolean => Ok(json.boolean()?),
        JsonKind::Text => match json.text()?.as_ref() {
            "true" => Ok(true),
            "false" | "" => Ok(false),
            _ => wrong("text that is not a boolean"),
        },
        other => misplaced(other, "a boolean"),
    }
}

/// The digits of a number as written, in quotes or not.
fn digits<'a>(json: &mut Json<'a>, kind: JsonKind, wanted: &str) -> Pushed<Cow<'a, str>> {
    match kind {
        JsonKind::Number => Ok(Cow::Borrowed(json.number()?)),
        JsonKind::Text => Ok(json.text()?),
        other => misplaced(other, wanted),
    }
}

fn plain_text<'a>(json: &mut Json<'a>, kind: JsonKind, wanted: &str) -> Pushed<Cow<'a, str>> {
    if kind == JsonKind::Text { Ok(json.text()?) } else { misplaced(kind, wanted) }
}

/// A text; numbers and booleans are the text that the server has of them.
fn text<'a>(json: &mut Json<'a>, kind: JsonKind) -> Pushed<Cow<'a, str>> {
    match kind {
        JsonKind::Text => Ok(json.text()?),
        JsonKind::Number => Ok(Cow::Borrowed(json.number()?)),
        JsonKind::Boolean => Ok(Cow::Borrowed(if json.boolean()? { "true" } else { "false" })),
        other => misplaced(other, "a text"),
    }
}

fn decimal(json: &mut Json<'_>, kind: JsonKind, precision: u8, scale: i8) -> Pushed<i256> {
    match number::decimal(&digits(json, kind, "a number")?, precision, scale) {
        Some(value) => Ok(value),
        None => wrong(format!("a number that does not fit decimal({precision}, {scale})")),
    }
}

/// The days of a date, which may be written with a time of midnight.
fn date(json: &mut Json<'_>, kind: JsonKind, formats: &DateFormats) -> Pushed<i32> {
    let nanoseconds = instant(json, kind, formats)?;
    if nanoseconds.rem_euclid(DAY_NS) != 0 {
        return wrong("a time of day where a date is expected");
    }
    match i32::try_from(nanoseconds.div_euclid(DAY_NS)) {
        Ok(days) => Ok(days),
        Err(_) => wrong("a date beyond its column's range"),
    }
}

/// Nanoseconds since 1970, as the server understands a date.
fn instant(json: &mut Json<'_>, kind: JsonKind, formats: &DateFormats) -> Pushed<i128> {
    let found = if kind == JsonKind::Number {
        formats.number(json.number()?)
    } else {
        let text = plain_text(json, kind, "a date")?;
        let bytes = text.as_bytes();
        match (quick_timestamp(bytes), quick_date(bytes)) {
            (Some((days, in_day, _)), _) => Some(i128::from(days) * DAY_NS + i128::from(in_day)),
            (None, Some(days)) => Some(i128::from(days) * DAY_NS),
            (None, None) => formats.text(&text),
        }
    };
    match found {
        Some(nanoseconds) => Ok(nanoseconds),
        None => wrong("a value that is not a date in its field's format"),
    }
}
