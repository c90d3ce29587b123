//! Timestamps of 96 bits, and intervals, within other columns.
//!
//! The parquet crate decodes them, but reports neither a timestamp that is out of range nor lost digits and months. So
//! the values of their pages are checked before the crate gets the page.

use std::sync::Arc;

use arrow::datatypes::{DataType, TimeUnit};
use bytes::Bytes;
use lakerace_io::Error;
use lakerace_io::option::COLUMNS;
use parquet::arrow::arrow_reader::{ParquetRecordBatchReader, RowGroups, RowSelection};
use parquet::arrow::{ProjectionMask, parquet_to_arrow_field_levels};
use parquet::basic::{ConvertedType, Encoding};
use parquet::column::page::{Page, PageIterator, PageMetadata, PageReader};
use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::{ParquetMetaData, RowGroupMetaData};
use parquet::file::serialized_reader::SerializedPageReader;

use super::chunk_bytes::{ChunkBytes, Failure, keep};
use super::column_source::ColumnSource;
use crate::parquet::decode::convert::{Int96, ValueConversion};
use crate::parquet::decode::fixed::unfit;
use crate::parquet::footer::FileMeta;
use crate::parquet::footer::schema::{is_hinted, is_int96, leaf_types};

/// Bytes of a value.
const WIDTH: usize = 12;

/// A row group in which the pages of one root column are checked.
pub(crate) struct CheckedGroup {
    file: Arc<FileMeta>,
    row_group: usize,
    root: usize,
    bytes: Arc<ChunkBytes>,
}

impl CheckedGroup {
    /// Makes the checks of the row group and the root column of a reader.
    pub fn new(source: &ColumnSource, root: usize, bytes: ChunkBytes) -> Self {
        Self { file: Arc::clone(&source.file), row_group: source.row_group, root, bytes: Arc::new(bytes) }
    }

    /// A reader of some leaf columns.
    pub fn reader(
        &self,
        leaves: Vec<usize>,
        step_rows: usize,
        selection: Option<RowSelection>,
    ) -> Result<ParquetRecordBatchReader> {
        let stored = self.file.arrow.parquet_schema();
        let mask = ProjectionMask::leaves(stored, leaves);
        let levels = parquet_to_arrow_field_levels(stored, mask, Some(self.file.arrow.schema().fields()))?;
        ParquetRecordBatchReader::try_new_with_row_groups(&levels, self, step_rows, selection)
    }

    fn group(&self) -> &RowGroupMetaData {
        self.file.metadata().row_group(self.row_group)
    }

    /// The type that a leaf column is decoded to.
    fn data_type(&self, leaf: usize) -> Option<DataType> {
        let first = self.file.leaves.get(self.root)?.start;
        let field = self.file.arrow.schema().fields().get(self.root)?;
        leaf_types(field).into_iter().nth(leaf.checked_sub(first)?)
    }
}

impl RowGroups for CheckedGroup {
    fn num_rows(&self) -> usize {
        self.group().num_rows() as usize
    }

    fn column_chunks(&self, leaf: usize) -> Result<Box<dyn PageIterator>> {
        let column = self.group().column(leaf);
        let pages = SerializedPageReader::new(Arc::clone(&self.bytes), column, self.num_rows(), None)?;
        let stored = self.file.arrow.parquet_schema();
        if !is_checked(&self.file, leaf) {
            return Ok(Box::new(OneChunk(Some(Box::new(pages)))));
        }
        let data_type = self.data_type(leaf).ok_or_else(|| ParquetError::General("a leaf has no type".to_owned()))?;
        let check = match &data_type {
            _ if !is_int96(stored, leaf) => GroupCheck::Interval,
            DataType::Timestamp(unit, _) => GroupCheck::Int96(Int96::for_unit(*unit, self.file.rounds_int96)),
            _ => GroupCheck::Int96(Int96::for_unit(TimeUnit::Nanosecond, self.file.rounds_int96)),
        };
        let descriptor = column.column_descr();
        let levels = [descriptor.max_rep_level(), descriptor.max_def_level()];
        let failure = Arc::clone(&self.bytes.failure);
        Ok(Box::new(OneChunk(Some(Box::new(CheckedPages { pages, check, data_type, levels, failure })))))
    }

    fn row_groups(&self) -> Box<dyn Iterator<Item = &RowGroupMetaData> + '_> {
        Box::new(std::iter::once(self.group()))
    }

    fn metadata(&self) -> &ParquetMetaData {
        self.file.metadata()
    }
}

/// The kind of a check.
enum GroupCheck {
    /// Timestamps fit into the type that they are read as.
    Int96(Int96),
    /// Intervals have no months, for which the type that the crate reads has no place.
    Interval,
}

