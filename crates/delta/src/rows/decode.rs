//! Columns of packed rows.

use std::sync::Arc;

use arrow::array::{
    ArrayData, ArrayRef, BooleanBufferBuilder, GenericByteArray, GenericByteViewArray, make_array, make_view,
};
use arrow::buffer::{Buffer, NullBuffer, OffsetBuffer, ScalarBuffer};
use arrow::datatypes::{
    ArrowNativeType, BinaryType, BinaryViewType, ByteArrayType, ByteViewType, DataType, LargeBinaryType, LargeUtf8Type,
    StringViewType, Utf8Type,
};
use arrow::error::ArrowError;

use super::kind::PackedKind;

/// A column that is being unpacked.
pub(super) struct UnpackedColumn {
    data_type: DataType,
    values: UnpackedValues,
    nulls: Option<BooleanBufferBuilder>,
}

enum UnpackedValues {
    Bytes(Vec<u8>),
    Words16(Vec<u16>),
    Words32(Vec<u32>),
    Words64(Vec<u64>),
    Words128(Vec<i128>),
    /// Texts one after the other, and where each ends.
    Texts {
        bytes: Vec<u8>,
        ends: Vec<usize>,
    },
    Views {
        views: Vec<u128>,
        bytes: Vec<u8>,
        full: Vec<Buffer>,
    },
}

/// Bytes of a buffer that views point into, at most.
const VIEWED_BYTES: usize = 1 << 30;

impl UnpackedColumn {
    /// An empty column; with room for so many rows.
    pub fn new(data_type: &DataType, kind: PackedKind, has_nulls: bool, rows: usize) -> Self {
        let values = match kind {
            PackedKind::Fixed { width: 1 } => UnpackedValues::Bytes(Vec::with_capacity(rows)),
            PackedKind::Fixed { width: 2 } => UnpackedValues::Words16(Vec::with_capacity(rows)),
            PackedKind::Fixed { width: 4 } => UnpackedValues::Words32(Vec::with_capacity(rows)),
            PackedKind::Fixed { width: 8 } => UnpackedValues::Words64(Vec::with_capacity(rows)),
            PackedKind::Fixed { .. } => UnpackedValues::Words128(Vec::with_capacity(rows)),
            PackedKind::Text if matches!(data_type, DataType::Utf8View | DataType::BinaryView) => {
                UnpackedValues::Views { views: Vec::with_capacity(rows), bytes: Vec::new(), full: Vec::new() }
            }
            PackedKind::Text => UnpackedValues::Texts { bytes: Vec::new(), ends: Vec::with_capacity(rows) },
        };
        let nulls = has_nulls.then(|| BooleanBufferBuilder::new(rows));
        Self { data_type: data_type.clone(), values, nulls }
    }

    /// Appends the values of rows. `texts`: where each row has its next text.
    pub fn append(&mut self, rows: &[&[u8]], nth: usize, at: usize, texts: &mut [usize]) {
        if let Some(nulls) = &mut self.nulls {
            rows.iter().for_each(|row| nulls.append(row[nth / 8] >> (nth % 8) & 1 == 0));
        }
        match &mut self.values {
            UnpackedValues::Bytes(values) => values.extend(rows.iter().map(|row| row[at])),
            UnpackedValues::Words16(values) => values.extend(rows.iter().map(|row| u16::from_ne_bytes(word(row, at)))),
            UnpackedValues::Words32(values) => values.extend(rows.iter().map(|row| u32::from_ne_bytes(word(row, at)))),
            UnpackedValues::Words64(values) => values.extend(rows.iter().map(|row| u64::from_ne_bytes(word(row, at)))),
            UnpackedValues::Words128(values) => {
                values.extend(rows.iter().map(|row| i128::from_ne_bytes(word(row, at))));
            }
            UnpackedValues::Texts { bytes, ends } => {
                make_room(bytes, ends.len(), ends.capacity());
                for (row, from) in rows.iter().zip(texts) {
                    bytes.extend_from_slice(next_text(row, at, from));
                    ends.push(bytes.len());
                }
            }
            UnpackedValues::Views { views, bytes, full } => {
                if full.is_empty() {
                    make_room(bytes, views.len(), views.capacity());
                }
                for (row, from) in rows.iter().zip(texts) {
                    let text = next_text(row, at, from);
                    if bytes.len() + text.len() > VIEWED_BYTES && !bytes.is_empty() {
                        full.push(Buffer::from_vec(std::mem::take(bytes)));
                    }
                    views.push(make_view(text, full.len() as u32, bytes.len() as u32));
                    if text.len() > arrow::array::MAX_INLINE_VIEW_LEN as usize {
                        bytes.extend_from_slice(text);
                    }
                }
            }
        }
    }

