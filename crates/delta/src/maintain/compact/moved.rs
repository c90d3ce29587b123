//! Rows that other writers hid in old files, found again in the new ones.

use std::collections::HashMap;

use lakerace_io::{Error, Result};
use roaring::RoaringTreemap;

use super::bins::FileBin;
use crate::deletion_vector;
use crate::snapshot::files::TableFile;
use crate::table::Table;

/// The rows of a group's new files that have been hidden in its old ones since they were read. `now` has the table's
/// files. `None` where the new files can't follow: an old one is gone, or shows rows again.
///
/// New files have the visible rows of the old ones, one after the other: a row's position is the number of visible rows
/// before it.
pub(super) fn hidden(
    table: &Table,
    bin: &FileBin,
    new: &[(String, u64)],
    now: &HashMap<&str, &TableFile>,
) -> Result<Option<Vec<(String, RoaringTreemap)>>> {
    let (mut first, mut starts, mut before, mut after) = (0u64, Vec::new(), Vec::new(), Vec::new());
    for file in &bin.files {
        let Some(current) = now.get(file.path.as_str()) else { return Ok(None) };
        let visible = file.visible_rows();
        if current.vector != file.vector {
            starts.push(first);
            before.push(file);
            after.push(*current);
        }
        match visible {
            Some(rows) => first += rows,
            // Rows after a file that does not say how many it has can't be counted.
            None => first = u64::MAX / 2,
        }
    }
    if starts.is_empty() {
        return Ok(Some(Vec::new()));
    }
    let (old, current) = (deletion_vector::treemaps(table, &before)?, deletion_vector::treemaps(table, &after)?);
    let mut places = RoaringTreemap::new();
    for ((start, old), current) in starts.into_iter().zip(old).zip(current) {
        let (old, current) = (old.unwrap_or_default(), current.unwrap_or_default());
        if !old.is_subset(&current) || start >= u64::MAX / 2 {
            return Ok(None);
        }
        let gone = &current - &old;
        places.extend(gone.iter().map(|row| start + row - old.rank(row)));
    }
    split(&places, new).map(Some)
}

/// Places in all new files together, as rows of each.
fn split(places: &RoaringTreemap, new: &[(String, u64)]) -> Result<Vec<(String, RoaringTreemap)>> {
    let (mut split, mut first, mut found) = (Vec::new(), 0, 0);
    for (name, rows) in new {
        let here: RoaringTreemap = places
            .iter()
            .skip_while(|place| *place < first)
            .take_while(|place| *place < first + rows)
            .map(|place| place - first)
            .collect();
        found += here.len();
        if !here.is_empty() {
            split.push((name.clone(), here));
        }
        first += rows;
    }
    if found != places.len() {
        return Err(Error::corrupt("a deletion vector hides rows that its file does not have"));
    }
    Ok(split)
}

#[cfg(test)]
mod tests;
