//! Columns of text and bytes: views into the pages' own memory.

use std::sync::Arc;

use arrow::array::{ArrayRef, BinaryViewArray, StringViewArray};
use arrow::buffer::{Buffer, NullBuffer, ScalarBuffer};
use lakerace_io::{Error, Result};
use lakerace_orc::spread::{BitSlice, spread};

use super::block::{Block, MemoryPool, PageBytes};
use super::copied_text::{CopiedTexts, LENGTH_BYTES, TextBytes, TextTarget, Utf8Check, length_at};
use super::delta::{self, ValueLengths};
use super::dictionary_indices::{IndexSlots, PageIndexes};
use super::error::page_ends;
use super::literal_page::PageSlices;
use super::packed_gather::PaddedDictionary;
use super::text_check::{check_each, check_utf8};
use super::values::{PageEncoding, ValueCollector, slots};
use super::view::{INLINE_BYTES, is_continuation, view_of};
use crate::exec::RowSelection;

/// Collects text or bytes.
pub(crate) struct ViewCollector {
    is_text: bool,
    pool: Arc<MemoryPool>,
    /// Views of the dictionary's values, which have buffer 0 of every array.
    dictionary: PaddedDictionary<u128>,
    dictionary_buffer: Option<Buffer>,
    page: ViewPage,
    /// The array under way.
    out: Option<Block>,
    /// Rows that it may have.
    rows: usize,
    len: usize,
    buffers: Vec<Buffer>,
    /// The bytes of copied texts.
    bytes: TextBytes,
}

enum ViewPage {
    Plain(PlainPage),
    /// Values that are copied.
    Texts(Box<CopiedTexts>),
    Dictionary(PageIndexes),
}

/// A page of consecutive values, each with its length (4 bytes, little-endian) before it unless the lengths are stored
/// separately.
struct PlainPage {
    data: PageBytes,
    at: usize,
    lengths: Option<ValueLengths>,
    /// The page as a whole is UTF-8, lengths before values included.
    is_utf8: bool,
    /// Its number among the buffers of the array under way.
    buffer: Option<u32>,
}

/// Values from this mean length on are checked one by one.
const LONG_VALUE_BYTES: usize = 64;

impl PlainPage {
    /// A page of `count` values.
    fn new(data: PageBytes, is_text: bool, count: usize) -> Self {
        // A length of 128 or more is no character: a page of long values is not UTF-8 as a whole, and is not tried.
        let is_short = data.len() / count.max(1) < LONG_VALUE_BYTES + LENGTH_BYTES;
        let is_utf8 = is_text && is_short && simdutf8::basic::from_utf8(&data).is_ok();
        Self { data, at: 0, lengths: None, is_utf8, buffer: None }
    }

    /// A page of values with these lengths, which start at `at`.
    fn apart(data: PageBytes, at: usize, lengths: ValueLengths, is_text: bool) -> Result<Self> {
        let end = usize::try_from(lengths.sum()).ok().and_then(|sum| at.checked_add(sum));
        let values = end.and_then(|end| data.get(at..end)).ok_or_else(page_ends)?;
        let is_utf8 = is_text && simdutf8::basic::from_utf8(values).is_ok();
        Ok(Self { data, at, lengths: Some(lengths), is_utf8, buffer: None })
    }

    /// Makes views of the next values.
    fn make(&self, target: &mut [u128], buffers: &[Buffer]) -> Result<FoundViews> {
        let buffer = self.number(buffers);
        match &self.lengths {
            None => make_views(&mut LengthWalk::new(&self.data, self.at, buffer), target),
            Some(lengths) => {
                make_views(&mut LengthSums::new(&self.data, self.at, buffer, lengths, target.len())?, target)
            }
        }
    }

    /// Makes views of those of the next values that are kept, and one after them.
    fn make_kept(&self, kept: RowSelection<'_>, target: &mut [u128], buffers: &[Buffer]) -> Result<FoundViews> {
        let buffer = self.number(buffers);
        match &self.lengths {
            None => make_kept_views(&mut LengthWalk::new(&self.data, self.at, buffer), kept, target),
            Some(lengths) => {
                make_kept_views(&mut LengthSums::new(&self.data, self.at, buffer, lengths, kept.len())?, kept, target)
            }
        }
    }
}

