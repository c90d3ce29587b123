//! Columns of single values.

use arrow::array::types::{
    ArrowPrimitiveType, Date32Type, Date64Type, Decimal32Type, Decimal64Type, Decimal128Type, Decimal256Type,
    DurationMicrosecondType, DurationMillisecondType, DurationNanosecondType, DurationSecondType, Float16Type,
    Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, Time32MillisecondType, Time32SecondType,
    Time64MicrosecondType, Time64NanosecondType, TimestampMicrosecondType, TimestampMillisecondType,
    TimestampNanosecondType, TimestampSecondType, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow::array::{Array, ArrayRef, BinaryBuilder, BooleanBuilder, NullArray, PrimitiveBuilder, StringBuilder};
use arrow::compute::cast;
use arrow::datatypes::{DataType, TimeUnit};
use lakerace_io::option::SCHEMA;
use lakerace_io::{Error, Result};

use super::{Append, ColumnOrigin, ColumnPath, ColumnSlot, JsonColumn, LineFault};
use crate::json::{Json, JsonKind};
use crate::schema_text::print_type;
use crate::text::{infer, value};
use crate::uuids::uuid_bytes;

/// The column of a type that is not nested.
pub(super) fn column(place: &ColumnPath) -> Result<Box<dyn JsonColumn>> {
    use TimeUnit::{Microsecond, Millisecond, Nanosecond, Second};
    let is_inferred = place.origin == ColumnOrigin::Inferred;
    let is_given = place.origin == ColumnOrigin::Given;
    macro_rules! numbers {
        ($type:ty, $parse:expr) => {
            ScalarColumn::<$type, _>::boxed(&place.data_type, ParsedKinds { numbers: true, texts: is_given }, $parse)
        };
    }
    macro_rules! texts {
        ($type:ty, $parse:expr) => {
            ScalarColumn::<$type, _>::boxed(&place.data_type, ParsedKinds { numbers: false, texts: true }, $parse)
        };
    }
    macro_rules! integer {
        ($type:ty) => {
            numbers!($type, |t: &[u8]| value::int64(t, 0, t.len()).and_then(|n| n.try_into().ok()))
        };
    }
    macro_rules! unsigned {
        ($type:ty) => {
            numbers!($type, |t: &[u8]| value::uint64(t, 0, t.len()).and_then(|n| n.try_into().ok()))
        };
    }
    macro_rules! decimal {
        ($type:ty, $p:expr, $s:expr) => {{
            let (p, s) = ($p, $s);
            numbers!($type, move |t: &[u8]| {
                // With a point it would have been inferred as a float.
                let parsed = value::decimal128(t, p, s).filter(|_| !is_inferred || !t.contains(&b'.'));
                parsed.and_then(|n| n.try_into().ok())
            })
        }};
    }
    macro_rules! timestamp {
        ($type:ty, $unit:expr, $zone:expr) => {{
            let has_zone = $zone.is_some();
            texts!($type, move |t: &[u8]| {
                let (value, offset) = value::timestamp(t, $unit)?;
                // A wall-clock column has no place for an offset.
                (has_zone || offset.is_none()).then_some(value)
            })
        }};
    }
    Ok(match &place.data_type {
        DataType::Null => Box::new(JsonNullColumn::default()),
        DataType::Boolean => Box::new(JsonBooleanColumn::default()),
        DataType::Int8 => integer!(Int8Type),
        DataType::Int16 => integer!(Int16Type),
        DataType::Int32 => integer!(Int32Type),
        DataType::Int64 => numbers!(Int64Type, move |t: &[u8]| {
            value::int64(t, 0, t.len()).filter(|_| !is_inferred || infer::is_integer(t))
        }),
        DataType::UInt8 => unsigned!(UInt8Type),
        DataType::UInt16 => unsigned!(UInt16Type),
        DataType::UInt32 => unsigned!(UInt32Type),
        DataType::UInt64 => numbers!(UInt64Type, |t: &[u8]| value::uint64(t, 0, t.len())),
        DataType::Float16 => {
            type Half = <Float16Type as ArrowPrimitiveType>::Native;
            numbers!(Float16Type, |t: &[u8]| {
                let (wide, half) = float(t).map(|wide| (wide, Half::from_f64(wide)))?;
                (half.is_finite() == wide.is_finite() && (!is_whole(t) || f64::from(half) == wide)).then_some(half)
            })
        }
        DataType::Float32 => numbers!(Float32Type, |t: &[u8]| {
            let (wide, single) = (float(t)?, fast_float2::parse::<f32, _>(t).ok()?);
            (single.is_finite() == wide.is_finite() && (!is_whole(t) || f64::from(single) == wide)).then_some(single)
        }),
        DataType::Float64 if is_inferred => numbers!(Float64Type, |t: &[u8]| {
            value::float64(t, 0, t.len()).filter(|parsed| infer::is_float(t, *parsed))
        }),
        DataType::Float64 => numbers!(Float64Type, |t: &[u8]| float(t)),
        DataType::Decimal32(p, s) => decimal!(Decimal32Type, *p, *s),
        DataType::Decimal64(p, s) => decimal!(Decimal64Type, *p, *s),
        DataType::Decimal128(p, s) => decimal!(Decimal128Type, *p, *s),
        DataType::Decimal256(p, s) => {
            let (p, s) = (*p, *s);
            numbers!(Decimal256Type, move |t: &[u8]| value::decimal256(t, p, s))
        }
        DataType::Date32 => texts!(Date32Type, |t: &[u8]| value::date(t).and_then(|days| days.try_into().ok())),
        DataType::Date64 => texts!(Date64Type, |t: &[u8]| {
            value::timestamp(t, Millisecond).and_then(|(v, offset)| offset.is_none().then_some(v))
        }),
        DataType::Time32(Second) => texts!(Time32SecondType, |t: &[u8]| value::time(t, Second)?.try_into().ok()),
        DataType::Time32(Millisecond) => {
            texts!(Time32MillisecondType, |t: &[u8]| value::time(t, Millisecond)?.try_into().ok())
        }
        DataType::Time64(Microsecond) => texts!(Time64MicrosecondType, |t: &[u8]| value::time(t, Microsecond)),
        DataType::Time64(Nanosecond) => texts!(Time64NanosecondType, |t: &[u8]| value::time(t, Nanosecond)),
        DataType::Timestamp(Second, zone) => timestamp!(TimestampSecondType, Second, zone),
        DataType::Timestamp(Millisecond, zone) => timestamp!(TimestampMillisecondType, Millisecond, zone),
        DataType::Timestamp(Microsecond, zone) => timestamp!(TimestampMicrosecondType, Microsecond, zone),
        DataType::Timestamp(Nanosecond, zone) => timestamp!(TimestampNanosecondType, Nanosecond, zone),
        DataType::Duration(Second) => texts!(DurationSecondType, |t: &[u8]| duration(t, 0)),
        DataType::Duration(Millisecond) => texts!(DurationMillisecondType, |t: &[u8]| duration(t, 3)),
        DataType::Duration(Microsecond) => texts!(DurationMicrosecondType, |t: &[u8]| duration(t, 6)),
        DataType::Duration(Nanosecond) => texts!(DurationNanosecondType, |t: &[u8]| duration(t, 9)),
        DataType::Utf8 => Box::new(TextColumn::default()),
        DataType::Binary => Box::new(BytesColumn::default()),
        DataType::LargeUtf8 | DataType::Utf8View => CastColumn::boxed(place, DataType::Utf8)?,
        DataType::FixedSizeBinary(_) | DataType::LargeBinary | DataType::BinaryView => {
            CastColumn::boxed(place, DataType::Binary)?
        }
        DataType::Dictionary(_, values) => CastColumn::boxed(place, values.as_ref().clone())?,
        other => {
            let message = format!("column {:?} can't be {} in JSON lines", place.path, print_type(other));
            return Err(Error::unsupported(message).advice(format!("read it as utf8 with {SCHEMA}")));
        }
    })
}

/// A double of a type that was given: whole numbers exactly, others the nearest one.
fn float(text: &[u8]) -> Option<f64> {
    value::float64(text, 0, text.len()).filter(|parsed| infer::is_nearest_float(text, *parsed))
}

fn is_whole(text: &[u8]) -> bool {
    text.strip_prefix(b"-").unwrap_or(text).iter().all(u8::is_ascii_digit)
}

/// A duration in seconds, `PT1.5S`, as units of this many digits.
fn duration(text: &[u8], digits: i8) -> Option<i64> {
    let (is_negative, text) = text.strip_prefix(b"-").map_or((false, text), |rest| (true, rest));
    if text == b"P0D" {
        // The text that arrow writes for a duration of zero.
        return Some(0);
    }
    let seconds = text.strip_prefix(b"PT")?.strip_suffix(b"S")?;
    let units = value::decimal128(seconds, MOST_DURATION_DIGITS, digits)?;
    i64::try_from(if is_negative { -units } else { units }).ok()
}

const MOST_DURATION_DIGITS: u8 = 38;

/// The kinds of values that a column parses.
#[derive(Debug, Clone, Copy)]
struct ParsedKinds {
    numbers: bool,
    texts: bool,
}

/// Values of a fixed width, each parsed from a text.
struct ScalarColumn<T: ArrowPrimitiveType, P> {
    builder: PrimitiveBuilder<T>,
    takes: ParsedKinds,
    parse: P,
}

impl<T: ArrowPrimitiveType, P: Fn(&[u8]) -> Option<T::Native> + Send + 'static> ScalarColumn<T, P> {
    fn boxed(data_type: &DataType, takes: ParsedKinds, parse: P) -> Box<dyn JsonColumn> {
        let builder = PrimitiveBuilder::new().with_data_type(data_type.clone());
        Box::new(Self { builder, takes, parse })
    }
}

