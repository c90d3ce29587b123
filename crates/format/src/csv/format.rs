//! Batches as text: rows of fields, quoted where needed.

use arrow::array::cast::AsArray;
use arrow::array::types::{
    Date32Type, Date64Type, Decimal32Type, Decimal64Type, Decimal128Type, Decimal256Type, Float16Type, Float32Type,
    Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, Time32MillisecondType, Time32SecondType,
    Time64MicrosecondType, Time64NanosecondType, TimestampMicrosecondType, TimestampMillisecondType,
    TimestampNanosecondType, TimestampSecondType, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow::array::{
    AnyDictionaryArray, Array, ArrayRef, ArrowPrimitiveType, ByteView, MAX_INLINE_VIEW_LEN, StringArray,
    StringViewArray,
};
use arrow::datatypes::{DataType, Schema, TimeUnit};
use arrow::record_batch::RecordBatch;
use lakerace_io::option::{COLUMNS, FLATTEN, OUTPUT_DELIMITER};
use lakerace_io::{Error, Result};

use super::print;
use super::rules::DialectRules;
use crate::prefetch;
use crate::schema_text::{print_field_type, print_type};
use crate::uuids::with_uuid_texts;

/// The number of rows ahead for which texts anywhere in memory are prefetched.
const AHEAD: usize = 16;

/// A property of a value that text can't hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum UnfitValue {
    /// It would need quotes, which the dialect does not have.
    NeedsQuotes,
    /// The value is not a time of day.
    NotATime,
}

/// Appends one row's value of a column to the text; it is not called for null values.
type Print<'a> = Box<dyn Fn(usize, &mut Vec<u8>) -> Result<(), UnfitValue> + 'a>;

/// The conversion of batches to text, which all threads of a sink share.
#[derive(Debug)]
pub(super) struct BatchFormatter {
    rules: DialectRules,
    /// Bytes that a field needs quotes for.
    special: [bool; 256],
    /// A value other than text may need quotes: the delimiter occurs in numbers, or a null string may be one.
    check_all: bool,
}

impl BatchFormatter {
    pub fn new(rules: DialectRules) -> Self {
        let mut special = [false; 256];
        for byte in [Some(rules.delimiter), rules.quote, Some(b'\n'), Some(b'\r')].into_iter().flatten() {
            special[usize::from(byte)] = true;
        }
        let in_values = b"0123456789+-.:TZeinfNatrulsy";
        let check_all = !rules.nulls.only_empty || in_values.iter().any(|b| special[usize::from(*b)]);
        Self { rules, special, check_all }
    }

    /// The line of names, where the dialect has one.
    pub fn header(&self, schema: &Schema) -> Result<Vec<u8>> {
        let mut out = Vec::new();
        if !self.rules.header {
            return Ok(out);
        }
        for (i, field) in schema.fields().iter().enumerate() {
            if i > 0 {
                out.push(self.rules.delimiter);
            }
            self.text(field.name().as_bytes(), &mut out).map_err(|_| {
                Error::invalid(format!("the name of column {:?} can't be written without quotes", field.name()))
                    .advice(format!("rename the column, or choose another delimiter with {OUTPUT_DELIMITER}"))
            })?;
        }
        self.end_row(&mut out);
        Ok(out)
    }

    /// Appends all rows of a batch. `first_row` is the number of its first row in the file, from 1.
    pub fn rows(&self, batch: &RecordBatch, first_row: u64, out: &mut Vec<u8>) -> Result<()> {
        let batch = &with_uuid_texts(batch.clone())?;
        let arrays = batch.columns().iter().map(plain).collect::<Result<Vec<_>>>()?;
        let columns = arrays.iter().map(|a| self.printer(a.as_ref())).collect::<Result<Vec<_>>>()?;
        let nulls: Vec<_> = arrays.iter().map(|a| a.logical_nulls()).collect();
        let null = self.rules.nulls.first();
        for row in 0..batch.num_rows() {
            for (i, (print, nulls)) in columns.iter().zip(&nulls).enumerate() {
                if i > 0 {
                    out.push(self.rules.delimiter);
                }
                if nulls.as_ref().is_some_and(|n| n.is_null(row)) {
                    out.extend_from_slice(null);
                } else if let Err(unfit) = print(row, out) {
                    return Err(self.unfit(unfit, batch, i, first_row + row as u64));
                }
            }
            self.end_row(out);
        }
        Ok(())
    }