impl ViewCollector {
    /// For text (checked to be UTF-8) or bytes.
    pub fn new(is_text: bool, pool: Arc<MemoryPool>) -> Self {
        Self {
            is_text,
            bytes: TextBytes::new(Arc::clone(&pool)),
            pool,
            dictionary: PaddedDictionary::new(0),
            dictionary_buffer: None,
            page: ViewPage::Plain(PlainPage::new(PageBytes::empty(), false, 0)),
            out: None,
            rows: 0,
            len: 0,
            buffers: Vec::new(),
        }
    }
}

impl ViewCollector {
    /// Values in the chunk's dictionary.
    pub fn dictionary_len(&self) -> usize {
        self.dictionary.values().len()
    }

    /// The values of the chunk's dictionary, of a column of text.
    pub fn dictionary_values(&self) -> ArrayRef {
        let views = ScalarBuffer::from(self.dictionary.values().to_vec());
        // SAFETY: as in `finish`; all views of the dictionary point into its buffer, and it was checked to be UTF-8.
        Arc::new(unsafe {
            StringViewArray::new_unchecked(views, self.dictionary_buffer.iter().cloned().collect(), None)
        })
    }

    /// Appends values of the dictionary; an index without a value is that of a null.
    pub fn append_dictionary_values(&mut self, indexes: &[u32]) -> Result<()> {
        let values = self.dictionary.values();
        let target = slots::<u128>(&mut self.out, self.len..self.len + indexes.len())?;
        for (slot, index) in target.iter_mut().zip(indexes) {
            *slot = values.get(*index as usize).copied().unwrap_or(0);
        }
        self.len += indexes.len();
        Ok(())
    }
}

impl ValueCollector for ViewCollector {
    fn dictionary(&mut self, data: PageBytes, count: usize) -> Result<()> {
        if self.len > 0 || self.dictionary_buffer.is_some() {
            return Err(Error::corrupt("a dictionary page follows data pages"));
        }
        // Each value has a length of 4 bytes, so a false count allocates nothing.
        if count > data.len() / 4 {
            return Err(page_ends());
        }
        let mut page = PlainPage::new(data, self.is_text, count);
        let mut views = PaddedDictionary::new(count);
        let made = page.make(views.values_mut(), &[])?;
        page.note(&made, count, self.is_text, &mut Vec::new())?;
        self.dictionary = views;
        self.dictionary_buffer = Some(page.data.buffer());
        self.buffers = self.dictionary_buffer.iter().cloned().collect();
        Ok(())
    }

    fn page(&mut self, data: PageBytes, encoding: PageEncoding, count: usize) -> Result<()> {
        let data = match encoding {
            PageEncoding::Plain => data,
            PageEncoding::Dictionary => {
                self.page = ViewPage::Dictionary(PageIndexes::new(data)?);
                return Ok(());
            }
            PageEncoding::DeltaLengthByteArray => {
                let (lengths, at) = delta::lengths(&data, count)?;
                self.page = ViewPage::Plain(PlainPage::apart(data, at, lengths, self.is_text)?);
                return Ok(());
            }
            PageEncoding::DeltaByteArray => delta::prefixed_byte_arrays(&data, count)?,
            other => return Err(other.unfit()),
        };
        self.page = ViewPage::Plain(PlainPage::new(data, self.is_text, count));
        Ok(())
    }

    fn takes_pieces(&self, encoding: PageEncoding) -> bool {
        matches!(encoding, PageEncoding::Plain | PageEncoding::DeltaLengthByteArray)
    }

