//! Standard output where it is a terminal: rows may hold escape sequences, which only a program should see.

use std::io::{self, Write};

use console::Term;

/// Returns true if standard output is a terminal.
pub(crate) fn is_stdout() -> bool {
    Term::stdout().is_term()
}

/// Passes text on with control characters escaped (`\u001b`), but for ends of lines and tabs.
pub(crate) struct EscapedWriter<W> {
    inner: W,
    /// The first byte of a two-byte character, if it came last.
    pending: bool,
}

/// The first byte of the control characters from U+0080 to U+009F in UTF-8.
const SECOND_CONTROLS: u8 = 0xc2;

impl<W: Write> EscapedWriter<W> {
    pub(crate) fn new(inner: W) -> Self {
        Self { inner, pending: false }
    }
}

impl<W: Write> Write for EscapedWriter<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut safe = Vec::with_capacity(bytes.len() + 1);
        for byte in bytes {
            let after = std::mem::take(&mut self.pending);
            match byte {
                0x80..=0x9f if after => safe.extend(format!("\\u{byte:04x}").bytes()),
                _ => {
                    if after {
                        safe.push(SECOND_CONTROLS);
                    }
                    match *byte {
                        SECOND_CONTROLS => self.pending = true,
                        b'\n' | b'\t' => safe.push(*byte),
                        0..=0x1f | 0x7f => safe.extend(format!("\\u{byte:04x}").bytes()),
                        byte => safe.push(byte),
                    }
                }
            }
        }
        self.inner.write_all(&safe)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        if std::mem::take(&mut self.pending) {
            self.inner.write_all(&[SECOND_CONTROLS])?;
        }
        self.inner.flush()
    }
}

#[cfg(test)]
mod tests;
