//! From a location to the files after it.

mod foreign_tables;
mod listed;
mod tables_on_the_way;

use std::collections::HashSet;
use std::io::ErrorKind as Io;

use lakerace_delta::is_local_table;
use lakerace_format::folder::{list, list_unless};
use lakerace_format::suggestions::listed;
use lakerace_format::{DetectedContent, FileFormat, PACKED_FRONT_BYTES};
use lakerace_io::object_store::path::Path;
use lakerace_io::option::{INPUT_FORMAT, OUTPUT_FORMAT};
use lakerace_io::{Error, Glob, Job, JobStore, Location, Object, ObjectInfo, Result, is_hidden_name};

use self::foreign_tables::ForeignTables;
pub(crate) use self::listed::ListedLocations;
use self::tables_on_the_way::TablesOnTheWay;
use crate::delta;
use crate::options::ReadOptions;

/// The kind of a location.
#[derive(Debug)]
pub(crate) enum FoundLocation {
    /// Files.
    Files(FileSource),
    /// A folder with the log of a Delta table.
    DeltaTable,
    /// A folder without data files, or none at all.
    Nothing,
}

/// Files of one format, in the order of their paths, or of the list that names them.
#[derive(Debug)]
pub(crate) struct FileSource {
    pub format: &'static FileFormat,
    pub objects: Vec<Object>,
    /// For each object, the bytes of its path before the names of folders that may have columns: those of the folder that was
    /// asked for, or of the part of a pattern before its first wildcard. A single file's are those of its own folder.
    pub root_bytes: Vec<usize>,
}

/// Finds the files of a location: a file, a folder of files, or a pattern.
pub(crate) fn find_files(location: &Location, options: &ReadOptions, job: &Job) -> Result<FoundLocation> {
    let (store, path) = location.open(&options.storage, job)?;
    let is_there = || store.has_local_files() && std::fs::exists(format!("/{path}")).is_ok_and(|exists| exists);
    if is_pattern(path.as_ref()) && !is_there() {
        return of_pattern(&store, &path, options).map(FoundLocation::Files).map_err(|e| e.at(location.as_str()));
    }
    find_named(location, options, job)
}

/// Finds the files of a location whose name is literal.
fn find_named(location: &Location, options: &ReadOptions, job: &Job) -> Result<FoundLocation> {
    let (store, path) = location.open(&options.storage, job)?;
    let place = location.as_str();
    let on_disk = store.has_local_files().then(|| std::fs::metadata(format!("/{path}")));
    let named = options.format.or_else(|| FileFormat::of_file_name(path.as_ref()));
    let is_remote = on_disk.is_none();
    let is_folder = match on_disk {
        Some(Ok(metadata)) => metadata.is_dir(),
        Some(Err(e)) if matches!(e.kind(), Io::NotFound | Io::NotADirectory) => {
            return Err(missing(location));
        }
        Some(Err(e)) => return Err(Error::from(e).at(place)),
        // The name of a file is believed: asking the store would cost a request for each scan.
        None => {
            place.ends_with('/')
                || path.is_root()
                || location.can_list() && FileFormat::of_file_name(path.as_ref()).is_none()
        }
    };
    if !is_folder {
        return single(store.object(path), named).map(FoundLocation::Files);
    }
    match FileSource::of_folder(location, options, None, job)? {
        FoundLocation::Nothing => {}
        found => return Ok(found),
    }
    match (is_remote, place.ends_with('/') || path.is_root()) {
        // Without an ending it may still be a file.
        (true, false) => match store.stat(&path)? {
            Some(_) => single(store.object(path.clone()), named).map(FoundLocation::Files),
            None => Err(missing(location)),
        },
        _ => Err(Error::not_found("the folder contains no data files")
            .at(place)
            .advice("name a folder with files of a known ending; names that start with ., _ or ~$ are skipped")),
    }
}

impl FileSource {
    /// A single file, whose folders have no columns.
    pub(crate) fn single(format: &'static FileFormat, object: Object) -> Self {
        let root_bytes = object.path.as_ref().rfind('/').unwrap_or(0);
        Self { format, objects: vec![object], root_bytes: vec![root_bytes] }
    }

