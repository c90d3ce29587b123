//! Values of a column whose type is given: a cell is read as text formats read its text.

use arrow::array::types::{
    Date32Type, Date64Type, Decimal32Type, Decimal64Type, Decimal128Type, Decimal256Type, Float32Type, Float64Type,
    Int8Type, Int16Type, Int32Type, Int64Type, Time32MillisecondType, Time32SecondType, Time64MicrosecondType,
    Time64NanosecondType, TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType,
    TimestampSecondType, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow::array::{ArrayRef, AsArray};
use arrow::datatypes::{DataType, Field, TimeUnit};
use lakerace_io::option::{BATCH_ROWS, SCHEMA};
use lakerace_io::{Error, Result};

use super::cell_arrays::{BadValues, booleans, primitives, text_views};
use super::cells::{CellValue, DAY_MS, is_inexact_integer};
use super::texts::SheetTexts;
use crate::schema_text::print_type;
use crate::text::value;

/// Reads cells as values of the field's type.
///
/// # Errors
/// `Unsupported` for types that cells have no values of.
pub(super) fn given_array(
    field: &Field,
    cells: impl Iterator<Item = Option<CellValue>>,
    texts: &SheetTexts,
    bad: &mut BadValues,
) -> Result<ArrayRef> {
    use TimeUnit::{Microsecond, Millisecond, Nanosecond, Second};
    let mut text = String::new();
    macro_rules! primitive {
        ($type:ty, $parse:expr) => {{
            let parse = $parse;
            primitives::<$type>(field.data_type(), cells, bad, |value| {
                parse(text_of(value, texts, &mut text)?.as_bytes())
            })
        }};
    }
    macro_rules! integer {
        ($type:ty) => {
            primitive!($type, |t: &[u8]| value::int64(t, 0, t.len()).and_then(|n| n.try_into().ok()))
        };
    }
    macro_rules! unsigned {
        ($type:ty) => {
            primitive!($type, |t: &[u8]| value::uint64(t, 0, t.len()).and_then(|n| n.try_into().ok()))
        };
    }
    macro_rules! decimal {
        ($type:ty, $p:expr, $s:expr) => {{
            let (p, s) = (*$p, *$s);
            primitive!($type, move |t: &[u8]| value::decimal128(t, p, s).and_then(|n| n.try_into().ok()))
        }};
    }
    macro_rules! timestamp {
        ($type:ty, $unit:expr, $zone:expr) => {{
            let has_zone = $zone.is_some();
            primitive!($type, move |t: &[u8]| {
                let (instant, offset) = value::timestamp(t, $unit)?;
                // A wall-clock column has no place for an offset.
                (has_zone || offset.is_none()).then_some(instant)
            })
        }};
    }
    Ok(match field.data_type() {
        DataType::Boolean => booleans(cells, bad, |value| value::boolean(text_of(value, texts, &mut text)?.as_bytes())),
        DataType::Int8 => integer!(Int8Type),
        DataType::Int16 => integer!(Int16Type),
        DataType::Int32 => integer!(Int32Type),
        DataType::Int64 => integer!(Int64Type),
        DataType::UInt8 => unsigned!(UInt8Type),
        DataType::UInt16 => unsigned!(UInt16Type),
        DataType::UInt32 => unsigned!(UInt32Type),
        DataType::UInt64 => unsigned!(UInt64Type),
        DataType::Float32 => primitives::<Float32Type>(field.data_type(), cells, bad, |value| {
            let float = float_of(value, texts)? as f32;
            float.is_finite().then_some(float)
        }),
        DataType::Float64 => primitives::<Float64Type>(field.data_type(), cells, bad, |value| float_of(value, texts)),
        DataType::Decimal32(p, s) => decimal!(Decimal32Type, p, s),
        DataType::Decimal64(p, s) => decimal!(Decimal64Type, p, s),
        DataType::Decimal128(p, s) => decimal!(Decimal128Type, p, s),
        DataType::Decimal256(p, s) => {
            let (p, s) = (*p, *s);
            primitive!(Decimal256Type, move |t: &[u8]| value::decimal256(t, p, s))
        }
        DataType::Date32 => primitive!(Date32Type, |t: &[u8]| value::date(t).and_then(|days| days.try_into().ok())),
        DataType::Date64 => {
            primitive!(Date64Type, |t: &[u8]| value::timestamp(t, Millisecond)
                .and_then(|(ms, offset)| offset.is_none().then_some(ms)))
        }
        DataType::Time32(Second) => primitive!(Time32SecondType, |t: &[u8]| time32(t, Second)),
        DataType::Time32(_) => primitive!(Time32MillisecondType, |t: &[u8]| time32(t, Millisecond)),
        DataType::Time64(Microsecond) => primitive!(Time64MicrosecondType, |t: &[u8]| value::time(t, Microsecond)),
        DataType::Time64(_) => primitive!(Time64NanosecondType, |t: &[u8]| value::time(t, Nanosecond)),
        DataType::Timestamp(Second, zone) => timestamp!(TimestampSecondType, Second, zone),
        DataType::Timestamp(Millisecond, zone) => timestamp!(TimestampMillisecondType, Millisecond, zone),
        DataType::Timestamp(Microsecond, zone) => timestamp!(TimestampMicrosecondType, Microsecond, zone),
        DataType::Timestamp(Nanosecond, zone) => timestamp!(TimestampNanosecondType, Nanosecond, zone),
        DataType::Utf8View => text_views(cells, texts, bad)?,
        text_type @ (DataType::Utf8 | DataType::LargeUtf8) => {
            let views = text_views(cells, texts, bad)?;
            let bytes: usize = views.as_string_view().iter().flatten().map(str::len).sum();
            if *text_type == DataType::Utf8 && i32::try_from(bytes).is_err() {
                return Err(Error::unsupported(format!(
                    "the texts of column {:?} are too long for utf8",
                    field.name()
                ))
                .advice(format!("read fewer rows at once with {BATCH_ROWS}")));
            }
            arrow::compute::cast(&views, text_type).map_err(Error::unexpected)?
        }
        other => {
            let name = print_type(other);
            return Err(Error::unsupported(format!("column {:?} can't be {name} in a workbook", field.name()))
                .advice(format!("read it as utf8 with {SCHEMA}")));
        }
    })
}

/// The text of a value without blanks around it; `None` for values that have none, and for numbers that may stand for
/// others.
fn text_of<'a>(value: &CellValue, texts: &SheetTexts, out: &'a mut String) -> Option<&'a str> {
    out.clear();
    match value {
        CellValue::Bad(_) => return None,
        CellValue::Number(number) if is_inexact_integer(*number) => return None,
        // Midnight is the date alone.
        CellValue::Timestamp(ms) if ms.rem_euclid(DAY_MS) == 0 => {
            CellValue::Date(ms.div_euclid(DAY_MS)).write_text(texts, out);
        }
        value => value.write_text(texts, out),
    }
    Some(out.trim_ascii())
}

/// The double of a number, or of a text that is one.
fn float_of(value: &CellValue, texts: &SheetTexts) -> Option<f64> {
    match value {
        CellValue::Number(number) => Some(*number),
        CellValue::Text(id) => {
            let text = texts.get(*id).trim_ascii().as_bytes();
            let float = value::float64(text, 0, text.len())?;
            (float.is_finite() || value::says_infinity(text)).then_some(float)
        }
        _ => None,
    }
}

fn time32(text: &[u8], unit: TimeUnit) -> Option<i32> {
    value::time(text, unit)?.try_into().ok()
}
