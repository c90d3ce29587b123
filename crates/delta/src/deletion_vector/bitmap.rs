//! Bitmaps of rows in the format of deletion vectors, expanded into plain bits: a scan only needs these, and to iterate
//! over millions of rows one by one would take a considerable part of its time.
//!
//! The format is that of <https://github.com/RoaringBitmap/RoaringFormatSpec>, with the extension for 64 bits.

use lakerace_io::{Error, Result};

/// The first number of a bitmap of 32 bits without runs.
const NO_RUNS: u32 = 12346;
/// The lower half of the first number of one that may have runs.
const WITH_RUNS: u32 = 12347;
/// With so many containers or more, a bitmap with runs also stores the containers' offsets.
const PLACES_FROM: usize = 4;
/// Containers of more values than that are bits.
const MOST_LISTED: usize = 4096;
/// Rows of a file at most: their bits take a gibibyte. What a damaged log says of a file's rows is no bound.
const MOST_ROWS: u64 = 1 << 33;
/// Bytes of the bits of a container.
const CONTAINER_BYTES: usize = 8192;

/// A bit for each row of a file up to the last one in the bitmap, or some more. Errors are of kind `Corrupt` for a
/// bitmap that is damaged or has rows far past `file_rows`. Rows of a file that has more than [`MOST_ROWS`] are
/// unsupported.
pub(crate) fn bits(bitmap: &[u8], file_rows: u64) -> Result<Vec<u8>> {
    let mut input = UnreadInput { bytes: bitmap };
    let mut bits = Vec::new();
    for _ in 0..u64::from_le_bytes(input.array()?) {
        let high = u64::from(u32::from_le_bytes(input.array()?));
        part(&mut input, high << 32, file_rows, &mut bits)?;
    }
    Ok(bits)
}

/// A 32-bit bitmap, of rows that start at `first`.
fn part(input: &mut UnreadInput<'_>, first: u64, file_rows: u64, bits: &mut Vec<u8>) -> Result<()> {
    let cookie = u32::from_le_bytes(input.array()?);
    let (count, runs) = match cookie {
        NO_RUNS => (u32::from_le_bytes(input.array()?) as usize, None),
        _ if cookie & 0xffff == WITH_RUNS => {
            let count = (cookie >> 16) as usize + 1;
            (count, Some(input.take(count.div_ceil(8))?))
        }
        _ => return Err(damaged()),
    };
    // The key and the cardinality of each container.
    let heads = input.take(count.checked_mul(4).ok_or_else(damaged)?)?;
    if runs.is_none() || count >= PLACES_FROM {
        input.take(count * 4)?;
    }
    for (number, head) in heads.chunks_exact(4).enumerate() {
        let start = first + (u64::from(u16::from_le_bytes([head[0], head[1]])) << 16);
        if start >= file_rows {
            return Err(Error::corrupt(format!(
                "it hides row {start} or a later one, but the file has {file_rows} rows"
            )));
        }
        if start >= MOST_ROWS {
            let message = format!("hiding row {start}: a bit for each row before it would not fit into memory");
            return Err(Error::unsupported(message).advice("compact the table into smaller files with another engine"));
        }
        let byte = usize::try_from(start / 8)
            .map_err(|_| Error::unsupported("the file has more rows than memory can hold"))?;
        if bits.len() < byte + CONTAINER_BYTES {
            bits.resize(byte + CONTAINER_BYTES, 0);
        }
        let has_runs = runs.is_some_and(|runs| runs[number / 8] >> (number % 8) & 1 == 1);
        let cardinality = usize::from(u16::from_le_bytes([head[2], head[3]])) + 1;
        container(input, has_runs, cardinality, &mut bits[byte..byte + CONTAINER_BYTES])?;
    }
    Ok(())
}

fn container(input: &mut UnreadInput<'_>, has_runs: bool, cardinality: usize, bits: &mut [u8]) -> Result<()> {
    if has_runs {
        let count = usize::from(u16::from_le_bytes(input.array()?));
        for run in input.take(count * 4)?.chunks_exact(4) {
            let start = usize::from(u16::from_le_bytes([run[0], run[1]]));
            let last = start + usize::from(u16::from_le_bytes([run[2], run[3]]));
            fill(bits, start, last)?;
        }
    } else if cardinality > MOST_LISTED {
        for (bits, stored) in bits.iter_mut().zip(input.take(CONTAINER_BYTES)?) {
            *bits |= stored;
        }
    } else {
        for value in input.take(cardinality * 2)?.chunks_exact(2) {
            let value = usize::from(u16::from_le_bytes([value[0], value[1]]));
            bits[value / 8] |= 1 << (value % 8);
        }
    }
    Ok(())
}

/// Sets the bits from `start` to `last`.
fn fill(bits: &mut [u8], start: usize, last: usize) -> Result<()> {
    let (from, to) = (start / 8, last / 8);
    let run = bits.get_mut(from..=to).ok_or_else(damaged)?;
    let length = run.len();
    let (head, tail) = (u8::MAX << (start % 8), u8::MAX >> (7 - last % 8));
    match length {
        1 => run[0] |= head & tail,
        _ => {
            run[0] |= head;
            run[1..length - 1].fill(u8::MAX);
            run[length - 1] |= tail;
        }
    }
    Ok(())
}

/// The unread part of the input.
struct UnreadInput<'a> {
    bytes: &'a [u8],
}

impl<'a> UnreadInput<'a> {
    fn take(&mut self, count: usize) -> Result<&'a [u8]> {
        let (taken, left) = self.bytes.split_at_checked(count).ok_or_else(damaged)?;
        self.bytes = left;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        self.take(N)?.try_into().map_err(|_| damaged())
    }
}

fn damaged() -> Error {
    Error::corrupt("its bitmap can't be read: it is damaged")
}

#[cfg(test)]
mod tests;
