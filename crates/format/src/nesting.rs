//! A bound on how deep types are nested: the code that follows types calls itself, and a stack is finite.

use arrow::datatypes::{DataType, Schema};
use lakerace_io::{Error, Result};

use crate::nested_types::inner_fields;

/// Levels of nested types at most: lists, structs and maps within one another. ORC files have the same bound, and Arrow's own
/// messages can say no more.
pub const MAX_NESTING: usize = 60;

/// Fails where a column is nested deeper than [`MAX_NESTING`] levels.
///
/// # Errors
/// `Unsupported`, naming the column.
pub fn check_nesting(schema: &Schema) -> Result<()> {
    let mut pending: Vec<(&DataType, usize)> = Vec::new();
    for field in schema.fields() {
        pending.push((field.data_type(), 0));
        while let Some((data_type, depth)) = pending.pop() {
            if depth > MAX_NESTING {
                return Err(nested_too_deep().at(format!("column {:?}", field.name())));
            }
            match data_type {
                DataType::Union(fields, _) => {
                    pending.extend(fields.iter().map(|(_, field)| (field.data_type(), depth + 1)));
                }
                DataType::RunEndEncoded(_, item) => pending.push((item.data_type(), depth + 1)),
                DataType::Dictionary(_, values) => pending.push((values, depth + 1)),
                other => {
                    let fields = inner_fields(other).into_iter().flatten();
                    pending.extend(fields.map(|field| (field.data_type(), depth + 1)));
                }
            }
        }
    }
    Ok(())
}

/// The error for types that are nested too deep.
pub fn nested_too_deep() -> Error {
    Error::unsupported(format!("types are nested deeper than {MAX_NESTING} levels"))
        .advice("store the inner values as JSON text, or in a table of their own")
}

#[cfg(test)]
mod tests;
