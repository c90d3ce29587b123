//! The kernel's engine over our store: the default handlers, with errors that name the file.

use std::any::Any;
use std::sync::Arc;

use bytes::Bytes;
use delta_kernel::engine::arrow_data::{ArrowEngineData, EngineDataArrowExt};
use delta_kernel::schema::SchemaRef;
use delta_kernel::{
    Engine, EngineData, EvaluationHandler, FileDataReadResultIterator, FileMeta, FileSize, FileSlice,
    FilteredEngineData, JsonHandler, KernelError, KernelResult, KernelResultIterator, KernelResultIteratorStatic,
    ParquetFooter, ParquetHandler, PredicateRef, StorageHandler,
};
use delta_kernel_default_engine::{DefaultEngine, DefaultEngineBuilder};
use lakerace_io::object_store::ObjectStore;
use lakerace_io::{Error, ErrorKind, Result, panics};
use url::Url;

use super::error::{from_kernel, to_kernel};
use super::executor::QuietExecutor;
use super::surrogates::actions_with_whole_characters;
use crate::log::distrust::{DamagedLogFiles, damaged_advice, may_be_damage};
use crate::log::store::LogStore;
use crate::paths::ROOT;
use crate::paths::TablePaths;
use crate::snapshot::statistics::lenient;

type Inner = DefaultEngine<QuietExecutor>;

/// The kernel's access to a table's log.
pub(crate) struct TableEngine {
    inner: Inner,
    storage: Arc<LogStorage>,
    json: Arc<LogJson>,
    parquet: Arc<LogParquet>,
    distrust: Arc<DamagedLogFiles>,
    store: Arc<LogStore>,
}

impl TableEngine {
    /// For the table in a folder. It shares the fetched files of the log with another engine for the table, if given.
    pub fn new(paths: &Arc<TablePaths>, other: Option<&Self>) -> Result<Self> {
        let distrust = Arc::new(DamagedLogFiles::default());
        let store = LogStore::new(&paths.store, &paths.root, &distrust);
        let store = Arc::new(match other {
            Some(other) => store.sharing(&other.store),
            None => store,
        });
        let inner = default_engine(Arc::clone(&store) as _)?;
        let folder = paths.store.url(&paths.root);
        let storage = Arc::new(LogStorage { inner: inner.storage_handler(), paths: Arc::clone(paths) });
        let log = LogFiles { folder, place: paths.place.clone(), distrust: Arc::clone(&distrust) };
        let json = Arc::new(LogJson { inner: inner.json_handler(), log: log.clone() });
        let parquet = Arc::new(LogParquet { inner: inner.parquet_handler(), paths: Arc::clone(paths), log });
        Ok(Self { inner, storage, json, parquet, distrust, store })
    }

    /// The folder of the table as the kernel's store.
    pub fn log_store(&self) -> &LogStore {
        &self.store
    }

    /// The parts of the log that are left out.
    pub fn distrust(&self) -> &DamagedLogFiles {
        &self.distrust
    }
}

fn default_engine(store: Arc<dyn ObjectStore>) -> Result<Inner> {
    let executor = Arc::new(QuietExecutor::new()?);
    Ok(DefaultEngineBuilder::new(store).with_task_executor(executor).build())
}

impl Engine for TableEngine {
    fn evaluation_handler(&self) -> Arc<dyn EvaluationHandler> {
        self.inner.evaluation_handler()
    }

    fn storage_handler(&self) -> Arc<dyn StorageHandler> {
        Arc::clone(&self.storage) as _
    }

    fn json_handler(&self) -> Arc<dyn JsonHandler> {
        Arc::clone(&self.json) as _
    }

    fn parquet_handler(&self) -> Arc<dyn ParquetHandler> {
        Arc::clone(&self.parquet) as _
    }
}

/// The name of a file outside the table's folder, exactly as in the log.
fn foreign_name(url: &Url) -> Option<&str> {
    (!url.as_str().starts_with(ROOT)).then(|| url.as_str())
}

