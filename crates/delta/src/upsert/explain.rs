//! The plan of an upsert, as far as it can be made without reading keys of the table.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use lakerace_io::memory_limit::check_memory;
use lakerace_io::option::ENABLE_DELETION_VECTORS;
use lakerace_io::{Error, Result};
use serde::Serialize;

use super::key_windows::{KeyProbe, KeyWindows};
use super::row_mapping::RowMapping;
use super::{SourceRows, UpsertAttempt, UpsertKind, UpsertOptions, at_rows, place_of_rows};
use crate::protocol::{VectorSupport, vectors};
use crate::snapshot::files::TableFile;
use crate::snapshot::{KEY_PROPERTY, key_names};
use crate::table::Table;
use crate::write::{TableWrite, table_types};

/// The plan of an upsert. `Display` is for people, `Serialize` for `--json`.
#[derive(Debug, Clone, Serialize)]
pub struct UpsertPlan {
    /// The version that it starts from.
    pub version: u64,
    /// The key's columns.
    pub key: Vec<String>,
    /// Rows of the source with different keys.
    pub rows: u64,
    /// Parts that these rows are written in, one after the other in the order of keys; 1 where they fit into memory.
    pub windows: u64,
    /// Row groups of which key columns are read, once for each window that they may have keys of.
    pub row_groups: u64,
    /// Bytes of these key columns, without the pages that can't have one of the keys.
    pub key_bytes: u64,
    /// Requests for footers, page indexes and key columns.
    pub requests: u64,
    /// Files that get a new deletion vector, at most. All vectors are one file.
    pub vectors_at_most: u64,
    /// The most files that are rewritten without the rows that are replaced, in a table without deletion vectors.
    pub rewrites_at_most: u64,
    /// Bytes of these files, which are read, and written again without these rows.
    pub rewritten_bytes_at_most: u64,
    /// Rows that are written, at most: fewer where those with known keys are left out.
    pub rows_to_write: u64,
    /// The files of the version.
    pub files: Vec<PlannedFile>,
}

/// A file of the table in a plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PlannedFile {
    /// Path or URL.
    pub url: String,
    /// Its size.
    pub size_bytes: u64,
    /// Its rows, deleted ones included, where the log says so.
    pub rows: Option<u64>,
    /// Why it is not read.
    pub pruned: Option<String>,
    /// Row groups of which key columns are read.
    pub row_groups: u64,
    /// Bytes of these key columns, without the pages that can't have one of the keys.
    pub key_bytes: u64,
}

/// Lines of a printed plan: more are counted, not shown.
const FILES_SHOWN: usize = 20;

/// Plans an upsert. Reads the rows of the source, or their keys where these suffice, the log, and the footers (for few keys the page
/// indexes, too) of files that may have one of the keys.
pub fn explain(table: &Table, rows: impl Into<SourceRows>, options: &UpsertOptions) -> Result<UpsertPlan> {
    let rows = rows.into();
    let place = place_of_rows(table, &rows);
    plan(table, rows, options).map_err(|error| at_rows(error, place))
}

/// Checks the rows of an upsert into a table that `write` makes, as [`explain`] does; returns the number of their keys.
pub fn explain_new(
    table: &Table,
    rows: impl Into<SourceRows>,
    options: &UpsertOptions,
    write: &TableWrite,
) -> Result<u64> {
    let rows = rows.into();
    let place = place_of_rows(table, &rows);
    count_new_keys(table, rows, options, write).map_err(|error| at_rows(error, place))
}

fn count_new_keys(table: &Table, rows: SourceRows, options: &UpsertOptions, write: &TableWrite) -> Result<u64> {
    let named = |error: Error| error.at(table.location());
    let key = write.properties.get(KEY_PROPERTY).map(|key| key_names(key)).unwrap_or_default();
    let schema = Arc::new(table_types(rows.schema(), None).map_err(named)?);
    let mapping =
        RowMapping::of_new_table(&schema, (key, &write.partition_by), rows.schema(), options).map_err(named)?;
    check_memory(options.memory_bytes, schema.fields().len()).map_err(named)?;
    let mut keys = 0;
    mapping.gather(rows.batches()?, options, table.job())?.each_keys(&mut |window| {
        keys += window.keys().len() as u64;
        Ok(())
    })?;
    Ok(keys)
}

