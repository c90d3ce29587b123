//! The number of rows of files, from their footers where the log does not state it.

use std::sync::Arc;

use lakerace_format::{InputFile, ParquetSource, TableSchema};
use lakerace_io::{Job, Result};

use super::files::TableFile;
use crate::snapshot::Snapshot;

/// Files that are open at the same time at most.
const FILES_AT_ONCE: usize = 256;

/// The rows of these files of a version, deleted ones included. Files whose number is in the log are not opened; the
/// footers of the others take a request each.
pub(crate) fn count(snapshot: &Snapshot, files: &[&TableFile]) -> Result<Vec<u64>> {
    count_of(files, snapshot.table_schema(), snapshot.table().job()).map_err(|error| snapshot.broken(error))
}

/// Counts the rows of any files with these columns.
pub(crate) fn count_of(files: &[&TableFile], columns: &Arc<TableSchema>, job: &Job) -> Result<Vec<u64>> {
    let mut counts: Vec<u64> = files.iter().map(|file| file.rows.unwrap_or(0)).collect();
    let unknown: Vec<usize> = (0..files.len()).filter(|number| files[*number].rows.is_none()).collect();
    for numbers in unknown.chunks(FILES_AT_ONCE) {
        let input = |number: &usize| InputFile {
            object: files[*number].object.clone(),
            constants: files[*number].constants.clone(),
            hidden: None,
            stated_rows: files[*number].rows,
        };
        let inputs = numbers.iter().map(input).collect();
        let source = ParquetSource::open_table(inputs, columns, job)?;
        for group in source.row_groups() {
            counts[numbers[group.file]] += group.rows();
        }
    }
    Ok(counts)
}
