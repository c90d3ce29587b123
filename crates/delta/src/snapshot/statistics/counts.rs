//! The counts of statistics that are none, such as `"5"` and `1.5`: the kernel makes integers of them.

use serde_json::Value;

use super::validity;
use crate::log::json_object::JsonObject;

/// The members with counts.
const COUNTS: [&str; 2] = ["numRecords", "nullCount"];
/// The texts with which most writers begin statistics and the counts of nulls.
const FIRST_ROWS: &str = "{\"numRecords\":";
const NULL_COUNTS: &str = "\"nullCount\":";

/// Returns true if the counts of rows and nulls of a JSON text are whole numbers, or absent.
pub(crate) fn are_sound(text: &str) -> bool {
    are_plain(text) || are_parsed_sound(text)
}

/// Returns true if all counts of a text are seen to be such: most texts are not parsed for it.
fn are_plain(text: &str) -> bool {
    let Some(rest) = text.strip_prefix(FIRST_ROWS) else { return false };
    let after = rest.trim_start_matches(|c: char| c.is_ascii_digit());
    let has_rows = after.len() < rest.len() && after.starts_with([',', '}']);
    has_rows && after.match_indices(NULL_COUNTS).all(|(at, found)| is_plain_object(&after[at + found.len()..]))
}

/// Returns true if a text begins with an object of digits and such objects.
fn is_plain_object(text: &str) -> bool {
    let (mut depth, mut is_name, mut is_value) = (0usize, false, true);
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        match byte {
            b'"' if is_value => return false,
            b'"' => is_name = !is_name,
            b'\\' if is_name => drop(bytes.next()),
            _ if is_name => {}
            b'{' => depth += 1,
            b'}' if depth == 1 => return true,
            b'}' => depth = depth.saturating_sub(1),
            b',' | b':' | b'0'..=b'9' => {}
            _ => return false,
        }
        is_value = byte == b':' && !is_name;
    }
    false
}

fn are_parsed_sound(text: &str) -> bool {
    // Other damage is for others to find.
    let Some(stated) = JsonObject::parse(text) else { return true };
    let value = |name: &str| stated.get(name).and_then(|value| serde_json::from_str::<Value>(value).ok());
    COUNTS.iter().all(|name| value(name).is_none_or(|value| validity::has_counts(&value)))
}

#[cfg(test)]
mod tests;
