//! Generating tables of TPC-H, or refresh streams for them, into files, all together.
//!
//! The unit of work is a file: a table, one of its parts, or a file of a stream. A file that is a large share of all
//! work is made by all threads together, one such file after the other, largest first. At the same time, each of the
//! other files is made by one thread, from the random numbers to the encoded bytes, largest first: so no core waits
//! while a large file starts or ends. Files appear together when all of them are complete; each Delta table, and each
//! folder of files of a given size, appears separately.

use std::collections::HashSet;
use std::io::Write;
use std::str::FromStr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use arrow::datatypes::SchemaRef;
use lakerace_delta::DELTA;
use lakerace_format::suggestions::listed;
use lakerace_format::{FileFormat, ReadRequest, Sink, Source, Written};
use lakerace_io::address_space::memory_within;
use lakerace_io::memory_limit::check_memory;
use lakerace_io::object_store::path::Path;
use lakerace_io::option::{FILE_BYTES, MODE, Mention, OUTPUT, OVERWRITE, PARTS, TABLES, TPCH_FORMAT, mentions};
use lakerace_io::threads::spawn_or_run;
use lakerace_io::wait::{into_value, lock};
use lakerace_io::{Deferred, Error, Job, JobStore, Output, Result};
use lakerace_tpch::{MAX_STREAMS, Mode, Part, Scale, Spec, Table, TpchSource, check_streams};
use serde::Serialize;

use super::streams::StreamFile;
use crate::WriteMode;
use crate::option_scope::{PlaceKind, check_write_scope};
use crate::options::CopyOptions;
use crate::resolve::parse_path;
use crate::target::CopyTarget;

/// Approximate memory of a file in progress: a row group that takes rows and one that is being encoded.
const FILE_MEMORY_BYTES: u64 = 192 << 20;
/// The name of a target that is no folder.
const STANDARD_OUTPUT: &str = "standard output";
/// Memory for files, where no other bound is given.
const MEMORY_BYTES: u64 = 1 << 30;

/// The format of generated tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TpchFormat {
    /// Files of a format.
    Files(&'static FileFormat),
    /// Delta tables.
    Delta,
}

impl TpchFormat {
    /// The names of all: those of file formats, then that of Delta tables.
    pub fn names() -> impl Iterator<Item = &'static str> {
        FileFormat::all().filter(|format| !format.is_read_only).map(|format| format.name).chain([DELTA.name])
    }
}

impl FromStr for TpchFormat {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        if text == DELTA.name {
            return Ok(Self::Delta);
        }
        let advice = || format!("choose {}", listed(Self::names().map(str::to_owned), "or"));
        text.parse().map(Self::Files).map_err(|error: Error| error.advice(advice()))
    }
}

/// The target of generated tables.
pub enum TpchTarget {
    /// A folder: a path or URL.
    Folder(String),
    /// The bytes of the only file go to a writer.
    Stream(Box<dyn Write + Send>),
}

/// The options of a generation.
#[derive(Debug, Clone)]
pub struct TpchOptions {
    /// The scale factor.
    pub scale: Scale,
    /// Which tables; none: all of them.
    pub tables: Vec<Table>,
    /// So many refresh streams, instead of tables.
    pub refresh: Option<u32>,
    /// The format of the tables.
    pub format: TpchFormat,
    /// The way in which columns are generated; `None`: the fastest one, which [`Generation::mode`] returns.
    pub mode: Option<Mode>,
    /// Files of each table. `nation` and `region` always have one.
    pub parts: u32,
    /// Approximate bytes of memory for files in progress; `None`: 1 GiB. It bounds how many are written together.
    pub memory_bytes: Option<u64>,
    /// The options of written files, the mode where they exist, and settings of the store. With `file_bytes` a table is
    /// a folder of files of this size.
    pub copy: CopyOptions,
}

/// A table, or one kind of files of refresh streams, under way, for whoever shows it.
#[derive(Debug)]
pub struct TableProgress {
    /// Which: the table's name; `delete` for the keys that streams delete.
    pub name: &'static str,
    /// Rows that it will have, where they were counted.
    pub total_rows: Option<u64>,
    rows: AtomicU64,
    bytes: AtomicU64,
    times: Mutex<Option<(Instant, Instant)>>,
}

/// The outcome of a table, or of one kind of files of refresh streams.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct GeneratedTable {
    /// Which: the table's name; `delete` for the keys that streams delete.
    #[serde(rename = "table")]
    pub name: &'static str,
    /// Rows.
    pub rows: u64,
    /// Bytes as stored.
    pub bytes: u64,
    /// From its first row to its last byte, while other tables were made, too.
    pub seconds: f64,
    /// Paths or URLs.
    pub files: Vec<String>,
}

