//! The row groups of a stripe that are read.

use std::ops::Range;

use lakerace_orc::read::Stripe;

use crate::expr::Expr;
use crate::plan::RowGroupsPlan;

/// The row groups that a filter leaves of a stripe.
#[derive(Debug)]
pub(crate) struct StripeRowGroups {
    pub(super) filter: Expr,
    /// The ids of the columns that can be read, with those below them.
    pub(super) columns: Vec<u32>,
    /// The stripe, with the row indexes of these.
    pub stripe: Stripe,
    /// For each row group whether it is read.
    pub kept: Vec<bool>,
    /// The row groups in words.
    pub plan: RowGroupsPlan,
}

impl StripeRowGroups {
    /// The rows that are read: ascending, not empty, not touching.
    pub fn rows(&self) -> Vec<Range<u64>> {
        let mut rows: Vec<Range<u64>> = Vec::new();
        for group in (0..self.kept.len()).filter(|group| self.kept[*group]) {
            let (first, count) = self.stripe.row_group(group);
            match rows.last_mut() {
                Some(last) if last.end == first => last.end += count,
                _ => rows.push(first..first + count),
            }
        }
        rows
    }

    /// Returns true if it is the result of this filter, and these columns can be read.
    pub(super) fn serves(&self, filter: &Expr, columns: &[u32]) -> bool {
        self.filter == *filter && columns.iter().all(|column| self.columns.contains(column))
    }
}
