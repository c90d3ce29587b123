//! The smallest and the largest of many texts, cut where they are long.

use crate::proto;

/// Texts longer than this are not stored as minimum and maximum but cut and stored as bounds.
const MAX_BYTES: usize = 1024;

/// Smallest and largest text by their bytes.
#[derive(Debug, Clone)]
pub(crate) struct TextBounds {
    min: Vec<u8>,
    max: Vec<u8>,
    min_prefix: u64,
    max_prefix: u64,
}

/// The first eight bytes, ordered as the texts are.
#[inline]
fn prefix(value: &[u8]) -> u64 {
    match value.first_chunk::<8>() {
        Some(bytes) => u64::from_be_bytes(*bytes),
        None => value.iter().rev().fold(0, |all, &byte| all >> 8 | u64::from(byte) << 56),
    }
}

impl TextBounds {
    pub(crate) fn new(value: &[u8]) -> Self {
        let prefix = prefix(value);
        Self { min: value.to_vec(), max: value.to_vec(), min_prefix: prefix, max_prefix: prefix }
    }

    #[inline]
    pub(crate) fn add(&mut self, value: &[u8]) {
        // The first bytes suffice to compare most values.
        let prefix = prefix(value);
        if prefix <= self.min_prefix && value < &self.min[..] {
            self.min.clear();
            self.min.extend_from_slice(value);
            self.min_prefix = prefix;
        }
        if prefix >= self.max_prefix && value > &self.max[..] {
            self.max.clear();
            self.max.extend_from_slice(value);
            self.max_prefix = prefix;
        }
    }

    pub(crate) fn merge(&mut self, other: &Self) {
        self.add(&other.min);
        self.add(&other.max);
    }

    /// The message, its sum left open.
    pub(crate) fn to_proto(&self) -> proto::StringStatistics {
        let mut wire = proto::StringStatistics::default();
        if self.min.len() <= MAX_BYTES {
            wire.minimum = Some(self.min.clone());
        } else {
            wire.lower_bound = Some(cut(&self.min).to_vec());
        }
        if self.max.len() <= MAX_BYTES {
            wire.maximum = Some(self.max.clone());
        } else {
            wire.upper_bound = above(cut(&self.max));
        }
        wire
    }
}

/// At most [`MAX_BYTES`] from the front, no character cut in two.
fn cut(value: &[u8]) -> &[u8] {
    let mut end = MAX_BYTES;
    // Bytes that continue a character start with the bits 10.
    while end > 0 && value[end] & 0xc0 == 0x80 {
        end -= 1;
    }
    &value[..end]
}

/// A text above every text that starts with `value`: its last character that has a successor replaced by that one. None
/// where no character has one.
fn above(value: &[u8]) -> Option<Vec<u8>> {
    let mut text = str::from_utf8(value).ok()?.to_owned();
    while let Some(last) = text.pop() {
        let next = match last {
            // No character lies between these.
            '\u{d7ff}' => Some('\u{e000}'),
            other => char::from_u32(u32::from(other) + 1),
        };
        if let Some(next) = next {
            text.push(next);
            return Some(text.into_bytes());
        }
    }
    None
}

#[cfg(test)]
mod tests;
