//! Characters that JSON writes as two escapes, as Python's `json.dumps` does: `\ud840\udc00` is U+20000.
//!
//! The arrow crate decodes half of the planes wrongly (`char_from_surrogate_pair` in arrow-json 60: the plane's bit is joined by `|` in
//! place of `+`), so these characters are put in place of their escapes before it reads a text.

use std::borrow::Cow;
use std::sync::Arc;

use arrow::array::{Array, AsArray, RecordBatch, StringArray, StructArray};
use lakerace_io::{Error, Result};
use memchr::{memchr, memmem};

/// Bytes of an escape such as `\ud840`.
const ESCAPE_BYTES: usize = 6;
/// Bytes of the same in a text within a text.
const INNER_ESCAPE_BYTES: usize = 7;
/// The member with a file's statistics.
const STATISTICS: &[u8] = b"\"stats\"";

/// JSON in which no character is written as two escapes, and no letter, digit or backslash as one: they may be part of a name or of an
/// escape of a text within a text. Other escapes, and halves of pairs, stay.
pub(crate) fn with_whole_characters(json: &[u8]) -> Cow<'_, [u8]> {
    if memmem::find(json, b"\\u").is_none() {
        return Cow::Borrowed(json);
    }
    let (mut whole, mut copied, mut at) = (Vec::new(), 0, 0);
    while let Some(found) = json.get(at..).and_then(|rest| memchr(b'\\', rest)) {
        at += found;
        let (mut buffer, text, bytes) = ([0; 4], plain_at(json, at), ESCAPE_BYTES);
        let (text, bytes) = match (text, pair_at(json, at)) {
            (Some(text), _) => (text, bytes),
            (None, Some(character)) => (character.encode_utf8(&mut buffer).as_bytes(), 2 * bytes),
            (None, None) => {
                // A backslash and the character that it escapes.
                at += 2;
                continue;
            }
        };
        whole.extend_from_slice(&json[copied..at]);
        whole.extend_from_slice(text);
        at += bytes;
        copied = at;
    }
    if copied == 0 {
        return Cow::Borrowed(json);
    }
    whole.extend_from_slice(&json[copied..]);
    Cow::Owned(whole)
}

/// The same for the lines of an entry, whose statistics are JSON within a text: `\\\\ud840\\\\udc00`.
pub(crate) fn entry_with_whole_characters(entry: &[u8]) -> Cow<'_, [u8]> {
    let whole = with_whole_characters(entry);
    if memmem::find(&whole, b"\\\\u").is_none() {
        return whole;
    }
    let (mut mended, mut copied) = (Vec::new(), 0);
    for start in memmem::find_iter(&whole, STATISTICS) {
        let Some(mut at) = text_after(&whole, start + STATISTICS.len()) else { continue };
        while let Some(&byte) = whole.get(at).filter(|byte| **byte != b'"') {
            if let Some((character, bytes)) = inner_pair_at(&whole, at) {
                mended.extend_from_slice(&whole[copied..at]);
                mended.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
                at += bytes;
                copied = at;
                continue;
            }
            // The inner text's backslash, and the character that it escapes; or an escape of the outer text; or a byte.
            at += match (byte, whole.get(at + 1), whole.get(at + 2)) {
                (b'\\', Some(b'\\'), Some(b'\\')) => 4,
                (b'\\', Some(b'\\'), _) => 3,
                (b'\\', _, _) => 2,
                _ => 1,
            };
        }
    }
    if copied == 0 {
        return whole;
    }
    mended.extend_from_slice(&whole[copied..]);
    Cow::Owned(mended)
}

/// The first byte of the text that is the value of the member whose name ends before a place.
fn text_after(json: &[u8], name_end: usize) -> Option<usize> {
    let rest = json.get(name_end..)?.trim_ascii_start().strip_prefix(b":")?;
    let text = rest.trim_ascii_start().strip_prefix(b"\"")?;
    Some(json.len() - text.len())
}

/// The character of the pair of escapes at a place of a text within a text, and its bytes there.
fn inner_pair_at(json: &[u8], at: usize) -> Option<(char, usize)> {
    let first = json.get(at..at + INNER_ESCAPE_BYTES)?.strip_prefix(b"\\")?;
    let second = json.get(at + INNER_ESCAPE_BYTES..at + 2 * INNER_ESCAPE_BYTES)?.strip_prefix(b"\\")?;
    Some((pair_at(&[first, second].concat(), 0)?, 2 * INNER_ESCAPE_BYTES))
}

/// The same for the statistics of a batch of actions, as checkpoints have them.
pub(crate) fn actions_with_whole_characters(actions: RecordBatch) -> Result<RecordBatch> {
    let Ok(position) = actions.schema().index_of("add") else { return Ok(actions) };
    let Some(added) = actions.column(position).as_struct_opt() else { return Ok(actions) };
    let Some((member, texts)) = added
        .column_by_name("stats")
        .and_then(|texts| Some((added.fields().find("stats")?.0, texts.as_string_opt::<i32>()?)))
    else {
        return Ok(actions);
    };
    if !texts.iter().flatten().any(|text| matches!(with_whole_characters(text.as_bytes()), Cow::Owned(_))) {
        return Ok(actions);
    }
    let whole = |text: &str| String::from_utf8(with_whole_characters(text.as_bytes()).into_owned());
    let whole = texts.iter().map(|text| text.map(whole).transpose());
    let whole: StringArray = whole.collect::<std::result::Result<_, _>>().map_err(Error::unexpected)?;
    let mut members = added.columns().to_vec();
    members[member] = Arc::new(whole);
    let added =
        StructArray::try_new(added.fields().clone(), members, added.nulls().cloned()).map_err(Error::unexpected)?;
    let mut columns = actions.columns().to_vec();
    columns[position] = Arc::new(added);
    RecordBatch::try_new(actions.schema(), columns).map_err(Error::unexpected)
}

/// The text of the escape of a letter, a digit or a backslash at a place.
fn plain_at(json: &[u8], at: usize) -> Option<&'static [u8]> {
    const LETTERS: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    let unit = u8::try_from(escape_at(json, at)?).ok()?;
    if unit == b'\\' {
        return Some(b"\\\\");
    }
    let place = LETTERS.iter().position(|letter| *letter == unit)?;
    LETTERS.get(place..=place)
}

/// The character of the pair of escapes at a place.
fn pair_at(json: &[u8], at: usize) -> Option<char> {
    let units = [escape_at(json, at)?, escape_at(json, at + ESCAPE_BYTES)?];
    // One unit that is a character of its own begins no pair.
    let mut characters = char::decode_utf16(units);
    let first = characters.next()?.ok()?;
    (first.len_utf16() == 2).then_some(first)
}

fn escape_at(json: &[u8], at: usize) -> Option<u16> {
    let digits = json.get(at..at + ESCAPE_BYTES)?.strip_prefix(b"\\u")?;
    let text = std::str::from_utf8(digits).ok().filter(|text| text.bytes().all(|byte| byte.is_ascii_hexdigit()))?;
    u16::from_str_radix(text, 16).ok()
}

#[cfg(test)]
mod tests;
