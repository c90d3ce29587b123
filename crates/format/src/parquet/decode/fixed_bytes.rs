//! Columns of byte arrays of one length.

use std::sync::Arc;

use arrow::array::{ArrayDataBuilder, ArrayRef, make_array};
use arrow::buffer::NullBuffer;
use arrow::datatypes::DataType;
use lakerace_io::{Error, Result};
use lakerace_orc::spread::{BitSlice, spread};

use super::block::{Block, MemoryPool, PageBytes};
use super::byte_stream_split;
use super::delta;
use super::dictionary_indices::{IndexGather, PageIndexes};
use super::error::page_ends;
use super::values::{PageEncoding, ValueCollector, stored};
use crate::exec::RowSelection;

/// The width of most such columns.
const UUID_BYTES: usize = 16;

/// Collects byte arrays of one length.
pub(crate) struct FixedBytes {
    width: usize,
    data_type: DataType,
    pool: Arc<MemoryPool>,
    dictionary: PageBytes,
    page: BytesPage,
    out: Option<Block>,
    len: usize,
}

enum BytesPage {
    /// The next value is at this byte.
    Plain(PageBytes, usize),
    Dictionary(PageIndexes),
}

impl FixedBytes {
    /// Makes a decoder of values of `width` bytes each.
    pub fn new(width: usize, data_type: DataType, pool: Arc<MemoryPool>) -> Self {
        let page = BytesPage::Plain(PageBytes::empty(), 0);
        Self { width, data_type, pool, dictionary: PageBytes::empty(), page, out: None, len: 0 }
    }
}

impl ValueCollector for FixedBytes {
    fn dictionary(&mut self, data: PageBytes, count: usize) -> Result<()> {
        let end = count.checked_mul(self.width).filter(|end| *end <= data.len()).ok_or_else(page_ends)?;
        self.dictionary = data.slice(0..end);
        Ok(())
    }

    fn page(&mut self, data: PageBytes, encoding: PageEncoding, count: usize) -> Result<()> {
        self.page = match encoding {
            PageEncoding::Plain => BytesPage::Plain(data, 0),
            PageEncoding::Dictionary => BytesPage::Dictionary(PageIndexes::new(data)?),
            PageEncoding::ByteStreamSplit => BytesPage::Plain(byte_stream_split::joined_streams(&data, self.width)?, 0),
            PageEncoding::DeltaByteArray => BytesPage::Plain(delta::fixed_byte_arrays(&data, count, self.width)?, 0),
            other => return Err(other.unfit()),
        };
        Ok(())
    }

    fn begin(&mut self, rows: usize) {
        self.out = Some(self.pool.take(rows.saturating_mul(self.width)));
        self.len = 0;
    }

    fn read(&mut self, count: usize) -> Result<()> {
        let width = self.width;
        let out = self.out.as_mut().ok_or_else(|| Error::internal("no array was started"))?;
        let target = out.get_mut(self.len * width..(self.len + count) * width);
        let target = target.ok_or_else(|| Error::internal("there are more values than rows"))?;
        match &mut self.page {
            BytesPage::Plain(data, at) => target.copy_from_slice(stored(data, at, width, count)?),
            BytesPage::Dictionary(indexes) => {
                indexes.read(count, &mut ValueSlots { dictionary: &self.dictionary, width, target, at: 0 })?;
            }
        }
        self.len += count;
        Ok(())
    }

    fn read_kept(&mut self, kept: RowSelection<'_>) -> Result<()> {
        let (width, count) = (self.width, kept.count());
        let out = self.out.as_mut().ok_or_else(|| Error::internal("no array was started"))?;
        let target = out.get_mut(self.len * width..(self.len + count) * width);
        let target = target.ok_or_else(|| Error::internal("there are more values than rows"))?;
        match &mut self.page {
            BytesPage::Plain(data, at) => {
                let stored = stored(data, at, width, kept.len())?;
                let mut filled = 0;
                for run in kept.runs() {
                    let run = &stored[run.start * width..run.end * width];
                    target[filled..filled + run.len()].copy_from_slice(run);
                    filled += run.len();
                }
            }
            BytesPage::Dictionary(indexes) => {
                indexes.read_kept(kept, &mut ValueSlots { dictionary: &self.dictionary, width, target, at: 0 })?;
            }
        }
        self.len += count;
        Ok(())
    }

    fn skip(&mut self, count: usize) -> Result<()> {
        match &mut self.page {
            BytesPage::Plain(data, at) => stored(data, at, self.width, count).map(drop),
            BytesPage::Dictionary(indexes) => indexes.skip(count),
        }
    }

    fn spread(&mut self, rows: usize, dense: usize, valid: BitSlice<'_>) {
        let (width, start) = (self.width, self.len - dense);
        if let Some(slots) = self.out.as_mut().and_then(|out| out.get_mut(start * width..(start + rows) * width)) {
            spread_bytes(slots, width, dense, valid);
        }
        self.len = start + rows;
    }

    fn finish(&mut self, nulls: Option<NullBuffer>) -> Result<ArrayRef> {
        let out = self.out.take().ok_or_else(|| Error::internal("no array was started"))?;
        let buffer = out.into_buffer(self.len * self.width);
        let array = ArrayDataBuilder::new(self.data_type.clone()).len(self.len).add_buffer(buffer).nulls(nulls);
        // SAFETY: one buffer of `len` values of the type's width, and `len` validity bits.
        Ok(make_array(unsafe { array.build_unchecked() }))
    }
}

/// Moves the first `dense` values of `width` bytes to the valid rows; the others become zero.
fn spread_bytes(slots: &mut [u8], width: usize, mut dense: usize, valid: BitSlice<'_>) {
    if width == UUID_BYTES {
        return spread(slots.as_chunks_mut::<UUID_BYTES>().0, dense, valid);
    }
    for row in (0..slots.len().checked_div(width).unwrap_or(0)).rev() {
        if valid.get(row) && dense > 0 {
            dense -= 1;
            slots.copy_within(dense * width..(dense + 1) * width, row * width);
        } else {
            slots[row * width..(row + 1) * width].fill(0);
        }
    }
}

struct ValueSlots<'a> {
    dictionary: &'a [u8],
    width: usize,
    target: &'a mut [u8],
    at: usize,
}

impl ValueSlots<'_> {
    fn put(&mut self, index: u32) {
        let (width, from) = (self.width, index as usize * self.width);
        self.target[self.at..self.at + width].copy_from_slice(&self.dictionary[from..from + width]);
        self.at += width;
    }
}

impl IndexGather for ValueSlots<'_> {
    fn len(&self) -> usize {
        self.dictionary.len() / self.width
    }

    fn repeat(&mut self, index: u32, count: usize) {
        for _ in 0..count {
            self.put(index);
        }
    }

    fn gather(&mut self, indexes: &[u32]) {
        for index in indexes {
            self.put(*index);
        }
    }
}
