//! Names of files: which are allowed, and patterns of them.

use lakerace_io::option::FILE_MODE;
use lakerace_io::{Error, Result};
use unicode_normalization::{UnicodeNormalization, is_nfc};

/// The longest name, in bytes of UTF-8.
pub(crate) const MAX_NAME_BYTES: usize = 16_384;

/// Checks a name: parts with `/` between them, none of them empty, `.` or `..`, without NUL, at most 16,384 bytes. So every
/// name is a path below any folder.
///
/// ```
/// assert!(lakerace_files::check_name("a/b.txt").is_ok());
/// assert!(lakerace_files::check_name("../b.txt").is_err());
/// ```
pub fn check_name(name: &str) -> Result<()> {
    let bytes = name.as_bytes();
    let refuse = |problem: &str| Err(Error::invalid(format!("not a valid file name: {problem}")).at(shown(name)));
    if bytes.is_empty() {
        return refuse("it is empty");
    }
    if bytes.len() > MAX_NAME_BYTES {
        return refuse(&format!("it has {} bytes, more than the {MAX_NAME_BYTES} allowed", bytes.len()));
    }
    let (mut part, mut dots) = (0_usize, true);
    for &byte in bytes.iter().chain(std::iter::once(&b'/')) {
        match byte {
            b'/' => {
                if part == 0 {
                    return refuse("it has an empty part: it must not start or end with /, nor contain //");
                }
                if dots && part <= 2 {
                    return refuse("it has a part that is . or ..");
                }
                (part, dots) = (0, true);
            }
            0 => return refuse("it contains a NUL character"),
            _ => {
                part += 1;
                dots &= byte == b'.';
            }
        }
    }
    Ok(())
}

/// A name in an error, cut where it is long.
pub(crate) fn shown(name: &str) -> String {
    match name.char_indices().nth(200) {
        Some((end, _)) => format!("{}…", &name[..end]),
        None => name.to_owned(),
    }
}

/// The error for a name that no file has.
pub(crate) fn not_found(name: &str) -> Error {
    Error::not_found("the file does not exist").at(shown(name))
}

/// The error for a name that is taken.
pub(crate) fn taken(name: &str) -> Error {
    Error::conflict("the file already exists")
        .at(shown(name))
        .advice(format!("remove it first, or replace it with {}", FILE_MODE.to("overwrite")))
}

/// The error for a name whose file is another one than the one that was to be replaced.
pub(crate) fn changed(name: &str) -> Error {
    Error::conflict("another writer changed the file after it was opened")
        .at(shown(name))
        .advice("open it again, and repeat the change")
}

/// The composed form (NFC) of a name that has another one.
pub(crate) fn composed(name: &str) -> Option<String> {
    (!name.is_ascii() && !is_nfc(name)).then(|| name.nfc().collect())
}

/// A warning for a name that has another composed form: other systems may take the two for one.
pub(crate) fn normalisation_warning(name: &str) -> Option<String> {
    composed(name).map(|_| {
        let name = shown(name);
        format!("{name}: the name is not in Unicode's composed form (NFC), and names are compared byte by byte")
    })
}

/// The first bytes after all that start with `prefix`; `None` where nothing follows them.
pub(crate) fn prefix_end(prefix: &[u8]) -> Option<Vec<u8>> {
    let mut end = prefix.to_vec();
    while let Some(last) = end.pop() {
        if last < 0xff {
            end.push(last + 1);
            return Some(end);
        }
    }
    None
}

/// A pattern of names: `*`, `?` and classes such as `[a-z]` and `[!a]` stop at `/`, `**` does not, `{a,b}` as in a shell.
#[derive(Debug, Clone)]
pub struct Glob {
    matcher: lakerace_io::Glob,
    prefix: String,
}

impl Glob {
    /// Parses a pattern; an error of kind `Usage` where it is none.
    pub fn parse(pattern: &str) -> Result<Self> {
        let matcher = lakerace_io::Glob::parse(pattern, true).map_err(|e| e.at(shown(pattern)))?;
        let literal = pattern.find(['*', '?', '[', '{', '\\']).unwrap_or(pattern.len());
        Ok(Self { matcher, prefix: pattern[..literal].to_owned() })
    }

    /// The common prefix of all names of the pattern.
    pub fn prefix(&self) -> &str {
        &self.prefix
    }

    /// Returns true if a name matches the pattern.
    pub fn matches(&self, name: &str) -> bool {
        self.matcher.matches(name)
    }
}

#[cfg(test)]
mod tests;
