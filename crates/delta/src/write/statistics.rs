//! Statistics of a file's values, for the log.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, RecordBatch, RecordBatchOptions, StringViewArray, StructArray};
use arrow::compute::concat;
use arrow::datatypes::{Field, Int64Type, Schema};
use delta_kernel_default_engine::stats::FileStatsAccumulator;
use lakerace_io::{Error, Result};

use crate::error::from_kernel;

/// Collects the statistics of one file. The kernel knows which columns have any and how they are written down; it compares
/// every text with the least and the largest so far, wherever in memory it is. So it is shown those two of each batch
/// alone, with nulls for the others, which are taken off the nulls in the end.
pub(super) struct Statistics {
    kernel: FileStatsAccumulator,
    /// By column: nulls that there are, less those that the kernel was shown.
    nulls: HashMap<String, i64>,
}

impl Statistics {
    pub fn new(kernel: FileStatsAccumulator) -> Self {
        Self { kernel, nulls: HashMap::new() }
    }

    /// Takes rows in.
    pub fn merge(&mut self, rows: &RecordBatch) -> Result<()> {
        let schema = rows.schema();
        let (mut fields, mut columns) = (Vec::new(), Vec::new());
        for (field, column) in schema.fields().iter().zip(rows.columns()) {
            let thin = column.as_string_view_opt().and_then(thinned).transpose()?;
            match thin {
                Some(thin) => {
                    let nulls = self.nulls.entry(field.name().clone()).or_default();
                    *nulls += column.null_count() as i64 - thin.null_count() as i64;
                    fields.push(Arc::new(Field::clone(field).with_nullable(true)));
                    columns.push(thin);
                }
                None => {
                    fields.push(Arc::clone(field));
                    columns.push(Arc::clone(column));
                }
            }
        }
        let options = RecordBatchOptions::new().with_row_count(Some(rows.num_rows()));
        let schema = Schema::new_with_metadata(fields, schema.metadata().clone());
        let rows = RecordBatch::try_new_with_options(Arc::new(schema), columns, &options).map_err(internal)?;
        self.kernel.merge(&rows).map_err(from_kernel)
    }

    /// The statistics as the kernel takes them with the file.
    pub fn finish(self) -> Result<StructArray> {
        let statistics = self.kernel.finish().map_err(from_kernel)?;
        let statistics = statistics.ok_or_else(|| Error::internal("a file without rows was begun"))?;
        map_child(&statistics, "nullCount", &|counts| {
            let mut counts = counts.as_struct().clone();
            for (name, more) in &self.nulls {
                counts = map_child(&counts, name, &|count| {
                    let known = count.as_primitive_opt::<Int64Type>();
                    let known = known.ok_or_else(|| Error::internal("the kernel counts nulls in another type"))?;
                    let count = known.unary::<_, Int64Type>(|count| count + more);
                    Ok(Arc::new(count) as ArrayRef)
                })?;
            }
            Ok(Arc::new(counts) as ArrayRef)
        })
    }
}

/// A struct with one of its fields changed, where it has it.
fn map_child(of: &StructArray, name: &str, change: &dyn Fn(&ArrayRef) -> Result<ArrayRef>) -> Result<StructArray> {
    let Some(at) = of.fields().iter().position(|field| field.name() == name) else { return Ok(of.clone()) };
    let mut columns = of.columns().to_vec();
    columns[at] = change(&columns[at])?;
    StructArray::try_new(of.fields().clone(), columns, of.nulls().cloned()).map_err(internal)
}

/// As many rows, of which the first two have the least and the largest text and the others none. `None` where that would
/// be no less to look at.
fn thinned(texts: &StringViewArray) -> Option<Result<ArrayRef>> {
    let more = texts.len().checked_sub(2).filter(|more| *more > 0)?;
    let (least, largest) = extremes(texts)?;
    let two = StringViewArray::from(vec![texts.value(least), texts.value(largest)]);
    Some(concat(&[&two, &StringViewArray::new_null(more)]).map_err(internal))
}

/// The rows of the least and of the largest text; `None` where all are null.
fn extremes(texts: &StringViewArray) -> Option<(usize, usize)> {
    let views = texts.views();
    // The first four bytes of a text are in its view: as a number of the same order they decide nearly always.
    let prefix = |row: usize| ((views[row] >> 32) as u32).swap_bytes();
    let mut rows = (0..texts.len()).filter(|row| texts.is_valid(*row));
    let first = rows.next()?;
    let (mut least, mut largest) = (first, first);
    let (mut low, mut high) = (prefix(first), prefix(first));
    for row in rows {
        let this = prefix(row);
        if this <= low && (this < low || texts.value(row) < texts.value(least)) {
            (least, low) = (row, this);
        }
        if this >= high && (this > high || texts.value(row) > texts.value(largest)) {
            (largest, high) = (row, this);
        }
    }
    Some((least, largest))
}

fn internal(error: impl std::fmt::Display) -> Error {
    Error::internal(error.to_string())
}

#[cfg(test)]
#[path = "statistics_tests.rs"]
mod tests;
