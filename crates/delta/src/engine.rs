//! The kernel's engine over our store: the default handlers, with errors that name the file.

use std::sync::Arc;

use delta_kernel::schema::SchemaRef;
use delta_kernel::{
    Engine, EngineData, EvaluationHandler, FileDataReadResultIterator, FileMeta, FileSize, FilteredEngineData,
    JsonHandler, KernelError, KernelResult, KernelResultIterator, KernelResultIteratorStatic, ParquetFooter,
    ParquetHandler, PredicateRef, StorageHandler,
};
use delta_kernel_default_engine::executor::tokio::TokioMultiThreadExecutor;
use delta_kernel_default_engine::{DefaultEngine, DefaultEngineBuilder};
use lakerace_io::object_store::path::Path;
use lakerace_io::{ErrorKind, JobStore, Result, runtime};
use url::Url;

use crate::error::{from_kernel, to_kernel};
use crate::log_store::LogStore;
use crate::statistics::lenient;

/// The table's folder as the kernel knows it; see [`LogStore`].
pub(crate) const ROOT: &str = "table:///";

type Inner = DefaultEngine<TokioMultiThreadExecutor>;

/// What the kernel reads and writes a table's log with.
pub(crate) struct TableEngine {
    inner: Inner,
    json: Arc<Json>,
    parquet: Arc<Parquet>,
}

impl TableEngine {
    /// For the table in the folder `root`.
    pub fn new(store: &JobStore, root: &Path) -> Result<Self> {
        let executor = Arc::new(TokioMultiThreadExecutor::new(runtime()?.clone()));
        let log = Arc::new(LogStore::new(store, root));
        let inner = DefaultEngineBuilder::new(log).with_task_executor(executor).build();
        let folder = store.url(root);
        let json = Arc::new(Json { inner: inner.json_handler(), folder: folder.clone() });
        let parquet = Arc::new(Parquet { inner: inner.parquet_handler(), folder });
        Ok(Self { inner, json, parquet })
    }
}

impl Engine for TableEngine {
    fn evaluation_handler(&self) -> Arc<dyn EvaluationHandler> {
        self.inner.evaluation_handler()
    }

    fn storage_handler(&self) -> Arc<dyn StorageHandler> {
        self.inner.storage_handler()
    }

    fn json_handler(&self) -> Arc<dyn JsonHandler> {
        Arc::clone(&self.json) as _
    }

    fn parquet_handler(&self) -> Arc<dyn ParquetHandler> {
        Arc::clone(&self.parquet) as _
    }
}

struct Json {
    inner: Arc<dyn JsonHandler>,
    folder: String,
}

impl JsonHandler for Json {
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
        named(files, &self.folder, read)
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

struct Parquet {
    inner: Arc<dyn ParquetHandler>,
    folder: String,
}

impl ParquetHandler for Parquet {
    fn read_parquet_files(
        &self,
        files: &[FileMeta],
        schema: SchemaRef,
        predicate: Option<PredicateRef>,
    ) -> KernelResult<FileDataReadResultIterator> {
        let inner = Arc::clone(&self.inner);
        let read = move |files: &[FileMeta]| inner.read_parquet_files(files, Arc::clone(&schema), predicate.clone());
        named(files, &self.folder, read)
    }

    fn write_parquet_file(
        &self,
        location: Url,
        data: KernelResultIteratorStatic<Box<dyn EngineData>>,
    ) -> KernelResult<FileSize> {
        self.inner.write_parquet_file(location, data)
    }

    fn read_parquet_footer(&self, file: &FileMeta) -> KernelResult<ParquetFooter> {
        self.inner.read_parquet_footer(file).map_err(|e| to_kernel(from_kernel(e).at(place(&self.folder, file))))
    }
}

/// Reads files of the log. The handlers read several at once and don't say which one is damaged: that is found out when
/// it matters, by reading each alone.
struct Reading<R> {
    files: Vec<FileMeta>,
    folder: String,
    read: R,
    batches: FileDataReadResultIterator,
}

fn named<R>(files: &[FileMeta], folder: &str, read: R) -> KernelResult<FileDataReadResultIterator>
where
    R: Fn(&[FileMeta]) -> KernelResult<FileDataReadResultIterator> + Send + 'static,
{
    let batches: FileDataReadResultIterator = Box::new(std::iter::empty());
    let mut reading = Reading { files: files.to_vec(), folder: folder.to_owned(), read, batches };
    reading.batches = (reading.read)(&reading.files).map_err(|error| reading.blame(error))?;
    Ok(Box::new(reading))
}

impl<R: Fn(&[FileMeta]) -> KernelResult<FileDataReadResultIterator>> Reading<R> {
    /// The error with the file that it is about.
    fn blame(&self, error: KernelError) -> KernelError {
        let error = from_kernel(error);
        if matches!(error.kind(), ErrorKind::Cancelled | ErrorKind::Unavailable) {
            return to_kernel(error);
        }
        let error_of = |file: &FileMeta| match (self.read)(std::slice::from_ref(file)) {
            Ok(mut batches) => batches.find_map(|batch| batch.err()),
            Err(error) => Some(error),
        };
        let found = self.files.iter().find_map(|file| Some((file, error_of(file)?)));
        to_kernel(match found {
            Some((file, error)) => from_kernel(error).at(place(&self.folder, file)),
            None => error,
        })
    }
}

impl<R: Fn(&[FileMeta]) -> KernelResult<FileDataReadResultIterator> + Send> Iterator for Reading<R> {
    type Item = KernelResult<Box<dyn EngineData>>;

    fn next(&mut self) -> Option<Self::Item> {
        let next = self.batches.next()?;
        Some(next.map_err(|error| self.blame(error)))
    }
}

/// The name of a file of the log for people, with the version that it is about.
fn place(folder: &str, file: &FileMeta) -> String {
    let path = file.location.path();
    let name = path.rsplit('/').next().unwrap_or(path);
    let version = name.split('.').next().and_then(|digits| digits.parse::<u64>().ok());
    let version = version.map_or(String::new(), |version| format!(": version {version}"));
    format!("{}{path}{version}", folder.trim_end_matches('/'))
}
