//! Text columns: views of the block's own bytes, or offsets into a copy.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, GenericStringArray, NullBufferBuilder, OffsetSizeTrait, StringViewArray};
use arrow::buffer::{Buffer, OffsetBuffer, ScalarBuffer};

use super::column::{BadFields, CsvColumn, FieldError, FieldText, Text};
use super::fields::FieldTable;

/// The longest text that a view holds itself.
const INLINE: usize = 12;

/// String views. A text of the block is referenced in place; a text with escapes, or from another place, is copied.
pub(super) struct ViewColumn {
    views: Vec<u128>,
    nulls: NullBufferBuilder,
    /// Texts that the block does not contain verbatim: buffer 1.
    owned: Vec<u8>,
    borrowed: usize,
}

impl ViewColumn {
    pub fn new(rows: usize) -> Self {
        Self { views: Vec::with_capacity(rows), nulls: NullBufferBuilder::new(rows), owned: Vec::new(), borrowed: 0 }
    }

    /// The view of a plain field at `text[start..end]`.
    #[inline(always)]
    fn push_at(&mut self, text: &Text<'_>, start: usize, end: usize) {
        let len = end - start;
        let view = if len <= INLINE {
            match text.bytes.get(start..start + 16).and_then(|b| <[u8; 16]>::try_from(b).ok()) {
                // The bytes after the field are cut off.
                Some(bytes) => (u128::from_le_bytes(bytes) & ((1 << (8 * len)) - 1)) << 32 | len as u128,
                None => inline_view(&text.bytes[start..end]),
            }
        } else if let Some(block) = text.block {
            self.borrowed += len;
            reference(&text.bytes[start..end], 0, block + start)
        } else {
            let at = self.owned.len();
            self.owned.extend_from_slice(&text.bytes[start..end]);
            reference(&text.bytes[start..end], 1, at)
        };
        self.views.push(view);
    }

    fn push_null(&mut self, row: usize, bad: &mut BadFields<'_>) -> bool {
        if !bad.null(row) {
            return false;
        }
        self.views.push(0);
        self.nulls.append_null();
        true
    }

    /// A field with quotes, or that may be null. Returns true if parsing is to continue.
    #[inline(never)]
    fn append_slowly(&mut self, text: &Text<'_>, at: (usize, usize), row: usize, bad: &mut BadFields<'_>) -> bool {
        let field = match text.field(at.0, at.1) {
            FieldText::Null => return self.push_null(row, bad),
            FieldText::Bad(badness) => return bad.report(row, badness) && self.push_null(row, bad),
            FieldText::Text(field) => field,
        };
        if !text.is_utf8 && simdutf8::basic::from_utf8(&field).is_err() {
            return bad.report(row, FieldError::Utf8) && self.push_null(row, bad);
        }
        match field {
            std::borrow::Cow::Borrowed(field) => {
                let quoted = usize::from(field.len() + 1 < at.1 - at.0);
                self.push_at(text, at.0 + quoted, at.0 + quoted + field.len());
            }
            std::borrow::Cow::Owned(field) if field.len() <= INLINE => self.views.push(inline_view(&field)),
            std::borrow::Cow::Owned(field) => {
                self.views.push(reference(&field, 1, self.owned.len()));
                self.owned.extend_from_slice(&field);
            }
        }
        self.nulls.append_non_null();
        true
    }
}

/// The view of a text of at most [`INLINE`] bytes.
fn inline_view(text: &[u8]) -> u128 {
    let mut bytes = [0; 16];
    bytes[0] = text.len() as u8;
    bytes[4..4 + text.len()].copy_from_slice(text);
    u128::from_le_bytes(bytes)
}

/// The view of a longer text at `offset` of a buffer. Texts and buffers are shorter than 2 GiB: a block is bounded.
#[inline(always)]
fn reference(text: &[u8], buffer: u32, offset: usize) -> u128 {
    let prefix = text.first_chunk::<4>().map_or(0, |p| u32::from_le_bytes(*p));
    text.len() as u128 | u128::from(prefix) << 32 | u128::from(buffer) << 64 | (offset as u128) << 96
}