    /// The array.
    pub fn finish(self, rows: usize) -> Result<ArrayRef, ArrowError> {
        let Self { data_type, values, nulls } = self;
        let nulls = nulls.map(|mut nulls| NullBuffer::new(nulls.finish())).filter(|nulls| nulls.null_count() > 0);
        let buffer = match values {
            UnpackedValues::Bytes(values) => Buffer::from_vec(values),
            UnpackedValues::Words16(values) => Buffer::from_vec(values),
            UnpackedValues::Words32(values) => Buffer::from_vec(values),
            UnpackedValues::Words64(values) => Buffer::from_vec(values),
            UnpackedValues::Words128(values) => Buffer::from_vec(values),
            UnpackedValues::Texts { bytes, ends } => {
                let bytes = Buffer::from_vec(bytes);
                return match data_type {
                    DataType::Utf8 => texts::<Utf8Type>(&ends, bytes, nulls),
                    DataType::LargeUtf8 => texts::<LargeUtf8Type>(&ends, bytes, nulls),
                    DataType::Binary => texts::<BinaryType>(&ends, bytes, nulls),
                    _ => texts::<LargeBinaryType>(&ends, bytes, nulls),
                };
            }
            UnpackedValues::Views { views, bytes, full: mut buffers } => {
                buffers.push(Buffer::from_vec(bytes));
                return Ok(match data_type {
                    DataType::Utf8View => text_views::<StringViewType>(views, buffers, nulls),
                    _ => text_views::<BinaryViewType>(views, buffers, nulls),
                });
            }
        };
        Ok(make_array(ArrayData::builder(data_type).len(rows).add_buffer(buffer).nulls(nulls).build()?))
    }
}

/// Makes room for the texts of all rows, if they are like the first ones: grown step by step, they would be copied, and
/// touch twice the memory.
fn make_room(bytes: &mut Vec<u8>, rows: usize, all_rows: usize) {
    let expected = bytes.len().div_ceil(rows.max(1)).saturating_mul(all_rows).min(VIEWED_BYTES);
    if bytes.capacity() < expected {
        bytes.reserve_exact(expected + expected / 16 - bytes.len());
    }
}

/// Bytes of a row.
fn word<const BYTES: usize>(row: &[u8], at: usize) -> [u8; BYTES] {
    row[at..].first_chunk().copied().unwrap_or([0; BYTES])
}

/// The text at `from`, whose length is stored at `at`; the next one follows it.
fn next_text<'a>(row: &'a [u8], at: usize, from: &mut usize) -> &'a [u8] {
    let begin = *from;
    *from += u32::from_ne_bytes(word(row, at)) as usize;
    &row[begin..*from]
}

fn texts<T: ByteArrayType>(ends: &[usize], bytes: Buffer, nulls: Option<NullBuffer>) -> Result<ArrayRef, ArrowError> {
    let offset = |end: &usize| T::Offset::from_usize(*end).ok_or(ArrowError::OffsetOverflowError(*end));
    let offsets = std::iter::once(&0).chain(ends).map(offset).collect::<Result<Vec<_>, _>>()?;
    let offsets = OffsetBuffer::new(ScalarBuffer::from(offsets));
    // SAFETY: each value is one of an array of the same type, and offsets do not fall.
    Ok(Arc::new(unsafe { GenericByteArray::<T>::new_unchecked(offsets, bytes, nulls) }))
}

fn text_views<T: ByteViewType>(views: Vec<u128>, buffers: Vec<Buffer>, nulls: Option<NullBuffer>) -> ArrayRef {
    // SAFETY: each view is of a value of an array of the same type, which is in the buffer and at the place it names.
    Arc::new(unsafe { GenericByteViewArray::<T>::new_unchecked(views.into(), buffers.into(), nulls) })
}
