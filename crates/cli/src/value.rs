//! Values of options, from text.

mod column_list;

use std::str::FromStr;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use lakerace::option::{Choice, parse_choice};
use lakerace::{Error, FileFormat, MergeOperator, Result, TpchFormat, parse_bytes};
use lakerace_io::{RETRY_TIME_OPTION, StorageOptions};

pub(crate) use column_list::ColumnList;

/// Names between commas; blanks around them are dropped. A name with a comma or such blanks is written in double
/// quotes, which are doubled inside.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CommaList(pub(crate) Vec<String>);

/// A number of threads, from 1 to 1024.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ThreadCount(pub(crate) usize);

/// Rows in a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BatchRowCount {
    /// At most this many.
    AtMost(usize),
    /// All in one.
    All,
}

/// The quote character, or none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct QuoteCharacter(pub(crate) Option<u8>);

/// Parses a name among an option's values.
pub(crate) fn choice<T: Choice + Send + Sync>() -> impl TypedValueParser<Value = T> {
    choice_among::<T>(T::CHOICES)
}

/// Parses a name among those values that a command takes.
pub(crate) fn choice_among<T: Choice + Send + Sync>(
    choices: &'static [(&'static str, T)],
) -> impl TypedValueParser<Value = T> {
    let names = choices.iter().map(|(name, _)| *name).collect::<Vec<_>>();
    PossibleValuesParser::new(names).try_map(|name| parse_choice::<T>(&name))
}

/// The name of a file format.
pub(crate) fn file_format() -> impl TypedValueParser<Value = &'static FileFormat> {
    format_among(|_| true)
}

/// The name of a file format that is written.
pub(crate) fn written_format() -> impl TypedValueParser<Value = &'static FileFormat> {
    format_among(|format| !format.is_read_only)
}

fn format_among(is_taken: fn(&FileFormat) -> bool) -> impl TypedValueParser<Value = &'static FileFormat> {
    let values = FileFormat::all().filter(|format| is_taken(format)).map(|format| match format.help {
        Some(help) => PossibleValue::new(format.name).help(help),
        None => PossibleValue::new(format.name),
    });
    PossibleValuesParser::new(values.collect::<Vec<_>>()).try_map(|name| name.parse())
}

/// The name of a format for tables of TPC-H.
pub(crate) fn tpch_format() -> impl TypedValueParser<Value = TpchFormat> {
    PossibleValuesParser::new(TpchFormat::names().collect::<Vec<_>>()).try_map(|name| name.parse())
}

impl FromStr for CommaList {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let mut names = Vec::new();
        let mut rest = text;
        loop {
            let (name, after) = next_name(rest.trim_start(), text)?;
            if name.is_empty() {
                return Err(Error::usage(format!("a name is missing in {text:?}")).advice("write names as a,b,c"));
            }
            names.push(name);
            match after.trim_start().strip_prefix(',') {
                Some(after) => rest = after,
                None if after.trim().is_empty() => return Ok(Self(names)),
                None => return Err(Error::usage(format!("a comma is missing before {:?} in {text:?}", after.trim()))),
            }
        }
    }
}

/// The name at the start of `rest`, and the rest after it.
fn next_name<'a>(rest: &'a str, text: &str) -> Result<(String, &'a str)> {
    let Some(quoted) = rest.strip_prefix('"') else {
        let (name, _) = rest.split_once(',').unwrap_or((rest, ""));
        return Ok((name.trim_end().to_owned(), &rest[name.len()..]));
    };
    let mut name = String::new();
    let mut chars = quoted.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        match c {
            '"' if matches!(chars.peek(), Some((_, '"'))) => {
                chars.next();
                name.push('"');
            }
            '"' => return Ok((name, &quoted[at + 1..])),
            c => name.push(c),
        }
    }
    Err(Error::usage(format!("a double quote is not closed in {text:?}")))
}

impl FromStr for ThreadCount {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        match text.parse() {
            Ok(n @ 1..=1024) => Ok(Self(n)),
            _ => Err(Error::usage(format!("{text:?} is not a number of threads from 1 to 1024"))),
        }
    }
}

/// A whole number, 0 included.
pub(crate) fn number(text: &str) -> Result<u64> {
    text.parse().map_err(|_| Error::usage(format!("{text:?} is not a non-negative integer")))
}