impl CsvColumn for ViewColumn {
    fn append(&mut self, table: &FieldTable, column: usize, text: &Text<'_>, bad: &mut BadFields<'_>) {
        let plain = text.rules.nulls.only_empty && text.is_utf8;
        let quote = text.rules.quote;
        let mut run = 0;
        for (row, at) in table.column(column).enumerate().take(bad.stop_at) {
            let (start, end) = (at.0, at.1 - 1);
            // Neither empty, which is null, nor missing, nor quoted.
            if plain && start < end && Some(text.bytes[start]) != quote {
                self.push_at(text, start, end);
                run += 1;
                continue;
            }
            if plain
                && let Some((start, end)) = text.inside_quotes(at.0, at.1)
                && start < end
                && !text.has_specials(start, end)
            {
                self.push_at(text, start, end);
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

    fn finish(&mut self, block: &bytes::Bytes) -> ArrayRef {
        let views = ScalarBuffer::from(std::mem::take(&mut self.views));
        let mut buffers = Vec::new();
        if self.borrowed > 0 || !self.owned.is_empty() {
            buffers.push(Buffer::from(block.clone()));
            buffers.push(Buffer::from_vec(std::mem::take(&mut self.owned)));
        }
        self.borrowed = 0;
        // SAFETY: every view was made by `inline_view`, which fills up with zeros, by `push_at`, which cuts off what
        // follows, or by `reference` with its own prefix and a range of the block (buffer 0) or of `owned` (buffer 1).
        // Each text is UTF-8: the whole text was checked, and fields are cut at ASCII bytes, or the field was checked.
        let array = unsafe { StringViewArray::new_unchecked(views, buffers.into(), self.nulls.finish()) };
        Arc::new(array)
    }

    fn borrowed_bytes(&self) -> usize {
        self.borrowed
    }
}

/// Strings after one another, with offsets of 32 or 64 bits.
pub(super) struct OffsetColumn<O: OffsetSizeTrait> {
    offsets: Vec<O>,
    bytes: Vec<u8>,
    nulls: NullBufferBuilder,
}

impl<O: OffsetSizeTrait> OffsetColumn<O> {
    pub fn new(rows: usize) -> Self {
        let mut offsets = Vec::with_capacity(rows + 1);
        offsets.push(O::zero());
        Self { offsets, bytes: Vec::new(), nulls: NullBufferBuilder::new(rows) }
    }
}

impl<O: OffsetSizeTrait> CsvColumn for OffsetColumn<O> {
    fn append(&mut self, table: &FieldTable, column: usize, text: &Text<'_>, bad: &mut BadFields<'_>) {
        for (row, at) in table.column(column).enumerate().take(bad.stop_at) {
            let outcome = match text.field(at.0, at.1) {
                FieldText::Null => Ok(None),
                FieldText::Bad(badness) => Err(badness),
                FieldText::Text(field) if !text.is_utf8 && simdutf8::basic::from_utf8(&field).is_err() => {
                    Err(FieldError::Utf8)
                }
                FieldText::Text(field) => Ok(Some(field)),
            };
            let go_on = match &outcome {
                Ok(Some(field)) => {
                    self.bytes.extend_from_slice(field);
                    true
                }
                Ok(None) => bad.null(row),
                Err(badness) => bad.report(row, *badness) && bad.null(row),
            };
            if !go_on {
                return;
            }
            // A block's text is shorter than 2 GiB, so that 32 bits do.
            self.offsets.push(O::usize_as(self.bytes.len()));
            self.nulls.append(matches!(outcome, Ok(Some(_))));
        }
    }

    fn finish(&mut self, _block: &bytes::Bytes) -> ArrayRef {
        let offsets = std::mem::replace(&mut self.offsets, vec![O::zero()]);
        // SAFETY: the offsets are the growing lengths of `bytes`, from zero; each text between two of them is UTF-8 (see
        // `ViewColumn::finish`).
        let array = unsafe {
            let offsets = OffsetBuffer::new_unchecked(ScalarBuffer::from(offsets));
            let bytes = Buffer::from_vec(std::mem::take(&mut self.bytes));
            GenericStringArray::<O>::new_unchecked(offsets, bytes, self.nulls.finish())
        };
        debug_assert!(array.to_data().validate_full().is_ok());
        Arc::new(array)
    }
}