impl<T: ArrowPrimitiveType, P: Fn(&[u8]) -> Option<T::Native> + Send> JsonColumn for ScalarColumn<T, P> {
    #[inline]
    fn append(&mut self, json: &mut Json<'_>, kind: JsonKind, place: &ColumnPath) -> Append {
        let before = json.clone();
        let parsed = match kind {
            JsonKind::Number if self.takes.numbers => (self.parse)(json.number()?.as_bytes()),
            JsonKind::Text if self.takes.texts => (self.parse)(json.text()?.as_bytes()),
            _ => return Err(place.misfit(json)),
        };
        match parsed {
            Some(value) => {
                self.builder.append_value(value);
                Ok(())
            }
            None => Err(place.misfit(&before)),
        }
    }

    fn append_null(&mut self) {
        self.builder.append_null();
    }

    fn finish(&mut self, rows: usize) -> Result<ArrayRef> {
        Ok(self.builder.finish().slice(0, rows).into_arc())
    }
}

/// Conversion of a finished array into a shared [`ArrayRef`].
trait IntoArc {
    fn into_arc(self) -> ArrayRef;
}

impl<A: Array + 'static> IntoArc for A {
    fn into_arc(self) -> ArrayRef {
        std::sync::Arc::new(self)
    }
}

#[derive(Default)]
struct JsonNullColumn(usize);

