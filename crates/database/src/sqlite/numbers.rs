//! Values that a declared type makes numbers of, and whether they stay the same.

use rusqlite::types::{ToSqlOutput, ValueRef};

use super::kind::TypeAffinity;

/// Digits of a decimal as a number that SQLite keeps: an integer of 64 bits, or the float whose shortest text they are. `None`
/// where no number has them.
pub(super) fn number(digits: &str, affinity: TypeAffinity) -> Option<ToSqlOutput<'static>> {
    let plain = match digits.contains('.') {
        true => digits.trim_end_matches('0').trim_end_matches('.'),
        false => digits,
    };
    let is_float = |float: f64| float.to_string() == plain || (float == 0.0 && matches!(plain, "0" | "-0"));
    if let Ok(integer) = plain.parse::<i64>() {
        let is_kept = affinity != TypeAffinity::Real || (integer as f64) as i128 == i128::from(integer);
        return is_kept.then_some(ToSqlOutput::Borrowed(ValueRef::Integer(integer)));
    }
    let float: f64 = plain.parse().ok()?;
    is_float(float).then_some(ToSqlOutput::Borrowed(ValueRef::Real(float)))
}

/// Returns true if a text is a number to SQLite, so that columns of numbers keep it as one.
pub(super) fn is_number(text: &[u8]) -> bool {
    // The bytes that SQLite treats as blanks.
    let is_blank = |byte: &u8| matches!(byte, b' ' | b'\t'..=b'\r');
    let start = text.iter().position(|byte| !is_blank(byte)).unwrap_or(text.len());
    let end = text.iter().rposition(|byte| !is_blank(byte)).map_or(start, |last| last + 1);
    let mut rest = &text[start..end];
    let skip_sign = |rest: &mut &[u8]| {
        if let [b'+' | b'-', more @ ..] = *rest {
            *rest = more;
        }
    };
    let skip_digits = |rest: &mut &[u8]| {
        let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        *rest = &rest[digits..];
        digits
    };
    skip_sign(&mut rest);
    let mut digits = skip_digits(&mut rest);
    if let [b'.', more @ ..] = rest {
        rest = more;
        digits += skip_digits(&mut rest);
    }
    if digits == 0 {
        return false;
    }
    if let [b'e' | b'E', more @ ..] = rest {
        rest = more;
        skip_sign(&mut rest);
        if skip_digits(&mut rest) == 0 {
            return false;
        }
    }
    rest.is_empty()
}

#[cfg(test)]
mod tests;
