//! A stripe: where its streams lie, and which bytes of them some columns and row groups need.

use std::collections::HashMap;
use std::sync::Arc;

use prost::Message;

use super::index::{ColumnIndex, IndexPosition};
use super::projection::Projection;
use super::tail::{FileTail, MAX_FOOTER_BYTES, StripeInfo};
use super::{bloom, wire};
use crate::compress::Decompressor;
use crate::error::{Error, Result};
use crate::proto::{self, EncodingKind, StreamKind};
use crate::schema::OrcType;

/// A range of bytes of the file that is needed, and its purpose.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Range {
    /// The first byte in the file.
    pub offset: u64,
    /// How many bytes.
    pub length: u64,
    /// The column that they belong to.
    pub column: u32,
    /// The content of the stream.
    pub kind: StreamKind,
}

/// The place of a stream in the file.
#[derive(Debug, Clone, Copy)]
pub(crate) struct StreamPlace {
    pub(super) offset: u64,
    pub(super) length: u64,
}

/// A stripe with its footer.
#[derive(Debug, Clone)]
pub struct Stripe {
    pub(crate) file: Arc<FileTail>,
    pub(crate) number: usize,
    info: StripeInfo,
    pub(crate) root: OrcType,
    pub(super) streams: Arc<HashMap<(u32, i32), StreamPlace>>,
    encodings: Arc<Vec<proto::ColumnEncoding>>,
    pub(crate) zone: Option<String>,
    pub(super) indexes: HashMap<u32, Arc<ColumnIndex>>,
}

/// A run of rows of a stripe without gaps, and the streams to read it from.
#[derive(Debug, Clone)]
pub(crate) struct StripeSection {
    pub(crate) first_row: u64,
    pub(crate) rows: u64,
    pub(crate) streams: HashMap<(u32, i32), StreamPart>,
}

/// The part of a stream that a section needs.
#[derive(Debug, Clone, Copy)]
pub(crate) struct StreamPart {
    /// Which of the ranges holds it.
    pub(crate) range: usize,
    /// The start of the section, counted from the beginning of the range; `None` at the beginning of the stream.
    pub(crate) start: Option<IndexPosition>,
    /// True if the range may end within a chunk.
    pub(crate) partial: bool,
}

/// The bytes to be fetched for some row groups of a stripe; once they are there, [`read`](Self::read) makes batches.
#[derive(Debug, Clone)]
pub struct StripeRead {
    pub(super) stripe: Arc<Stripe>,
    pub(super) ranges: Vec<Range>,
    pub(super) sections: Vec<StripeSection>,
}

impl StripeRead {
    /// The ranges to fetch.
    pub fn ranges(&self) -> &[Range] {
        &self.ranges
    }

    /// Rows that will be read.
    pub fn rows(&self) -> u64 {
        self.sections.iter().map(|section| section.rows).sum()
    }
}

impl Stripe {
    /// Stripe `number` of a file, from the bytes of its footer ([`StripeInfo::footer_range`]), for the columns of `projection`.
    ///
    /// # Errors
    /// Corrupt where the footer is damaged; Unsupported where the file's version isn't known; Invalid where there is no such
    /// stripe.
    pub fn new(file: &Arc<FileTail>, number: usize, projection: &Projection, footer: &[u8]) -> Result<Self> {
        let place = |e: Error| e.at(format!("stripe {number}, footer"));
        file.check_version()?;
        let Some(&info) = file.stripes().get(number) else {
            return Err(Error::invalid(format!("there is no stripe {number}: the file has {}", file.stripes().len())));
        };
        let bytes = Decompressor::new(file.codec(), file.block_size()).all(footer, MAX_FOOTER_BYTES).map_err(place)?;
        let footer = proto::StripeFooter::decode(&bytes[..]).map_err(|e| place(wire::broken(&e)))?;
        let columns = file.root().last_id as usize + 1;
        if footer.columns.len() != columns {
            let message = format!("has encodings of {} columns; the file has {columns}", footer.columns.len());
            return Err(place(Error::corrupt(message)));
        }
        let mut streams = HashMap::with_capacity(footer.streams.len());
        let mut offset = info.offset;
        let end = info.offset + info.index_bytes + info.data_bytes;
        for stream in &footer.streams {
            let (column, length) = (stream.column(), stream.length());
            let fail = |what: &str| place(Error::corrupt(format!("{what}: {stream:?}")));
            if column as usize >= columns {
                return Err(fail("has a stream of a column that the file doesn't have"));
            }
            let next = offset.checked_add(length).filter(|next| *next <= end);
            let next = next.ok_or_else(|| fail("has a stream beyond the end of the stripe"))?;
            if streams.insert((column, stream.kind.unwrap_or_default()), StreamPlace { offset, length }).is_some() {
                return Err(fail("has the same stream twice"));
            }
            offset = next;
        }
        Ok(Self {
            file: Arc::clone(file),
            number,
            info,
            root: projection.root().clone(),
            streams: Arc::new(streams),
            encodings: Arc::new(footer.columns),
            zone: footer.writer_timezone,
            indexes: HashMap::new(),
        })
    }

