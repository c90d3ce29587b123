//! From key columns to keys.

use std::collections::HashSet;
use std::ops::Range;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, ArrowPrimitiveType, AsArray, BooleanArray, RecordBatch};
use arrow::buffer::NullBuffer;
use arrow::datatypes::{
    DataType, Date32Type, Date64Type, Decimal128Type, Int8Type, Int16Type, Int32Type, Int64Type, Schema,
    Time32MillisecondType, Time32SecondType, Time64MicrosecondType, Time64NanosecondType, TimeUnit,
    TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType, TimestampSecondType, UInt8Type,
    UInt16Type, UInt32Type, UInt64Type,
};
use arrow::row::{RowConverter, Rows, SortField};
use lakerace_format::predicate::{Bounds, ColumnRef, Value, array_of};
use lakerace_format::schema_text::print_type;
use lakerace_format::suggestions;
use lakerace_io::option::{KEY, SCHEMA, WHERE};
use lakerace_io::{Error, ErrorKind, Result};

use super::{ByteKeys, KeyList, Keys};

/// The columns whose values together name a row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct KeyColumns {
    columns: Vec<KeyColumn>,
    layout: KeyLayout,
    /// Each column except the first, separately.
    others: Vec<Self>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct KeyColumn {
    name: String,
    data_type: DataType,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum KeyLayout {
    Narrow,
    Wide,
    Bytes,
}

impl KeyColumns {
    /// The columns `names` of a table with this schema.
    ///
    /// Errors: `Usage` for no name or one given twice, `NotFound` for a column that does not exist, `Unsupported` for a
    /// column whose type has no equality that all engines agree on (floats) or none at all (nested).
    pub fn new(schema: &Schema, names: &[impl AsRef<str>]) -> Result<Self> {
        if names.is_empty() {
            return Err(Error::usage("no key column is given")
                .advice(format!("name the columns that together identify a row: {}", KEY.to("A,B"))));
        }
        let mut seen = HashSet::new();
        let mut columns = Vec::with_capacity(names.len());
        for name in names.iter().map(AsRef::as_ref) {
            if !seen.insert(name) {
                return Err(Error::usage(format!("the key column {name:?} is given twice")));
            }
            let field = schema.field_with_name(name).map_err(|_| {
                suggestions::column_not_found(name, schema.fields().iter().map(|field| field.name().as_str()))
            })?;
            let data_type = plain(field.data_type()).clone();
            if !is_supported(&data_type) {
                let message = format!("the column {name:?} of type {} can't be a key", print_type(&data_type));
                let advice = "keys are integers, decimals, dates, times, timestamps, booleans, strings and binaries";
                return Err(Error::unsupported(message).advice(advice));
            }
            columns.push(KeyColumn { name: name.to_owned(), data_type });
        }
        Ok(Self::from_columns(columns))
    }

    fn from_columns(columns: Vec<KeyColumn>) -> Self {
        let bits: Option<u32> = columns.iter().map(|column| bits(&column.data_type)).sum();
        let layout = match bits {
            Some(0..=64) => KeyLayout::Narrow,
            Some(65..=128) => KeyLayout::Wide,
            _ => KeyLayout::Bytes,
        };
        let others = columns.iter().skip(1).map(|column| Self::from_columns(vec![column.clone()])).collect();
        Self { columns, layout, others }
    }

    /// Each column except the first, separately.
    pub fn others(&self) -> &[Self] {
        &self.others
    }

    /// The values of each column but the first in some of these columns' keys, as keys of [`Self::others`].
    pub fn take_apart(&self, keys: &Keys, range: Range<usize>) -> Option<Vec<Keys>> {
        let widths: Option<Vec<u32>> = self.columns.iter().map(|column| bits(&column.data_type)).collect();
        match (keys, widths) {
            (Keys::Narrow(_) | Keys::Wide(_), Some(widths)) => Some(unpacked(keys, range, &widths)),
            (Keys::Bytes(_), _) => {
                let fields = self.columns.iter().map(|column| SortField::new(column.data_type.clone())).collect();
                let converter = RowConverter::new(fields).ok()?;
                let (parser, Keys::Bytes(rows)) = (converter.parser(), keys.slice(range)) else { return None };
                let rows = (0..rows.len()).map(|row| parser.parse(rows.key(row)));
                let arrays = converter.convert_rows(rows).ok()?;
                let others = self.others.iter().zip(arrays.into_iter().skip(1));
                others.map(|(column, array)| column.encode(&[Arc::clone(&array)], array.len()).ok()).collect()
            }
            _ => None,
        }
    }

    /// Their names, in the order given.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.columns.iter().map(|column| column.name.as_str())
    }

    /// No keys yet, to append to.
    pub fn no_keys(&self) -> Keys {
        match self.layout {
            KeyLayout::Narrow => Keys::Narrow(Vec::new()),
            KeyLayout::Wide => Keys::Wide(Vec::new()),
            KeyLayout::Bytes => Keys::Bytes(ByteKeys::default()),
        }
    }

    /// The keys of a batch, which has the key columns by name, in the types of the table (strings in any of Arrow's layouts).
    ///
    /// Errors: `Invalid` for a null, naming the row, counted from `first_row`, and the column; `Invalid` for a column that is
    /// missing or has another type.
    pub fn keys(&self, batch: &RecordBatch, first_row: u64) -> Result<Keys> {
        let arrays: Vec<ArrayRef> = self.columns.iter().map(|column| column.array(batch)).collect::<Result<_>>()?;
        for (column, array) in self.columns.iter().zip(&arrays) {
            column.check_nulls(array, first_row)?;
        }
        self.encode(&arrays, batch.num_rows())
    }

    /// Makes the keys of rows that may have nulls: those have any key, and are not valid.
    pub fn keys_and_nulls(&self, batch: &RecordBatch) -> Result<(Keys, Option<NullBuffer>)> {
        let arrays: Vec<ArrayRef> = self.columns.iter().map(|column| column.array(batch)).collect::<Result<_>>()?;
        let nulls = arrays.iter().fold(None, |nulls: Option<NullBuffer>, array| {
            NullBuffer::union(nulls.as_ref(), array.logical_nulls().filter(|nulls| nulls.null_count() > 0).as_ref())
        });
        Ok((self.encode(&arrays, batch.num_rows())?, nulls))
    }

    fn encode(&self, arrays: &[ArrayRef], rows: usize) -> Result<Keys> {
        match self.layout {
            KeyLayout::Narrow => Ok(Keys::Narrow(narrow(arrays, rows))),
            KeyLayout::Wide => Ok(Keys::Wide(wide(arrays, rows))),
            KeyLayout::Bytes => bytes(arrays).map(Keys::Bytes),
        }
    }

    /// The first key column, for statistics.
    pub fn first(&self) -> ColumnRef {
        let first = &self.columns[0];
        ColumnRef { root: 0, path: vec![first.name.clone()], data_type: first.data_type.clone() }
    }

    /// The range that the keys of rows are in whose first column has these bounds: lists of one key, no upper one where
    /// there is no end. `None` where the bounds say nothing.
    pub fn range(&self, bounds: &Bounds) -> Option<(Keys, Option<Keys>)> {
        let low = self.end(bounds.min.as_ref(), false);
        let high = self.end(bounds.max.as_ref(), true);
        match (low, high) {
            (None, None) => None,
            (low, high) => Some((low.or_else(|| self.least())?, high)),
        }
    }

    /// The least, or the largest, key of those that start with a value.
    fn end(&self, value: Option<&Value>, is_high: bool) -> Option<Keys> {
        let first = &self.columns[0];
        let value = value?;
        let array = array_of(std::slice::from_ref(value), &first.data_type).ok()?;
        // A bound that the type can't hold.
        if Value::from_array(&array, 0).as_ref() != Some(value) {
            return None;
        }
        let rest: u32 = self.columns[1..].iter().map(|column| bits(&column.data_type).unwrap_or(0)).sum();
        match self.layout {
            KeyLayout::Narrow => {
                let code = narrow(&[array], 1)[0].checked_shl(rest).unwrap_or(0);
                let below = 1u64.checked_shl(rest).map_or(u64::MAX, |one| one - 1);
                Some(Keys::Narrow(vec![if is_high { code | below } else { code }]))
            }
            KeyLayout::Wide => {
                let code = wide(&[array], 1)[0].checked_shl(rest).unwrap_or(0);
                let below = 1u128.checked_shl(rest).map_or(u128::MAX, |one| one - 1);
                Some(Keys::Wide(vec![if is_high { code | below } else { code }]))
            }
            KeyLayout::Bytes if self.columns.len() == 1 => bytes(&[array]).ok().map(Keys::Bytes),
            KeyLayout::Bytes => {
                let mut key = encoded_rows(&[array]).ok()?.row(0).data().to_vec();
                if is_high {
                    // More than the start of the next column's bytes.
                    key.push(u8::MAX);
                }
                Some(Keys::Bytes([key.as_slice()].into_iter().collect()))
            }
        }
    }

    /// A key that is not above any other.
    fn least(&self) -> Option<Keys> {
        Some(match self.layout {
            KeyLayout::Narrow => Keys::Narrow(vec![0]),
            KeyLayout::Wide => Keys::Wide(vec![0]),
            KeyLayout::Bytes => Keys::Bytes([&[][..]].into_iter().collect()),
        })
    }
}

