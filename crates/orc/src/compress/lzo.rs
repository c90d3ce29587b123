//! LZO1X, decompression only: old files of Hive may have it.
//!
//! A stream is a sequence of instructions. Each is a run of literals, or a copy of earlier output (length and distance)
//! followed by up to three literals. The meaning of the instructions below 16 depends on the number of literals before
//! them.

use crate::error::{Error, Result};

struct CompressedSource<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl CompressedSource<'_> {
    fn byte(&mut self) -> Result<usize> {
        let byte = self.bytes.get(self.at).ok_or_else(ends)?;
        self.at += 1;
        Ok(usize::from(*byte))
    }

    fn word(&mut self) -> Result<usize> {
        Ok(self.byte()? | self.byte()? << 8)
    }

    /// A length that doesn't fit its instruction: zero bytes count 255 each, the first other byte ends it.
    fn long(&mut self, short: usize) -> Result<usize> {
        let mut length = short;
        loop {
            match self.byte()? {
                0 => length += 255,
                last => return Ok(length + last),
            }
        }
    }
}

fn ends() -> Error {
    Error::corrupt("an lzo chunk ends within its data")
}

/// Decompresses `chunk` to the beginning of `out` and says how long the output is; `None` where `out` is too short.
pub(super) fn decompress(chunk: &[u8], out: &mut [u8]) -> Result<Option<usize>> {
    let mut source = CompressedSource { bytes: chunk, at: 0 };
    let mut made = 0;
    // The number of literals of the previous instruction; 4 means a run.
    let mut state = 0;
    let mut first = true;
    while source.at < chunk.len() {
        let code = source.byte()?;
        let (length, distance, literals);
        if std::mem::take(&mut first) && code > 17 {
            (length, distance, literals) = (0, 0, code - 17);
            state = if literals < 4 { literals } else { 4 };
        } else if code >= 64 {
            length = (code >> 5) + 1;
            distance = (source.byte()? << 3) + ((code >> 2) & 7) + 1;
            literals = code & 3;
            state = literals;
        } else if code >= 32 {
            length = if code == 32 { source.long(31)? + 2 } else { (code & 31) + 2 };
            let word = source.word()?;
            distance = (word >> 2) + 1;
            literals = word & 3;
            state = literals;
        } else if code >= 16 {
            length = if code & 7 == 0 { source.long(7)? + 2 } else { (code & 7) + 2 };
            let word = source.word()?;
            let far = ((code & 8) << 11) + (word >> 2);
            if far == 0 {
                // The end marker is a copy of three bytes at a distance of exactly 16 KiB.
                return if source.at == chunk.len() {
                    Ok(Some(made))
                } else {
                    Err(Error::corrupt("bytes follow the end of an lzo chunk"))
                };
            }
            distance = far + 16384;
            literals = word & 3;
            state = literals;
        } else if state == 0 {
            (length, distance) = (0, 0);
            literals = if code == 0 { source.long(15)? + 3 } else { code + 3 };
            state = 4;
        } else {
            let near = (source.byte()? << 2) + (code >> 2);
            (length, distance) = if state == 4 { (3, near + 2049) } else { (2, near + 1) };
            literals = code & 3;
            state = literals;
        }
        if distance > made {
            return Err(Error::corrupt("an lzo chunk copies from before its start"));
        }
        let tail = source.bytes.get(source.at..).and_then(|rest| rest.get(..literals)).ok_or_else(ends)?;
        if out.len() - made < length || out.len() - made - length < literals {
            return Ok(None);
        }
        for at in made..made + length {
            out[at] = out[at - distance];
        }
        made += length;
        out[made..made + literals].copy_from_slice(tail);
        made += literals;
        source.at += literals;
    }
    Ok(Some(made))
}

#[cfg(test)]
mod tests;
