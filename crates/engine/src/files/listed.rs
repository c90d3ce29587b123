//! A list of locations that is read as one table.

use std::collections::HashSet;

use lakerace_io::{Error, ErrorKind, Job, Location, Object, Pipe, Result};

use super::tables_on_the_way::check_list;
use super::{FileSource, FoundLocation, different_formats, find_named, is_pattern, missing, single};
use crate::database::shown;
use crate::options::ReadOptions;
use crate::resolve::{LocationKind, parse_path};

/// Files and folders of one store, by their literal names, in the order of their rows.
pub(crate) struct ListedLocations(Vec<Location>);

impl ListedLocations {
    /// Parses the names of a list. Nothing is opened.
    ///
    /// # Errors
    /// `Usage` for a location that is no file or folder, for one of another store, and for one that the list has twice.
    pub(crate) fn parse(names: &[String]) -> Result<Self> {
        let mut locations: Vec<Location> = Vec::with_capacity(names.len());
        let mut seen = HashSet::with_capacity(names.len());
        for name in names {
            let kind = match LocationKind::classify(name) {
                LocationKind::Table { .. } => Some("a Delta table"),
                LocationKind::Tpch => Some("a generated table"),
                LocationKind::Database(_) => Some("a database"),
                LocationKind::Path if Pipe::is_named(name) => Some("a pipe"),
                LocationKind::Path => None,
            };
            if let Some(kind) = kind {
                return Err(not_listed(kind, &shown(name)));
            }
            let location = parse_path(name)?;
            if let Some(first) = locations.first().filter(|first| !first.is_in_store_of(&location)) {
                let message = format!("the locations of a list are in one store, but the first is {}", first.as_str());
                return Err(Error::usage(message)
                    .at(location.as_str())
                    .advice("read the locations of each store by themselves"));
            }
            if !seen.insert(location.canonical()) {
                return Err(twice(location.as_str()));
            }
            locations.push(location);
        }
        Ok(Self(locations))
    }

    /// Finds the files. A name with a known ending in an object store is believed to be that of a file.
    pub(crate) fn find(&self, options: &ReadOptions, job: &Job) -> Result<FileSource> {
        self.joined(options, |location| find_named(location, options, job))
    }

    /// Finds the files like [`Self::find`], and asks the store for each.
    pub(crate) fn find_asking(&self, options: &ReadOptions, job: &Job) -> Result<FileSource> {
        self.joined(options, |location| match find_named(location, options, job)? {
            FoundLocation::Files(files) if files.objects.iter().all(|object| object.size_bytes.is_none()) => {
                asked(location, files, options, job)
            }
            found => Ok(found),
        })
    }

    fn joined(&self, options: &ReadOptions, find: impl Fn(&Location) -> Result<FoundLocation>) -> Result<FileSource> {
        let mut all: Option<FileSource> = None;
        let mut urls = HashSet::new();
        for location in &self.0 {
            let files = match find(location).map_err(|error| literally(error, location))? {
                FoundLocation::Files(files) => files,
                FoundLocation::DeltaTable => return Err(not_listed("a Delta table", location.as_str())),
                FoundLocation::Nothing => return Err(missing(location)),
            };
            // A folder of the list may have a file that the list names, too.
            if let Some(double) = files.objects.iter().map(Object::url).find(|url| !urls.insert(url.clone())) {
                return Err(twice(&double));
            }
            match &mut all {
                None => all = Some(files),
                Some(all) if all.format == files.format => {
                    all.objects.extend(files.objects);
                    all.root_bytes.extend(files.root_bytes);
                }
                Some(all) => {
                    let url = |files: &FileSource| files.objects.first().map(Object::url).unwrap_or_default();
                    return Err(different_formats(&url(all), &url(&files)).advice("list the files of one format"));
                }
            }
        }
        let empty = || Error::usage("the list of locations is empty").advice("name at least one file or folder");
        let all = all.ok_or_else(empty)?;
        check_list(&all, options).map_err(|error| error.at(self.0.first().map_or("", Location::as_str)))?;
        Ok(all)
    }
}

/// The files of a name that was believed to be that of a file.
fn asked(location: &Location, files: FileSource, options: &ReadOptions, job: &Job) -> Result<FoundLocation> {
    if !location.can_list() {
        return Ok(FoundLocation::Files(files));
    }
    let (store, path) = location.open(&options.storage, job)?;
    match store.stat(&path)? {
        Some(info) => {
            let object = Object { size_bytes: Some(info.size_bytes), e_tag: info.e_tag, ..store.object(path) };
            single(object, Some(files.format)).map(FoundLocation::Files)
        }
        None => FileSource::of_folder(location, options, Some(files.format), job),
    }
}

/// The error of a name that could be meant as a pattern says that it is none.
fn literally(error: Error, location: &Location) -> Error {
    match error.kind() == ErrorKind::NotFound && is_pattern(location.as_str()) {
        true => error.advice("names in a list are literal: give a pattern alone, without a list"),
        false => error,
    }
}

fn not_listed(kind: &str, place: &str) -> Error {
    Error::usage(format!("{kind} can't be one of several locations"))
        .at(place)
        .advice("a list has files and folders; read this location by itself")
}

fn twice(place: &str) -> Error {
    Error::usage("the list names it twice").at(place).advice("name each file once")
}
