//! Parameters of filters: values in the place of `?`, as the constants that stand for them.

use std::fmt::Write;

use lakerace_io::option::PARAM;
use lakerace_io::{Error, Result};
use sqlparser::ast::Value;
use sqlparser::tokenizer::Token;

use super::{FILTER, example, tokens_of};

/// The kind of text that has assignments and a condition, in errors.
const STATEMENT: &str = "statement";

/// A value for a place in a filter.
#[derive(Debug, Clone, PartialEq)]
pub enum FilterParameter {
    /// NULL.
    Null,
    /// A boolean.
    Boolean(bool),
    /// A number, in its notation: `-12`, `1.5`, `1e3`, `nan`, `-inf`.
    Number(String),
    /// A text. Next to a column of numbers, dates or times it is the value that it writes.
    Text(String),
    /// Bytes.
    Binary(Vec<u8>),
    /// A date, such as `2024-02-29`.
    Date(String),
    /// A timestamp, such as `2024-02-29T23:59:59Z`.
    Timestamp(String),
}

impl FilterParameter {
    /// The SQL literal of this value; text is escaped.
    fn constant(&self) -> Result<String> {
        let quoted = |text: &str| format!("'{}'", text.replace('\'', "''"));
        Ok(match self {
            Self::Null => "NULL".to_owned(),
            Self::Boolean(value) => value.to_string().to_uppercase(),
            Self::Number(text) => {
                if let Some(name) = not_finite(text) {
                    return Ok(format!("CAST('{name}' AS double)"));
                }
                if lakerace_format::Literal::number(text).is_none() {
                    return Err(Error::usage(format!("the parameter {text} does not match a parameter of the filter")));
                }
                // A minus after a minus would start a comment.
                if text.starts_with(['-', '+']) { format!("({text})") } else { text.clone() }
            }
            Self::Text(text) => quoted(text),
            Self::Binary(bytes) => {
                let mut hex = String::with_capacity(bytes.len() * 2);
                for byte in bytes {
                    write!(hex, "{byte:02X}").map_err(Error::unexpected)?;
                }
                format!("X'{hex}'")
            }
            Self::Date(text) => format!("DATE {}", quoted(text)),
            Self::Timestamp(text) => format!("TIMESTAMP {}", quoted(text)),
        })
    }
}

/// The name of a number that is not finite, for a cast: SQL has no constant for it.
fn not_finite(text: &str) -> Option<&'static str> {
    let (sign, name) = text.strip_prefix('-').map_or((false, text), |name| (true, name));
    match (sign, name.to_ascii_lowercase().as_str()) {
        (_, "nan") => Some("NaN"),
        (false, "inf" | "infinity") => Some("inf"),
        (true, "inf" | "infinity") => Some("-inf"),
        _ => None,
    }
}

/// The filter with its parameters in the places of `?`, in order.
///
/// ```
/// # fn main() -> lakerace::Result<()> {
/// use lakerace::{FilterParameter, with_parameters};
/// let names = [FilterParameter::Text("O'Brien".to_owned())];
/// assert_eq!(with_parameters("name = ?", &names)?, "name = 'O''Brien'");
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// `Usage` where the filter has another number of places than there are parameters, and where it is no SQL.
pub fn with_parameters(text: &str, parameters: &[FilterParameter]) -> Result<String> {
    let filled = filled(&[text], parameters).map_err(|error| error.at(FILTER))?;
    Ok(filled.concat())
}

/// The texts of a statement with its parameters in the places of `?`, in the order of the texts.
///
/// ```
/// # fn main() -> lakerace::Result<()> {
/// use lakerace::{FilterParameter, with_parameters_in};
/// let values = [FilterParameter::Number("2".to_owned()), FilterParameter::Text("a".to_owned())];
/// assert_eq!(with_parameters_in(&["price * ?", "name = ?"], &values)?, ["price * 2", "name = 'a'"]);
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// As those of [`with_parameters`].
pub fn with_parameters_in(texts: &[impl AsRef<str>], parameters: &[FilterParameter]) -> Result<Vec<String>> {
    let texts: Vec<&str> = texts.iter().map(AsRef::as_ref).collect();
    filled(&texts, parameters).map_err(|error| error.at(STATEMENT))
}

fn filled(texts: &[&str], parameters: &[FilterParameter]) -> Result<Vec<String>> {
    let places = texts.iter().map(|text| places_in(text)).collect::<Result<Vec<_>>>()?;
    let count = places.iter().map(Vec::len).sum();
    if count != parameters.len() {
        return Err(wrong_number(count, parameters.len()));
    }
    let constants = parameters.iter().map(FilterParameter::constant).collect::<Result<Vec<_>>>()?;
    let mut constants = constants.iter();
    let fill = |(text, places): (&&str, &Vec<(u64, u64)>)| {
        let (mut whole, mut line, mut column) = (String::with_capacity(text.len()), 1, 1);
        for c in text.chars() {
            match places.contains(&(line, column)) {
                true => whole.push_str(constants.next().map_or("", String::as_str)),
                false => whole.push(c),
            }
            (line, column) = if c == '\n' { (line + 1, 1) } else { (line, column + 1) };
        }
        whole
    };
    Ok(texts.iter().zip(&places).map(fill).collect())
}

/// The lines and columns of the placeholders in a text.
fn places_in(text: &str) -> Result<Vec<(u64, u64)>> {
    let mut places = Vec::new();
    for token in &tokens_of(text, FILTER, &example())? {
        match &token.token {
            Token::Placeholder(name) if name == "?" => places.push((token.span.start.line, token.span.start.column)),
            Token::Placeholder(name) => {
                let error = Error::unsupported(format!("the placeholder {name} in a filter"));
                return Err(error.advice("write placeholders as ?, in the order of their values"));
            }
            _ => {}
        }
    }
    Ok(places)
}

/// The error for values of another number than that of the placeholders.
fn wrong_number(placeholders: usize, values: usize) -> Error {
    let counted = |count: usize, thing: &str| match count {
        1 => format!("1 {thing}"),
        _ => format!("{count} {thing}s"),
    };
    let advice = match placeholders {
        0 => format!("write a ? for each value of {PARAM}, or omit {PARAM}"),
        _ if values < placeholders => format!("give a value for each placeholder with {PARAM}"),
        _ => format!("write a ? for each value of {PARAM}, or give fewer values"),
    };
    let given = if values == 1 { "is" } else { "are" };
    let (placeholders, values) = (counted(placeholders, "placeholder"), counted(values, "value"));
    Error::usage(format!("it has {placeholders} (?), but {values} {given} given")).advice(advice)
}

/// Returns true if a value of SQL is a place for a parameter.
pub(super) fn is_place(value: &Value) -> bool {
    matches!(value, Value::Placeholder(_))
}
