//! Converts rows that Java has put into columns to batches.
//!
//! A column is a list of words, followed by those of its children: the number of values, the address of a byte for each
//! that says whether it is not null (0: all are), and then the words of its type, as [`UnreadWords::column`] reads
//! them. Java owns the memory, and it is copied.

use std::sync::Arc;

use arrow::array::{
    ArrayRef, BinaryArray, BooleanArray, ListArray, MapArray, PrimitiveArray, RecordBatch, RecordBatchOptions,
    StringArray, StructArray,
};
use arrow::buffer::{BooleanBuffer, Buffer, NullBuffer, OffsetBuffer, ScalarBuffer};
use arrow::datatypes::{
    ArrowNativeType, ArrowPrimitiveType, DataType, Date32Type, Decimal128Type, FieldRef, Float32Type, Float64Type,
    Int8Type, Int16Type, Int32Type, Int64Type, SchemaRef, TimestampMicrosecondType,
};
use arrow::error::ArrowError;
use lakerace::{Error, ErrorKind, Result};

/// A batch of so many rows.
///
/// # Safety
/// The words describe columns of this schema, and no one changes the memory at their addresses until the call returns.
pub(crate) unsafe fn batch(schema: &SchemaRef, rows: usize, words: &[i64]) -> Result<RecordBatch> {
    let mut words = UnreadWords { words, at: 0 };
    let column = |field: &FieldRef| {
        let named = |error: Error| error.at(format!("column {:?}", field.name()));
        // SAFETY: the caller's promise.
        unsafe { words.column(field.data_type()) }.map_err(named)
    };
    let columns = schema.fields().iter().map(column).collect::<Result<Vec<_>>>()?;
    let options = RecordBatchOptions::new().with_row_count(Some(rows));
    RecordBatch::try_new_with_options(Arc::clone(schema), columns, &options).map_err(invalid)
}

fn invalid(error: ArrowError) -> Error {
    Error::from_source(ErrorKind::Invalid, error)
}

/// The unread part.
struct UnreadWords<'a> {
    words: &'a [i64],
    at: usize,
}

