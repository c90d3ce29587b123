//! Columns of numbers: values of one width.

use std::sync::Arc;

use arrow::array::{ArrayDataBuilder, ArrayRef, make_array};
use arrow::buffer::NullBuffer;
use arrow::datatypes::DataType;
use lakerace_io::option::{COLUMNS, TIMESTAMP_UNIT};
use lakerace_io::{Error, Result};
use lakerace_orc::spread::{BitSlice, spread, spread_from};

use super::block::{Block, MemoryPool, PageBytes, PlainOldData};
use super::byte_stream_split;
use super::convert::{ValueConversion, ValueFlaw};
use super::delta;
use super::dictionary_indices::{IndexSlots, PageIndexes};
use super::error::page_ends;
use super::literal_page::PageSlices;
use super::packed_gather::PaddedDictionary;
use super::values::{PageEncoding, ValueCollector, slots, stored};
use crate::exec::{RowSelection, copy_kept};
use crate::schema_text::print_type;

/// Collects values of a fixed width.
pub(crate) struct FixedWidthValues<C: ValueConversion> {
    convert: C,
    data_type: DataType,
    pool: Arc<MemoryPool>,
    dictionary: PaddedDictionary<C::Out>,
    page: FixedPage,
    /// The array under way.
    out: Option<Block>,
    len: usize,
}

enum FixedPage {
    /// The next value is at this byte.
    Plain(PageBytes, usize),
    Pieces(PageSlices),
    Dictionary(PageIndexes),
}

impl<C: ValueConversion> FixedWidthValues<C> {
    /// For arrays of `data_type`, whose values must be as wide as `C::Out`.
    pub fn new(convert: C, data_type: DataType, pool: Arc<MemoryPool>) -> Self {
        let page = FixedPage::Plain(PageBytes::empty(), 0);
        Self { convert, data_type, pool, dictionary: PaddedDictionary::new(0), page, out: None, len: 0 }
    }
}

impl<C: ValueConversion> ValueCollector for FixedWidthValues<C> {
    fn dictionary(&mut self, data: PageBytes, count: usize) -> Result<()> {
        let width = self.convert.width();
        let bytes = count.checked_mul(width).and_then(|bytes| data.get(..bytes)).ok_or_else(page_ends)?;
        self.dictionary = PaddedDictionary::new(count);
        self.convert.convert_all(bytes, self.dictionary.values_mut());
        Ok(())
    }

    fn page(&mut self, data: PageBytes, encoding: PageEncoding, count: usize) -> Result<()> {
        let width = self.convert.width();
        self.page = match encoding {
            PageEncoding::Plain => FixedPage::Plain(data, 0),
            PageEncoding::Dictionary => FixedPage::Dictionary(PageIndexes::new(data)?),
            PageEncoding::DeltaBinaryPacked => FixedPage::Plain(delta::integers(&data, width, count)?, 0),
            PageEncoding::ByteStreamSplit => FixedPage::Plain(byte_stream_split::joined_streams(&data, width)?, 0),
            PageEncoding::DeltaByteArray if C::IS_BYTES => {
                FixedPage::Plain(delta::fixed_byte_arrays(&data, count, width)?, 0)
            }
            other => return Err(other.unfit()),
        };
        Ok(())
    }

    fn takes_pieces(&self, encoding: PageEncoding) -> bool {
        encoding == PageEncoding::Plain && self.convert.width() <= WIDTH_IN_PIECES
    }

    fn prefers_pieces(&self, encoding: PageEncoding) -> bool {
        self.takes_pieces(encoding)
    }

    fn pieces(&mut self, pieces: PageSlices, _: PageEncoding, _: usize) -> Result<()> {
        self.page = FixedPage::Pieces(pieces);
        Ok(())
    }

    fn begin(&mut self, rows: usize) {
        self.out = Some(self.pool.take(rows * size_of::<C::Out>()));
        self.len = 0;
    }

    fn read(&mut self, count: usize) -> Result<()> {
        let target = slots::<C::Out>(&mut self.out, self.len..self.len + count)?;
        match &mut self.page {
            FixedPage::Plain(data, at) => plain(&self.convert, stored(data, at, self.convert.width(), count)?, target),
            FixedPage::Pieces(pieces) => {
                let mut filled = 0;
                in_pieces(pieces, self.convert.width(), count, |stored, values| {
                    plain(&self.convert, stored, &mut target[filled..filled + values]);
                    filled += values;
                })?;
            }
            FixedPage::Dictionary(indexes) => {
                indexes.read(count, &mut IndexSlots { dictionary: &self.dictionary, target, at: 0 })?;
            }
        }
        self.len += count;
        Ok(())
    }

