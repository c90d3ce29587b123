//! Files of text as sinks: several threads encode rows as text and compress it.

use std::sync::Arc;

use arrow::datatypes::SchemaRef;
use arrow::record_batch::RecordBatch;
use bytes::Bytes;
use lakerace_exec::OrderedPipe;
use lakerace_io::option::COMPRESSION;
use lakerace_io::{Error, Job, Output, Result};

use super::{BYTE_ORDER_MARK, FileCompression, pool_options};
use crate::array_bytes::array_bytes;
use crate::exec::is_large_row;
use crate::options::{Codec, Compression, WriteOptions};
use crate::sink::{Narrowing, Sink, Written};
use crate::uuids::{has_uuids, with_uuid_texts};
use crate::zstd_contexts;

/// Approximate size of the text of one piece of work. Compressed files get a member or frame for each, so it is not
/// small.
const PIECE_BYTES: usize = 2 << 20;

/// The level of `xz` itself.
const XZ_LEVEL: u32 = 6;

/// Rows as text.
pub(crate) trait TextRows: Send + Sync {
    /// The text before the first row.
    fn header(&self) -> Result<Vec<u8>> {
        Ok(Vec::new())
    }

    /// The text after the last row.
    fn footer(&self) -> &[u8] {
        &[]
    }

    /// Appends a batch whose first row has this number, from 1.
    fn append(&self, batch: &RecordBatch, first_row: u64, out: &mut Vec<u8>) -> Result<()>;
}

/// Writes one file of text.
///
/// The file is packed as its name says (`.gz`, `.zst`, `.bz2`, `.xz`), or as the options say where the name says nothing: as a series of
/// members, frames or streams, so that all threads can pack.
pub(crate) struct TextSink {
    output: Output,
    schema: SchemaRef,
    job: Job,
    pieces: OrderedPipe<TextPiece, EncodedPiece, Error>,
    /// Batches that are not enough for a piece yet.
    gathered: Vec<RecordBatch>,
    gathered_rows: usize,
    /// The first piece was sent.
    has_begun: bool,
    /// Something follows the last row.
    has_footer: bool,
    rows: u64,
    /// Rows for a piece of [`PIECE_BYTES`], estimated from earlier pieces.
    piece_rows: usize,
}

/// Some rows, to be written after one another.
struct TextPiece {
    batches: Vec<RecordBatch>,
    first_row: u64,
    is_first: bool,
    is_last: bool,
}

/// A piece as stored, and its size as text.
struct EncodedPiece {
    bytes: Vec<u8>,
    text_bytes: usize,
    rows: usize,
}

/// Encodes pieces as text, and compresses them.
struct TextEncoder {
    rows: Box<dyn TextRows>,
    header: Vec<u8>,
    compression: FileCompression,
    level: Option<i32>,
}

impl TextSink {
    /// Starts a file.
    ///
    /// # Errors
    /// `Usage` for options that contradict one another or the file's name.
    pub fn create(
        output: Output,
        schema: SchemaRef,
        rows: Box<dyn TextRows>,
        options: &WriteOptions,
        job: &Job,
    ) -> Result<Box<dyn Sink>> {
        let header = rows.header().map_err(|error| error.at(output.url()))?;
        let compression = file_compression(output.url(), options.compression)?;
        let level = options.compression.and_then(|c| c.level);
        let has_footer = !rows.footer().is_empty();
        let encoder = TextEncoder { rows, header, compression, level };
        let encode = move |piece: TextPiece| encoder.encode(&piece);
        let pieces = OrderedPipe::start(pool_options("lakerace-text", job), job, encode);
        let guessed_row_bytes = (8 * schema.fields().len()).max(1);
        Ok(Box::new(Self {
            output,
            schema,
            job: job.clone(),
            pieces,
            gathered: Vec::new(),
            has_begun: false,
            has_footer,
            gathered_rows: 0,
            rows: 0,
            piece_rows: (PIECE_BYTES / guessed_row_bytes).max(1),
        }))
    }

    /// Passes the gathered rows to the workers, and writes the pieces that are ready.
    fn send(&mut self, is_last: bool) -> Result<()> {
        self.job.check()?;
        let first_row = self.rows - self.gathered_rows as u64 + 1;
        let piece =
            TextPiece { batches: std::mem::take(&mut self.gathered), first_row, is_first: !self.has_begun, is_last };
        self.has_begun = true;
        self.gathered_rows = 0;
        match self.pieces.push(piece).map_err(|e| e.at(self.output.url()))? {
            Some(stored) => self.store(stored),
            None => Ok(()),
        }
    }

    fn store(&mut self, stored: EncodedPiece) -> Result<()> {
        let row_bytes = stored.text_bytes / stored.rows.max(1);
        self.piece_rows = (PIECE_BYTES / row_bytes.max(1)).max(1);
        if stored.bytes.is_empty() { Ok(()) } else { self.output.write(Bytes::from(stored.bytes)) }
    }
}

