//! Pages of one column chunk: headers, compression, indexes and the chunk's metadata.

use std::cmp::Ordering;
use std::sync::Arc;

use bytes::Bytes;
use lakerace_io::option::OUTPUT_FORMAT;
use lakerace_io::{Error, Result};
use parquet::basic::{BoundaryOrder, Encoding, PageType};
use parquet::bloom_filter::Sbbf;
use parquet::file::metadata::{ColumnChunkMetaData, ColumnIndexBuilder, OffsetIndexBuilder, PageEncodingStats};
use parquet::file::page_index::column_index::ColumnIndexMetaData;
use parquet::file::page_index::offset_index::OffsetIndexMetaData;
use parquet::schema::types::ColumnDescPtr;

use super::block::BlockBuffer;
use super::bloom::with_other_floats;
use super::compress::CodecCompressor;
use super::literals::PageBody;
use super::rle::append_varint;
use super::statistics::{ValueBounds, ValueOrder, chunk_statistics, is_utf8};
use crate::parquet::write::options::CheckedOptions;

/// An encoded column chunk. Offsets in it count from its own first byte.
pub(crate) struct EncodedChunk {
    /// The bytes, in file order.
    pub(crate) pieces: Vec<Bytes>,
    /// The places and the content of the pages.
    pub(crate) metadata: ColumnChunkMetaData,
    /// Bounds of each page.
    pub(crate) column_index: Option<ColumnIndexMetaData>,
    /// Place of each page.
    pub(crate) offset_index: Option<OffsetIndexMetaData>,
    /// A filter over its values, if requested.
    pub(crate) bloom_filter: Option<Sbbf>,
}

/// A summary of a data page.
pub(crate) struct PageSummary {
    /// Rows, nulls included.
    pub(crate) rows: usize,
    /// Nulls.
    pub(crate) nulls: usize,
    /// The encoding of the values.
    pub(crate) encoding: Encoding,
    /// Their bounds.
    pub(crate) bounds: ValueBounds,
    /// Bytes of the values of a byte array column, without lengths.
    pub(crate) value_bytes: Option<i64>,
}

/// Collects the pages of one chunk of a column that is not nested.
pub(crate) struct PageWriter {
    column: ColumnDescPtr,
    settings: Arc<CheckedOptions>,
    order: ValueOrder,
    dictionary: Option<Bytes>,
    pages: Vec<PendingPage>,
    blocks: BlockBuffer,
    /// Bytes of all pieces so far.
    compressed_bytes: u64,
    /// Bytes of all pages before compression, headers included.
    uncompressed_bytes: u64,
    /// True if compressing data pages pays.
    pays: bool,
    /// True if the metadata lists the encodings of the pages.
    tells_encodings: bool,
}

struct PendingPage {
    /// With its header.
    bytes: usize,
    summary: PageSummary,
}

impl PageWriter {
    /// A chunk without pages.
    pub(crate) fn new(column: ColumnDescPtr, settings: Arc<CheckedOptions>) -> Self {
        let order = ValueOrder::for_column(&column);
        let blocks = BlockBuffer::new(&settings.blocks);
        Self {
            column,
            settings,
            order,
            dictionary: None,
            pages: Vec::new(),
            blocks,
            compressed_bytes: 0,
            uncompressed_bytes: 0,
            pays: true,
            tells_encodings: true,
        }
    }

    /// The column.
    pub(crate) fn column(&self) -> &ColumnDescPtr {
        &self.column
    }

    /// The order of its values; [`ValueOrder::None`] if no bounds are wanted.
    pub(crate) fn wanted_order(&self) -> ValueOrder {
        if self.settings.statistics { self.order } else { ValueOrder::None }
    }

    /// Bytes of the pages so far.
    pub(crate) fn compressed_bytes(&self) -> u64 {
        self.compressed_bytes
    }

    /// Returns true if a data page was added.
    pub(crate) fn is_empty(&self) -> bool {
        self.pages.is_empty()
    }

    /// Leaves out which encodings the pages have. Without these, readers do not take the dictionary for all values of the chunk.
    pub(crate) fn hide_encodings(&mut self) {
        self.tells_encodings = false;
    }

    /// Adds a data page. `body` is its levels and values.
    pub(crate) fn data_page(
        &mut self,
        body: &[u8],
        mut summary: PageSummary,
        compressor: &mut CodecCompressor,
    ) -> Result<()> {
        let values = i32::try_from(summary.rows).map_err(|_| self.too_large(summary.rows))?;
        let mut pays = self.pays;
        let kind = |header: &mut HeaderWriter| header.data_page(values, summary.encoding);
        let (header, body) = self.compress(body, compressor, &mut pays, kind)?;
        self.pays = pays;
        self.blocks.push(&header, &body);
        summary.bounds.cut(self.order, is_utf8(&self.column));
        self.pages.push(PendingPage { bytes: header.len() + body.len(), summary });
        Ok(())
    }

