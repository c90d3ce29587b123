//! The end of a file: postscript, footer and metadata.

use bytes::Bytes;
use prost::Message;

use super::reader_clock::ReaderClock;
use super::wire;
use super::writer_kind::WriterSoftware;
use crate::compress::{Codec, DEFAULT_BLOCK_SIZE, Decompressor, MAX_BLOCK_SIZE};
use crate::error::{Error, Result};
use crate::proto::{self, CalendarKind};
use crate::schema::{MAX_COLUMNS, OrcType};

/// The bytes at the start of every file and at the end of its postscript.
pub const MAGIC: &[u8; 3] = b"ORC";

/// A footer that is longer than this, decompressed, is taken for damage.
pub const MAX_FOOTER_BYTES: usize = 64 << 20;

/// Metadata (the statistics of all stripes) that are longer than this, decompressed, are taken for damage.
pub const MAX_METADATA_BYTES: usize = 512 << 20;

/// The version that files of an unfinished second version of the format have.
const UNSTABLE_VERSION: (u32, u32) = (1, 9999);

/// The outcome of [`FileTail::parse`].
#[derive(Debug, Clone)]
pub enum TailStep {
    /// So many of the file's last bytes are needed; more than were given.
    Need(u64),
    /// The tail.
    Done(Box<FileTail>),
}

/// The place of a stripe in the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StripeInfo {
    /// The offset of its first byte in the file.
    pub offset: u64,
    /// Bytes of row indexes and bloom filters.
    pub index_bytes: u64,
    /// Bytes of data.
    pub data_bytes: u64,
    /// Bytes of the stripe's footer.
    pub footer_bytes: u64,
    /// Rows.
    pub rows: u64,
}

impl StripeInfo {
    /// The range of the stripe's footer in the file: first byte and length.
    pub fn footer_range(&self) -> (u64, u64) {
        (self.offset + self.index_bytes + self.data_bytes, self.footer_bytes)
    }
}

/// Schema, stripes and statistics of a file.
#[derive(Debug, Clone)]
pub struct FileTail {
    pub(crate) footer: proto::Footer,
    pub(crate) postscript: proto::PostScript,
    pub(super) root: OrcType,
    /// The clock by which timestamps are instants; `None` where they are the time that the writer's clock showed.
    pub(super) clock: Option<ReaderClock>,
    stripes: Vec<StripeInfo>,
    codec: Codec,
    block: usize,
    pub(super) metadata: Bytes,
    pub(super) stripe_statistics: Vec<(usize, usize)>,
}

impl FileTail {
    /// Reads the tail of a file of `file_bytes` from its last bytes; 16 KiB are enough for most.
    ///
    /// # Errors
    /// Corrupt where the file is damaged or no ORC file, Unsupported where its columns are encrypted.
    pub fn parse(last_bytes: &[u8], file_bytes: u64) -> Result<TailStep> {
        Self::parse_inner(last_bytes, file_bytes)
    }

