//! The places of a job, and the scope of options of stores and files in them. An option that applies to no place is an
//! error.

use std::fmt;
use std::path::{Path, PathBuf};

use lakerace_database::DatabaseSystem;
use lakerace_delta::LOG;
use lakerace_format::suggestions::listed;
use lakerace_io::option::{
    ALLOW_FOREIGN_PATHS, DURABILITY, EXTRA_BYTES_TOLERANCE, IO, LOG_FILE, MAX_REQUEST_SIZE, MAX_REQUESTS_IN_FLIGHT,
    MIN_SEEK_SIZE, OptionDefinition, PREFETCH_SIZE, RETRY_TIME,
};
use lakerace_io::{
    DurabilityLevel, Error, FileIo, JobOptions, Location, Pipe, RangeOptions, Result, StorageOptions, StoreKind,
    canonical_path,
};

use crate::database::shown;
use crate::files_store::packs_folder;
use crate::resolve::{LocationKind, parse_path};

/// The medium of a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LocationMedium {
    /// Files of this machine, or of a store in memory.
    Files,
    /// Objects of a remote store.
    Remote(&'static StoreKind),
    /// Standard input and output, named pipes and devices.
    Stream,
    /// A generated table.
    Generated,
    /// A collection, an index or a table.
    Database(&'static DatabaseSystem),
    /// A store of small files on this machine.
    SmallFiles,
}

impl fmt::Display for LocationMedium {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Files => f.write_str("on this machine"),
            Self::Remote(kind) => write!(f, "on {}", kind.name),
            Self::Stream => f.write_str("a stream"),
            Self::Generated => f.write_str("a generated table"),
            Self::Database(_) => f.write_str("in a database"),
            Self::SmallFiles => f.write_str("a store of small files on this machine"),
        }
    }
}

/// A location, and its use by a job.
#[derive(Debug, Clone)]
struct JobPlace {
    /// As errors show it.
    location: String,
    medium: LocationMedium,
    /// It is a Delta table, or may be one depending on its store.
    may_be_table: bool,
    is_read: bool,
    is_written: bool,
}

/// The locations that a job reads and writes.
///
/// ```
/// use lakerace::{JobOptions, JobPlaces, StorageOptions};
/// let storage = StorageOptions::from_iter([("aws_region".to_owned(), "eu-west-1".to_owned())]);
/// let local = JobPlaces::default().reads("orders.csv").writes("orders.parquet");
/// assert!(local.check(&storage, &JobOptions::default()).is_err());
/// local.writes("s3://lake/orders.parquet").check(&storage, &JobOptions::default())?;
/// # Ok::<(), lakerace::Error>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct JobPlaces {
    places: Vec<JobPlace>,
    /// The locations that are files or folders of this machine, as errors show them, and their paths.
    local: Vec<(String, PathBuf)>,
    /// A location that can't be understood is an error of the job itself.
    has_unknown: bool,
}

/// An option, whether it is given, and the places that it applies to.
struct PlaceScope {
    option: &'static OptionDefinition,
    is_given: fn(&StorageOptions, &JobOptions) -> bool,
    applies: fn(&JobPlace) -> bool,
    /// The reason why it does not apply to another place: the nature of that place.
    other: fn(&JobPlace) -> String,
    /// The places that it applies to, in words.
    places: &'static str,
}

const fn scope(
    option: &'static OptionDefinition,
    (applies, other, places): Places,
    is_given: fn(&StorageOptions, &JobOptions) -> bool,
) -> PlaceScope {
    PlaceScope { option, is_given, applies, other, places }
}

