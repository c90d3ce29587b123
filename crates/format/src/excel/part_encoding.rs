//! Encodings of XML parts. calamine reads UTF-8 only; others are decoded before.

use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE};

/// Bytes at the start of a part that contain its encoding.
pub(super) const START_BYTES: usize = 256;

/// The encoding of a part that is not UTF-8.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum PartEncoding {
    /// An encoding that is decoded.
    Known(&'static Encoding),
    /// The name of an encoding that is not decoded.
    Unknown(String),
}

impl PartEncoding {
    /// The encoding by the first bytes of a part; `None` for UTF-8.
    pub fn of_start(start: &[u8]) -> Option<Self> {
        match start {
            [0xff, 0xfe, 0, 0, ..] | [0, 0, 0xfe, 0xff, ..] => Some(Self::Unknown("UTF-32".to_owned())),
            [0xff, 0xfe, ..] | [b'<', 0, b'?', 0, ..] => Some(Self::Known(UTF_16LE)),
            [0xfe, 0xff, ..] | [0, b'<', 0, b'?', ..] => Some(Self::Known(UTF_16BE)),
            _ => {
                let label = declared(start)?;
                match Encoding::for_label(label.as_bytes()) {
                    // Its bytes are not UTF-16, although it may declare that.
                    Some(known) if known == UTF_8 || known == UTF_16LE || known == UTF_16BE => None,
                    Some(known) => Some(Self::Known(known)),
                    None => Some(Self::Unknown(label)),
                }
            }
        }
    }
}

/// The encoding that the declaration of a part names.
fn declared(start: &[u8]) -> Option<String> {
    let declaration =
        declaration_of(std::str::from_utf8(start.get(..start.len().min(START_BYTES))?).ok().or_else(|| {
            // A character after the declaration may be cut, or of another encoding.
            let end = memchr::memmem::find(start, b"?>")? + 2;
            std::str::from_utf8(start.get(..end)?).ok()
        })?)?;
    let (_, after) = declaration.split_once("encoding")?;
    let after = after.trim_start().strip_prefix('=')?.trim_start();
    let quote = after.chars().next().filter(|quote| matches!(quote, '"' | '\''))?;
    Some(after[1..].split_once(quote)?.0.to_owned())
}

/// The declaration at the start of an XML text.
fn declaration_of(xml: &str) -> Option<&str> {
    let xml = xml.strip_prefix('\u{feff}').unwrap_or(xml);
    if !xml.starts_with("<?xml") {
        return None;
    }
    Some(&xml[..xml.find("?>")? + 2])
}

/// The text of a part without its declaration; `None` if it is not in this encoding.
pub(super) fn decoded(bytes: &[u8], encoding: &'static Encoding) -> Option<String> {
    let (text, _, has_errors) = encoding.decode(bytes);
    if has_errors {
        return None;
    }
    let declaration = declaration_of(&text).map_or(0, str::len);
    Some(text[declaration..].to_owned())
}

#[cfg(test)]
mod tests;