    fn end_row(&self, out: &mut Vec<u8>) {
        if self.rules.terminated {
            out.push(self.rules.delimiter);
        }
        out.push(b'\n');
    }

    /// A text, in quotes if it would otherwise be read as something else.
    fn text(&self, text: &[u8], out: &mut Vec<u8>) -> Result<(), UnfitValue> {
        let special = self.has_special(text);
        match self.rules.quote {
            None if special => Err(UnfitValue::NeedsQuotes),
            Some(quote) if special || text.is_empty() || self.rules.nulls.contains(text) => {
                self.quoted(text, quote, out);
                Ok(())
            }
            _ => {
                out.extend_from_slice(text);
                Ok(())
            }
        }
    }

    #[inline]
    fn has_special(&self, text: &[u8]) -> bool {
        if text.len() <= 24 {
            return text.iter().any(|b| self.special[usize::from(*b)]);
        }
        let quote = self.rules.quote.unwrap_or(self.rules.delimiter);
        memchr::memchr3(self.rules.delimiter, quote, b'\n', text).is_some() || memchr::memchr(b'\r', text).is_some()
    }

    fn quoted(&self, text: &[u8], quote: u8, out: &mut Vec<u8>) {
        let escape = self.rules.escape.unwrap_or(quote);
        out.push(quote);
        for byte in text {
            if *byte == quote || Some(*byte) == self.rules.escape {
                out.push(escape);
            }
            out.push(*byte);
        }
        out.push(quote);
    }

    /// The printer for the values of an array.
    fn printer<'a>(&'a self, array: &'a dyn Array) -> Result<Print<'a>> {
        if let Some(keyed) = array.as_any_dictionary_opt() {
            return self.dictionary_printer(keyed);
        }
        let print = match self.text_printer(array) {
            Some(print) => return Ok(print),
            None => value_printer(array)?,
        };
        if !self.check_all {
            return Ok(print);
        }
        Ok(Box::new(move |row, out| {
            let from = out.len();
            print(row, out)?;
            let value = out.split_off(from);
            self.text(&value, out)
        }))
    }

    /// Each text of a dictionary is made once, quotes included.
    fn dictionary_printer<'a>(&'a self, array: &dyn AnyDictionaryArray) -> Result<Print<'a>> {
        let values = plain(array.values())?;
        let print = self.printer(values.as_ref())?;
        let text = |value| {
            let mut text = Vec::new();
            // A value that can't be printed is an error in its rows.
            print(value, &mut text).map(|()| text)
        };
        let texts: Vec<_> = (0..values.len()).map(text).collect();
        // Without values, all rows are null, and their keys are not used.
        let keys = if texts.is_empty() { Vec::new() } else { array.normalized_keys() };
        Ok(Box::new(move |row, out| {
            let text = texts[keys[row]].as_ref().map_err(|unfit| *unfit)?;
            out.extend_from_slice(text);
            Ok(())
        }))
    }

    fn text_printer<'a>(&'a self, array: &'a dyn Array) -> Option<Print<'a>> {
        Some(match array.data_type() {
            DataType::Utf8 => {
                let array = array.as_string::<i32>();
                Box::new(move |row, out| self.text(array.value(row).as_bytes(), out))
            }
            DataType::LargeUtf8 => {
                let array = array.as_string::<i64>();
                Box::new(move |row, out| self.text(array.value(row).as_bytes(), out))
            }
            DataType::Utf8View => {
                let array = array.as_string_view();
                if array.data_buffers().len() <= 1 {
                    // The texts are usually consecutive.
                    return Some(Box::new(move |row, out| self.text(array.value(row).as_bytes(), out)));
                }
                Box::new(move |row, out| {
                    fetch(array, row + AHEAD);
                    self.text(array.value(row).as_bytes(), out)
                })
            }
            _ => return None,
        })
    }

    fn unfit(&self, unfit: UnfitValue, batch: &RecordBatch, column: usize, row: u64) -> Error {
        let schema = batch.schema();
        let place = format!("row {row}, column {:?}", schema.field(column).name());
        match unfit {
            UnfitValue::NeedsQuotes => {
                let delimiter = char::from(self.rules.delimiter);
                Error::invalid(format!("text with {delimiter:?} or a line end can't be written without quotes"))
                    .at(place)
                    .advice(format!("write CSV, which has quotes, or choose another delimiter with {OUTPUT_DELIMITER}"))
            }
            UnfitValue::NotATime => Error::invalid("the value is not a time of day").at(place),
        }
    }
}

