//! Proof that a target has the rows of a version: both are counted and summed.

use lakerace_delta::Snapshot;
use lakerace_io::option::{ALLOW_NARROWING, VERIFY};
use lakerace_io::{Error, ErrorKind, Result};

use super::TableFollower;
use crate::checksum::Checksum;
use crate::column_item::ColumnItem;
use crate::delta::named;
use crate::options::ReadOptions;
use crate::scan::Scan;

/// The number of the rows and their checksum, or how they differ.
pub(super) fn verify(
    follower: &TableFollower<'_>,
    snapshot: &Snapshot,
) -> Result<std::result::Result<Checksum, String>> {
    if follower.options.load.allow_narrowing {
        return Err(Error::usage("values that may lose precision on their way can't be compared")
            .at(VERIFY)
            .advice(format!("omit {ALLOW_NARROWING}")));
    }
    let target = match Scan::open(follower.target, &ReadOptions::default(), follower.job) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Err("it is gone".to_owned())),
        target => target?,
    };
    let there = target.schema();
    let names = snapshot.schema().fields().iter().map(|field| field.name().clone());
    let (columns, missing): (Vec<String>, Vec<String>) = names.partition(|name| there.column_with_name(name).is_some());
    for name in missing {
        // A column that was added since has no rows with values yet.
        let filter = format!("\"{}\" IS NOT NULL", name.replace('"', "\"\""));
        if of_table(follower, snapshot, Some(filter), Vec::new())?.count()? > 0 {
            return Ok(Err(format!("it lacks the column {name:?}")));
        }
    }
    let wanted = of_table(follower, snapshot, None, columns.clone())?.checksum()?;
    let read = ReadOptions { columns: Some(ColumnItem::named(columns)), ..ReadOptions::default() };
    let found = Scan::open(follower.target, &read, follower.job)?.checksum()?;
    Ok(if found == wanted { Ok(wanted) } else { Err(differs(found, wanted)) })
}

fn differs(found: Checksum, wanted: Checksum) -> String {
    format!("the target has {} rows with checksum {found}, but {} with {wanted} were expected", found.rows, wanted.rows)
}

/// Rows of the version.
fn of_table(
    follower: &TableFollower<'_>,
    snapshot: &Snapshot,
    filter: Option<String>,
    columns: Vec<String>,
) -> Result<Scan> {
    let read = ReadOptions {
        columns: (!columns.is_empty()).then(|| ColumnItem::named(columns)),
        filter,
        at: Some(snapshot.version().to_string()),
        storage: follower.options.storage.clone(),
        ..ReadOptions::default()
    };
    let place = follower.table.location();
    Scan::open(&format!("delta:{}", named(place).unwrap_or(place)), &read, follower.job)
}