impl KeyColumn {
    /// Its values in a batch, without dictionary.
    fn array(&self, batch: &RecordBatch) -> Result<ArrayRef> {
        let Some(array) = batch.column_by_name(&self.name) else {
            return Err(Error::invalid(format!("the rows do not have the key column {:?}", self.name)));
        };
        let data_type = plain(array.data_type());
        if !is_same(data_type, &self.data_type) {
            let message = format!(
                "the key column {:?} is {}, but {} in the table",
                self.name,
                print_type(data_type),
                print_type(&self.data_type)
            );
            return Err(Error::invalid(message).advice(format!(
                "give the rows the type that the table has; the types of CSV columns are set by {SCHEMA}"
            )));
        }
        match array.data_type() {
            DataType::Dictionary(..) => arrow::compute::cast(array, data_type).map_err(|error| {
                Error::from_source(ErrorKind::Invalid, error).at(format!("key column {:?}", self.name))
            }),
            _ => Ok(array.clone()),
        }
    }

    fn check_nulls(&self, array: &ArrayRef, first_row: u64) -> Result<()> {
        let Some(nulls) = array.logical_nulls().filter(|nulls| nulls.null_count() > 0) else { return Ok(()) };
        let row = (0..nulls.len()).find(|row| nulls.is_null(*row)).unwrap_or(0) as u64;
        let message = format!("the key column {:?} is null in row {}", self.name, first_row + row);
        Err(Error::invalid(message)
            .advice(format!("every row needs a key: exclude such rows with {WHERE} (a scan with where)")))
    }
}

