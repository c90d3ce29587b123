//! Standard error, which may be gone: what a command has done does not depend on it.

use std::io::{self, Write};

/// Prints a text as it is. No one is left to tell of a failure.
pub(crate) fn text(text: &str) {
    let _ = io::stderr().write_all(text.as_bytes());
}

/// Prints a line.
pub(crate) fn line(text: &str) {
    self::text(&format!("{text}\n"));
}
