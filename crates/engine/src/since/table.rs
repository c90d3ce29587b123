//! Incremental unloads into Delta tables: the watermark is kept in a property of the table.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;

use lakerace_delta::{AlterOptions, CommitFence, HistoryEntry, Snapshot, SourceRows, Table, alter, history};
use lakerace_format::Written;
use lakerace_io::{Error, ErrorKind, Result};

use super::kept::EarlierRun;
use super::{IncrementalUnload, UnloadAttempt};
use crate::delta::open_table;
use crate::dry_run::DryRun;
use crate::options::ReadOptions;
use crate::scan::Scan;
use crate::target::CopyTarget;
use crate::upsert::{UpsertOptions, plan_upsert_rows, upsert_rows};
use crate::{RowOptions, csv_types};

/// The prefix of the properties that keep values.
const PROPERTY: &str = "lakerace.since.";
/// Attempts to keep a value while other writers change properties.
const KEEPS: u32 = 100;

/// The table's state of an unload before a run of it.
struct EarlierUnload {
    kept: EarlierRun,
    /// The text of it.
    text: Option<String>,
    /// The version; `None`: there was no table.
    version: Option<u64>,
    /// Passed by each run that commits rows: the rows of a run were read after those of the runs before it had arrived.
    fence: CommitFence,
}

/// Upserts the rows into a Delta table, which is made where there is none.
pub(super) fn copy(unload: &IncrementalUnload<'_>, knows_types: bool) -> Result<UnloadAttempt> {
    let table = open_table(unload.target, &unload.options.read.storage, unload.job)?;
    let before = before(&table, unload)?;
    let kept = &before.kept;
    let incoming = match unload.incoming(kept, knows_types, known_target(unload, &before).as_ref()) {
        Ok(incoming) => incoming,
        Err(error) if knows_types && kept.types.found.is_some() => return Ok(UnloadAttempt::OtherTypes(error)),
        Err(error) => return Err(error),
    };
    if kept.has_ended && incoming.is_empty() {
        return Ok(UnloadAttempt::Done(Written::default()));
    }
    let upsert = upsert_options(unload, &before)?;
    let (seen, has_failed) = (incoming.seen, incoming.has_failed);
    let mut written = match upsert_rows(unload.target, SourceRows::from(incoming.batches), &upsert, unload.job) {
        Ok(changed) => changed.written,
        Err(error) if has_failed.load(Ordering::Acquire) && incoming.knows_types => {
            return Ok(UnloadAttempt::OtherTypes(error));
        }
        Err(error) if error.kind() == ErrorKind::Conflict && is_overtaken(&table, unload, &before)? => {
            return Ok(UnloadAttempt::Again);
        }
        Err(error) => return Err(error),
    };
    let mut now = seen.kept(kept, incoming.types);
    // An overwrite after this version may have removed rows that are below the value.
    now.target = Some(before.version.unwrap_or(0).to_string());
    let fence = if written.version.is_some() { before.fence.next() } else { before.fence };
    let kept_by = keep(&table, &unload.name, &fence, &now)?;
    written.version = kept_by.max(written.version);
    Ok(UnloadAttempt::Done(written))
}

/// Checks the upsert into a Delta table.
pub(super) fn plan(unload: &IncrementalUnload<'_>) -> Result<DryRun> {
    let table = open_table(unload.target, &unload.options.read.storage, unload.job)?;
    let before = before(&table, unload)?;
    let incoming = unload.incoming_of_any_types(&before.kept, known_target(unload, &before).as_ref())?;
    if before.kept.has_ended && incoming.is_empty() {
        return Ok(DryRun::new(unload.nothing_new(), before.version));
    }
    let options = upsert_options(unload, &before)?;
    let plan = plan_upsert_rows(unload.target, SourceRows::from(incoming.batches), &options, false, unload.job)?;
    Ok(DryRun { would: unload.with_filter(plan.would, &before.kept)?, ..plan })
}

/// The target, for the types of its columns, where it exists. If it can't be resolved, the upsert reports that.
fn known_target(unload: &IncrementalUnload<'_>, before: &EarlierUnload) -> Option<CopyTarget> {
    before.version?;
    CopyTarget::resolve(unload.target, &crate::options::CopyOptions::default(), unload.job).ok()
}

