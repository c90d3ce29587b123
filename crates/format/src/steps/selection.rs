//! The rows of a step that a filter has kept.

use arrow::array::{Array, BooleanArray};
use arrow::compute::prep_null_mask_filter;

/// Which rows of a step stay.
#[derive(Debug)]
pub(crate) struct Selection {
    mask: BooleanArray,
    rows: Vec<u32>,
}

impl Selection {
    /// The rows where `mask` is true; null counts as false.
    pub fn new(mask: &BooleanArray) -> Self {
        let mask = if mask.null_count() > 0 { prep_null_mask_filter(mask) } else { mask.clone() };
        let rows = mask.values().set_indices_u32().collect();
        Self { mask, rows }
    }

    /// How many rows stay.
    pub fn count(&self) -> usize {
        self.rows.len()
    }

    /// How many rows there are.
    pub fn len(&self) -> usize {
        self.mask.len()
    }

    /// The mask, without nulls.
    pub fn mask(&self) -> &BooleanArray {
        &self.mask
    }

    /// The numbers of the rows that stay, ascending.
    pub fn rows(&self) -> &[u32] {
        &self.rows
    }
}
