//! Columns of a batch as elements of BSON, written from the arrays into a byte buffer.

use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, AsArray, BinaryArray, BinaryViewArray, BooleanArray, FixedSizeBinaryArray, FixedSizeListArray,
    LargeBinaryArray, LargeStringArray, PrimitiveArray, StringArray, StringViewArray,
};
use arrow::buffer::{NullBuffer, OffsetBuffer};
use arrow::compute::cast;
use arrow::datatypes::{
    DataType, Date32Type, Date64Type, Decimal128Type, Decimal256Type, Field, Fields, Float64Type, Int32Type, Int64Type,
    TimeUnit, UInt64Type, i256,
};
use lakerace_format::schema_text::{print_field_type, print_type};
use lakerace_io::{Error, ErrorKind, Result};

use super::decimal;
use super::elements as kind;
use super::tag::{self, TextTag};

const DAY_MS: i64 = 86_400_000;

/// A value that BSON can't hold: the field, and why.
#[derive(Debug)]
pub(super) struct BsonMisfit {
    pub field: String,
    pub reason: &'static str,
}

type Fits<T = ()> = std::result::Result<T, BsonMisfit>;

/// How values become BSON.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct BsonEncoding {
    /// Microseconds and nanoseconds are cut to milliseconds.
    pub allows_narrowing: bool,
    /// Null fields are left out.
    pub skips_nulls: bool,
}

/// A column that is written as an element of its name.
pub(super) struct DocumentColumn {
    /// The name with the zero at its end.
    name: Vec<u8>,
    nulls: Option<NullBuffer>,
    values: ColumnValues,
    encoding: BsonEncoding,
}

enum ColumnValues {
    Null,
    Boolean(BooleanArray),
    Int32(PrimitiveArray<Int32Type>),
    Int64(PrimitiveArray<Int64Type>),
    UInt64(PrimitiveArray<UInt64Type>),
    Double(PrimitiveArray<Float64Type>),
    Decimal128(PrimitiveArray<Decimal128Type>, i32),
    Decimal256(PrimitiveArray<Decimal256Type>, i32),
    Date32(PrimitiveArray<Date32Type>),
    /// A count of units. A millisecond has `per_ms` of them, or a unit has `ms_each` milliseconds.
    Instant {
        values: PrimitiveArray<Int64Type>,
        per_ms: i64,
        ms_each: i64,
    },
    Text(StringArray),
    LargeText(LargeStringArray),
    TextView(StringViewArray),
    Tagged(StringArray, TextTag),
    Binary(BinaryArray, u8),
    LargeBinary(LargeBinaryArray, u8),
    BinaryView(BinaryViewArray, u8),
    FixedBinary(FixedSizeBinaryArray, u8),
    List(OffsetBuffer<i32>, Box<DocumentColumn>),
    LargeList(OffsetBuffer<i64>, Box<DocumentColumn>),
    FixedList(FixedSizeListArray, Box<DocumentColumn>),
    Struct(Vec<DocumentColumn>),
    Map(OffsetBuffer<i32>, StringArray, Box<DocumentColumn>),
}

/// Refuses types that no document can hold, and names that can't be written.
pub(super) fn check_fields(fields: &Fields, path: &str) -> Result<()> {
    for (index, field) in fields.iter().enumerate() {
        let path = if path.is_empty() { field.name().clone() } else { format!("{path}.{}", field.name()) };
        if field.name().contains('\0') {
            return Err(Error::unsupported(format!("the column {path:?} has a NUL character in its name"))
                .advice("rename the column"));
        }
        if fields[..index].iter().any(|other| other.name() == field.name()) {
            return Err(Error::unsupported(format!(
                "two columns are named {path:?}, but a document can have a field only once"
            ))
            .advice("rename one of them"));
        }
        check_type(field, &path)?;
    }
    Ok(())
}

