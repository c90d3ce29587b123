//! Walking through the pages of a column chunk.

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use lakerace_io::{Error, Fetcher, Result};
use parquet::basic::CompressionCodec;

use super::page_header::{PageHeader, PageKind, parse};
use crate::parquet::decode::block::{MemoryPool, PageBytes};
use crate::parquet::decode::codec::{PAGE_BYTES_AT_MOST, decompress};
use crate::parquet::decode::literal_page::PageSlices;
use crate::parquet::footer::page_index::{ChunkPages, PagePlace};

/// Bytes that are requested to find a header; most are a few dozen bytes long.
const HEADER_BYTES: u64 = 512;
/// Headers hold statistics, which hold values: beyond this it is damage.
const HEADER_BYTES_AT_MOST: u64 = 16 << 20;

/// Walks through the pages of one column chunk, front to back, and releases the bytes already read.
pub(crate) struct PageWalk {
    fetcher: Fetcher,
    file: u32,
    codec: CompressionCodec,
    /// The most bytes that a page may have once decompressed.
    page_bytes_at_most: usize,
    pool: Arc<MemoryPool>,
    /// The rest of the chunk.
    left: Range<u64>,
    /// The places of the pages, where the scan leaves some of them out.
    places: Option<Arc<ChunkPages>>,
    /// The next of these.
    next_place: usize,
    /// The rows that were planned for.
    rows: Arc<Vec<Range<u64>>>,
    /// Data values that are left, nulls included.
    values_left: u64,
    /// The position up to which bytes were released.
    released: u64,
}

/// A page whose body was not decompressed yet.
pub(crate) struct ClosedPage {
    /// Its header.
    pub header: PageHeader,
    body: Range<u64>,
}

/// A page as its column decodes it.
pub(crate) struct OpenPage {
    /// Definition levels, if the column has any.
    pub levels: PageBytes,
    /// Values.
    pub values: PageData,
}

/// The values of a page.
pub(crate) enum PageData {
    /// Pages one after the other.
    Whole(PageBytes),
    /// Pages where they are stored.
    Pieces(PageSlices),
}

impl PageData {
    /// All bytes, or those of the first piece.
    pub fn head(&mut self) -> PageBytes {
        match self {
            Self::Whole(bytes) => bytes.clone(),
            Self::Pieces(pieces) => pieces.head(),
        }
    }

    /// The bytes after the first `count`.
    pub fn skip_bytes(self, count: usize) -> Result<Self> {
        Ok(match self {
            Self::Whole(bytes) => Self::Whole(bytes.slice(count..bytes.len())),
            Self::Pieces(mut pieces) => {
                pieces.skip(count)?;
                Self::Pieces(pieces)
            }
        })
    }

    /// All bytes in one piece; several pieces are copied together.
    pub fn whole(self, pool: &Arc<MemoryPool>) -> Result<PageBytes> {
        match self {
            Self::Whole(bytes) => Ok(bytes),
            Self::Pieces(pieces) => pieces.join(pool),
        }
    }
}

/// The chunk to walk through.
pub(crate) struct PageChunk {
    /// The bytes.
    pub fetcher: Fetcher,
    /// The file's number in the fetcher.
    pub file: u32,
    /// The chunk's bytes.
    pub range: Range<u64>,
    /// The places of its pages, if only some of them were planned for.
    pub places: Option<Arc<ChunkPages>>,
    /// The rows that were planned for.
    pub rows: Arc<Vec<Range<u64>>>,
    /// Its codec.
    pub codec: CompressionCodec,
    /// Its bytes once decompressed, as the footer says.
    pub plain_bytes: u64,
    /// Its values, nulls included: the rows of a flat column.
    pub values: u64,
    /// Memory.
    pub pool: Arc<MemoryPool>,
}

impl PageWalk {
    /// Starts at the front.
    pub fn new(chunk: PageChunk) -> Self {
        let PageChunk { fetcher, file, range, places, rows, codec, plain_bytes, values, pool } = chunk;
        let released = range.start;
        let left = match &places {
            Some(places) => places.dictionary.clone(),
            None => range,
        };
        let page_bytes_at_most = page_bytes_at_most(plain_bytes);
        let (next_place, values_left) = (0, values);
        Self { fetcher, file, codec, page_bytes_at_most, pool, left, places, next_place, rows, values_left, released }
    }

