//! Bytes that can be read only once and in order: standard input, named pipes, terminals and other devices.

mod object;

use std::fs::{File, Metadata};
use std::io::{ErrorKind as Io, Read, Write};
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use bytes::Bytes;
use lakerace_exec::{CANCEL_POLL, lock};

use crate::config::is_below_connection;
use crate::error::{Error, Result};
use crate::job::Job;
use crate::path::{STANDARD_STREAM, file_path, file_url, split_scheme};
use crate::private_file;

/// Bytes that a pipe accepts without blocking once it has room; more could block.
const PIPE_WRITE_BYTES: usize = 4096;

/// Bytes of a step from a pipe to a temporary file.
const SPOOL_BYTES: usize = 1 << 20;

/// True if the reader of standard output went away.
static STDOUT_CLOSED: AtomicBool = AtomicBool::new(false);

/// A source that can be read once, from the front.
///
/// A job has one for each name, so that all parts of the job that open the name share its bytes.
#[derive(Debug)]
pub struct Pipe {
    name: String,
    state: Mutex<PipeState>,
}

#[derive(Debug)]
struct PipeState {
    file: File,
    /// The bytes at the start, as far as they were peeked at.
    head: Vec<u8>,
    is_at_end: bool,
    is_taken: bool,
    /// All bytes, if their end was needed.
    spooled: Option<SpooledPipe>,
}

impl Pipe {
    /// The pipe that `place` names: `-`, or a path of this machine that is neither a regular file nor a folder. `None` for
    /// everything else. Blocks no longer than it takes to open it.
    pub fn open(place: &str, job: &Job) -> Result<Option<Arc<Self>>> {
        let kind = match place {
            STANDARD_STREAM => None,
            _ => match special_file(place) {
                None => return Ok(None),
                some => some,
            },
        };
        let mut pipes = job.pipes();
        if let Some(known) = pipes.get(place) {
            return Ok(Some(Arc::clone(known)));
        }
        let file = match kind {
            Some((_, metadata)) if metadata.file_type().is_socket() => {
                return Err(Error::unsupported("it is a socket, not a file").at(place));
            }
            // Opening a pipe without a writer would block.
            Some((path, _)) => File::options().read(true).custom_flags(libc::O_NONBLOCK).open(path),
            None => std::io::stdin().as_fd().try_clone_to_owned().map(File::from),
        };
        let file = file.map_err(|error| Error::from(error).at(place))?;
        let state = PipeState { file, head: Vec::new(), is_at_end: false, is_taken: false, spooled: None };
        let pipe = Arc::new(Self { name: place.to_owned(), state: Mutex::new(state) });
        pipes.insert(place.to_owned(), Arc::clone(&pipe));
        Ok(Some(pipe))
    }

    /// Returns true if `place` names a pipe, which is read once.
    pub fn is_named(place: &str) -> bool {
        place == STANDARD_STREAM || special_file(place).is_some()
    }

    /// The text of the user.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The first `n` bytes, or all if there are fewer, and a flag that is true if they are all. [`Self::reader`]
    /// returns them again. Blocks until they have arrived.
    pub fn peek(&self, n: usize, job: &Job) -> Result<(Bytes, bool)> {
        let mut state = self.lock();
        if let Some(spooled) = &state.spooled {
            return spooled.front(n).map_err(|error| Error::from(error).at(&self.name));
        }
        self.refuse_taken(&state)?;
        while state.head.len() < n && !state.is_at_end {
            let missing = n - state.head.len();
            let mut buffer = vec![0; missing.min(SPOOL_BYTES)];
            let got = read_some(&state.file, &mut buffer, job).map_err(|error| error.at(&self.name))?;
            state.is_at_end = got == 0;
            state.head.extend_from_slice(&buffer[..got]);
        }
        let is_whole = state.is_at_end && state.head.len() <= n;
        Ok((Bytes::copy_from_slice(&state.head[..n.min(state.head.len())]), is_whole))
    }