    /// Adds the dictionary, which is first in the chunk, independent of when it is added. `body` is its values in PLAIN
    /// encoding.
    pub(crate) fn dictionary_page(
        &mut self,
        body: &[u8],
        values: usize,
        compressor: &mut CodecCompressor,
    ) -> Result<()> {
        let values = i32::try_from(values).map_err(|_| self.too_large(values))?;
        let kind = |header: &mut HeaderWriter| header.dictionary_page(values);
        let (mut page, body) = self.compress(body, compressor, &mut true, kind)?;
        body.append_to(&mut page);
        self.dictionary = Some(page.into());
        Ok(())
    }

    /// A page's header and compressed body.
    fn compress<'a>(
        &mut self,
        body: &'a [u8],
        compressor: &'a mut CodecCompressor,
        pays: &mut bool,
        kind: impl Fn(&mut HeaderWriter),
    ) -> Result<(Vec<u8>, PageBody<'a>)> {
        let compressed = compressor.compress(body, pays)?;
        let uncompressed_length = i32::try_from(body.len()).map_err(|_| self.too_large(body.len()))?;
        let compressed_length = i32::try_from(compressed.len()).map_err(|_| self.too_large(compressed.len()))?;
        let mut header = HeaderWriter::new(uncompressed_length, compressed_length);
        kind(&mut header);
        let header = header.finish();
        self.compressed_bytes += (header.len() + compressed.len()) as u64;
        self.uncompressed_bytes += (header.len() + body.len()) as u64;
        Ok((header, compressed))
    }

    fn too_large(&self, length: usize) -> Error {
        Error::invalid(format!("a page has {length} bytes or values, more than Parquet can hold"))
            .at(format!("column {:?}", self.column.path().string()))
            .advice(format!("split its longest values, or write another format with {OUTPUT_FORMAT}"))
    }

    /// Ends the chunk.
    pub(crate) fn finish(self, bloom_filter: Option<Sbbf>) -> Result<EncodedChunk> {
        let mut bounds = ValueBounds::default();
        let (mut rows, mut nulls) = (0, 0);
        for page in &self.pages {
            bounds.merge(&page.summary.bounds, self.order);
            rows += page.summary.rows as u64;
            nulls += page.summary.nulls as u64;
        }
        let dictionary_bytes = self.dictionary.as_ref().map_or(0, Bytes::len) as i64;
        let mut builder = ColumnChunkMetaData::builder(Arc::clone(&self.column))
            .set_compression(self.settings.codec)
            .set_encodings(self.encodings())
            .set_total_compressed_size(self.compressed_bytes as i64)
            .set_total_uncompressed_size(self.uncompressed_bytes as i64)
            .set_num_values(rows as i64)
            .set_data_page_offset(dictionary_bytes)
            .set_dictionary_page_offset(self.dictionary.as_ref().map(|_| 0))
            .set_unencoded_byte_array_data_bytes(self.pages.iter().map(|p| p.summary.value_bytes).sum());
        if self.tells_encodings {
            builder = builder.set_page_encoding_stats(self.encoding_stats());
        }
        if self.settings.statistics {
            builder = builder.set_statistics(chunk_statistics(&self.column, self.order, &bounds, nulls));
        }
        let metadata = builder.build().map_err(internal)?;
        let column_index = if self.settings.statistics { self.column_index()? } else { None };
        let offset_index = Some(self.offset_index(dictionary_bytes));
        let pieces = self.dictionary.into_iter().chain(self.blocks.finish()).collect();
        let bloom_filter = bloom_filter.map(|filter| with_other_floats(filter, self.column.physical_type()));
        Ok(EncodedChunk { pieces, metadata, column_index, offset_index, bloom_filter })
    }

    fn encodings(&self) -> Vec<Encoding> {
        let mut found: Vec<Encoding> = Vec::new();
        let levels = (self.column.max_def_level() > 0).then_some(Encoding::RLE);
        let dictionary = self.dictionary.as_ref().map(|_| Encoding::PLAIN);
        for encoding in self.pages.iter().map(|p| p.summary.encoding).chain(dictionary).chain(levels) {
            if !found.contains(&encoding) {
                found.push(encoding);
            }
        }
        found
    }

    fn encoding_stats(&self) -> Vec<PageEncodingStats> {
        let mut stats: Vec<PageEncodingStats> = Vec::new();
        if self.dictionary.is_some() {
            let (page_type, encoding) = (PageType::DICTIONARY_PAGE, Encoding::PLAIN);
            stats.push(PageEncodingStats { page_type, encoding, count: 1 });
        }
        for page in &self.pages {
            let encoding = page.summary.encoding;
            match stats.last_mut().filter(|s| s.page_type == PageType::DATA_PAGE && s.encoding == encoding) {
                Some(last) => last.count += 1,
                None => stats.push(PageEncodingStats { page_type: PageType::DATA_PAGE, encoding, count: 1 }),
            }
        }
        stats
    }

    /// `None` if a page with values has no bounds: there is no order, or a page of floats has a NaN.
    fn column_index(&self) -> Result<Option<ColumnIndexMetaData>> {
        let mut builder = ColumnIndexBuilder::new(self.column.physical_type());
        for page in &self.pages {
            let summary = &page.summary;
            let nans = self.order.is_float().then_some(summary.bounds.nans as i64);
            if summary.nulls == summary.rows {
                builder.append(true, Vec::new(), Vec::new(), summary.nulls as i64, nans);
                continue;
            }
            let Some(short) = summary.bounds.stored(self.order, &self.column) else { return Ok(None) };
            // Without a short value above it, the whole maximum has to stand there.
            let whole = || summary.bounds.min_max.as_ref().map(|(_, max)| max.clone()).unwrap_or_default();
            let max = short.max.unwrap_or_else(whole);
            builder.append(false, short.min, max, summary.nulls as i64, nans);
        }
        builder.set_boundary_order(self.boundary_order());
        builder.build().map(Some).map_err(internal)
    }

    fn boundary_order(&self) -> BoundaryOrder {
        let bounds: Vec<_> = self.pages.iter().filter_map(|p| p.summary.bounds.min_max.as_ref()).collect();
        let follows = |wrong: Ordering| {
            bounds.windows(2).all(|pair| {
                let ((min, max), (next_min, next_max)) = (pair[0], pair[1]);
                self.order.compare(min, next_min) != wrong && self.order.compare(max, next_max) != wrong
            })
        };
        if follows(Ordering::Greater) {
            BoundaryOrder::ASCENDING
        } else if follows(Ordering::Less) {
            BoundaryOrder::DESCENDING
        } else {
            BoundaryOrder::UNORDERED
        }
    }

    fn offset_index(&self, first_page: i64) -> OffsetIndexMetaData {
        let mut builder = OffsetIndexBuilder::new();
        let mut offset = first_page;
        for page in &self.pages {
            // A page's length is an i32 by construction, plus a header of some dozens of bytes.
            let length = page.bytes as i64;
            builder.append_row_count(page.summary.rows as i64);
            builder.append_offset_and_size(offset, i32::try_from(length).unwrap_or(i32::MAX));
            builder.append_unencoded_byte_array_data_bytes(page.summary.value_bytes);
            offset += length;
        }
        builder.build()
    }
}