    /// The files of a folder, including its subfolders. Hidden names are skipped. Files without a known extension are read
    /// as `named`.
    pub(crate) fn of_folder(
        location: &Location,
        options: &ReadOptions,
        named: Option<&'static FileFormat>,
        job: &Job,
    ) -> Result<FoundLocation> {
        let (store, path) = location.open(&options.storage, job)?;
        if is_local_table(&store, &path) {
            return Ok(FoundLocation::DeltaTable);
        }
        let folder = path.clone();
        let Some(found) = list_unless(&store, &path, move |object| delta::is_log_of(&folder, object))? else {
            return Ok(FoundLocation::DeltaTable);
        };
        let root = path.as_ref();
        let (tables, foreign) = (TablesOnTheWay::new(&found, root), ForeignTables::new(&found));
        let below = |info: &ObjectInfo| info.path.as_ref()[root.len()..].trim_start_matches('/').to_owned();
        let found: Vec<ObjectInfo> = found.into_iter().filter(|info| !is_hidden(&below(info))).collect();
        let found = found
            .into_iter()
            .filter(|info| info.size_bytes > 0 || FileFormat::of_file_name(info.path.as_ref()).is_some());
        let found = store.without_doubles(&path, found.collect());
        tables.check(&store, &found, options).map_err(|e| e.at(location.as_str()))?;
        foreign.check(&store, &found, options).map_err(|e| e.at(location.as_str()))?;
        let files = of_one_format(&store, found, root, options.format, named);
        Ok(files.map_err(|e| e.at(location.as_str()))?.map_or(FoundLocation::Nothing, FoundLocation::Files))
    }
}

/// Makes the list of a single file. Where its name says no format, its first bytes may.
fn single(mut object: Object, named: Option<&'static FileFormat>) -> Result<FileSource> {
    let format = match named {
        Some(format) => format,
        None => format_of_content(&mut object)?,
    };
    Ok(FileSource::single(format, object))
}

/// The format that the first bytes of a file identify. Text that is not JSON identifies none: it may be of any kind.
fn format_of_content(object: &mut Object) -> Result<&'static FileFormat> {
    let url = object.url();
    if object.size_bytes.is_none() {
        let tail = object.read_tail(1).map_err(|error| error.at(&url))?;
        (object.size_bytes, object.e_tag) = (Some(tail.size_bytes), object.e_tag.take().or(tail.e_tag));
    }
    let bytes = object.size_bytes.unwrap_or(0).min(PACKED_FRONT_BYTES as u64);
    let front = object.read_range(0..bytes).map_err(|error| error.at(&url))?;
    match DetectedContent::detect(&front) {
        DetectedContent::Text | DetectedContent::Unknown => Err(unknown_format(&url)),
        content => content.format(None).map_err(|error| error.at(&url)),
    }
}

/// The error of a source whose name and first bytes say no format.
fn unknown_format(place: &str) -> Error {
    let advice = format!("{}, or set the format with {INPUT_FORMAT}", known_endings(|_| true));
    Error::usage("the name does not give the format").at(place).advice(advice)
}

/// The error of a target whose name says no format.
pub(crate) fn unknown_target_format(place: &str) -> Error {
    let folder = place.trim_end_matches('/');
    let advice = if folder.len() < place.len() {
        format!("set the format of the folder's files with {OUTPUT_FORMAT}, or write delta:{folder} for a Delta table")
    } else {
        format!(
            "write delta:{folder} for a Delta table, or {folder}/ for a folder of files; {}, or set the format with \
             {OUTPUT_FORMAT}",
            known_endings(|format| !format.is_read_only)
        )
    };
    Error::usage("the name does not give the format").at(place).advice(advice)
}

fn known_endings(is_known: fn(&FileFormat) -> bool) -> String {
    let endings = |is_text: bool| {
        let formats = FileFormat::all().filter(|format| format.is_text() == is_text && is_known(format));
        listed(formats.flat_map(|format| format.endings).map(|ending| format!(".{ending}")), "and")
    };
    let (columnar, text) = (endings(false), endings(true));
    format!("known endings of files are {columnar}, and {text}, which may have .gz, .zst, .bz2, .xz or .zip after them")
}

/// The error of a name that nothing has.
fn missing(location: &Location) -> Error {
    let advice = match location.local_path() {
        Some(path) => format!("check the name: the whole path is {}", path.display()),
        None => "check the name, and the rights to list the store".to_owned(),
    };
    Error::not_found("no such file or folder exists").at(location.as_str()).advice(advice)
}

fn is_hidden(below: &str) -> bool {
    below.split('/').any(is_hidden_name)
}