impl TpchOptions {
    fn check_refresh(&self) -> Result<()> {
        let Some(streams) = self.refresh else { return Ok(()) };
        check_streams(streams)?;
        if !self.tables.is_empty() || self.parts != 1 || self.copy.write.file_bytes.is_some() {
            return Err(Error::usage("refresh streams are separate files of orders and lineitem")
                .advice(format!("omit {TABLES}, {PARTS} and {FILE_BYTES}")));
        }
        Ok(())
    }

    /// The options of the files of a table.
    fn copy_of(&self, table: Table) -> CopyOptions {
        let mut copy = self.copy.clone();
        if self.format == TpchFormat::Delta {
            // Upserts find rows by it.
            let key = table.key().join(",");
            copy.table_properties.entry("lakerace.primaryKey".to_owned()).or_insert(key);
        }
        copy
    }
}

/// Tables that will be generated, after all checks.
pub struct Generation {
    options: TpchOptions,
    tables: Arc<[TableProgress]>,
    files: Vec<GeneratedFile>,
    /// Folders of parts.
    folders: Vec<(JobStore, Path)>,
    job: Job,
}

/// A file to be made.
struct GeneratedFile {
    /// Its table, by its place in the list.
    table: usize,
    /// Its place among its table's files.
    number: u32,
    spec: Spec,
    /// Which columns.
    request: ReadRequest,
    target: GeneratedTarget,
    /// A measure of the work.
    weight: u64,
}

enum GeneratedTarget {
    Named(CopyTarget),
    Stream(Output),
}

impl TableProgress {
    /// Rows so far.
    pub fn rows(&self) -> u64 {
        self.rows.load(Ordering::Relaxed)
    }

    /// Encoded bytes so far, and seconds since its first row; to its last byte, once it is complete.
    pub fn bytes_and_seconds(&self) -> (u64, f64) {
        let times = lock(&self.times);
        let seconds = times.map_or(0.0, |(first, last)| (last - first).as_secs_f64());
        (self.bytes.load(Ordering::Relaxed), seconds)
    }

    fn touch(&self) {
        let now = Instant::now();
        let mut times = lock(&self.times);
        *times = Some((times.map_or(now, |(first, _)| first), now));
    }
}

impl Generation {
    /// Checks everything before a row is made: names, options, existing targets.
    ///
    /// # Errors
    /// `Conflict` for a target that exists, unless it should be replaced; `Usage` for options that don't fit together.
    pub fn new(target: TpchTarget, options: TpchOptions, job: &Job) -> Result<Self> {
        Self::prepare(target, options, job).map_err(with_own_option)
    }

    fn prepare(target: TpchTarget, mut options: TpchOptions, job: &Job) -> Result<Self> {
        options.check_refresh()?;
        if options.tables.is_empty() {
            options.tables = Table::ALL.to_vec();
        }
        if let Some(bytes) = options.memory_bytes {
            let columns = |spec: &Spec| TpchSource::new(*spec, job).schema().fields().len();
            let specs = options.tables.iter().map(|table| Spec::new(*table, options.scale));
            if let Some(widest) = specs.max_by_key(columns) {
                check_memory(bytes, columns(&widest)).map_err(|error| error.at(widest))?;
            }
        }
        let is_refresh = options.refresh.is_some();
        let mut seen = HashSet::new();
        options.tables.retain(|table| seen.insert(*table));
        Part::new(1, options.parts)?;
        options.copy.format = match options.format {
            TpchFormat::Files(format) => Some(format),
            TpchFormat::Delta => None,
        };
        if options.parts > 1 && (options.copy.write.file_bytes.is_some() || options.format == TpchFormat::Delta) {
            return Err(Error::usage(
                "a number of parts applies to files only; Delta tables and files of a given size are split by bytes",
            )
            .advice(format!("omit {PARTS}, or give only {FILE_BYTES}")));
        }
        if let (TpchFormat::Files(format), TpchTarget::Stream(_)) = (options.format, &target) {
            check_write_scope(&options.copy.write, PlaceKind::File(format), STANDARD_OUTPUT)?;
        }
        let rows = |spec| TpchSource::new(spec, job).rows();
        let progress = |name, total_rows| TableProgress {
            name,
            total_rows,
            rows: AtomicU64::new(0),
            bytes: AtomicU64::new(0),
            times: Mutex::default(),
        };
        let tables: Arc<[TableProgress]> = match options.refresh {
            None => options.tables.iter().map(|t| progress(t.name(), rows(Spec::new(*t, options.scale)))).collect(),
            Some(streams) => {
                let rows = |file: &StreamFile| {
                    let whole = Spec::new(file.table(), options.scale);
                    (1..=streams).map(|stream| rows(file.spec(whole, stream))).sum()
                };
                StreamFile::ALL.iter().map(|file| progress(file.title(), rows(file))).collect()
            }
        };
        if let Some(rows) = tables.iter().map(|table| table.total_rows).sum() {
            job.meter().plan_write(Some(rows));
        }
        let mut generation = Self { options, tables, files: Vec::new(), folders: Vec::new(), job: job.clone() };
        match target {
            TpchTarget::Stream(writer) => generation.add_stream(writer)?,
            TpchTarget::Folder(folder) if is_refresh => generation.add_streams(&folder)?,
            TpchTarget::Folder(folder) => generation.add_files(&folder)?,
        }
        Ok(generation)
    }

