//! Moves the kept values together, by the processor's own instruction if it has one.

use super::row_selection::{RowSelection, SelectionPiece};

/// Moves the kept values to the front of the slice; returns their number.
pub(crate) fn compact<T: Copy>(values: &mut [T], kept: RowSelection<'_>) -> usize {
    assert_eq!(values.len(), kept.len());
    let start = values.as_mut_ptr();
    // SAFETY: there is a value for each row, and the front of the slice is where values may be moved to.
    unsafe { compact_to(start, kept, start, values.len()) }
}

/// As [`compact`], on any processor.
pub(crate) fn compact_portably<T: Copy>(values: &mut [T], kept: RowSelection<'_>) -> usize {
    assert_eq!(values.len(), kept.len());
    let start = values.as_mut_ptr();
    // SAFETY: there is a value for each row, and the front of the slice is where values may be moved to.
    unsafe { compact_pieces(start, kept, start) }
}

/// Copies the kept ones of stored values, as many as rows, to the front of `target`, which must have a slot for each of
/// them and one more; returns their number.
///
/// # Safety
/// Any bits must be a value of the type.
pub(crate) unsafe fn copy_kept<T: Copy>(stored: &[u8], kept: RowSelection<'_>, target: &mut [T]) -> usize {
    assert!(stored.len() == kept.len() * size_of::<T>() && target.len() > kept.count());
    // SAFETY: there is a stored value for each row, the target is not among them, and its size was checked; the rest is
    // the caller's promise.
    unsafe { compact_to(stored.as_ptr().cast(), kept, target.as_mut_ptr(), target.len()) }
}

/// # Safety
/// `from` must have a value for each row, aligned or not, of a type of which any bits are a value; `to` must have `room`
/// slots. Either the two are the same and `room` is the number of rows, or they don't overlap and `room` is more than are
/// kept.
#[cfg_attr(not(target_arch = "x86_64"), allow(unused_variables, reason = "whole vectors alone need to know the room"))]
unsafe fn compact_to<T: Copy>(from: *const T, kept: RowSelection<'_>, to: *mut T, room: usize) -> usize {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("popcnt") {
        match size_of::<T>() {
            // SAFETY: the processor has the instructions, and the promises are the same.
            4 => return unsafe { x86::compact_32(from.cast(), kept, to.cast(), room) },
            // SAFETY: as above.
            8 => return unsafe { x86::compact_64(from.cast(), kept, to.cast(), room) },
            _ => {}
        }
    }
    // SAFETY: the same promises.
    unsafe { compact_pieces(from, kept, to) }
}

/// # Safety
/// As for [`compact_to`].
unsafe fn compact_pieces<T: Copy>(from: *const T, kept: RowSelection<'_>, to: *mut T) -> usize {
    let mut filled = 0;
    for piece in kept.pieces() {
        // SAFETY: pieces lie within the rows; `filled` counts the values that are kept.
        unsafe { compact_piece(from, piece, to.add(filled)) };
        filled += piece.count();
    }
    filled
}

/// # Safety
/// As for [`compact_to`], `to` being the next slot.
#[inline(always)]
unsafe fn compact_piece<T: Copy>(from: *const T, piece: SelectionPiece, to: *mut T) {
    if piece.is_sparse() {
        for (slot, row) in piece.kept_rows().enumerate() {
            // SAFETY: as below.
            unsafe { to.add(slot).write_unaligned(from.add(piece.start + row).read_unaligned()) };
        }
        return;
    }
    let mut filled = 0;
    for row in 0..piece.rows {
        // SAFETY: a slot for each value that is kept, and one more. Where values move within their own place, no more are
        // kept than were read.
        unsafe { to.add(filled).write_unaligned(from.add(piece.start + row).read_unaligned()) };
        // An unneeded store costs less than an unpredictable branch.
        filled += piece.bit(row);
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::{
        _mm512_loadu_si512, _mm512_maskz_compress_epi32, _mm512_maskz_compress_epi64, _mm512_storeu_si512,
    };

    use super::super::row_selection::RowSelection;
    use super::compact_piece;

    macro_rules! compact {
        ($name:ident, $value:ty, $mask:ty, $compress:ident) => {
            /// See `compact_to`.
            #[target_feature(enable = "avx512f,popcnt")]
            pub unsafe fn $name(from: *const $value, kept: RowSelection<'_>, to: *mut $value, room: usize) -> usize {
                const LANES: usize = <$mask>::BITS as usize;
                let mut filled = 0;
                for piece in kept.pieces() {
                    // Whole vectors are stored, even if few of their values are kept.
                    if piece.rows < 64 || room - filled < 64 || piece.is_sparse() {
                        // SAFETY: the same promises.
                        unsafe { compact_piece(from, piece, to.add(filled)) };
                        filled += piece.count();
                        continue;
                    }
                    for first in (0..64).step_by(LANES) {
                        let bits = (piece.bits >> first) as $mask;
                        // SAFETY: the rows of a whole piece were checked to be there, and as many slots. Values that move
                        // within their own place go to rows that have been read.
                        unsafe {
                            let values = _mm512_loadu_si512(from.add(piece.start + first).cast());
                            _mm512_storeu_si512(to.add(filled).cast(), $compress(bits, values));
                        }
                        filled += bits.count_ones() as usize;
                    }
                }
                filled
            }
        };
    }

    compact!(compact_32, u32, u16, _mm512_maskz_compress_epi32);
    compact!(compact_64, u64, u8, _mm512_maskz_compress_epi64);
}

#[cfg(test)]
mod tests;
