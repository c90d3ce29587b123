//! From a location's name to a source.

use std::sync::Arc;

use arrow::datatypes::{Schema, SchemaRef};
use lakerace_delta::Snapshot;
use lakerace_format::predicate::ColumnRef;
use lakerace_format::{
    Batches, ColumnOwners, ColumnUnion, Constants, Expr, Extremes, FileFormat, FilePlan, InputFile, OpenOptions,
    Predicate, ReadPlan, ReadRequest, Source, SourceInfo, UnitPlan,
};
use lakerace_io::option::{FILE_NAME_COLUMN, UNION_COLUMNS};
use lakerace_io::{Error, ErrorKind, Job, Location, Object, PathProfile, Result, Wanted};

use crate::files::{FileSource, FoundLocation, ListedLocations, find_files};
use crate::hive::partitions;
use crate::options::ReadOptions;
use crate::resolve::{LocationKind, parse_path};
use crate::{database, delta, piped, tpch};

/// Files that are read as one table, those that their partition excludes left out.
struct FileDataset {
    inner: Arc<dyn Source>,
    /// Files that were not opened, as they stand in plans.
    pruned: Vec<FilePlan>,
}

/// The reason why a version of files is refused.
const FILES_HAVE_NO_VERSIONS: &str = "files have none";

/// An opened location.
pub(crate) struct OpenedLocation {
    pub source: Arc<dyn Source>,
    /// The version of the Delta table that it is.
    pub version: Option<Snapshot>,
}

impl OpenedLocation {
    fn files(source: Arc<dyn Source>) -> Self {
        Self { source, version: None }
    }

    fn table(location: &Location, options: &ReadOptions, job: &Job) -> Result<Self> {
        let source = delta::open(location, options, job)?;
        if let Some(id) = &options.table_id {
            source.snapshot().check_table_id(id)?;
        }
        let version = Some(source.snapshot().clone());
        Ok(Self { source: Arc::new(source), version })
    }
}

/// Opens all files of a location; the source knows all of their columns, whichever are read.
pub(crate) fn open_whole(location: &str, options: &ReadOptions, job: &Job) -> Result<OpenedLocation> {
    open(location, options, (None, None), job)
}

/// The columns of a source that a read needs (`None`: all), and its filter.
pub(crate) type ReadPart<'a> = (Option<&'a [String]>, Option<&'a Expr>);

/// Opens a location for a read of some columns with a filter: files that the filter excludes by their partition are not
/// opened, and the source may lack other columns. The columns in `options` do not matter.
pub(crate) fn open(location: &str, options: &ReadOptions, part: ReadPart<'_>, job: &Job) -> Result<OpenedLocation> {
    if let Some(names) = options.list_of(location)? {
        return open_list(&ListedLocations::parse(names)?, options, part, job);
    }
    match LocationKind::classify(location) {
        LocationKind::Table { folder } => OpenedLocation::table(&parse_path(folder)?, options, job),
        LocationKind::Tpch => tpch::open(location, options, job).map(|source| OpenedLocation::files(Arc::new(source))),
        LocationKind::Database(system) => database::open(system, location, options, job).map(OpenedLocation::files),
        LocationKind::Path => open_path(location, options, part, job),
    }
}

fn open_list(list: &ListedLocations, options: &ReadOptions, part: ReadPart<'_>, job: &Job) -> Result<OpenedLocation> {
    let files = list.find(options, job)?;
    if let Some(first) = files.objects.first() {
        options.refuse_version(&first.url(), FILES_HAVE_NO_VERSIONS)?;
    }
    match open_files(files, options, part, job) {
        // A name in an object store may be that of a folder: no request was spent to find out.
        Err(error) if error.kind() == ErrorKind::NotFound => {
            open_files(list.find_asking(options, job)?, options, part, job).map(OpenedLocation::files)
        }
        other => other.map(OpenedLocation::files),
    }
}