    fn parse_inner(tail: &[u8], file_bytes: u64) -> Result<TailStep> {
        if tail.len() as u64 > file_bytes {
            return Err(Error::invalid(format!("{} bytes were given, but the file has {file_bytes}", tail.len())));
        }
        if file_bytes <= MAGIC.len() as u64 {
            return Err(Error::corrupt(format!("the file has {file_bytes} bytes: it isn't an ORC file")));
        }
        let Some((&postscript_bytes, before)) = tail.split_last() else {
            return Ok(TailStep::Need(file_bytes.min(256)));
        };
        let postscript_bytes = usize::from(postscript_bytes);
        if 1 + postscript_bytes as u64 > file_bytes {
            return Err(Error::corrupt(
                "the postscript is longer than the file: it isn't an ORC file, or it is truncated",
            ));
        }
        let Some(at) = before.len().checked_sub(postscript_bytes) else {
            return Ok(TailStep::Need(file_bytes.min(256)));
        };
        let postscript = postscript(&before[at..]).map_err(|e| e.at("postscript"))?;
        let (footer_bytes, metadata_bytes) = (postscript.footer_length(), postscript.metadata_length());
        let needed = footer_bytes
            .checked_add(metadata_bytes)
            .and_then(|sum| sum.checked_add(1 + postscript_bytes as u64))
            .filter(|needed| *needed <= file_bytes)
            .ok_or_else(|| {
                let message = format!(
                    "footer and metadata have {footer_bytes} and {metadata_bytes} bytes in a file of {file_bytes}"
                );
                Error::corrupt(message).at("postscript")
            })?;
        if (tail.len() as u64) < needed {
            return Ok(TailStep::Need(needed));
        }
        let codec = Codec::from_proto(postscript.compression)?;
        let block = match postscript.compression_block_size() {
            0 => DEFAULT_BLOCK_SIZE,
            size if size > MAX_BLOCK_SIZE && codec != Codec::None => {
                let message =
                    format!("the compression block size {size} is more than the format allows, {MAX_BLOCK_SIZE}");
                return Err(Error::corrupt(message).at("postscript"));
            }
            size => size.min(MAX_BLOCK_SIZE),
        } as usize;
        let footer_at = at - footer_bytes as usize;
        let metadata_at = footer_at - metadata_bytes as usize;
        let mut decompressor = Decompressor::new(codec, block);
        let (footer, root) =
            footer(&before[footer_at..at], &mut decompressor, file_bytes).map_err(|e| e.at("footer"))?;
        let content_bytes = file_bytes - needed;
        let stripes = stripes(&footer, content_bytes).map_err(|e| e.at("footer"))?;
        let metadata =
            decompressor.all(&before[metadata_at..footer_at], MAX_METADATA_BYTES).map_err(|e| e.at("metadata"))?;
        let stripe_statistics =
            stripe_statistics(&metadata, stripes.len(), root.last_id as usize + 1).map_err(|e| e.at("metadata"))?;
        let metadata = Bytes::from(metadata);
        let tail = Self { footer, postscript, root, clock: None, stripes, codec, block, metadata, stripe_statistics };
        Ok(TailStep::Done(Box::new(tail)))
    }

    /// Makes timestamps instants by a reader's clock.
    #[must_use]
    pub fn with_clock(self, clock: &ReaderClock) -> Self {
        Self { root: self.root.with_clock_instants(), clock: Some(clock.clone()), ..self }
    }

    /// The root of the type tree.
    pub fn root(&self) -> &OrcType {
        &self.root
    }

    /// The stripes, in the order of their rows.
    pub fn stripes(&self) -> &[StripeInfo] {
        &self.stripes
    }

    /// Rows of the file.
    pub fn rows(&self) -> u64 {
        self.stripes.iter().map(|stripe| stripe.rows).sum()
    }

    /// The codec of the file.
    pub fn codec(&self) -> Codec {
        self.codec
    }

    /// The most bytes that a chunk has, compressed or not.
    pub fn block_size(&self) -> usize {
        self.block
    }

    /// Rows of a row group; `None` where the file has no row indexes.
    pub fn row_group_rows(&self) -> Option<u64> {
        Some(u64::from(self.footer.row_index_stride())).filter(|rows| *rows > 0)
    }

    /// The format's version, such as (0, 12); (0, 11) for files without one.
    pub fn version(&self) -> (u32, u32) {
        match self.postscript.version[..] {
            [] => (0, 11),
            [major] => (major, 0),
            [major, minor, ..] => (major, minor),
        }
    }

    /// Who wrote the file.
    pub fn writer(&self) -> WriterSoftware {
        match self.footer.writer() {
            0 => WriterSoftware::Java,
            1 => WriterSoftware::Cpp,
            2 => WriterSoftware::Presto,
            3 => WriterSoftware::Go,
            4 => WriterSoftware::Trino,
            5 => WriterSoftware::Cudf,
            other => WriterSoftware::Other(other),
        }
    }

    /// The number that the writer raises with each repair; see the postscript in the specification.
    pub fn writer_version(&self) -> u32 {
        self.postscript.writer_version()
    }

    /// The version of the writing software, where it says so.
    pub fn software_version(&self) -> Option<&str> {
        self.footer.software_version.as_deref()
    }

    /// Names and values that the user of the writer put into the file.
    pub fn user_metadata(&self) -> impl Iterator<Item = (&str, &[u8])> {
        self.footer.metadata.iter().map(|item| (item.name(), item.value()))
    }

    /// Returns true if days before 1582-10-15 are counted by the Julian calendar: Java's old writers did, which say nothing.
    pub(crate) fn julian(&self) -> bool {
        match self.footer.calendar() {
            CalendarKind::JulianGregorian => true,
            CalendarKind::ProlepticGregorian => false,
            CalendarKind::Unknown => self.writer() == WriterSoftware::Java,
        }
    }

    /// Returns true if decimals of up to 18 digits are plain integers.
    pub(crate) fn has_decimal64(&self) -> bool {
        self.version() == UNSTABLE_VERSION
    }

