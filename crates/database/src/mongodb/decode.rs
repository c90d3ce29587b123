//! Arrow columns out of documents, built straight from their bytes.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::array::{ArrayData, BooleanBufferBuilder, Float64Array, UInt64Array};
use arrow::array::{
    ArrayRef, BooleanArray, Decimal128Array, Decimal256Array, FixedSizeBinaryArray, GenericListArray, Int32Array,
    Int64Array, ListArray, MapArray, NullArray, PrimitiveArray, StringArray, StructArray, make_array,
};
use arrow::buffer::{Buffer, NullBuffer, OffsetBuffer, ScalarBuffer};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Date32Type, Field, FieldRef, Fields, TimeUnit, i256};
use lakerace_format::schema_text::{print_field_type, print_type};
use lakerace_io::{Error, Result};

use super::decimal::{self, BsonDecimal};
use super::elements::{self as kind, BsonValue, ElementIterator, extended_json, type_name};
use super::tag::TextTag;

const DAY_MS: i64 = 86_400_000;
/// Texts and bytes of a batch at most: their offsets have 31 bits.
const OFFSET_END: usize = i32::MAX as usize;

/// The treatment of a field that no column has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum UnknownFields {
    /// It is left out: the caller has named the columns.
    Skip,
    /// It is an error: a kept or inferred schema has all fields.
    Refuse,
}

/// Builds the columns of documents, or of nested ones.
pub(super) struct DocumentBuilder {
    fields: Fields,
    names: Vec<Vec<u8>>,
    by_name: HashMap<Vec<u8>, usize>,
    columns: Vec<FieldColumn>,
    /// For each column, the number of the last document that had it, from 1.
    filled: Vec<u64>,
    documents: u64,
    unknown: UnknownFields,
}

struct FieldColumn {
    field: FieldRef,
    validity: BooleanBufferBuilder,
    values: FieldValues,
}

enum FieldValues {
    Null,
    Boolean(BooleanBufferBuilder),
    Int { values: Vec<i64>, min: i64, max: i64 },
    UInt64(Vec<u64>),
    Float { values: Vec<f64>, is_single: bool },
    Decimal128 { values: Vec<i128>, precision: u8, scale: i8 },
    Decimal256 { values: Vec<i256>, precision: u8, scale: i8 },
    Date(Vec<i32>),
    Instant { values: Vec<i64>, unit: TimeUnit },
    Text { offsets: Vec<i32>, bytes: Vec<u8>, tag: Option<TextTag> },
    Binary { offsets: Vec<i32>, bytes: Vec<u8>, subtype: u8 },
    FixedBinary { bytes: Vec<u8>, width: usize },
    List { offsets: Vec<i32>, child: Box<FieldColumn> },
    Struct(Box<DocumentBuilder>),
    Map { offsets: Vec<i32>, keys: Vec<u8>, key_offsets: Vec<i32>, child: Box<FieldColumn> },
}

impl DocumentBuilder {
    /// For these columns.
    pub(super) fn new(fields: &Fields, unknown: UnknownFields) -> Result<Self> {
        let names: Vec<Vec<u8>> = fields.iter().map(|field| field.name().as_bytes().to_vec()).collect();
        Ok(Self {
            by_name: names.iter().cloned().enumerate().map(|(index, name)| (name, index)).collect(),
            names,
            columns: fields.iter().map(|field| FieldColumn::new(field, unknown)).collect::<Result<_>>()?,
            filled: vec![0; fields.len()],
            documents: 0,
            fields: fields.clone(),
            unknown,
        })
    }

    /// Documents since the last [`Self::finish`].
    pub(super) fn len(&self) -> usize {
        self.documents as usize
    }

