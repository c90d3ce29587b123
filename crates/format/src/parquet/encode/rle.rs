//! Parquet's RLE / bit-packing hybrid, as used for definition levels and dictionary indices.
//!
//! Source of the format: parquet-format, `Encodings.md`, "Run Length Encoding / Bit-Packing Hybrid (RLE = 3)".

use arrow::buffer::BooleanBuffer;

/// Repeats shorter than this are cheaper inside a bit-packed run.
const MIN_REPEATS: usize = 8;

/// The number of bits that the largest of `count` dictionary indices takes.
pub(crate) fn index_bits(count: usize) -> u8 {
    (usize::BITS - count.saturating_sub(1).leading_zeros()) as u8
}

/// Appends `values`, each below 2^`bits`, as alternating runs. `bits` is at most 32.
pub(crate) fn append_hybrid(values: &[u32], bits: u8, out: &mut Vec<u8>) {
    if bits == 0 {
        append_repeated(0, values.len(), 0, out);
        return;
    }
    // `packed_from` is the start of the current bit-packed run. Such a run holds a multiple of 8 values unless it is
    // the last, so a repeat may only start at a multiple of 8 from there.
    let mut packed_from = 0;
    let mut at = 0;
    while at < values.len() {
        let first = values[at];
        let group = &values[at..values.len().min(at + MIN_REPEATS)];
        if group.len() == MIN_REPEATS && group.iter().all(|v| *v == first) {
            let repeats = MIN_REPEATS + values[at + MIN_REPEATS..].iter().take_while(|v| **v == first).count();
            // Within a bit-packed run, leaving it and coming back costs two headers.
            if at == packed_from || repeats >= 2 * MIN_REPEATS {
                append_packed(&values[packed_from..at], bits, out);
                append_repeated(first, repeats, bits, out);
                at += repeats;
                packed_from = at;
                continue;
            }
        }
        at += MIN_REPEATS;
    }
    append_packed(&values[packed_from..], bits, out);
}

/// Appends one run of `count` times `value`.
fn append_repeated(value: u32, count: usize, bits: u8, out: &mut Vec<u8>) {
    if count == 0 {
        return;
    }
    append_varint((count as u64) << 1, out);
    let bytes = usize::from(bits).div_ceil(8);
    out.extend_from_slice(&value.to_le_bytes()[..bytes]);
}

/// Appends one bit-packed run; the last group of 8 is filled up with zeros.
fn append_packed(values: &[u32], bits: u8, out: &mut Vec<u8>) {
    if values.is_empty() {
        return;
    }
    let groups = values.len().div_ceil(8);
    append_varint(((groups as u64) << 1) | 1, out);
    let end = out.len() + groups * usize::from(bits);
    out.reserve(groups * usize::from(bits) + 8);
    let mut buffer = 0u64;
    let mut filled = 0u32;
    for value in values {
        buffer |= u64::from(*value) << filled;
        filled += u32::from(bits);
        if filled >= 32 {
            out.extend_from_slice(&(buffer as u32).to_le_bytes());
            buffer >>= 32;
            filled -= 32;
        }
    }
    out.extend_from_slice(&buffer.to_le_bytes()[..filled.div_ceil(8) as usize]);
    out.resize(end, 0);
}

/// Appends the definition levels of a column that is optional and not nested: the level is the validity bit.
/// `validity` is `None` where all `rows` are valid. The levels are preceded by their length, as version 1 of
/// the data page wants them.
pub(crate) fn append_definition_levels(validity: Option<&BooleanBuffer>, rows: usize, out: &mut Vec<u8>) {
    let length_at = out.len();
    out.extend_from_slice(&[0; 4]);
    match validity {
        None => append_repeated(1, rows, 1, out),
        Some(validity) => match validity.count_set_bits() {
            0 => append_repeated(0, rows, 1, out),
            set if set == rows => append_repeated(1, rows, 1, out),
            _ => {
                // Bit-packing with one bit is Arrow's own bitmap layout.
                append_varint(((rows.div_ceil(8) as u64) << 1) | 1, out);
                let bytes = validity.sliced();
                out.extend_from_slice(&bytes.as_slice()[..rows.div_ceil(8)]);
                if let (Some(last), 1..) = (out.last_mut(), rows % 8) {
                    *last &= (1u8 << (rows % 8)) - 1;
                }
            }
        },
    }
    let length = (out.len() - length_at - 4) as u32;
    out[length_at..length_at + 4].copy_from_slice(&length.to_le_bytes());
}

/// Appends an unsigned LEB128 number.
pub(crate) fn append_varint(mut value: u64, out: &mut Vec<u8>) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

#[cfg(test)]
mod tests;
