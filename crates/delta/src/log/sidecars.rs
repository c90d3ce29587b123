//! Parts of checkpoints in files of their own (`_delta_log/_sidecars`). They go when no checkpoint names them any more.
//!
//! Format: <https://github.com/delta-io/delta/blob/master/PROTOCOL.md#sidecar-files>.

use std::collections::HashSet;
use std::sync::Arc;

use arrow::array::{Array, AsArray};
use arrow::datatypes::{DataType, Field, Fields, Schema};
use delta_kernel::engine::arrow_conversion::TryIntoKernel;
use delta_kernel::engine::arrow_data::EngineDataArrowExt;
use delta_kernel::schema::{SchemaRef, StructType};
use delta_kernel::{Engine, FileMeta};
use lakerace_io::object_store::path::Path;
use lakerace_io::{Error, ObjectInfo, Result};
use percent_encoding::percent_decode_str;
use url::Url;

use super::files::{LogFile, LogFileKind};
use crate::paths::{LOG, ROOT};
use crate::table::Table;

/// The sidecars among `found` that are older than `cutoff`, in milliseconds since 1970, and that none of these
/// checkpoints names. The checkpoints are only read if any sidecar is that old. One that can't be read is an error.
pub(crate) fn expired(table: &Table, found: &[ObjectInfo], kept: &[&LogFile], cutoff: i64) -> Result<Vec<Path>> {
    let old: Vec<&ObjectInfo> = found.iter().filter(|info| info.modified < cutoff).collect();
    if old.is_empty() {
        return Ok(Vec::new());
    }
    let mut named = HashSet::new();
    for file in kept.iter().filter(|file| matches!(file.kind, LogFileKind::Checkpoint { .. })) {
        table.job().check()?;
        named.extend(sidecars_of(table, file)?);
    }
    let is_named = |info: &&ObjectInfo| info.path.filename().is_some_and(|name| named.contains(name));
    Ok(old.into_iter().filter(|info| !is_named(info)).map(|info| info.path.clone()).collect())
}

/// The names of the files that a checkpoint's parts are in.
fn sidecars_of(table: &Table, checkpoint: &LogFile) -> Result<Vec<String>> {
    let name = checkpoint.info.path.filename().unwrap_or_default();
    let location = Url::parse(ROOT).and_then(|root| root.join(&format!("{LOG}/{name}"))).map_err(Error::unexpected)?;
    let file = FileMeta { location, last_modified: checkpoint.info.modified, size: checkpoint.info.size_bytes };
    let schema = schema()?;
    let batches = table.kernel(|engine| {
        let files = std::slice::from_ref(&file);
        let batches = match name.ends_with(".json") {
            true => engine.json_handler().read_json_files(files, schema, None)?,
            false => engine.parquet_handler().read_parquet_files(files, schema, None)?,
        };
        batches.map(|batch| batch?.try_into_record_batch()).collect::<Result<Vec<_>, _>>()
    })?;
    let mut names = Vec::new();
    for batch in batches {
        let sidecars = batch.column_by_name("sidecar").and_then(|column| column.as_struct_opt());
        let paths = sidecars.and_then(|sidecars| sidecars.column_by_name("path")?.as_string_opt::<i32>());
        let (sidecars, paths) = sidecars.zip(paths).ok_or_else(|| Error::internal("a checkpoint in another schema"))?;
        for row in (0..batch.num_rows()).filter(|row| sidecars.is_valid(*row) && paths.is_valid(*row)) {
            // All of them are in one folder, whether their path says so or not.
            let name = paths.value(row).rsplit('/').next().unwrap_or_default();
            names.push(percent_decode_str(name).decode_utf8_lossy().into_owned());
        }
    }
    Ok(names)
}

fn schema() -> Result<SchemaRef> {
    let path = Fields::from(vec![Field::new("path", DataType::Utf8, true)]);
    let schema = Schema::new(vec![Field::new("sidecar", DataType::Struct(path), true)]);
    let kernel: StructType = (&schema).try_into_kernel().map_err(Error::unexpected)?;
    Ok(Arc::new(kernel))
}