/// Reads and lists the log, and the deletion vectors of a change data feed.
struct LogStorage {
    inner: Arc<dyn StorageHandler>,
    paths: Arc<TablePaths>,
}

impl LogStorage {
    fn read(&self, (url, range): FileSlice) -> KernelResult<Bytes> {
        let Some(name) = foreign_name(&url) else {
            let mut found = self.inner.read_files(vec![(url.clone(), range)])?;
            return found.next().unwrap_or_else(|| Err(KernelError::FileNotFound(url.to_string())));
        };
        let object = self.paths.object(name).map_err(to_kernel)?;
        let read = match range {
            Some(range) => object.read_range(range),
            None => object.read_tail(u64::from(u32::MAX)).map(|tail| tail.bytes),
        };
        read.map_err(to_kernel)
    }
}

impl StorageHandler for LogStorage {
    fn list_from(&self, path: &Url) -> KernelResult<KernelResultIteratorStatic<FileMeta>> {
        self.inner.list_from(path)
    }

    fn read_files(&self, files: Vec<FileSlice>) -> KernelResult<KernelResultIteratorStatic<Bytes>> {
        if files.iter().all(|(url, _)| foreign_name(url).is_none()) {
            return self.inner.read_files(files);
        }
        let read: Vec<KernelResult<Bytes>> = files.into_iter().map(|file| self.read(file)).collect();
        Ok(Box::new(read.into_iter()))
    }

    fn copy_atomic(&self, src: &Url, dest: &Url) -> KernelResult<()> {
        self.inner.copy_atomic(src, dest)
    }

    fn put(&self, path: &Url, data: Bytes, overwrite: bool) -> KernelResult<()> {
        self.inner.put(path, data, overwrite)
    }

    fn head(&self, path: &Url) -> KernelResult<FileMeta> {
        self.inner.head(path)
    }

    fn delete(&self, path: &Url) -> KernelResult<()> {
        self.inner.delete(path)
    }
}

struct LogJson {
    inner: Arc<dyn JsonHandler>,
    log: LogFiles,
}

impl JsonHandler for LogJson {
    fn parse_json(
        &self,
        json_strings: Box<dyn EngineData>,
        output_schema: SchemaRef,
    ) -> KernelResult<Box<dyn EngineData>> {
        lenient::parse(self.inner.as_ref(), json_strings, output_schema)
    }

    fn read_json_files(
        &self,
        files: &[FileMeta],
        schema: SchemaRef,
        predicate: Option<PredicateRef>,
    ) -> KernelResult<FileDataReadResultIterator> {
        let inner = Arc::clone(&self.inner);
        let read = move |files: &[FileMeta]| inner.read_json_files(files, Arc::clone(&schema), predicate.clone());
        named(files, &self.log, read)
    }

    fn write_json_file(
        &self,
        path: &Url,
        data: KernelResultIterator<'_, FilteredEngineData>,
        overwrite: bool,
    ) -> KernelResult<FileSize> {
        self.inner.write_json_file(path, data, overwrite)
    }
}

/// Actions of a checkpoint, in whose statistics no character is written as two escapes.
fn with_whole_characters(actions: KernelResult<Box<dyn EngineData>>) -> KernelResult<Box<dyn EngineData>> {
    let actions = actions_with_whole_characters(actions?.try_into_record_batch()?).map_err(to_kernel)?;
    Ok(Box::new(ArrowEngineData::new(actions)))
}

struct LogParquet {
    inner: Arc<dyn ParquetHandler>,
    paths: Arc<TablePaths>,
    log: LogFiles,
}

impl LogParquet {
    /// A handler for a file that is not in the table's folder, the file as that knows it, and its store's name.
    fn foreign(&self, name: &str, file: &FileMeta) -> KernelResult<(Arc<dyn ParquetHandler>, FileMeta, String)> {
        let object = self.paths.object(name).map_err(to_kernel)?;
        let mut location = Url::parse(ROOT).map_err(|e| to_kernel(Error::unexpected(e)))?;
        location.set_path(object.path.as_ref());
        let handler = default_engine(Arc::clone(&object.store.store)).map_err(to_kernel)?.parquet_handler();
        Ok((handler, FileMeta { location, ..file.clone() }, object.store.url_prefix))
    }

