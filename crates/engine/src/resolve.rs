//! Locations by name, for sources and targets alike. A new kind of location is one arm of [`LocationKind`].

use std::borrow::Cow;

use lakerace_database::DatabaseSystem;
use lakerace_delta::DELTA;
use lakerace_format::suggestions::listed;
use lakerace_io::{Error, Location, Result, STORE_LOCATIONS, config};

/// The kind of place that a location names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LocationKind<'a> {
    /// `delta:FOLDER`.
    Table {
        /// The folder, without the scheme.
        folder: &'a str,
    },
    /// `tpch:TABLE`, a generated table.
    Tpch,
    /// A collection, an index or a table of a database.
    Database(&'static DatabaseSystem),
    /// A file or a folder, which may be a Delta table, or a pipe: the store or file system says which.
    Path,
}

impl<'a> LocationKind<'a> {
    /// Classifies a location by its name: nothing is opened.
    pub(crate) fn classify(location: &'a str) -> Self {
        if let Some(folder) = without_scheme(location, DELTA.scheme) {
            Self::Table { folder }
        } else if without_scheme(location, lakerace_tpch::SCHEME).is_some() {
            Self::Tpch
        } else if let Some(system) = DatabaseSystem::for_location(location) {
            Self::Database(system)
        } else {
            Self::Path
        }
    }
}

/// Parses a location of files. An unknown scheme is an error with all schemes, those of tables and databases among them.
pub(crate) fn parse_path(location: &str) -> Result<Location> {
    Location::parse(location).map_err(|error| match Location::has_unknown_scheme(location) {
        true if DatabaseSystem::for_location(location).is_some() => {
            let told = Error::usage("files or a Delta table are needed here, and this is a database");
            error.location().into_iter().fold(told, Error::at).advice("name a file, a folder or a Delta table")
        }
        true => {
            let schemes = DatabaseSystem::all().flat_map(|system| system.schemes);
            let databases: Vec<_> = schemes.map(|scheme| format!("{scheme}:")).collect();
            error.advice(format!(
                "{STORE_LOCATIONS}; a database is named with {}, a Delta table with {}FOLDER, a generated table with {}TABLE",
                listed(databases, "or"),
                DELTA.scheme,
                lakerace_tpch::SCHEME
            ))
        }
        false => error,
    })
}

/// A location in canonical spelling, without credentials: equal for locations that have the same rows.
pub(crate) fn canonical(location: &str) -> String {
    let place = match LocationKind::classify(location) {
        LocationKind::Database(system) => lakerace_database::canonical(system, location),
        LocationKind::Tpch => return location.to_owned(),
        LocationKind::Table { folder } => Location::parse(folder).map(|location| location.canonical()),
        LocationKind::Path => Location::parse(location).map(|location| location.canonical()),
    };
    place.unwrap_or_else(|_| location.to_owned())
}

/// A location whose connection is replaced by its URL, so that states outlive the connection's name. The text may have a
/// password.
pub(crate) fn without_connection(location: &str) -> Cow<'_, str> {
    let (front, rest) = match without_scheme(location, DELTA.scheme) {
        Some(folder) => (DELTA.scheme, folder),
        None => ("", location),
    };
    match config::resolve(rest) {
        Ok(Some(resolved)) => Cow::Owned(format!("{front}{}", resolved.url)),
        // Whoever opens the location reports the error.
        Ok(None) | Err(_) => Cow::Borrowed(location),
    }
}

/// The text after a scheme, in letters of any case; `None` where the location has another.
pub(crate) fn without_scheme<'a>(location: &'a str, scheme: &str) -> Option<&'a str> {
    let front = location.get(..scheme.len())?;
    front.eq_ignore_ascii_case(scheme).then(|| &location[scheme.len()..])
}

#[cfg(test)]
mod tests;
