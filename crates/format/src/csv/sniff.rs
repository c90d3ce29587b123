//! The delimiter of text whose name does not give it.

use super::rules::DialectRules;

/// Lines that are examined.
const MOST_LINES: usize = 100;

/// The characters that often are between fields.
const DELIMITERS: [u8; 4] = [b',', b'\t', b';', b'|'];

/// Returns true if text of an unknown dialect has tabs between its fields: each line has as many, and they make more
/// fields than commas do.
pub(crate) fn has_tabs(text: &[u8], is_whole: bool, skip_rows: usize, comment: Option<&str>) -> bool {
    let skipped = skip_rows.checked_sub(1).map(|last| memchr::memchr_iter(b'\n', text).nth(last));
    let start = match skipped {
        None => 0,
        Some(Some(end)) => end + 1,
        Some(None) => return false,
    };
    let rules = DialectRules { comment: comment.map(|text| text.as_bytes().to_vec()), ..DialectRules::default() };
    let fields = |delimiter| equal_fields(&text[start..], is_whole, delimiter, &rules).unwrap_or(1);
    fields(b'\t') > fields(b',')
}

/// Another delimiter than that of the rules that each line has as often, and the number of fields that it makes.
pub(super) fn other_delimiter(text: &[u8], is_whole: bool, rules: &DialectRules) -> Option<(u8, usize)> {
    let others = DELIMITERS.into_iter().filter(|delimiter| *delimiter != rules.delimiter);
    let found = others.filter_map(|delimiter| Some((delimiter, equal_fields(text, is_whole, delimiter, rules)?)));
    found.max_by_key(|(_, fields)| *fields)
}

/// The number of fields, if each of the first lines has the same, and more than one. Line ends and delimiters in quotes do
/// not count.
fn equal_fields(text: &[u8], is_whole: bool, delimiter: u8, rules: &DialectRules) -> Option<usize> {
    let (mut common, mut lines, mut start, mut is_quoted, mut delimiters) = (None, 0, 0, false, 0);
    let ends = text.iter().enumerate().map(|(at, byte)| (at, *byte));
    // The last line may lack its end.
    let last = (is_whole && !text.ends_with(b"\n")).then_some((text.len(), b'\n'));
    for (at, byte) in ends.chain(last) {
        if Some(byte) == rules.quote {
            is_quoted = !is_quoted;
        } else if byte == delimiter && !is_quoted {
            delimiters += 1;
        } else if byte == b'\n' && !is_quoted {
            let line = &text[start..at];
            if !line.trim_ascii().is_empty() && !rules.is_comment(line) {
                if delimiters == 0 || common.is_some_and(|common| common != delimiters) {
                    return None;
                }
                common = Some(delimiters);
                lines += 1;
            }
            if lines == MOST_LINES {
                break;
            }
            (start, delimiters) = (at + 1, 0);
        }
    }
    common.map(|delimiters| delimiters + 1)
}

#[cfg(test)]
mod tests;
