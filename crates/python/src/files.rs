//! The small-file store.

mod name_text;
mod read;
mod transform;
mod write;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, RwLock};
use std::time::Duration;

use lakerace::{DurabilityLevel, Error, Job, JobOptions, JobPlaces, Result, check_new_file};
use lakerace_files::{Archive, ArchiveKind, Child, IfExists, Options, PutOptions, SecretKey, Store};
use lakerace_io::wait::{lock, read_lock, write_lock};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::{PyBytes, PyDict};

use crate::options::ByteCount;
use crate::{convert, errors, interrupt, warnings};
use name_text::NameText;
use read::{FileReader, FileSnapshot, StatTuple, get, get_many, list_page, skips, stat_tuple};
use write::{AppendedBytes, FileBatch, FileState, FileWriter, bytes_of, put_options};

fn raise<T>(py: Python<'_>, outcome: Result<T>) -> PyResult<T> {
    outcome.map_err(|e| errors::raised(py, &e))
}

fn closed() -> Error {
    Error::usage("the store is closed").advice("open it again")
}

/// A store of files. The package's `Store` is its subclass.
#[pyclass(subclass, frozen, module = "lakerace._lakerace")]
pub(crate) struct FileStore {
    store: RwLock<Option<Arc<Store>>>,
}

impl FileStore {
    fn open_store(&self, py: Python<'_>) -> PyResult<Arc<Store>> {
        let store = read_lock(&self.store).clone();
        raise(py, store.ok_or_else(closed))
    }
}

/// Drops a value that may wait for other threads or for a store, with the interpreter released.
fn drop_detached<T: Send>(held: T) {
    let mut held = Some(held);
    // If the interpreter has ended, the value is dropped at the end of this function.
    let _ = Python::try_attach(|py| py.detach(|| drop(held.take())));
}

impl Drop for FileStore {
    fn drop(&mut self) {
        drop_detached(write_lock(&self.store).take());
    }
}

fn warn(py: Python<'_>, store: &Store) -> PyResult<()> {
    warnings::issue(py, store.warnings(), None)
}

/// Runs a long operation on a separate thread; Ctrl-C ends it. `progress` is called with files and bytes.
fn long<T: Send + 'static>(
    py: Python<'_>,
    progress: Option<Py<PyAny>>,
    work: impl FnOnce(&mut dyn FnMut(u64, u64) -> bool) -> Result<T> + Send + 'static,
) -> PyResult<T> {
    long_of(py, &Job::new(JobOptions::default()), progress, work)
}

/// Runs a function as a part of a job, which Ctrl-C cancels.
fn long_of<T: Send + 'static>(
    py: Python<'_>,
    job: &Job,
    progress: Option<Py<PyAny>>,
    work: impl FnOnce(&mut dyn FnMut(u64, u64) -> bool) -> Result<T> + Send + 'static,
) -> PyResult<T> {
    let watched = job.clone();
    let failure = Arc::new(Mutex::new(None));
    let failed = Arc::clone(&failure);
    let done = interrupt::run(py, job, move || {
        work(&mut |files, bytes| {
            let called = progress.as_ref().map(|call| Python::attach(|py| call.call1(py, (files, bytes)).map(drop)));
            if let Some(Err(error)) = called {
                *lock(&failed) = Some(error);
                return false;
            }
            !watched.is_cancelled()
        })
    });
    match lock(&failure).take() {
        Some(error) => Err(error),
        None => done,
    }
}

