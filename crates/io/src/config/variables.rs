//! Variables of the environment within texts of the file: `${NAME}`.

use std::env::VarError;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use crate::error::{Error, Result};

/// Looks a variable up.
pub(super) type Lookup<'a> = &'a dyn Fn(&str) -> Result<String, VarError>;

/// Characters of a user or a password that are written as `%XX` in a URL.
const USER: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// Puts variables into a text. `$$` is a dollar sign.
///
/// # Errors
/// `Usage` for a variable that is not set, and for a brace that is not closed. The text is not shown: it may be a secret.
pub(super) fn expand(text: &str, lookup: Lookup<'_>) -> Result<String> {
    expand_parts(text, &|_| false, lookup)
}

/// Puts variables into a URL. The user and the password get `%XX` for the characters that a URL does not allow there.
///
/// # Errors
/// Those of [`expand`].
pub(super) fn expand_url(url: &str, lookup: Lookup<'_>) -> Result<String> {
    let start = url.find("://").map_or(0, |at| at + 3);
    let end = url[start..].find('/').map_or(url.len(), |at| start + at);
    let user_end = url[start..end].rfind('@').map(|at| start + at);
    expand_parts(url, &|at| user_end.is_some_and(|end| start <= at && at < end), lookup)
}

fn expand_parts(text: &str, is_encoded: &dyn Fn(usize) -> bool, lookup: Lookup<'_>) -> Result<String> {
    let mut expanded = String::with_capacity(text.len());
    let mut at = 0;
    while let Some(found) = text[at..].find('$') {
        let dollar = at + found;
        expanded.push_str(&text[at..dollar]);
        let rest = &text[dollar + 1..];
        if let Some(rest) = rest.strip_prefix('{') {
            let name = rest.split_once('}').map(|(name, _)| name);
            let name = name.ok_or_else(|| Error::usage("${ is not closed by }").advice("write ${NAME}; $$ is a $"))?;
            let value = value_of(name, lookup)?;
            match is_encoded(dollar) {
                true => expanded.extend(utf8_percent_encode(&value, USER)),
                false => expanded.push_str(&value),
            }
            at = dollar + 3 + name.len();
        } else {
            expanded.push('$');
            at = dollar + 1 + usize::from(rest.starts_with('$'));
        }
    }
    expanded.push_str(&text[at..]);
    Ok(expanded)
}

fn value_of(name: &str, lookup: Lookup<'_>) -> Result<String> {
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    if name.is_empty() || !name.chars().all(is_name) {
        // Not shown: where a brace is forgotten, it may be a part of a secret.
        return Err(Error::usage("${…} does not have the name of a variable").advice("write ${NAME}; $$ is a $"));
    }
    lookup(name).map_err(|error| match error {
        VarError::NotPresent => {
            Error::usage(format!("the variable {name} is not set")).advice("set it in the environment")
        }
        VarError::NotUnicode(_) => Error::usage(format!("the variable {name} is not valid UTF-8")),
    })
}

#[cfg(test)]
mod tests;
