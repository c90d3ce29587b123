//! A view of a text: <https://arrow.apache.org/docs/format/Columnar.html#variable-size-binary-view-layout>

/// Values up to this length stand in the view itself.
pub(crate) const INLINE_BYTES: usize = 12;

#[inline(always)]
pub(crate) fn is_continuation(byte: u8) -> bool {
    byte & 0xc0 == 0x80
}

/// The view of a value that starts with the bytes of `word`: length (4 bytes), then either all bytes, or the first
/// four, the buffer's number and the offset in it.
#[inline(always)]
pub(crate) fn view_of(word: u128, length: usize, buffer: u32, from: usize) -> u128 {
    if length <= INLINE_BYTES {
        let kept = (1u128 << (8 * length)) - 1;
        (word & kept) << 32 | length as u128
    } else {
        let head = u64::from(word as u32) << 32 | length as u64;
        let place = (from as u64) << 32 | u64::from(buffer);
        u128::from(place) << 64 | u128::from(head)
    }
}