    fn pieces(&mut self, mut pieces: PageSlices, encoding: PageEncoding, count: usize) -> Result<()> {
        let texts = match encoding {
            PageEncoding::Plain => CopiedTexts::new(pieces, count),
            PageEncoding::DeltaLengthByteArray => {
                // Lengths may go on after the first piece, which looks as if the page ended early then.
                let head = pieces.head();
                let is_all = head.len() == pieces.left();
                let (lengths, end) = match delta::lengths(&head, count) {
                    Ok(found) if is_all || found.1 < head.len() => found,
                    Err(error) if is_all => return Err(error),
                    _ => {
                        let whole = pieces.join(&self.pool)?;
                        let found = delta::lengths(&whole, count)?;
                        pieces = PageSlices::whole(whole);
                        found
                    }
                };
                pieces.skip(end)?;
                if lengths.sum() > pieces.left() as u64 {
                    return Err(page_ends());
                }
                CopiedTexts::apart(pieces, lengths)
            }
            other => return Err(other.unfit()),
        };
        self.page = ViewPage::Texts(Box::new(texts));
        Ok(())
    }

    fn begin(&mut self, rows: usize) {
        self.out = Some(self.pool.take(rows * size_of::<u128>()));
        self.rows = rows;
        self.bytes.begin();
        self.len = 0;
        self.buffers = self.dictionary_buffer.iter().cloned().collect();
        if let ViewPage::Plain(page) = &mut self.page {
            page.buffer = None;
        }
    }

    fn read(&mut self, count: usize) -> Result<()> {
        let left = self.rows.saturating_sub(self.len);
        let target = slots::<u128>(&mut self.out, self.len..self.len + count)?;
        match &mut self.page {
            ViewPage::Plain(page) => {
                let made = page.make(target, &self.buffers)?;
                page.note(&made, count, self.is_text, &mut self.buffers)?;
            }
            ViewPage::Texts(texts) => {
                let (bytes, buffers, is_text) = (&mut self.bytes, &mut self.buffers, self.is_text);
                texts.read(target, left, &mut TextTarget { bytes, buffers, is_text })?;
            }
            ViewPage::Dictionary(indexes) => {
                indexes.read(count, &mut IndexSlots { dictionary: &self.dictionary, target, at: 0 })?;
            }
        }
        self.len += count;
        Ok(())
    }

    fn read_kept(&mut self, kept: RowSelection<'_>) -> Result<()> {
        let count = kept.count();
        let left = self.rows.saturating_sub(self.len);
        let target = slots::<u128>(&mut self.out, self.len..self.len + count + 1)?;
        match &mut self.page {
            ViewPage::Plain(page) => {
                let made = page.make_kept(kept, target, &self.buffers)?;
                page.note(&made, kept.len(), self.is_text, &mut self.buffers)?;
            }
            ViewPage::Texts(texts) => {
                let (bytes, buffers, is_text) = (&mut self.bytes, &mut self.buffers, self.is_text);
                texts.read_kept(kept, target, left, &mut TextTarget { bytes, buffers, is_text })?;
            }
            ViewPage::Dictionary(indexes) => {
                indexes.read_kept(kept, &mut IndexSlots { dictionary: &self.dictionary, target, at: 0 })?;
            }
        }
        self.len += count;
        Ok(())
    }

    fn skip(&mut self, count: usize) -> Result<()> {
        match &mut self.page {
            ViewPage::Plain(page) => page.skip(count),
            ViewPage::Texts(texts) => texts.skip(count),
            ViewPage::Dictionary(indexes) => indexes.skip(count),
        }
    }

    fn spread(&mut self, rows: usize, dense: usize, valid: BitSlice<'_>) {
        let Some(out) = &mut self.out else { return };
        let start = self.len - dense;
        if let Some(slots) = out.typed_mut::<u128>().get_mut(start..start + rows) {
            // A view of no bytes is all zeros.
            spread(slots, dense, valid);
        }
        self.len = start + rows;
    }

