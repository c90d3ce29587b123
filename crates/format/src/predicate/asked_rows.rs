//! Conditions of which some rows are asked: a cast of the others may fail.

use arrow::array::{Array, BooleanArray, BooleanBufferBuilder, RecordBatch};
use arrow::buffer::{BooleanBuffer, NullBuffer};
use arrow::compute::filter_record_batch;
use lakerace_io::Result;

use super::kernels::internal;
use super::node::ConditionNode;

/// The `asked` rows of a batch, with the columns of a condition.
pub(super) fn asked_rows(node: &ConditionNode, batch: &RecordBatch, asked: &BooleanBuffer) -> Result<RecordBatch> {
    let mut roots = Vec::new();
    node.visit_columns(&mut |column| {
        let root = column.path.first().and_then(|root| batch.schema_ref().column_with_name(root));
        roots.extend(root.map(|(index, _)| index));
    });
    roots.sort_unstable();
    roots.dedup();
    let columns = internal(batch.project(&roots))?;
    internal(filter_record_batch(&columns, &BooleanArray::new(asked.clone(), None)))
}

/// The rows with a true value; null is none.
pub(super) fn true_rows(values: &BooleanArray) -> BooleanBuffer {
    match values.nulls() {
        None => values.values().clone(),
        Some(valid) => values.values() & valid.inner(),
    }
}

/// Puts values into their rows; the others are null.
pub(super) fn spread(values: &BooleanArray, rows: &BooleanBuffer) -> BooleanArray {
    let unset = || {
        let mut bits = BooleanBufferBuilder::new(rows.len());
        bits.append_n(rows.len(), false);
        bits
    };
    let (mut spread, mut valid) = (unset(), unset());
    for (number, row) in rows.set_indices().enumerate() {
        spread.set_bit(row, values.value(number));
        valid.set_bit(row, values.is_valid(number));
    }
    BooleanArray::new(spread.build(), Some(NullBuffer::new(valid.build())))
}
