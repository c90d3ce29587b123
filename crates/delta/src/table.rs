//! A table by its place.

use std::cmp::Ordering;
use std::sync::{Arc, Mutex};

use delta_kernel::{Engine, KernelResult, SnapshotRef};
use lakerace_io::object_store::path::Path;
use lakerace_io::wait::lock;
use lakerace_io::{Error, ErrorKind, Job, JobStore, Location, Object, Result, StorageOptions};
use url::Url;

use crate::condition_parser::ConditionParser;
use crate::kernel::engine::TableEngine;
use crate::kernel::error::guarded;
use crate::log::distrust::DamagedLogFiles;
use crate::log::files as log_files;
use crate::log::kept_versions::{cleaned_up, oldest_version};
use crate::paths::{LOG, ROOT, TablePaths};
use crate::snapshot::Snapshot;
use crate::version_spec::VersionSpec;

/// The advice on a version that does not exist.
pub(crate) const LIST_VERSIONS: &str = "`lakerace history` lists the versions";

/// A Delta table: a folder with a `_delta_log`. Cheap to clone.
#[derive(Clone)]
pub struct Table {
    inner: Arc<TableCore>,
}

struct TableCore {
    paths: Arc<TablePaths>,
    engine: TableEngine,
    job: Job,
    /// Parses the table's constraints.
    condition_parser: Option<ConditionParser>,
    /// The version that the last write through it has made.
    last_written: Mutex<Option<WrittenVersion>>,
}

/// A version that a write has made.
#[derive(Clone)]
pub(crate) enum WrittenVersion {
    /// It is open.
    Open(SnapshotRef),
    /// It follows an open version and has this number.
    After(SnapshotRef, u64),
}

impl WrittenVersion {
    /// Its number.
    pub fn version(&self) -> u64 {
        match self {
            Self::Open(kernel) => kernel.version(),
            Self::After(_, version) => *version,
        }
    }
}

impl Table {
    /// The table in this folder. Sends no request.
    pub fn at(location: &Location, storage: &StorageOptions, job: &Job) -> Result<Self> {
        let (store, root) = location.open(storage, job)?;
        let place = location.as_str().trim_end_matches('/').to_owned();
        let storage = location.options(storage)?;
        Self::named(store, root, place, &storage)
    }

    /// The table in a folder of a store of the caller's own. Sends no request.
    pub fn on(store: &JobStore, root: &Path) -> Result<Self> {
        Self::named(store.clone(), root.clone(), store.url(root), &StorageOptions::default())
    }

    fn named(store: JobStore, root: Path, place: String, storage: &StorageOptions) -> Result<Self> {
        let job = store.job.clone();
        let paths = Arc::new(TablePaths { store, root, place, storage: storage.clone() });
        let engine = TableEngine::new(&paths, None)?;
        let inner = TableCore { paths, engine, job, condition_parser: None, last_written: Mutex::default() };
        Ok(Self { inner: Arc::new(inner) })
    }

    /// The same table. It shares the files of the log that another object of the table has fetched.
    pub(crate) fn sharing_log(&self, other: &Self) -> Result<Self> {
        let (paths, job) = (Arc::clone(&self.inner.paths), self.inner.job.clone());
        let engine = TableEngine::new(&paths, Some(&other.inner.engine))?;
        let condition_parser = self.inner.condition_parser;
        let inner = TableCore { paths, engine, job, condition_parser, last_written: Mutex::default() };
        Ok(Self { inner: Arc::new(inner) })
    }

    /// The same table with a parser of its constraints, which are SQL. Without one, a table with constraints can't be
    /// written to. The returned table has not been read yet.
    pub fn with_condition_parser(&self, parser: ConditionParser) -> Result<Self> {
        let TablePaths { store, root, place, storage } = self.inner.paths.as_ref();
        let mut table = Self::named(store.clone(), root.clone(), place.clone(), storage)?;
        match Arc::get_mut(&mut table.inner) {
            Some(inner) => inner.condition_parser = Some(parser),
            None => return Err(Error::internal("a new table is in use")),
        }
        Ok(table)
    }

    /// Parses conditions that are SQL.
    pub(crate) fn condition_parser(&self) -> Option<ConditionParser> {
        self.inner.condition_parser
    }

    /// Makes a table of the same place of which nothing has been read yet.
    pub(crate) fn fresh(&self) -> Result<Self> {
        if let Some(parser) = self.inner.condition_parser {
            return self.with_condition_parser(parser);
        }
        let TablePaths { store, root, place, storage } = self.inner.paths.as_ref();
        Self::named(store.clone(), root.clone(), place.clone(), storage)
    }

    /// Makes a table that is read without `_last_checkpoint` and without these checkpoints.
    pub(crate) fn distrusting(&self, checkpoints: &[u64]) -> Result<Self> {
        let fresh = self.fresh()?;
        fresh.distrust().leave_out(checkpoints);
        Ok(fresh)
    }

    /// Its name as the user wrote it.
    pub fn location(&self) -> &str {
        &self.inner.paths.place
    }