    /// Reads files of which some are not in the table's folder, one after the other.
    fn read_foreign(
        &self,
        files: &[FileMeta],
        schema: &SchemaRef,
        predicate: Option<&PredicateRef>,
    ) -> KernelResult<FileDataReadResultIterator> {
        let mut all: Vec<FileDataReadResultIterator> = Vec::with_capacity(files.len());
        for file in files {
            let (schema, predicate) = (Arc::clone(schema), predicate.cloned());
            let Some(name) = foreign_name(&file.location) else {
                all.push(self.read_parquet_files(std::slice::from_ref(file), schema, predicate)?);
                continue;
            };
            let (inner, file, store) = self.foreign(name, file)?;
            let read =
                move |files: &[FileMeta]| inner.read_parquet_files(files, Arc::clone(&schema), predicate.clone());
            let log = LogFiles { folder: store, ..self.log.clone() };
            all.push(Box::new(named(std::slice::from_ref(&file), &log, read)?.map(with_whole_characters)));
        }
        Ok(Box::new(all.into_iter().flatten()))
    }
}

impl ParquetHandler for LogParquet {
    fn read_parquet_files(
        &self,
        files: &[FileMeta],
        schema: SchemaRef,
        predicate: Option<PredicateRef>,
    ) -> KernelResult<FileDataReadResultIterator> {
        if files.iter().any(|file| foreign_name(&file.location).is_some()) {
            return self.read_foreign(files, &schema, predicate.as_ref());
        }
        let inner = Arc::clone(&self.inner);
        let read = move |files: &[FileMeta]| inner.read_parquet_files(files, Arc::clone(&schema), predicate.clone());
        Ok(Box::new(named(files, &self.log, read)?.map(with_whole_characters)))
    }

    fn write_parquet_file(
        &self,
        location: Url,
        data: KernelResultIteratorStatic<Box<dyn EngineData>>,
    ) -> KernelResult<FileSize> {
        self.inner.write_parquet_file(location, data)
    }

    fn read_parquet_footer(&self, file: &FileMeta) -> KernelResult<ParquetFooter> {
        if let Some(name) = foreign_name(&file.location) {
            let (inner, file, store) = self.foreign(name, file)?;
            return inner
                .read_parquet_footer(&file)
                .map_err(|e| to_kernel(from_kernel(e).at(display_name(&store, &file))));
        }
        let read =
            panics::caught(|| self.inner.read_parquet_footer(file)).unwrap_or_else(|payload| Err(panicked(&*payload)));
        let footer = read.map_err(|error| self.log.blamed(error, file))?;
        // A checkpoint without this column would be one of an empty table.
        if is_classic_checkpoint(file) && footer.schema.field("add").is_none() {
            let error = Error::corrupt("it is not a checkpoint: it has no column \"add\"");
            return Err(self.log.blamed(to_kernel(error), file));
        }
        Ok(footer)
    }
}

/// The known files of a log when one of them can't be read.
#[derive(Clone)]
struct LogFiles {
    /// The table's folder, as users know it.
    folder: String,
    /// The table's location as the user wrote it.
    place: String,
    distrust: Arc<DamagedLogFiles>,
}

impl LogFiles {
    /// The error of a file, with its name. That a checkpoint, or a part of one, can't be read is noted.
    fn blamed(&self, error: KernelError, file: &FileMeta) -> KernelError {
        let mut error = from_kernel(error);
        if may_be_damage(&error) && is_checkpoint(file) {
            self.distrust.note_damage();
            if error.kind() == ErrorKind::NotFound {
                error = Error::corrupt("it does not exist, but the log needs it").advice("restore it");
            } else if error.kind() != ErrorKind::Corrupt {
                error = Error::from_source(ErrorKind::Corrupt, error);
            }
        }
        if error.kind() == ErrorKind::Corrupt && error.advice_text().is_none() && is_of_log(file) {
            error = error.advice(damaged_advice(&self.place));
        }
        to_kernel(error.at(display_name(&self.folder, file)))
    }
}

