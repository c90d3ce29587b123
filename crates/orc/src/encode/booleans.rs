//! Bits, most significant first, as present streams and boolean columns hold them.

use arrow::buffer::BooleanBuffer;

/// Collects bits into bytes; the bytes are then run length encoded.
#[derive(Debug, Default)]
pub(crate) struct BitCollector {
    bytes: Vec<u8>,
    /// Bits of the byte that is not full yet, in its top.
    partial: u8,
    bits: u32,
}

impl BitCollector {
    /// Appends `count` bits of the same value.
    pub(crate) fn push_repeated(&mut self, value: bool, mut count: usize) {
        while count > 0 && self.bits != 0 {
            self.push(value);
            count -= 1;
        }
        self.bytes.resize(self.bytes.len() + count / 8, if value { 0xff } else { 0 });
        (0..count % 8).for_each(|_| self.push(value));
    }

    /// Appends all bits of a buffer.
    pub(crate) fn push_all(&mut self, values: &BooleanBuffer) {
        let chunks = values.bit_chunks();
        self.bytes.reserve(values.len() / 8 + 1);
        for word in chunks.iter() {
            self.push_word(word);
        }
        let rest = chunks.remainder_bits();
        (0..chunks.remainder_len()).for_each(|bit| self.push(rest >> bit & 1 == 1));
    }

    #[inline]
    fn push_word(&mut self, word: u64) {
        let ordered = word.reverse_bits();
        if self.bits == 0 {
            self.bytes.extend_from_slice(&ordered.to_be_bytes());
            return;
        }
        let joined = u64::from(self.partial) << 56 | ordered >> self.bits;
        self.bytes.extend_from_slice(&joined.to_be_bytes());
        self.partial = (ordered << (64 - self.bits) >> 56) as u8;
    }

    #[inline]
    fn push(&mut self, value: bool) {
        self.partial |= u8::from(value) << (7 - self.bits);
        self.bits += 1;
        if self.bits == 8 {
            self.bytes.push(self.partial);
            (self.partial, self.bits) = (0, 0);
        }
    }

    /// Takes out the full bytes.
    pub(crate) fn take_full(&mut self, out: &mut Vec<u8>) {
        super::byte_rle::encode(&self.bytes, out);
        self.bytes.clear();
    }

    /// Bits in the byte that is not full yet.
    pub(crate) fn partial_bits(&self) -> u8 {
        self.bits as u8
    }

    /// Takes out everything, the last byte padded with zeros.
    pub(crate) fn take_all(&mut self, out: &mut Vec<u8>) {
        if self.bits > 0 {
            self.bytes.push(self.partial);
            (self.partial, self.bits) = (0, 0);
        }
        self.take_full(out);
    }

    /// Forgets everything.
    pub(crate) fn clear(&mut self) {
        self.bytes.clear();
        (self.partial, self.bits) = (0, 0);
    }

    /// Bytes held.
    pub(crate) fn memory_bytes(&self) -> usize {
        self.bytes.capacity()
    }
}

#[cfg(test)]
mod tests;