    /// Adds a document.
    pub(super) fn append(&mut self, document: &[u8], ignored: Option<&[u8]>) -> Result<()> {
        self.documents += 1;
        let mut elements = ElementIterator::new(document)?;
        let (mut next, mut found) = (0, 0);
        loop {
            let expected = self.names.get(next).map_or(&[][..], Vec::as_slice);
            let Some((name, value)) = elements.next_element(expected)? else { break };
            let index = if next < self.names.len() && name == self.names[next] {
                next
            } else if let Some(index) = self.by_name.get(name) {
                *index
            } else if self.unknown == UnknownFields::Skip || Some(name) == ignored {
                continue;
            } else {
                return Err(Error::invalid("the schema does not have this field, so its value would be lost")
                    .at(String::from_utf8_lossy(name)));
            };
            if self.filled[index] == self.documents {
                return Err(Error::invalid("the document has this field twice").at(String::from_utf8_lossy(name)));
            }
            self.filled[index] = self.documents;
            found += 1;
            next = index + 1;
            let column = &mut self.columns[index];
            column.append(value).map_err(|error| error.at(column.field.name()))?;
        }
        if found < self.columns.len() {
            self.fill_missing()?;
        }
        Ok(())
    }

    /// A null in each column: the document itself is null or missing.
    fn append_null(&mut self) -> Result<()> {
        self.documents += 1;
        // Values below a null may be missing, even where the schema does not allow nulls.
        self.columns.iter_mut().try_for_each(FieldColumn::append_hole)
    }

    fn fill_missing(&mut self) -> Result<()> {
        for (column, filled) in self.columns.iter_mut().zip(&self.filled) {
            if *filled != self.documents {
                column.append_null().map_err(|error| error.at(column.field.name()))?;
            }
        }
        Ok(())
    }

    /// The columns of the documents so far, in the types of the fields.
    pub(super) fn finish(&mut self) -> Result<Vec<ArrayRef>> {
        self.documents = 0;
        self.filled.fill(0);
        self.columns.iter_mut().map(FieldColumn::finish).collect()
    }
}

impl FieldColumn {
    fn new(field: &FieldRef, unknown: UnknownFields) -> Result<Self> {
        Ok(Self {
            field: Arc::clone(field),
            validity: BooleanBufferBuilder::new(0),
            values: FieldValues::new(field, unknown)?,
        })
    }

    fn append_null(&mut self) -> Result<()> {
        if !self.field.is_nullable() {
            return Err(Error::invalid("the field is null or missing, but its column is not nullable"));
        }
        self.append_hole()
    }

    fn append_hole(&mut self) -> Result<()> {
        self.validity.append(false);
        self.values.append_null()
    }

    #[inline]
    fn append(&mut self, value: BsonValue<'_>) -> Result<()> {
        if value.is_null() {
            return self.append_null();
        }
        self.validity.append(true);
        self.values.append(value, &self.field)
    }

    fn finish(&mut self) -> Result<ArrayRef> {
        let length = self.validity.len();
        let validity = std::mem::replace(&mut self.validity, BooleanBufferBuilder::new(length)).finish();
        let nulls = Some(NullBuffer::new(validity)).filter(|nulls| nulls.null_count() > 0);
        let array = self.values.finish(length, nulls, &self.field)?;
        if array.data_type() == self.field.data_type() {
            return Ok(array);
        }
        cast(&array, self.field.data_type()).map_err(|error| Error::unexpected(error).at(self.field.name()))
    }
}

fn unsupported(data_type: &DataType) -> Error {
    Error::unsupported(format!("MongoDB values can't be read as {}", print_type(data_type)))
}