    /// The header of the next data or dictionary page.
    pub fn next(&mut self) -> Result<ClosedPage> {
        loop {
            self.enter_place()?;
            let (header, length) = self.header()?;
            let body = self.left.start + length..self.left.start + length + header.stored_bytes as u64;
            if body.end > self.left.end {
                return Err(Error::corrupt(format!(
                    "a page of {} bytes at byte {} ends after its column chunk",
                    header.stored_bytes, self.left.start
                )));
            }
            if header.plain_bytes > self.page_bytes_at_most {
                return Err(Error::corrupt(format!("a page claims to have {} bytes", header.plain_bytes)));
            }
            self.left.start = body.end;
            self.release_to(body.start);
            match header.kind {
                PageKind::Other => self.release_to(body.end),
                PageKind::Dictionary => return Ok(ClosedPage { header, body }),
                PageKind::Data { .. } | PageKind::DataV2 { .. } => {
                    self.count_values(header.values)?;
                    return Ok(ClosedPage { header, body });
                }
            }
        }
    }

    /// The memory of its column.
    pub fn pool(&self) -> &Arc<MemoryPool> {
        &self.pool
    }

    fn count_values(&mut self, values: usize) -> Result<()> {
        let left = self.values_left.checked_sub(values as u64);
        self.values_left = left.ok_or_else(|| Error::corrupt("its pages hold more values than the footer says"))?;
        if let Some(places) = &self.places
            && let Some(place) = self.next_place.checked_sub(1).and_then(|last| places.pages.get(last))
            && place.rows.end - place.rows.start != values as u64
        {
            return Err(Error::corrupt("the offset index states other row counts than the page"));
        }
        Ok(())
    }

    /// Moves on to the next place, where places are known, once the current one is used up.
    fn enter_place(&mut self) -> Result<()> {
        let Some(places) = &self.places else { return Ok(()) };
        let is_in_dictionary = self.next_place == 0 && self.left.start < places.dictionary.end;
        if is_in_dictionary {
            return Ok(());
        }
        let place = places.pages.get(self.next_place).ok_or_else(too_few)?;
        self.left = place.bytes.clone();
        self.released = self.left.start;
        self.next_place += 1;
        Ok(())
    }

    /// Skips pages that lie within the next `rows` rows, if places are known, and returns the number of skipped rows.
    pub fn skip_places(&mut self, rows: u64) -> Result<u64> {
        let Some(places) = self.places.clone() else { return Ok(0) };
        if self.next_place == 0 && self.left.start < places.dictionary.end {
            // The dictionary is first, and later pages need it.
            return Ok(0);
        }
        let mut skipped = 0;
        while let Some(place) = places.pages.get(self.next_place) {
            let length = place.rows.end - place.rows.start;
            if skipped + length > rows {
                break;
            }
            skipped += length;
            self.count_skipped(length)?;
            self.release_place(place);
            self.next_place += 1;
        }
        Ok(skipped)
    }

    fn count_skipped(&mut self, rows: u64) -> Result<()> {
        self.values_left = self.values_left.checked_sub(rows).ok_or_else(too_few)?;
        Ok(())
    }

    fn header(&self) -> Result<(PageHeader, u64)> {
        if self.left.start >= self.left.end {
            return Err(too_few());
        }
        let mut wanted = HEADER_BYTES;
        loop {
            let end = self.left.end.min(self.left.start + wanted);
            let bytes = if wanted == HEADER_BYTES {
                self.fetcher.bytes_some(self.file, self.left.start..end)?
            } else {
                self.fetcher.bytes(self.file, self.left.start..end)?
            };
            if let Some((header, length)) = parse(&bytes)? {
                return Ok((header, length as u64));
            }
            let is_all = bytes.len() as u64 == self.left.end - self.left.start;
            if is_all || wanted >= HEADER_BYTES_AT_MOST {
                return Err(Error::corrupt("a page header ends after its column chunk"));
            }
            wanted *= 8;
        }
    }

