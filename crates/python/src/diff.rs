//! Comparisons of two locations.

use lakerace::{Batches, Diff, RangeOptions, RowDiff};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::options::Keywords;
use crate::stream::Stream;
use crate::{convert, interrupt};

/// Compares two locations by key; returns the counts as a dict, and the rows that differ.
#[pyfunction]
#[pyo3(name = "diff")]
pub(crate) fn compare(
    py: Python<'_>,
    first: String,
    second: String,
    options: Bound<'_, PyDict>,
) -> PyResult<(Py<PyAny>, Stream)> {
    let keywords = Keywords::new(options);
    let options = keywords.diff()?;
    let job = keywords.job(RangeOptions::default())?;
    let payer = job.clone();
    let (found, schema, rows) = interrupt::run(py, &job, move || {
        let comparison = RowDiff::open(&first, &second, &options, &payer)?;
        let schema = comparison.schema()?;
        let mut rows = Vec::new();
        let found: Diff = comparison.run(&mut |batch| {
            rows.push(batch);
            Ok(())
        })?;
        Ok((found, schema, rows))
    })?;
    let batches = Batches::new(schema, rows.into_iter().map(Ok));
    Ok((convert::to_python(py, &found)?, Stream::new(batches, job)))
}
