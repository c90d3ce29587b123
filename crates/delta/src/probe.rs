//! Finding rows in the files of a version: the numbers that they have in their file.

use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicUsize, Ordering};

use arrow::array::{Array, BooleanArray};
use arrow::record_batch::RecordBatch;
use lakerace_format::{InputFile, ParquetSource, ReadRequest, Source};
use lakerace_io::{Error, Result};
use roaring::RoaringTreemap;

use crate::Snapshot;
use crate::files::TableFile;

/// Says which rows are looked for.
pub(crate) trait Probe: Send + Sync {
    /// The columns by which it says so.
    fn columns(&self) -> Vec<String>;

    /// Whether a file may hold such a row, by what the log says of it.
    fn may_match(&self, file: &TableFile, snapshot: &Snapshot) -> bool;

    /// Which rows of a batch of these columns are looked for.
    fn matches(&self, batch: &RecordBatch) -> Result<BooleanArray>;
}

/// The rows of these files that are looked for, deleted ones included. Reads the probe's columns only, of several files
/// at once.
pub(crate) fn find(snapshot: &Snapshot, files: &[&TableFile], probe: &dyn Probe) -> Result<Vec<RoaringTreemap>> {
    let threads = snapshot.table().job().options().threads.clamp(1, files.len().max(1));
    let next = AtomicUsize::new(0);
    let found: Mutex<Vec<(usize, Result<RoaringTreemap>)>> = Mutex::default();
    let work = || {
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            let Some(file) = files.get(number) else { return };
            let rows = find_in(snapshot, file, probe);
            if rows.is_err() {
                // The others finish what they have begun and find nothing more to do.
                next.fetch_max(files.len(), Ordering::Relaxed);
            }
            found.lock().unwrap_or_else(PoisonError::into_inner).push((number, rows));
        }
    };
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        workers.into_iter().try_for_each(|worker| worker.join())
    })
    .map_err(|_| Error::internal("a thread that looked for rows panicked"))?;
    let mut found = found.into_inner().unwrap_or_else(PoisonError::into_inner);
    found.sort_by_key(|(number, _)| *number);
    found.into_iter().map(|(_, rows)| rows).collect()
}

fn find_in(snapshot: &Snapshot, file: &TableFile, probe: &dyn Probe) -> Result<RoaringTreemap> {
    // With its hidden rows, so that the rows of the batches are those of the file.
    let input = InputFile { object: file.object.clone(), constants: file.constants.clone(), hidden: None };
    let source = ParquetSource::open_table(vec![input], snapshot.table_schema(), snapshot.table().job())?;
    let plan = source.plan(&ReadRequest { columns: Some(probe.columns()), ..ReadRequest::default() })?;
    let (mut found, mut first) = (RoaringTreemap::new(), 0u64);
    for batch in source.read(&plan)? {
        let batch = batch?;
        let matches = probe.matches(&batch)?;
        let rows =
            matches.values().set_indices().filter(|row| matches.nulls().is_none_or(|nulls| nulls.is_valid(*row)));
        found
            .append(rows.map(|row| first + row as u64))
            .map_err(|e| Error::internal(format!("rows were found out of order: {e}")))?;
        first += batch.num_rows() as u64;
    }
    Ok(found)
}
