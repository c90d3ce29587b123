//! Values among rows without one: dense values move to the rows that have one.

use std::ops::Range;

/// Rows that are processed together.
const WORD_ROWS: usize = 64;

/// Packed bits, read 64 at a time: of validity bitmaps, one for each row that has a value.
#[derive(Debug, Clone, Copy)]
pub struct BitSlice<'a> {
    bytes: &'a [u8],
    start: usize,
}

impl<'a> BitSlice<'a> {
    /// The bits of these bytes, the first row's at `start`.
    pub fn new(bytes: &'a [u8], start: usize) -> Self {
        Self { bytes, start }
    }

    /// The bits of 64 rows, the first of them the lowest. Rows beyond the bytes have zeros.
    #[inline]
    pub fn word(&self, row: usize) -> u64 {
        let bit = self.start + row;
        let tail = self.bytes.get(bit / 8..).unwrap_or(&[]);
        let word = tail.first_chunk().copied().unwrap_or_else(|| {
            let mut word = [0; 16];
            let length = tail.len().min(9);
            word[..length].copy_from_slice(&tail[..length]);
            word
        });
        (u128::from_le_bytes(word) >> (bit % 8)) as u64
    }

    /// The bits from a row on.
    pub fn after(self, row: usize) -> Self {
        Self { start: self.start + row, ..self }
    }

    /// The bit of a row. Rows beyond the bytes have none.
    #[inline(always)]
    pub fn get(&self, row: usize) -> bool {
        let bit = self.start + row;
        self.bytes.get(bit / 8).is_some_and(|byte| byte >> (bit % 8) & 1 == 1)
    }

    /// The bits of up to 64 rows, zeros after them.
    fn rows(&self, rows: Range<usize>) -> u64 {
        self.word(rows.start) & lowest(rows.len())
    }
}

/// Types whose default is all zero bits.
///
/// # Safety
/// That must be so, and there must be no padding.
pub unsafe trait ZeroDefault: Copy + Default {}

macro_rules! zero_default {
    ($($t:ty),*) => {$(
        // SAFETY: the default of numbers is zero, and that of arrays is made of theirs.
        unsafe impl ZeroDefault for $t {}
    )*};
}
zero_default!(i8, i16, i32, i64, i128, u8, u16, u32, u64, u128, f32, f64, [u8; 16], [u64; 4]);

/// Moves the first `dense` slots to the valid ones, in order; the others become zero. There must be as many valid slots: otherwise the
/// last ones are filled first, and values that are left over are lost.
pub fn spread<T: ZeroDefault>(slots: &mut [T], dense: usize, valid: BitSlice<'_>) {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("popcnt") && dense == count(slots.len(), valid) {
        let (start, len) = (slots.as_mut_ptr(), slots.len());
        match size_of::<T>() {
            // SAFETY: the processor has the instructions, there are `len` slots of that width, and the valid ones were counted.
            4 => return unsafe { x86::spread_32(start.cast(), len, dense, valid) },
            // SAFETY: as above.
            8 => return unsafe { x86::spread_64(start.cast(), len, dense, valid) },
            // SAFETY: as above.
            16 => return unsafe { x86::spread_128(start.cast(), len, dense, valid) },
            _ => {}
        }
    }
    spread_portably(slots, dense, valid);
}

/// As [`spread`], on any processor.
pub fn spread_portably<T: ZeroDefault>(slots: &mut [T], dense: usize, valid: BitSlice<'_>) {
    let (mut dense, mut end) = (dense.min(slots.len()), slots.len());
    // The values before the first null are in place already.
    while dense < end {
        let start = (end - 1) / WORD_ROWS * WORD_ROWS;
        dense = spread_word(slots, start..end, valid.rows(start..end), dense);
        end = start;
    }
}

