//! Strings and bytes: all of them after each other, or once each in a dictionary.

use std::sync::Arc;

use arrow::array::{ArrayRef, BinaryViewArray, StringViewArray, make_view};
use arrow::buffer::{Buffer, NullBuffer, ScalarBuffer};

use super::super::input::{StreamInput, short};
use super::super::ints::IntReader;
use super::super::{MAX_BATCH_TEXT, MAX_DICTIONARY};
use super::{in_stream, spread};
use crate::error::{Error, Result};
use crate::proto::StreamKind;

/// Values after each other, with their lengths. Arrays view the decompressed chunks themselves.
pub(super) struct DirectText {
    id: u32,
    binary: bool,
    lengths: IntReader,
    data: StreamInput,
    /// The current chunk, and where the next value starts in it.
    chunk: Buffer,
    at: usize,
}

impl DirectText {
    pub(super) fn new(id: u32, binary: bool, lengths: IntReader, data: StreamInput) -> Self {
        Self { id, binary, lengths, data, chunk: Buffer::from_vec(Vec::<u8>::new()), at: 0 }
    }

    pub(super) fn read(&mut self, there: usize, validity: Option<NullBuffer>) -> Result<ArrayRef> {
        let lengths: Vec<i64> = self.lengths.take(there).map_err(in_stream(self.id, StreamKind::Length))?;
        let mut left = total(&lengths).map_err(in_stream(self.id, StreamKind::Length))?;
        let mut views = Vec::with_capacity(lengths.len());
        let mut buffers = Vec::new();
        let data = in_stream(self.id, StreamKind::Data);
        let mut next = 0;
        while next < lengths.len() {
            if self.at == self.chunk.len() && left > 0 {
                self.chunk = self.data.next_chunk().map_err(&data)?.ok_or_else(|| data(short(left)))?.into();
                self.at = 0;
            }
            // The values that lie within the chunk.
            let bytes = &self.chunk[self.at..];
            let count = fitting(&lengths[next..], bytes.len());
            if count > 0 {
                let made = views.len();
                let used = append_views(
                    bytes,
                    &lengths[next..next + count],
                    self.binary,
                    (buffers.len(), self.at),
                    &mut views,
                )
                .map_err(&data)?;
                if views[made..].iter().any(|view| *view as u32 > MAX_INLINE) {
                    buffers.push(self.chunk.clone());
                }
                (next, self.at, left) = (next + count, self.at + used, left - used);
            } else {
                let length = lengths[next] as usize;
                let value = self.crossing(length).map_err(&data)?;
                append_views(&value, &[length as i64], self.binary, (buffers.len(), 0), &mut views).map_err(&data)?;
                buffers.push(value.into());
                (next, left) = (next + 1, left - length);
            }
        }
        Ok(array(spread(views, validity.as_ref()), buffers.into(), validity, self.binary))
    }

    /// Reads a value that continues in the next chunks.
    fn crossing(&mut self, length: usize) -> Result<Vec<u8>> {
        let mut value = self.chunk[self.at..].to_vec();
        self.at = self.chunk.len();
        while value.len() < length {
            let missing = length - value.len();
            self.chunk = self.data.next_chunk()?.ok_or_else(|| short(missing))?.into();
            self.at = self.chunk.len().min(missing);
            value.extend_from_slice(&self.chunk[..self.at]);
        }
        Ok(value)
    }
}

/// The largest value that a view holds itself, in bytes.
const MAX_INLINE: u32 = 12;

/// The sum of lengths that one batch may have.
fn total(lengths: &[i64]) -> Result<usize> {
    let mut total = 0usize;
    for &length in lengths {
        let next = usize::try_from(length).ok().and_then(|length| total.checked_add(length));
        total = next.ok_or_else(|| Error::corrupt(format!("a value has {length} bytes")))?;
    }
    if total > MAX_BATCH_TEXT {
        let message =
            format!("the values of a batch have {total} bytes, more than {MAX_BATCH_TEXT}: read fewer rows in a batch");
        return Err(Error::unsupported(message));
    }
    Ok(total)
}

/// The number of values that lie within the first `bytes` bytes.
fn fitting(lengths: &[i64], bytes: usize) -> usize {
    let mut end = 0;
    lengths
        .iter()
        .take_while(|length| {
            end += **length as usize;
            end <= bytes
        })
        .count()
}

