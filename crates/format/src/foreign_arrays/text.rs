//! Texts and bytes of other libraries: offsets in order, views within their buffers, and UTF-8.

use std::ops::Range;

use arrow::array::{Array, ArrayData, ByteView, GenericStringBuilder, OffsetSizeTrait};
use arrow::buffer::{Buffer, ScalarBuffer};
use lakerace_io::{Error, Result};

/// Bytes that stand in a view itself, at most.
const INLINE_BYTES: u32 = 12;

/// Checks texts with offsets. Returns a replacement if only the bytes of nulls are not text.
pub(super) fn check_text<O: OffsetSizeTrait>(data: &ArrayData, first_row: u64) -> Result<Option<ArrayData>> {
    let (Some(offsets), Some(bytes)) = (data.buffers().first(), data.buffers().get(1)) else { return Err(too_short()) };
    if data.is_empty() {
        return Ok(None);
    }
    let (from, to) = (data.offset(), data.offset() + data.len());
    let offsets: &[O] = offsets.typed_data();
    let offsets = offsets.get(from..=to).ok_or_else(too_short)?;
    let text = bytes.get(span(offsets, bytes.len(), first_row)?).ok_or_else(too_short)?;
    if text.is_ascii() || (simdutf8::basic::from_utf8(text).is_ok() && begin_characters(offsets, bytes)) {
        return Ok(None);
    }
    // Bytes that belong to nulls may be anything.
    let is_null = |row: usize| data.nulls().is_some_and(|nulls| nulls.is_null(row));
    let mut texts = GenericStringBuilder::<O>::with_capacity(data.len(), text.len());
    for (row, ends) in offsets.windows(2).enumerate() {
        if is_null(row) {
            texts.append_null();
            continue;
        }
        let value = &bytes[ends[0].as_usize()..ends[1].as_usize()];
        texts.append_value(simdutf8::basic::from_utf8(value).map_err(|_| no_text(first_row + row as u64))?);
    }
    Ok(Some(texts.finish().into_data()))
}

/// The bytes that offsets reach over.
fn span<O: OffsetSizeTrait>(offsets: &[O], length: usize, first_row: u64) -> Result<Range<usize>> {
    let (Some(first), Some(last)) = (offsets.first(), offsets.last()) else { return Err(too_short()) };
    if !offsets.windows(2).all(|ends| ends[0] <= ends[1]) {
        let row = offsets.windows(2).position(|ends| ends[0] > ends[1]).unwrap_or(0) as u64;
        return Err(Error::invalid(format!("the text of row {} ends before it starts", first_row + row)).advice(MEND));
    }
    match (first.to_usize(), last.to_usize()) {
        (Some(first), Some(last)) if last <= length => Ok(first..last),
        _ => Err(Error::invalid("the offsets of its texts point outside of their bytes").advice(MEND)),
    }
}

/// Returns true if no offset lies within a character.
fn begin_characters<O: OffsetSizeTrait>(offsets: &[O], bytes: &[u8]) -> bool {
    const CONTINUES: u8 = 0b1000_0000;
    offsets.iter().all(|offset| bytes.get(offset.as_usize()).is_none_or(|byte| byte & 0b1100_0000 != CONTINUES))
}

/// Checks views. Returns replacements if only the views of nulls are invalid.
pub(super) fn check_views(data: &ArrayData, is_text: bool, first_row: u64) -> Result<Option<ArrayData>> {
    let Some((views, buffers)) = data.buffers().split_first() else { return Err(too_short()) };
    let views: &[u128] = views.typed_data();
    let views = views.get(data.offset()..data.offset() + data.len()).ok_or_else(too_short)?;
    let mut mended: Option<Vec<u128>> = None;
    for (row, view) in views.iter().enumerate() {
        let Err(error) = check_view(*view, buffers, is_text) else { continue };
        if data.nulls().is_none_or(|nulls| nulls.is_valid(row)) {
            return Err(error(first_row + row as u64));
        }
        mended.get_or_insert_with(|| views.to_vec())[row] = 0;
    }
    let Some(mended) = mended else { return Ok(None) };
    let mut all = vec![ScalarBuffer::from(mended).into_inner()];
    all.extend(buffers.iter().cloned());
    let nulls = data.nulls().cloned();
    let whole = ArrayData::builder(data.data_type().clone()).len(data.len()).nulls(nulls).buffers(all).build();
    whole.map(Some).map_err(|error| super::invalid(&error))
}

/// Makes the error of a row.
type AtRow = fn(u64) -> Error;

fn check_view(view: u128, buffers: &[Buffer], is_text: bool) -> Result<(), AtRow> {
    const WRONG: AtRow = |row| {
        Error::invalid(format!(
            "the view of row {row} points outside of its buffers, or its prefix differs from its text"
        ))
        .advice(MEND)
    };
    let length = view as u32;
    if length <= INLINE_BYTES {
        let rest = view >> 32;
        if length < INLINE_BYTES && rest >> (8 * length) != 0 {
            return Err(WRONG);
        }
        const HIGH_BITS: u128 = 0x8080_8080_8080_8080_8080_8080;
        let is_plain = !is_text || rest & HIGH_BITS == 0;
        let bytes = rest.to_le_bytes();
        let is_fit = is_plain || simdutf8::basic::from_utf8(&bytes[..length as usize]).is_ok();
        return if is_fit { Ok(()) } else { Err(no_text) };
    }
    let view = ByteView::from(view);
    let start = view.offset as usize;
    let bytes = buffers.get(view.buffer_index as usize).and_then(|b| b.get(start..start + length as usize));
    let bytes = bytes.filter(|bytes| bytes.starts_with(&view.prefix.to_le_bytes())).ok_or(WRONG)?;
    let is_fit = !is_text || bytes.is_ascii() || simdutf8::basic::from_utf8(bytes).is_ok();
    if is_fit { Ok(()) } else { Err(no_text) }
}

const MEND: &str = "fix the library that made the arrays";

fn too_short() -> Error {
    Error::invalid("the buffers of an array are shorter than its length requires").advice(MEND)
}

fn no_text(row: u64) -> Error {
    Error::invalid(format!("the text of row {row} is not valid UTF-8"))
        .advice("decode it from its own encoding first, or pass it as binary")
}