    /// The job that pays for its requests.
    pub fn job(&self) -> &Job {
        &self.inner.job
    }

    /// The store that it is in.
    pub(crate) fn store(&self) -> &JobStore {
        &self.inner.paths.store
    }

    /// Its folder in that store.
    pub(crate) fn root(&self) -> &Path {
        &self.inner.paths.root
    }

    /// Returns true if its files are on this machine.
    pub(crate) fn is_local(&self) -> bool {
        self.inner.paths.store.is_local()
    }

    /// Returns true if there is one: its log has an entry or a checkpoint. One LIST at most.
    pub fn exists(&self) -> Result<bool> {
        self.inner.job.check()?;
        // A writer that makes the table may have a file of another name there before.
        let is_of_version = |path: &Path| {
            let name = path.filename().and_then(|name| name.split_once('.')).map(|(version, _)| version);
            name.is_some_and(|version| version.len() == 20 && version.bytes().all(|byte| byte.is_ascii_digit()))
        };
        Ok(self.store().list_unless(&self.root().clone().join(LOG), is_of_version)?.is_none())
    }

    /// The tag that distinguishes a version from another one of the same number, as a restored table may have. `None`
    /// where this object has neither listed nor made it.
    pub fn entry_tag(&self, version: u64) -> Option<u64> {
        self.inner.engine.log_store().entry_tag(version)
    }

    /// A version of the table; `None`: the last one. An error of kind `NotFound` where there is no table, or no such
    /// version any more.
    pub fn snapshot(&self, at: Option<VersionSpec>) -> Result<Snapshot> {
        self.inner.job.check()?;
        let version = match at {
            None => None,
            Some(VersionSpec::Version(version)) => Some(version),
            Some(VersionSpec::Timestamp(millis)) => {
                let latest = self.build(None).map_err(|error| self.explain(error, None))?;
                Some(self.version_at(millis, &latest)?)
            }
        };
        let built = self.build(version).or_else(|error| {
            let was_missing = error.kind() == ErrorKind::NotFound && version.is_none();
            let error = self.explain(error, version);
            // Another writer may have made the table after its log was listed.
            match was_missing && error.kind() == ErrorKind::Corrupt {
                true => self.build(None).map_err(|_| error),
                false => Err(error),
            }
        })?;
        Snapshot::new(self.clone(), built).map_err(|error| error.at(self.location()))
    }

    /// A version (`None`: the last one), where another object of the table has opened one before. That one itself needs
    /// no request. A later one needs a LIST, and of the log only the entries after it. Other versions are opened as by
    /// [`Self::snapshot`], also where the log does not continue from the known version.
    ///
    /// # Errors
    /// As those of [`Self::snapshot`].
    pub fn snapshot_after(&self, known: &Snapshot, version: Option<u64>) -> Result<Snapshot> {
        self.inner.job.check()?;
        let known = known.in_table(self)?;
        let whole = || self.snapshot(version.map(VersionSpec::Version));
        match version.map(|version| version.cmp(&known.version())) {
            Some(Ordering::Equal) => return Ok(known),
            Some(Ordering::Less) => return whole(),
            Some(Ordering::Greater) | None => {}
        }
        let later = match (known.table().has_newer(&known)?, version) {
            (Some(false), None) => return Ok(known.into_last()),
            (Some(true), None) => known.table().latest_after(&known),
            (Some(true), Some(version)) => {
                known.table().open_written(WrittenVersion::After(Arc::clone(known.kernel()), version))
            }
            (Some(false), Some(_)) | (None, _) => return whole(),
        };
        // Opened as a whole, a version is read around damage, and an error names the missing part.
        later.or_else(|_| whole())
    }

    /// Returns true if the log has entries after a version; `None` if it lacks the entry of that version or has another
    /// one in its place. A LIST.
    pub(crate) fn has_newer(&self, known: &Snapshot) -> Result<Option<bool>> {
        let version = known.version();
        let from = Url::parse(&format!("{ROOT}{LOG}/{version:020}")).map_err(Error::unexpected)?;
        let listed = self.kernel(|engine| {
            engine.storage_handler().list_from(&from)?.map(|file| Ok(file?.location)).collect::<KernelResult<Vec<_>>>()
        });
        // Where nothing can be listed, opening the table as a whole gives the error.
        let Ok(listed) = listed else { return Ok(None) };
        let numbers = listed.iter().filter_map(|url| {
            let number = url.path().rsplit('/').next()?.strip_suffix(".json")?;
            number.bytes().all(|byte| byte.is_ascii_digit()).then(|| number.parse::<u64>().ok())?
        });
        let numbers: Vec<u64> = numbers.collect();
        let is_same =
            numbers.contains(&version) && known.entry_tag().is_some() && known.entry_tag() == self.entry_tag(version);
        Ok(is_same.then(|| numbers.iter().any(|number| *number > version)))
    }

