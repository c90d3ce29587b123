//! Branches that are evaluated only for the rows that take them.

use arrow::array::{Array, ArrayRef, AsArray, BooleanArray, RecordBatch, UInt32Array, new_null_array};
use arrow::compute::{cast, interleave, is_not_null, take_record_batch};
use arrow::datatypes::DataType;
use lakerace_io::Result;

use super::kernels::internal;
use super::node::RowScalar;
use super::operand::RowOperand;

/// Computes a value for each row of a batch.
pub(super) type ScalarValues = fn(&RowScalar, &RecordBatch) -> Result<ArrayRef>;

/// The values of rows, collected branch by branch.
struct BranchRows {
    data_type: DataType,
    arrays: Vec<ArrayRef>,
    /// For each row the array that has its value, and the place in it.
    places: Vec<(usize, usize)>,
}

/// The values of a CASE or a coalesce over a batch with columns, each computed for its own rows only: a cast of other rows
/// may fail.
///
/// # Errors
/// Those of a value for a row that takes it.
pub(super) fn branch_values(
    values: ScalarValues,
    is_case: bool,
    arguments: &[RowScalar],
    data_type: &DataType,
    batch: &RecordBatch,
) -> Result<RowOperand> {
    let mut found =
        BranchRows { data_type: data_type.clone(), arrays: Vec::new(), places: vec![(0, 0); batch.num_rows()] };
    let mut left: Vec<u32> = (0..batch.num_rows() as u32).collect();
    let otherwise = if is_case { arguments.last() } else { None };
    for branch in arguments.chunks(if is_case { 2 } else { 1 }) {
        match branch {
            [condition, value] => {
                let condition = values(condition, &rows_of(batch, &left)?)?;
                let (taken, others) = divided(&left, condition.as_boolean());
                if !taken.is_empty() {
                    found.add(values(value, &rows_of(batch, &taken)?)?, &taken)?;
                }
                left = others;
            }
            [value] if !is_case && !left.is_empty() => {
                let array = values(value, &rows_of(batch, &left)?)?;
                let (_, others) = divided(&left, &internal(is_not_null(&array))?);
                found.add(array, &left)?;
                left = others;
            }
            _ => {}
        }
    }
    match otherwise {
        Some(value) if !left.is_empty() => found.add(values(value, &rows_of(batch, &left)?)?, &left)?,
        _ => {}
    }
    found.finish()
}

fn rows_of(batch: &RecordBatch, rows: &[u32]) -> Result<RecordBatch> {
    internal(take_record_batch(batch, &UInt32Array::from(rows.to_vec())))
}

/// The rows for which a condition is true, and the others, for which it may be null.
fn divided(rows: &[u32], is_true: &BooleanArray) -> (Vec<u32>, Vec<u32>) {
    let (taken, others): (Vec<_>, Vec<_>) =
        rows.iter().enumerate().partition(|(at, _)| is_true.is_valid(*at) && is_true.value(*at));
    let numbers = |pairs: Vec<(usize, &u32)>| pairs.into_iter().map(|(_, row)| *row).collect();
    (numbers(taken), numbers(others))
}

impl BranchRows {
    /// The values of these rows; those of an earlier call are replaced.
    fn add(&mut self, array: ArrayRef, rows: &[u32]) -> Result<()> {
        let array = match array.data_type() == &self.data_type {
            true => array,
            false => internal(cast(&array, &self.data_type))?,
        };
        for (place, row) in rows.iter().enumerate() {
            self.places[*row as usize] = (self.arrays.len(), place);
        }
        self.arrays.push(array);
        Ok(())
    }

    fn finish(self) -> Result<RowOperand> {
        if self.arrays.is_empty() {
            return Ok(RowOperand { array: new_null_array(&self.data_type, self.places.len()), is_scalar: false });
        }
        let arrays: Vec<&dyn Array> = self.arrays.iter().map(AsRef::as_ref).collect();
        Ok(RowOperand { array: internal(interleave(&arrays, &self.places))?, is_scalar: false })
    }
}