impl UnreadWords<'_> {
    fn next(&mut self) -> Result<i64> {
        let word = self.words.get(self.at).copied();
        self.at += 1;
        word.ok_or_else(|| Error::internal("a column has fewer words than its type"))
    }

    fn next_length(&mut self) -> Result<usize> {
        usize::try_from(self.next()?).map_err(|_| Error::internal("a negative length"))
    }

    /// So many values at the next address.
    ///
    /// # Safety
    /// See [`batch`].
    unsafe fn values<T: ArrowNativeType>(&mut self, length: usize) -> Result<ScalarBuffer<T>> {
        // SAFETY: the caller's promise; bytes have no alignment.
        let bytes = unsafe { self.bytes(length * size_of::<T>()) }?;
        // A new buffer has the alignment of every type.
        Ok(ScalarBuffer::new(Buffer::from(bytes), 0, length))
    }

    /// So many bytes at the next address.
    ///
    /// # Safety
    /// See [`batch`].
    unsafe fn bytes<'b>(&mut self, length: usize) -> Result<&'b [u8]> {
        let address = self.next()?;
        if length == 0 {
            return Ok(&[]);
        }
        // SAFETY: the caller's promise.
        Ok(unsafe { std::slice::from_raw_parts(address as *const u8, length) })
    }

    /// A byte for each value, as bits.
    ///
    /// # Safety
    /// See [`batch`].
    unsafe fn bits(&mut self, length: usize) -> Result<BooleanBuffer> {
        // SAFETY: the caller's promise.
        let bytes = unsafe { self.bytes(length) }?;
        Ok(BooleanBuffer::collect_bool(length, |at| bytes[at] != 0))
    }

    /// # Safety
    /// See [`batch`].
    unsafe fn nulls(&mut self, length: usize) -> Result<Option<NullBuffer>> {
        if self.words.get(self.at) == Some(&0) {
            self.at += 1;
            return Ok(None);
        }
        // SAFETY: the caller's promise.
        Ok(Some(NullBuffer::new(unsafe { self.bits(length) }?)))
    }

    /// # Safety
    /// See [`batch`].
    unsafe fn primitive<T: ArrowPrimitiveType>(&mut self, data_type: &DataType) -> Result<ArrayRef> {
        let length = self.next_length()?;
        // SAFETY: the caller's promise.
        let (nulls, values) = unsafe { (self.nulls(length)?, self.values(length)?) };
        let array = PrimitiveArray::<T>::try_new(values, nulls).map_err(invalid)?;
        Ok(Arc::new(array.with_data_type(data_type.clone())))
    }

    /// Nulls, and the starts and ends of values.
    ///
    /// # Safety
    /// See [`batch`].
    unsafe fn spans(&mut self) -> Result<(Option<NullBuffer>, OffsetBuffer<i32>)> {
        let length = self.next_length()?;
        // SAFETY: the caller's promise.
        let (nulls, ends) = unsafe { (self.nulls(length)?, self.values::<i32>(length + 1)?) };
        Ok((nulls, OffsetBuffer::new(ends)))
    }

    /// # Safety
    /// See [`batch`].
    unsafe fn text(&mut self, is_text: bool) -> Result<ArrayRef> {
        // SAFETY: the caller's promise.
        let (nulls, spans) = unsafe { self.spans() }?;
        let length = spans.last().as_usize();
        // SAFETY: as above.
        let bytes = Buffer::from(unsafe { self.bytes(length) }?);
        Ok(match is_text {
            true => Arc::new(StringArray::try_new(spans, bytes, nulls).map_err(invalid)?),
            false => Arc::new(BinaryArray::try_new(spans, bytes, nulls).map_err(invalid)?),
        })
    }

    /// # Safety
    /// See [`batch`].
    unsafe fn column(&mut self, data_type: &DataType) -> Result<ArrayRef> {
        // SAFETY: the caller's promise, for all calls below.
        unsafe {
            match data_type {
                DataType::Boolean => {
                    let length = self.next_length()?;
                    let (nulls, values) = (self.nulls(length)?, self.bits(length)?);
                    Ok(Arc::new(BooleanArray::new(values, nulls)))
                }
                DataType::Int8 => self.primitive::<Int8Type>(data_type),
                DataType::Int16 => self.primitive::<Int16Type>(data_type),
                DataType::Int32 => self.primitive::<Int32Type>(data_type),
                DataType::Int64 => self.primitive::<Int64Type>(data_type),
                DataType::Float32 => self.primitive::<Float32Type>(data_type),
                DataType::Float64 => self.primitive::<Float64Type>(data_type),
                DataType::Date32 => self.primitive::<Date32Type>(data_type),
                DataType::Timestamp(..) => self.primitive::<TimestampMicrosecondType>(data_type),
                DataType::Decimal128(..) => self.primitive::<Decimal128Type>(data_type),
                DataType::Utf8 => self.text(true),
                DataType::Binary => self.text(false),
                DataType::List(item) => {
                    let (nulls, spans) = self.spans()?;
                    let items = self.column(item.data_type())?;
                    Ok(Arc::new(ListArray::try_new(Arc::clone(item), spans, items, nulls).map_err(invalid)?))
                }
                DataType::Map(entries, _) => {
                    let (nulls, spans) = self.spans()?;
                    let DataType::Struct(fields) = entries.data_type() else { return Err(foreign(data_type)) };
                    let parts = fields.iter().map(|field| self.column(field.data_type())).collect::<Result<_>>()?;
                    let inner = StructArray::try_new(fields.clone(), parts, None).map_err(invalid)?;
                    let map = MapArray::try_new(Arc::clone(entries), spans, inner, nulls, false).map_err(invalid)?;
                    Ok(Arc::new(map))
                }
                DataType::Struct(fields) => {
                    let length = self.next_length()?;
                    let nulls = self.nulls(length)?;
                    let parts: Vec<ArrayRef> =
                        fields.iter().map(|field| self.column(field.data_type())).collect::<Result<_>>()?;
                    if parts.is_empty() {
                        return Ok(Arc::new(StructArray::new_empty_fields(length, nulls)));
                    }
                    Ok(Arc::new(StructArray::try_new(fields.clone(), parts, nulls).map_err(invalid)?))
                }
                other => Err(foreign(other)),
            }
        }
    }
}

fn foreign(data_type: &DataType) -> Error {
    Error::internal(format!("no words stand for a column of {data_type}"))
}

#[cfg(test)]
mod tests;
