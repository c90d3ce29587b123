//! A condition that the first rows of an order meet, known from the keys of other rows.

use arrow::array::{ArrayRef, RecordBatch};
use arrow::compute::filter_record_batch;
use lakerace_format::predicate::literal_of;
use lakerace_format::sort::{SortKeys, SortTerm};
use lakerace_format::{CompareOp, Expr, Literal, Predicate};
use lakerace_io::{Error, Result};

/// The last key that is wanted so far, and the condition that rows with such a key, or an earlier one, meet.
#[derive(Debug, Default)]
pub(super) struct OrderBound {
    key: Vec<u8>,
    condition: Option<Expr>,
    predicate: Option<Predicate>,
}

impl OrderBound {
    /// Moves the bound to a key of an order by these terms. The batches of [`Self::rows_before`] have the columns of `batch`.
    ///
    /// # Errors
    /// `Internal` for bytes that are not a key of the order.
    pub fn move_to(&mut self, key: &[u8], terms: &[SortTerm], keys: &SortKeys, batch: &RecordBatch) -> Result<()> {
        if self.key == key {
            return Ok(());
        }
        key.clone_into(&mut self.key);
        self.condition = condition(terms, &keys.values_of(key)?);
        self.predicate = self.condition.as_ref().map(|expr| Predicate::bind(expr, &batch.schema())).transpose()?;
        Ok(())
    }

    /// The condition that all rows up to the bound meet; `None` where any row may be wanted.
    pub fn into_condition(self) -> Option<Expr> {
        self.condition
    }

    /// The rows of a batch that meet the condition.
    pub fn rows_before(&self, batch: RecordBatch) -> Result<RecordBatch> {
        let Some(predicate) = &self.predicate else { return Ok(batch) };
        let wanted = predicate.evaluate(&batch)?;
        match wanted.true_count() {
            0 => Ok(batch.slice(0, 0)),
            count if count == batch.num_rows() => Ok(batch),
            _ => filter_record_batch(&batch, &wanted).map_err(Error::unexpected),
        }
    }
}

/// The condition on the values of an order that holds for each row that does not come after these values. `None` where any row may,
/// and from the first term on that is not a column: its values would be computed twice.
fn condition(terms: &[SortTerm], values: &[ArrayRef]) -> Option<Expr> {
    let ((term, terms), (bound, values)) = (terms.split_first()?, values.split_first()?);
    if !matches!(term.value, Expr::Column(_)) {
        return None;
    }
    let value = || Box::new(term.value.clone());
    let is_null = || Expr::IsNull(value());
    let literal = literal_of(bound.as_ref(), 0)?;
    let rest = condition(terms, values);
    if literal == Literal::Null {
        return match (term.has_nulls_first, rest) {
            (true, None) => Some(is_null()),
            (true, Some(rest)) => Some(Expr::And(vec![is_null(), rest])),
            (false, None) => None,
            (false, Some(rest)) => Some(Expr::Or(vec![Expr::Not(Box::new(is_null())), rest])),
        };
    }
    // NaN comes after all numbers, and is neither less nor greater than one.
    let compare = |op| Expr::Compare { op, left: value(), right: Box::new(Expr::Literal(literal.clone())) };
    let not = |expr| Expr::Not(Box::new(expr));
    let with_nulls = |expr| if term.has_nulls_first { Expr::Or(vec![is_null(), expr]) } else { expr };
    let (is_after, is_before) = match term.is_descending {
        true => (compare(CompareOp::Less), not(compare(CompareOp::LessOrEq))),
        false => (compare(CompareOp::Greater), compare(CompareOp::Less)),
    };
    let is_not_after = with_nulls(not(is_after));
    Some(match rest {
        None => is_not_after,
        Some(rest) => Expr::And(vec![is_not_after, Expr::Or(vec![with_nulls(is_before), rest])]),
    })
}
