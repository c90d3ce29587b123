//! Common parts of all columns of a CSV file: fields, their text, and the problems with it.

use super::fields::FieldTable;
use super::rules::DialectRules;
use crate::options::OnBadRow;
use arrow::array::ArrayRef;
use std::borrow::Cow;

/// A column that fields are appended to.
pub(crate) trait CsvColumn: Send {
    /// Appends field `column` of every row of the table. Invalid fields are reported to `bad`; if it asks to stop, the
    /// rest of the rows is not appended.
    fn append(&mut self, table: &FieldTable, column: usize, text: &Text<'_>, bad: &mut BadFields<'_>);

    /// The array of all rows so far. `block` is the text that contains the texts, according to [`Text::block`].
    fn finish(&mut self, block: &bytes::Bytes) -> ArrayRef;

    /// Bytes of the block's own text that the array refers to.
    fn borrowed_bytes(&self) -> usize {
        0
    }
}

/// The origin of a column's type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TypeOrigin {
    /// The user, or the table that rows go to.
    Given,
    /// A sample of the rows.
    Inferred,
}

/// The text that a table's offsets are of.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Text<'a> {
    pub bytes: &'a [u8],
    /// The bytes are (a part of) the block, from this position; otherwise they do not outlive the call.
    pub block: Option<usize>,
    /// All of it is UTF-8.
    pub is_utf8: bool,
    pub rules: &'a DialectRules,
}

impl<'a> Text<'a> {
    /// The start and the end of the text of a field in quotes. Its content was not checked.
    #[inline]
    pub fn inside_quotes(&self, start: usize, end: usize) -> Option<(usize, usize)> {
        let field = self.bytes.get(start..end.wrapping_sub(1))?;
        match (self.rules.quote, field) {
            (Some(quote), [first, .., last]) if *first == quote && *last == quote => Some((start + 1, end - 2)),
            _ => None,
        }
    }

    /// Returns true if the text inside the quotes contains quotes or escapes.
    #[inline]
    pub fn has_specials(&self, start: usize, end: usize) -> bool {
        let inside = self.bytes.get(start..end).unwrap_or(&[]);
        match (self.rules.quote, self.rules.escape) {
            (Some(quote), None) if inside.len() <= 16 => inside.contains(&quote),
            (Some(quote), None) => memchr::memchr(quote, inside).is_some(),
            _ => true,
        }
    }

    /// A field by the slow path, with nulls and quotes. `end` is one after the field's end, as in a table.
    pub fn field(&self, start: usize, end: usize) -> FieldText<'a> {
        let Some(field) = self.bytes.get(start..end.wrapping_sub(1)) else { return FieldText::Null };
        let quoted = !field.is_empty() && field.first() == self.rules.quote.as_ref();
        if !quoted {
            return if self.rules.nulls.contains(field) {
                FieldText::Null
            } else {
                FieldText::Text(Cow::Borrowed(field))
            };
        }
        match unquote(field, self.rules) {
            Some(text) => FieldText::Text(text),
            None => FieldText::Bad(FieldError::Quote),
        }
    }
}

/// Why a field can't be taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FieldError {
    /// Its text is not a value of the type.
    Value,
    /// It is null, and the column is not nullable.
    Null,
    /// Something follows the closing quote.
    Quote,
    /// It is not UTF-8.
    Utf8,
}

/// Fields that could not be taken, and whether to go on.
#[derive(Debug)]
pub(crate) struct BadFields<'a> {
    /// Column as the user counts it.
    pub column: usize,
    /// The column takes nulls.
    pub nullable: bool,
    pub mode: OnBadRow,
    /// The row at which nothing has to be appended any more.
    pub stop_at: usize,
    /// Row in the table, column, reason.
    pub found: &'a mut Vec<(usize, usize, FieldError)>,
}

impl BadFields<'_> {
    /// Notes a bad field. Returns true if parsing is to continue, with null for the field.
    pub fn report(&mut self, row: usize, badness: FieldError) -> bool {
        self.found.push((row, self.column, badness));
        let go_on = match self.mode {
            OnBadRow::Error => false,
            OnBadRow::Skip => true,
            OnBadRow::Null => badness != FieldError::Null,
        };
        if !go_on {
            self.stop_at = self.stop_at.min(row);
        }
        go_on
    }

    /// Appends a null: bad if the column does not allow it. Returns true if parsing is to continue.
    pub fn null(&mut self, row: usize) -> bool {
        self.nullable || self.report(row, FieldError::Null)
    }
}

/// A field's value where the plain way did not give one.
pub(crate) enum FieldText<'a> {
    Null,
    /// The text without quotes.
    Text(Cow<'a, [u8]>),
    Bad(FieldError),
}

/// The text inside the quotes of a field, escapes resolved. `None` where the quotes don't end with the field.
pub(crate) fn unquote<'a>(field: &'a [u8], rules: &DialectRules) -> Option<Cow<'a, [u8]>> {
    let quote = rules.quote?;
    let inside = field.get(1..field.len() - 1).filter(|_| field.last() == Some(&quote))?;
    let special = match rules.escape {
        None => memchr::memchr(quote, inside),
        Some(escape) => memchr::memchr2(quote, escape, inside),
    };
    let Some(first) = special else { return Some(Cow::Borrowed(inside)) };
    let mut text = inside[..first].to_vec();
    let mut rest = inside[first..].iter();
    while let Some(byte) = rest.next() {
        if Some(*byte) == rules.escape {
            // An escape before the closing quote made it literal.
            text.push(*rest.next()?);
        } else if *byte == quote {
            rest.next().filter(|next| **next == quote)?;
            text.push(quote);
        } else {
            text.push(*byte);
        }
    }
    Some(Cow::Owned(text))
}