impl JsonColumn for JsonNullColumn {
    fn append(&mut self, json: &mut Json<'_>, _: JsonKind, place: &ColumnPath) -> Append {
        Err(place.misfit(json))
    }

    fn append_null(&mut self) {
        self.0 += 1;
    }

    fn finish(&mut self, rows: usize) -> Result<ArrayRef> {
        self.0 = 0;
        Ok(NullArray::new(rows).into_arc())
    }
}

#[derive(Default)]
struct JsonBooleanColumn(BooleanBuilder);

impl JsonColumn for JsonBooleanColumn {
    fn append(&mut self, json: &mut Json<'_>, kind: JsonKind, place: &ColumnPath) -> Append {
        if kind != JsonKind::Boolean {
            return Err(place.misfit(json));
        }
        self.0.append_value(json.boolean()?);
        Ok(())
    }

    fn append_null(&mut self) {
        self.0.append_null();
    }

    fn finish(&mut self, rows: usize) -> Result<ArrayRef> {
        Ok(self.0.finish().slice(0, rows).into_arc())
    }
}

/// Texts; in a column of the user's schema, also the texts of other values.
#[derive(Default)]
struct TextColumn(StringBuilder);

impl JsonColumn for TextColumn {
    #[inline]
    fn append(&mut self, json: &mut Json<'_>, kind: JsonKind, place: &ColumnPath) -> Append {
        if kind == JsonKind::Text {
            self.0.append_value(json.text()?);
            return Ok(());
        }
        if place.origin != ColumnOrigin::Given {
            return Err(place.misfit(json));
        }
        let before = json.clone();
        match std::str::from_utf8(json.skip()?) {
            Ok(text) => self.0.append_value(text),
            Err(_) => return Err(place.misfit(&before)),
        }
        Ok(())
    }

