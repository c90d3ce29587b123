//! Reading rows of a version's files by their numbers.

use std::sync::Arc;

use arrow::array::RecordBatch;
use lakerace_format::{DeletedRows, InputFile, ParquetSource, ReadRequest, Source};
use lakerace_io::{Error, Result};
use roaring::RoaringTreemap;

use crate::snapshot::files::TableFile;
use crate::snapshot::{Snapshot, row_counts};

/// Files that are read in one go. Their footers are in memory.
const FILES_AT_ONCE: usize = 256;

/// Visits these rows of files, in the order of the files and of the rows in them, with the columns of these names, in
/// batches of approximately up to `batch_bytes`.
///
/// # Errors
/// `Corrupt` for files that have other rows than the log says.
pub(crate) fn read_rows(
    snapshot: &Snapshot,
    files: &[(&TableFile, RoaringTreemap)],
    columns: &[String],
    batch_bytes: u64,
    visit: &mut dyn FnMut(RecordBatch) -> Result<()>,
) -> Result<()> {
    let job = snapshot.table().job();
    for some in files.chunks(FILES_AT_ONCE) {
        let counts = row_counts::count(snapshot, &some.iter().map(|(file, _)| *file).collect::<Vec<_>>())?;
        let mut wanted = 0;
        let mut inputs = Vec::with_capacity(some.len());
        for ((file, rows), count) in some.iter().zip(counts) {
            let Some(last) = rows.max() else { continue };
            wanted += rows.len();
            let hidden = DeletedRows::all_but(rows.iter(), count.max(last + 1))?;
            let (object, constants) = (file.object.clone(), file.constants.clone());
            inputs.push(InputFile { object, constants, hidden: Some(Arc::new(hidden)), stated_rows: file.rows });
        }
        if inputs.is_empty() {
            continue;
        }
        let source =
            ParquetSource::open_table(inputs, snapshot.table_schema(), job).map_err(|error| snapshot.broken(error))?;
        let batch_rows = source.batch_rows_within(batch_bytes);
        let request = ReadRequest { columns: Some(columns.to_vec()), batch_rows, ..ReadRequest::default() };
        let mut read = 0;
        for batch in source.read(&source.plan(&request)?)? {
            job.check()?;
            let batch = batch?;
            read += batch.num_rows() as u64;
            if read > wanted {
                break;
            }
            visit(batch)?;
        }
        if read != wanted {
            return Err(Error::corrupt("files have other rows than the log says")
                .at(snapshot.table().location())
                .advice("nothing was changed; restore the files, or an earlier version of the table"));
        }
    }
    Ok(())
}
