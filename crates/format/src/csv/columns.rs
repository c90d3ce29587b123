//! Columns under construction: fields become typed arrays, without a string in between.

use std::sync::Arc;

use arrow::array::types::{
    ArrowPrimitiveType, Date32Type, Date64Type, Decimal32Type, Decimal64Type, Decimal128Type, Decimal256Type,
    Float16Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, Time32MillisecondType,
    Time32SecondType, Time64MicrosecondType, Time64NanosecondType, TimestampMicrosecondType, TimestampMillisecondType,
    TimestampNanosecondType, TimestampSecondType, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow::array::{
    Array, ArrayRef, AsArray, BooleanArray, BooleanBufferBuilder, FixedSizeBinaryArray, NullArray, NullBufferBuilder,
    PrimitiveArray,
};
use arrow::datatypes::{DECIMAL128_MAX_PRECISION, DataType, Field, TimeUnit};
use lakerace_io::option::SCHEMA;
use lakerace_io::{Error, Result};

use super::column::{BadFields, CsvColumn, FieldError, FieldText, Text, TypeOrigin};
use super::fields::FieldTable;
use super::other_column::{OtherColumn, usual_text};
use super::text::{OffsetColumn, ViewColumn};
use super::value_texts::ValueTexts;
use crate::extension_types::is_uuid;
use crate::text::{infer, value};
use crate::uuids::{UUID_BYTES, uuid_bytes};

/// A column for a field of a schema, with room for approximately `rows` rows.
///
/// # Errors
/// `Unsupported` for types that text can't hold.
pub(super) fn column_for(
    field: &Field,
    rows: usize,
    origin: TypeOrigin,
    values: &ValueTexts,
) -> Result<Box<dyn CsvColumn>> {
    if !values.is_plain()
        && let Some(column) = other_column(field, rows, origin, values)
    {
        return Ok(column);
    }
    if origin == TypeOrigin::Inferred
        && let Some(column) = inferred_column(field, rows)
    {
        return Ok(column);
    }
    given_column(field, rows)
}

/// A column whose values have a given format: they are converted to the usual one first. `None` if the type has no such
/// format.
fn other_column(field: &Field, rows: usize, origin: TypeOrigin, values: &ValueTexts) -> Option<Box<dyn CsvColumn>> {
    let usual = usual_text(field.data_type(), values)?;
    let inner = match origin {
        TypeOrigin::Inferred => inferred_column(field, rows),
        TypeOrigin::Given => None,
    };
    let inner = inner.map_or_else(|| given_column(field, rows), Ok).ok()?;
    Some(Box::new(OtherColumn::new(inner, values.clone(), usual)))
}

/// A column of an inferred type: it accepts the texts that inference accepts for the type. `None` if these are the same
/// as for a given type.
fn inferred_column(field: &Field, rows: usize) -> Option<Box<dyn CsvColumn>> {
    macro_rules! instants {
        ($type:ty) => {
            Box::new(PrimitiveColumn::<$type, _>::new(field.data_type(), rows, |t: &[u8], s, e| {
                let (value, offset) = value::timestamp(t.get(s..e)?, <$type as InstantUnit>::UNIT)?;
                offset.map(|_| value)
            }))
        };
    }
    Some(match field.data_type() {
        DataType::Boolean => Box::new(CsvBooleanColumn { is_inferred: true, ..CsvBooleanColumn::default() }),
        DataType::Int64 => Box::new(PrimitiveColumn::<Int64Type, _>::new(field.data_type(), rows, |t: &[u8], s, e| {
            value::int64(t, s, e).filter(|_| infer::is_integer(&t[s..e]))
        })),
        DataType::Float64 => {
            Box::new(PrimitiveColumn::<Float64Type, _>::new(field.data_type(), rows, |t: &[u8], s, e| {
                value::float64(t, s, e).filter(|parsed| infer::is_float(&t[s..e], *parsed))
            }))
        }
        DataType::Timestamp(TimeUnit::Microsecond, Some(_)) => instants!(TimestampMicrosecondType),
        DataType::Timestamp(TimeUnit::Nanosecond, Some(_)) => instants!(TimestampNanosecondType),
        _ => return None,
    })
}

/// A column of a given type: see [`crate::csv`] for the texts that it accepts.
fn given_column(field: &Field, rows: usize) -> Result<Box<dyn CsvColumn>> {
    use TimeUnit::{Microsecond, Millisecond, Nanosecond, Second};
    macro_rules! primitive {
        ($type:ty, $parse:expr) => {
            Box::new(PrimitiveColumn::<$type, _>::new(field.data_type(), rows, $parse))
        };
    }
    macro_rules! integer {
        ($type:ty) => {
            primitive!($type, |t: &[u8], s, e| value::int64(t, s, e).and_then(|n| n.try_into().ok()))
        };
    }
    macro_rules! unsigned {
        ($type:ty) => {
            primitive!($type, |t: &[u8], s, e| value::uint64(t, s, e).and_then(|n| n.try_into().ok()))
        };
    }
    macro_rules! timestamp {
        ($type:ty, $zone:expr) => {{
            let has_zone = $zone.is_some();
            primitive!($type, move |t: &[u8], s, e| {
                let (value, offset) = value::timestamp(t.get(s..e)?, <$type as InstantUnit>::UNIT)?;
                // A wall-clock column has no place for an offset.
                (has_zone || offset.is_none()).then_some(value)
            })
        }};
    }
    macro_rules! decimal {
        ($type:ty, $p:expr, $s:expr) => {{
            let (p, s) = ($p, $s);
            primitive!($type, move |t: &[u8], from, to| {
                value::decimal128(t.get(from..to)?, p, s).and_then(|n| n.try_into().ok())
            })
        }};
    }
    Ok(match field.data_type() {
        DataType::Null => Box::new(CsvNullColumn(0)),
        DataType::Boolean => Box::new(CsvBooleanColumn::default()),
        DataType::Int8 => integer!(Int8Type),
        DataType::Int16 => integer!(Int16Type),
        DataType::Int32 => integer!(Int32Type),
        DataType::Int64 => primitive!(Int64Type, |t: &[u8], s, e| value::int64(t, s, e)),
        DataType::UInt8 => unsigned!(UInt8Type),
        DataType::UInt16 => unsigned!(UInt16Type),
        DataType::UInt32 => unsigned!(UInt32Type),
        DataType::UInt64 => primitive!(UInt64Type, |t: &[u8], s, e| value::uint64(t, s, e)),
        DataType::Float16 => {
            type Half = <Float16Type as ArrowPrimitiveType>::Native;
            primitive!(Float16Type, |t: &[u8], s, e| {
                let half = value::float64(t, s, e).map(Half::from_f64)?;
                (!half.is_infinite() || value::says_infinity(&t[s..e])).then_some(half)
            })
        }
        DataType::Float32 => primitive!(Float32Type, |t: &[u8], s, e| {
            let float: f32 = fast_float2::parse(t.get(s..e)?).ok()?;
            (!float.is_infinite() || value::says_infinity(&t[s..e])).then_some(float)
        }),
        DataType::Float64 => primitive!(Float64Type, |t: &[u8], s, e| {
            value::float64(t, s, e).filter(|float| !float.is_infinite() || value::says_infinity(&t[s..e]))
        }),
        DataType::Decimal32(p, s) => decimal!(Decimal32Type, *p, *s),
        DataType::Decimal64(p, s) => decimal!(Decimal64Type, *p, *s),
        DataType::Decimal128(p, s) => decimal!(Decimal128Type, *p, *s),
        DataType::Decimal256(p, s) => {
            let (p, s) = (*p, *s);
            primitive!(Decimal256Type, move |t: &[u8], from, to| value::decimal256(t.get(from..to)?, p, s))
        }
        DataType::Date32 => {
            primitive!(Date32Type, |t: &[u8], s, e| value::date(t.get(s..e)?).and_then(|d| d.try_into().ok()))
        }
        DataType::Date64 => primitive!(Date64Type, |t: &[u8], s, e| {
            value::timestamp(t.get(s..e)?, Millisecond).and_then(|(v, offset)| offset.is_none().then_some(v))
        }),
        DataType::Time32(Second) => primitive!(Time32SecondType, |t: &[u8], s, e| time32(t, s, e, Second)),
        DataType::Time32(Millisecond) => {
            primitive!(Time32MillisecondType, |t: &[u8], s, e| time32(t, s, e, Millisecond))
        }
        DataType::Time64(Microsecond) => {
            primitive!(Time64MicrosecondType, |t: &[u8], s, e| value::time(t.get(s..e)?, Microsecond))
        }
        DataType::Time64(Nanosecond) => {
            primitive!(Time64NanosecondType, |t: &[u8], s, e| value::time(t.get(s..e)?, Nanosecond))
        }
        DataType::Timestamp(Second, zone) => timestamp!(TimestampSecondType, zone),
        DataType::Timestamp(Millisecond, zone) => timestamp!(TimestampMillisecondType, zone),
        DataType::Timestamp(Microsecond, zone) => timestamp!(TimestampMicrosecondType, zone),
        DataType::Timestamp(Nanosecond, zone) => timestamp!(TimestampNanosecondType, zone),
        DataType::FixedSizeBinary(_) if is_uuid(field) => Box::new(UuidColumn::new(rows)),
        DataType::Utf8View => Box::new(ViewColumn::new(rows)),
        DataType::Utf8 => Box::new(OffsetColumn::<i32>::new(rows)),
        DataType::LargeUtf8 => Box::new(OffsetColumn::<i64>::new(rows)),
        other => {
            let name = crate::schema_text::print_type(other);
            return Err(Error::unsupported(format!("column {:?} can't be {name} in a text file", field.name()))
                .advice(format!("read it as utf8 with {SCHEMA}")));
        }
    })
}

/// UUIDs, gathered as numbers of as many bytes.
struct UuidColumn(Box<dyn CsvColumn>);

impl UuidColumn {
    fn new(rows: usize) -> Self {
        let parse = |t: &[u8], s: usize, e: usize| {
            let bytes = uuid_bytes(std::str::from_utf8(t.get(s..e)?).ok()?)?;
            bytes.try_into().ok().map(i128::from_ne_bytes)
        };
        let stored = DataType::Decimal128(DECIMAL128_MAX_PRECISION, 0);
        Self(Box::new(PrimitiveColumn::<Decimal128Type, _>::new(&stored, rows, parse)))
    }
}

impl CsvColumn for UuidColumn {
    fn append(&mut self, table: &FieldTable, column: usize, text: &Text<'_>, bad: &mut BadFields<'_>) {
        self.0.append(table, column, text, bad);
    }

    fn finish(&mut self, block: &bytes::Bytes) -> ArrayRef {
        let numbers = self.0.finish(block);
        let numbers = numbers.as_primitive::<Decimal128Type>();
        let (bytes, nulls) = (numbers.values().inner().clone(), numbers.nulls().cloned());
        Arc::new(FixedSizeBinaryArray::new(UUID_BYTES, bytes, nulls))
    }
}

fn time32(text: &[u8], start: usize, end: usize, unit: TimeUnit) -> Option<i32> {
    value::time(text.get(start..end)?, unit)?.try_into().ok()
}

/// The unit of a timestamp type as a constant, so that parsing is compiled for it.
trait InstantUnit {
    const UNIT: TimeUnit;
}

macro_rules! timestamp_units {
    ($($type:ty => $unit:ident),*) => {$(
        impl InstantUnit for $type {
            const UNIT: TimeUnit = TimeUnit::$unit;
        }
    )*};
}

timestamp_units!(TimestampSecondType => Second, TimestampMillisecondType => Millisecond,
    TimestampMicrosecondType => Microsecond, TimestampNanosecondType => Nanosecond);

/// A column of numbers of any kind. `parse` takes the text and the start and end of the field in it.
struct PrimitiveColumn<T: ArrowPrimitiveType, P> {
    data_type: DataType,
    values: Vec<T::Native>,
    nulls: NullBufferBuilder,
    parse: P,
}

impl<T: ArrowPrimitiveType, P> PrimitiveColumn<T, P>
where
    P: Fn(&[u8], usize, usize) -> Option<T::Native> + Send,
{
    fn new(data_type: &DataType, rows: usize, parse: P) -> Self {
        Self {
            data_type: data_type.clone(),
            values: Vec::with_capacity(rows),
            nulls: NullBufferBuilder::new(rows),
            parse,
        }
    }

    /// Appends a field whose bytes did not parse directly. Returns true if parsing may continue.
    #[cold]
    #[inline(never)]
    fn append_slowly(&mut self, text: &Text<'_>, at: (usize, usize), row: usize, bad: &mut BadFields<'_>) -> bool {
        let value = match text.field(at.0, at.1) {
            FieldText::Null => None,
            FieldText::Bad(badness) => {
                if !bad.report(row, badness) {
                    return false;
                }
                None
            }
            FieldText::Text(field) => {
                let trimmed = field.trim_ascii();
                match (self.parse)(trimmed, 0, trimmed.len()) {
                    Some(value) => Some(value),
                    // Nothing but quotes: a number that is not there.
                    None if trimmed.is_empty() => None,
                    None => {
                        if !bad.report(row, FieldError::Value) {
                            return false;
                        }
                        None
                    }
                }
            }
        };
        match value {
            Some(value) => {
                self.values.push(value);
                self.nulls.append_non_null();
            }
            None => {
                if !bad.null(row) {
                    return false;
                }
                self.values.push(T::Native::default());
                self.nulls.append_null();
            }
        }
        true
    }
}

impl<T: ArrowPrimitiveType, P> CsvColumn for PrimitiveColumn<T, P>
where
    P: Fn(&[u8], usize, usize) -> Option<T::Native> + Send,
{
    fn append(&mut self, table: &FieldTable, column: usize, text: &Text<'_>, bad: &mut BadFields<'_>) {
        let try_first = text.rules.nulls.only_empty;
        // Runs without a null are noted as a whole.
        let mut run = 0;
        for (row, at) in table.column(column).enumerate().take(bad.stop_at) {
            let parsed = if try_first { (self.parse)(text.bytes, at.0, at.1 - 1) } else { None };
            if let Some(value) = parsed {
                self.values.push(value);
                run += 1;
                continue;
            }
            // A number in quotes is one all the same.
            if let Some((start, end)) = text.inside_quotes(at.0, at.1)
                && let Some(value) = (self.parse)(text.bytes, start, end)
            {
                self.values.push(value);
                run += 1;
                continue;
            }
            self.nulls.append_n_non_nulls(std::mem::take(&mut run));
            if !self.append_slowly(text, at, row, bad) {
                return;
            }
        }
        self.nulls.append_n_non_nulls(run);
    }

    fn finish(&mut self, _block: &bytes::Bytes) -> ArrayRef {
        let values = std::mem::take(&mut self.values);
        let array = PrimitiveArray::<T>::new(values.into(), self.nulls.finish());
        Arc::new(array.with_data_type(self.data_type.clone()))
    }
}

#[derive(Debug)]
struct CsvBooleanColumn {
    is_inferred: bool,
    values: BooleanBufferBuilder,
    nulls: NullBufferBuilder,
}

impl Default for CsvBooleanColumn {
    fn default() -> Self {
        Self { is_inferred: false, values: BooleanBufferBuilder::new(0), nulls: NullBufferBuilder::new(0) }
    }
}

impl CsvColumn for CsvBooleanColumn {
    fn append(&mut self, table: &FieldTable, column: usize, text: &Text<'_>, bad: &mut BadFields<'_>) {
        for (row, at) in table.column(column).enumerate().take(bad.stop_at) {
            let value = match text.field(at.0, at.1) {
                FieldText::Null => Ok(None),
                FieldText::Bad(badness) => Err(badness),
                FieldText::Text(field) => match field.trim_ascii() {
                    b"" => Ok(None),
                    trimmed if self.is_inferred && !infer::is_boolean(trimmed) => Err(FieldError::Value),
                    trimmed => value::boolean(trimmed).map(Some).ok_or(FieldError::Value),
                },
            };
            let go_on = match value {
                Ok(Some(_)) => true,
                Ok(None) => bad.null(row),
                Err(badness) => bad.report(row, badness) && bad.null(row),
            };
            if !go_on {
                return;
            }
            let value = value.ok().flatten();
            self.values.append(value.unwrap_or(false));
            self.nulls.append(value.is_some());
        }
    }

    fn finish(&mut self, _block: &bytes::Bytes) -> ArrayRef {
        Arc::new(BooleanArray::new(self.values.finish(), self.nulls.finish()))
    }
}

/// Nothing but nulls.
#[derive(Debug)]
struct CsvNullColumn(usize);

impl CsvColumn for CsvNullColumn {
    fn append(&mut self, table: &FieldTable, column: usize, text: &Text<'_>, bad: &mut BadFields<'_>) {
        for (row, at) in table.column(column).enumerate().take(bad.stop_at) {
            let badness = match text.field(at.0, at.1) {
                FieldText::Null => None,
                FieldText::Bad(badness) => Some(badness),
                FieldText::Text(field) if field.is_empty() => None,
                FieldText::Text(_) => Some(FieldError::Value),
            };
            if badness.is_some_and(|badness| !bad.report(row, badness)) {
                return;
            }
            self.0 += 1;
        }
    }

    fn finish(&mut self, _block: &bytes::Bytes) -> ArrayRef {
        Arc::new(NullArray::new(std::mem::take(&mut self.0)))
    }
}