fn check_type(field: &Field, path: &str) -> Result<()> {
    match field.data_type() {
        DataType::Struct(fields) => check_fields(fields, path),
        DataType::List(item)
        | DataType::LargeList(item)
        | DataType::ListView(item)
        | DataType::LargeListView(item)
        | DataType::FixedSizeList(item, _) => check_type(item, path),
        DataType::Map(entries, _) => match entries.data_type() {
            DataType::Struct(fields) if fields.len() == 2 && is_text(fields[0].data_type()) => {
                check_type(&fields[1], path)
            }
            _ => Err(Error::unsupported(format!("the keys of the map {path:?} are not text, but field names are"))
                .advice("convert it to a list of structs")),
        },
        DataType::Dictionary(_, value) => check_type(&Field::new("", value.as_ref().clone(), true), path),
        DataType::RunEndEncoded(_, value) => check_type(value, path),
        DataType::Interval(_) | DataType::Union(..) => Err(Error::unsupported(format!(
            "MongoDB has no type for the column {path:?} ({})",
            print_field_type(field)
        ))
        .advice("omit the column, or give it another type")),
        _ => Ok(()),
    }
}

fn is_text(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View)
}

impl DocumentColumn {
    /// A column of a batch.
    pub(super) fn new(field: &Field, array: &ArrayRef, encoding: BsonEncoding) -> Result<Self> {
        let array = &plain(array)?;
        let mut name = field.name().as_bytes().to_vec();
        name.push(0);
        let nulls = array.logical_nulls().filter(|nulls| nulls.null_count() > 0);
        let values = ColumnValues::new(field, array, encoding)?;
        Ok(Self { name, nulls, values, encoding })
    }

    /// The name, without the zero.
    pub(super) fn name(&self) -> &[u8] {
        &self.name[..self.name.len() - 1]
    }

    #[inline]
    pub(super) fn is_null(&self, row: usize) -> bool {
        matches!(self.values, ColumnValues::Null) || self.nulls.as_ref().is_some_and(|nulls| nulls.is_null(row))
    }

    /// Writes type, name and value.
    #[inline]
    pub(super) fn write(&self, out: &mut Vec<u8>, row: usize) -> Fits {
        if self.is_null(row) {
            if !self.encoding.skips_nulls {
                out.push(kind::NULL);
                out.extend_from_slice(&self.name);
            }
            return Ok(());
        }
        self.write_named(out, &self.name, row)
    }

    /// Writes a value that is not null under another name, which has a zero at its end.
    #[inline]
    pub(super) fn write_named(&self, out: &mut Vec<u8>, name: &[u8], row: usize) -> Fits {
        let start = out.len();
        out.push(0);
        out.extend_from_slice(name);
        out[start] = self.values.write(out, row, self.encoding).map_err(|misfit| self.within(misfit))?;
        Ok(())
    }

    fn within(&self, mut misfit: BsonMisfit) -> BsonMisfit {
        let name = String::from_utf8_lossy(self.name());
        misfit.field = if misfit.field.is_empty() { name.into_owned() } else { format!("{name}.{}", misfit.field) };
        misfit
    }
}

/// The array in one of the layouts that [`ColumnValues`] has.
fn plain(array: &ArrayRef) -> Result<ArrayRef> {
    let to = match array.data_type() {
        DataType::Int8 | DataType::Int16 | DataType::UInt8 | DataType::UInt16 => DataType::Int32,
        DataType::UInt32 => DataType::Int64,
        DataType::Float16 | DataType::Float32 => DataType::Float64,
        DataType::Decimal32(precision, scale) | DataType::Decimal64(precision, scale) => {
            DataType::Decimal128(*precision, *scale)
        }
        DataType::Time32(_) => DataType::Int32,
        DataType::Time64(_) | DataType::Duration(_) => DataType::Int64,
        DataType::Dictionary(_, value) => value.as_ref().clone(),
        DataType::RunEndEncoded(_, value) => value.data_type().clone(),
        DataType::ListView(item) => DataType::List(Arc::clone(item)),
        DataType::LargeListView(item) => DataType::LargeList(Arc::clone(item)),
        _ => return Ok(Arc::clone(array)),
    };
    plain(&cast(array, &to).map_err(Error::unexpected)?)
}

