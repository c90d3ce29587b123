//! From a target's name to a sink.

mod examine;

use arrow::datatypes::SchemaRef;
use lakerace_database::{BatchRows, OnRejected};
use lakerace_delta::{DELTA, Evolve, check_outside_tables, is_table};
use lakerace_format::folder::{FolderSink, MakeSink, PartitionColumns, PartitionedSink};
use lakerace_format::schema_text::print_schema;
use lakerace_format::{
    FileFormat, ReadPlan, Sink, WriteOptions, check_read_back, read_back_schema, refuse_to_write_duplicates,
};
use lakerace_io::object_store::path::Path;
use lakerace_io::option::{
    AUTO_COMPACT, BATCH_ROWS, EVOLVE, KEEP_NOT_NULL, MODE, OUTPUT_FORMAT, PARTITION_BY, REPLACE_WHERE, RESUME,
    TABLE_PROPERTY, WHERE,
};
use lakerace_io::{Deferred, Error, ErrorKind, IfExists, Job, JobStore, Output, Result, StorageOptions};

use crate::column_item::ColumnItem;
use crate::database::{DatabaseTarget, shown};
use crate::delta::TableTarget;
use crate::files::unknown_target_format;
use crate::new_place::{check_new_database, check_new_file};
use crate::option_scope::{PlaceKind, check_write_scope};
use crate::options::{CopyOptions, ReadOptions};
use crate::piped::StreamTarget;
use crate::replaced_source::ReplacedPlace;
use crate::resolve::{LocationKind, parse_path};
use crate::{WriteMode, tpch};

pub(crate) use self::examine::ExaminedTarget;

/// The target of a copy.
pub(crate) enum CopyTarget {
    /// A file or a folder of them.
    Files(FileTarget),
    /// A Delta table.
    Table(TableTarget),
    /// Standard output, a named pipe or a device.
    Stream(StreamTarget),
    /// A collection, an index or a table of a database.
    Database(DatabaseTarget),
}

impl CopyTarget {
    /// Resolves a name: a Delta table where the name says so or the location is one, a folder where the name ends in
    /// `/` or the location is one, else a file. Fails early where the copy could not be finished.
    pub(crate) fn resolve(target: &str, options: &CopyOptions, job: &Job) -> Result<Self> {
        if matches!(options.mode, WriteMode::Upsert | WriteMode::Delete) {
            let place = match LocationKind::classify(target) {
                LocationKind::Table { .. } => TargetKind::Delta,
                LocationKind::Database(_) => TargetKind::Database,
                LocationKind::Tpch | LocationKind::Path => TargetKind::Files,
            };
            options.load.check(place, options.mode)?;
        }
        let resolved = Self::find(target, options, job)?;
        options.load.dead_letter.as_deref().map_or(Ok(()), |file| check_new_file(file, job))?;
        options.load.check(resolved.kind(), options.mode)?;
        resolved.check_replaced(options)?;
        resolved.check_scope(options)?;
        Ok(resolved)
    }

    /// Refuses a condition for the rows to replace where it can't be followed.
    fn check_replaced(&self, options: &CopyOptions) -> Result<()> {
        if options.replace_where.is_none() {
            return Ok(());
        }
        let refuse = |why: &str, advice: String| {
            Err(Error::usage(format!("{REPLACE_WHERE}: {why}")).at(self.shown()).advice(advice))
        };
        if self.kind() != TargetKind::Delta {
            let advice = format!("omit it, or name a Delta table; {WHERE} filters the source");
            return refuse("only Delta tables can replace some of their rows", advice);
        }
        if options.mode != WriteMode::Overwrite {
            let advice = format!("use it with {}; {WHERE} filters the source", MODE.to("overwrite"));
            return refuse("it says which rows an overwrite replaces", advice);
        }
        let load = &options.load;
        let in_parts = [(&BATCH_ROWS, load.batch_rows != BatchRows::All), (&RESUME, load.resume)];
        match in_parts.into_iter().find(|(_, is_given)| *is_given) {
            None => Ok(()),
            Some((option, _)) => refuse("it replaces rows in one commit", format!("omit {option}")),
        }
    }

    /// The kind of the place.
    pub(crate) fn kind(&self) -> TargetKind {
        match self {
            Self::Files(_) => TargetKind::Files,
            Self::Table(_) => TargetKind::Delta,
            Self::Stream(_) => TargetKind::Stream,
            Self::Database(_) => TargetKind::Database,
        }
    }

