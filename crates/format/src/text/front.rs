//! The start of a file's text, for a sample of its rows.

use std::io::{BufRead, Read};

use bytes::Bytes;
use lakerace_io::{Job, Object, Pipe, Result};

use super::{FileCompression, RangeReader, TextForm, ZipMember, read_block};

/// Limit of bytes of text that are examined.
pub(crate) const MAX_SAMPLE_BYTES: usize = 4 << 20;

/// Bytes of text that are examined first: they are usually enough.
const FIRST_SAMPLE_BYTES: usize = 512 << 10;

/// Bytes of a request for a compressed file's front.
const COMPRESSED_STEP_BYTES: u64 = 256 << 10;

/// The first bytes of a file's text, and a flag that is true if they are all of it.
pub(crate) fn read_front(object: &Object, rows: usize, form: TextForm) -> Result<(Bytes, bool)> {
    if let Some(pipe) = object.stream() {
        return front_of_pipe(pipe, form, &object.store.job);
    }
    let size = object.size_bytes.unwrap_or(0);
    let named = FileCompression::detect(object.path.as_ref(), &[]);
    if named == FileCompression::None && form.is_plain() {
        let first = object.read_range(0..size.min(FIRST_SAMPLE_BYTES as u64))?;
        if FileCompression::detect("", &first) == FileCompression::None {
            let enough = first.len() as u64 == size || has_rows(&first, rows);
            let text = if enough { first } else { object.read_range(0..size.min(MAX_SAMPLE_BYTES as u64))? };
            let is_whole = text.len() as u64 == size;
            return Ok((text, is_whole));
        }
    }
    let source = object.clone();
    let mut compressed = RangeReader::new(move |at| {
        let end = size.min(at + COMPRESSED_STEP_BYTES);
        if at < end { source.read_range(at..end) } else { Ok(Bytes::new()) }
    });
    let compression = if named == FileCompression::None {
        let first = compressed.fill_buf().map_err(|e| named.error(&e))?;
        FileCompression::detect("", first)
    } else {
        named
    };
    let text = match compression {
        FileCompression::Zip => {
            let member = ZipMember::find(object, form.format)?;
            let (source, packed) = (object.clone(), member.packed.clone());
            member.decompress(RangeReader::new(move |at| {
                let at = packed.start + at;
                let end = packed.end.min(at + COMPRESSED_STEP_BYTES);
                if at < end { source.read_range(at..end) } else { Ok(Bytes::new()) }
            }))
        }
        _ => compression.decompress(compressed)?,
    };
    decompressed_front(form.lines_of(text), compression, rows)
}

/// The front of a pipe, which keeps it for the read; of a compressed one, the text of its first bytes.
fn front_of_pipe(pipe: &Pipe, form: TextForm, job: &Job) -> Result<(Bytes, bool)> {
    let (front, is_whole) = pipe.peek(FIRST_SAMPLE_BYTES, job)?;
    let compression = FileCompression::detect(pipe.name(), &front);
    if compression == FileCompression::None && form.is_plain() {
        return Ok((front, is_whole));
    }
    let mut reader = form.lines_of(compression.decompress(std::io::Cursor::new(front))?);
    let mut text = Vec::new();
    let outcome = reader.as_mut().take(MAX_SAMPLE_BYTES as u64).read_to_end(&mut text);
    // A stream that ends within a compressed block gives no more.
    if is_whole || text.is_empty() {
        outcome.map_err(|e| compression.error(&e))?;
    }
    let is_whole = is_whole && text.len() < MAX_SAMPLE_BYTES;
    Ok((Bytes::from(text), is_whole))
}

fn decompressed_front(
    mut reader: Box<dyn Read + Send>,
    compression: FileCompression,
    rows: usize,
) -> Result<(Bytes, bool)> {
    let mut read = |bytes| read_block(reader.as_mut(), bytes).map_err(|e| compression.error(&e));
    let first = read(FIRST_SAMPLE_BYTES)?;
    if first.len() < FIRST_SAMPLE_BYTES {
        return Ok((first, true));
    }
    if has_rows(&first, rows) {
        return Ok((first, false));
    }
    let more = read(MAX_SAMPLE_BYTES - FIRST_SAMPLE_BYTES)?;
    let is_whole = more.len() < MAX_SAMPLE_BYTES - FIRST_SAMPLE_BYTES;
    Ok((Bytes::from([first, more].concat()), is_whole))
}

/// True where the text has this many lines after a header.
fn has_rows(text: &[u8], rows: usize) -> bool {
    memchr::memchr_iter(b'\n', text).nth(rows).is_some()
}