    /// The last version, where `known` is an older one: only the new part of the log is read.
    pub(crate) fn latest_after(&self, known: &Snapshot) -> Result<Snapshot> {
        self.inner.job.check()?;
        let builder = delta_kernel::Snapshot::builder_from(Arc::clone(known.kernel()));
        let built = self.kernel(|engine| builder.build(engine)).map_err(|error| self.explain(error, None))?;
        Snapshot::new(self.clone(), built).map_err(|error| error.at(self.location()))
    }

    /// Records the version that the last write through this table has made; `None` where it is not known exactly.
    pub(crate) fn set_last_written(&self, version: Option<WrittenVersion>) {
        *lock(&self.inner.last_written) = version;
    }

    /// The version that the last write through this table has made, by a LIST at most; other writers may have made
    /// later ones.
    pub(crate) fn last_written(&self) -> Result<Option<Snapshot>> {
        let written = lock(&self.inner.last_written).clone();
        written.map(|version| self.open_written(version)).transpose()
    }

    /// Opens a version that a write through this table has made. Its entry is not fetched.
    pub(crate) fn open_written(&self, written: WrittenVersion) -> Result<Snapshot> {
        let kernel = match written {
            WrittenVersion::Open(kernel) => kernel,
            WrittenVersion::After(before, version) => {
                let builder = delta_kernel::Snapshot::builder_from(before).at_version(version);
                match self.kernel(|engine| builder.build(engine)) {
                    Ok(kernel) => kernel,
                    Err(_) => return self.snapshot(Some(VersionSpec::Version(version))),
                }
            }
        };
        Snapshot::new(self.clone(), kernel).map_err(|error| error.at(self.location()))
    }

    /// The parts of the log that are left out.
    pub(crate) fn distrust(&self) -> &DamagedLogFiles {
        self.inner.engine.distrust()
    }

    /// The engine by which the kernel reads the log.
    pub(crate) fn engine(&self) -> &TableEngine {
        &self.inner.engine
    }

    /// Runs a call of the kernel; its errors and panics become ours.
    pub(crate) fn kernel<T>(&self, call: impl FnOnce(&TableEngine) -> KernelResult<T>) -> Result<T> {
        guarded(|| call(&self.inner.engine))
    }

    /// The error of a location that is no table. `has_log` is true if the folder of the log exists and is not empty.
    pub(crate) fn without_log(&self, has_log: bool) -> Error {
        let why = if has_log { "its _delta_log is empty" } else { "it has no _delta_log" };
        Error::not_found(format!("no Delta table exists here: {why}"))
            .at(self.location())
            .advice("check the name: it is that of the folder that has _delta_log")
    }

    /// Explains an error of opening a version: no table here, or no such version.
    fn explain(&self, error: Error, version: Option<u64>) -> Error {
        if matches!(error.kind(), ErrorKind::Cancelled | ErrorKind::Unavailable | ErrorKind::Unsupported) {
            return error.at(self.location());
        }
        match self.inner.paths.store.list(&self.inner.paths.root.clone().join(LOG)) {
            Ok(found) if found.iter().all(|file| log_files::is_hidden(&file.path)) => {
                self.without_log(!found.is_empty())
            }
            // Listing fails as opening did: the bucket is missing, access is denied.
            Err(listing) => listing.at(self.location()),
            Ok(_) => match version.map(|version| (version, self.build(None))) {
                Some((version, Ok(latest))) if version > latest.version() => {
                    Error::not_found(format!("version {version} does not exist: the last one is {}", latest.version()))
                        .at(self.location())
                        .advice(LIST_VERSIONS)
                }
                Some((version, Ok(_))) => {
                    let error = match error.location() {
                        None => self.cleaned_up_before(version).unwrap_or(error),
                        Some(_) => error,
                    };
                    let reason = if error.kind() == ErrorKind::NotFound { "can no longer" } else { "can't" };
                    let message = format!("version {version} {reason} be read: {}", error.without_advice());
                    let told = Error::new(error.kind(), message).at(self.location());
                    error.advice_text().into_iter().fold(told, Error::advice)
                }
                // No one asked for the version that is missing.
                _ if error.kind() == ErrorKind::NotFound => {
                    Error::from_source(ErrorKind::Corrupt, error).at(self.location())
                }
                _ => error.at(self.location()),
            },
        }
    }

    /// The error of a version that the log does not keep any more; `None` of others.
    fn cleaned_up_before(&self, version: u64) -> Option<Error> {
        oldest_version(&self.list_log().ok()?).filter(|oldest| version < *oldest).map(cleaned_up)
    }

    /// The object that a log names: by a path that is relative to the table, or by an absolute path or URL; either is encoded
    /// as a URI.
    pub(crate) fn object(&self, name: &str) -> Result<Object> {
        self.inner.paths.object(name)
    }

    /// See [`TablePaths::own_paths`].
    pub(crate) fn own_paths(&self, name: &str) -> Result<Vec<Path>> {
        self.inner.paths.own_paths(name)
    }
}

#[cfg(test)]
mod tests;
