//! The way from the batches of a file to the rows of a request.

use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::compute::filter_record_batch;
use arrow::datatypes::{Schema, SchemaRef};
use lakerace_io::{Error, Result};

use crate::input::Constants;
use crate::place_columns::with_place_columns;
use crate::plan::ReadPlan;
use crate::predicate::Predicate;

/// The columns that are read for a request, and the rows and columns of them that it asks for.
#[derive(Debug)]
pub(crate) struct BatchSelection {
    /// The columns of files that are read, by ascending position in the schema of the source.
    pub own_positions: Vec<usize>,
    /// The same columns.
    pub own: SchemaRef,
    /// The columns of files that are read, then those of the files' paths.
    read: SchemaRef,
    filter: Option<Predicate>,
    /// The requested columns among those that are read.
    projection: Vec<usize>,
    output: SchemaRef,
}

impl BatchSelection {
    /// The selection of a plan. `schema` has the columns of files, as many as `own`, and then those of the files' paths.
    /// `selected` has the positions of the requested ones.
    ///
    /// # Errors
    /// A filter that does not fit the columns.
    pub fn new(plan: &ReadPlan, schema: &Schema, own: usize, selected: &[usize]) -> Result<Self> {
        let filter = plan.request.filter.as_ref().map(|filter| Predicate::bind(filter, schema)).transpose()?;
        let mut read = selected.to_vec();
        read.extend(filter.iter().flat_map(|filter| filter.columns().iter().copied()));
        read.sort_unstable();
        read.dedup();
        let project = |columns: &[usize]| schema.project(columns).map(Arc::new).map_err(Error::unexpected);
        let own_positions = read[..read.partition_point(|column| *column < own)].to_vec();
        Ok(Self {
            own: project(&own_positions)?,
            own_positions,
            read: project(&read)?,
            filter,
            projection: selected.iter().filter_map(|column| read.binary_search(column).ok()).collect(),
            output: Arc::clone(&plan.schema),
        })
    }

    /// The requested rows and columns of a batch, which has the columns [`Self::own`] of a file with these constants.
    pub fn select(&self, batch: RecordBatch, constants: Option<&Constants>) -> Result<RecordBatch> {
        let batch = with_place_columns(batch, constants, &self.read)?;
        let mut selected = batch.project(&self.projection).map_err(Error::unexpected)?;
        if let Some(filter) = &self.filter {
            selected = filter_record_batch(&selected, &filter.evaluate(&batch)?).map_err(Error::unexpected)?;
        }
        // The columns of a file may be in another order than those of the source, and have other notes.
        selected.with_schema(Arc::clone(&self.output)).map_err(Error::unexpected)
    }

    /// The number of columns that are read.
    pub fn width(&self) -> usize {
        self.read.fields().len()
    }

    /// A batch without rows.
    pub fn empty(&self) -> RecordBatch {
        RecordBatch::new_empty(Arc::clone(&self.output))
    }
}