impl Sink for TextSink {
    fn write(&mut self, batch: RecordBatch) -> Result<()> {
        let same = batch.schema().fields().iter().map(|f| f.data_type()).eq(self
            .schema
            .fields()
            .iter()
            .map(|f| f.data_type()));
        if !same {
            return Err(Error::internal("a batch has other columns than its sink").at(self.output.url()));
        }
        self.job.meter().wrote_rows(batch.num_rows() as u64);
        let row_bytes = batch.columns().iter().map(array_bytes).sum::<u64>() / batch.num_rows().max(1) as u64;
        // The text size of other rows does not predict that of large ones: they would be gathered until memory is full.
        let most_large_rows = match is_large_row(row_bytes, batch.num_columns()) {
            true => (PIECE_BYTES as u64 / row_bytes) as usize,
            false => usize::MAX,
        };
        let mut from = 0;
        while from < batch.num_rows() {
            let most_rows = self.piece_rows.min(most_large_rows);
            let rows = (batch.num_rows() - from).min(most_rows.saturating_sub(self.gathered_rows).max(1));
            self.gathered.push(batch.slice(from, rows));
            self.gathered_rows += rows;
            self.rows += rows as u64;
            from += rows;
            if self.gathered_rows >= most_rows {
                self.send(false)?;
            }
        }
        Ok(())
    }

    fn narrowing(&self) -> Option<Narrowing> {
        has_uuids(&self.schema).then(|| Arc::new(|batch: &RecordBatch| with_uuid_texts(batch.clone())) as Narrowing)
    }

    fn finish(mut self: Box<Self>) -> Result<Written> {
        // A file without rows still has its header, and a packed one its (empty) member.
        if self.gathered_rows > 0 || self.rows == 0 || self.has_footer {
            self.send(true)?;
        }
        while let Some(stored) = self.pieces.take().map_err(|e| e.at(self.output.url()))? {
            self.store(stored)?;
        }
        let url = self.output.url().to_owned();
        let bytes = self.output.position();
        self.output.finish()?;
        Ok(Written { rows: self.rows, bytes, files: vec![url], ..Written::default() })
    }
}

/// The file's compression, by its name and the options.
fn file_compression(url: &str, compression: Option<Compression>) -> Result<FileCompression> {
    let named = FileCompression::detect(url, &[]);
    if named == FileCompression::Zip {
        return Err(Error::unsupported("zip archives can be read, but not written")
            .at(url)
            .advice("choose a name that ends in .gz, .zst, .bz2 or .xz"));
    }
    let asked = match compression.map(|c| c.codec) {
        None => return Ok(named),
        Some(Codec::None) => FileCompression::None,
        Some(Codec::Gzip) => FileCompression::Gzip,
        Some(Codec::Zstd) => FileCompression::Zstd,
        Some(Codec::Snappy | Codec::Brotli | Codec::Lz4) => {
            return Err(Error::usage("text files can only be compressed with gzip or zstd")
                .at(url)
                .advice(format!("set {COMPRESSION} to gzip, zstd or none")));
        }
    };
    if named != FileCompression::None && named != asked {
        return Err(Error::usage("the file's name and the given codec contradict each other")
            .at(url)
            .advice(format!("omit {COMPRESSION}: the ending of the name determines it")));
    }
    Ok(asked)
}

impl TextEncoder {
    /// Encodes a piece of work.
    fn encode(&self, piece: &TextPiece) -> Result<EncodedPiece> {
        let mut text = Vec::with_capacity(PIECE_BYTES + PIECE_BYTES / 4);
        if piece.is_first {
            text.extend_from_slice(&self.header);
        }
        let mut row = piece.first_row;
        for batch in &piece.batches {
            self.rows.append(batch, row, &mut text)?;
            row += batch.num_rows() as u64;
        }
        if piece.is_first && text.starts_with(BYTE_ORDER_MARK) {
            // A reader takes one away.
            text.splice(0..0, BYTE_ORDER_MARK.iter().copied());
        }
        if piece.is_last {
            text.extend_from_slice(self.rows.footer());
        }
        let text_bytes = text.len();
        let bytes = match self.compression {
            FileCompression::None => text,
            FileCompression::Gzip => {
                let level = self
                    .level
                    .and_then(|l| u32::try_from(l).ok())
                    .map_or_else(flate2::Compression::default, flate2::Compression::new);
                let mut packer = flate2::write::GzEncoder::new(Vec::with_capacity(text.len() / 3), level);
                std::io::Write::write_all(&mut packer, &text)?;
                packer.finish()?
            }
            FileCompression::Zstd => zstd_contexts::compress(&text, self.level)?,
            FileCompression::Bzip2 => {
                let room = Vec::with_capacity(text.len() / 3);
                let mut packer = bzip2::write::BzEncoder::new(room, bzip2::Compression::best());
                std::io::Write::write_all(&mut packer, &text)?;
                packer.finish()?
            }
            FileCompression::Xz => {
                let mut packer = liblzma::write::XzEncoder::new(Vec::with_capacity(text.len() / 3), XZ_LEVEL);
                std::io::Write::write_all(&mut packer, &text)?;
                packer.finish()?
            }
            FileCompression::Zip => return Err(Error::internal("a zip archive can't be written")),
        };
        let rows = (row - piece.first_row) as usize;
        Ok(EncodedPiece { bytes, text_bytes, rows })
    }
}

#[cfg(test)]
mod tests;