impl FieldValues {
    fn new(field: &Field, unknown: UnknownFields) -> Result<Self> {
        let int = |min: i64, max: i64| Self::Int { values: Vec::new(), min, max };
        Ok(match field.data_type() {
            DataType::Null => Self::Null,
            DataType::Boolean => Self::Boolean(BooleanBufferBuilder::new(0)),
            DataType::Int8 => int(i64::from(i8::MIN), i64::from(i8::MAX)),
            DataType::Int16 => int(i64::from(i16::MIN), i64::from(i16::MAX)),
            DataType::Int32 | DataType::Time32(_) => int(i64::from(i32::MIN), i64::from(i32::MAX)),
            DataType::Int64 | DataType::Time64(_) | DataType::Duration(_) => int(i64::MIN, i64::MAX),
            DataType::UInt8 => int(0, i64::from(u8::MAX)),
            DataType::UInt16 => int(0, i64::from(u16::MAX)),
            DataType::UInt32 => int(0, i64::from(u32::MAX)),
            DataType::UInt64 => Self::UInt64(Vec::new()),
            DataType::Float32 | DataType::Float64 => {
                Self::Float { values: Vec::new(), is_single: *field.data_type() == DataType::Float32 }
            }
            DataType::Decimal32(precision, scale)
            | DataType::Decimal64(precision, scale)
            | DataType::Decimal128(precision, scale) => {
                Self::Decimal128 { values: Vec::new(), precision: *precision, scale: *scale }
            }
            DataType::Decimal256(precision, scale) => {
                Self::Decimal256 { values: Vec::new(), precision: *precision, scale: *scale }
            }
            DataType::Date32 => Self::Date(Vec::new()),
            DataType::Date64 => Self::Instant { values: Vec::new(), unit: TimeUnit::Millisecond },
            DataType::Timestamp(unit, _) => Self::Instant { values: Vec::new(), unit: *unit },
            DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => {
                Self::Text { offsets: vec![0], bytes: Vec::new(), tag: TextTag::from_field(field) }
            }
            DataType::Binary | DataType::LargeBinary | DataType::BinaryView => {
                Self::Binary { offsets: vec![0], bytes: Vec::new(), subtype: super::tag::binary_subtype(field) }
            }
            DataType::FixedSizeBinary(width) => {
                Self::FixedBinary { bytes: Vec::new(), width: usize::try_from(*width).unwrap_or(0) }
            }
            DataType::List(item) | DataType::LargeList(item) | DataType::FixedSizeList(item, _) => {
                Self::List { offsets: vec![0], child: Box::new(FieldColumn::new(item, unknown)?) }
            }
            DataType::Struct(fields) => Self::Struct(Box::new(DocumentBuilder::new(fields, unknown)?)),
            DataType::Map(entries, _) => match entries.data_type() {
                DataType::Struct(fields) if fields.len() == 2 => Self::Map {
                    offsets: vec![0],
                    keys: Vec::new(),
                    key_offsets: vec![0],
                    child: Box::new(FieldColumn::new(&fields[1], unknown)?),
                },
                other => return Err(unsupported(other).at(field.name())),
            },
            DataType::Dictionary(_, value) => {
                return Self::new(
                    &Field::new("", value.as_ref().clone(), true).with_metadata(field.metadata().clone()),
                    unknown,
                );
            }
            other => return Err(unsupported(other).at(field.name())),
        })
    }

    fn append_null(&mut self) -> Result<()> {
        match self {
            Self::Null => {}
            Self::Boolean(values) => values.append(false),
            Self::Int { values, .. } | Self::Instant { values, .. } => values.push(0),
            Self::UInt64(values) => values.push(0),
            Self::Float { values, .. } => values.push(0.0),
            Self::Decimal128 { values, .. } => values.push(0),
            Self::Decimal256 { values, .. } => values.push(i256::ZERO),
            Self::Date(values) => values.push(0),
            Self::Text { offsets, bytes, .. } | Self::Binary { offsets, bytes, .. } => offsets.push(bytes.len() as i32),
            Self::FixedBinary { bytes, width } => bytes.resize(bytes.len() + *width, 0),
            Self::List { offsets, child } | Self::Map { offsets, child, .. } => {
                offsets.push(child.validity.len() as i32)
            }
            Self::Struct(documents) => documents.append_null()?,
        }
        Ok(())
    }