    fn append_null(&mut self) {
        self.0.append_null();
    }

    fn finish(&mut self, rows: usize) -> Result<ArrayRef> {
        Ok(self.0.finish().slice(0, rows).into_arc())
    }
}

/// Bytes as hexadecimal digits, two for each; 16 bytes also as the text of a UUID.
#[derive(Default)]
struct BytesColumn {
    builder: BinaryBuilder,
    bytes: Vec<u8>,
}

impl BytesColumn {
    fn parse(&mut self, text: &[u8], data_type: &DataType) -> Option<()> {
        if *data_type == DataType::FixedSizeBinary(16) {
            self.bytes = uuid_bytes(std::str::from_utf8(text).ok()?)?;
            return Some(());
        }
        let digit = |byte: u8| char::from(byte).to_digit(16).map(|digit| digit as u8);
        self.bytes.clear();
        for pair in text.chunks(2) {
            let [high, low] = pair else { return None };
            self.bytes.push((digit(*high)? << 4) | digit(*low)?);
        }
        match data_type {
            DataType::FixedSizeBinary(size) => (usize::try_from(*size) == Ok(self.bytes.len())).then_some(()),
            _ => Some(()),
        }
    }
}

impl JsonColumn for BytesColumn {
    fn append(&mut self, json: &mut Json<'_>, kind: JsonKind, place: &ColumnPath) -> Append {
        if kind != JsonKind::Text {
            return Err(place.misfit(json));
        }
        let before = json.clone();
        let text = json.text()?;
        match self.parse(text.as_bytes(), &place.data_type) {
            Some(()) => self.builder.append_value(&self.bytes),
            None => return Err(place.misfit(&before)),
        }
        Ok(())
    }

    fn append_null(&mut self) {
        self.builder.append_null();
    }

    fn finish(&mut self, rows: usize) -> Result<ArrayRef> {
        Ok(self.builder.finish().slice(0, rows).into_arc())
    }
}

/// Values of one type that are kept as another.
struct CastColumn {
    inner: Box<dyn JsonColumn>,
    to: DataType,
}

impl CastColumn {
    fn boxed(place: &ColumnPath, from: DataType) -> Result<Box<dyn JsonColumn>> {
        let inner = ColumnPath { data_type: from, ..place.clone() };
        let field = arrow::datatypes::Field::new("", inner.data_type.clone(), true);
        let slot = ColumnSlot::new(&field, inner.path, inner.origin)?;
        Ok(Box::new(Self { inner: slot.column, to: place.data_type.clone() }))
    }
}

impl JsonColumn for CastColumn {
    #[inline]
    fn append(
        &mut self,
        json: &mut Json<'_>,
        kind: JsonKind,
        place: &ColumnPath,
    ) -> std::result::Result<(), LineFault> {
        self.inner.append(json, kind, place)
    }

    fn append_null(&mut self) {
        self.inner.append_null();
    }

    fn finish(&mut self, rows: usize) -> Result<ArrayRef> {
        let array = self.inner.finish(rows)?;
        cast(&array, &self.to).map_err(Error::unexpected)
    }
}