type Places = (fn(&JobPlace) -> bool, fn(&JobPlace) -> String, &'static str);

const REMOTE: Places = (JobPlace::is_remote, JobPlace::medium, "object stores and HTTP servers");
const TABLES: Places = (JobPlace::may_be_table, JobPlace::no_table, "Delta tables");
const READ: Places = (
    JobPlace::is_read_by_ranges,
    JobPlace::use_or_medium,
    "files and tables to read, on this machine and on object stores",
);
const WRITTEN: Places = (JobPlace::is_written_here, JobPlace::use_or_medium, "files to write on this machine");
const DURABLE: Places =
    (JobPlace::is_synced_here, JobPlace::use_or_medium, "files and databases to write on this machine");

/// Hints that suit every place, such as the number of threads, are not among them.
static SCOPES: [PlaceScope; 9] = [
    scope(&RETRY_TIME, REMOTE, |storage, _| storage.retry_time().is_ok_and(|time| time.is_some())),
    scope(&ALLOW_FOREIGN_PATHS, TABLES, |storage, _| storage.allows_foreign_paths().unwrap_or(false)),
    scope(&MIN_SEEK_SIZE, READ, |_, job| job.ranges.min_seek_size != RangeOptions::default().min_seek_size),
    scope(&MAX_REQUEST_SIZE, READ, |_, job| job.ranges.max_request_bytes.is_some()),
    scope(&MAX_REQUESTS_IN_FLIGHT, READ, |_, job| job.ranges.max_requests_in_flight.is_some()),
    scope(&EXTRA_BYTES_TOLERANCE, READ, |_, job| {
        let default = RangeOptions::default().extra_bytes_tolerance;
        job.ranges.extra_bytes_tolerance.to_bits() != default.to_bits()
    }),
    scope(&PREFETCH_SIZE, READ, |_, job| {
        let defaults = [RangeOptions::default(), RangeOptions::for_copy()];
        defaults.iter().all(|default| default.prefetch_bytes != job.ranges.prefetch_bytes)
    }),
    scope(&IO, WRITTEN, |_, job| job.file_io != FileIo::default()),
    scope(&DURABILITY, DURABLE, |_, job| job.durability != DurabilityLevel::default()),
];

impl JobPlaces {
    /// With a location that is read.
    #[must_use]
    pub fn reads(self, location: &str) -> Self {
        self.with(location, false, (true, false))
    }

    /// With a location that is written.
    #[must_use]
    pub fn writes(self, location: &str) -> Self {
        self.with(location, false, (false, true))
    }

    /// With a Delta table that is read.
    #[must_use]
    pub fn reads_table(self, table: &str) -> Self {
        self.with(table, true, (true, false))
    }

    /// With a Delta table that is read and written.
    #[must_use]
    pub fn changes_table(self, table: &str) -> Self {
        self.with(table, true, (true, true))
    }

    /// With a store of small files, as [`crate::open_files`] takes it.
    #[must_use]
    pub fn small_files(mut self, store: &str, is_written: bool) -> Self {
        match packs_folder(store) {
            Some(folder) => self.with(folder, true, (true, is_written)),
            None => {
                self.local.extend(local_path(store).map(|path| (store.to_owned(), path)));
                let medium = LocationMedium::SmallFiles;
                let location = store.to_owned();
                self.places.push(JobPlace { location, medium, may_be_table: false, is_read: true, is_written });
                self
            }
        }
    }

    /// Refuses a log in a file that the job reads or writes.
    ///
    /// # Errors
    /// `Usage`, with the file.
    pub fn check_log_file(&self, file: &Path) -> Result<()> {
        let path = canonical_path(file);
        match self.local.iter().find(|(_, place)| *place == path) {
            None => Ok(()),
            Some((location, _)) => {
                Err(Error::usage(format!("{LOG_FILE}: the command reads or writes this file: {location}"))
                    .at(file.display())
                    .advice("name a separate file for the log"))
            }
        }
    }

    fn with(mut self, location: &str, is_table: bool, (is_read, is_written): (bool, bool)) -> Self {
        self.local.extend(local_path(location).map(|path| (shown(location), path)));
        match medium_of(location) {
            Ok((medium, may_be_table)) => {
                let may_be_table = is_table || may_be_table;
                self.places.push(JobPlace { location: shown(location), medium, may_be_table, is_read, is_written });
            }
            Err(_) => self.has_unknown = true,
        }
        self
    }

    /// Refuses settings of stores, and options of requests and written files, that apply to no place of the job.
    ///
    /// # Errors
    /// `Usage`, with the option, the places of the job and those that the option applies to; also for a name that no
    /// store has.
    pub fn check(&self, storage: &StorageOptions, options: &JobOptions) -> Result<()> {
        storage.check_names()?;
        let reads_foreign = self.reads_foreign(storage)?;
        if self.has_unknown {
            return Ok(());
        }
        if let Some(scope) = self.unused_scope(storage, options)? {
            return Err(self.refused(&scope.option.to_string(), scope.other, scope.places));
        }
        let kinds: Vec<_> = self.places.iter().filter_map(JobPlace::remote_kind).collect();
        match storage.unread_option(&kinds).filter(|_| !reads_foreign) {
            None => Ok(()),
            Some((name, readers)) => {
                let stores = listed(readers.iter().map(|kind| kind.name.to_owned()).collect::<Vec<_>>(), "and");
                Err(self.refused(&format!("the storage option {name}"), JobPlace::medium, &stores))
            }
        }
    }

    /// The first option that is given and applies to no place of the job.
    ///
    /// # Errors
    /// `Usage` for storage options that can't be read.
    pub fn unused_option(
        &self,
        storage: &StorageOptions,
        options: &JobOptions,
    ) -> Result<Option<&'static OptionDefinition>> {
        if self.has_unknown {
            return Ok(None);
        }
        Ok(self.unused_scope(storage, options)?.map(|scope| scope.option))
    }

    fn unused_scope(&self, storage: &StorageOptions, options: &JobOptions) -> Result<Option<&'static PlaceScope>> {
        let reads_foreign = self.reads_foreign(storage)?;
        Ok(SCOPES.iter().find(|scope| {
            let is_remote = scope.option.id == RETRY_TIME.id && reads_foreign;
            (scope.is_given)(storage, options) && !is_remote && !self.places.iter().any(scope.applies)
        }))
    }

    /// Returns true if a table of the job may name files of other stores.
    fn reads_foreign(&self, storage: &StorageOptions) -> Result<bool> {
        Ok(storage.allows_foreign_paths()? && self.places.iter().any(JobPlace::may_be_table))
    }

    fn refused(&self, option: &str, other: fn(&JobPlace) -> String, places: &str) -> Error {
        let kinds: Vec<_> = self.places.iter().map(|place| format!("{} is {}", place.location, other(place))).collect();
        let own = match kinds.as_slice() {
            [] => "the rows are in memory".to_owned(),
            _ => kinds.join(", and "),
        };
        Error::usage(format!("{option} does not apply: {own}")).advice(format!("omit it; it applies to {places}"))
    }
}