    /// All bytes, from the front. It is an error to ask for them twice.
    pub fn reader(self: &Arc<Self>, job: &Job) -> Result<PipeReader> {
        let mut state = self.lock();
        self.refuse_taken(&state)?;
        state.is_taken = true;
        let head = Bytes::from(std::mem::take(&mut state.head));
        let file = state.file.try_clone().map_err(|error| Error::from(error).at(&self.name))?;
        Ok(PipeReader { name: self.name.clone(), head, file, is_at_end: state.is_at_end, job: job.clone() })
    }

    fn refuse_taken(&self, state: &PipeState) -> Result<()> {
        if !state.is_taken {
            return Ok(());
        }
        Err(Error::usage("a pipe can only be read once, and this one has already been read")
            .at(&self.name)
            .advice("write its bytes to a file, and read that"))
    }

    fn lock(&self) -> MutexGuard<'_, PipeState> {
        lock(&self.state)
    }
}

/// The bytes of a pipe, in order. Waits for them, and ends with an error once the job is cancelled.
#[derive(Debug)]
pub struct PipeReader {
    name: String,
    head: Bytes,
    file: File,
    is_at_end: bool,
    job: Job,
}

impl Read for PipeReader {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let n = if self.head.is_empty() {
            if self.is_at_end {
                return Ok(0);
            }
            let read = read_some(&self.file, buffer, &self.job);
            read.map_err(|error| std::io::Error::other(error.at(&self.name)))?
        } else {
            let n = self.head.len().min(buffer.len());
            buffer[..n].copy_from_slice(&self.head.split_to(n));
            n
        };
        self.is_at_end |= n == 0 && !buffer.is_empty();
        self.job.meter().read_bytes(n as u64);
        Ok(n)
    }
}

/// A file of this process alone that has all bytes of a pipe.
#[derive(Debug)]
struct SpooledPipe(File);

impl SpooledPipe {
    /// The path at which this process can open it.
    fn path(&self) -> String {
        let folder = if cfg!(target_os = "linux") { "/proc/self/fd" } else { "/dev/fd" };
        format!("{folder}/{}", self.0.as_raw_fd())
    }

    /// Takes all bytes of a pipe, and gives their number.
    fn fill(mut reader: PipeReader, job: &Job) -> Result<(Self, u64)> {
        let at_temporary = |error: std::io::Error| Error::from(error).at(std::env::temp_dir().display());
        let spooled = Self(private_file()?);
        let (mut buffer, mut bytes) = (vec![0; SPOOL_BYTES], 0);
        loop {
            job.check()?;
            let n = match reader.read(&mut buffer) {
                Ok(0) => return Ok((spooled, bytes)),
                Ok(n) => n,
                Err(error) => return Err(error.into()),
            };
            (&spooled.0).write_all(&buffer[..n]).map_err(at_temporary)?;
            bytes += n as u64;
        }
    }

    fn front(&self, n: usize) -> std::io::Result<(Bytes, bool)> {
        use std::os::unix::fs::FileExt;
        let size = usize::try_from(self.0.metadata()?.len()).unwrap_or(usize::MAX);
        let mut front = vec![0; n.min(size)];
        self.0.read_exact_at(&mut front, 0)?;
        Ok((front.into(), size <= n))
    }
}

/// Passes bytes on to a pipe, a device or standard output immediately. Waits for room, and ends with an error once the
/// job is cancelled.
#[derive(Debug)]
pub struct PipeWriter {
    file: File,
    is_stdout: bool,
    /// Bytes of a write that can't block when there is room; `None`: as many as there are.
    at_once: Option<usize>,
    job: Job,
}

