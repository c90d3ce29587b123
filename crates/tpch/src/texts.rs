//! Columns of texts.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use arrow::array::{ArrayRef, StringViewArray, make_view};
use arrow::buffer::{Buffer, ScalarBuffer};
use lakerace_format::prefetch;
use lakerace_io::{Error, Result};

use crate::mode::Mode;
use crate::pool::{self, CommentPosition};

/// Texts that are made for a batch, in memory of the batch.
pub(crate) struct BatchTexts {
    views: Vec<u128>,
    bytes: Vec<u8>,
    /// The start of the text under way.
    start: usize,
}

impl BatchTexts {
    /// Reserves room for `rows` texts of approximately `bytes_of_each` bytes.
    pub(crate) fn new(rows: usize, bytes_of_each: usize) -> Self {
        Self { views: Vec::with_capacity(rows), bytes: Vec::with_capacity(rows * bytes_of_each), start: 0 }
    }

    /// The place of the next text: append it, then call [`Self::end`].
    #[inline(always)]
    pub(crate) fn bytes(&mut self) -> &mut Vec<u8> {
        &mut self.bytes
    }

    /// Ends the text that was appended.
    #[inline(always)]
    pub(crate) fn end(&mut self) {
        let text = &self.bytes[self.start..];
        let view = make_view(text, 0, self.start as u32);
        self.views.push(view);
        if text.len() <= INLINE_BYTES {
            // The view holds the whole text inline.
            self.bytes.truncate(self.start);
        }
        self.start = self.bytes.len();
    }

    /// The column.
    pub(crate) fn finish(self) -> Result<ArrayRef> {
        if u32::try_from(self.bytes.len()).is_err() {
            return Err(
                Error::unsupported("the texts of a batch exceed 4 GiB").advice("reduce the number of rows in a batch")
            );
        }
        let bytes = Buffer::from_vec(self.bytes);
        // SAFETY: each view was made of the bytes that are at its offset; all texts are ASCII.
        let column =
            unsafe { StringViewArray::new_unchecked(ScalarBuffer::from(self.views), Arc::from([bytes]), None) };
        Ok(Arc::new(column))
    }
}

/// The bytes that a view holds itself.
const INLINE_BYTES: usize = 12;

/// A column of comments, each somewhere in the pool.
pub(crate) fn comments(
    places: impl ExactSizeIterator<Item = CommentPosition>,
    average: usize,
    mode: Mode,
) -> Result<ArrayRef> {
    let places = TextPrefetch { places, waiting: VecDeque::with_capacity(AHEAD + 1) };
    if mode == Mode::TrueZeroCopy {
        return Ok(comments_of_pool(places));
    }
    let mut texts = BatchTexts::new(places.size_hint().0, average + average / 16);
    for place in places {
        texts.bytes().extend_from_slice(place.text());
        texts.end();
    }
    texts.finish()
}

/// Views of the pool itself.
fn comments_of_pool(places: TextPrefetch<impl ExactSizeIterator<Item = CommentPosition>>) -> ArrayRef {
    if places.rows() < ROWS_OF_WHOLE_POOL {
        return comments_of_pieces(places);
    }
    let view = |place: CommentPosition| make_view(place.text(), place.piece() as u32, place.offset_in_piece());
    let views: Vec<u128> = places.map(view).collect();
    // SAFETY: each view was made of the bytes at its place of the pool, which is ASCII; `whole` has the pool's pieces by
    // their numbers.
    Arc::new(unsafe { StringViewArray::new_unchecked(ScalarBuffer::from(views), pool::whole(), None) })
}

/// As many comments are in all pieces of the pool, or nearly.
const ROWS_OF_WHOLE_POOL: usize = 2048;

/// Views of those pieces of the pool that they are in: no one makes the others for a few comments.
fn comments_of_pieces(places: impl Iterator<Item = CommentPosition>) -> ArrayRef {
    let mut numbers = HashMap::new();
    let mut pieces: Vec<Buffer> = Vec::new();
    let view = |place: CommentPosition| {
        let number = *numbers.entry(place.piece()).or_insert_with(|| {
            pieces.push(pool::piece(place.piece()).clone());
            pieces.len() as u32 - 1
        });
        make_view(place.text(), number, place.offset_in_piece())
    };
    let views: Vec<u128> = places.map(view).collect();
    // SAFETY: each view was made of the bytes at its place of the pool, which is ASCII; `pieces` has the piece that it is
    // in by the number that the view has.
    Arc::new(unsafe { StringViewArray::new_unchecked(ScalarBuffer::from(views), pieces.into(), None) })
}

/// How many comments ahead memory is asked for: the pool is larger than any cache, and comments lie all over it.
const AHEAD: usize = 16;

/// Places whose texts are on their way into the cache.
struct TextPrefetch<I> {
    places: I,
    waiting: VecDeque<CommentPosition>,
}

impl<I: ExactSizeIterator<Item = CommentPosition>> Iterator for TextPrefetch<I> {
    type Item = CommentPosition;

    #[inline(always)]
    fn next(&mut self) -> Option<CommentPosition> {
        while self.waiting.len() <= AHEAD
            && let Some(place) = self.places.next()
        {
            place.text().first().into_iter().for_each(prefetch);
            self.waiting.push_back(place);
        }
        self.waiting.pop_front()
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.rows(), Some(self.rows()))
    }
}

impl<I: ExactSizeIterator<Item = CommentPosition>> TextPrefetch<I> {
    /// Comments that are left.
    fn rows(&self) -> usize {
        self.places.len() + self.waiting.len()
    }
}

/// Appends a number of a fixed count of digits, with zeros in front.
#[inline(always)]
pub(crate) fn push_digits<const DIGITS: usize>(mut number: u64, out: &mut Vec<u8>) {
    let mut text = [b'0'; DIGITS];
    for digit in text.iter_mut().rev() {
        *digit = b'0' + (number % 10) as u8;
        number /= 10;
    }
    out.extend_from_slice(&text);
}

/// `Customer#000000001`: nine digits, more where the number has more.
#[inline(always)]
pub(crate) fn push_numbered(prefix: &[u8], number: u64, out: &mut Vec<u8>) {
    out.extend_from_slice(prefix);
    if number < 1_000_000_000 {
        push_digits::<9>(number, out);
    } else {
        out.extend_from_slice(number.to_string().as_bytes());
    }
}
