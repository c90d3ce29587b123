//! Names in messages: lists of them, and the one that was probably meant.

use lakerace_io::Error;
pub use lakerace_io::nearest::nearest;

/// The error for a column that does not exist: `NotFound`, naming the nearest, or else the first few that exist.
pub fn column_not_found<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str> + Clone) -> Error {
    let error = Error::not_found(format!("there is no column {name:?}"));
    if let Some(near) = nearest(name, candidates.clone()) {
        return error.advice(format!("did you mean {near:?}?"));
    }
    let mut names: Vec<String> = candidates.into_iter().take(11).map(|n| format!("{n:?}")).collect();
    if names.len() > 10 {
        names[10] = "…".to_owned();
    }
    if names.is_empty() { error } else { error.advice(format!("the columns are {}", names.join(", "))) }
}

/// Names in a sentence: `a, b and c`.
pub fn listed(names: impl IntoIterator<Item = String>, word: &str) -> String {
    let mut names: Vec<String> = names.into_iter().collect();
    match names.pop() {
        Some(last) if !names.is_empty() => format!("{} {word} {last}", names.join(", ")),
        last => last.unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests;
