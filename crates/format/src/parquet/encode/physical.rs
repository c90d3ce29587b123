//! Physical types of fixed width.

use arrow::array::ArrayRef;
use arrow::buffer::{NullBuffer, ScalarBuffer};
use arrow::datatypes::ArrowNativeType;
use lakerace_io::Result;
use parquet::schema::types::ColumnDescPtr;

use super::statistics::MinMax;

/// A physical type of fixed width, and how Arrow arrays become values of it.
pub(crate) trait Physical: 'static {
    /// The number.
    type Native: ArrowNativeType + MinMax + PartialEq;

    /// Its bits, for hashing.
    fn bits(value: Self::Native) -> u64;

    /// The values of an array whose column has this physical type.
    fn values(array: &ArrayRef, column: &ColumnDescPtr) -> Result<NumberArray<Self::Native>>;
}

/// An array as numbers.
pub(crate) struct NumberArray<T: ArrowNativeType> {
    pub(crate) values: ScalarBuffer<T>,
    pub(crate) nulls: Option<NullBuffer>,
}
