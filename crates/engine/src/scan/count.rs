//! The number of rows of a scan.

use arrow::datatypes::Schema;
use lakerace_format::{ReadPlan, ReadRequest};
use lakerace_io::{Result, plan_requests};

use super::Scan;
use crate::filter::parse_filter;

impl Scan {
    /// The number of rows; from metadata alone if that is exact.
    pub fn count(&self) -> Result<u64> {
        if let Some(rows) = self.known_rows() {
            return Ok(rows);
        }
        if let Some(version) = self.version.as_ref().filter(|_| self.only_counts) {
            return Ok(version.row_count()?.min(self.limit().unwrap_or(u64::MAX)));
        }
        let plan = self.count_plan();
        self.note_plan(&self.with_requests(plan.clone()));
        let most = self.limit().unwrap_or(u64::MAX);
        let mut rows = 0;
        for batch in self.source.read(&plan)? {
            self.job.check()?;
            rows += batch?.num_rows() as u64;
            if rows >= most {
                break;
            }
        }
        Ok(rows.min(most))
    }

    pub(super) fn count_plan(&self) -> ReadPlan {
        match self.source.leaves_out_rows() {
            true => self.plan.clone(),
            // Only the columns of the filter.
            false => self.plan_of(Some(Vec::new()), Schema::empty()),
        }
    }

    /// A plan with the requests that it takes, where metadata tell them.
    pub(super) fn with_requests(&self, mut plan: ReadPlan) -> ReadPlan {
        if let Some((wanted, profile)) = self.source.wanted(&plan).unwrap_or_default() {
            plan.requests = plan_requests(&wanted, &self.job.options().ranges, &profile);
        }
        plan
    }

    /// The number of rows for which a condition on a column holds; those that metadata exclude are not read.
    pub(crate) fn count_where(&self, column: &str, condition: &str) -> Result<u64> {
        let columns = Some(vec![column.to_owned()]);
        let filter = Some(parse_filter(condition)?);
        let plan = self.source.plan(&ReadRequest { columns, filter, batch_rows: None, ..self.plan.request.clone() })?;
        let mut rows = 0;
        for batch in self.source.read(&plan)? {
            self.job.check()?;
            rows += batch?.num_rows() as u64;
        }
        Ok(rows)
    }
}
