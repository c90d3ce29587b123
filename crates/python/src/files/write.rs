//! Writes: options, files that are written in parts, batches.

use std::fs::File;
use std::os::fd::BorrowedFd;
use std::os::unix::fs::FileExt;
use std::sync::{Arc, Mutex};

use lakerace::{Error, Result};
use lakerace_exec::OwningProcess;
use lakerace_files::{FileVersion, IfExists, PendingAppend, PutOptions, Store, Write, WriteBatch};
use lakerace_io::wait::{lock, value_mut};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::{PyBytes, PyMemoryView};

use super::name_text::NameText;
use super::{drop_detached, raise, warn};
use crate::errors;

/// The files and bytes that go to a batch together: the interpreter is released in that time.
const CHUNK: (usize, usize) = (1_000, 4 << 20);

/// Bytes of a file that are read in one step.
const PART_BYTES: usize = 1 << 20;

/// The bytes of anything with a buffer.
pub(super) fn bytes_of(data: &Bound<'_, PyAny>) -> PyResult<PyBackedBytes> {
    if let Ok(bytes) = data.cast::<PyBytes>() {
        return Ok(bytes.clone().into());
    }
    let view = PyMemoryView::from(data)?;
    let bytes = view.call_method0("tobytes")?;
    Ok(bytes.cast_into::<PyBytes>()?.into())
}

pub(super) fn if_exists(py: Python<'_>, text: Option<&str>) -> PyResult<IfExists> {
    match text {
        None | Some("replace") => Ok(IfExists::Replace),
        Some("error") => Ok(IfExists::Error),
        Some(other) => Err(errors::raised(
            py,
            &Error::usage(format!("if_exists={other:?}")).advice("known are \"replace\" and \"error\""),
        )),
    }
}

/// The options of a put from its keywords.
pub(super) fn put_options(
    py: Python<'_>,
    exists: Option<&str>,
    compression: Option<&str>,
    metadata: Option<&Bound<'_, PyAny>>,
    mtime_ms: Option<i64>,
) -> PyResult<PutOptions> {
    let metadata = match metadata {
        None => None,
        Some(value) => Some(py.import("json")?.call_method1("dumps", (value,))?.extract::<String>()?),
    };
    Ok(PutOptions {
        if_exists: if_exists(py, exists)?,
        compression: raise(py, compression.map(str::parse).transpose())?,
        metadata,
        mtime_ms,
    })
}

/// The appended content: bytes, or a file of this machine from a position on.
pub(super) enum AppendedBytes {
    Bytes(PyBackedBytes),
    File(File, u64),
}

impl AppendedBytes {
    pub(super) fn from_data(data: &Bound<'_, PyAny>, start: u64) -> PyResult<Self> {
        let Ok(descriptor) = data.extract::<i32>() else { return Ok(Self::Bytes(bytes_of(data)?)) };
        // SAFETY: the caller has the file open during the call, and the descriptor is only copied.
        let file = unsafe { BorrowedFd::borrow_raw(descriptor) }.try_clone_to_owned()?;
        Ok(Self::File(file.into(), start))
    }
}

impl PendingAppend for AppendedBytes {
    fn give(&mut self, each: &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()> {
        match self {
            Self::Bytes(bytes) => each(bytes),
            Self::File(file, start) => {
                let (mut part, mut at) = (vec![0; PART_BYTES], *start);
                loop {
                    match file.read_at(&mut part, at) {
                        Ok(0) => return Ok(()),
                        Ok(read) => {
                            each(&part[..read])?;
                            at += read as u64;
                        }
                        Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                        Err(error) => return Err(error.into()),
                    }
                }
            }
        }
    }
}

/// A state of a file, which a new content may be put in the place of.
#[pyclass(frozen, eq, hash, module = "lakerace._lakerace")]
#[derive(PartialEq, Eq, Hash)]
pub(crate) struct FileState(pub(super) FileVersion);

/// A content that is being written.
#[pyclass(frozen, module = "lakerace._lakerace")]
pub(crate) struct FileWriter {
    writer: Mutex<Option<Box<dyn Write>>>,
    /// The process whose content it is: a forked one neither ends nor publishes it.
    owner: OwningProcess,
}

impl FileWriter {
    pub(super) fn new(writer: Box<dyn Write>) -> Self {
        Self { writer: Mutex::new(Some(writer)), owner: OwningProcess::current() }
    }

    fn check_process(&self) -> Result<()> {
        let forked = "another process has opened this file for writing, and was forked since then";
        self.owner.check().map_err(|_| Error::usage(forked).advice("open it in this process"))
    }
}

#[pymethods]
impl FileWriter {
    fn write(&self, py: Python<'_>, data: &Bound<'_, PyAny>) -> PyResult<usize> {
        let data = bytes_of(data)?;
        raise(py, self.check_process())?;
        let written = py.detach(|| match &mut *lock(&self.writer) {
            Some(writer) => writer.write(&data),
            None => Err(Error::usage("the file is closed")),
        });
        raise(py, written)?;
        Ok(data.len())
    }