    fn read_kept(&mut self, kept: RowSelection<'_>) -> Result<()> {
        let count = kept.count();
        let target = slots::<C::Out>(&mut self.out, self.len..self.len + count + 1)?;
        match &mut self.page {
            FixedPage::Plain(data, at) => {
                plain_kept(&self.convert, stored(data, at, self.convert.width(), kept.len())?, kept, target);
            }
            FixedPage::Pieces(pieces) => {
                let (mut filled, mut rest) = (0, kept);
                in_pieces(pieces, self.convert.width(), kept.len(), |stored, values| {
                    let kept = rest.take(values);
                    let slots = filled..=filled + kept.count();
                    filled = *slots.end();
                    plain_kept(&self.convert, stored, kept, &mut target[slots]);
                })?;
            }
            FixedPage::Dictionary(indexes) => {
                indexes.read_kept(kept, &mut IndexSlots { dictionary: &self.dictionary, target, at: 0 })?;
            }
        }
        self.len += count;
        Ok(())
    }

    fn skip(&mut self, count: usize) -> Result<()> {
        match &mut self.page {
            FixedPage::Plain(data, at) => stored(data, at, self.convert.width(), count).map(drop),
            FixedPage::Pieces(pieces) => pieces.skip(count.checked_mul(self.convert.width()).ok_or_else(page_ends)?),
            FixedPage::Dictionary(indexes) => indexes.skip(count),
        }
    }

    fn read_spread(&mut self, rows: usize, count: usize, valid: BitSlice<'_>) -> Result<()> {
        if !C::IS_SAME || cfg!(target_endian = "big") || matches!(self.page, FixedPage::Dictionary(_)) {
            self.read(count)?;
            self.spread(rows, count, valid);
            return Ok(());
        }
        let target = slots::<C::Out>(&mut self.out, self.len..self.len + rows)?;
        match &mut self.page {
            FixedPage::Plain(data, at) => {
                let mut pieces = PageSlices::whole(data.slice(*at..data.len()));
                spread_pieces(&mut pieces, target, valid)?;
                *at = data.len() - pieces.left();
            }
            FixedPage::Pieces(pieces) => spread_pieces(pieces, target, valid)?,
            FixedPage::Dictionary(_) => {}
        }
        self.len += rows;
        Ok(())
    }

    fn spread(&mut self, rows: usize, dense: usize, valid: BitSlice<'_>) {
        let Some(out) = &mut self.out else { return };
        let start = self.len - dense;
        if let Some(slots) = out.typed_mut::<C::Out>().get_mut(start..start + rows) {
            spread(slots, dense, valid);
        }
        self.len = start + rows;
    }

    fn finish(&mut self, nulls: Option<NullBuffer>) -> Result<ArrayRef> {
        if let Some(flaw) = self.convert.flaw() {
            return Err(unfit(flaw, &self.data_type));
        }
        let out = self.out.take().ok_or_else(|| Error::internal("no array was started"))?;
        let buffer = out.into_buffer(self.len * size_of::<C::Out>());
        let array = ArrayDataBuilder::new(self.data_type.clone()).len(self.len).add_buffer(buffer).nulls(nulls);
        // SAFETY: one buffer of `len` values of the type's width, aligned to 64 bytes, and `len` validity bits.
        Ok(make_array(unsafe { array.build_unchecked() }))
    }
}

/// The error for a value that its type can't hold.
pub(crate) fn unfit(flaw: ValueFlaw, data_type: &DataType) -> Error {
    match flaw {
        ValueFlaw::Range => {
            let error = Error::unsupported(format!("a value is out of range for {}", print_type(data_type)));
            match data_type {
                DataType::Timestamp(..) => {
                    error.advice(format!("read 96-bit timestamps with {}", TIMESTAMP_UNIT.to("us")))
                }
                _ => error.advice(format!("exclude the column with {COLUMNS}")),
            }
        }
        ValueFlaw::Digits => {
            Error::unsupported(format!("a value has more digits than {} can hold", print_type(data_type))).advice(
                format!(
                    "read 96-bit timestamps with {}, or with {}, which rounds them",
                    TIMESTAMP_UNIT.to("ns"),
                    TIMESTAMP_UNIT.to("us")
                ),
            )
        }
    }
}

