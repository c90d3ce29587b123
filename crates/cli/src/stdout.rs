//! Standard output, which may close early.

use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, Ordering};

use lakerace::{Error, Result};
use lakerace_io::printable;

static CLOSED: AtomicBool = AtomicBool::new(false);

/// Standard output that remembers when its reader went away.
pub(crate) struct Stdout(io::StdoutLock<'static>);

impl Stdout {
    pub(crate) fn lock() -> Self {
        Self(io::stdout().lock())
    }
}

impl Write for Stdout {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes).inspect_err(note)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush().inspect_err(note)
    }
}

fn note(error: &io::Error) {
    if error.kind() == io::ErrorKind::BrokenPipe {
        CLOSED.store(true, Ordering::Relaxed);
    }
}

/// The same, to be written to by any thread.
pub(crate) struct Writer(io::Stdout);

impl Writer {
    pub(crate) fn new() -> Self {
        Self(io::stdout())
    }
}

impl Write for Writer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().write(bytes).inspect_err(note)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.lock().flush().inspect_err(note)
    }
}

/// Whether the reader of our standard output went away.
pub(crate) fn is_closed() -> bool {
    CLOSED.load(Ordering::Relaxed)
}

/// Prints one line, or several, with control characters escaped as in JSON.
pub(crate) fn line(text: &str) -> Result<()> {
    let mut out = Stdout::lock();
    writeln!(out, "{}", printable(text)).and_then(|()| out.flush()).map_err(|e| Error::from(e).at("standard output"))
}
