//! Columns of values of one size, such as UUIDs, on their way into formats without such a type.

use arrow::datatypes::{DataType, FieldRef, Schema};
use lakerace_io::Job;

use crate::nested_types::inner_fields;

/// Tells the user of the columns, at any level, whose values have one size and become bytes of any length in `target`.
pub fn warn_of_fixed_sizes(schema: &Schema, target: &str, job: &Job) {
    let mut found = Vec::new();
    look(schema.fields(), "", &mut found);
    if !found.is_empty() {
        job.warn(&format!(
            "{} {} values of a fixed size, such as UUIDs, and {} of variable-length bytes in {target}, which has no \
             type of fixed size",
            found.join(", "),
            if found.len() == 1 { "has" } else { "have" },
            if found.len() == 1 { "becomes a column" } else { "become columns" },
        ));
    }
}

fn look(fields: &[FieldRef], above: &str, found: &mut Vec<String>) {
    for field in fields {
        let path = format!("{above}{}", field.name());
        match field.data_type() {
            DataType::FixedSizeBinary(size) => found.push(format!("column {path:?} ({size} bytes)")),
            other => look(inner_fields(other).unwrap_or_default(), &format!("{path}."), found),
        }
    }
}
