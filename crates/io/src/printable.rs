//! Text of others on a terminal.

use std::borrow::Cow;
use std::fmt::Write;

/// A text without control characters: escape sequences in a name or a log must not reach a terminal. Each becomes
/// `\u001b`, as in JSON, so that JSON keeps its meaning. Ends of lines and tabs stay.
pub fn printable(text: &str) -> Cow<'_, str> {
    let is_unsafe = |c: char| c.is_control() && !matches!(c, '\n' | '\t');
    if !text.chars().any(is_unsafe) {
        return Cow::Borrowed(text);
    }
    let mut safe = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if is_unsafe(c) {
            // Writing to a string does not fail.
            let _ = write!(safe, "\\u{:04x}", u32::from(c));
        } else {
            safe.push(c);
        }
    }
    Cow::Owned(safe)
}

#[cfg(test)]
mod tests;