impl ColumnValues {
    fn new(field: &Field, array: &ArrayRef, encoding: BsonEncoding) -> Result<Self> {
        let column = |field: &Field, array: &ArrayRef| DocumentColumn::new(field, array, encoding);
        let subtype = tag::binary_subtype(field);
        Ok(match array.data_type() {
            DataType::Null => Self::Null,
            DataType::Boolean => Self::Boolean(array.as_boolean().clone()),
            DataType::Int32 => Self::Int32(array.as_primitive().clone()),
            DataType::Int64 => Self::Int64(array.as_primitive().clone()),
            DataType::UInt64 => Self::UInt64(array.as_primitive().clone()),
            DataType::Float64 => Self::Double(array.as_primitive().clone()),
            DataType::Decimal128(_, scale) => Self::Decimal128(array.as_primitive().clone(), i32::from(*scale)),
            DataType::Decimal256(_, scale) => Self::Decimal256(array.as_primitive().clone(), i32::from(*scale)),
            DataType::Date32 => Self::Date32(array.as_primitive().clone()),
            DataType::Date64 => {
                let values = array.as_primitive::<Date64Type>().reinterpret_cast();
                Self::Instant { values, per_ms: 1, ms_each: 1 }
            }
            DataType::Timestamp(unit, _) => {
                let (per_ms, ms_each) = match unit {
                    TimeUnit::Second => (1, 1000),
                    TimeUnit::Millisecond => (1, 1),
                    TimeUnit::Microsecond => (1000, 1),
                    TimeUnit::Nanosecond => (1_000_000, 1),
                };
                let values = cast(array, &DataType::Int64).map_err(Error::unexpected)?;
                Self::Instant { values: values.as_primitive().clone(), per_ms, ms_each }
            }
            DataType::Utf8 => match TextTag::from_field(field) {
                Some(tag) => Self::Tagged(array.as_string().clone(), tag),
                None => Self::Text(array.as_string().clone()),
            },
            DataType::LargeUtf8 | DataType::Utf8View if TextTag::from_field(field).is_some() => {
                let text =
                    cast(array, &DataType::Utf8).map_err(|error| Error::from_source(ErrorKind::Unsupported, error))?;
                return Self::new(field, &text, encoding);
            }
            DataType::LargeUtf8 => Self::LargeText(array.as_string().clone()),
            DataType::Utf8View => Self::TextView(array.as_string_view().clone()),
            DataType::Binary => Self::Binary(array.as_binary().clone(), subtype),
            DataType::LargeBinary => Self::LargeBinary(array.as_binary().clone(), subtype),
            DataType::BinaryView => Self::BinaryView(array.as_binary_view().clone(), subtype),
            DataType::FixedSizeBinary(_) => Self::FixedBinary(array.as_fixed_size_binary().clone(), subtype),
            DataType::List(item) => {
                let list = array.as_list::<i32>();
                Self::List(list.offsets().clone(), Box::new(column(item, list.values())?))
            }
            DataType::LargeList(item) => {
                let list = array.as_list::<i64>();
                Self::LargeList(list.offsets().clone(), Box::new(column(item, list.values())?))
            }
            DataType::FixedSizeList(item, _) => {
                let list = array.as_fixed_size_list();
                Self::FixedList(list.clone(), Box::new(column(item, list.values())?))
            }
            DataType::Struct(fields) => {
                let columns = array.as_struct().columns();
                let columns = fields.iter().zip(columns).map(|(field, array)| column(field, array));
                Self::Struct(columns.collect::<Result<_>>()?)
            }
            DataType::Map(_, _) => {
                let map = array.as_map();
                let keys = cast(map.keys(), &DataType::Utf8)
                    .map_err(|error| Error::from_source(ErrorKind::Unsupported, error))?;
                let field = Field::new("value", map.values().data_type().clone(), true);
                Self::Map(map.offsets().clone(), keys.as_string().clone(), Box::new(column(&field, map.values())?))
            }
            other => return Err(Error::unsupported(format!("MongoDB has no type for {}", print_type(other)))),
        })
    }

