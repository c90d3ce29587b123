//! The search for one substring in all texts of an array.
//!
//! A search has a cost of its own, which short texts do not repay one by one. The texts of neighbouring rows follow one
//! another in memory, so they are searched together: rows between two places of the substring cost two
//! comparisons each.

use arrow::array::{Array, ByteView, GenericStringArray, OffsetSizeTrait, StringViewArray};
use arrow::buffer::BooleanBuffer;
use memchr::memmem::Finder;

/// Rows that are searched together: those of a word of the result.
const ROWS_TOGETHER: usize = 64;
/// The bytes that are searched for a byte of text at most: the texts that were not selected are among those that were.
const SPAN_PER_TEXT_BYTE: usize = 2;
/// The longest text that a view contains.
const INLINE_BYTES: u32 = 12;

/// Finds the rows whose text has the substring. Null rows may have any result.
pub(super) fn rows_with(array: &StringViewArray, substring: &Finder<'_>) -> BooleanBuffer {
    collect(array.len(), |first, last| {
        let rows = first..last;
        match ViewSpan::covering(array, rows.clone()) {
            Some(span) => span.search(array, rows, substring),
            None => each(rows, |row| array.is_valid(row) && has(array.value(row).as_bytes(), substring)),
        }
    })
}

/// Finds the rows as [`rows_with`] does, in an array whose texts follow one another in any case.
pub(super) fn rows_with_offsets<O: OffsetSizeTrait>(
    array: &GenericStringArray<O>,
    substring: &Finder<'_>,
) -> BooleanBuffer {
    collect(array.len(), |first, last| {
        let offsets = &array.value_offsets()[first..=last];
        let base = offsets[0].as_usize();
        let end = offsets[last - first].as_usize();
        let mut search = SpanSearch::new(&array.value_data()[base..end], substring);
        each(first..last, |row| {
            let (start, end) = (offsets[row - first].as_usize(), offsets[row - first + 1].as_usize());
            search.is_within(start - base, end - base)
        })
    })
}

/// The results of groups of rows, as one.
fn collect(rows: usize, mut group: impl FnMut(usize, usize) -> u64) -> BooleanBuffer {
    let words = (0..rows).step_by(ROWS_TOGETHER).map(|first| group(first, rows.min(first + ROWS_TOGETHER)));
    BooleanBuffer::new(words.collect::<Vec<u64>>().into(), 0, rows)
}

/// A bit for each of some rows.
fn each(rows: std::ops::Range<usize>, mut is_match: impl FnMut(usize) -> bool) -> u64 {
    rows.enumerate().fold(0, |word, (bit, row)| word | (u64::from(is_match(row)) << bit))
}

fn has(text: &[u8], substring: &Finder<'_>) -> bool {
    text.len() >= substring.needle().len() && substring.find(text).is_some()
}

/// A part of one buffer that has the longer texts of some rows, in their order.
struct ViewSpan {
    buffer: u32,
    start: usize,
    end: usize,
}

impl ViewSpan {
    /// None where the texts are in several buffers, in another order, or far apart.
    fn covering(array: &StringViewArray, rows: std::ops::Range<usize>) -> Option<Self> {
        let mut span: Option<Self> = None;
        let mut text_bytes = 0;
        for view in &array.views()[rows] {
            let view = ByteView::from(*view);
            if view.length <= INLINE_BYTES {
                continue;
            }
            let (start, length) = (view.offset as usize, view.length as usize);
            let span = span.get_or_insert(Self { buffer: view.buffer_index, start, end: start });
            if view.buffer_index != span.buffer || start < span.end {
                return None;
            }
            span.end = start + length;
            text_bytes += length;
        }
        let span = span.unwrap_or(Self { buffer: 0, start: 0, end: 0 });
        let is_dense = span.end - span.start <= SPAN_PER_TEXT_BYTE * text_bytes;
        let has_bytes = array.data_buffers().get(span.buffer as usize).map_or(0, |bytes| bytes.len()) >= span.end;
        (is_dense && has_bytes).then_some(span)
    }

    fn search(&self, array: &StringViewArray, rows: std::ops::Range<usize>, substring: &Finder<'_>) -> u64 {
        let bytes = array.data_buffers().get(self.buffer as usize).map_or(&[][..], |bytes| bytes.as_slice());
        let mut search = SpanSearch::new(&bytes[self.start..self.end], substring);
        each(rows, |row| {
            let view = array.views()[row];
            let at = ByteView::from(view);
            if at.length > INLINE_BYTES {
                let start = at.offset as usize - self.start;
                return search.is_within(start, start + at.length as usize);
            }
            // The length comes first.
            has(&view.to_le_bytes()[4..][..at.length as usize], substring)
        })
    }
}

/// A search through texts in one piece of memory, in ascending order.
struct SpanSearch<'a> {
    bytes: &'a [u8],
    substring: &'a Finder<'a>,
    /// The first place of the substring from the last asked start on.
    found: usize,
}

impl<'a> SpanSearch<'a> {
    fn new(bytes: &'a [u8], substring: &'a Finder<'a>) -> Self {
        let mut search = Self { bytes, substring, found: 0 };
        search.seek(0);
        search
    }

    fn seek(&mut self, start: usize) {
        self.found = self.substring.find(&self.bytes[start..]).map_or(usize::MAX, |at| start + at);
    }

    /// Returns true if the substring is between `start` and `end`. Each text starts after the end of the last one.
    fn is_within(&mut self, start: usize, end: usize) -> bool {
        if self.found < start {
            self.seek(start);
        }
        self.found.saturating_add(self.substring.needle().len()) <= end
    }
}

#[cfg(test)]
mod tests;
