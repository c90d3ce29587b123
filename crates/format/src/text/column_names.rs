//! Names of columns: from a header, or made up.

use std::collections::HashSet;

/// Column names from a header's fields. An empty one becomes `column_N` (N from 1), one that was there before gets `_2`,
/// `_3`, …, the first that is free.
pub(crate) fn header_names(fields: Vec<Option<String>>) -> Vec<String> {
    let given: HashSet<String> = fields.iter().flatten().cloned().collect();
    let mut taken = HashSet::new();
    let mut names = Vec::with_capacity(fields.len());
    for (i, field) in fields.into_iter().enumerate() {
        let wanted = match field {
            Some(name) if !name.trim().is_empty() => name,
            _ => format!("column_{}", i + 1),
        };
        let mut name = wanted.clone();
        let mut next = 2;
        while taken.contains(&name) || (name != wanted && given.contains(&name)) {
            name = format!("{wanted}_{next}");
            next += 1;
        }
        taken.insert(name.clone());
        names.push(name);
    }
    names
}

/// `column_1`, `column_2`, …
pub(crate) fn made_up_names(columns: usize) -> Vec<String> {
    (1..=columns).map(|i| format!("column_{i}")).collect()
}
