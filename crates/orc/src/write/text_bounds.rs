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
        // Most values are told apart by their first bytes.
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
mod tests {
    use super::*;

    #[test]
    fn orders_texts_by_their_bytes() {
        let texts = ["b", "", "a\0", "a", "abcdefgh", "abcdefghi", "ß", "漢字", "abcdefgh\0"];
        let mut sorted = texts;
        sorted.sort_unstable();
        for first in texts {
            let mut bounds = TextBounds::new(first.as_bytes());
            texts.iter().for_each(|text| bounds.add(text.as_bytes()));
            assert_eq!(bounds.min, sorted[0].as_bytes());
            assert_eq!(bounds.max, sorted[8].as_bytes());
            let wire = bounds.to_proto();
            assert_eq!((wire.minimum, wire.maximum), (Some(bounds.min), Some(bounds.max)));
        }
    }

    #[test]
    fn long_texts_become_bounds() {
        // The 1,024th byte is the middle of a character.
        let long = format!("{}ßx{}", "z".repeat(1023), "y".repeat(100));
        let wire = TextBounds::new(long.as_bytes()).to_proto();
        assert_eq!((wire.minimum, wire.maximum), (None, None));
        assert_eq!(wire.lower_bound, Some("z".repeat(1023).into_bytes()));
        assert_eq!(wire.upper_bound, Some(format!("{}{{", "z".repeat(1022)).into_bytes()));
    }

    #[test]
    fn bounds_step_over_the_last_characters() {
        assert_eq!(above("a\u{10ffff}".as_bytes()), Some(b"b".to_vec()));
        assert_eq!(above("\u{10ffff}".as_bytes()), None);
        assert_eq!(above("\u{d7ff}".as_bytes()), Some("\u{e000}".as_bytes().to_vec()));
        assert_eq!(above("\u{7f}".as_bytes()), Some("\u{80}".as_bytes().to_vec()));
    }
}
