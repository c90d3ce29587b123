//! Incremental unloads into Delta tables: what is kept is a property of the table.

use std::sync::atomic::Ordering;

use lakerace_delta::{AlterOptions, HistoryEntry, SourceRows, Table, alter, history};
use lakerace_format::Written;
use lakerace_io::{Error, Result};

use super::kept::Kept;
use super::{Attempt, Unload};
use crate::delta::open_table;
use crate::target::Target;
use crate::{ReadOptions, RowOptions, Scan, UpsertOptions, csv_types, upsert_rows};

/// The prefix of the properties that keep values.
const PROPERTY: &str = "lakerace.since.";

/// Upserts the rows into a Delta table, which is made where there is none.
pub(super) fn copy(unload: &Unload<'_>, knows_types: bool) -> Result<Attempt> {
    let options = unload.options;
    let table = open_table(unload.target, &options.read.storage, unload.job)?;
    let before = read(&table, &unload.name)?;
    let known = match &before {
        Some(text) => Some(text.clone()),
        None => read(&table, &unload.spelled_name)?,
    };
    let parse = |text: String| Kept::parse(&text).map_err(|error| error.at(table.place()));
    let mut kept = known.map(parse).transpose()?.unwrap_or_default();
    if kept.mark.is_some() && is_overwritten(&table, &kept)? {
        // Whoever overwrote the rows has left the property: all rows are sent again.
        kept = Kept::default();
    }
    let target = table.exists()?.then(|| Target::resolve(unload.target, &crate::CopyOptions::default(), unload.job));
    let incoming = match unload.incoming(&kept, knows_types, target.and_then(Result::ok).as_ref()) {
        Ok(incoming) => incoming,
        Err(error) if knows_types && kept.schema.is_some() => return Ok(Attempt::OtherTypes(error)),
        Err(error) => return Err(error),
    };
    if kept.mark.is_some() && incoming.is_empty() {
        return Ok(Attempt::Done(Written::default()));
    }
    let upsert = UpsertOptions {
        read: unload.read(kept.mark.as_ref())?,
        rows: RowOptions {
            key: options.load.key.clone(),
            evolve: options.evolve,
            write: options.write.clone(),
            ..RowOptions::default()
        },
        partition_by: options.partition_by.clone(),
        table_properties: options.table_properties.clone(),
    };
    let (seen, has_failed) = (incoming.seen, incoming.has_failed);
    let written = match upsert_rows(unload.target, SourceRows::from(incoming.batches), &upsert, unload.job) {
        Ok(changed) => changed.written,
        Err(error) if has_failed.load(Ordering::Acquire) && incoming.knows_types => {
            return Ok(Attempt::OtherTypes(error));
        }
        Err(error) => return Err(error),
    };
    let mut now = seen.kept(&kept, incoming.schema);
    if read(&table, &unload.name)? != before {
        // Another run has ended meanwhile, and rows of this one may be older: all since the value before are read again.
        now = Kept { mark: kept.mark.clone(), rows: Vec::new(), ..now };
    }
    if table.exists()? {
        now.target = Some(table.snapshot(None)?.version().to_string());
    }
    write(&table, &unload.name, &now)?;
    Ok(Attempt::Done(written))
}

/// True where the rows of the table were overwritten after the version that the last run has noted.
fn is_overwritten(table: &Table, kept: &Kept) -> Result<bool> {
    let Some(noted) = kept.target.as_deref().and_then(|version| version.parse::<u64>().ok()) else { return Ok(false) };
    let later = table.snapshot(None)?.version().saturating_sub(noted);
    if later == 0 {
        return Ok(false);
    }
    let entries = history(table, usize::try_from(later).ok())?;
    let overwrites = |entry: &HistoryEntry| {
        let has_mode = entry.parameters.get("mode").is_some_and(|mode| mode.eq_ignore_ascii_case("overwrite"));
        has_mode || entry.operation.as_deref().is_some_and(|operation| operation.starts_with("CREATE OR REPLACE"))
    };
    Ok(entries.iter().any(|entry| entry.version > noted && overwrites(entry)))
}

/// Opens the source: columns of text have the types of the table's.
pub(super) fn open_source(unload: &Unload<'_>, read: &ReadOptions) -> Result<Scan> {
    let table = open_table(unload.target, &read.storage, unload.job)?;
    csv_types::open(unload.source, read, &table, unload.options.evolve, unload.job)
}

fn read(table: &Table, name: &str) -> Result<Option<String>> {
    match table.exists()? {
        true => Ok(table.snapshot(None)?.properties().remove(&format!("{PROPERTY}{name}"))),
        false => Ok(None),
    }
}

fn write(table: &Table, name: &str, kept: &Kept) -> Result<()> {
    if !table.exists()? {
        return Err(Error::conflict("the table was removed meanwhile").at(table.place()).advice("run it again"));
    }
    let set = [(format!("{PROPERTY}{name}"), kept.text()?)].into();
    alter(table, &AlterOptions { set, unset: Vec::new() }).map(drop)
}
