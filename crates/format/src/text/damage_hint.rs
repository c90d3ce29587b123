//! Packed text without a checksum: damage of the file can show as rows that do not fit.

use lakerace_io::{Error, ErrorKind, Object};

/// Bytes that say how a file is packed.
const FRONT_BYTES: u64 = 8;

/// The first bytes of a frame of zstd, and the bit of the byte after them that announces a checksum.
const ZSTD: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];
const ZSTD_CHECKSUM: u8 = 1 << 2;

/// The first bytes of an xz file whose blocks have no checksum.
const UNCHECKED_XZ: [u8; 8] = [0xfd, b'7', b'z', b'X', b'Z', 0, 0, 0];

/// The error of a row in one of these files, with a hint at damage if the file is packed without a checksum.
pub(crate) fn with_damage_hint(error: Error, objects: &[Object]) -> Error {
    let Some(place) = error.location().filter(|_| error.kind() == ErrorKind::Invalid) else { return error };
    let is_in = |object: &&Object| {
        place.strip_prefix(object.url().as_str()).is_some_and(|rest| rest.is_empty() || rest.starts_with(','))
    };
    if !objects.iter().find(is_in).is_some_and(is_unchecked) {
        return error;
    }
    let hint = "the file is compressed without a checksum, so it may also be damaged: download or create it again";
    let advice = error.advice_text().map_or_else(|| hint.to_owned(), |advice| format!("{advice}; {hint}"));
    error.advice(advice)
}

fn is_unchecked(object: &Object) -> bool {
    if object.stream().is_some() {
        return false;
    }
    let front = object.read_range(0..object.size_bytes.unwrap_or(0).min(FRONT_BYTES));
    front.is_ok_and(|front| match front.strip_prefix(&ZSTD) {
        Some(rest) => rest.first().is_some_and(|descriptor| descriptor & ZSTD_CHECKSUM == 0),
        None => front.starts_with(&UNCHECKED_XZ),
    })
}