fn plan(table: &Table, rows: SourceRows, options: &UpsertOptions) -> Result<UpsertPlan> {
    let named = |error: Error| error.at(table.location());
    let snapshot = table.snapshot(None)?;
    let mapping = RowMapping::of_upsert(&snapshot, rows.schema(), options).map_err(named)?;
    check_memory(options.memory_bytes, mapping.written.fields().len()).map_err(named)?;
    let upsert = UpsertAttempt::new(&snapshot, &mapping, options, UpsertKind::Upsert);
    let windows = match upsert.keys_ahead(&rows)? {
        Some(ahead) => KeyWindows::Memory(ahead.keys),
        None => mapping.gather(rows.batches()?, options, table.job())?,
    };
    // The table's demands on its writers are checked, and nothing is written.
    drop(upsert.new_files(&mut upsert.commit(windows.keys_alone())?, true)?);
    let files: Vec<&TableFile> = snapshot.files()?.files.iter().collect();
    let mut plan = UpsertPlan {
        version: snapshot.version(),
        key: mapping.columns.names().map(str::to_owned).collect(),
        rows: 0,
        windows: 0,
        row_groups: 0,
        key_bytes: 0,
        requests: 0,
        vectors_at_most: 0,
        rewrites_at_most: 0,
        rewritten_bytes_at_most: 0,
        rows_to_write: 0,
        files: files.iter().map(|file| PlannedFile::new(file)).collect(),
    };
    let mut touched = BTreeSet::new();
    // The plan reads footers and page indexes exactly as the upsert does.
    let reads = || table.job().meter().counts().requests.get;
    windows.each_keys(&mut |keys| {
        plan.windows += 1;
        plan.rows += keys.keys().len() as u64;
        let probe = KeyProbe { columns: &mapping.columns, keys };
        let wanted = probe.wanted(&snapshot, &files);
        let kept: Vec<&TableFile> = wanted.iter().map(|number| files[*number]).collect();
        let before = reads();
        let opened = probe.look(&snapshot).open(&kept)?;
        plan.requests += reads() - before;
        for number in &wanted {
            plan.files[*number].pruned = Some("footer or page index: no page can have one of the keys".to_owned());
        }
        for group in &opened.groups {
            let number = wanted[group.file];
            touched.insert(number);
            let (bytes, requests) = opened.cost(group)?;
            let file = &mut plan.files[number];
            file.row_groups += 1;
            file.key_bytes += bytes;
            plan.requests += requests;
        }
        Ok(())
    })?;
    for number in &touched {
        plan.files[*number].pruned = None;
    }
    plan.row_groups = plan.files.iter().map(|file| file.row_groups).sum();
    plan.key_bytes = plan.files.iter().map(|file| file.key_bytes).sum();
    if !options.insert_only && vectors(&snapshot, options.enables_vectors)? != VectorSupport::Rewrite {
        plan.vectors_at_most = touched.len() as u64;
    } else if !options.insert_only {
        plan.rewrites_at_most = touched.len() as u64;
        plan.rewritten_bytes_at_most = touched.iter().map(|number| plan.files[*number].size_bytes).sum();
    }
    plan.rows_to_write = plan.rows;
    Ok(plan)
}

impl PlannedFile {
    fn new(file: &TableFile) -> Self {
        Self {
            url: file.object.url(),
            size_bytes: file.size_bytes,
            rows: file.rows,
            pruned: Some("log statistics: it can't have one of the keys".to_owned()),
            row_groups: 0,
            key_bytes: 0,
        }
    }
}

fn plural(count: u64, noun: &str) -> String {
    if count == 1 { format!("1 {noun}") } else { format!("{count} {noun}s") }
}

impl fmt::Display for UpsertPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kept = self.files.iter().filter(|file| file.pruned.is_none()).count();
        writeln!(f, "version {}, key {}", self.version, self.key.join(", "))?;
        writeln!(f, "{} with different keys, in {}", plural(self.rows, "row"), plural(self.windows, "window"))?;
        writeln!(
            f,
            "read: keys of {kept} of {}, {}, {}, {}",
            plural(self.files.len() as u64, "file"),
            plural(self.row_groups, "row group"),
            plural(self.key_bytes, "byte"),
            plural(self.requests, "request")
        )?;
        let rows = plural(self.rows_to_write, "row");
        if self.rewrites_at_most == 0 {
            let vectors = plural(self.vectors_at_most, "file");
            writeln!(f, "write: at most {rows} in new files, deletion vectors of at most {vectors} in one file")?;
        } else {
            let (files, bytes) = (plural(self.rewrites_at_most, "file"), plural(self.rewritten_bytes_at_most, "byte"));
            writeln!(f, "write: at most {rows} in new files")?;
            writeln!(
                f,
                "rewrite: at most {files}, {bytes} read and approximately as many written, without the replaced rows"
            )?;
            writeln!(f, "  the table has no deletion vectors; with {ENABLE_DELETION_VECTORS} no file is rewritten")?;
        }
        for file in self.files.iter().take(FILES_SHOWN) {
            match &file.pruned {
                Some(reason) => writeln!(f, "  {}  not read: {reason}", file.url)?,
                None => {
                    let groups = plural(file.row_groups, "row group");
                    writeln!(f, "  {}  {groups}, {} of keys", file.url, plural(file.key_bytes, "byte"))?
                }
            }
        }
        match self.files.len().checked_sub(FILES_SHOWN) {
            Some(more) if more > 0 => writeln!(f, "  and {more} more"),
            _ => Ok(()),
        }
    }
}