fn open_path(location: &str, options: &ReadOptions, part: ReadPart<'_>, job: &Job) -> Result<OpenedLocation> {
    if let Some(files) = piped::find(location, options, job)? {
        options.refuse_version(location, FILES_HAVE_NO_VERSIONS)?;
        return open_files(files, options, part, job).map(OpenedLocation::files);
    }
    let location = parse_path(location)?;
    let files = match find_files(&location, options, job)? {
        FoundLocation::Files(files) => files,
        FoundLocation::DeltaTable => return OpenedLocation::table(&location, options, job),
        FoundLocation::Nothing => return Err(Error::not_found("there are no data files").at(location.as_str())),
    };
    options.refuse_version(location.as_str(), FILES_HAVE_NO_VERSIONS)?;
    let format = files.format;
    match open_files(files, options, part, job) {
        Err(error) if error.kind() == ErrorKind::NotFound && location.can_list() => {
            // The name of a file in an object store may be that of a folder: no request was spent to find out.
            match FileSource::of_folder(&location, options, Some(format), job)? {
                FoundLocation::Files(files) => open_files(files, options, part, job).map(OpenedLocation::files),
                FoundLocation::DeltaTable => OpenedLocation::table(&location, options, job),
                FoundLocation::Nothing => Err(error),
            }
        }
        other => other.map(OpenedLocation::files),
    }
}

fn open_files(files: FileSource, options: &ReadOptions, part: ReadPart<'_>, job: &Job) -> Result<Arc<dyn Source>> {
    let (_, filter) = part;
    let constants = partitions(&files, options.file_name_column.as_deref())?;
    let mut conditions = partition_conditions(filter, &constants);
    // Excluded files also determine types, so that the types do not depend on the filter.
    let all = if conditions.is_empty() { Vec::new() } else { files.objects.clone() };
    let inputs = files.objects.into_iter().zip(constants);
    let inputs: Vec<_> = inputs.map(|(object, constants)| InputFile { constants, ..InputFile::from(object) }).collect();
    let columns = read_columns(part);
    let open = |kept, first| open_format(files.format, kept, (&all, first, columns.as_deref()), options, job);
    let (kept, mut pruned) = prune(&inputs, &conditions);
    let file_name = options.file_name_column.as_ref();
    let is_name = |column: &ColumnRef| Some(&column.path[0]) == file_name;
    // A condition on the file's name needs no other file, unless those that it leaves have columns of folders.
    let first = all.first().filter(|_| !conditions.iter().flat_map(Predicate::column_refs).all(is_name));
    let mut inner = open(kept.clone(), first)?;
    if first.is_none() && !pruned.is_empty() && inner.column_owners() != ColumnOwners::default() {
        inner = open(kept, all.first())?;
    }
    let owners = inner.column_owners();
    // The values in a file may differ from its folder's name: the source judges all files by the values.
    let is_of_folders =
        |condition: &Predicate| condition.column_refs().all(|column| !owners.files.contains(&column.path[0]));
    if !conditions.iter().all(is_of_folders) {
        conditions.retain(is_of_folders);
        let (kept, still_pruned) = prune(&inputs, &conditions);
        (inner, pruned) = (open(kept, all.first())?, still_pruned);
    }
    let owners = inner.column_owners();
    if let Some(name) = file_name.filter(|name| owners.files.contains(*name) || owners.places.contains_key(*name)) {
        return Err(Error::usage(format!("the files have a column {name:?} themselves"))
            .at(inputs.first().map_or_else(String::new, |input| input.object.url()))
            .advice(format!("give {FILE_NAME_COLUMN} another name")));
    }
    for (name, url) in &owners.places {
        job.warn(&format!(
            "{url} has a column {name:?}, which the first file lacks: its values are those in the names of folders"
        ));
    }
    if pruned.is_empty() {
        return Ok(inner);
    }
    let pruned = pruned.into_iter().map(|(file, reason)| pruned_plan(&file, reason)).collect();
    Ok(Arc::new(FileDataset { inner, pruned }))
}

/// The files that may have rows for which these conditions on their folders are true, at least one, for its schema, and
/// the others, each with the reason.
fn prune(inputs: &[InputFile], conditions: &[Predicate]) -> (Vec<InputFile>, Vec<(InputFile, String)>) {
    let (mut kept, mut pruned) = (Vec::with_capacity(inputs.len()), Vec::new());
    for input in inputs {
        let constants = input.constants.as_ref();
        match constants.and_then(|known| conditions.iter().find_map(|p| p.can_match(known.as_ref()).err())) {
            None => kept.push(input.clone()),
            Some(reason) => pruned.push((input.clone(), reason)),
        }
    }
    if kept.is_empty() && !pruned.is_empty() {
        kept.push(pruned.remove(0).0);
    }
    (kept, pruned)
}

