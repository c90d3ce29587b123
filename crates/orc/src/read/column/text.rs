//! Strings and bytes: all of them behind each other, or once each in a dictionary.

use std::sync::Arc;

use arrow::array::make_view;
use arrow::array::{Array, ArrayRef, BinaryViewArray, StringViewArray};
use arrow::buffer::{Buffer, NullBuffer, ScalarBuffer};

use super::super::input::Input;
use super::super::ints::Ints;
use super::{place, spread};
use crate::proto::StreamKind;
use crate::{Error, Result};

/// Offsets of views have 31 bits.
const MAX_BUFFER: usize = i32::MAX as usize;

/// Values behind each other, with their lengths.
pub(super) struct DirectText {
    pub(super) id: u32,
    pub(super) binary: bool,
    pub(super) data: Input,
    pub(super) lengths: Ints,
}

impl DirectText {
    pub(super) fn read(&mut self, there: usize, validity: Option<NullBuffer>) -> Result<ArrayRef> {
        let lengths: Vec<i64> = self.lengths.take(there).map_err(place(self.id, StreamKind::Length))?;
        let total = total(&lengths).map_err(place(self.id, StreamKind::Length))?;
        let mut blob = Vec::with_capacity(total.min(super::STEP));
        let data = place(self.id, StreamKind::Data);
        self.data.append(total, &mut blob).map_err(&data)?;
        let views = views(&blob, &lengths, self.binary).map_err(data)?;
        Ok(array(spread(views, validity.as_ref()), blob.into(), validity, self.binary))
    }
}

/// The sum of lengths that fit one buffer.
fn total(lengths: &[i64]) -> Result<usize> {
    let mut total = 0usize;
    for &length in lengths {
        let next = usize::try_from(length).ok().and_then(|length| total.checked_add(length));
        total = next.ok_or_else(|| Error::corrupt(format!("a value has {length} bytes")))?;
    }
    if total > MAX_BUFFER {
        let message =
            format!("the values of a batch have {total} bytes, more than {MAX_BUFFER}: read fewer rows at once");
        return Err(Error::unsupported(message));
    }
    Ok(total)
}

/// Views of values that lie behind each other in `blob`, which holds all of them.
fn views(blob: &[u8], lengths: &[i64], binary: bool) -> Result<Vec<u128>> {
    if !binary {
        check_utf8(blob, lengths)?;
    }
    let mut views = Vec::with_capacity(lengths.len());
    let mut at = 0;
    for &length in lengths {
        let end = at + length as usize;
        views.push(make_view(&blob[at..end], 0, at as u32));
        at = end;
    }
    Ok(views)
}

/// Whether every value is UTF-8: all of them in one go, and none begins within a character.
fn check_utf8(blob: &[u8], lengths: &[i64]) -> Result<()> {
    let fail = || Error::corrupt("a string isn't UTF-8");
    simdutf8::basic::from_utf8(blob).map_err(|_| fail())?;
    let mut at = 0;
    let mut within = false;
    for &length in lengths {
        within |= blob.get(at).is_some_and(|byte| byte & 0xc0 == 0x80);
        at += length as usize;
    }
    if within { Err(fail()) } else { Ok(()) }
}

fn array(views: Vec<u128>, blob: Buffer, validity: Option<NullBuffer>, binary: bool) -> ArrayRef {
    let buffers: Arc<[Buffer]> = if blob.is_empty() { Arc::new([]) } else { Arc::new([blob]) };
    let views = ScalarBuffer::from(views);
    if binary {
        // SAFETY: every view is made from a slice of the one buffer, or is the empty one.
        return Arc::new(unsafe { BinaryViewArray::new_unchecked(views, buffers, validity) }) as ArrayRef;
    }
    // SAFETY: as above, and the slices were checked to be UTF-8.
    let array = unsafe { StringViewArray::new_unchecked(views, buffers, validity) };
    debug_assert!(array.to_data().validate_full().is_ok());
    Arc::new(array)
}

/// The values of a dictionary as views of one buffer.
#[derive(Clone)]
pub(in super::super) struct Dictionary {
    views: Arc<[u128]>,
    blob: Buffer,
}

impl Dictionary {
    pub(super) fn read(id: u32, size: usize, lengths: &mut Ints, blob: &mut Input, binary: bool) -> Result<Self> {
        let lengths: Vec<i64> = lengths.take(size).map_err(place(id, StreamKind::Length))?;
        let total = total(&lengths).map_err(place(id, StreamKind::Length))?;
        let data = place(id, StreamKind::DictionaryData);
        let mut bytes = Vec::with_capacity(total.min(super::STEP));
        blob.append(total, &mut bytes).map_err(&data)?;
        let views = views(&bytes, &lengths, binary).map_err(data)?;
        Ok(Self { views: views.into(), blob: bytes.into() })
    }
}

/// Indices into a dictionary.
pub(super) struct DictionaryText {
    pub(super) id: u32,
    pub(super) binary: bool,
    pub(super) dictionary: Dictionary,
    pub(super) indices: Ints,
}

impl DictionaryText {
    pub(super) fn read(&mut self, there: usize, validity: Option<NullBuffer>) -> Result<ArrayRef> {
        let data = place(self.id, StreamKind::Data);
        let table = &self.dictionary.views[..];
        let mut views: Vec<u128> = Vec::with_capacity(there.min(super::STEP));
        let mut scratch = [0i64; 1024];
        while views.len() < there {
            let part = &mut scratch[..(there - views.len()).min(1024)];
            self.indices.read(part).map_err(&data)?;
            let greatest = part.iter().fold(0, |greatest, index| greatest.max(*index as u64));
            if greatest >= table.len() as u64 {
                let message = format!("index {greatest} is beyond the dictionary's {} values", table.len());
                return Err(data(Error::corrupt(message)));
            }
            views.extend(part.iter().map(|index| table[*index as usize]));
        }
        let views = spread(views, validity.as_ref());
        Ok(array(views, self.dictionary.blob.clone(), validity, self.binary))
    }
}