/// The type of a column's values.
fn plain(data_type: &DataType) -> &DataType {
    match data_type {
        DataType::Dictionary(_, values) => values,
        other => other,
    }
}

/// Returns true if values of both types compare by the same bytes.
fn is_same(one: &DataType, other: &DataType) -> bool {
    use DataType::{Binary, BinaryView, LargeBinary, LargeUtf8, Timestamp, Utf8, Utf8View};
    match (one, other) {
        (Utf8 | LargeUtf8 | Utf8View, Utf8 | LargeUtf8 | Utf8View) => true,
        (Binary | LargeBinary | BinaryView, Binary | LargeBinary | BinaryView) => true,
        // The name of a zone doesn't change the instant.
        (Timestamp(unit, zone), Timestamp(other_unit, other_zone)) => {
            unit == other_unit && zone.is_some() == other_zone.is_some()
        }
        _ => one == other,
    }
}

fn is_supported(data_type: &DataType) -> bool {
    use DataType::{Binary, BinaryView, FixedSizeBinary, LargeBinary, LargeUtf8, Utf8, Utf8View};
    matches!(data_type, Utf8 | LargeUtf8 | Utf8View | Binary | LargeBinary | BinaryView | FixedSizeBinary(_))
        || bits(data_type).is_some()
}