/// Copies values from `source`, one after the other, to the valid slots, in order; the others become zero. It ends before the first
/// 64 rows for which `source` may have too few bytes: less than 64 values. Returns the slots that are done, and the values that they
/// took.
pub fn spread_from<T: ZeroDefault>(source: &[u8], slots: &mut [T], valid: BitSlice<'_>) -> (usize, usize) {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("popcnt") {
        let (start, len) = (slots.as_mut_ptr(), slots.len());
        let done = match size_of::<T>() {
            // SAFETY: the processor has the instructions, and there are `len` slots of that width.
            4 => Some(unsafe { x86::spread_from_32(source, start.cast(), len, valid) }),
            // SAFETY: as above.
            8 => Some(unsafe { x86::spread_from_64(source, start.cast(), len, valid) }),
            // SAFETY: as above.
            16 => Some(unsafe { x86::spread_from_128(source, start.cast(), len, valid) }),
            _ => None,
        };
        if let Some((rows, values)) = done {
            let (more_rows, more_values) =
                spread_from_portably(&source[values * size_of::<T>()..], &mut slots[rows..], valid.after(rows));
            return (rows + more_rows, values + more_values);
        }
    }
    spread_from_portably(source, slots, valid)
}

/// As [`spread_from`], on any processor.
pub fn spread_from_portably<T: ZeroDefault>(source: &[u8], slots: &mut [T], valid: BitSlice<'_>) -> (usize, usize) {
    let (mut rows, mut values) = (0, 0);
    for slots in slots.chunks_mut(WORD_ROWS) {
        let Some(source) = source[values * size_of::<T>()..].get(..WORD_ROWS * size_of::<T>()) else { break };
        let word = valid.rows(rows..rows + slots.len());
        let mut taken = 0;
        for (row, slot) in slots.iter_mut().enumerate() {
            // SAFETY: at most 63 values were taken, and `source` has 64; any bits are a value.
            let value = unsafe { source.as_ptr().cast::<T>().add(taken).read_unaligned() };
            let is_valid = word >> row & 1 == 1;
            *slot = if is_valid { value } else { T::default() };
            taken += usize::from(is_valid);
        }
        rows += slots.len();
        values += taken;
    }
    (rows, values)
}

/// Passes the valid ones of `values`, one after the other, spread over `rows` rows, to `append`: words of up to 64 bits with their
/// number, in which rows without a value are zero.
pub fn spread_bits(values: BitSlice<'_>, rows: usize, valid: BitSlice<'_>, mut append: impl FnMut(u64, usize)) {
    let mut taken = 0;
    for start in (0..rows).step_by(WORD_ROWS) {
        let count = (rows - start).min(WORD_ROWS);
        let mask = valid.rows(start..start + count);
        append(deposit(values.word(taken), mask), count);
        taken += mask.count_ones() as usize;
    }
}

/// Moves the values before slot `dense` to the rows of a word that have one. Returns the number of slots that are left.
fn spread_word<T: Copy + Default>(slots: &mut [T], rows: Range<usize>, word: u64, mut dense: usize) -> usize {
    for row in (0..rows.len()).rev() {
        // A value is moved in any case: whether a row has one can't be predicted.
        slots[rows.start + row] = slots[dense.saturating_sub(1)];
        dense -= (word >> row & 1) as usize & usize::from(dense > 0);
    }
    let mut nulls = !word & lowest(rows.len());
    while nulls != 0 {
        slots[rows.start + nulls.trailing_zeros() as usize] = T::default();
        nulls &= nulls - 1;
    }
    dense
}

/// The number of valid rows.
fn count(rows: usize, valid: BitSlice<'_>) -> usize {
    (0..rows).step_by(WORD_ROWS).map(|row| valid.rows(row..rows.min(row + WORD_ROWS)).count_ones() as usize).sum()
}

/// The lowest bits of `bits`, moved to the places where `mask` has ones: Hacker's Delight, section 7-5, which undoes the rounds of
/// its section 7-4 from the last to the first.
fn deposit(bits: u64, mask: u64) -> u64 {
    let (mut bits, mut kept) = (bits, mask);
    let mut zeros = !mask << 1;
    let mut moves = [0; 6];
    for (round, moved) in moves.iter_mut().enumerate() {
        let mut parity = zeros;
        for shift in 0..6 {
            parity ^= parity << (1 << shift);
        }
        *moved = parity & kept;
        kept = (kept ^ *moved) | *moved >> (1 << round);
        zeros &= !parity;
    }
    for (round, moved) in moves.into_iter().enumerate().rev() {
        bits = (bits & !moved) | (bits << (1 << round) & moved);
    }
    bits & mask
}