/// Wider values are not taken from pieces.
const WIDTH_IN_PIECES: usize = 32;
/// Rows that are spread together.
const WORD_ROWS: usize = 64;

/// Passes the next `count` values of `width` bytes to `each`, as many together as lie in a piece. A value that
/// continues in the next piece is assembled first.
fn in_pieces(
    pieces: &mut PageSlices,
    width: usize,
    mut count: usize,
    mut each: impl FnMut(&[u8], usize),
) -> Result<()> {
    while count > 0 {
        let (bytes, place) = pieces.window();
        let values = (place.len() / width.max(1)).min(count);
        if values > 0 {
            let end = place.start + values * width;
            each(&bytes[place.start..end], values);
            pieces.read_to(end);
            count -= values;
        } else {
            let mut value = [0; WIDTH_IN_PIECES];
            let value = value.get_mut(..width).ok_or_else(|| Error::internal("the values are too wide for pieces"))?;
            pieces.take(value)?;
            each(value, 1);
            count -= 1;
        }
    }
    Ok(())
}

/// Copies the next values, as they are stored, to the valid slots; the others become zero.
fn spread_pieces<T: PlainOldData>(pieces: &mut PageSlices, slots: &mut [T], valid: BitSlice<'_>) -> Result<()> {
    let mut row = 0;
    while row < slots.len() {
        let (bytes, place) = pieces.window();
        let start = place.start;
        let (rows, values) = spread_from(&bytes[place], &mut slots[row..], valid.after(row));
        pieces.read_to(start + values * size_of::<T>());
        row += rows;
        // The values of the next rows may continue in the next piece, or be the last ones.
        let count = (slots.len() - row).min(WORD_ROWS);
        let values = (0..count).filter(|at| valid.get(row + at)).count();
        let mut stored = [[0; WIDTH_IN_PIECES]; WORD_ROWS];
        let stored = &mut stored.as_flattened_mut()[..WORD_ROWS * size_of::<T>()];
        pieces.take(&mut stored[..values * size_of::<T>()])?;
        spread_from(stored, &mut slots[row..row + count], valid.after(row));
        row += count;
    }
    Ok(())
}

fn plain<C: ValueConversion>(convert: &C, stored: &[u8], target: &mut [C::Out]) {
    if C::IS_SAME && cfg!(target_endian = "little") {
        debug_assert_eq!(stored.len(), size_of_val(target));
        // SAFETY: `stored` was cut to `target.len()` values of the same width, and any bits are a value.
        unsafe { std::ptr::copy_nonoverlapping(stored.as_ptr(), target.as_mut_ptr().cast(), stored.len()) };
        return;
    }
    convert.convert_all(stored, target);
}

/// Writes the kept values, and one slot after them.
fn plain_kept<C: ValueConversion>(convert: &C, stored: &[u8], kept: RowSelection<'_>, target: &mut [C::Out]) {
    if C::IS_SAME && cfg!(target_endian = "little") {
        // SAFETY: any bits are a value of a plain type.
        unsafe { copy_kept(stored, kept, target) };
        return;
    }
    let width = convert.width();
    let mut filled = 0;
    for piece in kept.pieces() {
        let stored = &stored[piece.start * width..(piece.start + piece.rows) * width];
        let slots = &mut target[filled..=filled + piece.count()];
        filled += piece.count();
        if piece.is_all() {
            plain(convert, stored, &mut slots[..piece.rows]);
            continue;
        }
        if piece.is_sparse() {
            for (slot, row) in slots.iter_mut().zip(piece.kept_rows()) {
                *slot = convert.convert(&stored[row * width..(row + 1) * width]);
            }
            continue;
        }
        let mut at = 0;
        for (row, stored) in stored.chunks_exact(width).enumerate() {
            // SAFETY: `at` is the number of kept rows before this one, and there is a slot for each, and one more.
            unsafe { *slots.get_unchecked_mut(at) = convert.convert(stored) };
            at += piece.bit(row);
        }
    }
}
