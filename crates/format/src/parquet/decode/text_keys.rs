//! Columns of text as keys of a dictionary: the indexes that the pages store.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, DictionaryArray, Int32Array, StringArray};
use arrow::buffer::{NullBuffer, ScalarBuffer};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Int32Type};
use lakerace_io::{Error, Result};
use lakerace_orc::spread::{BitSlice, spread};

use super::block::{Block, MemoryPool, PageBytes};
use super::byte_view::ViewCollector;
use super::dictionary_indices::{IndexGather, PageIndexes};
use super::literal_page::PageSlices;
use super::values::{PageEncoding, ValueCollector, slots};
use crate::exec::RowSelection;
use crate::text_dictionary::{ROWS_PER_VALUE, text_dictionary};

/// Collects texts as `Dictionary(Int32, Utf8)`.
///
/// The arrays of a chunk share its dictionary, as long as the pages have indexes. From the first page without indexes on,
/// texts are collected as views, and looked up afterwards. So are all texts of a chunk with a dictionary that has many
/// values compared with the rows of an array.
pub(crate) struct TextKeyCollector {
    views: ViewCollector,
    pool: Arc<MemoryPool>,
    /// The values of the chunk's dictionary, once an array has them.
    values: Option<ArrayRef>,
    page: KeyPage,
    /// The keys of the array under way.
    keys: Option<Block>,
    /// Rows that it may have.
    rows: usize,
    len: usize,
}

enum KeyPage {
    /// None was opened yet.
    None,
    Indexes(PageIndexes),
    /// The rest of the chunk is collected as views.
    Views,
}

impl TextKeyCollector {
    /// For a chunk of texts.
    pub fn new(pool: Arc<MemoryPool>) -> Self {
        let views = ViewCollector::new(true, Arc::clone(&pool));
        Self { views, pool, values: None, page: KeyPage::None, keys: None, rows: 0, len: 0 }
    }

    /// The collector of views, which takes the rest of the chunk, and the rows of the array under way.
    fn views(&mut self) -> Result<&mut ViewCollector> {
        if !matches!(self.page, KeyPage::Views) {
            self.page = KeyPage::Views;
            self.views.begin(self.rows);
            if let Some(mut keys) = self.keys.take() {
                self.views.append_dictionary_values(keys.typed_mut::<u32>().get(..self.len).unwrap_or(&[]))?;
            }
        }
        Ok(&mut self.views)
    }

    /// The values of the dictionary.
    fn values(&mut self) -> Result<ArrayRef> {
        if let Some(values) = &self.values {
            return Ok(Arc::clone(values));
        }
        let views = self.views.dictionary_values();
        // Readers look up the keys of nulls, too.
        let values: ArrayRef = match views.is_empty() {
            true => Arc::new(StringArray::from(vec![""])),
            false => cast(&views, &DataType::Utf8).map_err(Error::unexpected)?,
        };
        Ok(Arc::clone(self.values.insert(values)))
    }
}

/// A range of the keys of an array.
fn key_slots<'a>(
    keys: &'a mut Option<Block>,
    pool: &Arc<MemoryPool>,
    rows: usize,
    range: std::ops::Range<usize>,
) -> Result<&'a mut [u32]> {
    if keys.is_none() {
        *keys = Some(pool.take(rows * size_of::<u32>()));
    }
    slots(keys, range)
}

impl ValueCollector for TextKeyCollector {
    fn dictionary(&mut self, data: PageBytes, count: usize) -> Result<()> {
        self.views.dictionary(data, count)
    }

    fn page(&mut self, data: PageBytes, encoding: PageEncoding, count: usize) -> Result<()> {
        let shares_values = self.views.dictionary_len() * ROWS_PER_VALUE <= self.rows;
        if encoding == PageEncoding::Dictionary && shares_values && !matches!(self.page, KeyPage::Views) {
            self.page = KeyPage::Indexes(PageIndexes::new(data)?);
            return Ok(());
        }
        self.views()?.page(data, encoding, count)
    }

    fn takes_pieces(&self, encoding: PageEncoding) -> bool {
        self.views.takes_pieces(encoding)
    }

    fn pieces(&mut self, pieces: PageSlices, encoding: PageEncoding, count: usize) -> Result<()> {
        self.views()?.pieces(pieces, encoding, count)
    }

    fn begin(&mut self, rows: usize) {
        (self.rows, self.len) = (rows, 0);
        if matches!(self.page, KeyPage::Views) {
            self.views.begin(rows);
        }
    }

    fn read(&mut self, count: usize) -> Result<()> {
        let KeyPage::Indexes(indexes) = &mut self.page else { return self.views()?.read(count) };
        let target = key_slots(&mut self.keys, &self.pool, self.rows, self.len..self.len + count)?;
        indexes.read(count, &mut KeySlots { values: self.views.dictionary_len(), target, at: 0 })?;
        self.len += count;
        Ok(())
    }

    fn read_kept(&mut self, kept: RowSelection<'_>) -> Result<()> {
        let KeyPage::Indexes(indexes) = &mut self.page else { return self.views()?.read_kept(kept) };
        let target = key_slots(&mut self.keys, &self.pool, self.rows, self.len..self.len + kept.count() + 1)?;
        indexes.read_kept(kept, &mut KeySlots { values: self.views.dictionary_len(), target, at: 0 })?;
        self.len += kept.count();
        Ok(())
    }

    fn skip(&mut self, count: usize) -> Result<()> {
        match &mut self.page {
            KeyPage::Indexes(indexes) => indexes.skip(count),
            _ => self.views()?.skip(count),
        }
    }

    fn spread(&mut self, rows: usize, dense: usize, valid: BitSlice<'_>) {
        if matches!(self.page, KeyPage::Views) {
            return self.views.spread(rows, dense, valid);
        }
        let start = self.len - dense;
        if let Ok(slots) = key_slots(&mut self.keys, &self.pool, self.rows, start..start + rows) {
            spread(slots, dense, valid);
        }
        self.len = start + rows;
    }

    fn finish(&mut self, nulls: Option<NullBuffer>) -> Result<ArrayRef> {
        if matches!(self.page, KeyPage::Views) {
            return Ok(Arc::new(text_dictionary(self.views.finish(nulls)?.as_string_view())?));
        }
        let values = self.values()?;
        let len = std::mem::take(&mut self.len);
        let keys = match self.keys.take() {
            Some(keys) => ScalarBuffer::new(keys.into_buffer(len * size_of::<i32>()), 0, len),
            None => ScalarBuffer::from(vec![0; len]),
        };
        let keys = Int32Array::try_new(keys, nulls).map_err(Error::unexpected)?;
        Ok(Arc::new(DictionaryArray::<Int32Type>::try_new(keys, values).map_err(Error::unexpected)?))
    }
}

/// Slots for keys.
struct KeySlots<'a> {
    /// Values in the dictionary.
    values: usize,
    target: &'a mut [u32],
    at: usize,
}

impl IndexGather for KeySlots<'_> {
    fn len(&self) -> usize {
        self.values
    }

    fn repeat(&mut self, index: u32, count: usize) {
        self.target[self.at..self.at + count].fill(index);
        self.at += count;
    }

    fn gather(&mut self, indexes: &[u32]) {
        self.target[self.at..self.at + indexes.len()].copy_from_slice(indexes);
        self.at += indexes.len();
    }
}