    fn find(target: &str, options: &CopyOptions, job: &Job) -> Result<Self> {
        match LocationKind::classify(target) {
            LocationKind::Table { folder } => TableTarget::new(&parse_path(folder)?, options, job).map(Self::Table),
            LocationKind::Tpch => Err(tpch::refused_target(target)),
            LocationKind::Database(system) => {
                refuse_table_options(system.name, options)?;
                check_new_database(system, target, job)?;
                match options.format {
                    None => Ok(Self::Database(DatabaseTarget::new(system, target))),
                    Some(_) => {
                        Err(Error::usage("a database has its own format").advice(format!("omit {OUTPUT_FORMAT}")))
                    }
                }
            }
            LocationKind::Path => Self::find_path(target, options, job),
        }
    }

    fn find_path(target: &str, options: &CopyOptions, job: &Job) -> Result<Self> {
        if let Some(stream) = StreamTarget::resolve(target, options.format, job)? {
            refuse_table_options(target, options)?;
            return Ok(Self::Stream(stream));
        }
        let location = parse_path(target)?;
        location.check_writable()?;
        let (store, path) = location.open(&options.read.storage, job)?;
        let kind = match target.ends_with('/') || path.is_root() || store.has_local_files() {
            false => FolderKind::below(&store, &path)?,
            true if is_table(&store, &path)? => FolderKind::Table,
            true => FolderKind::Absent,
        };
        // A file that is added to a table's folder would be no part of the table; one replaced there would break it.
        if kind == FolderKind::Table {
            return TableTarget::new(&location, options, job).map(Self::Table);
        }
        check_outside_tables(&store, &path)?;
        // Files have folders for the values of columns, too.
        refuse_table_options(location.as_str(), &CopyOptions { partition_by: Vec::new(), ..options.clone() })?;
        FileTarget::resolve(target, kind != FolderKind::Absent, options, job).map(Self::Files)
    }

    /// Returns true if rows may be visible that no checkpoint has acknowledged.
    pub(crate) fn shows_rows_at_once(&self) -> bool {
        matches!(self, Self::Database(database) if database.shows_rows_at_once())
    }

    /// The format of its files, where it has been said.
    pub(crate) fn format(&self) -> Option<&'static FileFormat> {
        match self {
            Self::Files(files) => files.format,
            Self::Stream(stream) => stream.format(),
            Self::Table(_) | Self::Database(_) => None,
        }
    }

    /// Its location, as a source is named.
    pub(crate) fn location(&self) -> String {
        match self {
            Self::Files(files) => files.place.clone(),
            Self::Table(table) => table.location(),
            Self::Stream(_) => String::new(),
            Self::Database(database) => database.location().to_owned(),
        }
    }

    /// Its location for display, without a password.
    pub(crate) fn shown(&self) -> String {
        match self {
            Self::Stream(stream) => stream.name().to_owned(),
            Self::Files(_) | Self::Table(_) | Self::Database(_) => shown(&self.location()),
        }
    }

    /// Its kind, for the scope of options; `None` if its format is that of the source, which is not known yet.
    pub(crate) fn scope(&self) -> Option<PlaceKind> {
        match self {
            Self::Files(files) if files.is_folder => files.format.map(PlaceKind::Folder),
            Self::Files(files) => files.format.map(PlaceKind::File),
            Self::Stream(stream) => stream.format().map(PlaceKind::File),
            Self::Table(_) => Some(PlaceKind::Table(&DELTA)),
            Self::Database(_) => Some(PlaceKind::Database),
        }
    }

    /// Refuses options of writing that do not apply to it.
    pub(crate) fn check_scope(&self, options: &CopyOptions) -> Result<()> {
        let Some(kind) = self.scope() else { return Ok(()) };
        // Rows that are sorted on their way take memory for each kind of target.
        let memory_bytes = options.write.memory_bytes.filter(|_| options.read.order_by.is_none());
        check_write_scope(&WriteOptions { memory_bytes, ..options.write.clone() }, kind, &self.shown())
    }

    /// The options with which rows of a schema are read back from it.
    pub(crate) fn read_back(&self, schema: &SchemaRef, options: &CopyOptions) -> ReadOptions {
        let mut read = ReadOptions {
            // Of a table whose other rows are kept, those that were replaced.
            filter: options.replace_where.clone(),
            storage: options.read.storage.clone(),
            ..ReadOptions::default()
        };
        match self {
            Self::Files(files) => {
                read.format = files.format;
                if files.format.is_some_and(FileFormat::is_text) {
                    read.csv = options.write.csv.clone();
                    read.csv.schema = Some(print_schema(&read_back_schema(schema)));
                }
            }
            Self::Table(_) | Self::Database(_) | Self::Stream(_) => {
                read.columns = Some(ColumnItem::named(schema.fields().iter().map(|field| field.name())));
            }
        }
        read
    }

    /// Names the load, and sets the receiver of rejected rows.
    pub(crate) fn name_load(&mut self, load_name: Option<String>, on_rejected: OnRejected) {
        match self {
            Self::Database(database) => database.name_load(load_name, on_rejected),
            Self::Table(table) => table.name_load(load_name),
            Self::Files(_) | Self::Stream(_) => {}
        }
    }

    /// Takes the format of the source, unless another one was set.
    pub(crate) fn take_format(&mut self, format: Option<&'static FileFormat>) -> Result<()> {
        match self {
            Self::Files(files) => files.take_format(format),
            Self::Stream(stream) => stream.take_format(format),
            Self::Table(_) | Self::Database(_) => Ok(()),
        }
    }

    /// Checks that the copy replaces no file of its own source. A table keeps the rows of its versions.
    pub(crate) fn check_sources(
        &self,
        source: &str,
        plan: &ReadPlan,
        storage: &StorageOptions,
        job: &Job,
    ) -> Result<()> {
        match self {
            Self::Files(files) if files.mode != WriteMode::Append => {
                let FileTarget { store, path, is_folder, .. } = files;
                let place = ReplacedPlace { name: &files.place, store, path, is_folder: *is_folder };
                place.check_sources(source, plan, storage, job)
            }
            Self::Files(_) | Self::Table(_) | Self::Stream(_) | Self::Database(_) => Ok(()),
        }
    }

    /// Starts to write; the handle, if there is one, keeps the file from becoming visible.
    pub(crate) fn create_deferred(
        self,
        schema: SchemaRef,
        options: &CopyOptions,
        job: &Job,
    ) -> Result<(Box<dyn Sink>, Option<Deferred>)> {
        match self {
            Self::Files(files) if !files.is_folder => {
                let mut output = files.output()?;
                let deferred = output.defer();
                Ok(((files.known_format()?.create)(output, schema, &options.write, job)?, Some(deferred)))
            }
            other => Ok((other.create(schema, options, job)?, None)),
        }
    }

    /// Starts to write.
    pub(crate) fn create(self, schema: SchemaRef, options: &CopyOptions, job: &Job) -> Result<Box<dyn Sink>> {
        if let (Self::Files(files), true) = (&self, options.load.verify) {
            // A file that could not be read back is not started.
            check_read_back(files.known_format()?, &schema, &options.write.csv)
                .map_err(|error| error.at(&files.place))?;
        }
        match self {
            Self::Stream(stream) => {
                let format = stream.format().ok_or_else(|| Error::internal("a stream without a format"))?;
                (format.create)(stream.output(job), schema, &options.write, job)
            }
            Self::Files(files) => files.create(schema, options, job),
            Self::Table(table) => table.create(&schema, options),
            Self::Database(database) => {
                refuse_to_write_duplicates(&schema).map_err(|error| error.at(shown(database.location())))?;
                database.create(schema, options, job)
            }
        }
    }
}

