//! Versions of tables that this process has opened: the steps of a statement and the queries of a version read its log
//! once, and a later version is opened by the entries after the one before.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use lakerace::{Job, OpenVersion, Result, SharedTable};

use crate::settings::SparkSettings;

/// The most versions that are kept.
const MOST_VERSIONS: usize = 32;
/// The most files that all versions have together, unless the last one alone has more. Each takes approximately 1 KiB
/// of memory.
const MOST_FILES: usize = 200_000;

static KEPT: Mutex<VecDeque<KeptVersion>> = Mutex::new(VecDeque::new());

/// Versions that a thread is opening: others that need one of them wait for it.
static OPENING: Mutex<Vec<OpeningVersion>> = Mutex::new(Vec::new());

struct OpeningVersion {
    place: String,
    version: u64,
    /// Held by the thread that opens it.
    lock: Weak<Mutex<()>>,
}

struct KeptVersion {
    place: String,
    /// The settings that it was opened with.
    opening: String,
    version: OpenVersion,
}

impl KeptVersion {
    fn is_at(&self, place: &str, opening: &str) -> bool {
        self.place == place && self.opening == opening
    }

    fn files(&self) -> usize {
        self.version.listed_file_count().unwrap_or(0)
    }
}

/// The version that a query reads, if it is open. Opening a table is not a query: a newer version may exist by then.
pub(crate) fn known(location: &str, settings: &SparkSettings) -> Option<OpenVersion> {
    if !settings.asks() {
        return None;
    }
    find_kept(location, settings, settings.get("at")?.parse().ok()?)
}

fn find_kept(location: &str, settings: &SparkSettings, version: u64) -> Option<OpenVersion> {
    let (place, opening) = (table_place(location), settings.opening());
    let mut kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
    let at = kept.iter().position(|kept| kept.is_at(place, &opening) && kept.version.version() == version)?;
    let found = kept.remove(at)?;
    let version = found.version.clone();
    // The one that was used last is the last one to go.
    kept.push_back(found);
    Some(version)
}

/// The last version of a table that is open, not after `until`: the log is read from there on. The option
/// `write.table_id` has the id of the table: another one may have been at its place.
pub(crate) fn find_before(location: &str, settings: &SparkSettings, until: Option<u64>) -> Option<OpenVersion> {
    let (place, opening) = (table_place(location), settings.opening());
    let kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
    let of_table = kept.iter().filter(|kept| kept.is_at(place, &opening)).map(|kept| &kept.version);
    let id = settings.get("write.table_id");
    let same = of_table.filter(|version| id.is_none_or(|id| version.table_id() == id));
    let earlier = same.filter(|version| until.is_none_or(|until| version.version() <= until));
    earlier.max_by_key(|version| version.version()).cloned()
}

/// A version of a table for a job. Only the log after a version that is open is read, and nothing if that is this one.
pub(crate) fn open_at(location: &str, settings: &SparkSettings, version: u64, job: &Job) -> Result<OpenVersion> {
    let lock = opening_lock(location, version);
    let _one = lock.lock().unwrap_or_else(PoisonError::into_inner);
    let earlier = find_before(location, settings, Some(version));
    let opened = OpenVersion::open(location, version, earlier.as_ref(), &settings.storage(), job)?;
    if let Some(id) = settings.get("write.table_id") {
        opened.check_table_id(id)?;
    }
    if earlier.is_none_or(|earlier| earlier.version() != version) {
        keep(location, settings, &opened);
    }
    Ok(opened)
}

/// The lock of those that open a version.
fn opening_lock(location: &str, version: u64) -> Arc<Mutex<()>> {
    let place = table_place(location);
    let mut all = OPENING.lock().unwrap_or_else(PoisonError::into_inner);
    all.retain(|opening| opening.lock.strong_count() > 0);
    let found = all.iter().find(|opening| opening.version == version && opening.place == place);
    found.and_then(|opening| opening.lock.upgrade()).unwrap_or_else(|| {
        let lock = Arc::default();
        all.push(OpeningVersion { place: place.to_owned(), version, lock: Arc::downgrade(&lock) });
        lock
    })
}

/// The last version of a table; `None` where there is no Delta table. Only the log after a version that is open is
/// read.
pub(crate) fn open_last(location: &str, settings: &SparkSettings, job: &Job) -> Result<Option<SharedTable>> {
    let storage = settings.storage();
    let found = match find_before(location, settings, None) {
        Some(known) => SharedTable::find_after(location, &known, &storage, job)?,
        None => SharedTable::find(location, &storage, job)?,
    };
    if let Some(table) = &found {
        keep(location, settings, &table.open_version());
    }
    Ok(found)
}

/// Keeps a version that was opened, in place of the one of its number, and of those of a table that was at its place.
pub(crate) fn keep(location: &str, settings: &SparkSettings, version: &OpenVersion) {
    let (place, opening) = (table_place(location), settings.opening());
    let mut kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
    let is_outdated = |kept: &OpenVersion| kept.version() == version.version() || kept.table_id() != version.table_id();
    kept.retain(|kept| !(kept.is_at(place, &opening) && is_outdated(&kept.version)));
    kept.push_back(KeptVersion { place: place.to_owned(), opening, version: version.clone() });
    while kept.len() > MOST_VERSIONS
        || kept.len() > 1 && kept.iter().map(KeptVersion::files).sum::<usize>() > MOST_FILES
    {
        kept.pop_front();
    }
}

/// A text for the names that a table has with and without `delta:`.
fn table_place(location: &str) -> &str {
    let plain = match location.get(..6) {
        Some(scheme) if scheme.eq_ignore_ascii_case("delta:") => &location[6..],
        _ => location,
    };
    plain.strip_prefix("file://").unwrap_or(plain).trim_end_matches('/')
}

#[cfg(test)]
mod tests;