    /// At most `length` of the written bytes at `offset`; fewer only at their end.
    fn read_back<'py>(&self, py: Python<'py>, offset: u64, length: usize) -> PyResult<Bound<'py, PyBytes>> {
        raise(py, self.check_process())?;
        let read = py.detach(|| match &mut *lock(&self.writer) {
            Some(writer) => {
                let mut bytes = vec![0; length];
                let read = writer.read_back(offset, &mut bytes)?;
                bytes.truncate(read);
                Ok(bytes)
            }
            None => Err(Error::usage("the file is closed")),
        });
        Ok(PyBytes::new(py, &raise(py, read)?))
    }

    fn finish(&self, py: Python<'_>) -> PyResult<()> {
        raise(py, self.check_process())?;
        let finished = py.detach(|| {
            let writer = lock(&self.writer).take();
            writer.map_or(Ok(()), |writer| writer.finish())
        });
        raise(py, finished)
    }

    fn discard(&self, py: Python<'_>) {
        if !self.owner.is_forked() {
            py.detach(|| drop(lock(&self.writer).take()));
        }
    }
}

impl Drop for FileWriter {
    fn drop(&mut self) {
        let writer = value_mut(&mut self.writer).take();
        if self.owner.is_forked() {
            std::mem::forget(writer);
        } else {
            drop_detached(writer);
        }
    }
}

/// Writes that become visible together.
#[pyclass(subclass, frozen, module = "lakerace._lakerace")]
pub(crate) struct FileBatch {
    /// There until the batch is dropped.
    store: Option<Arc<Store>>,
    batch: Mutex<Option<Box<dyn WriteBatch>>>,
}

impl FileBatch {
    pub(super) fn new(store: Arc<Store>, batch: Box<dyn WriteBatch>) -> Self {
        Self { store: Some(store), batch: Mutex::new(Some(batch)) }
    }

    fn with<T: Send>(&self, py: Python<'_>, run: impl FnOnce(&mut dyn WriteBatch) -> Result<T> + Send) -> PyResult<T> {
        let done = py.detach(|| match &mut *lock(&self.batch) {
            Some(batch) => run(&mut **batch),
            None => Err(Error::usage("the batch has ended").advice("start another one")),
        });
        raise(py, done)
    }

    fn put_chunk(&self, py: Python<'_>, chunk: &[(NameText, PyBackedBytes)], options: &PutOptions) -> PyResult<()> {
        self.with(py, |batch| chunk.iter().try_for_each(|(name, data)| batch.put(name, data, options)))
    }
}

#[pymethods]
impl FileBatch {
    #[pyo3(signature = (name, data, *, if_exists=None, compression=None, metadata=None, mtime_ms=None, replaced=None))]
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
        replaced: Option<PyRef<'_, FileState>>,
    ) -> PyResult<()> {
        let mut options = put_options(py, if_exists, compression, metadata, mtime_ms)?;
        if let Some(state) = replaced {
            options.if_exists = IfExists::ReplaceVersion(state.0);
        }
        let data = bytes_of(data)?;
        self.with(py, |batch| batch.put(&name, &data, &options))
    }

    #[pyo3(signature = (files, *, if_exists=None, compression=None))]
    fn put_many(
        &self,
        py: Python<'_>,
        files: &Bound<'_, PyAny>,
        if_exists: Option<&str>,
        compression: Option<&str>,
    ) -> PyResult<u64> {
        let options = put_options(py, if_exists, compression, None, None)?;
        let (mut chunk, mut bytes, mut count) = (Vec::new(), 0, 0);
        for pair in files.try_iter()? {
            let (name, data): (NameText, Bound<'_, PyAny>) = pair?.extract()?;
            let data = bytes_of(&data)?;
            bytes += data.len();
            count += 1;
            chunk.push((name, data));
            if chunk.len() >= CHUNK.0 || bytes >= CHUNK.1 {
                py.check_signals()?;
                self.put_chunk(py, &chunk, &options)?;
                chunk.clear();
                bytes = 0;
            }
        }
        self.put_chunk(py, &chunk, &options)?;
        Ok(count)
    }

    fn remove(&self, py: Python<'_>, name: NameText) -> PyResult<()> {
        self.with(py, |batch| batch.remove(&name))
    }

    #[pyo3(signature = (source, target, *, if_exists=None))]
    fn rename(&self, py: Python<'_>, source: NameText, target: NameText, if_exists: Option<&str>) -> PyResult<()> {
        let if_exists = self::if_exists(py, if_exists)?;
        self.with(py, |batch| batch.rename(&source, &target, if_exists))
    }

    fn commit(&self, py: Python<'_>) -> PyResult<()> {
        let committed = py.detach(|| {
            let batch = lock(&self.batch).take();
            batch.ok_or_else(|| Error::usage("the batch has ended").advice("start another one"))?.commit()
        });
        raise(py, committed)?;
        self.store.as_deref().map_or(Ok(()), |store| warn(py, store))
    }

    fn discard(&self, py: Python<'_>) {
        py.detach(|| drop(lock(&self.batch).take()));
    }
}

impl Drop for FileBatch {
    fn drop(&mut self) {
        let batch = value_mut(&mut self.batch).take();
        drop_detached((batch, self.store.take()));
    }
}
