//! Comparisons by the kernels of Arrow.

use super::operand::RowOperand;
use crate::expr::CompareOp;
use arrow::array::*;
use arrow::compute::kernels::cmp;
use arrow::error::ArrowError;
use lakerace_io::{Error, Result};

/// Arrow's kernel: two operands of one type that is not a float.
pub(crate) fn kernel(op: CompareOp, left: &RowOperand, right: &RowOperand) -> Result<BooleanArray> {
    internal(match op {
        CompareOp::Eq => cmp::eq(left, right),
        CompareOp::NotEq => cmp::neq(left, right),
        CompareOp::Less => cmp::lt(left, right),
        CompareOp::LessOrEq => cmp::lt_eq(left, right),
        CompareOp::Greater => cmp::gt(left, right),
        CompareOp::GreaterOrEq => cmp::gt_eq(left, right),
    })
}

/// Converts Arrow's errors after types were checked: such an error is a bug.
pub(crate) fn internal<T>(result: std::result::Result<T, ArrowError>) -> Result<T> {
    result.map_err(Error::unexpected)
}