/// Fails where options are given that only Delta tables take.
fn refuse_table_options(place: &str, options: &CopyOptions) -> Result<()> {
    if options.keep_not_null {
        return Err(Error::usage(format!("{KEEP_NOT_NULL}: only new Delta tables can keep NOT NULL"))
            .at(place)
            .advice("omit it, or put delta: before the folder of a new table"));
    }
    if options.auto_compact {
        return Err(Error::usage(format!("{AUTO_COMPACT}: only Delta tables are compacted"))
            .at(place)
            .advice("omit it, or put delta: before the folder of a new table"));
    }
    let has_evolve = options.evolve != Evolve::default();
    if options.partition_by.is_empty() && options.table_properties.is_empty() && !has_evolve {
        return Ok(());
    }
    Err(Error::usage("only Delta tables have partitions, properties and schemas that evolve").at(place).advice(
        format!("put delta: before the folder of a new table, or omit {PARTITION_BY}, {TABLE_PROPERTY} and {EVOLVE}"),
    ))
}

/// The folder that an object store has below a name without `/` at its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FolderKind {
    Absent,
    Files,
    Table,
}

impl FolderKind {
    /// Asks an object store, by a LIST that ends at the first object. A name that an object has as well is an error.
    fn below(store: &JobStore, path: &Path) -> Result<Self> {
        // The object of this very name is not below it.
        let own = path.clone();
        match store.list_unless(path, move |found| *found != own) {
            Ok(Some(_)) => return Ok(Self::Absent),
            Ok(None) => {}
            // A user may be allowed to write objects but not to list them: the name is then an object.
            Err(error) if error.kind() == ErrorKind::Invalid => {
                store.job.warn(&format!("can't determine whether a folder or a table with this name exists: {error}"));
                return Ok(Self::Absent);
            }
            Err(error) => return Err(error),
        }
        // Some programs mark folders by objects without bytes.
        if store.stat(path)?.is_some_and(|object| object.size_bytes > 0) {
            return Err(Error::invalid("it is both an object and a folder with objects")
                .at(store.url(path))
                .advice("remove one of them, or put / at the end of the name if the folder is meant"));
        }
        Ok(if is_table(store, path)? { Self::Table } else { Self::Files })
    }
}

