//! Keys of any length.

use super::KeyList;

/// Byte strings, one after the other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ByteKeys {
    bytes: Vec<u8>,
    /// The start of each string, and the end of the last.
    offsets: Vec<usize>,
}

impl Default for ByteKeys {
    fn default() -> Self {
        Self { bytes: Vec::new(), offsets: vec![0] }
    }
}

impl ByteKeys {
    pub(super) fn with_capacity(keys: usize, bytes: usize) -> Self {
        let mut offsets = Vec::with_capacity(keys + 1);
        offsets.push(0);
        Self { bytes: Vec::with_capacity(bytes), offsets }
    }

    pub(super) fn push(&mut self, key: &[u8]) {
        self.bytes.extend_from_slice(key);
        self.offsets.push(self.bytes.len());
    }

    pub(super) fn append(&mut self, more: &Self) {
        let shift = self.bytes.len();
        self.bytes.extend_from_slice(&more.bytes);
        self.offsets.extend(more.offsets[1..].iter().map(|offset| offset + shift));
    }

    pub(super) fn memory_bytes(&self) -> usize {
        self.bytes.capacity() + self.offsets.capacity() * size_of::<usize>()
    }
}

impl KeyList for ByteKeys {
    type Key<'a> = &'a [u8];

    fn len(&self) -> usize {
        self.offsets.len() - 1
    }

    fn key(&self, index: usize) -> &[u8] {
        &self.bytes[self.offsets[index]..self.offsets[index + 1]]
    }
}

impl<'a> FromIterator<&'a [u8]> for ByteKeys {
    fn from_iter<I: IntoIterator<Item = &'a [u8]>>(keys: I) -> Self {
        let mut all = Self::default();
        keys.into_iter().for_each(|key| all.push(key));
        all
    }
}
