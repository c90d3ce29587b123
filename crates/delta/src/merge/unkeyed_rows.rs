//! Rows of a source that have no key: a column that the merge joins by is null. No row of the table matches them.

use std::sync::{Arc, Mutex};

use arrow::array::{Array, BooleanArray, RecordBatch};
use arrow::buffer::{BooleanBuffer, NullBuffer};
use arrow::compute::filter_record_batch;
use lakerace_format::sort::spill::{self, RunLocation, SpillFile};
use lakerace_format::{Batches, with_own_texts};
use lakerace_io::wait::lock;
use lakerace_io::{Error, Result};

use super::plan::MergePlan;

/// Bytes of rows that wait in memory for the next run on the local disk.
const WAITING_BYTES: usize = 4 << 20;

/// The rows of a source that have no key, on the local disk if they are many.
pub(crate) struct UnkeyedRows {
    plan: Arc<MergePlan>,
    stored: Arc<Mutex<UnkeyedRowStore>>,
}

#[derive(Default)]
struct UnkeyedRowStore {
    waiting: Vec<RecordBatch>,
    waiting_bytes: usize,
    spill: Option<SpillFile>,
    runs: Vec<RunLocation>,
}

impl UnkeyedRowStore {
    fn push(&mut self, rows: RecordBatch) -> Result<()> {
        self.waiting_bytes += rows.get_array_memory_size();
        self.waiting.push(rows);
        if self.waiting_bytes < WAITING_BYTES {
            return Ok(());
        }
        let spill = match &mut self.spill {
            Some(spill) => spill,
            None => self.spill.insert(SpillFile::create()?),
        };
        let mut run = spill.begin(&self.waiting[0].schema())?;
        self.waiting.iter().try_for_each(|rows| run.write(rows))?;
        self.runs.push(run.finish()?);
        self.waiting.clear();
        self.waiting_bytes = 0;
        Ok(())
    }
}

impl UnkeyedRows {
    /// No rows yet.
    pub fn new(plan: &Arc<MergePlan>) -> Self {
        Self { plan: Arc::clone(plan), stored: Arc::default() }
    }

    /// The rows of a source that have a key. The others are kept if a clause may insert them.
    pub fn set_aside(&self, batches: Batches) -> Batches {
        let schema = batches.schema().clone();
        let (plan, stored) = (Arc::clone(&self.plan), Arc::clone(&self.stored));
        let keyed = batches.map(move |batch| -> Result<RecordBatch> {
            let batch = batch?;
            let Some(has_key) = has_key(&batch, &plan.key_sources) else { return Ok(batch) };
            let filtered = |kept: BooleanBuffer| {
                filter_record_batch(&batch, &BooleanArray::new(kept, None)).map_err(Error::unexpected)
            };
            if !plan.not_matched.is_empty() {
                let rows = plan.fit.fit(&filtered(!has_key.inner())?)?;
                lock(&stored).push(with_own_texts(&rows)?)?;
            }
            filtered(has_key.into_inner())
        });
        Batches::new(schema, keyed)
    }

    /// Visits the rows in the columns of windows, in the order of the source.
    pub fn each(&self, visit: &mut dyn FnMut(&RecordBatch) -> Result<()>) -> Result<()> {
        let stored = lock(&self.stored);
        if let Some(spill) = &stored.spill {
            for run in &stored.runs {
                spill.open(*run, None)?.try_for_each(|rows| visit(&rows.map_err(spill::broken)?))?;
            }
        }
        stored.waiting.iter().try_for_each(visit)
    }
}

/// The rows that have a key; `None` if all have.
fn has_key(batch: &RecordBatch, keys: &[String]) -> Option<NullBuffer> {
    let nulls = keys.iter().filter_map(|name| batch.column_by_name(name)?.logical_nulls());
    let nulls = nulls.fold(None, |all: Option<NullBuffer>, own| NullBuffer::union(all.as_ref(), Some(&own)));
    nulls.filter(|nulls| nulls.null_count() > 0)
}
