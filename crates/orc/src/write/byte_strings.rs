//! The byte strings of any array that holds texts or bytes.

use arrow::array::{ArrayRef, AsArray, ByteView};
use arrow::datatypes::{ArrowNativeType, BinaryType, LargeBinaryType, LargeUtf8Type, Utf8Type};
use arrow::datatypes::{BinaryViewType, ByteArrayType, ByteViewType, DataType, StringViewType};

use crate::error::{Error, Result};
use crate::prefetch;
use crate::proto::StreamKind;
use crate::write::stream::{StreamCoding, StreamWriter};
use crate::write::values::{ValueStreams, ValueTarget, WrittenRows};

/// The longest string that is stored in its view, in bytes.
const INLINE: u32 = 12;

/// How many rows ahead memory is asked for, where texts may lie anywhere: one miss of the cache for each, unless many
/// are under way.
const AHEAD: usize = 16;

/// The streams of byte strings without a dictionary: their bytes, their lengths.
pub(crate) fn streams() -> Vec<StreamWriter> {
    vec![
        StreamWriter::new(StreamKind::Data, StreamCoding::Plain),
        StreamWriter::new(StreamKind::Length, StreamCoding::Ints { signed: false }),
    ]
}

/// Writes byte strings without a dictionary.
pub(crate) fn append(rows: &WrittenRows<'_>, out: &mut ValueTarget<'_>) -> Result<()> {
    let ([data, lengths], digest) = out.parts()?;
    let before = data.bytes.len();
    for_each(rows, |value| {
        data.bytes.extend_from_slice(value);
        lengths.numbers.push(value.len() as i64);
        digest.add_string(value);
    })?;
    digest.statistics.add_bytes((data.bytes.len() - before) as u64);
    Ok(())
}

/// A column of byte strings.
pub(crate) struct BinaryWriter;

impl ValueStreams for BinaryWriter {
    fn streams(&self) -> Vec<StreamWriter> {
        streams()
    }

    fn append(&mut self, rows: &WrittenRows<'_>, out: &mut ValueTarget<'_>) -> Result<Vec<ArrayRef>> {
        append(rows, out)?;
        Ok(Vec::new())
    }
}

/// Calls `each` for every value.
pub(crate) fn for_each(rows: &WrittenRows<'_>, mut each: impl FnMut(&[u8])) -> Result<()> {
    match rows.array.data_type() {
        DataType::Utf8 => contiguous::<Utf8Type>(rows, each),
        DataType::LargeUtf8 => contiguous::<LargeUtf8Type>(rows, each),
        DataType::Binary => contiguous::<BinaryType>(rows, each),
        DataType::LargeBinary => contiguous::<LargeBinaryType>(rows, each),
        DataType::Utf8View => views::<StringViewType>(rows, each),
        DataType::BinaryView => views::<BinaryViewType>(rows, each),
        DataType::FixedSizeBinary(_) => {
            let array = rows.array.as_fixed_size_binary();
            rows.for_each(|row| each(array.value(row)));
        }
        other => return Err(Error::internal(format!("{other} does not hold byte strings"))),
    }
    Ok(())
}

#[inline]
fn contiguous<T: ByteArrayType>(rows: &WrittenRows<'_>, mut each: impl FnMut(&[u8])) {
    let array = rows.array.as_bytes::<T>();
    let bytes: &[u8] = array.values();
    let ends = array.value_offsets();
    let at = |n: usize| ends[n].as_usize();
    rows.for_each(|row| each(&bytes[at(row)..at(row + 1)]));
}

#[inline]
fn views<T: ByteViewType>(rows: &WrittenRows<'_>, mut each: impl FnMut(&[u8])) {
    let array = rows.array.as_byte_view::<T>();
    let buffers = array.data_buffers();
    let views = array.views();
    // In one buffer, they lie after one another as a rule.
    let is_scattered = buffers.len() > 1;
    let fetch = |row: usize| {
        if is_scattered
            && let Some(view) = views.get(row).map(|view| ByteView::from(*view))
            && view.length > INLINE
            && let Some(buffer) = buffers.get(view.buffer_index as usize)
        {
            let (start, length) = (view.offset as usize, view.length as usize);
            [start, start + length - 1].into_iter().filter_map(|at| buffer.get(at)).for_each(prefetch);
        }
    };
    (0..AHEAD).for_each(fetch);
    rows.for_each(|row| {
        fetch(row + AHEAD);
        let view = &views[row];
        let length = *view as u32;
        if length <= INLINE {
            let bytes = view.to_le_bytes();
            each(&bytes[4..4 + length as usize]);
        } else {
            let view = ByteView::from(*view);
            let start = view.offset as usize;
            each(&buffers[view.buffer_index as usize][start..start + length as usize]);
        }
    });
}