    /// Writes the value alone, and gives its type.
    #[inline]
    fn write(&self, out: &mut Vec<u8>, row: usize, encoding: BsonEncoding) -> Fits<u8> {
        match self {
            Self::Null => return Ok(kind::NULL),
            Self::Boolean(values) => out.push(u8::from(values.value(row))),
            Self::Int32(values) => out.extend_from_slice(&values.value(row).to_le_bytes()),
            Self::Int64(values) => out.extend_from_slice(&values.value(row).to_le_bytes()),
            Self::UInt64(values) => return Ok(unsigned(out, values.value(row))),
            Self::Double(values) => out.extend_from_slice(&values.value(row).to_le_bytes()),
            Self::Decimal128(values, scale) => {
                out.extend_from_slice(&decimal::encode_i128(values.value(row), *scale).ok_or_else(too_many_digits)?);
            }
            Self::Decimal256(values, scale) => {
                let value: i256 = values.value(row);
                out.extend_from_slice(&decimal::encode(value, *scale).ok_or_else(too_many_digits)?);
            }
            Self::Date32(values) => out.extend_from_slice(&(i64::from(values.value(row)) * DAY_MS).to_le_bytes()),
            Self::Instant { values, per_ms, ms_each } => {
                out.extend_from_slice(&instant_ms(values.value(row), *per_ms, *ms_each, encoding)?.to_le_bytes());
            }
            Self::Text(values) => text(out, values.value(row)),
            Self::LargeText(values) => text(out, values.value(row)),
            Self::TextView(values) => text(out, values.value(row)),
            Self::Tagged(values, tag) => return tagged(out, values.value(row), *tag),
            Self::Binary(values, subtype) => binary(out, values.value(row), *subtype),
            Self::LargeBinary(values, subtype) => binary(out, values.value(row), *subtype),
            Self::BinaryView(values, subtype) => binary(out, values.value(row), *subtype),
            Self::FixedBinary(values, subtype) => binary(out, values.value(row), *subtype),
            Self::List(offsets, child) => list(out, child, offsets[row] as usize, offsets[row + 1] as usize)?,
            Self::LargeList(offsets, child) => list(out, child, offsets[row] as usize, offsets[row + 1] as usize)?,
            Self::FixedList(values, child) => {
                let (start, length) = (values.value_offset_at(row), values.value_length() as usize);
                list(out, child, start, start + length)?;
            }
            Self::Struct(columns) => document(out, |out| columns.iter().try_for_each(|column| column.write(out, row)))?,
            Self::Map(offsets, keys, child) => map(out, keys, child, offsets[row] as usize..offsets[row + 1] as usize)?,
        }
        Ok(self.kind())
    }

    /// The type of the values that have one.
    #[inline]
    fn kind(&self) -> u8 {
        match self {
            Self::Null => kind::NULL,
            Self::Boolean(_) => kind::BOOLEAN,
            Self::Int32(_) => kind::INT32,
            Self::Int64(_) | Self::UInt64(_) => kind::INT64,
            Self::Double(_) => kind::DOUBLE,
            Self::Decimal128(..) | Self::Decimal256(..) => kind::DECIMAL128,
            Self::Date32(_) | Self::Instant { .. } => kind::DATE,
            Self::Text(_) | Self::LargeText(_) | Self::TextView(_) | Self::Tagged(..) => kind::STRING,
            Self::Binary(..) | Self::LargeBinary(..) | Self::BinaryView(..) | Self::FixedBinary(..) => kind::BINARY,
            Self::List(..) | Self::LargeList(..) | Self::FixedList(..) => kind::ARRAY,
            Self::Struct(_) | Self::Map(..) => kind::DOCUMENT,
        }
    }
}

fn misfit(reason: &'static str) -> BsonMisfit {
    BsonMisfit { field: String::new(), reason }
}

fn too_many_digits() -> BsonMisfit {
    misfit("a decimal has more than the 34 digits of Decimal128")
}

