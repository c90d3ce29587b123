//! Standard output, which may close early.

use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use lakerace::{Error, Result};

use crate::shown;

static CLOSED: AtomicBool = AtomicBool::new(false);

/// Writes that are under way.
static WRITES: AtomicUsize = AtomicUsize::new(0);

/// Standard output that remembers when its reader went away.
pub(crate) struct PipeStdout(io::StdoutLock<'static>);

impl PipeStdout {
    pub(crate) fn lock() -> Self {
        Self(io::stdout().lock())
    }
}

impl Write for PipeStdout {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        noted(|| self.0.write(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        noted(|| self.0.flush())
    }
}

/// Returns true if a thread waits for standard output to take something.
pub(crate) fn is_writing() -> bool {
    WRITES.load(Ordering::Relaxed) > 0
}

fn noted<T>(write: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
    WRITES.fetch_add(1, Ordering::Relaxed);
    let outcome = write();
    WRITES.fetch_sub(1, Ordering::Relaxed);
    outcome.inspect_err(note).map_err(placed)
}

/// The error with its place, which writers between here and the command keep. A closed reader is no error to report.
fn placed(error: io::Error) -> io::Error {
    match error.kind() {
        io::ErrorKind::BrokenPipe | io::ErrorKind::Interrupted => error,
        kind => io::Error::new(kind, Error::from(error).at("standard output")),
    }
}

fn note(error: &io::Error) {
    if error.kind() == io::ErrorKind::BrokenPipe {
        CLOSED.store(true, Ordering::Relaxed);
    }
}

/// Standard output for any thread.
pub(crate) struct StdoutWriter(io::Stdout);

impl StdoutWriter {
    pub(crate) fn new() -> Self {
        Self(io::stdout())
    }
}

impl Write for StdoutWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        noted(|| self.0.lock().write(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        noted(|| self.0.lock().flush())
    }
}

/// Returns true if the reader of our standard output went away.
pub(crate) fn is_closed() -> bool {
    CLOSED.load(Ordering::Relaxed) || lakerace_io::PipeWriter::is_stdout_closed()
}

/// Prints one line, or several, with options as flags and control characters escaped as in JSON.
pub(crate) fn line(text: &str) -> Result<()> {
    let mut out = PipeStdout::lock();
    writeln!(out, "{}", shown::text(text)).and_then(|()| out.flush()).map_err(|e| Error::from(e).at("standard output"))
}
