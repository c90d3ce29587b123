//! The page index: which rows each page of a column chunk holds, and between which values.

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use lakerace_io::Result;
use parquet::file::metadata::ColumnChunkMetaData;
use parquet::file::metadata::page_index::PageIndexProvider;
use parquet::file::page_index::column_index::ColumnIndexMetaData;
use parquet::file::page_index::index_reader::{decode_column_index, decode_offset_index};
use parquet::file::page_index::offset_index::OffsetIndexMetaData;

use super::FileMeta;
use crate::files::FileOpening;
use crate::panic_guard::guarded;

/// Indexes are consecutive before the footer: up to this size they are read by one request per file.
const SPAN_BYTES: u64 = 4 << 20;

/// A page of a chunk, as the offset index describes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PagePlace {
    /// Its bytes in the file, header included.
    pub bytes: Range<u64>,
    /// Its rows in the row group.
    pub rows: Range<u64>,
}

/// The pages of a column chunk.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ChunkPages {
    /// Bytes before the first data page: the dictionary.
    pub dictionary: Range<u64>,
    /// The data pages, in order and without gaps between their rows.
    pub pages: Vec<PagePlace>,
}

impl ChunkPages {
    /// The byte ranges of the dictionary and of the pages that hold any of `rows`.
    pub fn ranges(&self, rows: &[Range<u64>]) -> Vec<Range<u64>> {
        let mut ranges: Vec<Range<u64>> = Vec::new();
        let mut add = |bytes: &Range<u64>| match ranges.last_mut() {
            Some(last) if last.end == bytes.start => last.end = bytes.end,
            _ => ranges.push(bytes.clone()),
        };
        if !self.dictionary.is_empty() {
            add(&self.dictionary);
        }
        let mut at = 0;
        for page in &self.pages {
            while rows.get(at).is_some_and(|range| range.end <= page.rows.start) {
                at += 1;
            }
            if rows.get(at).is_some_and(|range| range.start < page.rows.end) {
                add(&page.bytes);
            }
        }
        ranges
    }
}

/// The pages of a chunk, if the file has a valid offset index. A damaged index is ignored, because the pages themselves
/// have all needed information.
pub(crate) fn chunk_pages(file: &FileMeta, row_group: usize, leaf: usize) -> Result<Option<Arc<ChunkPages>>> {
    let Some(offsets) = offset_index(file, row_group, leaf)? else { return Ok(None) };
    let group = file.metadata().row_group(row_group);
    let chunk = file.chunk_range(row_group, leaf)?;
    Ok(places(&offsets, &chunk, group.num_rows() as u64).map(Arc::new))
}

fn places(offsets: &OffsetIndexMetaData, chunk: &Range<u64>, rows: u64) -> Option<ChunkPages> {
    let locations = offsets.page_locations();
    let mut pages = Vec::with_capacity(locations.len());
    let mut end = chunk.start;
    for (number, location) in locations.iter().enumerate() {
        let start = u64::try_from(location.offset).ok()?;
        let size = u64::try_from(location.compressed_page_size).ok()?;
        let first = u64::try_from(location.first_row_index).ok()?;
        let next = match locations.get(number + 1) {
            Some(next) => u64::try_from(next.first_row_index).ok()?,
            None => rows,
        };
        let is_first_wrong = number == 0 && first != 0;
        if start < end || start + size > chunk.end || next < first || next > rows || is_first_wrong {
            return None;
        }
        end = start + size;
        pages.push(PagePlace { bytes: start..end, rows: first..next });
    }
    let first = pages.first()?.bytes.start;
    Some(ChunkPages { dictionary: chunk.start..first, pages })
}

fn offset_index(file: &FileMeta, row_group: usize, leaf: usize) -> Result<Option<OffsetIndexMetaData>> {
    let column = file.metadata().row_group(row_group).column(leaf);
    let Some(range) = range(file, column.offset_index_offset(), column.offset_index_length()) else { return Ok(None) };
    let bytes = index_bytes(file, range)?;
    Ok(guarded("the offset index", || decode_offset_index(&bytes)).ok())
}