/// Returns true if a file is a part of the log.
fn is_of_log(file: &FileMeta) -> bool {
    file.location.path().starts_with("/_delta_log/")
}

/// Returns true if a file is a checkpoint, a part of one, or a sidecar.
fn is_checkpoint(file: &FileMeta) -> bool {
    let path = file.location.path();
    path.starts_with("/_delta_log/") && (path.contains(".checkpoint.") || path.starts_with("/_delta_log/_sidecars/"))
}

/// Returns true if a file is a checkpoint that is whole by itself: `12.checkpoint.parquet`.
fn is_classic_checkpoint(file: &FileMeta) -> bool {
    let name = file.location.path().strip_prefix("/_delta_log/").and_then(|name| name.split_once('.'));
    name.is_some_and(|(_, rest)| rest == "checkpoint.parquet")
}

/// The error of a panic on the way through a file: damage, or threads and memory that are missing.
fn panicked(payload: &(dyn Any + Send)) -> KernelError {
    to_kernel(panics::shortage(payload).unwrap_or_else(|| Error::corrupt("it can't be parsed")))
}

/// Reads files of the log. The handlers read several together and don't say which one is damaged: after an error, each
/// file is read separately to find it.
struct LogReading<R> {
    files: Vec<FileMeta>,
    log: LogFiles,
    read: R,
    batches: FileDataReadResultIterator,
}

fn named<R>(files: &[FileMeta], log: &LogFiles, read: R) -> KernelResult<FileDataReadResultIterator>
where
    R: Fn(&[FileMeta]) -> KernelResult<FileDataReadResultIterator> + Send + 'static,
{
    let batches: FileDataReadResultIterator = Box::new(std::iter::empty());
    let mut reading = LogReading { files: files.to_vec(), log: log.clone(), read, batches };
    let begun = panics::caught(|| (reading.read)(&reading.files)).unwrap_or_else(|payload| Err(panicked(&*payload)));
    reading.batches = begun.map_err(|error| reading.blame(error))?;
    Ok(Box::new(reading))
}

impl<R: Fn(&[FileMeta]) -> KernelResult<FileDataReadResultIterator>> LogReading<R> {
    /// Adds the file that an error concerns.
    fn blame(&self, error: KernelError) -> KernelError {
        let error = from_kernel(error);
        if matches!(error.kind(), ErrorKind::Cancelled | ErrorKind::Unavailable) {
            return to_kernel(error);
        }
        let error_of = |file: &FileMeta| {
            let read = || match (self.read)(std::slice::from_ref(file)) {
                Ok(mut batches) => batches.find_map(|batch| batch.err()),
                Err(error) => Some(error),
            };
            panics::caught(read).unwrap_or_else(|payload| Some(panicked(&*payload)))
        };
        let found = self.files.iter().find_map(|file| Some((file, error_of(file)?)));
        match found {
            Some((file, error)) => self.log.blamed(error, file),
            None => to_kernel(error),
        }
    }
}

impl<R: Fn(&[FileMeta]) -> KernelResult<FileDataReadResultIterator> + Send> Iterator for LogReading<R> {
    type Item = KernelResult<Box<dyn EngineData>>;

    fn next(&mut self) -> Option<Self::Item> {
        let next = panics::caught(|| self.batches.next()).unwrap_or_else(|payload| {
            self.batches = Box::new(std::iter::empty());
            Some(Err(panicked(&*payload)))
        })?;
        Some(next.map_err(|error| self.blame(error)))
    }
}

/// The display name of a file of the log, with the version that it belongs to.
fn display_name(folder: &str, file: &FileMeta) -> String {
    let path = file.location.path();
    let name = path.rsplit('/').next().unwrap_or(path);
    let version = name.split('.').next().and_then(|digits| digits.parse::<u64>().ok());
    let version = version.map_or(String::new(), |version| format!(": version {version}"));
    format!("{}{path}{version}", folder.trim_end_matches('/'))
}