/// Checks that text can hold every column.
///
/// # Errors
/// `Unsupported`, naming the first column that it can't.
pub(super) fn check_types(schema: &Schema) -> Result<()> {
    if schema.fields().is_empty() {
        return Err(Error::unsupported("a table without columns can't be written as text"));
    }
    for field in schema.fields() {
        if is_printable(field.data_type()) {
            continue;
        }
        let name = print_field_type(field);
        let advice = match field.data_type() {
            DataType::Struct(_) => {
                format!(
                    "exclude it with {COLUMNS}, write its fields as columns with {}, or write Parquet",
                    FLATTEN.given()
                )
            }
            t if t.is_binary() => {
                format!("exclude it with {COLUMNS}, convert it to text (base64, hex) first, or write Parquet")
            }
            _ => format!("exclude it with {COLUMNS}, or write Parquet"),
        };
        return Err(Error::unsupported(format!("column {:?} of type {name} can't be written as text", field.name()))
            .advice(advice));
    }
    Ok(())
}

fn is_printable(data_type: &DataType) -> bool {
    match data_type {
        DataType::Dictionary(_, value) => is_printable(value),
        DataType::RunEndEncoded(_, value) => is_printable(value.data_type()),
        DataType::Duration(_) | DataType::Interval(_) => false,
        other => other.is_primitive() || other.is_string() || matches!(other, DataType::Null | DataType::Boolean),
    }
}

/// Prefetches the text of a row into the cache, if the row exists.
#[inline]
fn fetch(array: &StringViewArray, row: usize) {
    if let Some(view) = array.views().get(row).map(|view| ByteView::from(*view))
        && view.length > MAX_INLINE_VIEW_LEN
        && let Some(buffer) = array.data_buffers().get(view.buffer_index as usize)
    {
        let (start, length) = (view.offset as usize, view.length as usize);
        [start, start + length - 1].into_iter().filter_map(|at| buffer.get(at)).for_each(prefetch);
    }
}

/// Runs as plain values, and dictionaries whose values hardly repeat.
fn plain(array: &ArrayRef) -> Result<ArrayRef> {
    let value_type = match array.data_type() {
        DataType::Dictionary(_, _) if is_short(array) => return Ok(ArrayRef::clone(array)),
        DataType::Dictionary(_, value) => value.as_ref(),
        DataType::RunEndEncoded(_, value) => value.data_type(),
        _ => return Ok(ArrayRef::clone(array)),
    };
    let value_type = value_type.clone();
    let values = arrow::compute::cast(array, &value_type)
        .map_err(|e| Error::internal("the values of a dictionary could not be looked up").because(e))?;
    plain(&values)
}

/// Returns true if a dictionary has fewer values than rows.
fn is_short(array: &dyn Array) -> bool {
    array.as_any_dictionary_opt().is_some_and(|keyed| keyed.values().len() < array.len())
}

fn primitive<'a, T: ArrowPrimitiveType>(
    array: &'a dyn Array,
    print: impl Fn(T::Native, &mut Vec<u8>) + 'a,
) -> Print<'a> {
    let values = array.as_primitive::<T>().values();
    Box::new(move |row, out| {
        print(values[row], out);
        Ok(())
    })
}

fn time_of_day<'a, T: ArrowPrimitiveType>(array: &'a dyn Array, unit: TimeUnit) -> Print<'a>
where
    T::Native: Into<i64>,
{
    let values = array.as_primitive::<T>().values();
    Box::new(move |row, out| {
        let value = values[row].into();
        if !print::is_time_of_day(value, unit) {
            return Err(UnfitValue::NotATime);
        }
        print::time(value, unit, out);
        Ok(())
    })
}

