//! Single values as JSON texts, as a database keeps nested ones.

use arrow::array::{Array, ArrayRef, StringArray};
use arrow::datatypes::Field;
use lakerace_io::{Error, Result};

use super::column::{ColumnOrigin, ColumnSlot};
use super::fault::LineFault;
use crate::json::Json;

/// The values of JSON texts, as JSON lines have them: exactly or not at all. A null text is a null.
///
/// # Errors
/// `Invalid` for a text that is not JSON, or whose value does not have the field's type; `Unsupported` for types
/// without values in JSON.
pub fn values_of_json(texts: &StringArray, field: &Field) -> Result<ArrayRef> {
    let mut slot = ColumnSlot::new(&field.clone().with_nullable(true), field.name().clone(), ColumnOrigin::Expected)?;
    for text in texts {
        append(&mut slot, text.unwrap_or("null").as_bytes()).map_err(|fault| match fault {
            LineFault::Json(error) => Error::invalid(format!("it is no JSON: {}", error.why)),
            LineFault::Value(misfit) => Error::invalid(misfit.message).advice(misfit.advice),
            LineFault::Place(error) => *error,
        })?;
    }
    slot.finish(texts.len())
}

fn append(slot: &mut ColumnSlot, text: &[u8]) -> std::result::Result<(), LineFault> {
    let mut json = Json::new(text);
    slot.append(&mut json)?;
    if json.is_at_end() {
        return Ok(());
    }
    let advice = "write a single value as the text".to_owned();
    Err(LineFault::value(json.position(), "the text holds more than one JSON value".to_owned(), advice))
}

#[cfg(test)]
mod tests;