    #[inline]
    fn append(&mut self, value: BsonValue<'_>, field: &Field) -> Result<()> {
        match self {
            Self::Null => return Err(misfit(value, field)),
            Self::Boolean(values) if value.kind == kind::BOOLEAN => values.append(value.bytes[0] != 0),
            Self::Int { values, min, max } => {
                let int = integer(value, field)?;
                if int < *min || int > *max {
                    return Err(out_of_range(field));
                }
                values.push(int);
            }
            Self::UInt64(values) => values.push(unsigned(value, field)?),
            Self::Float { values, is_single } => values.push(float(value, *is_single, field)?),
            Self::Decimal128 { values, precision, scale } => {
                let value = scaled(value, *precision, *scale, field)?;
                values.push(value.to_i128().ok_or_else(|| out_of_range(field))?);
            }
            Self::Decimal256 { values, precision, scale } => values.push(scaled(value, *precision, *scale, field)?),
            Self::Date(values) if value.kind == kind::DATE => {
                let ms = value.i64()?;
                if ms % DAY_MS != 0 {
                    return Err(Error::invalid("a date has a time of day, but its column holds dates only"));
                }
                values.push(i32::try_from(ms / DAY_MS).map_err(|_| out_of_range(field))?);
            }
            Self::Instant { values, unit } if value.kind == kind::DATE => {
                values.push(instant(value.i64()?, *unit).ok_or_else(|| out_of_range(field))?);
            }
            Self::Text { offsets, bytes, tag } => {
                text(bytes, value, *tag, field)?;
                push_offset(offsets, bytes.len())?;
            }
            Self::Binary { offsets, bytes, subtype } if value.kind == kind::BINARY => {
                let (found, content) = value.binary()?;
                if found != *subtype {
                    return Err(Error::invalid(format!(
                        "bytes have the subtype {found}, but the column has {subtype}"
                    ))
                    .advice("read the values as extended JSON with ?mixed=json"));
                }
                bytes.extend_from_slice(content);
                push_offset(offsets, bytes.len())?;
            }
            Self::FixedBinary { bytes, width } if value.kind == kind::BINARY => {
                let (_, content) = value.binary()?;
                if content.len() != *width {
                    return Err(Error::invalid(format!("{} bytes, but the schema has {width}", content.len())));
                }
                bytes.extend_from_slice(content);
            }
            Self::List { offsets, child } if value.kind == kind::ARRAY => {
                let mut elements = ElementIterator::new(value.bytes)?;
                while let Some((_, element)) = elements.next_element(&[])? {
                    child.append(element)?;
                }
                push_offset(offsets, child.validity.len())?;
            }
            Self::Struct(documents) if value.kind == kind::DOCUMENT => documents.append(value.bytes, None)?,
            Self::Map { offsets, keys, key_offsets, child } if value.kind == kind::DOCUMENT => {
                let mut elements = ElementIterator::new(value.bytes)?;
                while let Some((name, element)) = elements.next_element(&[])? {
                    keys.extend_from_slice(name);
                    push_offset(key_offsets, keys.len())?;
                    child.append(element)?;
                }
                push_offset(offsets, child.validity.len())?;
            }
            _ => return Err(misfit(value, field)),
        }
        Ok(())
    }

    fn finish(&mut self, length: usize, nulls: Option<NullBuffer>, field: &Field) -> Result<ArrayRef> {
        let failed = |error: arrow::error::ArrowError| Error::unexpected(error).at(field.name());
        Ok(match self {
            Self::Null => Arc::new(NullArray::new(length)),
            Self::Boolean(values) => {
                let values = std::mem::replace(values, BooleanBufferBuilder::new(length)).finish();
                Arc::new(BooleanArray::new(values, nulls))
            }
            Self::Int { values, .. } => return integers(take(values), nulls, field.data_type()),
            Self::UInt64(values) => Arc::new(UInt64Array::new(take(values).into(), nulls)),
            Self::Float { values, .. } => Arc::new(Float64Array::new(take(values).into(), nulls)),
            Self::Decimal128 { values, precision, scale } => Arc::new(
                Decimal128Array::new(take(values).into(), nulls)
                    .with_precision_and_scale(*precision, *scale)
                    .map_err(failed)?,
            ),
            Self::Decimal256 { values, precision, scale } => Arc::new(
                Decimal256Array::new(take(values).into(), nulls)
                    .with_precision_and_scale(*precision, *scale)
                    .map_err(failed)?,
            ),
            Self::Date(values) => Arc::new(PrimitiveArray::<Date32Type>::new(take(values).into(), nulls)),
            Self::Instant { values, .. } => reinterpreted(take(values), nulls, field.data_type())?,
            Self::Text { offsets, bytes, .. } => {
                // Checked value by value as they came.
                Arc::new(
                    StringArray::try_new(taken_offsets(offsets), Buffer::from_vec(take(bytes)), nulls)
                        .map_err(failed)?,
                )
            }
            Self::Binary { offsets, bytes, .. } => Arc::new(
                arrow::array::BinaryArray::try_new(taken_offsets(offsets), Buffer::from_vec(take(bytes)), nulls)
                    .map_err(failed)?,
            ),
            Self::FixedBinary { bytes, width } => Arc::new(
                FixedSizeBinaryArray::try_new(*width as i32, Buffer::from_vec(take(bytes)), nulls).map_err(failed)?,
            ),
            Self::List { offsets, child } => {
                let item = Arc::clone(&child.field);
                let values = child.finish()?;
                let list: ListArray =
                    GenericListArray::try_new(item, taken_offsets(offsets), values, nulls).map_err(failed)?;
                Arc::new(list)
            }
            Self::Struct(documents) => {
                let columns = documents.finish()?;
                if columns.is_empty() {
                    Arc::new(StructArray::new_empty_fields(length, nulls))
                } else {
                    Arc::new(StructArray::try_new(documents.fields.clone(), columns, nulls).map_err(failed)?)
                }
            }
            Self::Map { offsets, keys, key_offsets, child } => {
                let keys = StringArray::try_new(taken_offsets(key_offsets), Buffer::from_vec(take(keys)), None)
                    .map_err(failed)?;
                return map_array(keys, child.finish()?, taken_offsets(offsets), nulls, field);
            }
        })
    }
}

