//! Errors for versions whose changes can't be read.

use delta_kernel::{Engine, KernelError};
use lakerace_io::option::{ALTER, FROM, SET};
use lakerace_io::{Error, ErrorKind};

use super::pieces::new_metadata;
use crate::kernel::engine::TableEngine;
use crate::log::kept_versions::{KeptEntries, kept_entries};
use crate::table::Table;

/// The property that enables a table's change data feed.
const PROPERTY: &str = "delta.enableChangeDataFeed";
/// Entries that are searched for the version that sets the property: the error is not worth more requests.
const ENTRIES_AT_MOST: u64 = 32;

/// The version of which the kernel says that it has no change feed.
pub(super) fn version_without_feed(error: &KernelError) -> Option<u64> {
    match error {
        KernelError::Backtraced { source, .. } => version_without_feed(source),
        KernelError::ChangeDataFeedUnsupported(version) => Some(*version),
        _ => None,
    }
}

/// The error for a version without a change feed. It names the version from which on there is one.
pub(super) fn no_feed(engine: &TableEngine, version: u64, latest: u64) -> Error {
    let message = format!("version {version} has no change feed: the property {PROPERTY} is not set in it");
    let set = ALTER.with([SET.to(format!("{PROPERTY}=true"))]);
    let found = first_with_feed(engine, version, latest);
    let is_whole = latest - version.min(latest) <= ENTRIES_AT_MOST;
    Error::unsupported(message).advice(match found {
        None if !is_whole => format!("a later version may set it (`lakerace history` lists them), or set it by {set}"),
        Some(first) => {
            format!("version {first} sets it: read the changes from that version on ({})", FROM.to(first.to_string()))
        }
        None => format!("set it with {set}: later versions then have a change feed, but earlier ones do not"),
    })
}

/// The version after one without a feed from which on all versions have one, as far as entries are searched.
fn first_with_feed(engine: &TableEngine, without: u64, latest: u64) -> Option<u64> {
    let storage = engine.storage_handler();
    let mut first = None;
    for version in without + 1..=latest.min(without.saturating_add(ENTRIES_AT_MOST)) {
        let metadata = new_metadata(storage.as_ref(), version).ok()?;
        let Some(metadata) = metadata else { continue };
        first = match metadata.configuration.get(PROPERTY).is_some_and(|value| value == "true") {
            true => first.or(Some(version)),
            false => None,
        };
    }
    first
}

/// The error for versions before the oldest one that is left; others stay.
pub(super) fn not_kept(table: &Table, from: u64, error: Error) -> Error {
    if !matches!(error.kind(), ErrorKind::NotFound | ErrorKind::Corrupt) {
        return error;
    }
    let Ok(files) = table.list_log() else { return error };
    match kept_entries(&files) {
        KeptEntries::NoEntry => {
            let message =
                format!("the changes of version {from} are no longer kept: all entries of the log were cleaned up");
            Error::not_found(message).advice("read all rows with a scan; versions that are made later have changes")
        }
        KeptEntries::From { oldest } if from < oldest => {
            let message = format!("version {from} is no longer kept: the oldest remaining one is {oldest}");
            Error::not_found(message).advice(format!(
                "read the changes from that version on ({}), or all rows of a version with a scan",
                FROM.to(oldest.to_string())
            ))
        }
        _ => error,
    }
}