/// An int64 where the number fits, else a Decimal128: both are exact.
fn unsigned(out: &mut Vec<u8>, value: u64) -> u8 {
    if let Ok(value) = i64::try_from(value) {
        out.extend_from_slice(&value.to_le_bytes());
        return kind::INT64;
    }
    out.extend_from_slice(&decimal::encode_i128(i128::from(value), 0).unwrap_or_default());
    kind::DECIMAL128
}

#[inline]
fn instant_ms(value: i64, per_ms: i64, ms_each: i64, encoding: BsonEncoding) -> Fits<i64> {
    if per_ms > 1 && value % per_ms != 0 && !encoding.allows_narrowing {
        return Err(misfit("a time has microseconds, but a BSON date has milliseconds"));
    }
    value.div_euclid(per_ms).checked_mul(ms_each).ok_or_else(|| misfit("a time is out of the range of BSON dates"))
}

#[inline]
fn text(out: &mut Vec<u8>, value: &str) {
    out.extend_from_slice(&(value.len() as u32 + 1).to_le_bytes());
    out.extend_from_slice(value.as_bytes());
    out.push(0);
}

fn binary(out: &mut Vec<u8>, value: &[u8], subtype: u8) {
    let length = value.len() as u32;
    if subtype == 2 {
        out.extend_from_slice(&(length + 4).to_le_bytes());
        out.push(subtype);
    } else {
        out.extend_from_slice(&length.to_le_bytes());
        out.push(subtype);
    }
    if subtype == 2 {
        out.extend_from_slice(&length.to_le_bytes());
    }
    out.extend_from_slice(value);
}

/// Writes the value of another type that a text represents.
fn tagged(out: &mut Vec<u8>, value: &str, tag: TextTag) -> Fits<u8> {
    match tag.bytes_of(value) {
        Some((kind, bytes)) => {
            out.extend_from_slice(&bytes);
            Ok(kind)
        }
        None => Err(misfit(tag.expectation())),
    }
}

/// Writes a document around the elements that `elements` writes.
pub(super) fn document(out: &mut Vec<u8>, elements: impl FnOnce(&mut Vec<u8>) -> Fits) -> Fits {
    let start = out.len();
    out.extend_from_slice(&[0; 4]);
    elements(out)?;
    out.push(0);
    let length = (out.len() - start) as u32;
    out[start..start + 4].copy_from_slice(&length.to_le_bytes());
    Ok(())
}

fn list(out: &mut Vec<u8>, child: &DocumentColumn, start: usize, end: usize) -> Fits {
    document(out, |out| {
        let mut name = Vec::with_capacity(8);
        for row in start..end {
            index_name(&mut name, row - start);
            // A null of a list keeps its place.
            if child.is_null(row) {
                out.push(kind::NULL);
                out.extend_from_slice(&name);
            } else {
                child.write_named(out, &name, row)?;
            }
        }
        Ok(())
    })
}

/// The name of an element of an array, with the zero at its end.
pub(super) fn index_name(name: &mut Vec<u8>, mut index: usize) {
    let mut digits = [0_u8; 20];
    let mut at = digits.len();
    loop {
        at -= 1;
        digits[at] = b'0' + (index % 10) as u8;
        index /= 10;
        if index == 0 {
            break;
        }
    }
    name.clear();
    name.extend_from_slice(&digits[at..]);
    name.push(0);
}

fn map(out: &mut Vec<u8>, keys: &StringArray, child: &DocumentColumn, rows: std::ops::Range<usize>) -> Fits {
    let mut seen = std::collections::HashSet::with_capacity(rows.len());
    document(out, |out| {
        for row in rows {
            let key = keys.value(row);
            if key.contains('\0') {
                return Err(misfit("a map key contains a NUL character"));
            }
            if !seen.insert(key) {
                return Err(misfit("a map has the same key twice"));
            }
            let name = [key.as_bytes(), &[0]].concat();
            if child.is_null(row) {
                out.push(kind::NULL);
                out.extend_from_slice(&name);
            } else {
                child.write_named(out, &name, row)?;
            }
        }
        Ok(())
    })
}