impl JobPlace {
    fn remote_kind(&self) -> Option<&'static StoreKind> {
        match self.medium {
            LocationMedium::Remote(kind) => Some(kind),
            _ => None,
        }
    }

    fn medium(&self) -> String {
        self.medium.to_string()
    }

    fn no_table(&self) -> String {
        match self.medium {
            LocationMedium::Files => "no Delta table".to_owned(),
            other => other.to_string(),
        }
    }

    /// The use of files by the job, which alone may be why an option does not apply.
    fn use_or_medium(&self) -> String {
        match (self.medium, self.is_read, self.is_written) {
            (LocationMedium::Files, true, false) => "only read".to_owned(),
            (LocationMedium::Files, false, true) => "only written".to_owned(),
            (other, ..) => other.to_string(),
        }
    }

    fn is_remote(&self) -> bool {
        self.remote_kind().is_some()
    }

    fn may_be_table(&self) -> bool {
        self.may_be_table
    }

    fn is_read_by_ranges(&self) -> bool {
        self.is_read && matches!(self.medium, LocationMedium::Files | LocationMedium::Remote(_))
    }

    fn is_written_here(&self) -> bool {
        self.is_written && self.medium == LocationMedium::Files
    }

    fn is_synced_here(&self) -> bool {
        let is_here = match self.medium {
            LocationMedium::Files | LocationMedium::SmallFiles => true,
            LocationMedium::Database(system) => system.is_local_file,
            LocationMedium::Remote(_) | LocationMedium::Stream | LocationMedium::Generated => false,
        };
        self.is_written && is_here
    }
}

/// The medium of a location, and whether a Delta table may be there. Nothing but this machine is asked.
fn medium_of(name: &str) -> Result<(LocationMedium, bool)> {
    let folder = match LocationKind::classify(name) {
        LocationKind::Table { folder } => return Ok((store_of(&parse_path(folder)?), true)),
        LocationKind::Tpch => return Ok((LocationMedium::Generated, false)),
        LocationKind::Database(system) => return Ok((LocationMedium::Database(system), false)),
        LocationKind::Path if Pipe::is_named(name) => return Ok((LocationMedium::Stream, false)),
        LocationKind::Path => parse_path(name)?,
    };
    let may_be_table = match folder.local_path() {
        Some(path) => path.join(LOG).is_dir(),
        None => folder.can_list(),
    };
    Ok((store_of(&folder), may_be_table))
}

/// The canonical path of a location on this machine.
fn local_path(name: &str) -> Option<PathBuf> {
    let path = match LocationKind::classify(name) {
        LocationKind::Table { folder } => Location::parse(folder).ok()?.local_path()?,
        LocationKind::Path if !Pipe::is_named(name) => Location::parse(name).ok()?.local_path()?,
        LocationKind::Database(system) => lakerace_database::local_file(system, name)?,
        LocationKind::Path | LocationKind::Tpch => return None,
    };
    Some(canonical_path(&path))
}

fn store_of(location: &Location) -> LocationMedium {
    location.store_kind().map_or(LocationMedium::Files, LocationMedium::Remote)
}

#[cfg(test)]
mod tests;