impl PipeWriter {
    /// The pipe that `place` names: `-`, or a path of this machine that is neither a regular file nor a folder. `None` for
    /// everything else. Waits for the reader of a named pipe.
    pub fn open(place: &str, job: &Job) -> Result<Option<Self>> {
        if place == STANDARD_STREAM {
            let file = std::io::stdout().as_fd().try_clone_to_owned().map(File::from);
            let file = file.map_err(|error| Error::from(error).at(place))?;
            return Self::new(file, true, job).map(Some).map_err(|error| error.at(place));
        }
        let Some((path, metadata)) = special_file(place) else { return Ok(None) };
        if metadata.file_type().is_socket() || metadata.file_type().is_block_device() {
            return Err(Error::unsupported("it is a socket or a disk, not a file").at(place));
        }
        let file = loop {
            job.check()?;
            // Without waiting, because a pipe without a reader would block for ever.
            match File::options().write(true).custom_flags(libc::O_NONBLOCK).open(&path) {
                Err(error) if error.raw_os_error() == Some(libc::ENXIO) => {
                    std::thread::sleep(CANCEL_POLL);
                }
                other => break other.map_err(|error| Error::from(error).at(place))?,
            }
        };
        Self::new(file, false, job).map(Some).map_err(|error| error.at(place))
    }

    fn new(file: File, is_stdout: bool, job: &Job) -> Result<Self> {
        let is_file = file.metadata()?.is_file();
        let at_once = (!is_file).then_some(PIPE_WRITE_BYTES);
        Ok(Self { file, is_stdout, at_once, job: job.clone() })
    }

    /// Returns true if it is a terminal.
    pub fn is_terminal(&self) -> bool {
        std::io::IsTerminal::is_terminal(&self.file)
    }

    /// Returns true if the reader of this process's standard output closed it during a write.
    pub fn is_stdout_closed() -> bool {
        STDOUT_CLOSED.load(Ordering::Relaxed)
    }
}

impl Write for PipeWriter {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let bytes = &bytes[..self.at_once.unwrap_or(bytes.len()).min(bytes.len())];
        loop {
            if self.at_once.is_some() {
                wait(&self.file, libc::POLLOUT, &self.job).map_err(std::io::Error::other)?;
            }
            match (&self.file).write(bytes) {
                Err(error) if matches!(error.kind(), Io::WouldBlock | Io::Interrupted) => {}
                Err(error) => {
                    if self.is_stdout && error.kind() == Io::BrokenPipe {
                        STDOUT_CLOSED.store(true, Ordering::Relaxed);
                    }
                    return Err(error);
                }
                written => return written,
            }
        }
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// The path and the metadata of a place that is neither a regular file nor a folder.
fn special_file(place: &str) -> Option<(std::path::PathBuf, Metadata)> {
    if is_below_connection(place) {
        return None;
    }
    let path = match split_scheme(place) {
        Some((scheme, rest)) if scheme.eq_ignore_ascii_case("file") => file_path(&file_url(rest, place).ok()?),
        Some(_) => return None,
        None => Path::new(place).to_owned(),
    };
    let metadata = std::fs::metadata(&path).ok()?;
    (!metadata.is_file() && !metadata.is_dir()).then_some((path, metadata))
}

/// Some bytes, none at the end. Waits for them.
fn read_some(mut file: &File, buffer: &mut [u8], job: &Job) -> Result<usize> {
    loop {
        wait(file, libc::POLLIN, job)?;
        match file.read(buffer) {
            Err(error) if matches!(error.kind(), Io::WouldBlock | Io::Interrupted) => {}
            other => return Ok(other?),
        }
    }
}

/// Waits until the file can be read or written, or has ended, or the job is cancelled.
fn wait(file: &File, events: libc::c_short, job: &Job) -> Result<()> {
    let mut poll = libc::pollfd { fd: file.as_raw_fd(), events, revents: 0 };
    loop {
        job.check()?;
        // SAFETY: `poll` is one valid entry that outlives the call, and its file is open.
        match unsafe { libc::poll(&raw mut poll, 1, CANCEL_POLL.as_millis() as libc::c_int) } {
            0 => {}
            n if n > 0 => return Ok(()),
            _ => {
                let error = std::io::Error::last_os_error();
                if error.kind() != Io::Interrupted {
                    return Err(error.into());
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
