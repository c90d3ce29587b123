//! Single values as JSON texts, as a database keeps nested ones.

use arrow::array::{Array, ArrayRef, StringArray};
use arrow::datatypes::Field;
use lakerace_io::{Error, Result};

use super::column::{Origin, Slot};
use super::fault::Fault;
use crate::json::Json;

/// The values of JSON texts, as JSON lines have them: exactly or not at all. A null text is a null.
///
/// # Errors
/// `Invalid` for a text that is no JSON, or whose value is none of the field's type; `Unsupported` for types that JSON has no values
/// for.
pub fn values_of_json(texts: &StringArray, field: &Field) -> Result<ArrayRef> {
    let mut slot = Slot::new(&field.clone().with_nullable(true), field.name().clone(), Origin::Expected)?;
    for text in texts {
        append(&mut slot, text.unwrap_or("null").as_bytes()).map_err(|fault| match fault {
            Fault::Json(error) => Error::invalid(format!("it is no JSON: {}", error.why)),
            Fault::Value(misfit) => Error::invalid(misfit.message).advice(misfit.advice),
        })?;
    }
    slot.finish(texts.len())
}

fn append(slot: &mut Slot, text: &[u8]) -> std::result::Result<(), Fault> {
    let mut json = Json::new(text);
    slot.append(&mut json)?;
    if json.is_at_end() {
        return Ok(());
    }
    let advice = "write one value into the text".to_owned();
    Err(Fault::value(json.position(), "the text holds more than one JSON value".to_owned(), advice))
}

#[cfg(test)]
mod tests;