/// The width of a type's values. `None` for types without a fixed one.
fn bits(data_type: &DataType) -> Option<u32> {
    use DataType::{
        Boolean, Date32, Date64, Decimal128, Int8, Int16, Int32, Int64, Time32, Time64, Timestamp, UInt8, UInt16,
        UInt32, UInt64,
    };
    match data_type {
        Boolean => Some(1),
        Int8 | UInt8 => Some(8),
        Int16 | UInt16 => Some(16),
        Int32 | UInt32 | Date32 | Time32(_) => Some(32),
        Int64 | UInt64 | Date64 | Time64(_) | Timestamp(..) => Some(64),
        Decimal128(..) => Some(128),
        _ => None,
    }
}

/// The columns except the first, of keys that are packed with so many bits per column.
fn unpacked(keys: &Keys, range: Range<usize>, widths: &[u32]) -> Vec<Keys> {
    let part = |at: usize| {
        let shift: u32 = widths[at + 1..].iter().sum();
        let mask = 1u128.checked_shl(widths[at]).map_or(u128::MAX, |one| one - 1);
        match keys {
            Keys::Narrow(keys) => {
                Keys::Narrow(keys[range.clone()].iter().map(|key| (key >> shift) & mask as u64).collect())
            }
            Keys::Wide(keys) => {
                Keys::Narrow(keys[range.clone()].iter().map(|key| ((key >> shift) & mask) as u64).collect())
            }
            Keys::Bytes(_) => Keys::Narrow(Vec::new()),
        }
    };
    (1..widths.len()).map(part).collect()
}

fn narrow(arrays: &[ArrayRef], rows: usize) -> Vec<u64> {
    if let [array] = arrays
        && let Some(values) = array.as_primitive_opt::<Int64Type>()
    {
        return values.values().iter().map(|value| *value as u64 ^ (1 << 63)).collect();
    }
    let mut keys = vec![0u64; rows];
    for array in arrays {
        let shift = bits(array.data_type()).unwrap_or(64);
        for_each(array, |row, value| {
            let before = keys[row].checked_shl(shift).unwrap_or(0);
            keys[row] = before | value as u64;
        });
    }
    keys
}

fn wide(arrays: &[ArrayRef], rows: usize) -> Vec<u128> {
    let mut keys = vec![0u128; rows];
    for array in arrays {
        let shift = bits(array.data_type()).unwrap_or(128);
        for_each(array, |row, value| keys[row] = keys[row].checked_shl(shift).unwrap_or(0) | value);
    }
    keys
}

/// Calls `each` with every row and its value as an unsigned number of the same order, in the type's own width.
fn for_each(array: &ArrayRef, each: impl FnMut(usize, u128)) {
    use DataType::{
        Boolean, Date32, Date64, Decimal128, Int8, Int16, Int32, Int64, Time32, Time64, Timestamp, UInt8, UInt16,
        UInt32, UInt64,
    };
    match array.data_type() {
        Boolean => for_each_boolean(array.as_boolean(), each),
        UInt8 => values::<UInt8Type>(array, u128::from, each),
        UInt16 => values::<UInt16Type>(array, u128::from, each),
        UInt32 => values::<UInt32Type>(array, u128::from, each),
        UInt64 => values::<UInt64Type>(array, u128::from, each),
        Int8 => values::<Int8Type>(array, |v| u128::from(v as u8 ^ (1 << 7)), each),
        Int16 => values::<Int16Type>(array, |v| u128::from(v as u16 ^ (1 << 15)), each),
        Int32 => values::<Int32Type>(array, of_i32, each),
        Int64 => values::<Int64Type>(array, of_i64, each),
        Date32 => values::<Date32Type>(array, of_i32, each),
        Date64 => values::<Date64Type>(array, of_i64, each),
        Time32(TimeUnit::Second) => values::<Time32SecondType>(array, of_i32, each),
        Time32(_) => values::<Time32MillisecondType>(array, of_i32, each),
        Time64(TimeUnit::Microsecond) => values::<Time64MicrosecondType>(array, of_i64, each),
        Time64(_) => values::<Time64NanosecondType>(array, of_i64, each),
        Timestamp(TimeUnit::Second, _) => values::<TimestampSecondType>(array, of_i64, each),
        Timestamp(TimeUnit::Millisecond, _) => values::<TimestampMillisecondType>(array, of_i64, each),
        Timestamp(TimeUnit::Microsecond, _) => values::<TimestampMicrosecondType>(array, of_i64, each),
        Timestamp(TimeUnit::Nanosecond, _) => values::<TimestampNanosecondType>(array, of_i64, each),
        Decimal128(..) => values::<Decimal128Type>(array, |v| v as u128 ^ (1 << 127), each),
        // Other types have no fixed width and do not occur here.
        _ => debug_assert!(false, "{} has no fixed width", array.data_type()),
    }
}

