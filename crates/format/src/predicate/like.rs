//! SQL LIKE.

use arrow::array::{Array, ArrayAccessor, ArrayRef, AsArray, BooleanArray};
use arrow::buffer::BooleanBuffer;
use arrow::compute::cast;
use arrow::datatypes::DataType;
use lakerace_io::Result;
use memchr::memmem::Finder;

use super::kernels::internal;

mod substring;

/// A compiled LIKE pattern.
#[derive(Debug, Clone)]
pub(super) struct LikePattern {
    kind: PatternKind,
    case_insensitive: bool,
    /// The common prefix of every match; empty for ILIKE.
    prefix: String,
}

#[derive(Debug, Clone)]
enum PatternKind {
    Exact(String),
    Prefix(String),
    Suffix(String),
    Contains(Box<Finder<'static>>),
    General(Vec<PatternToken>),
}

#[derive(Debug, Clone, PartialEq)]
enum PatternToken {
    Char(char),
    AnyChar,
    AnyRun,
}

/// The small letter of a character, one for one, so that `_` is one character of the text: `İ` is an `i`.
fn lower_char(c: char) -> char {
    c.to_lowercase().next().unwrap_or(c)
}

impl LikePattern {
    /// Compiles a pattern. Without `escape` no character escapes. The error is a message.
    pub fn new(pattern: &str, escape: Option<char>, case_insensitive: bool) -> Result<Self, String> {
        let mut tokens = Vec::new();
        let mut chars = pattern.chars();
        while let Some(c) = chars.next() {
            let token = match c {
                c if Some(c) == escape => {
                    PatternToken::Char(chars.next().ok_or("the pattern ends with its escape character")?)
                }
                '%' => PatternToken::AnyRun,
                '_' => PatternToken::AnyChar,
                c => PatternToken::Char(c),
            };
            match token {
                PatternToken::AnyRun if tokens.last() == Some(&PatternToken::AnyRun) => {}
                PatternToken::Char(c) if case_insensitive => tokens.push(PatternToken::Char(lower_char(c))),
                token => tokens.push(token),
            }
        }
        let prefix = if case_insensitive { String::new() } else { literal(&tokens).0 };
        Ok(Self { kind: PatternKind::from_tokens(tokens), case_insensitive, prefix })
    }

    /// Returns true if the whole of `text` matches.
    pub fn matches(&self, text: &str) -> bool {
        if self.case_insensitive {
            self.kind.matches(&text.chars().map(lower_char).collect::<String>())
        } else {
            self.kind.matches(text)
        }
    }

    /// The text that every match contains, if nothing else decides: that of `%text%`.
    fn substring(&self) -> Option<&Finder<'static>> {
        match &self.kind {
            PatternKind::Contains(finder) if !self.case_insensitive => Some(finder),
            _ => None,
        }
    }

    /// The common prefix of every match, bytewise; empty if unknown.
    pub fn prefix(&self) -> &str {
        &self.prefix
    }
}

/// The characters before the first wildcard, and the tokens after them.
fn literal(tokens: &[PatternToken]) -> (String, &[PatternToken]) {
    let count = tokens.iter().take_while(|t| matches!(t, PatternToken::Char(_))).count();
    let text =
        tokens[..count].iter().filter_map(|t| if let PatternToken::Char(c) = t { Some(*c) } else { None }).collect();
    (text, &tokens[count..])
}

impl PatternKind {
    fn from_tokens(tokens: Vec<PatternToken>) -> Self {
        let (head, rest) = literal(&tokens);
        match rest {
            [] => return Self::Exact(head),
            [PatternToken::AnyRun] => return Self::Prefix(head),
            [PatternToken::AnyRun, after @ ..] if head.is_empty() => {
                let (middle, rest) = literal(after);
                match rest {
                    [] => return Self::Suffix(middle),
                    [PatternToken::AnyRun] => {
                        return Self::Contains(Box::new(Finder::new(middle.as_bytes()).into_owned()));
                    }
                    _ => {}
                }
            }
            _ => {}
        }
        Self::General(tokens)
    }

    fn matches(&self, text: &str) -> bool {
        match self {
            Self::Exact(whole) => text == whole,
            Self::Prefix(prefix) => text.starts_with(prefix.as_str()),
            Self::Suffix(suffix) => text.ends_with(suffix.as_str()),
            Self::Contains(finder) => finder.find(text.as_bytes()).is_some(),
            Self::General(tokens) => general(tokens, text),
        }
    }
}

/// Greedy matching with one point to go back to: the last `%`. Linear for usual patterns, never exponential.
fn general(tokens: &[PatternToken], text: &str) -> bool {
    let (mut at, mut rest) = (0, text);
    let mut retry: Option<(usize, &str)> = None;
    loop {
        let mut chars = rest.chars();
        let next = chars.next();
        let step = match (tokens.get(at), next) {
            (Some(PatternToken::AnyRun), _) => {
                at += 1;
                retry = Some((at, rest));
                continue;
            }
            (None, None) => return true,
            (Some(PatternToken::AnyChar), Some(_)) => true,
            (Some(PatternToken::Char(wanted)), Some(c)) => *wanted == c,
            _ => false,
        };
        if step {
            at += 1;
            rest = chars.as_str();
            continue;
        }
        // Let the last `%` take one character more.
        let Some((again, from)) = retry else { return false };
        let mut chars = from.chars();
        if chars.next().is_none() {
            return false;
        }
        (at, rest) = (again, chars.as_str());
        retry = Some((again, rest));
    }
}

/// Matches each text of an array; null stays null.
pub(super) fn like(array: &ArrayRef, pattern: &LikePattern) -> Result<BooleanArray> {
    fn each<'a>(array: impl ArrayAccessor<Item = &'a str>, pattern: &LikePattern) -> BooleanBuffer {
        BooleanBuffer::collect_bool(array.len(), |i| array.is_valid(i) && pattern.matches(array.value(i)))
    }
    let substring = pattern.substring();
    let bits = match (array.data_type(), substring) {
        (DataType::Utf8, Some(substring)) => substring::rows_with_offsets(array.as_string::<i32>(), substring),
        (DataType::Utf8, None) => each(array.as_string::<i32>(), pattern),
        (DataType::LargeUtf8, Some(substring)) => substring::rows_with_offsets(array.as_string::<i64>(), substring),
        (DataType::LargeUtf8, None) => each(array.as_string::<i64>(), pattern),
        (_, substring) => {
            let texts = internal(cast(array, &DataType::Utf8View))?;
            match substring {
                Some(substring) => substring::rows_with(texts.as_string_view(), substring),
                None => each(texts.as_string_view(), pattern),
            }
        }
    };
    Ok(BooleanArray::new(bits, array.nulls().cloned()))
}

#[cfg(test)]
mod tests;
