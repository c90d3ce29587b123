//! A column whose values are converted to their usual text before they are parsed.

use std::borrow::Cow;

use arrow::array::ArrayRef;
use arrow::datatypes::DataType;

use super::column::{BadFields, CsvColumn, FieldError, FieldText, Text};
use super::fields::FieldTable;
use super::rules::DialectRules;
use super::value_texts::ValueTexts;

/// Converts a value to its usual text; `None` for a value that does not have the given format.
pub(super) type UsualText = for<'a> fn(&ValueTexts, &'a [u8]) -> Option<Cow<'a, [u8]>>;

/// The conversion of a type's values to their usual text; `None` if they are in it already.
pub(super) fn usual_text(data_type: &DataType, values: &ValueTexts) -> Option<UsualText> {
    match data_type {
        DataType::Date32 if values.has_date_format() => Some(ValueTexts::date),
        DataType::Timestamp(_, None) | DataType::Date64 if values.has_timestamp_format() => {
            Some(ValueTexts::zoneless_timestamp)
        }
        DataType::Timestamp(..) if values.has_timestamp_format() => Some(ValueTexts::timestamp),
        number if values.decimal_comma && (number.is_floating() || number.is_decimal()) => Some(ValueTexts::number),
        _ => None,
    }
}

/// A column whose values are converted to their usual text before they are parsed.
pub(super) struct OtherColumn {
    inner: Box<dyn CsvColumn>,
    values: ValueTexts,
    usual: UsualText,
    /// The rules of the usual texts.
    rules: DialectRules,
    table: FieldTable,
    text: Vec<u8>,
}

impl OtherColumn {
    pub fn new(inner: Box<dyn CsvColumn>, values: ValueTexts, usual: UsualText) -> Self {
        Self { inner, values, usual, rules: DialectRules::default(), table: FieldTable::default(), text: Vec::new() }
    }
}

impl CsvColumn for OtherColumn {
    fn append(&mut self, table: &FieldTable, column: usize, text: &Text<'_>, bad: &mut BadFields<'_>) {
        self.text.clear();
        self.table.clear(1);
        for (start, end) in table.column(column).take(bad.stop_at) {
            let from = self.text.len();
            match text.field(start, end) {
                FieldText::Null => {
                    self.table.push_missing();
                    continue;
                }
                FieldText::Text(field) => match (self.usual)(&self.values, field.trim_ascii()) {
                    // A quote of the value would be taken for one around the field.
                    Some(usual) if usual.first() == self.rules.quote.as_ref() => self.text.push(b'?'),
                    Some(usual) => self.text.extend_from_slice(&usual),
                    None if field.trim_ascii().is_empty() => {}
                    // No value of any such type.
                    None => self.text.push(b'?'),
                },
                FieldText::Bad(FieldError::Quote) => self.text.extend_from_slice(b"\"?\"?"),
                FieldText::Bad(_) => self.text.push(b'?'),
            }
            self.table.push_field(from, self.text.len());
            self.text.push(b'\n');
        }
        let text = Text { bytes: &self.text, block: None, is_utf8: true, rules: &self.rules };
        self.inner.append(&self.table, 0, &text, bad);
    }

    fn finish(&mut self, block: &bytes::Bytes) -> ArrayRef {
        self.inner.finish(block)
    }
}