/// The texts of days and timestamps of any year, as CSV has them; `None` for columns of other types. The arrow crate has none
/// for years beyond those of its calendar.
///
/// ```
/// use arrow::array::Date32Array;
/// use lakerace_format::csv::moment_texts;
/// let texts = moment_texts(&Date32Array::from(vec![i32::MAX, 0])).unwrap();
/// assert_eq!([texts.value(0), texts.value(1)], ["+5881580-07-11", "1970-01-01"]);
/// ```
pub fn moment_texts(array: &dyn Array) -> Option<StringArray> {
    if !matches!(array.data_type(), DataType::Date32 | DataType::Date64 | DataType::Timestamp(..)) {
        return None;
    }
    let print = value_printer(array).ok()?;
    let text = |row| {
        let mut text = Vec::new();
        print(row, &mut text).ok()?;
        String::from_utf8(text).ok()
    };
    Some((0..array.len()).map(|row| array.is_valid(row).then(|| text(row)).flatten()).collect())
}

fn value_printer<'a>(array: &'a dyn Array) -> Result<Print<'a>> {
    use TimeUnit::{Microsecond, Millisecond, Nanosecond, Second};
    macro_rules! signed {
        ($type:ty) => {
            primitive::<$type>(array, |n, out| print::signed(n.into(), out))
        };
    }
    macro_rules! unsigned {
        ($type:ty) => {
            primitive::<$type>(array, |n, out| print::unsigned(n.into(), out))
        };
    }
    macro_rules! timestamp {
        ($type:ty, $unit:expr, $zone:expr) => {{
            let is_instant = $zone.is_some();
            primitive::<$type>(array, move |n, out| print::timestamp(n, $unit, is_instant, out))
        }};
    }
    macro_rules! decimal {
        ($type:ty, $scale:expr) => {{
            let scale = $scale;
            primitive::<$type>(array, move |n, out| print::decimal128(n.into(), scale, out))
        }};
    }
    Ok(match array.data_type() {
        DataType::Null => Box::new(|_, _| Ok(())),
        DataType::Boolean => {
            let array = array.as_boolean();
            Box::new(move |row, out| {
                out.extend_from_slice(if array.value(row) { b"true" } else { b"false" });
                Ok(())
            })
        }
        DataType::Int8 => signed!(Int8Type),
        DataType::Int16 => signed!(Int16Type),
        DataType::Int32 => signed!(Int32Type),
        DataType::Int64 => signed!(Int64Type),
        DataType::UInt8 => unsigned!(UInt8Type),
        DataType::UInt16 => unsigned!(UInt16Type),
        DataType::UInt32 => unsigned!(UInt32Type),
        DataType::UInt64 => unsigned!(UInt64Type),
        DataType::Float16 => primitive::<Float16Type>(array, |n, out| print::float32(n.to_f32(), out)),
        DataType::Float32 => primitive::<Float32Type>(array, print::float32),
        DataType::Float64 => primitive::<Float64Type>(array, print::float64),
        DataType::Decimal32(_, s) => decimal!(Decimal32Type, *s),
        DataType::Decimal64(_, s) => decimal!(Decimal64Type, *s),
        DataType::Decimal128(_, s) => decimal!(Decimal128Type, *s),
        DataType::Decimal256(_, s) => {
            let scale = *s;
            primitive::<Decimal256Type>(array, move |n, out| print::decimal256(n, scale, out))
        }
        DataType::Date32 => primitive::<Date32Type>(array, |n, out| print::date(n.into(), out)),
        DataType::Date64 => primitive::<Date64Type>(array, |n, out| print::timestamp(n, Millisecond, false, out)),
        DataType::Time32(Second) => time_of_day::<Time32SecondType>(array, Second),
        DataType::Time32(_) => time_of_day::<Time32MillisecondType>(array, Millisecond),
        DataType::Time64(Microsecond) => time_of_day::<Time64MicrosecondType>(array, Microsecond),
        DataType::Time64(_) => time_of_day::<Time64NanosecondType>(array, Nanosecond),
        DataType::Timestamp(Second, zone) => timestamp!(TimestampSecondType, Second, zone),
        DataType::Timestamp(Millisecond, zone) => timestamp!(TimestampMillisecondType, Millisecond, zone),
        DataType::Timestamp(Microsecond, zone) => timestamp!(TimestampMicrosecondType, Microsecond, zone),
        DataType::Timestamp(Nanosecond, zone) => timestamp!(TimestampNanosecondType, Nanosecond, zone),
        other => {
            return Err(Error::internal(format!("a column of type {} was accepted for text", print_type(other))));
        }
    })
}
