//! Copying a content part by part.

use lakerace_io::{Error, Result};

use crate::home::RandomAccessFile;

/// Bytes of an old content that are copied in one step.
const PART_BYTES: usize = 1 << 20;

/// Gives a content to `each`, part by part.
pub(crate) fn copy(content: &mut dyn RandomAccessFile, each: &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()> {
    copy_from(content, 0, each)
}

/// Copies from a position on.
pub(crate) fn copy_from(
    content: &mut dyn RandomAccessFile,
    mut at: u64,
    each: &mut dyn FnMut(&[u8]) -> Result<()>,
) -> Result<()> {
    let mut part = vec![0; content.size().saturating_sub(at).min(PART_BYTES as u64) as usize];
    while at < content.size() {
        let read = content.read_at(at, &mut part)?;
        if read == 0 {
            return Err(Error::corrupt("the content is shorter than its recorded size"));
        }
        each(&part[..read])?;
        at += read as u64;
    }
    Ok(())
}
