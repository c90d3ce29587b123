//! The widths of packed integers that run length encoding v2 has codes for.

/// Width by code.
const WIDTHS: [u8; 32] = [
    1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 26, 28, 30, 32, 40, 48, 56,
    64,
];

/// The code of the smallest width for each number of bits.
const CODES: [u8; 65] = {
    let mut codes = [0; 65];
    let mut bits = 1;
    while bits < 65 {
        let code = codes[bits - 1];
        codes[bits] = if WIDTHS[code as usize] as usize >= bits { code } else { code + 1 };
        bits += 1;
    }
    codes
};

/// The width that the lower five bits of `code` stand for.
#[inline]
pub(crate) fn width_of_code(code: u8) -> u32 {
    WIDTHS[usize::from(code & 31)].into()
}

/// The code of the least width of at least `bits` bits; more than 64 count as 64.
#[inline]
pub(crate) fn code_of_width(bits: u32) -> u8 {
    CODES[bits.min(64) as usize]
}

/// The least width of at least `bits` bits that has a code; more than 64 count as 64.
#[inline]
pub(crate) fn closest_width(bits: u32) -> u32 {
    width_of_code(code_of_width(bits))
}

/// Bytes that `count` values of `width` bits take.
#[inline]
pub(crate) fn packed_bytes(count: usize, width: u32) -> usize {
    (count * width as usize).div_ceil(8)
}

#[cfg(test)]
mod tests;
