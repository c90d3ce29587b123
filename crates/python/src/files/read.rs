//! Contents and properties, from a store or from a snapshot of it.

use std::cell::Cell;
use std::mem::MaybeUninit;
use std::sync::{Arc, Mutex, RwLock};

use lakerace::{Error, ErrorKind, Result};
use lakerace_files::{ContentSink, RandomAccessFile, Reads, Stat};
use lakerace_io::wait::{lock, read_lock, write_lock};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

use super::name_text::NameText;
use super::raise;
use crate::errors;
use crate::interrupt::SignalWatch;

/// Contents up to this are read into memory that the thread keeps; Python gets a copy.
const SMALL_BYTES: usize = 64 << 10;

/// Objects that are made between two looks for signals.
pub(super) const SIGNAL_NAMES: usize = 4_096;

thread_local! {
    static BUFFER: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

/// A sink for small contents: those that fit go into the thread's buffer, of longer ones it keeps the length only.
enum SmallSink<'a> {
    Buffer(&'a mut Vec<u8>),
    TooLong(usize),
}

impl ContentSink for SmallSink<'_> {
    fn begin(&mut self, size: usize) -> Result<&mut [MaybeUninit<u8>]> {
        if size > SMALL_BYTES {
            *self = Self::TooLong(size);
        }
        match self {
            Self::Buffer(buffer) => buffer.begin(size),
            // No one sees this error.
            Self::TooLong(_) => Err(Error::internal("a long content")),
        }
    }
}

/// The memory of a bytes object that no one else has yet.
struct PyBytesBuffer {
    start: *mut u8,
    len: usize,
}

// SAFETY: only this thread has the object until it is complete.
unsafe impl Send for PyBytesBuffer {}

impl ContentSink for PyBytesBuffer {
    fn begin(&mut self, size: usize) -> Result<&mut [MaybeUninit<u8>]> {
        if size != self.len {
            return Err(Error::conflict("the file was replaced while it was read"));
        }
        // SAFETY: the object has `len` bytes, and is not shared.
        Ok(unsafe { std::slice::from_raw_parts_mut(self.start.cast(), size) })
    }
}

/// Reads a content with the interpreter released; a long one goes straight into the bytes object.
pub(super) fn get(py: Python<'_>, reads: &(dyn Reads + '_), name: &str) -> PyResult<Py<PyBytes>> {
    loop {
        // Taken, not borrowed: a transform in Python may read other files in the meantime.
        let mut buffer = BUFFER.take();
        let (got, long) = py.detach(|| {
            let mut sink = SmallSink::Buffer(&mut buffer);
            let got = reads.get(name, &mut sink);
            let long = if let SmallSink::TooLong(size) = sink { Some(size) } else { None };
            (got, long)
        });
        let Some(size) = long else {
            let made = got.map(|size| {
                // SAFETY: a home that answers `Ok` has written all `size` bytes.
                unsafe { buffer.set_len(size) };
                PyBytes::new(py, &buffer).unbind()
            });
            BUFFER.set(buffer);
            return raise(py, made);
        };
        BUFFER.set(buffer);
        let len = isize::try_from(size)
            .map_err(|_| errors::raised(py, &Error::unsupported("the content does not fit into memory")))?;
        // SAFETY: given a null pointer, the function allocates an object whose bytes the caller writes. It returns a
        // new reference, or null with an error set.
        let bytes = unsafe {
            let made = pyo3::ffi::PyBytes_FromStringAndSize(std::ptr::null(), len);
            Bound::from_owned_ptr_or_err(py, made)?.cast_into_unchecked::<PyBytes>()
        };
        // SAFETY: it is a bytes object.
        let start = unsafe { pyo3::ffi::PyBytes_AsString(bytes.as_ptr()) }.cast::<u8>();
        let mut sink = PyBytesBuffer { start, len: size };
        match py.detach(|| reads.get(name, &mut sink)) {
            Ok(_) => return Ok(bytes.unbind()),
            // Another length: once more.
            Err(e) if e.kind() == ErrorKind::Conflict => {}
            Err(e) => return Err(errors::raised(py, &e)),
        }
    }
}

/// Reads many contents of one state; a dict of those that there are. `location` is named in errors.
pub(super) fn get_many<'py>(
    py: Python<'py>,
    (reads, location): (&(dyn Reads + '_), Option<&str>),
    names: &[NameText],
    skip: bool,
) -> PyResult<Bound<'py, PyDict>> {
    let asked: Vec<&str> = names.iter().map(|name| &**name).collect();
    let (got, bytes, parts, watch) = py.detach(|| {
        let mut watch = SignalWatch::new();
        let mut bytes = Vec::new();
        // Start and length of each content.
        let mut parts: Vec<Option<(usize, usize)>> = vec![None; asked.len()];
        let got = reads.get_many(&asked, &mut |at, content| {
            if let Some(part) = parts.get_mut(at) {
                *part = content.map(|content| (bytes.len(), content.len()));
            }
            bytes.extend_from_slice(content.unwrap_or_default());
            watch.check()
        });
        (got, bytes, parts, watch)
    });
    watch.end(py, got)?;
    let all = PyDict::new(py);
    for (at, (name, part)) in names.iter().zip(parts).enumerate() {
        if at % SIGNAL_NAMES == 0 {
            py.check_signals()?;
        }
        match part {
            Some((start, len)) => all.set_item(&name.0, PyBytes::new(py, &bytes[start..start + len]))?,
            None if skip => {}
            None => {
                let missing = Error::not_found("no such file").at(&**name);
                return Err(errors::raised(py, &location.map_or(missing.clone(), |location| missing.at(location))));
            }
        }
    }
    Ok(all)
}

