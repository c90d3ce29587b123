//! The kind of a moment by its number format.

/// The parts of a moment that a number format shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MomentKind {
    /// A date, such as `yyyy-mm-dd`.
    Date,
    /// A time of day, such as `h:mm`.
    Time,
    /// A date and a time.
    DateTime,
    /// A built-in format of another language, which the file does not contain: the value decides.
    Unknown,
}

impl MomentKind {
    /// The kind of a format code, whose numbers are known to be moments. Only the first section counts.
    pub fn of_format(code: &str) -> Self {
        let tokens = significant(code);
        // Months and minutes have the same letter: it is of the date or of the time that has another one.
        let has_date = tokens.contains(['y', 'd', 'e', 'g', 'b']);
        let has_time = tokens.contains(['h', 's', TIME]);
        match (has_date, has_time) {
            (true, true) => Self::DateTime,
            (true, false) => Self::Date,
            (false, true) => Self::Time,
            (false, false) if tokens.contains('m') => Self::Date,
            (false, false) => Self::Unknown,
        }
    }
}

/// Stands for `AM/PM` and `A/P`.
const TIME: char = '\u{1}';

/// The letters of the first section in lower case, without literal text and brackets.
fn significant(code: &str) -> String {
    let mut found = String::new();
    let mut characters = code.chars();
    let mut rest = String::new();
    while let Some(character) = characters.next() {
        match character {
            '"' => {
                characters.by_ref().find(|next| *next == '"');
            }
            '[' => {
                characters.by_ref().find(|next| *next == ']');
            }
            // The next character is a literal, its width is left out, or it fills the cell.
            '\\' | '_' | '*' => {
                characters.next();
            }
            ';' => break,
            other => rest.extend(other.to_lowercase()),
        }
    }
    let rest = rest.replace("am/pm", "\u{1}").replace("a/p", "\u{1}").replace("general", "");
    found.extend(rest.chars().filter(|character| character.is_ascii_lowercase() || *character == TIME));
    found
}

#[cfg(test)]
mod tests;
