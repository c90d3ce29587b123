//! Standard error, which may be closed: the outcome of a command does not depend on it.

use std::io::{self, Write};

/// Prints a text unchanged. A failure is ignored, as there is no other place to report it.
pub(crate) fn text(text: &str) {
    let _ = io::stderr().write_all(text.as_bytes());
}

/// Prints a line.
pub(crate) fn line(text: &str) {
    self::text(&format!("{text}\n"));
}
