//! A read of the columns that an order needs, before all columns of the rows that may come first.

use std::sync::Arc;

use lakerace_format::{Batches, Expr, ReadPlan, ReadRequest, Source};
use lakerace_io::Result;

/// The least number of rows of which the first ones are found by their keys: fewer are read in no time.
const LEAST_ROWS: u64 = 100_000;
/// The least number of rows for each one that is wanted, so that most are left out.
const ROWS_PER_WANTED_ROW: u64 = 20;
/// The least number of bytes of all columns for each byte of the keys. Keys that are all equal leave out no row: then reading them
/// adds at most a third.
const BYTES_PER_KEY_BYTE: u64 = 3;
/// The latency of local disks, whose page cache keeps the keys for the second read.
const LOCAL_LATENCY_MS: f64 = 1.0;

/// The keys of all rows, and the read that follows: of all columns, where the keys allow.
pub(crate) struct KeyRead {
    /// The plan of the keys.
    key_plan: ReadPlan,
    /// The plan of all columns.
    row_plan: ReadPlan,
    source: Arc<dyn Source>,
}

impl KeyRead {
    /// Plans to read the columns `keys` before the others; `None` where reading the rows once takes less work.
    ///
    /// # Errors
    /// The errors of [`Source::plan`].
    pub fn plan(
        source: &Arc<dyn Source>,
        row_plan: ReadPlan,
        keys: Vec<String>,
        wanted_rows: u64,
    ) -> Result<Option<Self>> {
        let rows = row_plan.rows_at_most().unwrap_or_default();
        if rows < LEAST_ROWS || wanted_rows.saturating_mul(ROWS_PER_WANTED_ROW) > rows {
            return Ok(None);
        }
        let Some((_, path)) = source.wanted(&row_plan)? else { return Ok(None) };
        if path.latency_ms > LOCAL_LATENCY_MS {
            return Ok(None);
        }
        let key_plan = source.plan(&ReadRequest { columns: Some(keys), ..row_plan.request.clone() })?;
        let bytes = key_plan.requests.wanted_bytes.saturating_mul(BYTES_PER_KEY_BYTE);
        let is_worth_it = bytes <= row_plan.requests.wanted_bytes;
        Ok(is_worth_it.then(|| Self { key_plan, row_plan, source: Arc::clone(source) }))
    }

    /// The bytes and rows of both reads, of which the second one may need less.
    pub fn planned(&self) -> (u64, Option<u64>) {
        let bytes_of = |plan: &ReadPlan| plan.requests.wanted_bytes + plan.requests.read_through_bytes;
        let rows = self.row_plan.rows_at_most().filter(|_| self.row_plan.request.filter.is_none());
        (bytes_of(&self.key_plan) + bytes_of(&self.row_plan), rows.map(|rows| rows.saturating_mul(2)))
    }

    /// Starts reading the keys.
    pub fn keys(&self) -> Result<Batches> {
        self.source.read(&self.key_plan)
    }

    /// Starts reading all columns of the rows that meet a condition.
    pub fn rows(&self, condition: Option<Expr>) -> Result<Batches> {
        let Some(condition) = condition else { return self.source.read(&self.row_plan) };
        let filter = match self.row_plan.request.filter.clone() {
            Some(filter) => Expr::And(vec![filter, condition]),
            None => condition,
        };
        let request = ReadRequest { filter: Some(filter), ..self.row_plan.request.clone() };
        self.source.read(&self.source.plan(&request)?)
    }
}