/// A `PageHeader` in Thrift's compact protocol.
///
/// Sources: parquet-format, `parquet.thrift`; Apache Thrift, `thrift-compact-protocol.md`.
struct HeaderWriter {
    bytes: Vec<u8>,
}

/// Compact protocol: the type of an i32 field.
const I32: u8 = 5;
/// Compact protocol: the type of a struct field.
const STRUCT: u8 = 12;

// Numbers of `parquet.thrift`: `PageType`.
const DATA_PAGE: u8 = 0;
const DICTIONARY_PAGE: u8 = 2;

impl HeaderWriter {
    fn new(uncompressed_length: i32, compressed_length: i32) -> Self {
        let mut header = Self { bytes: Vec::with_capacity(32) };
        // The page type follows when it is known; every field of a header is one step after the last but `kind`.
        header.bytes.push(1 << 4 | I32);
        header.bytes.push(0);
        header.next(uncompressed_length);
        header.next(compressed_length);
        header
    }

    /// The next i32 field.
    fn next(&mut self, value: i32) {
        self.bytes.push(1 << 4 | I32);
        self.i32(value);
    }

    fn i32(&mut self, value: i32) {
        append_varint(u64::from(((value << 1) ^ (value >> 31)) as u32), &mut self.bytes);
    }

    fn data_page(&mut self, values: i32, encoding: Encoding) {
        self.kind(DATA_PAGE);
        // Field 5 follows field 3.
        self.bytes.push(2 << 4 | STRUCT);
        self.next(values);
        // The crate gives encodings their numbers in `parquet.thrift`.
        self.next(encoding as i32);
        self.next(Encoding::RLE as i32);
        self.next(Encoding::RLE as i32);
        self.bytes.push(0);
    }

    fn dictionary_page(&mut self, values: i32) {
        self.kind(DICTIONARY_PAGE);
        // Field 7 follows field 3.
        self.bytes.push(4 << 4 | STRUCT);
        self.next(values);
        self.next(Encoding::PLAIN as i32);
        self.bytes.push(0);
    }

    fn kind(&mut self, kind: u8) {
        self.bytes[1] = kind << 1;
    }

    fn finish(mut self) -> Vec<u8> {
        self.bytes.push(0);
        self.bytes
    }
}

fn internal(error: parquet::errors::ParquetError) -> Error {
    Error::internal("column metadata").because(error)
}
