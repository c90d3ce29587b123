//! Versions of tables that this process has opened: the queries of a version read its log once.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use lakerace::{OpenVersion, Result};

use crate::settings::SparkSettings;

/// The most versions that are kept.
const MOST_VERSIONS: usize = 32;
/// The most files that all versions have together, unless the last one alone has more. Each takes approximately 1 KiB
/// of memory.
const MOST_FILES: usize = 200_000;

static KEPT: Mutex<VecDeque<KeptVersion>> = Mutex::new(VecDeque::new());

struct KeptVersion {
    location: String,
    /// The settings that it was opened with.
    opening: String,
    version: OpenVersion,
    files: usize,
}

impl KeptVersion {
    fn is_of(&self, location: &str, opening: &str, version: u64) -> bool {
        self.version.version() == version && self.location == location && self.opening == opening
    }
}

/// The version that a query reads, if it is open. Opening a table is not a query: a newer version may exist by then.
pub(crate) fn known(location: &str, settings: &SparkSettings) -> Option<OpenVersion> {
    if !settings.asks() {
        return None;
    }
    let (version, opening) = (settings.get("at")?.parse().ok()?, settings.opening());
    let mut kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
    let at = kept.iter().position(|kept| kept.is_of(location, &opening, version))?;
    let found = kept.remove(at)?;
    let version = found.version.clone();
    // The one that was used last is the last one to go.
    kept.push_back(found);
    Some(version)
}

/// Keeps a version that was opened, in place of one of its name that was opened before.
pub(crate) fn keep(location: &str, settings: &SparkSettings, version: &OpenVersion) -> Result<()> {
    let (opening, files) = (settings.opening(), version.file_count()?);
    let mut kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
    kept.retain(|kept| !kept.is_of(location, &opening, version.version()));
    kept.push_back(KeptVersion { location: location.to_owned(), opening, version: version.clone(), files });
    while kept.len() > MOST_VERSIONS || kept.len() > 1 && kept.iter().map(|kept| kept.files).sum::<usize>() > MOST_FILES
    {
        kept.pop_front();
    }
    Ok(())
}