    /// The way in which columns are generated.
    pub fn mode(&self) -> Mode {
        self.options.mode.unwrap_or(fastest(self.options.format))
    }

    /// The tables, for progress reports during [`Self::run`].
    pub fn tables(&self) -> Arc<[TableProgress]> {
        Arc::clone(&self.tables)
    }

    fn spec(&self, table: Table, part: Part) -> Spec {
        // As dbgen writes it.
        let whole_quantities = matches!(self.options.format, TpchFormat::Files(format) if format.is_dbgen);
        let whole = Spec::new(table, self.options.scale);
        Spec { part, mode: self.mode(), whole_quantities, ..whole }
    }

    fn add_stream(&mut self, writer: Box<dyn Write + Send>) -> Result<()> {
        let ([table], None, TpchFormat::Files(_), 1, None) = (
            self.options.tables.as_slice(),
            self.options.refresh,
            self.options.format,
            self.options.parts,
            self.options.copy.write.file_bytes,
        ) else {
            return Err(Error::usage("standard output can take a single file of a single table").advice(format!(
                "name one with {TABLES}, another {TPCH_FORMAT} than delta, and no parts; or name a folder as the \
                 {OUTPUT}"
            )));
        };
        let target = GeneratedTarget::Stream(Output::stream(writer, STANDARD_OUTPUT, &self.job));
        let (spec, request) = (self.spec(*table, Part::WHOLE), ReadRequest::default());
        self.files.push(GeneratedFile { table: 0, number: 1, spec, request, target, weight: 1 });
        Ok(())
    }

    fn add_files(&mut self, folder: &str) -> Result<()> {
        let folder = without_slash(folder);
        for (place, table) in self.options.tables.clone().into_iter().enumerate() {
            let is_fixed = matches!(table, Table::Nation | Table::Region);
            let parts = if is_fixed { 1 } else { self.options.parts };
            if parts > 1 {
                self.add_folder(&format!("{folder}/{table}"))?;
            }
            for number in 1..=parts {
                let part = Part::new(number, parts)?;
                let target =
                    CopyTarget::resolve(&self.name(folder, table, part), &self.options.copy_of(table), &self.job)?;
                let weight = table.text_bytes(self.options.scale) / u64::from(parts);
                let (spec, target) = (self.spec(table, part), GeneratedTarget::Named(target));
                self.files.push(GeneratedFile {
                    table: place,
                    number,
                    spec,
                    request: ReadRequest::default(),
                    target,
                    weight,
                });
            }
        }
        Ok(())
    }

    fn add_streams(&mut self, folder: &str) -> Result<()> {
        let folder = without_slash(folder);
        for (place, file) in StreamFile::ALL.into_iter().enumerate() {
            for stream in 1..=self.options.refresh.unwrap_or_default() {
                let name = |format| file.name(stream, format, &self.options.copy.write);
                let name = match self.options.format {
                    TpchFormat::Delta => format!("{}{folder}/{}", DELTA.scheme, name(None)),
                    TpchFormat::Files(format) => format!("{folder}/{}", name(Some(format))),
                };
                let target = CopyTarget::resolve(&name, &self.options.copy_of(file.table()), &self.job)?;
                let spec = file.spec(self.spec(file.table(), Part::WHOLE), stream);
                let (request, target) = (file.request(), GeneratedTarget::Named(target));
                let weight = stream_weight(spec);
                self.files.push(GeneratedFile { table: place, number: stream, spec, request, target, weight });
            }
        }
        Ok(())
    }

