//! Conditions on texts that repeat: each text is evaluated one time.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, BooleanArray};
use arrow::buffer::{BooleanBuffer, NullBuffer};
use arrow::datatypes::{Field, Schema};
use arrow::record_batch::RecordBatch;
use lakerace_io::{Error, Result};

use super::ColumnRef;
use super::node::{ConditionNode, IN_BY_COMPARING};
use crate::text_dictionary::distinct_texts;

/// Below this number of rows, each row is looked at.
const LEAST_ROWS: usize = 1024;

/// The values of a condition on one column of texts, if they repeat: those that `evaluate` gives for the distinct texts, by row.
/// `None` for other conditions and columns, and for a condition that takes no longer than to find the distinct texts.
pub(super) fn by_distinct_texts(
    node: &ConditionNode,
    batch: &RecordBatch,
    evaluate: impl Fn(&ConditionNode, &RecordBatch) -> Result<BooleanArray>,
) -> Result<Option<BooleanArray>> {
    if batch.num_rows() < LEAST_ROWS || !is_costly(node) {
        return Ok(None);
    }
    let Some(column) = only_column(node) else { return Ok(None) };
    let [name] = column.path.as_slice() else { return Ok(None) };
    let texts = batch.column_by_name(name).and_then(|array| array.as_string_view_opt());
    let Some(texts) = texts else { return Ok(None) };
    let Some((keys, distinct)) = distinct_texts(texts)? else { return Ok(None) };
    let schema = Arc::new(Schema::new(vec![Field::new(name, distinct.data_type().clone(), true)]));
    let distinct: ArrayRef = Arc::new(distinct);
    let distinct = RecordBatch::try_new(schema, vec![distinct]).map_err(Error::unexpected)?;
    Ok(Some(spread(&evaluate(node, &distinct)?, &keys)))
}

/// Returns true if a condition takes longer for a text than to find it among the distinct ones. A comparison of views does not.
fn is_costly(node: &ConditionNode) -> bool {
    match node {
        ConditionNode::Like { .. } | ConditionNode::Truth(_) | ConditionNode::CompareScalars { .. } => true,
        ConditionNode::In { values, .. } => values.len() > IN_BY_COMPARING,
        ConditionNode::And(nodes) | ConditionNode::Or(nodes) => nodes.iter().any(is_costly),
        ConditionNode::Not(node) => is_costly(node),
        ConditionNode::Constant(_)
        | ConditionNode::Known { .. }
        | ConditionNode::Compare { .. }
        | ConditionNode::IsNull(_) => false,
    }
}

/// The column that a condition depends on, if it is one.
fn only_column(node: &ConditionNode) -> Option<Arc<ColumnRef>> {
    let (mut only, mut is_one) = (None, true);
    node.visit_columns(&mut |column| match &only {
        None => only = Some(Arc::clone(column)),
        Some(known) => is_one &= known == column,
    });
    only.filter(|_| is_one)
}

/// The outcome of each row, by the position of its text.
fn spread(outcomes: &BooleanArray, keys: &[i32]) -> BooleanArray {
    let by_key = |bits: &BooleanBuffer| -> BooleanBuffer {
        let bits: Vec<bool> = bits.iter().collect();
        BooleanBuffer::collect_bool(keys.len(), |row| bits[keys[row] as usize])
    };
    let nulls = outcomes.nulls().map(|nulls| NullBuffer::new(by_key(nulls.inner())));
    BooleanArray::new(by_key(outcomes.values()), nulls)
}

#[cfg(test)]
mod tests;