/// A file's properties as a tuple, its metadata as JSON.
pub(super) type StatTuple = (String, u64, i64, Option<u64>, String, Option<String>);

pub(super) fn stat_tuple(stat: Stat) -> StatTuple {
    (stat.name, stat.size, stat.mtime_ms, stat.checksum, stat.encoding, stat.metadata)
}

pub(super) fn list_page(
    py: Python<'_>,
    reads: &(dyn Reads + '_),
    prefix: &str,
    from: &str,
    limit: usize,
) -> PyResult<Vec<StatTuple>> {
    let page = py.detach(|| reads.list(prefix, from, limit));
    Ok(raise(py, page)?.into_iter().map(stat_tuple).collect())
}

pub(super) fn skips(py: Python<'_>, missing: &str) -> PyResult<bool> {
    match missing {
        "error" => Ok(false),
        "skip" => Ok(true),
        _ => Err(errors::raised(
            py,
            &Error::usage(format!("missing={missing:?}")).advice("known are \"error\" and \"skip\""),
        )),
    }
}

/// A state of a store.
#[pyclass(subclass, frozen, module = "lakerace._lakerace")]
pub(crate) struct FileSnapshot {
    reads: RwLock<Option<Arc<dyn Reads>>>,
}

impl FileSnapshot {
    pub(super) fn new(reads: Box<dyn Reads>) -> Self {
        Self { reads: RwLock::new(Some(Arc::from(reads))) }
    }

    fn open_reads(&self, py: Python<'_>) -> PyResult<Arc<dyn Reads>> {
        let reads = read_lock(&self.reads).clone();
        raise(py, reads.ok_or_else(|| Error::usage("the snapshot is closed").advice("take another one")))
    }
}

#[pymethods]
impl FileSnapshot {
    fn get(&self, py: Python<'_>, name: NameText) -> PyResult<Py<PyBytes>> {
        let reads = self.open_reads(py)?;
        get(py, &*reads, &name)
    }

    #[pyo3(signature = (names, *, missing="error"))]
    fn get_many<'py>(&self, py: Python<'py>, names: Vec<NameText>, missing: &str) -> PyResult<Bound<'py, PyDict>> {
        let skip = skips(py, missing)?;
        get_many(py, (&*self.open_reads(py)?, None), &names, skip)
    }

    fn _stat(&self, py: Python<'_>, name: NameText) -> PyResult<Option<StatTuple>> {
        let reads = self.open_reads(py)?;
        Ok(raise(py, py.detach(|| reads.stat(&name)))?.map(stat_tuple))
    }

    fn _list(&self, py: Python<'_>, prefix: NameText, from: NameText, limit: usize) -> PyResult<Vec<StatTuple>> {
        list_page(py, &*self.open_reads(py)?, &prefix, &from, limit)
    }

    fn _open_read(&self, py: Python<'_>, name: NameText) -> PyResult<FileReader> {
        let reads = self.open_reads(py)?;
        let content = raise(py, py.detach(|| reads.open(&name)))?;
        Ok(FileReader::new(content))
    }

    fn close(&self, py: Python<'_>) {
        let reads = write_lock(&self.reads).take();
        py.detach(|| drop(reads));
    }
}

/// An open content.
#[pyclass(frozen, module = "lakerace._lakerace")]
pub(crate) struct FileReader {
    #[pyo3(get)]
    size: u64,
    content: Mutex<Box<dyn RandomAccessFile>>,
}

impl FileReader {
    pub(super) fn new(content: Box<dyn RandomAccessFile>) -> Self {
        Self { size: content.size(), content: Mutex::new(content) }
    }
}

#[pymethods]
impl FileReader {
    /// At most `length` bytes at `offset`; fewer only at the content's end.
    fn read_at<'py>(&self, py: Python<'py>, offset: u64, length: usize) -> PyResult<Bound<'py, PyBytes>> {
        let len = self.size.saturating_sub(offset).min(length as u64) as usize;
        PyBytes::new_with(py, len, |out| {
            let read = py.detach(|| {
                let mut content = lock(&self.content);
                content.read_at(offset, out)
            });
            match raise(py, read)? == len {
                true => Ok(()),
                false => Err(errors::raised(py, &Error::corrupt("the content is shorter than its length says"))),
            }
        })
    }
}