    fn name(&self, folder: &str, table: Table, part: Part) -> String {
        match self.options.format {
            TpchFormat::Delta => format!("{}{folder}/{table}", DELTA.scheme),
            TpchFormat::Files(_) if self.options.copy.write.file_bytes.is_some() => format!("{folder}/{table}/"),
            TpchFormat::Files(format) => {
                let ending = format.ending(&self.options.copy.write);
                match part {
                    Part::WHOLE => format!("{folder}/{table}.{ending}"),
                    Part { number, .. } => format!("{folder}/{table}/{table}.{number}.{ending}"),
                }
            }
        }
    }

    /// Adds a folder of parts: it must be empty, or its old files are removed when the new parts are published.
    fn add_folder(&mut self, name: &str) -> Result<()> {
        let (store, path) = parse_path(name)?.open(&self.options.copy.read.storage, &self.job)?;
        let holds_files = !store.list(&path)?.is_empty();
        if holds_files && self.options.copy.mode != WriteMode::Overwrite {
            return Err(Error::conflict("it already contains files")
                .at(name)
                .advice(format!("choose another folder, or replace its files with {OVERWRITE}")));
        }
        if holds_files {
            self.folders.push((store, path));
        }
        Ok(())
    }

    /// Generates all of them.
    ///
    /// # Errors
    /// Those of stores and sinks. No file has appeared then, unless the store failed while they were made visible one
    /// after the other; a Delta table, or a folder of files of a size, may have.
    pub fn run(self) -> Result<Vec<GeneratedTable>> {
        self.generate().map_err(with_own_option)
    }

    fn generate(mut self) -> Result<Vec<GeneratedTable>> {
        let threads = self.job.options().threads.max(1);
        let total: u64 = self.files.iter().map(|file| file.weight).sum();
        self.files.sort_by_key(|file| file.weight);
        // More than half of a thread's share: one thread would be late with it.
        let first_wide = self.files.partition_point(|file| threads == 1 || file.weight <= total / (2 * threads as u64));
        let wide = self.files.split_off(first_wide);
        let narrow = std::mem::take(&mut self.files);
        let memory = self.options.memory_bytes.unwrap_or_else(|| memory_within(MEMORY_BYTES));
        let most = ((memory / FILE_MEMORY_BYTES) as usize).saturating_sub(usize::from(!wide.is_empty())).max(1);
        let beside = if wide.is_empty() { threads } else { (threads / 2).max(1) };
        let (done, error, failed) = (Mutex::default(), Mutex::default(), AtomicBool::new(false));
        let run = GenerationRun { options: &self.options, tables: &self.tables, job: &self.job, done, failed, error };
        let (wide, narrow) = (Mutex::new(wide), Mutex::new(narrow));
        let joined: std::thread::Result<()> = std::thread::scope(|scope| {
            // A driver waits for no other: where no thread starts, it drives here.
            let mut drivers = vec![spawn_or_run(scope, || run.drive(&wide, threads))];
            drivers.extend((0..beside.min(most)).map(|_| spawn_or_run(scope, || run.drive(&narrow, 1))));
            drivers.into_iter().try_for_each(|driver| driver.join())
        });
        joined.map_err(|_| Error::internal("a thread that generates a table panicked"))?;
        let GenerationRun { done, error, .. } = run;
        if let Some(error) = into_value(error) {
            return Err(error);
        }
        self.publish(into_value(done))
    }

    fn publish(self, mut done: Vec<FinishedFile>) -> Result<Vec<GeneratedTable>> {
        self.job.check()?;
        // Files that are in the way of no new one, but of the table.
        let mut left_over: HashSet<Path> = HashSet::new();
        for (store, path) in &self.folders {
            left_over.extend(store.list(path)?.into_iter().map(|info| info.path));
        }
        done.sort_by_key(|file| (file.table, file.number));
        let mut tables: Vec<GeneratedTable> = self.tables.iter().map(GeneratedTable::from_progress).collect();
        for file in done {
            let table = &mut tables[file.table];
            table.rows += file.written.rows;
            table.bytes += file.written.bytes;
            if let Some(output) = file.deferred.and_then(|deferred| deferred.take()) {
                output.publish_in_group()?;
            }
            for name in &file.written.files {
                left_over.retain(|path| !name.ends_with(path.as_ref()));
            }
            table.files.extend(file.written.files);
        }
        // Before the replaced files are removed.
        self.job.sync_folders()?;
        for (store, path) in &self.folders {
            let below = left_over.iter().filter(|left| left.prefix_matches(path));
            store.delete_all(below.cloned().collect())?;
        }
        Ok(tables)
    }
}