    /// Skips a page.
    pub fn skip(&mut self, page: &ClosedPage) {
        self.release_to(page.body.end);
    }

    /// Fetches, checks and decompresses a page. With `in_place`, values that are stored as literals are not copied.
    pub fn open(&mut self, page: &ClosedPage, in_place: bool) -> Result<OpenPage> {
        let stored = self.fetcher.bytes(self.file, page.body.clone())?;
        self.release_to(page.body.end);
        check_crc(&page.header, &stored)?;
        let header = &page.header;
        let PageKind::DataV2 { definition_bytes, repetition_bytes, is_compressed, .. } = header.kind else {
            let values = self.decompress(&stored, header.plain_bytes, in_place)?;
            return Ok(OpenPage { levels: PageBytes::empty(), values });
        };
        let levels_end = definition_bytes.checked_add(repetition_bytes);
        let levels_end = levels_end.filter(|end| *end <= stored.len() && *end <= header.plain_bytes);
        let levels_end = levels_end.ok_or_else(|| Error::corrupt("the levels of a page are longer than the page"))?;
        let levels = PageBytes::Stored(stored.slice(repetition_bytes..levels_end));
        let values = stored.slice(levels_end..);
        let plain = header.plain_bytes - levels_end;
        let values = match is_compressed && !values.is_empty() {
            true => self.decompress(&values, plain, in_place)?,
            false => PageData::Whole(PageBytes::Stored(values)),
        };
        Ok(OpenPage { levels, values })
    }

    fn decompress(&self, stored: &Bytes, length: usize, in_place: bool) -> Result<PageData> {
        if self.codec == CompressionCodec::UNCOMPRESSED {
            if stored.len() != length {
                return Err(Error::corrupt("the two sizes of an uncompressed page differ"));
            }
            return Ok(PageData::Whole(PageBytes::Stored(stored.clone())));
        }
        if in_place && let Some(pieces) = PageSlices::literals(self.codec, stored, length) {
            return Ok(PageData::Pieces(pieces));
        }
        let block = decompress(self.codec, stored, length, &self.pool)?;
        Ok(PageData::Whole(PageBytes::Block(Arc::new(block), 0..length)))
    }

    /// Releases a page that will not be read, if it was planned for at all.
    fn release_place(&self, place: &PagePlace) {
        let at = self.rows.partition_point(|range| range.end <= place.rows.start);
        if self.rows.get(at).is_some_and(|range| range.start < place.rows.end) {
            self.fetcher.release(self.file, place.bytes.clone());
        }
    }

    /// Releases everything before `end` that was not released yet.
    fn release_to(&mut self, end: u64) {
        if end > self.released {
            self.fetcher.release(self.file, self.released..end);
            self.released = end;
        }
    }
}

impl Drop for PageWalk {
    fn drop(&mut self) {
        match self.places.take() {
            None => self.release_to(self.left.end),
            Some(places) => {
                self.release_to(self.left.end);
                for place in places.pages.get(self.next_place..).unwrap_or(&[]) {
                    self.release_place(place);
                }
            }
        }
    }
}

/// A page larger than this needs a footer that says so of its chunk: one damaged header must not take so much memory.
const UNPROVEN_PAGE_BYTES_AT_MOST: usize = 1 << 30;

fn page_bytes_at_most(chunk_bytes: u64) -> usize {
    usize::try_from(chunk_bytes).unwrap_or(usize::MAX).clamp(UNPROVEN_PAGE_BYTES_AT_MOST, PAGE_BYTES_AT_MOST)
}

fn too_few() -> Error {
    Error::corrupt("its pages hold fewer rows than the footer says")
}

fn check_crc(header: &PageHeader, stored: &[u8]) -> Result<()> {
    let Some(stated) = header.crc else { return Ok(()) };
    let mut crc = flate2::Crc::new();
    crc.update(stored);
    if crc.sum() == stated { Ok(()) } else { Err(Error::corrupt("the checksum of a page does not match")) }
}