/// Reads the table's state of the unload.
fn before(table: &Table, unload: &IncrementalUnload<'_>) -> Result<EarlierUnload> {
    let snapshot = table.exists()?.then(|| table.snapshot(None)).transpose()?;
    let fence = CommitFence::read(snapshot.as_ref(), &property(&unload.name))?;
    let Some(snapshot) = snapshot else {
        return Ok(EarlierUnload { kept: EarlierRun::default(), text: None, version: None, fence });
    };
    let text = kept_text(&snapshot, unload);
    let parsed = text.as_deref().map(EarlierRun::parse).transpose().map_err(|error| error.at(table.location()))?;
    let mut kept = parsed.unwrap_or_default();
    if kept.mark.is_some() && is_overwritten(table, snapshot.version(), &kept)? {
        // Whoever overwrote the rows has left the property: all rows are sent again.
        kept = EarlierRun::default();
    }
    Ok(EarlierUnload { kept, text, version: Some(snapshot.version()), fence })
}

fn kept_text(snapshot: &Snapshot, unload: &IncrementalUnload<'_>) -> Option<String> {
    let mut properties = snapshot.properties();
    let mut known = |name: &str| properties.remove(&property(name));
    known(&unload.name).or_else(|| known(&unload.spelled_name))
}

fn upsert_options(unload: &IncrementalUnload<'_>, before: &EarlierUnload) -> Result<UpsertOptions> {
    let options = unload.options;
    Ok(UpsertOptions {
        read: unload.read(before.kept.mark.as_ref())?,
        rows: RowOptions {
            key: options.load.key.clone(),
            evolve: options.evolve,
            write: options.write.clone(),
            fence: Some(before.fence.clone()),
            ..RowOptions::default()
        },
        partition_by: options.partition_by.clone(),
        table_properties: options.table_properties.clone(),
        transaction: None,
    })
}

/// Returns true if another run of the unload has changed the table since `before` was read.
fn is_overtaken(table: &Table, unload: &IncrementalUnload<'_>, before: &EarlierUnload) -> Result<bool> {
    if !table.exists()? {
        return Ok(false);
    }
    let snapshot = table.snapshot(None)?;
    Ok(!before.fence.matches(&snapshot)? || kept_text(&snapshot, unload) != before.text)
}

/// True where the rows of the table were overwritten after the version that the last run has noted.
fn is_overwritten(table: &Table, version: u64, kept: &EarlierRun) -> Result<bool> {
    let Some(noted) = kept.target.as_deref().and_then(|version| version.parse::<u64>().ok()) else { return Ok(false) };
    let later = version.saturating_sub(noted);
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
pub(super) fn open_source(unload: &IncrementalUnload<'_>, read: &ReadOptions) -> Result<Scan> {
    let table = open_table(unload.target, &read.storage, unload.job)?;
    csv_types::open(unload.source, read, &table, unload.options.evolve, &unload.options.load.key, unload.job)
}

fn property(name: &str) -> String {
    format!("{PROPERTY}{name}")
}

/// Stores the state of a run, unless a later run has committed rows in the meantime, which stores its own. Returns the
/// version that this makes.
fn keep(table: &Table, name: &str, fence: &CommitFence, kept: &EarlierRun) -> Result<Option<u64>> {
    let set = BTreeMap::from([(property(name), kept.text()?)]);
    for _ in 0..KEEPS {
        if !table.exists()? {
            return Err(Error::conflict("the table was removed in the meantime")
                .at(table.location())
                .advice("run it again"));
        }
        if !fence.matches(&table.snapshot(None)?)? {
            return Ok(None);
        }
        match alter(table, &AlterOptions { set: set.clone(), ..AlterOptions::default() }) {
            // Another writer has changed some property at this moment.
            Err(error) if error.kind() == ErrorKind::Conflict => {}
            outcome => return outcome.map(|altered| altered.version),
        }
    }
    let message = format!("other writers have changed the table's properties {KEEPS} times");
    Err(Error::conflict(message).at(table.location()).advice("run it again, which sends the same rows"))
}