/// The columns of a read and of its filter; `None`: all.
fn read_columns((columns, filter): ReadPart<'_>) -> Option<Vec<String>> {
    let mut columns = columns?.to_vec();
    if let Some(filter) = filter {
        filter.visit_columns(&mut |name| columns.push(name.to_owned()));
    }
    Some(columns)
}

/// Opens files. Text has the columns of all files, whether they are read or not; of none in `all`, those of the files.
fn open_format(
    format: &FileFormat,
    files: Vec<InputFile>,
    (all, first, columns): (&[Object], Option<&Object>, Option<&[String]>),
    options: &ReadOptions,
    job: &Job,
) -> Result<Arc<dyn Source>> {
    let union = options.column_union;
    if union == ColumnUnion::Any && format.is_text() {
        let message = "text files can only be read together if they have the same columns";
        return Err(Error::unsupported(message)
            .at(files.first().map_or_else(String::new, |file| file.object.url()))
            .advice(format!("omit {UNION_COLUMNS}")));
    }
    let (csv, parquet, orc, excel) = (&options.csv, options.parquet, &options.orc, &options.excel);
    let options = OpenOptions { all, first, csv, parquet, orc, excel, union, columns };
    (format.open)(files, &options, job)
}

/// The parts of a filter (joined by AND) that use partition columns only, and fit the types of the folders' names.
///
/// The source judges the others: those with other columns, and those that fit the type that a column has in the files.
fn partition_conditions(filter: Option<&Expr>, constants: &[Option<Arc<Constants>>]) -> Vec<Predicate> {
    let (Some(filter), Some(Some(first))) = (filter, constants.first()) else { return Vec::new() };
    let schema = Schema::new(first.fields().clone());
    let parts = match filter {
        Expr::And(parts) => parts.as_slice(),
        other => std::slice::from_ref(other),
    };
    parts.iter().filter_map(|part| Predicate::bind(part, &schema).ok()).collect()
}

fn pruned_plan(file: &InputFile, reason: String) -> FilePlan {
    FilePlan {
        url: file.object.url(),
        size_bytes: file.object.size_bytes.unwrap_or(0),
        e_tag: file.object.e_tag.clone(),
        units: vec![UnitPlan { pruned: Some(reason), ..UnitPlan::default() }],
    }
}

impl FileDataset {
    /// The plan without the files that were not opened.
    fn opened(&self, plan: &ReadPlan) -> ReadPlan {
        let mut plan = plan.clone();
        plan.files.retain(|file| !self.pruned.iter().any(|pruned| pruned.url == file.url));
        plan
    }
}

impl Source for FileDataset {
    fn schema(&self) -> SchemaRef {
        self.inner.schema()
    }

    fn info(&self) -> SourceInfo {
        let opened = self.inner.info();
        SourceInfo {
            rows: None,
            units: None,
            files: opened.files + self.pruned.len() as u64,
            bytes: opened.bytes + self.pruned.iter().map(|f| f.size_bytes).sum::<u64>(),
            ..opened
        }
    }

    fn plan(&self, request: &ReadRequest) -> Result<ReadPlan> {
        let mut plan = self.inner.plan(request)?;
        // After the others: requests name files by their number in the plan.
        plan.files.extend(self.pruned.iter().cloned());
        Ok(plan)
    }

    fn read(&self, plan: &ReadPlan) -> Result<Batches> {
        self.inner.read(&self.opened(plan))
    }

    fn read_compact(&self, plan: &ReadPlan, columns: &[String]) -> Result<Batches> {
        self.inner.read_compact(&self.opened(plan), columns)
    }

    fn leaves_out_rows(&self) -> bool {
        self.inner.leaves_out_rows()
    }

    fn column_owners(&self) -> ColumnOwners {
        self.inner.column_owners()
    }

    fn extremes(&self, column: &str) -> Result<Option<Extremes>> {
        if self.pruned.is_empty() { self.inner.extremes(column) } else { Ok(None) }
    }

    fn wanted(&self, plan: &ReadPlan) -> Result<Option<(Vec<Wanted>, PathProfile)>> {
        self.inner.wanted(&self.opened(plan))
    }
}