/// Returns true if the values of a leaf column are checked before they are decoded. A writer of Arrow names the unit of
/// its intervals, which have no other parts.
pub(crate) fn is_checked(file: &FileMeta, leaf: usize) -> bool {
    let stored = file.arrow.parquet_schema();
    let is_interval = stored.column(leaf).converted_type() == ConvertedType::INTERVAL;
    is_int96(stored, leaf) || (is_interval && !is_hinted(file.metadata()))
}

/// Returns true if the values of a page have an encoding that is not checked.
fn has_other_encoding(page: &Page) -> bool {
    #[allow(deprecated, reason = "old files have it")]
    let known = [Encoding::PLAIN, Encoding::PLAIN_DICTIONARY, Encoding::RLE_DICTIONARY];
    !known.contains(&page.encoding())
}

fn unread_interval() -> Error {
    Error::unsupported("intervals with months can only be read from top-level columns").advice(format!(
        "exclude the column with {COLUMNS}, or rewrite the file with the interval as a top-level column"
    ))
}

/// The pages of one column chunk.
struct OneChunk(Option<Box<dyn PageReader>>);

impl Iterator for OneChunk {
    type Item = Result<Box<dyn PageReader>>;

    fn next(&mut self) -> Option<Self::Item> {
        self.0.take().map(Ok)
    }
}

impl PageIterator for OneChunk {}

/// The pages of a column chunk, each checked before it is given out.
struct CheckedPages {
    pages: SerializedPageReader<ChunkBytes>,
    check: GroupCheck,
    /// The type that the values are converted to.
    data_type: DataType,
    /// The highest repetition and definition level.
    levels: [i16; 2],
    failure: Failure,
}

impl CheckedPages {
    fn check(&self, page: Option<Page>) -> Result<Option<Page>> {
        let values = page.as_ref().and_then(|page| self.values(page)).unwrap_or_default();
        let mut stored = values.chunks_exact(WIDTH);
        let fault = match &self.check {
            GroupCheck::Int96(convert) => {
                stored.for_each(|value| {
                    convert.convert(value);
                });
                convert.flaw().map(|flaw| unfit(flaw, &self.data_type))
            }
            GroupCheck::Interval if page.as_ref().is_some_and(has_other_encoding) => Some(unread_interval()),
            GroupCheck::Interval => stored.any(|value| value[..4] != [0; 4]).then(unread_interval),
        };
        match fault {
            Some(fault) => Err(keep(&self.failure, fault)),
            None => Ok(page),
        }
    }

    /// The values that a page contains; `None` if it has only indexes, or is too short.
    fn values(&self, page: &Page) -> Option<Bytes> {
        match page {
            Page::DictionaryPage { buf, .. } => Some(buf.clone()),
            Page::DataPage {
                buf,
                num_values,
                encoding: Encoding::PLAIN,
                def_level_encoding,
                rep_level_encoding,
                ..
            } => {
                let mut values = buf.clone();
                for (highest, encoding) in self.levels.into_iter().zip([rep_level_encoding, def_level_encoding]) {
                    let length = levels_length(&values, highest, *encoding, *num_values as usize)?;
                    values = values.get(length..).map(|rest| buf.slice_ref(rest))?;
                }
                Some(values)
            }
            Page::DataPageV2 { buf, encoding: Encoding::PLAIN, def_levels_byte_len, rep_levels_byte_len, .. } => {
                let levels = (*def_levels_byte_len as usize).checked_add(*rep_levels_byte_len as usize)?;
                buf.get(levels..).map(|rest| buf.slice_ref(rest))
            }
            _ => None,
        }
    }
}

/// Bytes that the levels take at the start of a page of version 1.
fn levels_length(page: &[u8], highest: i16, encoding: Encoding, values: usize) -> Option<usize> {
    if highest == 0 {
        return Some(0);
    }
    if encoding == Encoding::RLE {
        let length = page.first_chunk::<4>()?;
        return (u32::from_le_bytes(*length) as usize).checked_add(4);
    }
    // Packed bits, without their length.
    let width = (i16::BITS - highest.leading_zeros()) as usize;
    values.checked_mul(width).map(|bits| bits.div_ceil(8))
}

impl Iterator for CheckedPages {
    type Item = Result<Page>;

    fn next(&mut self) -> Option<Self::Item> {
        self.get_next_page().transpose()
    }
}

impl PageReader for CheckedPages {
    fn get_next_page(&mut self) -> Result<Option<Page>> {
        let page = self.pages.get_next_page()?;
        self.check(page)
    }

    fn peek_next_page(&mut self) -> Result<Option<PageMetadata>> {
        self.pages.peek_next_page()
    }

    fn skip_next_page(&mut self) -> Result<()> {
        self.pages.skip_next_page()
    }

    fn supports_deferred_dictionary(&self) -> bool {
        self.pages.supports_deferred_dictionary()
    }

    fn take_deferred_dictionary(&mut self) -> Result<Option<Page>> {
        let page = self.pages.take_deferred_dictionary()?;
        self.check(page)
    }

    fn at_record_boundary(&mut self) -> Result<bool> {
        self.pages.at_record_boundary()
    }
}
