//! Operands of arrow's kernels.

use arrow::array::{Array, ArrayRef, Datum};

/// An array, or one value for all rows.
#[derive(Debug, Clone)]
pub(super) struct RowOperand {
    pub array: ArrayRef,
    pub is_scalar: bool,
}

impl Datum for RowOperand {
    fn get(&self) -> (&dyn Array, bool) {
        (self.array.as_ref(), self.is_scalar)
    }
}
