//! Patterns of names, character by character.
//!
//! globset compares bytes: its `?` and its classes miss every character that UTF-8 writes in more than one. A pattern is compiled to an
//! expression over Unicode instead, whose matching takes time linear in the name.

use std::iter::Peekable;
use std::str::Chars;

use regex::Regex;

use crate::error::{Error, Result};

/// A pattern of names: `*`, `?` and classes such as `[a-z]` and `[!a]` stop at `/`, `**` between slashes does not, `{a,b}` as in a shell.
///
/// ```
/// use lakerace_io::Glob;
/// let glob = Glob::parse("data/**/[à-ü]?.csv", true)?;
/// assert!(glob.matches("data/2026/é日.csv"));
/// assert!(!glob.matches("data/2026/é/日.csv"));
/// # Ok::<(), lakerace_io::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Glob {
    regex: Regex,
}

impl Glob {
    /// Parses a pattern; an error of kind `Usage` if it is invalid. `has_escapes`: `\` makes the next character
    /// literal.
    pub fn parse(pattern: &str, has_escapes: bool) -> Result<Self> {
        let refuse = |problem: String| Error::usage(format!("the pattern is not valid: {problem}"));
        let mut parser =
            GlobParser { pattern, rest: pattern, regex: String::from("(?s)^"), alternates: 0, has_escapes };
        parser.run().map_err(refuse)?;
        let text = parser.regex + "$";
        // A long pattern has a large automaton.
        let regex = regex::RegexBuilder::new(&text).size_limit(1 << 26).build();
        Ok(Self { regex: regex.map_err(|e| refuse(e.to_string()))? })
    }

    /// The names that a pattern without escapes and wildcards has in its braces: `{a,b}.csv` has `a.csv` and `b.csv`. `None` of
    /// a pattern with `*`, `?` or `[`, and of one with more than 10,000 names.
    ///
    /// ```
    /// use lakerace_io::Glob;
    /// assert_eq!(Glob::names("{a,b/{c,d}}.csv"), Some(["a.csv", "b/c.csv", "b/d.csv"].map(String::from).to_vec()));
    /// assert_eq!(Glob::names("{a,b}*.csv"), None);
    /// ```
    pub fn names(pattern: &str) -> Option<Vec<String>> {
        if pattern.contains(['*', '?', '[']) {
            return None;
        }
        names_of(&mut pattern.chars().peekable(), false)
    }

    /// Returns true if the whole of a name is of the pattern.
    pub fn matches(&self, name: &str) -> bool {
        self.regex.is_match(name)
    }
}

/// Names that [`Glob::names`] makes at most.
const NAMES_AT_MOST: usize = 10_000;

/// The names of a part of a pattern; one within braces ends at a comma or a brace.
fn names_of(chars: &mut Peekable<Chars<'_>>, is_in_braces: bool) -> Option<Vec<String>> {
    let mut names = vec![String::new()];
    while let Some(char) = chars.next_if(|char| !is_in_braces || !matches!(char, ',' | '}')) {
        if char != '{' {
            names.iter_mut().for_each(|name| name.push(char));
            continue;
        }
        let mut alternates = names_of(chars, true)?;
        while chars.next() == Some(',') {
            alternates.extend(names_of(chars, true)?);
        }
        if names.len() * alternates.len() > NAMES_AT_MOST {
            return None;
        }
        names = names.iter().flat_map(|front| alternates.iter().map(move |end| format!("{front}{end}"))).collect();
    }
    Some(names)
}

struct GlobParser<'a> {
    pattern: &'a str,
    rest: &'a str,
    regex: String,
    /// Alternatives that are open, one in another.
    alternates: usize,
    has_escapes: bool,
}

impl<'a> GlobParser<'a> {
    fn run(&mut self) -> Result<(), String> {
        while let Some(char) = self.next() {
            match char {
                '\\' if self.has_escapes => {
                    let escaped = self.next().ok_or("it ends with the escape character \\")?;
                    self.literal(escaped);
                }
                '?' => self.regex.push_str("[^/]"),
                '*' => self.star(),
                '[' => self.class()?,
                '{' => {
                    self.alternates += 1;
                    self.regex.push_str("(?:");
                }
                '}' if self.alternates == 0 => return Err("it has a } without a {".to_owned()),
                '}' => {
                    self.alternates -= 1;
                    self.regex.push(')');
                }
                ',' if self.alternates > 0 => self.regex.push('|'),
                char => self.literal(char),
            }
        }
        if self.alternates == 0 { Ok(()) } else { Err("it has a { without a }".to_owned()) }
    }

    fn next(&mut self) -> Option<char> {
        let mut chars = self.rest.chars();
        let next = chars.next();
        self.rest = chars.as_str();
        next
    }

    fn literal(&mut self, char: char) {
        self.regex.push_str(&regex::escape(char.encode_utf8(&mut [0; 4])));
    }

    /// The part of the pattern that was read, a star that was just read left out.
    fn before(&self) -> &'a str {
        self.pattern[..self.pattern.len() - self.rest.len()].trim_end_matches('*')
    }

    /// A star, or two between slashes: these stand for any folders, none included.
    fn star(&mut self) {
        let count = 1 + self.rest.len() - self.rest.trim_start_matches('*').len();
        let before = self.before();
        let is_start = match before.chars().next_back() {
            None | Some('/') => true,
            Some('{' | ',') => self.alternates > 0,
            Some(_) => false,
        };
        self.rest = self.rest.trim_start_matches('*');
        let is_end = match self.rest.chars().next() {
            None | Some('/') => true,
            Some('}' | ',') => self.alternates > 0,
            Some(_) => false,
        };
        if count != 2 || !is_start || !is_end {
            self.regex.push_str("[^/]*");
        } else if self.rest.starts_with('/') {
            self.rest = &self.rest[1..];
            self.regex.push_str("(?:.*/)?");
        } else if before.ends_with('/') {
            // Something below the folder.
            self.regex.push_str(".+");
        } else {
            self.regex.push_str(".*");
        }
    }

    /// A class; `/` is never of one. A bracket at its start is a member, and so is a hyphen at its start or end.
    fn class(&mut self) -> Result<(), String> {
        let sign = self.rest.starts_with(['!', '^']);
        if sign {
            self.next();
        }
        let mut ranges: Vec<(char, char)> = Vec::new();
        let mut is_range = false;
        loop {
            let char = self.next().ok_or("it has a [ without a ]")?;
            match (char, ranges.last_mut()) {
                (']', Some(_)) => break,
                ('-', Some(_)) if !is_range => is_range = true,
                (char, Some(last)) if is_range => {
                    last.1 = char;
                    is_range = false;
                    if last.1 < last.0 {
                        return Err(format!("the range {}-{} is reversed", last.0, last.1));
                    }
                }
                (char, _) => ranges.push((char, char)),
            }
        }
        if is_range {
            ranges.push(('-', '-'));
        }
        self.regex.push_str(if sign { "[^/" } else { "[[" });
        for (low, high) in ranges {
            for (sign, char) in [("", low), ("-", high)] {
                self.regex.push_str(&format!("{sign}\\x{{{:x}}}", u32::from(char)));
            }
        }
        self.regex.push_str(if sign { "]" } else { "]&&[^/]]" });
        Ok(())
    }
}

#[cfg(test)]
mod tests;