/// A whole number above 0.
pub(crate) fn positive(text: &str) -> Result<usize> {
    match text.parse() {
        Ok(0) | Err(_) => Err(Error::usage(format!("{text:?} is not a positive integer"))),
        Ok(n) => Ok(n),
    }
}

/// Parses a count.
pub(crate) fn count(text: &str) -> Result<u64> {
    positive(text).map(|n| n as u64)
}

/// A size above 0.
pub(crate) fn positive_bytes(text: &str) -> Result<u64> {
    match parse_bytes(text)? {
        0 => Err(Error::usage("the size must be above 0")),
        n => Ok(n),
    }
}

/// A finite number that is not negative.
pub(crate) fn fraction(text: &str) -> Result<f64> {
    match text.parse::<f64>() {
        Ok(f) if f.is_finite() && f >= 0.0 => Ok(f),
        _ => Err(Error::usage(format!("{text:?} is not a non-negative number"))),
    }
}

/// `N` or `all`.
pub(crate) fn batch_rows(text: &str) -> Result<BatchRowCount> {
    if text.eq_ignore_ascii_case("all") { Ok(BatchRowCount::All) } else { positive(text).map(BatchRowCount::AtMost) }
}

/// A time for which requests are repeated, as storage options have it.
pub(crate) fn retry_time(text: &str) -> Result<String> {
    let options: StorageOptions = [(RETRY_TIME_OPTION.to_owned(), text.to_owned())].into_iter().collect();
    match options.retry_time() {
        Ok(_) => Ok(text.to_owned()),
        Err(_) => Err(Error::usage(format!("{text:?} is not a duration")).advice("write one such as 60s, 5m or 0s")),
    }
}

/// `K=V`.
pub(crate) fn key_value(text: &str) -> Result<(String, String)> {
    match text.split_once('=') {
        // The text may hold a secret, so it is not repeated.
        None | Some(("", _)) => Err(Error::usage("a storage option is written as key=value")),
        Some((key, value)) => Ok((key.trim().to_ascii_lowercase(), value.to_owned())),
    }
}

/// `NAME=LOCATION` of a query.
pub(crate) fn relation(text: &str) -> Result<(String, String)> {
    match text.split_once('=') {
        None | Some(("", _) | (_, "")) => Err(Error::usage(format!("{text:?} is not a relation: write NAME=LOCATION"))),
        Some((name, location)) => Ok((name.trim().to_owned(), location.to_owned())),
    }
}

/// `K=V` of a table: names are taken as they stand.
pub(crate) fn property(text: &str) -> Result<(String, String)> {
    match text.split_once('=') {
        None | Some(("", _)) => Err(Error::usage(format!("{text:?} is not a property: write NAME=VALUE"))),
        Some((name, value)) => Ok((name.trim().to_owned(), value.trim().to_owned())),
    }
}

/// `COLUMN=HOW`: how a column is merged.
pub(crate) fn merge(text: &str) -> Result<(String, MergeOperator)> {
    // The separator of texts may be an equals sign, too.
    if let Some((name, separator)) = text.split_once("=concat:") {
        return Ok((name.to_owned(), MergeOperator::Concat(separator.to_owned())));
    }
    match text.rsplit_once('=') {
        Some((name, how)) if !name.is_empty() => Ok((name.to_owned(), how.parse()?)),
        _ => Err(Error::usage(format!("{text:?} is not a merge rule: write COLUMN=HOW, such as price=sum"))),
    }
}

/// Parses an ASCII character, or `\t`.
pub(crate) fn delimiter(text: &str) -> Result<u8> {
    match text.as_bytes() {
        br"\t" => Ok(b'\t'),
        [byte] if byte.is_ascii() && !matches!(byte, b'\n' | b'\r' | 0) => Ok(*byte),
        _ => Err(Error::usage(format!("{text:?} is not a single ASCII character")).advice(r"write a tab as \t")),
    }
}

/// Parses an ASCII character, or `none`.
pub(crate) fn quote(text: &str) -> Result<QuoteCharacter> {
    if text.eq_ignore_ascii_case("none") {
        Ok(QuoteCharacter(None))
    } else {
        delimiter(text).map(|c| QuoteCharacter(Some(c)))
    }
}

#[cfg(test)]
mod tests;