/// The bounds of the values of each page of a chunk, in the types of the parquet crate's statistics converter.
pub(crate) fn chunk_values(file: &FileMeta, row_group: usize, leaf: usize) -> Result<Option<ChunkValues>> {
    let column = file.metadata().row_group(row_group).column(leaf);
    let Some(range) = range(file, column.column_index_offset(), column.column_index_length()) else { return Ok(None) };
    let Some(offsets) = offset_index(file, row_group, leaf)? else { return Ok(None) };
    let bytes = index_bytes(file, range)?;
    let values = guarded("the column index", || decode_column_index(&bytes, column.column_type()));
    let Ok(values) = values else { return Ok(None) };
    let agree = values.num_pages() == offsets.page_locations().len() as u64;
    Ok(agree.then_some(ChunkValues { row_group, leaf, values, offsets }))
}

/// The page index of one column chunk.
#[derive(Debug)]
pub(crate) struct ChunkValues {
    row_group: usize,
    leaf: usize,
    values: ColumnIndexMetaData,
    offsets: OffsetIndexMetaData,
}

impl PageIndexProvider for ChunkValues {
    fn has_offset_indexes(&self) -> bool {
        true
    }

    fn has_column_indexes(&self) -> bool {
        true
    }

    fn column_index(&self, row_group: usize, leaf: usize) -> Option<&ColumnIndexMetaData> {
        (row_group == self.row_group && leaf == self.leaf).then_some(&self.values)
    }

    fn offset_index(&self, row_group: usize, leaf: usize) -> Option<&OffsetIndexMetaData> {
        (row_group == self.row_group && leaf == self.leaf).then_some(&self.offsets)
    }

    fn as_any(&self) -> &dyn std::any::Any {
        self
    }
}

fn range(file: &FileMeta, offset: Option<i64>, length: Option<i32>) -> Option<Range<u64>> {
    let start = u64::try_from(offset?).ok()?;
    let end = start.checked_add(u64::try_from(length?).ok()?)?;
    (end <= file.size_bytes && start < end).then_some(start..end)
}

/// Bytes of an index: from the span of all indexes of the file, which the first call reads.
fn index_bytes(file: &FileMeta, range: Range<u64>) -> Result<Bytes> {
    let cached = file.index_span.get();
    let (start, span) = match cached {
        Some(known) => known,
        None => {
            let span = span(file);
            let bytes = if span.is_empty() { Bytes::new() } else { file.object.read_range(span.clone())? };
            file.index_span.get_or_init(|| (span.start, bytes))
        }
    };
    let end = start + span.len() as u64;
    if range.start >= *start && range.end <= end {
        return Ok(span.slice((range.start - start) as usize..(range.end - start) as usize));
    }
    file.object.read_range(range)
}

/// Keeps the indexes that were read with the end of a file, so that they are not requested again.
pub(crate) fn keep_indexes(file: &FileMeta, tail: &Bytes, opening: &FileOpening) {
    if file.object.whole.is_some() {
        return;
    }
    let span = span(file);
    let tail_start = file.size_bytes - (tail.len() as u64).min(file.size_bytes);
    if span.is_empty() || span.start < tail_start || !opening.may_keep(&file.object, (span.end - span.start) as usize) {
        return;
    }
    // A copy: the tail is larger.
    let bytes = &tail[(span.start - tail_start) as usize..(span.end - tail_start) as usize];
    file.index_span.get_or_init(|| (span.start, Bytes::copy_from_slice(bytes)));
}

/// The range of all indexes of the file; empty if it is too long to read together.
fn span(file: &FileMeta) -> Range<u64> {
    let (mut start, mut end) = (u64::MAX, 0);
    let mut add = |column: &ColumnChunkMetaData| {
        let indexes = [
            range(file, column.column_index_offset(), column.column_index_length()),
            range(file, column.offset_index_offset(), column.offset_index_length()),
        ];
        for range in indexes.into_iter().flatten() {
            (start, end) = (start.min(range.start), end.max(range.end));
        }
    };
    file.metadata().row_groups().iter().flat_map(|group| group.columns()).for_each(&mut add);
    if start < end && end - start <= SPAN_BYTES { start..end } else { 0..0 }
}
