//! The batches of a read from those of its steps.

use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::compute::BatchCoalescer;
use lakerace_io::{Error, Job, Result};

use super::DecodeUnits;
use super::schedule::{ScanTask, StepBatches};
use crate::source::Batches;

/// Batches that a filter has thinned out are joined up to this many rows. Those with at least half as many pass: joining
/// copies every value.
const COALESCED_ROWS: usize = 8192;

/// Runs the steps. The small batches that a filter or a deletion vector leaves are joined to at most `step_rows` rows.
pub(crate) fn run<U: DecodeUnits>(scan: ScanTask<U>, step_rows: usize, limit: Option<u64>) -> Result<Batches> {
    let schema = Arc::clone(&scan.columns.schema);
    let thins_out = scan.columns.predicate.is_some() || scan.units.hides_rows();
    let job = scan.job.clone();
    let limited = LimitedBatches { batches: StepBatches::start(scan), left: limit.unwrap_or(u64::MAX), job };
    if !thins_out {
        return Ok(Batches::new(schema, limited));
    }
    let target = step_rows.min(COALESCED_ROWS);
    let coalescer = (!schema.fields().is_empty()).then(|| BatchCoalescer::new(Arc::clone(&schema), target));
    Ok(Batches::new(
        schema,
        CoalescedBatches { batches: Some(limited), coalescer, passing_rows: target / 2, next: None },
    ))
}

/// Ends after a number of rows, and counts them.
struct LimitedBatches<U: DecodeUnits> {
    batches: StepBatches<U>,
    left: u64,
    job: Job,
}

impl<U: DecodeUnits> Iterator for LimitedBatches<U> {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.left == 0 {
            return None;
        }
        let batch = match self.batches.next()? {
            Ok(batch) => batch,
            Err(error) => return Some(Err(error)),
        };
        let rows = (batch.num_rows() as u64).min(self.left);
        self.left -= rows;
        self.job.meter().read_rows(rows);
        Some(Ok(if rows < batch.num_rows() as u64 { batch.slice(0, rows as usize) } else { batch }))
    }
}

/// Joins the small batches that a filter leaves; large ones pass.
struct CoalescedBatches<U: DecodeUnits> {
    batches: Option<LimitedBatches<U>>,
    coalescer: Option<BatchCoalescer>,
    /// Batches of at least this many rows are passed on unchanged.
    passing_rows: usize,
    /// The batch that is passed on after the rows before it.
    next: Option<RecordBatch>,
}

impl<U: DecodeUnits> Iterator for CoalescedBatches<U> {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let Some(coalescer) = &mut self.coalescer else { return self.batches.as_mut()?.next() };
            if let Some(batch) = coalescer.next_completed_batch() {
                return Some(Ok(batch));
            }
            if let Some(batch) = self.next.take() {
                return Some(Ok(batch));
            }
            let Some(batches) = &mut self.batches else { return None };
            let outcome = match batches.next() {
                Some(Err(error)) => return Some(Err(error)),
                Some(Ok(batch)) if batch.num_rows() >= self.passing_rows => {
                    self.next = Some(batch);
                    coalescer.finish_buffered_batch().map_err(Error::unexpected)
                }
                Some(Ok(batch)) => coalescer.push_batch(batch).map_err(Error::unexpected),
                None => {
                    self.batches = None;
                    coalescer.finish_buffered_batch().map_err(Error::unexpected)
                }
            };
            if let Err(error) = outcome {
                return Some(Err(error));
            }
        }
    }
}