    /// The stripe for the columns of another projection of the same file; the footer is shared, and the row indexes and bloom
    /// filters of these columns.
    #[must_use]
    pub fn project(&self, projection: &Projection) -> Self {
        let mut indexes = HashMap::new();
        if !self.indexes.is_empty() {
            let of = |column: u32| Some((column, Arc::clone(self.indexes.get(&column)?)));
            indexes.extend(projection.columns().into_iter().filter_map(of));
        }
        Self {
            file: Arc::clone(&self.file),
            number: self.number,
            info: self.info,
            root: projection.root().clone(),
            streams: Arc::clone(&self.streams),
            encodings: Arc::clone(&self.encodings),
            zone: self.zone.clone(),
            indexes,
        }
    }

    /// Rows of the stripe.
    pub fn rows(&self) -> u64 {
        self.info.rows
    }

    /// How many row groups the stripe has; one where the file has no row index.
    pub fn row_groups(&self) -> usize {
        match self.file.row_group_rows() {
            Some(rows) => self.info.rows.div_ceil(rows) as usize,
            None => usize::from(self.info.rows > 0),
        }
    }

    /// The first row and the count of rows of a row group.
    pub fn row_group(&self, group: usize) -> (u64, u64) {
        let size = self.file.row_group_rows().unwrap_or(self.info.rows);
        let first = (group as u64).saturating_mul(size).min(self.info.rows);
        (first, size.min(self.info.rows - first))
    }

    /// The ranges of the row indexes of `columns`, and, if `bloom` is set, of their bloom filters with a known hash.
    pub fn index_ranges(&self, columns: &[u32], bloom: bool) -> Vec<Range> {
        let mut ranges = Vec::new();
        for &column in columns {
            let mut push = |kind: StreamKind| {
                let place = self.streams.get(&(column, kind as i32)).filter(|place| place.length > 0);
                ranges.extend(place.map(|p| Range { offset: p.offset, length: p.length, column, kind }));
            };
            push(StreamKind::RowIndex);
            let node = self.file.root().find(column);
            if bloom && node.is_some_and(|node| bloom::trusted(&self.file, &node.kind)) {
                push(StreamKind::BloomFilterUtf8);
            }
        }
        ranges
    }

    /// Takes the bytes of a range of [`index_ranges`](Self::index_ranges).
    ///
    /// # Errors
    /// Corrupt where they are damaged.
    pub fn set_index(&mut self, range: &Range, bytes: &[u8]) -> Result<()> {
        let groups = self.row_groups();
        let place =
            |e: Error| e.at(format!("stripe {}, column {}, stream {:?}", self.number, range.column, range.kind));
        let mut decompressor = Decompressor::new(self.file.codec(), self.file.block_size());
        let bytes = decompressor.all(bytes, MAX_FOOTER_BYTES).map_err(place)?;
        let index = Arc::make_mut(self.indexes.entry(range.column).or_default());
        index.set(range.kind, bytes, groups).map_err(place)
    }

    /// The statistics of a column in a row group, where its row index was set.
    pub fn group_statistics(&self, column: u32, group: usize) -> Option<super::ColumnStats> {
        let wire = self.indexes.get(&column)?.statistics(group)?;
        Some(super::ColumnStats::new(&wire, self.file.root().find(column)?, &self.file))
    }

    /// The bloom filter of a column in a row group, where its bloom filters were set.
    pub fn bloom_filter(&self, column: u32, group: usize) -> Option<&super::BloomFilter> {
        self.indexes.get(&column)?.bloom(group)
    }

    /// Plans the read of the rows of the whole stripe.
    ///
    /// # Errors
    /// None at present.
    pub fn read_all(&self) -> Result<StripeRead> {
        let mut ranges = Vec::new();
        let mut streams = HashMap::new();
        self.each_stream(&self.root, &mut |column, kind, place| {
            streams.insert((column, kind as i32), StreamPart { range: ranges.len(), start: None, partial: false });
            ranges.push(Range { offset: place.offset, length: place.length, column, kind });
            Ok(())
        })?;
        let section = StripeSection { first_row: 0, rows: self.info.rows, streams };
        let sections = if self.info.rows == 0 { Vec::new() } else { vec![section] };
        Ok(StripeRead { stripe: Arc::new(self.clone()), ranges, sections })
    }

    /// Calls `each` with every data stream that isn't empty of a column and those below it.
    pub(super) fn each_stream(
        &self,
        node: &OrcType,
        each: &mut impl FnMut(u32, StreamKind, StreamPlace) -> Result<()>,
    ) -> Result<()> {
        use StreamKind::{Data, DictionaryData, Length, Present, Secondary};
        for kind in [Present, Data, Length, DictionaryData, Secondary] {
            if let Some(place) = self.streams.get(&(node.id, kind as i32)).filter(|place| place.length > 0) {
                each(node.id, kind, *place)?;
            }
        }
        node.children().try_for_each(|child| self.each_stream(child, each))
    }

    pub(crate) fn encoding(&self, column: u32) -> Result<(EncodingKind, u32)> {
        let Some(encoding) = self.encodings.get(column as usize) else {
            return Err(Error::internal(format!("column {column} has no encoding")));
        };
        match EncodingKind::try_from(encoding.kind.unwrap_or_default()) {
            Ok(kind) => Ok((kind, encoding.dictionary_size())),
            Err(_) => Err(Error::unsupported(format!("has the unknown encoding {:?}", encoding.kind))),
        }
    }

    pub(super) fn is_dictionary(&self, column: u32) -> bool {
        matches!(self.encoding(column), Ok((EncodingKind::Dictionary | EncodingKind::DictionaryV2, _)))
    }
}
