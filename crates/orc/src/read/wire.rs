//! Protobuf messages before they are decoded: how many fields there are, so that counts are checked before memory is taken.

use super::varint::varint;
use crate::error::{Error, Result};

/// Calls `each` with the tag and place (from, to) of every field that has a length, and skips the others.
pub(crate) fn fields(bytes: &[u8], mut each: impl FnMut(u64, (usize, usize)) -> Result<()>) -> Result<()> {
    let mut at = 0;
    let ends = || Error::corrupt("ends within a field");
    while at < bytes.len() {
        let (key, length) = varint(&bytes[at..])?;
        at += length;
        let length = match key & 7 {
            0 => varint(bytes.get(at..).ok_or_else(ends)?)?.1 as u64,
            1 => 8,
            5 => 4,
            2 => {
                let (length, taken) = varint(bytes.get(at..).ok_or_else(ends)?)?;
                at += taken;
                length
            }
            other => return Err(Error::corrupt(format!("has a field of the unknown kind {other}"))),
        };
        let end = (at as u64).checked_add(length).filter(|end| *end <= bytes.len() as u64).ok_or_else(ends)? as usize;
        if key & 7 == 2 {
            each(key >> 3, (at, end))?;
        }
        at = end;
    }
    Ok(())
}

/// Makes the error of protobuf's decoder.
pub(crate) fn broken(error: &prost::DecodeError) -> Error {
    Error::corrupt(format!("isn't a valid message: {error}"))
}
