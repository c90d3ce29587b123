//! Sixty-four bytes at a time: where a byte occurs, as bits of a word.

/// Bytes that are processed in one step.
pub(crate) const STEP: usize = 64;

/// Bit `i` is set where `chunk[i] == byte`.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub(crate) fn positions(chunk: &[u8; STEP], byte: u8) -> u64 {
    use std::arch::x86_64::{__m128i, _mm_cmpeq_epi8, _mm_loadu_si128, _mm_movemask_epi8, _mm_set1_epi8};
    // SAFETY: SSE2 is part of x86-64, and the four loads of 16 bytes lie within the 64 bytes of `chunk`.
    unsafe {
        let wanted = _mm_set1_epi8(byte as i8);
        let part = |i: usize| {
            let lane = _mm_loadu_si128(chunk.as_ptr().add(16 * i).cast::<__m128i>());
            u64::from(_mm_movemask_epi8(_mm_cmpeq_epi8(lane, wanted)) as u32)
        };
        part(0) | part(1) << 16 | part(2) << 32 | part(3) << 48
    }
}

/// Bit `i` is set where `chunk[i] == byte`.
#[cfg(not(target_arch = "x86_64"))]
#[inline(always)]
pub(crate) fn positions(chunk: &[u8; STEP], byte: u8) -> u64 {
    positions_portably(chunk, byte)
}

/// As [`positions`], on any processor.
#[inline(always)]
pub(crate) fn positions_portably(chunk: &[u8; STEP], byte: u8) -> u64 {
    const LOW: u64 = 0x0101_0101_0101_0101;
    const HIGH: u64 = 0x8080_8080_8080_8080;
    let wanted = LOW * u64::from(byte);
    let mut bits = 0;
    for (i, word) in chunk.chunks_exact(8).enumerate() {
        let mut eight = [0; 8];
        eight.copy_from_slice(word);
        let differs = u64::from_le_bytes(eight) ^ wanted;
        // The high bit of every byte that is zero, exactly: no carry leaves a byte.
        let equal = !(((differs & !HIGH) + !HIGH) | differs) & HIGH;
        // Gathers the eight high bits into the top byte.
        bits |= ((equal >> 7).wrapping_mul(0x0102_0408_1020_4080) >> 56) << (8 * i);
    }
    bits
}

/// Bit `i` is the parity of bits `0..=i`: with quotes as bits, set from an opening quote up to before its closing one.
#[inline(always)]
pub(crate) fn parity_prefix(mut bits: u64) -> u64 {
    bits ^= bits << 1;
    bits ^= bits << 2;
    bits ^= bits << 4;
    bits ^= bits << 8;
    bits ^= bits << 16;
    bits ^= bits << 32;
    bits
}

/// The 64 bytes of `text` from `at`, filled up with zeros, and how many are of the text.
#[inline(always)]
pub(crate) fn chunk_at(text: &[u8], at: usize) -> ([u8; STEP], usize) {
    let rest = text.get(at..).unwrap_or(&[]);
    if let Some(full) = rest.first_chunk::<STEP>() {
        return (*full, STEP);
    }
    let mut chunk = [0; STEP];
    chunk[..rest.len()].copy_from_slice(rest);
    (chunk, rest.len())
}

/// The lowest `n` bits.
#[inline(always)]
pub(crate) fn low_bits(n: usize) -> u64 {
    if n >= 64 { !0 } else { (1 << n) - 1 }
}