fn is_pattern(path: &str) -> bool {
    path.contains(['*', '?', '{', '['])
}

fn of_one_format(
    store: &JobStore,
    found: Vec<ObjectInfo>,
    root: &str,
    said: Option<&'static FileFormat>,
    named: Option<&'static FileFormat>,
) -> Result<Option<FileSource>> {
    let Some(first) = found.first() else { return Ok(None) };
    let of = |info: &ObjectInfo| said.or_else(|| FileFormat::of_file_name(info.path.as_ref())).or(named);
    let one = found.iter().find_map(|info| of(info).map(|format| (info, format)));
    let Some((example, format)) = one else { return Err(unknown_format(&store.url(&first.path))) };
    for info in &found {
        match of(info) {
            Some(other) if other == format => {}
            Some(_) => {
                let (one, two) = (store.url(&example.path), store.url(&info.path));
                return Err(different_formats(&one, &two));
            }
            None => {
                return Err(unknown_format(&store.url(&info.path))
                    .advice("name the data files with a pattern such as folder/*.parquet"));
            }
        }
    }
    store.check_regular(&found)?;
    let objects = found.into_iter().map(|info| Object {
        size_bytes: Some(info.size_bytes),
        e_tag: info.e_tag,
        ..store.object(info.path)
    });
    let objects: Vec<Object> = objects.collect();
    let root_bytes = vec![root.len(); objects.len()];
    Ok(Some(FileSource { format, objects, root_bytes }))
}

/// The files that a pattern matches, and those in folders that it matches: `*` and `?` within a name, `**` across
/// folders, `{a,b}` either, `[a-z]` one of.
fn of_pattern(store: &JobStore, path: &Path, options: &ReadOptions) -> Result<FileSource> {
    let pattern = path.as_ref();
    let wildcard = pattern.find(['*', '?', '{', '[']).unwrap_or(pattern.len());
    let root = pattern[..wildcard].rsplit_once('/').map_or("", |(root, _)| root);
    let glob = Glob::parse(pattern, false)?;
    let shows_hidden = pattern.rsplit('/').next().is_some_and(is_hidden_name);
    let folder = Path::parse(root).map_err(|e| Error::usage("not a path").because(e))?;
    let is_wanted = |info: &ObjectInfo| {
        let path = info.path.as_ref();
        let below = path[root.len()..].trim_start_matches('/');
        let folders = if shows_hidden { below.rsplit_once('/').map_or("", |(folders, _)| folders) } else { below };
        !is_hidden(folders) && matches(&glob, path, root.len())
    };
    let found = list(store, &folder)?;
    let (tables, foreign) = (TablesOnTheWay::new(&found, root), ForeignTables::new(&found));
    let found = store.without_doubles(&folder, found.into_iter().filter(is_wanted).collect());
    tables.check(store, &found, options)?;
    foreign.check(store, &found, options)?;
    if let Some(name) = missing_name(pattern, &found) {
        let message = format!("no file matches {}, which the pattern names", store.url(&Path::from(name.as_str())));
        return Err(Error::not_found(message).advice("omit the name from the braces, or correct it"));
    }
    let nothing = || Error::not_found("no file matches the pattern");
    of_one_format(store, found, root, options.format, None)?.ok_or_else(nothing)
}

/// The first name of a pattern without wildcards, `{a,b}.csv`, that no file has, nor a folder on its way.
fn missing_name(pattern: &str, found: &[ObjectInfo]) -> Option<String> {
    let names = Glob::names(pattern)?;
    let with_folders = |path: &str| {
        let folders = path.match_indices('/').map(|(at, _)| path[..at].to_owned()).collect::<Vec<_>>();
        folders.into_iter().chain([path.to_owned()])
    };
    let known: HashSet<String> = found.iter().flat_map(|info| with_folders(info.path.as_ref())).collect();
    names.into_iter().find(|name| !known.contains(name.trim_end_matches('/')))
}

/// The error of files of two formats.
fn different_formats(one: &str, two: &str) -> Error {
    Error::invalid(format!("files of different formats: {one} and {two}"))
        .advice("name the files of one format with a pattern such as folder/*.parquet")
}

/// Returns true if the pattern matches the path or a folder on its way, below the pattern's root.
fn matches(glob: &Glob, path: &str, root_len: usize) -> bool {
    glob.matches(path) || path.match_indices('/').any(|(at, _)| at > root_len && glob.matches(&path[..at]))
}