    fn finish(&mut self, nulls: Option<NullBuffer>) -> Result<ArrayRef> {
        let out = self.out.take().ok_or_else(|| Error::internal("no array was started"))?;
        let views = ScalarBuffer::new(out.into_buffer(self.len * size_of::<u128>()), 0, self.len);
        let doubt = self.bytes.finish(&mut self.buffers, self.is_text);
        if self.is_text && doubt != Utf8Check::default() {
            check_views(&views, &self.buffers, doubt)?;
        }
        let buffers: Arc<[Buffer]> = std::mem::take(&mut self.buffers).into();
        self.len = 0;
        // SAFETY: every view was made by `view_of`: short ones hold their bytes, padded with zeros, long ones the
        // first four bytes and a place within the buffer of the number they have. Text was checked to be UTF-8.
        let array: ArrayRef = unsafe {
            if self.is_text {
                Arc::new(StringViewArray::new_unchecked(views, buffers, nulls))
            } else {
                Arc::new(BinaryViewArray::new_unchecked(views, buffers, nulls))
            }
        };
        Ok(array)
    }
}

impl PlainPage {
    /// The number that its buffer has among these, or will have.
    fn number(&self, buffers: &[Buffer]) -> u32 {
        self.buffer.unwrap_or(buffers.len() as u32)
    }

    /// Skips the next `count` values, for which views were made: checks them, and adds its buffer if a view points into
    /// it.
    fn note(&mut self, made: &FoundViews, count: usize, is_text: bool, buffers: &mut Vec<Buffer>) -> Result<()> {
        let start = std::mem::replace(&mut self.at, made.end);
        let is_checked = !is_text || (self.is_utf8 && !made.cuts_characters);
        if !is_checked {
            check_each(&self.data, start, count, self.lengths.as_ref())?;
        }
        if let Some(lengths) = &mut self.lengths {
            lengths.pass(count);
        }
        if made.has_long && self.buffer.is_none() {
            self.buffer = Some(buffers.len() as u32);
            buffers.push(self.data.buffer());
        }
        Ok(())
    }

    fn skip(&mut self, count: usize) -> Result<()> {
        if let Some(lengths) = &mut self.lengths {
            let next = lengths.peek(count);
            if next.len() < count {
                return Err(page_ends());
            }
            // All of them together were checked to be within the page.
            self.at += next.iter().map(|length| *length as usize).sum::<usize>();
            lengths.pass(count);
            return Ok(());
        }
        for _ in 0..count {
            let length = length_at(&self.data, self.at)?;
            self.at += LENGTH_BYTES + length;
        }
        Ok(())
    }
}

/// The views that [`make_views`] found.
struct FoundViews {
    end: usize,
    has_long: bool,
    /// A value starts or ends within bytes that look like one character of the whole page.
    cuts_characters: bool,
}

fn make_views(walk: &mut impl NextView, target: &mut [u128]) -> Result<FoundViews> {
    let mut has_long = false;
    for slot in target.iter_mut() {
        let (view, length) = walk.next()?;
        *slot = view;
        has_long |= length > INLINE_BYTES;
    }
    Ok(walk.found_views(has_long))
}

/// The views of the values that are kept, and one after them.
fn make_kept_views(walk: &mut impl NextView, kept: RowSelection<'_>, target: &mut [u128]) -> Result<FoundViews> {
    let (mut has_long, mut filled) = (false, 0);
    for piece in kept.pieces() {
        let slots = &mut target[filled..=filled + piece.count()];
        filled += piece.count();
        let mut at = 0;
        for row in 0..piece.rows {
            let (view, length) = walk.next()?;
            // SAFETY: `at` is the number of kept rows before this one, and there is a slot for each, and one more.
            unsafe { *slots.get_unchecked_mut(at) = view };
            at += piece.bit(row);
            has_long |= piece.bit(row) == 1 && length > INLINE_BYTES;
        }
    }
    Ok(walk.found_views(has_long))
}

/// Goes through values, front to back.
trait NextView {
    /// The view of the next value, and its length.
    fn next(&mut self) -> Result<(u128, usize)>;

    /// The result, after the last value.
    fn found_views(&self, has_long: bool) -> FoundViews;
}

