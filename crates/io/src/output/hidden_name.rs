//! Names of files that are not complete yet.

/// The end of every hidden name, and the text before its random part: they distinguish it from other programs' files.
pub(crate) const MARK: &str = ".lakerace-";

pub(crate) const ENDING: &str = ".tmp";

/// Returns true if a name is exactly as [`create_hidden`] and staged folders make it.
pub(crate) fn is_own_name(name: &str) -> bool {
    let random = name.strip_prefix('.').and_then(|name| name.strip_suffix(ENDING)?.rsplit_once(MARK));
    let is_hex = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    random.is_some_and(|(_, random)| random.len() == 16 && random.bytes().all(is_hex))
}
