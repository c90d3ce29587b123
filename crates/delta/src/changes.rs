//! What became of a table's rows from version to version: its change data feed.
//!
//! A version with change files (`_change_data`) says by them which rows were inserted, deleted, and how they were before and
//! after an update. Of other versions it follows from the files and deletion vectors that came and went: a row that was replaced
//! is one deleted and one inserted. Format: <https://github.com/delta-io/delta/blob/master/PROTOCOL.md#change-data-files>.

use std::sync::Arc;
use std::sync::mpsc::sync_channel;
use std::thread;

use arrow::array::RecordBatch;
use arrow::datatypes::{Field, Schema, SchemaRef};
use delta_kernel::Engine;
use delta_kernel::engine::arrow_conversion::TryIntoArrow;
use delta_kernel::engine::arrow_data::EngineDataArrowExt;
use delta_kernel::table_changes::TableChanges;
use delta_kernel::table_changes::scan::TableChangesScan;
use lakerace_format::Batches;
use lakerace_io::{Error, Job, Result};
use url::Url;

use crate::Table;
use crate::engine::{ROOT, TableEngine};
use crate::error::{from_kernel, guarded};

/// The column of change files that says what became of a row.
pub(crate) const CHANGE_TYPE: &str = "_change_type";
/// The folder of change files, in the table's.
pub(crate) const CHANGE_FOLDER: &str = "_change_data";
/// Batches that wait for their reader.
const AHEAD: usize = 2;

/// The changes of the versions from `from` to `to` (the last one where it is not said), both included: the table's columns, and
/// `_change_type` (`insert`, `delete`, `update_preimage`, `update_postimage`), `_commit_version` and `_commit_timestamp`.
///
/// The table must have had `delta.enableChangeDataFeed` in all of these versions, and the same schema in the first and the last
/// one: else it is an error of kind `Unsupported` or `Invalid`.
pub fn changes(table: &Table, from: u64, to: Option<u64>) -> Result<Batches> {
    let named = |error: Error| error.at(table.place());
    if to.is_some_and(|to| to < from) {
        return Err(named(Error::usage(format!("version {from} is behind version {}", to.unwrap_or(0)))));
    }
    // Whether there is a table, and such a version, is said here.
    let latest = table.snapshot(None)?;
    if let Some(version) = [Some(from), to].into_iter().flatten().find(|version| *version > latest.version()) {
        let message = format!("there is no version {version}: the last one is {}", latest.version());
        return Err(named(Error::not_found(message)));
    }
    let engine = Arc::new(TableEngine::new(table.paths())?);
    let root = Url::parse(ROOT).map_err(|e| Error::internal(e.to_string()))?;
    let feed = guarded(|| TableChanges::try_new(root, engine.as_ref(), from, to)).map_err(named)?;
    let scan = guarded(|| feed.into_scan_builder().build()).map_err(named)?;
    let schema: Schema =
        scan.logical_schema().as_ref().try_into_arrow().map_err(|e| named(Error::unsupported(e.to_string())))?;
    let fields =
        schema.fields().iter().map(|field| field.as_ref().clone().with_metadata(arrow::datatypes::Metadata::default()));
    let schema = Arc::new(Schema::new(fields.collect::<Vec<Field>>()));
    Ok(read(scan, engine, Arc::clone(&schema), table.job().clone(), table.place().to_owned()))
}

/// Reads on a thread of its own: the kernel's reader stays on one.
fn read(scan: TableChangesScan, engine: Arc<TableEngine>, schema: SchemaRef, job: Job, place: String) -> Batches {
    let (sender, receiver) = sync_channel::<Result<RecordBatch>>(AHEAD);
    let given = Arc::clone(&schema);
    let work = move || -> Result<()> {
        let batches = guarded(|| scan.execute(engine as Arc<dyn Engine>))?;
        for batch in batches {
            job.check()?;
            let batch = batch.and_then(EngineDataArrowExt::try_into_record_batch).map_err(from_kernel)?;
            let batch = RecordBatch::try_new(Arc::clone(&schema), batch.columns().to_vec());
            let batch = batch.map_err(|e| Error::internal(format!("changes in another schema: {e}")))?;
            if sender.send(Ok(batch)).is_err() {
                // Nobody reads them any more.
                return Ok(());
            }
        }
        Ok(())
    };
    let worker = thread::spawn(work);
    let mut worker = Some(worker);
    let next = move || match receiver.recv() {
        Ok(batch) => Some(batch),
        Err(_) => match worker.take()?.join() {
            Ok(Ok(())) => None,
            Ok(Err(error)) => Some(Err(error.at(&place))),
            Err(_) => Some(Err(Error::corrupt("the change data feed can't be understood").at(&place))),
        },
    };
    Batches::new(given, std::iter::from_fn(next))
}
