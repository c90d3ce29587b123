//! The rows of a step that stay: those that pass a filter, or that no deletion vector hides.

use std::ops::Range;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, BooleanArray, GenericByteViewArray};
use arrow::compute::{filter, prep_null_mask_filter};
use arrow::datatypes::{ByteViewType, DataType};
use lakerace_io::{Error, Result};

use super::row_selection::RowSelection;

/// The rows of a step that stay.
#[derive(Debug)]
pub(crate) struct RowMask {
    mask: BooleanArray,
    words: Vec<u64>,
    count: usize,
}

impl RowMask {
    /// The rows where `mask` is true; null counts as false.
    pub fn new(mask: &BooleanArray) -> Self {
        let mask = if mask.null_count() > 0 { prep_null_mask_filter(mask) } else { mask.clone() };
        let words = mask.values().bit_chunks().iter_padded().collect();
        Self { count: mask.values().count_set_bits(), mask, words }
    }

    /// The number of rows that stay.
    pub fn count(&self) -> usize {
        self.count
    }

    /// The number of rows.
    pub fn len(&self) -> usize {
        self.mask.len()
    }

    /// The selection of these rows.
    pub fn part(&self, rows: Range<usize>) -> RowSelection<'_> {
        RowSelection::new(&self.words, rows)
    }

    /// Keeps the rows of an array that stay.
    pub fn filter(&self, array: &ArrayRef) -> Result<ArrayRef> {
        let kept = filter(array, &self.mask).map_err(Error::unexpected)?;
        Ok(self.let_go(kept))
    }

    /// The rows that stay, without the bytes of the others: texts that were picked from pages keep the whole pages in
    /// memory. If most rows stay, that costs less than a copy.
    pub fn let_go(&self, kept: ArrayRef) -> ArrayRef {
        if self.count * 2 > self.len() {
            return kept;
        }
        match kept.data_type() {
            DataType::Utf8View => let_go(kept.as_string_view()).map_or(kept, |copy| Arc::new(copy)),
            DataType::BinaryView => let_go(kept.as_binary_view()).map_or(kept, |copy| Arc::new(copy)),
            _ => kept,
        }
    }
}

/// Copies texts that take less than half of the memory that they keep.
fn let_go<T: ByteViewType>(array: &GenericByteViewArray<T>) -> Option<GenericByteViewArray<T>> {
    let held: usize = array.data_buffers().iter().map(|buffer| buffer.len()).sum();
    (held > 2 * array.total_buffer_bytes_used()).then(|| array.gc())
}

#[cfg(test)]
mod tests;