fn take<T>(values: &mut Vec<T>) -> Vec<T> {
    let capacity = values.len();
    std::mem::replace(values, Vec::with_capacity(capacity))
}

fn taken_offsets(offsets: &mut Vec<i32>) -> OffsetBuffer<i32> {
    let taken = take(offsets);
    offsets.push(0);
    OffsetBuffer::new(ScalarBuffer::from(taken))
}

fn push_offset(offsets: &mut Vec<i32>, end: usize) -> Result<()> {
    if end > OFFSET_END {
        return Err(Error::unsupported("a batch has more than 2 GiB in one column")
            .advice("reduce the number of rows in a batch"));
    }
    offsets.push(end as i32);
    Ok(())
}

fn misfit(value: BsonValue<'_>, field: &Field) -> Error {
    Error::invalid(format!(
        "a value is of type {}, but the schema has {}",
        type_name(value.kind),
        print_field_type(field)
    ))
    .advice(
        "give a schema that can hold all values, or read such fields as extended JSON with ?schema=infer&mixed=json",
    )
}

fn out_of_range(field: &Field) -> Error {
    Error::invalid(format!("a value does not fit {} exactly", print_field_type(field)))
        .advice("give the column a wider type in the schema")
}

#[inline]
fn integer(value: BsonValue<'_>, field: &Field) -> Result<i64> {
    match value.kind {
        kind::INT64 => value.i64(),
        kind::INT32 => value.i32().map(i64::from),
        kind::DOUBLE => {
            let float = value.f64()?;
            let int = float as i64;
            // 2^63 is no int64, though a cast makes it the greatest.
            if int as f64 == float && int != i64::MAX { Ok(int) } else { Err(out_of_range(field)) }
        }
        kind::DECIMAL128 => scaled(value, 38, 0, field)?
            .to_i128()
            .and_then(|int| int.try_into().ok())
            .ok_or_else(|| out_of_range(field)),
        _ => Err(misfit(value, field)),
    }
}

fn unsigned(value: BsonValue<'_>, field: &Field) -> Result<u64> {
    if value.kind == kind::DECIMAL128 {
        let int = scaled(value, 38, 0, field)?.to_i128();
        return int.and_then(|int| int.try_into().ok()).ok_or_else(|| out_of_range(field));
    }
    integer(value, field)?.try_into().map_err(|_| out_of_range(field))
}

#[inline]
fn float(value: BsonValue<'_>, is_single: bool, field: &Field) -> Result<f64> {
    let float = match value.kind {
        kind::DOUBLE => value.f64()?,
        kind::INT32 => f64::from(value.i32()?),
        kind::INT64 => {
            let int = value.i64()?;
            let float = int as f64;
            if float as i64 != int || int == i64::MAX {
                return Err(out_of_range(field));
            }
            float
        }
        _ => return Err(misfit(value, field)),
    };
    if is_single && !float.is_nan() && f64::from(float as f32) != float {
        return Err(out_of_range(field));
    }
    Ok(float)
}

