//! Texts without credentials.

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::{Captures, Regex};

/// A URL up to its last `@`.
const USER: &str = r#"([A-Za-z][A-Za-z0-9+.-]*://)([^\s"'<>]*)@"#;

/// The query of a URL.
const QUERY: &str = r#"([A-Za-z][A-Za-z0-9+.-]*://[^\s?"'<>]*)\?[^\s"'<>]*"#;

/// A setting whose value is a secret, judged by its name.
const SETTING: &str = concat!(
    r"(?i)([a-z0-9_.-]*(?:secret|token|passw(?:or)?d|signature|\bsig|account_?key|access_?key|api_?key|credential|\bsas)",
    r#"[a-z0-9_.-]*=)(?:'[^']*'|"[^"]*"|[^\s,;"']+)"#
);

/// The text with `***` for what may be a credential: the users of URLs, their queries, which may sign a request, and the values of
/// settings with the name of a secret.
pub fn redacted(text: &str) -> Cow<'_, str> {
    static PATTERNS: LazyLock<Option<[Regex; 3]>> =
        LazyLock::new(|| Some([Regex::new(USER).ok()?, Regex::new(QUERY).ok()?, Regex::new(SETTING).ok()?]));
    if !text.contains(['=', '@', '?']) {
        return Cow::Borrowed(text);
    }
    let Some([user, query, setting]) = PATTERNS.as_ref() else { return Cow::Borrowed("***") };
    let without_user = user.replace_all(text, |found: &Captures<'_>| without_user(&found[1], &found[2]));
    let without_query = query.replace_all(&without_user, "$1?***");
    Cow::Owned(setting.replace_all(&without_query, "$1***").into_owned())
}

/// A URL up to its last `@`, which follows `rest`.
fn without_user(scheme: &str, rest: &str) -> String {
    let authority = rest.split('/').next().unwrap_or_default();
    let is_whole = authority.len() == rest.len();
    if let Some(at) = authority.rfind('@').filter(|_| !is_whole) {
        // Another URL may follow, as after a comma.
        return format!("{scheme}***@{}", redacted(&format!("{}@", &rest[at + 1..])));
    }
    // A password may have a slash that is not encoded; a port has digits. Locations of databases have users, and of names rarely an `@`.
    let is_host = |(_, port): (&str, &str)| !port.is_empty() && port.bytes().all(|c| c.is_ascii_digit());
    let is_database = ["mongodb", "elasticsearch", "opensearch"].iter().any(|name| scheme.starts_with(name));
    let is_path = !is_whole && !is_database && authority.split_once(':').is_none_or(is_host);
    // For a file system of Azure, the part before the `@` is the container, which is no secret.
    let is_container = scheme.starts_with("abfs") && !authority.contains(':');
    if is_path || is_container { format!("{scheme}{rest}@") } else { format!("{scheme}***@") }
}

#[cfg(test)]
mod tests;
