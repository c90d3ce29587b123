//! Names in messages: lists of them, and the one that was probably meant.

use lakerace_io::Error;
pub use lakerace_io::nearest::nearest;

/// The error for a column that does not exist: `NotFound`, naming the nearest, or else the first few that exist.
pub fn column_not_found<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str> + Clone) -> Error {
    let error = Error::not_found(format!("there is no column {name:?}"));
    if let Some(near) = nearest(name, candidates.clone()) {
        return error.advice(format!("did you mean {near:?}?"));
    }
    match few(candidates) {
        None => error,
        Some(names) => error.advice(format!("the columns are {names}")),
    }
}

/// The error for a name in an expression that is that of no column: it may be meant as a text.
pub fn column_or_text_not_found<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str> + Clone) -> Error {
    let text = format!("'{}'", name.replace('\'', "''"));
    Error::not_found(format!("there is no column {name:?}")).advice(match nearest(name, candidates.clone()) {
        Some(near) => format!("did you mean {near:?}, or the text {text}?"),
        None => match few(candidates) {
            None => format!("a text is written as {text}"),
            Some(names) => format!("the columns are {names}; a text is written as {text}"),
        },
    })
}

/// The first few names; `None` if there are none.
fn few<'a>(names: impl IntoIterator<Item = &'a str>) -> Option<String> {
    let mut names: Vec<String> = names.into_iter().take(11).map(|name| format!("{name:?}")).collect();
    if names.len() > 10 {
        names[10] = "…".to_owned();
    }
    (!names.is_empty()).then(|| names.join(", "))
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
