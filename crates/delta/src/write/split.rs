//! Rows of many files, one after the other, into as many new ones.

use arrow::array::RecordBatch;
use lakerace_format::Batches;
use lakerace_io::{Error, Job, Result};

use super::DataFiles;

/// Writes the first of `rows` rows to separate files, then the next of them, and so on to the last. Returns the number
/// of files after each. A different number of rows is an error: none must be lost.
pub(crate) fn write_split(
    batches: &mut Batches,
    rows: impl IntoIterator<Item = u64>,
    files: &mut DataFiles,
    job: &Job,
) -> Result<Vec<usize>> {
    let mut batch = RecordBatch::new_empty(batches.schema().clone());
    let mut ends = Vec::new();
    for mut left in rows {
        while left > 0 {
            job.check()?;
            if batch.num_rows() == 0 {
                batch = batches.next().transpose()?.ok_or_else(other_rows)?;
            }
            // A batch of small files may have rows of two parts.
            let part = batch.slice(0, batch.num_rows().min(usize::try_from(left).unwrap_or(usize::MAX)));
            files.write(&part)?;
            left -= part.num_rows() as u64;
            batch = batch.slice(part.num_rows(), batch.num_rows() - part.num_rows());
        }
        files.end_all()?;
        ends.push(files.ended());
    }
    if batch.num_rows() > 0 || batches.next().transpose()?.is_some() {
        return Err(other_rows());
    }
    Ok(ends)
}

/// Reading gave other rows than the files' footers have.
pub(crate) fn other_rows() -> Error {
    Error::internal("the files returned other rows than their footers declare")
}