fn scaled(value: BsonValue<'_>, precision: u8, scale: i8, field: &Field) -> Result<i256> {
    let (coefficient, exponent) = match value.kind {
        kind::INT32 => (i128::from(value.i32()?), 0),
        kind::INT64 => (i128::from(value.i64()?), 0),
        kind::DECIMAL128 => match decimal::decode(value.array()?) {
            BsonDecimal::Finite { coefficient, exponent } => (coefficient, exponent),
            BsonDecimal::Special => return Err(out_of_range(field)),
        },
        _ => return Err(misfit(value, field)),
    };
    let (whole, _) = decimal::digits(coefficient, exponent);
    if coefficient != 0 && i64::from(whole) + i64::from(scale) > i64::from(precision) {
        return Err(out_of_range(field));
    }
    decimal::at_scale(coefficient, exponent, i32::from(scale)).ok_or_else(|| out_of_range(field))
}

#[inline]
fn instant(ms: i64, unit: TimeUnit) -> Option<i64> {
    match unit {
        TimeUnit::Second => (ms % 1000 == 0).then_some(ms / 1000),
        TimeUnit::Millisecond => Some(ms),
        TimeUnit::Microsecond => ms.checked_mul(1000),
        TimeUnit::Nanosecond => ms.checked_mul(1_000_000),
    }
}

#[inline]
fn text(out: &mut Vec<u8>, value: BsonValue<'_>, tag: Option<TextTag>, field: &Field) -> Result<()> {
    match (tag, value.kind) {
        (None, kind::STRING | 0x0e) => out.extend_from_slice(value.text()?.as_bytes()),
        (None | Some(TextTag::ObjectId), kind::OBJECT_ID) => {
            const DIGITS: &[u8; 16] = b"0123456789abcdef";
            let digits =
                value.bytes.iter().flat_map(|byte| [DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]]);
            out.extend(digits);
        }
        (Some(TextTag::Decimal), kind::DECIMAL128) => {
            out.extend_from_slice(bson::Decimal128::from_bytes(value.array()?).to_string().as_bytes());
        }
        (Some(TextTag::Decimal), kind::INT32) => out.extend_from_slice(value.i32()?.to_string().as_bytes()),
        (Some(TextTag::Decimal), kind::INT64) => out.extend_from_slice(value.i64()?.to_string().as_bytes()),
        (Some(TextTag::Json), _) => out.extend_from_slice(extended_json(value)?.as_bytes()),
        _ => return Err(misfit(value, field)),
    }
    Ok(())
}

/// Integers that are known to fit.
fn integers(values: Vec<i64>, nulls: Option<NullBuffer>, data_type: &DataType) -> Result<ArrayRef> {
    match data_type {
        DataType::Int64 => Ok(Arc::new(Int64Array::new(values.into(), nulls))),
        DataType::Time64(_) | DataType::Duration(_) => reinterpreted(values, nulls, data_type),
        DataType::Int32 | DataType::Time32(_) => {
            let values: Vec<i32> = values.into_iter().map(|value| value as i32).collect();
            let array: ArrayRef = Arc::new(Int32Array::new(values.into(), nulls));
            cast(&array, data_type).map_err(Error::unexpected)
        }
        _ => {
            let array: ArrayRef = Arc::new(Int64Array::new(values.into(), nulls));
            cast(&array, data_type).map_err(Error::unexpected)
        }
    }
}

/// Numbers of 64 bits as values of another type of 64 bits.
fn reinterpreted(values: Vec<i64>, nulls: Option<NullBuffer>, data_type: &DataType) -> Result<ArrayRef> {
    let length = values.len();
    let data = ArrayData::builder(data_type.clone()).len(length).nulls(nulls).add_buffer(Buffer::from_vec(values));
    data.build().map(make_array).map_err(Error::unexpected)
}

fn map_array(
    keys: StringArray,
    values: ArrayRef,
    offsets: OffsetBuffer<i32>,
    nulls: Option<NullBuffer>,
    field: &Field,
) -> Result<ArrayRef> {
    let failed = |error: arrow::error::ArrowError| Error::unexpected(error).at(field.name());
    let DataType::Map(entries, is_sorted) = field.data_type() else { return Err(unsupported(field.data_type())) };
    let DataType::Struct(fields) = entries.data_type() else { return Err(unsupported(field.data_type())) };
    let keys = cast(&keys, fields[0].data_type()).map_err(failed)?;
    let pairs = StructArray::try_new(fields.clone(), vec![keys, values], None).map_err(failed)?;
    Ok(Arc::new(MapArray::try_new(Arc::clone(entries), offsets, pairs, nulls, *is_sorted).map_err(failed)?))
}
