//! Markers: small objects in a folder that define which of its files count.
//!
//! A marker is an object `_lakerace_commit-RANDOM.json`:
//!
//! ```json
//! {"state": "pending", "adds": ["part-00000-5f3c.parquet"], "removes": ["old.parquet"]}
//! ```
//!
//! While it is `pending`, its `adds` do not count. Once it is `committed`, its `removes` do not. One PUT changes the
//! state: that is the moment at which the copy takes effect, for all readers of markers. Names are relative to the
//! folder.

use std::collections::HashSet;

use lakerace_io::{Error, Result};
use serde::{Deserialize, Serialize};

/// The start of a marker's name.
const PREFIX: &str = "_lakerace_commit-";
/// The end of a marker's name.
const SUFFIX: &str = ".json";

/// The content of a marker.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Marker {
    /// The state of the copy.
    pub state: MarkerState,
    /// Files that are new.
    pub adds: Vec<String>,
    /// Files, and markers of earlier copies, that do not count any more.
    pub removes: Vec<String>,
}

/// The state of a marker's copy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MarkerState {
    /// The copy has not taken effect, and perhaps never will.
    Pending,
    /// The copy has taken effect.
    Committed,
}

/// A new marker's name.
pub(crate) fn new_name() -> String {
    format!("{PREFIX}{:016x}{SUFFIX}", rand::random::<u64>())
}

/// Returns true if an object of this name (relative to its folder) is a marker.
pub fn is_marker(name: &str) -> bool {
    name.strip_prefix(PREFIX).and_then(|rest| rest.strip_suffix(SUFFIX)).is_some_and(|random| !random.contains('/'))
}

/// The files that count among `files`, the names in a folder without its markers. `markers` are the markers' names and
/// contents, read after the listing.
///
/// A committed marker with an `add` that the listing lacks was committed after the start of the listing: an error of
/// kind `Conflict`, upon which the caller lists again (see [`list`](super::list)).
pub fn visible(files: Vec<String>, markers: &[(String, Vec<u8>)]) -> Result<Vec<String>> {
    let mut parsed = Vec::with_capacity(markers.len());
    for (name, json) in markers {
        let marker: Marker = serde_json::from_slice(json).map_err(|e| {
            Error::corrupt("the file is not a marker").because(e).at(name).advice(
                "a copy into this folder may have been interrupted; check which files belong to it, then remove the \
                 marker",
            )
        })?;
        parsed.push((name.as_str(), marker));
    }
    // A copy that replaced another one speaks for it.
    let committed = |marker: &&(&str, Marker)| marker.1.state == MarkerState::Committed;
    let removed: HashSet<&str> =
        parsed.iter().filter(committed).flat_map(|(_, m)| m.removes.iter().map(String::as_str)).collect();
    let listed: HashSet<&str> = files.iter().map(String::as_str).collect();
    let mut hidden = removed.clone();
    for (name, marker) in parsed.iter().filter(|(name, _)| !removed.contains(name)) {
        match marker.state {
            MarkerState::Pending => hidden.extend(marker.adds.iter().map(String::as_str)),
            MarkerState::Committed => {
                if let Some(missing) =
                    marker.adds.iter().find(|add| !listed.contains(add.as_str()) && !removed.contains(add.as_str()))
                {
                    return Err(Error::conflict(format!(
                        "the folder changed while it was listed: {missing} is missing"
                    ))
                    .at(name)
                    .advice("read the folder again; if the file was removed on purpose, remove the marker"));
                }
            }
        }
    }
    let visible = files.iter().filter(|file| !hidden.contains(file.as_str())).cloned().collect();
    Ok(visible)
}

#[cfg(test)]
mod tests;
