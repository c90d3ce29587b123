//! Pages that a fast codec can't make smaller, in the codec's form: all of it literals, which cost a reader one copy.

/// Bytes of a literal of snappy at most: its own encoder makes none that are longer.
const SNAPPY_LITERAL_BYTES: usize = 1 << 16;
/// The tag of a snappy literal whose length has two bytes.
const SNAPPY_LITERAL_TAG: u8 = 61 << 2;
/// The token value that means: the length continues in further bytes, up to the first one that is less than 255.
const LZ4_TOKEN_LENGTH: usize = 15;

/// The body of a page in its stored form.
pub(crate) enum PageBody<'a> {
    /// These bytes.
    Bytes(&'a [u8]),
    /// Snappy's elements: <https://github.com/google/snappy/blob/main/format_description.txt>
    Snappy(&'a [u8]),
    /// An LZ4 block of one sequence: <https://github.com/lz4/lz4/blob/dev/doc/lz4_Block_format.md>
    Lz4(&'a [u8]),
}

impl PageBody<'_> {
    /// Bytes that are stored.
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Bytes(bytes) => bytes.len(),
            Self::Snappy(input) => {
                let length_bytes = (usize::BITS - (input.len() | 1).leading_zeros()).div_ceil(7) as usize;
                length_bytes + 3 * input.len().div_ceil(SNAPPY_LITERAL_BYTES) + input.len()
            }
            Self::Lz4(input) => {
                let length_bytes = input.len().checked_sub(LZ4_TOKEN_LENGTH).map_or(0, |rest| rest / 255 + 1);
                1 + length_bytes + input.len()
            }
        }
    }

    /// Appends the stored bytes.
    pub(crate) fn append_to(&self, output: &mut Vec<u8>) {
        output.reserve(self.len());
        match self {
            Self::Bytes(bytes) => output.extend_from_slice(bytes),
            Self::Snappy(input) => append_snappy(input, output),
            Self::Lz4(input) => append_lz4(input, output),
        }
    }
}

fn append_snappy(input: &[u8], output: &mut Vec<u8>) {
    let mut length = input.len();
    while length >= 0x80 {
        output.push(length as u8 | 0x80);
        length >>= 7;
    }
    output.push(length as u8);
    for literal in input.chunks(SNAPPY_LITERAL_BYTES) {
        output.push(SNAPPY_LITERAL_TAG);
        output.extend_from_slice(&((literal.len() - 1) as u16).to_le_bytes());
        output.extend_from_slice(literal);
    }
}

fn append_lz4(input: &[u8], output: &mut Vec<u8>) {
    output.push((input.len().min(LZ4_TOKEN_LENGTH) as u8) << 4);
    if let Some(mut rest) = input.len().checked_sub(LZ4_TOKEN_LENGTH) {
        while rest >= 255 {
            output.push(255);
            rest -= 255;
        }
        output.push(rest as u8);
    }
    output.extend_from_slice(input);
}

#[cfg(test)]
mod tests;