/// Values with their lengths before them.
struct LengthWalk<'a> {
    data: &'a [u8],
    at: usize,
    buffer: u32,
    cuts_characters: bool,
}

impl<'a> LengthWalk<'a> {
    fn new(data: &'a [u8], at: usize, buffer: u32) -> Self {
        Self { data, at, buffer, cuts_characters: false }
    }
}

impl NextView for LengthWalk<'_> {
    #[inline(always)]
    fn next(&mut self) -> Result<(u128, usize)> {
        let (data, from) = (self.data, self.at + LENGTH_BYTES);
        let length = length_at(data, self.at)?;
        // The byte before a length ends a value, the byte after it starts one. If the page as a whole is UTF-8 and
        // neither border lies within a character, the value is UTF-8.
        self.cuts_characters |= is_continuation(data[self.at]);
        let word = head_at(data, from, length);
        self.cuts_characters |= length > 0 && is_continuation(word as u8);
        self.at = from + length;
        Ok((view_of(word, length, self.buffer, from), length))
    }

    fn found_views(&self, has_long: bool) -> FoundViews {
        let cuts_characters = self.cuts_characters || self.data.get(self.at).is_some_and(|byte| is_continuation(*byte));
        FoundViews { end: self.at, has_long, cuts_characters }
    }
}

/// Values whose lengths are stored separately, and were checked to be within the page.
struct LengthSums<'a> {
    data: &'a [u8],
    at: usize,
    buffer: u32,
    lengths: std::slice::Iter<'a, u32>,
    cuts_characters: bool,
}

impl<'a> LengthSums<'a> {
    fn new(data: &'a [u8], at: usize, buffer: u32, lengths: &'a ValueLengths, count: usize) -> Result<Self> {
        let lengths = lengths.peek(count);
        if lengths.len() < count {
            return Err(page_ends());
        }
        Ok(Self { data, at, buffer, lengths: lengths.iter(), cuts_characters: false })
    }
}

impl NextView for LengthSums<'_> {
    #[inline(always)]
    fn next(&mut self) -> Result<(u128, usize)> {
        let (from, length) = (self.at, self.lengths.next().map_or(0, |length| *length as usize));
        let word = head_at(self.data, from, length);
        // A value ends where the next one starts.
        self.cuts_characters |= length > 0 && is_continuation(word as u8);
        self.at = from + length;
        Ok((view_of(word, length, self.buffer, from), length))
    }

    fn found_views(&self, has_long: bool) -> FoundViews {
        // The following bytes may belong to another array, and start a value as well.
        let cuts_characters = self.cuts_characters || self.data.get(self.at).is_some_and(|byte| is_continuation(*byte));
        FoundViews { end: self.at, has_long, cuts_characters }
    }
}

/// The first bytes of a value, up to 16; bytes after a shorter value have no meaning.
#[inline(always)]
fn head_at(data: &[u8], from: usize, length: usize) -> u128 {
    let mut word = [0; 16];
    match data.get(from..from + 16) {
        Some(bytes) => word.copy_from_slice(bytes),
        None => {
            let value = &data[from..from + length];
            word[..value.len().min(16)].copy_from_slice(&value[..value.len().min(16)]);
        }
    }
    u128::from_le_bytes(word)
}

/// Checks the value of each view that is in doubt to be UTF-8.
fn check_views(views: &[u128], buffers: &[Buffer], doubt: Utf8Check) -> Result<()> {
    for view in views {
        let length = *view as u32 as usize;
        if !(if length <= INLINE_BYTES { doubt.short } else { doubt.long }) {
            continue;
        }
        let inline = view.to_le_bytes();
        let value = match length <= INLINE_BYTES {
            true => inline.get(4..4 + length),
            false => {
                let (number, from) = ((*view >> 64) as u32 as usize, (*view >> 96) as usize);
                buffers.get(number).and_then(|buffer| buffer.get(from..from + length))
            }
        };
        let value = value.ok_or_else(|| Error::internal("a view refers to missing bytes"))?;
        check_utf8(value)?;
    }
    Ok(())
}