/// Appends views of the values at the start of `bytes`, which lie in the buffer of this number from this offset on.
/// Returns how many bytes the values have.
fn append_views(
    bytes: &[u8],
    lengths: &[i64],
    binary: bool,
    (buffer, offset): (usize, usize),
    views: &mut Vec<u128>,
) -> Result<usize> {
    let used = lengths.iter().map(|length| *length as usize).sum();
    if !binary {
        check_utf8(&bytes[..used], lengths)?;
    }
    let mut at = 0;
    views.extend(lengths.iter().map(|length| {
        let value = &bytes[at..at + *length as usize];
        let view = make_view(value, buffer as u32, (offset + at) as u32);
        at += value.len();
        view
    }));
    Ok(used)
}

/// Checks that every value is UTF-8: validates all of them together, then checks that none starts within a character.
fn check_utf8(bytes: &[u8], lengths: &[i64]) -> Result<()> {
    let fail = || Error::corrupt("a string isn't UTF-8");
    if bytes.is_ascii() {
        return Ok(());
    }
    simdutf8::basic::from_utf8(bytes).map_err(|_| fail())?;
    let mut at = 0;
    let mut within = false;
    for &length in lengths {
        within |= bytes.get(at).is_some_and(|byte| byte & 0xc0 == 0x80);
        at += length as usize;
    }
    if within { Err(fail()) } else { Ok(()) }
}

fn array(views: Vec<u128>, buffers: Arc<[Buffer]>, validity: Option<NullBuffer>, binary: bool) -> ArrayRef {
    let views = ScalarBuffer::from(views);
    if binary {
        // SAFETY: every view is made from a slice of the buffer that it names, or is the empty one.
        return Arc::new(unsafe { BinaryViewArray::new_unchecked(views, buffers, validity) }) as ArrayRef;
    }
    // SAFETY: as above, and the slices were checked to be UTF-8.
    Arc::new(unsafe { StringViewArray::new_unchecked(views, buffers, validity) })
}

/// The values of a dictionary as views of one buffer.
#[derive(Clone)]
pub(in super::super) struct DictionaryViews {
    views: Arc<[u128]>,
    blob: Buffer,
}

impl DictionaryViews {
    pub(super) fn read(
        id: u32,
        size: usize,
        lengths: &mut IntReader,
        blob: &mut StreamInput,
        binary: bool,
    ) -> Result<Self> {
        if size > MAX_DICTIONARY {
            let message = format!("a dictionary has {size} values, more than {MAX_DICTIONARY}");
            return Err(in_stream(id, StreamKind::Length)(Error::unsupported(message)));
        }
        let lengths: Vec<i64> = lengths.take(size).map_err(in_stream(id, StreamKind::Length))?;
        let total = total(&lengths).map_err(in_stream(id, StreamKind::Length))?;
        let data = in_stream(id, StreamKind::DictionaryData);
        let mut bytes = Vec::with_capacity(total.min(super::STEP));
        blob.append(total, &mut bytes).map_err(&data)?;
        let mut views = Vec::with_capacity(lengths.len());
        append_views(&bytes, &lengths, binary, (0, 0), &mut views).map_err(data)?;
        Ok(Self { views: views.into(), blob: bytes.into() })
    }
}

/// Indices into a dictionary.
pub(super) struct DictionaryText {
    pub(super) id: u32,
    pub(super) binary: bool,
    pub(super) dictionary: DictionaryViews,
    pub(super) indices: IntReader,
}

impl DictionaryText {
    pub(super) fn read(&mut self, there: usize, validity: Option<NullBuffer>) -> Result<ArrayRef> {
        let data = in_stream(self.id, StreamKind::Data);
        let table = &self.dictionary.views[..];
        let mut views: Vec<u128> = Vec::with_capacity(there.min(super::STEP));
        let mut scratch = [0i64; 1024];
        while views.len() < there {
            let part = &mut scratch[..(there - views.len()).min(1024)];
            self.indices.read(part).map_err(&data)?;
            let greatest = part.iter().fold(0, |greatest, index| greatest.max(*index as u64));
            if greatest >= table.len() as u64 {
                let message = format!("index {greatest} is out of range for the dictionary of {} values", table.len());
                return Err(data(Error::corrupt(message)));
            }
            views.extend(part.iter().map(|index| table[*index as usize]));
        }
        let views = spread(views, validity.as_ref());
        let buffers = [self.dictionary.blob.clone()];
        Ok(array(views, Arc::new(buffers), validity, self.binary))
    }
}