#[pymethods]
impl FileStore {
    #[new]
    #[pyo3(signature = (location, *, create=true, read_only=false, durability="normal", compression=None, pack_bytes=None,
        transforms=Vec::new(), key=None, encrypt=None, busy_timeout=60.0, page_bytes=ByteCount(8192),
        wal_limit_bytes=ByteCount(67_108_864), storage_options=None))]
    #[expect(clippy::too_many_arguments, reason = "Python's keywords")]
    fn new(
        py: Python<'_>,
        location: PathBuf,
        create: bool,
        read_only: bool,
        durability: &str,
        compression: Option<&str>,
        pack_bytes: Option<ByteCount<u32>>,
        transforms: Vec<Bound<'_, PyAny>>,
        key: Option<PyBackedBytes>,
        encrypt: Option<bool>,
        busy_timeout: f64,
        page_bytes: ByteCount<u32>,
        wal_limit_bytes: ByteCount<u64>,
        storage_options: Option<BTreeMap<String, String>>,
    ) -> PyResult<Self> {
        let location = location.into_os_string().into_string();
        let location = raise(py, location.map_err(|_| Error::usage("the location is not valid UTF-8")))?;
        let busy_timeout = Duration::try_from_secs_f64(busy_timeout).map_err(|_| {
            errors::raised(py, &Error::usage(format!("busy_timeout={busy_timeout}: not a number of seconds")))
        })?;
        let options = Options {
            create,
            read_only,
            durability: raise(py, durability.parse())?,
            compression: raise(py, compression.map(str::parse).transpose())?,
            pack_bytes: pack_bytes.map(|count| count.0),
            transforms: transform::transforms(&transforms)?,
            encrypt: encrypt.unwrap_or(key.is_some()),
            key: raise(py, key.as_ref().map(|key| SecretKey::new(key)).transpose())?,
            busy_timeout,
            page_bytes: page_bytes.0,
            wal_limit_bytes: wal_limit_bytes.0,
            storage: storage_options.unwrap_or_default().into_iter().collect(),
            cache_folder: None,
        };
        let places = JobPlaces::default().small_files(&location, !read_only);
        raise(py, places.check(&options.storage, &JobOptions::default()))?;
        let store =
            raise(py, py.detach(|| lakerace::open_files(&location, options, &Job::new(JobOptions::default()))))?;
        warn(py, &store)?;
        Ok(Self { store: RwLock::new(Some(Arc::new(store))) })
    }

    /// The content of a file.
    fn get(&self, py: Python<'_>, name: NameText) -> PyResult<Py<PyBytes>> {
        let store = self.open_store(py)?;
        get(py, store.home(), &name)
    }

    /// Puts a content.
    #[pyo3(signature = (name, data, *, if_exists=None, compression=None, metadata=None, mtime_ms=None))]
    #[expect(clippy::too_many_arguments, reason = "Python's keywords")]
    fn put(
        &self,
        py: Python<'_>,
        name: NameText,
        data: &Bound<'_, PyAny>,
        if_exists: Option<&str>,
        compression: Option<&str>,
        metadata: Option<&Bound<'_, PyAny>>,
        mtime_ms: Option<i64>,
    ) -> PyResult<()> {
        let store = self.open_store(py)?;
        let options = put_options(py, if_exists, compression, metadata, mtime_ms)?;
        let data = bytes_of(data)?;
        raise(py, py.detach(|| store.put(&name, &data, &options)))?;
        warn(py, &store)
    }

    /// Contents of one state by their names.
    #[pyo3(signature = (names, *, missing="error"))]
    fn get_many<'py>(&self, py: Python<'py>, names: Vec<NameText>, missing: &str) -> PyResult<Bound<'py, PyDict>> {
        let skip = skips(py, missing)?;
        let store = self.open_store(py)?;
        get_many(py, (store.home(), Some(store.location())), &names, skip)
    }

    fn exists(&self, py: Python<'_>, name: NameText) -> PyResult<bool> {
        let store = self.open_store(py)?;
        raise(py, py.detach(|| store.exists(&name)))
    }

    fn _stat(&self, py: Python<'_>, name: NameText) -> PyResult<Option<StatTuple>> {
        let store = self.open_store(py)?;
        Ok(raise(py, py.detach(|| store.stat(&name)))?.map(stat_tuple))
    }

    fn _list(&self, py: Python<'_>, prefix: NameText, from: NameText, limit: usize) -> PyResult<Vec<StatTuple>> {
        list_page(py, self.open_store(py)?.home(), &prefix, &from, limit)
    }

    fn _glob(&self, py: Python<'_>, pattern: NameText) -> PyResult<Vec<StatTuple>> {
        let store = self.open_store(py)?;
        let found = py.detach(|| store.glob(&pattern));
        Ok(raise(py, found)?.into_iter().map(stat_tuple).collect())
    }

    fn _children(&self, py: Python<'_>, folder: NameText) -> PyResult<Vec<(String, Option<StatTuple>)>> {
        let store = self.open_store(py)?;
        let found = raise(py, py.detach(|| store.children(&folder)))?;
        let told = found.into_iter().map(|child| match child {
            Child::Folder(name) => (name, None),
            Child::File(stat) => (stat.name.clone(), Some(stat_tuple(stat))),
        });
        Ok(told.collect())
    }

    fn remove(&self, py: Python<'_>, name: NameText) -> PyResult<()> {
        let store = self.open_store(py)?;
        raise(py, py.detach(|| store.remove(&name)))
    }

    fn remove_tree(&self, py: Python<'_>, folder: NameText) -> PyResult<u64> {
        let store = self.open_store(py)?;
        raise(py, py.detach(|| store.remove_tree(&folder)))
    }

    #[pyo3(signature = (source, target, *, if_exists=None))]
    fn rename(&self, py: Python<'_>, source: NameText, target: NameText, if_exists: Option<&str>) -> PyResult<()> {
        let (store, if_exists) = (self.open_store(py)?, write::if_exists(py, if_exists)?);
        raise(py, py.detach(|| store.rename(&source, &target, if_exists)))
    }

    #[pyo3(signature = (source, target, *, if_exists=None))]
    fn rename_tree(
        &self,
        py: Python<'_>,
        source: NameText,
        target: NameText,
        if_exists: Option<&str>,
    ) -> PyResult<u64> {
        let (store, if_exists) = (self.open_store(py)?, write::if_exists(py, if_exists)?);
        raise(py, py.detach(|| store.rename_tree(&source, &target, if_exists)))
    }

    #[pyo3(signature = (source, target, *, if_exists=None))]
    fn copy(&self, py: Python<'_>, source: NameText, target: NameText, if_exists: Option<&str>) -> PyResult<()> {
        let (store, if_exists) = (self.open_store(py)?, write::if_exists(py, if_exists)?);
        raise(py, py.detach(|| store.copy(&source, &target, if_exists)))
    }

    fn _set_metadata(&self, py: Python<'_>, name: NameText, metadata: Option<&str>) -> PyResult<()> {
        let store = self.open_store(py)?;
        raise(py, py.detach(|| store.set_metadata(&name, metadata)))
    }

    fn _open_read(&self, py: Python<'_>, name: NameText) -> PyResult<FileReader> {
        let store = self.open_store(py)?;
        let content = raise(py, py.detach(|| store.open_read(&name)))?;
        Ok(FileReader::new(content))
    }

    #[pyo3(signature = (name, *, if_exists=None, compression=None, metadata=None, mtime_ms=None, replaced=None))]
    #[expect(clippy::too_many_arguments, reason = "Python's keywords")]
    fn _create(
        &self,
        py: Python<'_>,
        name: NameText,
        if_exists: Option<&str>,
        compression: Option<&str>,
        metadata: Option<&Bound<'_, PyAny>>,
        mtime_ms: Option<i64>,
        replaced: Option<PyRef<'_, FileState>>,
    ) -> PyResult<FileWriter> {
        let store = self.open_store(py)?;
        let mut options = put_options(py, if_exists, compression, metadata, mtime_ms)?;
        if let Some(state) = replaced {
            options.if_exists = IfExists::ReplaceVersion(state.0);
        }
        let writer = raise(py, py.detach(|| store.create(&name, &options)))?;
        warn(py, &store)?;
        Ok(FileWriter::new(writer))
    }

    /// The state of a file; None where there is none.
    fn _version(&self, py: Python<'_>, name: NameText) -> PyResult<Option<FileState>> {
        let store = self.open_store(py)?;
        Ok(raise(py, py.detach(|| store.version(&name)))?.map(FileState))
    }

    /// Appends bytes, or those of a file of this machine by its descriptor, in one step.
    #[pyo3(signature = (name, data, *, start=0, compression=None, metadata=None, mtime_ms=None))]
    #[expect(clippy::too_many_arguments, reason = "Python's keywords")]
    fn _append(
        &self,
        py: Python<'_>,
        name: NameText,
        data: &Bound<'_, PyAny>,
        start: u64,
        compression: Option<&str>,
        metadata: Option<&Bound<'_, PyAny>>,
        mtime_ms: Option<i64>,
    ) -> PyResult<()> {
        let store = self.open_store(py)?;
        let options = put_options(py, None, compression, metadata, mtime_ms)?;
        let mut tail = AppendedBytes::from_data(data, start)?;
        raise(py, py.detach(|| store.append(&name, &mut tail, &options)))?;
        warn(py, &store)
    }

    fn _batch(&self, py: Python<'_>) -> PyResult<FileBatch> {
        let store = self.open_store(py)?;
        let batch = raise(py, py.detach(|| store.batch()))?;
        Ok(FileBatch::new(store, batch))
    }

    fn _snapshot(&self, py: Python<'_>) -> PyResult<FileSnapshot> {
        let store = self.open_store(py)?;
        let reads = raise(py, py.detach(|| store.snapshot()))?;
        Ok(FileSnapshot::new(reads))
    }

    #[pyo3(signature = (tree, folder, progress))]
    fn _import_tree(
        &self,
        py: Python<'_>,
        tree: PathBuf,
        folder: NameText,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<(u64, u64)> {
        let store = self.open_store(py)?;
        let told = Arc::clone(&store);
        let done = long(py, progress, move |go| store.import_tree(&tree, &folder, &PutOptions::default(), go))?;
        warn(py, &told)?;
        Ok(done)
    }

    #[pyo3(signature = (folder, tree, if_exists, progress))]
    fn _export_tree(
        &self,
        py: Python<'_>,
        folder: NameText,
        tree: PathBuf,
        if_exists: Option<&str>,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<(u64, u64)> {
        let (store, if_exists) = (self.open_store(py)?, write::if_exists(py, if_exists)?);
        raise(py, check_new_file(&tree, &Job::new(JobOptions::default())))?;
        long(py, progress, move |go| store.export_tree(&folder, (&tree, DurabilityLevel::Full), if_exists, go))
    }

    #[pyo3(signature = (archive, kind, folder, progress))]
    fn _import_archive(
        &self,
        py: Python<'_>,
        archive: PathBuf,
        kind: &str,
        folder: NameText,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<(u64, u64)> {
        let store = self.open_store(py)?;
        let kind: ArchiveKind = raise(py, kind.parse())?;
        long(py, progress, move |go| {
            let file = std::fs::File::open(&archive).map_err(|e| Error::from(e).at(archive.display()))?;
            let done = store.import_archive(Archive::File(file), kind, &folder, &PutOptions::default(), go);
            done.map_err(|e| e.at(archive.display()))
        })
    }

    #[pyo3(signature = (folder, archive, kind, if_exists, progress))]
    fn _export_archive(
        &self,
        py: Python<'_>,
        folder: NameText,
        archive: PathBuf,
        kind: &str,
        if_exists: Option<&str>,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<(u64, u64)> {
        let (store, if_exists) = (self.open_store(py)?, write::if_exists(py, if_exists)?);
        let kind: ArchiveKind = raise(py, kind.parse())?;
        let job = Job::new(JobOptions::default());
        let own = job.clone();
        raise(py, check_new_file(&archive, &job))?;
        long_of(py, &job, progress, move |go| {
            let done = store.export_file(&folder, (&archive, kind), if_exists, &own, go);
            done.map_err(|e| e.at(archive.display()))
        })
    }

    fn _verify(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        let store = self.open_store(py)?;
        let verified = long(py, None, move |go| store.verify_with(go))?;
        convert::to_python(py, &verified)
    }

    fn _compact(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        let store = self.open_store(py)?;
        let compacted = long(py, None, move |go| store.compact_with(go))?;
        convert::to_python(py, &compacted)
    }

    fn flush(&self, py: Python<'_>) -> PyResult<()> {
        let store = self.open_store(py)?;
        raise(py, py.detach(|| store.flush()))
    }

    fn train(&self, py: Python<'_>) -> PyResult<u32> {
        let store = self.open_store(py)?;
        long(py, None, move |_| store.train())
    }

    /// Commits writes that are only in memory, and closes the connections as soon as nothing uses them. If that fails, the
    /// store stays open with all of its state.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        let store = read_lock(&self.store).clone();
        let Some(store) = store else { return Ok(()) };
        let closed = py.detach(|| {
            store.close()?;
            let held = write_lock(&self.store).take();
            drop((held, store));
            Ok(())
        });
        raise(py, closed)
    }

    #[getter]
    fn location(&self, py: Python<'_>) -> PyResult<String> {
        Ok(self.open_store(py)?.location().to_owned())
    }
}

/// Adds the classes to the module.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<FileStore>()?;
    module.add_class::<FileSnapshot>()?;
    module.add_class::<FileReader>()?;
    module.add_class::<FileWriter>()?;
    module.add_class::<FileState>()?;
    module.add_class::<FileBatch>()
}