/// The error of a target that exists, with the option that replaces it here: sinks name that of a copy.
fn with_own_option(error: Error) -> Error {
    let is_mode = |mention: Mention| matches!(mention, Mention::Option(option) if option.definition.id == MODE.id);
    let names_mode = error.advice_text().is_some_and(|advice| mentions(advice).into_iter().any(is_mode));
    match names_mode {
        true => error.advice(format!("choose another folder, or replace its content with {OVERWRITE}")),
        false => error,
    }
}

impl GeneratedTable {
    fn from_progress(progress: &TableProgress) -> Self {
        let (_, seconds) = progress.bytes_and_seconds();
        Self { name: progress.name, rows: 0, bytes: 0, seconds, files: Vec::new() }
    }
}

/// The fastest measured way to generate columns (see `docs/design/0013-generation.md`), at any scale factor.
///
/// Parquet's encoder takes words by their numbers and fetches many comments together. The other writers process their
/// columns row by row, and each comment would miss the cache twice: when it is made a view, and when it is written. A
/// Delta table's columns have no dictionaries, and their statistics read texts once more.
fn fastest(format: TpchFormat) -> Mode {
    match format {
        TpchFormat::Files(format) if format.keeps_dictionaries => Mode::TrueZeroCopy,
        TpchFormat::Files(_) | TpchFormat::Delta => Mode::ZeroCopy,
    }
}

/// A file that is complete and, where it is a file, not visible yet.
struct FinishedFile {
    table: usize,
    number: u32,
    written: Written,
    deferred: Option<Deferred>,
}

/// The shared state of the threads of a generation.
struct GenerationRun<'g> {
    options: &'g TpchOptions,
    tables: &'g [TableProgress],
    job: &'g Job,
    done: Mutex<Vec<FinishedFile>>,
    failed: AtomicBool,
    error: Mutex<Option<Error>>,
}

impl GenerationRun<'_> {
    /// Generates one file after the other, with so many threads each, until none is left or one has failed.
    fn drive(&self, files: &Mutex<Vec<GeneratedFile>>, threads: usize) {
        let job = self.job.with_threads(threads);
        while !self.failed.load(Ordering::Acquire) {
            let Some(file) = lock(files).pop() else { return };
            match self.make(file, &job) {
                Ok(Some(done)) => lock(&self.done).push(done),
                Ok(None) => return,
                Err(error) => {
                    self.failed.store(true, Ordering::Release);
                    lock(&self.error).get_or_insert(error);
                }
            }
        }
    }

    /// `None` where another file has failed in the meantime.
    fn make(&self, file: GeneratedFile, job: &Job) -> Result<Option<FinishedFile>> {
        let GeneratedFile { table, number, spec, request, target, .. } = file;
        let progress = &self.tables[table];
        progress.touch();
        let source = TpchSource::new(spec, job);
        let batches = source.read(&source.plan(&request)?)?;
        let (mut sink, deferred) = create(target, batches.schema().clone(), &self.options.copy_of(spec.table), job)?;
        let mut counted = 0;
        let mut count_bytes = |bytes: u64| {
            progress.bytes.fetch_add(bytes.saturating_sub(counted), Ordering::Relaxed);
            counted = bytes.max(counted);
            progress.touch();
        };
        for batch in batches {
            let batch = batch?;
            if self.failed.load(Ordering::Acquire) {
                return Ok(None);
            }
            let rows = batch.num_rows() as u64;
            sink.write(batch)?;
            progress.rows.fetch_add(rows, Ordering::Relaxed);
            count_bytes(deferred.as_ref().map_or(0, Deferred::position));
        }
        let written = sink.finish()?;
        count_bytes(written.bytes);
        Ok(Some(FinishedFile { table, number, written, deferred }))
    }
}

fn create(
    target: GeneratedTarget,
    schema: SchemaRef,
    options: &CopyOptions,
    job: &Job,
) -> Result<(Box<dyn Sink>, Option<Deferred>)> {
    match (target, options.format) {
        (GeneratedTarget::Named(target), _) => target.create_deferred(schema, options, job),
        (GeneratedTarget::Stream(output), Some(format)) => {
            Ok(((format.create)(output, schema, &options.write, job)?, None))
        }
        (GeneratedTarget::Stream(_), None) => Err(Error::internal("a Delta table is not a stream")),
    }
}

/// A measure of the work of a stream's file.
fn stream_weight(spec: Spec) -> u64 {
    spec.table.text_bytes(spec.scale) / u64::from(MAX_STREAMS)
}

fn without_slash(folder: &str) -> &str {
    if folder.len() > 1 { folder.trim_end_matches('/') } else { folder }
}
