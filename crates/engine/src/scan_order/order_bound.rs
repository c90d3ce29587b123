//! A condition that the first rows of an order meet, known from the keys of other rows.

use arrow::array::RecordBatch;
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
    /// Moves the bound to a key of an order with this first term. The batches of [`Self::rows_before`] have the columns of `batch`.
    ///
    /// # Errors
    /// `Internal` for bytes that are not a key of the order.
    pub fn move_to(&mut self, key: &[u8], term: &SortTerm, keys: &SortKeys, batch: &RecordBatch) -> Result<()> {
        if self.key == key {
            return Ok(());
        }
        key.clone_into(&mut self.key);
        self.condition = condition(term, keys, key)?;
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

/// The condition on the first value of an order that holds for each row whose key is at most this one. `None` where no condition
/// says so, and where the value is not a column: it would be computed twice.
fn condition(term: &SortTerm, keys: &SortKeys, key: &[u8]) -> Result<Option<Expr>> {
    if !matches!(term.value, Expr::Column(_)) {
        return Ok(None);
    }
    let value = || Box::new(term.value.clone());
    let is_null = Expr::IsNull(value());
    let literal = match literal_of(keys.first_value(key)?.as_ref(), 0) {
        None => return Ok(None),
        Some(Literal::Null) => return Ok(term.has_nulls_first.then_some(is_null)),
        Some(literal) => literal,
    };
    // NaN comes after all numbers, and is neither less nor greater than one.
    let op = if term.is_descending { CompareOp::Less } else { CompareOp::Greater };
    let comes_later = Expr::Compare { op, left: value(), right: Box::new(Expr::Literal(literal)) };
    let is_wanted = Expr::Not(Box::new(comes_later));
    Ok(Some(if term.has_nulls_first { Expr::Or(vec![is_null, is_wanted]) } else { is_wanted }))
}