fn of_i32(value: i32) -> u128 {
    u128::from(value as u32 ^ (1 << 31))
}

fn of_i64(value: i64) -> u128 {
    u128::from(value as u64 ^ (1 << 63))
}

fn values<T: ArrowPrimitiveType>(
    array: &ArrayRef,
    ordered: impl Fn(T::Native) -> u128,
    mut each: impl FnMut(usize, u128),
) {
    for (row, value) in array.as_primitive::<T>().values().iter().enumerate() {
        each(row, ordered(*value));
    }
}

fn for_each_boolean(array: &BooleanArray, mut each: impl FnMut(usize, u128)) {
    for (row, value) in array.values().iter().enumerate() {
        each(row, u128::from(value));
    }
}

/// Uses the bytes of a single string or binary column directly, and encodes several columns in Arrow's row format.
fn bytes(arrays: &[ArrayRef]) -> Result<ByteKeys> {
    if let [array] = arrays
        && let Some(keys) = plain_bytes(array)
    {
        return Ok(keys);
    }
    Ok(encoded_rows(arrays)?.iter().map(|row| row.data()).collect())
}

/// Columns in Arrow's row format.
fn encoded_rows(arrays: &[ArrayRef]) -> Result<Rows> {
    let fields = arrays.iter().map(|array| SortField::new(array.data_type().clone())).collect();
    RowConverter::new(fields)
        .and_then(|converter| converter.convert_columns(arrays))
        .map_err(|error| Error::internal("keys can't be encoded").because(error))
}

fn plain_bytes(array: &ArrayRef) -> Option<ByteKeys> {
    let rows = array.len();
    let collect = |total: usize, keys: &mut dyn Iterator<Item = &[u8]>| {
        let mut all = ByteKeys::with_capacity(rows, total);
        keys.for_each(|key| all.push(key));
        all
    };
    // The value under a null is a key like others: no one looks for it.
    Some(match array.data_type() {
        DataType::Utf8 => {
            let array = array.as_string::<i32>();
            let total = (array.value_offsets()[rows] - array.value_offsets()[0]) as usize;
            collect(total, &mut (0..rows).map(|row| array.value(row).as_bytes()))
        }
        DataType::LargeUtf8 => {
            let array = array.as_string::<i64>();
            let total = (array.value_offsets()[rows] - array.value_offsets()[0]) as usize;
            collect(total, &mut (0..rows).map(|row| array.value(row).as_bytes()))
        }
        DataType::Binary => {
            let array = array.as_binary::<i32>();
            let total = (array.value_offsets()[rows] - array.value_offsets()[0]) as usize;
            collect(total, &mut (0..rows).map(|row| array.value(row)))
        }
        DataType::LargeBinary => {
            let array = array.as_binary::<i64>();
            let total = (array.value_offsets()[rows] - array.value_offsets()[0]) as usize;
            collect(total, &mut (0..rows).map(|row| array.value(row)))
        }
        DataType::Utf8View => {
            let array = array.as_string_view();
            collect(
                array.lengths().map(|len| len as usize).sum(),
                &mut (0..rows).map(|row| array.value(row).as_bytes()),
            )
        }
        DataType::BinaryView => {
            let array = array.as_binary_view();
            collect(array.lengths().map(|len| len as usize).sum(), &mut (0..rows).map(|row| array.value(row)))
        }
        _ => return None,
    })
}