/// The so many lowest bits, up to 64.
fn lowest(count: usize) -> u64 {
    if count >= WORD_ROWS { u64::MAX } else { (1 << count) - 1 }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::{
        __m512i, _mm512_loadu_si512, _mm512_maskz_expand_epi32, _mm512_maskz_expand_epi64, _mm512_storeu_si512,
    };

    use super::{BitSlice, WORD_ROWS, spread_word};

    macro_rules! spread {
        ($name:ident, $value:ty, $lanes:literal, $expand:expr) => {
            /// Spreads `dense` values over `len` slots.
            ///
            /// # Safety
            /// There must be `len` slots, of which `dense` are valid.
            #[target_feature(enable = "avx512f,popcnt")]
            pub unsafe fn $name(slots: *mut $value, len: usize, mut dense: usize, valid: BitSlice<'_>) {
                let mut end = len;
                while dense < end {
                    let start = (end - 1) / WORD_ROWS * WORD_ROWS;
                    let word = valid.rows(start..end);
                    if end - start < WORD_ROWS {
                        // SAFETY: the caller's promise.
                        let slots = unsafe { std::slice::from_raw_parts_mut(slots, len) };
                        dense = spread_word(slots, start..end, word, dense);
                    } else {
                        for first in (0..WORD_ROWS).step_by($lanes).rev() {
                            let bits = word >> first & ((1 << $lanes) - 1);
                            dense -= bits.count_ones() as usize;
                            // SAFETY: as many values are left as rows before `start + first` are valid, so the vector that begins
                            // after them ends with the word at the latest. It is read before slots are written, which are not
                            // before it.
                            unsafe {
                                let values = _mm512_loadu_si512(slots.add(dense).cast());
                                _mm512_storeu_si512(slots.add(start + first).cast(), $expand(bits, values));
                            }
                        }
                    }
                    end = start;
                }
            }
        };
    }

    macro_rules! spread_from {
        ($name:ident, $value:ty, $lanes:literal, $expand:expr) => {
            /// Spreads the values of `source` over whole words of the `len` slots.
            ///
            /// # Safety
            /// There must be `len` slots.
            #[target_feature(enable = "avx512f,popcnt")]
            pub unsafe fn $name(source: &[u8], slots: *mut $value, len: usize, valid: BitSlice<'_>) -> (usize, usize) {
                let (mut row, mut values) = (0, 0);
                while row + WORD_ROWS <= len && (values + WORD_ROWS) * size_of::<$value>() <= source.len() {
                    let word = valid.word(row);
                    for first in (0..WORD_ROWS).step_by($lanes) {
                        let bits = word >> first & ((1 << $lanes) - 1);
                        // SAFETY: at most `first` values of this word were taken, so 64 values of `source` end after this
                        // vector; and there are 64 slots from `row` on.
                        unsafe {
                            let stored = _mm512_loadu_si512(source.as_ptr().cast::<$value>().add(values).cast());
                            _mm512_storeu_si512(slots.add(row + first).cast(), $expand(bits, stored));
                        }
                        values += bits.count_ones() as usize;
                    }
                    row += WORD_ROWS;
                }
                (row, values)
            }
        };
    }

    /// Two bits for each of four.
    const PAIRS: [u8; 16] = {
        let (mut pairs, mut bits) = ([0; 16], 0);
        while bits < 16 {
            let mut bit = 0;
            while bit < 4 {
                pairs[bits] |= (((bits >> bit & 1) * 3) << (2 * bit)) as u8;
                bit += 1;
            }
            bits += 1;
        }
        pairs
    };

    #[target_feature(enable = "avx512f")]
    fn expand_32(bits: u64, values: __m512i) -> __m512i {
        _mm512_maskz_expand_epi32(bits as u16, values)
    }

    #[target_feature(enable = "avx512f")]
    fn expand_64(bits: u64, values: __m512i) -> __m512i {
        _mm512_maskz_expand_epi64(bits as u8, values)
    }

    #[target_feature(enable = "avx512f")]
    fn expand_128(bits: u64, values: __m512i) -> __m512i {
        _mm512_maskz_expand_epi64(PAIRS[bits as usize], values)
    }

    spread!(spread_32, u32, 16, expand_32);
    spread!(spread_64, u64, 8, expand_64);
    spread!(spread_128, u128, 4, expand_128);
    spread_from!(spread_from_32, u32, 16, expand_32);
    spread_from!(spread_from_64, u64, 8, expand_64);
    spread_from!(spread_from_128, u128, 4, expand_128);
}

#[cfg(test)]
mod tests;
