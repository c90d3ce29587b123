//! The fields of a header.

use lakerace_io::{Error, Result};

use super::column::unquote;
use super::fields::{FieldSplitter, FieldTable, OnRagged};
use super::rules::DialectRules;

/// Splits one record into any number of fields.
///
/// # Errors
/// `Invalid` for a record that is not UTF-8 or has text after a closing quote.
pub(super) fn record_fields(record: &[u8], rules: &DialectRules) -> Result<Vec<Option<String>>> {
    let mut table = FieldTable::default();
    // The number of fields is known after splitting for a single one.
    let ragged = FieldSplitter::new(record, rules, 1, OnRagged::Stop).fill(&mut table, 1);
    let columns = match ragged {
        Some(ragged) => ragged.fields,
        None => table.rows(),
    };
    if columns == 0 {
        return Ok(Vec::new());
    }
    FieldSplitter::new(record, rules, columns, OnRagged::Stop).fill(&mut table, 1);
    let mut fields = Vec::with_capacity(columns);
    for column in 0..columns {
        let (start, end) = table.column(column).next().unwrap_or((1, 0));
        let raw = record.get(start..end.wrapping_sub(1)).unwrap_or(&[]);
        let quoted = !raw.is_empty() && raw.first() == rules.quote.as_ref();
        if !quoted && rules.nulls.contains(raw) {
            fields.push(None);
            continue;
        }
        let field = if quoted {
            unquote(raw, rules).ok_or_else(|| Error::invalid("one of its fields continues after its closing quote"))?
        } else {
            raw.into()
        };
        let text = String::from_utf8(field.into_owned()).map_err(|_| Error::invalid("it is not valid UTF-8"))?;
        fields.push(Some(text));
    }
    Ok(fields)
}