/// A file, or a folder of files.
pub(crate) struct FileTarget {
    store: JobStore,
    path: Path,
    /// `None` where the format is only known from the source.
    format: Option<&'static FileFormat>,
    is_folder: bool,
    mode: WriteMode,
    /// As the user wrote it.
    place: String,
}

impl FileTarget {
    /// `is_folder`: the store has objects below the name.
    fn resolve(target: &str, is_folder: bool, options: &CopyOptions, job: &Job) -> Result<Self> {
        let location = parse_path(target)?;
        let mut place = location.as_str().to_owned();
        if is_folder && !place.ends_with('/') {
            place.push('/');
        }
        let (store, path) = location.open(&options.read.storage, job)?;
        let on_disk = store.has_local_files().then(|| std::fs::metadata(format!("/{path}")).ok()).flatten();
        let is_folder =
            is_folder || target.ends_with('/') || path.is_root() || on_disk.as_ref().is_some_and(|m| m.is_dir());
        let format = match is_folder {
            true => options.format.or_else(|| FileFormat::of_file_name(path.as_ref())),
            false => {
                let format = FileFormat::of_target(path.as_ref(), options.format, &OUTPUT_FORMAT);
                format.map_err(|error| error.at(&place))?
            }
        };
        let target = Self { store, path, format, is_folder, mode: options.mode, place };
        if !is_folder {
            if !options.partition_by.is_empty() {
                return Err(Error::usage(format!("{PARTITION_BY}: a file has no partitions"))
                    .at(&target.place)
                    .advice("name a folder, with / at the end, or put delta: before the folder of a new table"));
            }
            target.known_format()?;
            target.check_file(on_disk.is_some())?;
        }
        Ok(target)
    }

    fn known_format(&self) -> Result<&'static FileFormat> {
        let format = self.format.ok_or_else(|| unknown_target_format(&self.place))?;
        format.check_writable().map_err(|error| error.at(&self.place))?;
        Ok(format)
    }

    /// Files of a folder are of the source's format where nothing says another.
    fn take_format(&mut self, format: Option<&'static FileFormat>) -> Result<()> {
        self.format = self.format.or(format);
        self.known_format().map(drop)
    }

    fn check_file(&self, is_on_disk: bool) -> Result<()> {
        match self.mode {
            WriteMode::Overwrite => Ok(()),
            WriteMode::Append => Err(Error::unsupported("a file can't be appended to")
                .at(&self.place)
                .advice("name a folder, with / at the end: a file is added to it")),
            WriteMode::Upsert | WriteMode::Delete => Err(Error::internal("a mode that files do not support")),
            WriteMode::Error => {
                let exists =
                    if self.store.has_local_files() { is_on_disk } else { self.store.stat(&self.path)?.is_some() };
                if !exists {
                    return Ok(());
                }
                Err(Error::conflict("it already exists")
                    .at(&self.place)
                    .advice(format!("choose another name, or replace it with {}", MODE.to("overwrite"))))
            }
        }
    }

    fn create(&self, schema: SchemaRef, options: &CopyOptions, job: &Job) -> Result<Box<dyn Sink>> {
        if self.is_folder {
            return self.create_folder(schema, options, job);
        }
        (self.known_format()?.create)(self.output()?, schema, &options.write, job)
    }

    /// The one file.
    fn output(&self) -> Result<Output> {
        let if_exists = if self.mode == WriteMode::Overwrite { IfExists::Replace } else { IfExists::Error };
        Output::create(&self.store, &self.path, if_exists)
    }
}

impl FileTarget {
    fn create_folder(&self, schema: SchemaRef, options: &CopyOptions, job: &Job) -> Result<Box<dyn Sink>> {
        let (format, write, job) = (self.known_format()?, options.write.of_each_file(), job.clone());
        if !options.partition_by.is_empty() {
            let columns = PartitionColumns::new(&schema, &options.partition_by).map_err(|e| e.at(&self.place))?;
            let schema = columns.file_schema();
            let make: MakeSink =
                Box::new(move |output| (format.create)(output, SchemaRef::clone(&schema), &write, &job));
            let ending = format.ending(&options.write);
            return PartitionedSink::create(&self.store, &self.path, self.mode, &ending, columns, &options.write, make);
        }
        let make: MakeSink = Box::new(move |output| (format.create)(output, SchemaRef::clone(&schema), &write, &job));
        FolderSink::create(&self.store, &self.path, self.mode, &format.ending(&options.write), &options.write, make)
    }
}

/// The kind of a target, for the scope of its options.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TargetKind {
    Files,
    Stream,
    Delta,
    Database,
}