    /// An error where the rows of this version of the format can't be read.
    pub(crate) fn check_version(&self) -> Result<()> {
        let version @ (major, minor) = self.version();
        if major > 0 && version != UNSTABLE_VERSION {
            return Err(Error::unsupported(format!(
                "the file has version {major}.{minor} of the format; the supported version is 0.12"
            )));
        }
        Ok(())
    }
}

fn postscript(bytes: &[u8]) -> Result<proto::PostScript> {
    let none = || Error::corrupt("can't be read: this isn't an ORC file, or its end is missing");
    let postscript = proto::PostScript::decode(bytes).map_err(|_| none())?;
    // Hive 0.11 wrote neither a version nor the magic here, and had four codecs: other bytes are a file that was cut.
    let old = postscript.magic.is_none()
        && postscript.version.is_empty()
        && postscript.footer_length.is_some()
        && (0..4).contains(&postscript.compression.unwrap_or_default());
    if !old && postscript.magic.as_deref().map(str::as_bytes) != Some(MAGIC) {
        return Err(none());
    }
    Ok(postscript)
}

fn footer(bytes: &[u8], decompressor: &mut Decompressor, file_bytes: u64) -> Result<(proto::Footer, OrcType)> {
    let bytes = decompressor.all(bytes, MAX_FOOTER_BYTES)?;
    let [mut types, mut stripes, mut statistics] = [0u64; 3];
    wire::fields(&bytes, |tag, _| {
        match tag {
            3 => stripes += 1,
            4 => types += 1,
            7 => statistics += 1,
            _ => {}
        }
        Ok(())
    })?;
    // A stripe's footer takes a byte at least; every column has at most one entry of statistics.
    if types > MAX_COLUMNS as u64 || stripes > file_bytes || statistics > types {
        let message = format!("has {types} types, {stripes} stripes and statistics of {statistics} columns");
        return Err(Error::corrupt(message));
    }
    let footer = proto::Footer::decode(&bytes[..]).map_err(|e| wire::broken(&e))?;
    let root = OrcType::from_proto(&footer.types)?;
    if let Some(encryption) = &footer.encryption
        && let Some(variant) = encryption.variants.first()
    {
        let column = variant.root();
        return Err(Error::unsupported(format!("column {column} is encrypted, which is not supported")));
    }
    Ok((footer, root))
}

/// The stripes, each within the file's content.
fn stripes(footer: &proto::Footer, content_bytes: u64) -> Result<Vec<StripeInfo>> {
    let mut rows = 0u64;
    let mut stripes = Vec::with_capacity(footer.stripes.len());
    for (nth, wire) in footer.stripes.iter().enumerate() {
        let stripe = StripeInfo {
            offset: wire.offset(),
            index_bytes: wire.index_length(),
            data_bytes: wire.data_length(),
            footer_bytes: wire.footer_length(),
            rows: wire.number_of_rows(),
        };
        let end = [stripe.index_bytes, stripe.data_bytes, stripe.footer_bytes]
            .iter()
            .try_fold(stripe.offset, |end, length| end.checked_add(*length));
        if end.is_none_or(|end| end > content_bytes) {
            return Err(Error::corrupt(format!("stripe {nth} doesn't lie within the file: {stripe:?}")));
        }
        rows = rows
            .checked_add(stripe.rows)
            .ok_or_else(|| Error::corrupt("the number of rows in the stripes exceeds 64 bits"))?;
        stripes.push(stripe);
    }
    match footer.number_of_rows {
        Some(said) if said != rows => Err(Error::corrupt(format!("states {said} rows, but its stripes have {rows}"))),
        _ => Ok(stripes),
    }
}

/// The places of the statistics of each stripe in the metadata.
fn stripe_statistics(metadata: &[u8], stripes: usize, columns: usize) -> Result<Vec<(usize, usize)>> {
    let mut found = Vec::new();
    wire::fields(metadata, |tag, (from, to)| {
        if tag != 1 {
            return Ok(());
        }
        let mut count = 0;
        wire::fields(&metadata[from..to], |tag, _| {
            count += usize::from(tag == 1);
            Ok(())
        })?;
        if count > columns || found.len() == stripes {
            return Err(Error::corrupt(format!("has statistics of more than {columns} columns and {stripes} stripes")));
        }
        found.push((from, to));
        Ok(())
    })?;
    // Statistics of some stripes only could be anybody's.
    Ok(if found.len() == stripes { found } else { Vec::new() })
}

#[cfg(test)]
mod tests;
