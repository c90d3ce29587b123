//! JSON of other writers that is edited as a tree, with all digits of its numbers: numbers that 64 bits would change
//! are strings in the meantime.

use std::ops::Range;

use serde::de::IgnoredAny;
use serde_json::{Number, Value};

/// A JSON text as a tree.
#[derive(Debug)]
pub(crate) struct ExactNumbers {
    /// The value.
    pub tree: Value,
    /// The prefix of strings that represent numbers.
    mark: String,
}

impl ExactNumbers {
    /// Reads a JSON text.
    pub fn parse(text: &str) -> serde_json::Result<Self> {
        serde_json::from_str::<IgnoredAny>(text)?;
        let mark = format!("{:032x}:", rand::random::<u128>());
        let (mut masked, mut done) = (String::with_capacity(text.len()), 0);
        for number in numbers(text).filter(|range| !is_kept(&text[range.clone()])) {
            masked.push_str(&text[done..number.start]);
            masked.push_str(&format!("\"{mark}{}\"", &text[number.clone()]));
            done = number.end;
        }
        masked.push_str(&text[done..]);
        Ok(Self { tree: serde_json::from_str(&masked)?, mark })
    }

    /// The JSON text of the tree.
    pub fn text(&self) -> String {
        let (masked, mark) = (self.tree.to_string(), format!("\"{}", self.mark));
        let mut parts = masked.split(mark.as_str());
        let mut text = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            let (number, rest) = part.split_once('"').unwrap_or((part, ""));
            text.push_str(number);
            text.push_str(rest);
        }
        text
    }
}

/// Returns true if a number is written again with the same digits.
fn is_kept(number: &str) -> bool {
    serde_json::from_str::<Number>(number).is_ok_and(|known| known.to_string() == number)
}

/// The places of the numbers of a JSON text.
fn numbers(text: &str) -> impl Iterator<Item = Range<usize>> {
    let bytes = text.as_bytes();
    let mut at = 0;
    std::iter::from_fn(move || {
        while let Some(byte) = bytes.get(at) {
            match byte {
                b'"' => at = string_end(bytes, at),
                b'-' | b'0'..=b'9' => {
                    let is_part = |byte: &u8| matches!(byte, b'0'..=b'9' | b'+' | b'-' | b'.' | b'e' | b'E');
                    let length = bytes[at..].iter().take_while(|byte| is_part(byte)).count();
                    at += length;
                    return Some(at - length..at);
                }
                _ => at += 1,
            }
        }
        None
    })
}

/// The position after the string that starts at `start`.
fn string_end(bytes: &[u8], start: usize) -> usize {
    let mut at = start + 1;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'"' => return at + 1,
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
    at
}

#[cfg(test)]
mod tests;
