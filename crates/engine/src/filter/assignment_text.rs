//! New values of columns as SQL text: `price = price * 1.1`.

use lakerace_delta::ColumnAssignment;
use lakerace_format::Expr;
use lakerace_io::option::ASSIGNMENT;
use lakerace_io::{Error, Result};
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::Token;

use super::column_text::shortened;
use super::{RunTime, converted, parse_whole, with_deep_stack};

/// The kind of text that an assignment is, in errors.
const KIND: &str = "assignment";

/// A new value of a column as text.
#[derive(Debug, Clone)]
pub enum AssignmentText {
    /// The column and its value: `price = price * 1.1`.
    Whole(String),
    /// A column by its own name, which may have any characters.
    Named {
        /// The column.
        column: String,
        /// Its value.
        value: String,
    },
}

impl AssignmentText {
    /// Parses it.
    ///
    /// # Errors
    /// `Usage` for a text that is none, `Unsupported` for a value that the language lacks.
    pub(crate) fn parsed(&self, time: RunTime) -> Result<ColumnAssignment> {
        match self {
            Self::Whole(text) => {
                let parsed = with_deep_stack(text, |text| parse(text, time));
                let (column, value) = parsed.map_err(|error| placed(error, text))?;
                Ok(ColumnAssignment { column, value, text: quoted(text) })
            }
            Self::Named { column, value } => parse_new_value(column, value, time),
        }
    }
}

/// Parses the value that a column of this name gets.
///
/// # Errors
/// As those of [`AssignmentText::parsed`].
pub(crate) fn parse_new_value(column: &str, value: &str, time: RunTime) -> Result<ColumnAssignment> {
    let text = format!("{column} = {value}");
    let value = with_deep_stack(value, |value| parse_value(value, time)).map_err(|error| placed(error, &text))?;
    Ok(ColumnAssignment { column: column.to_owned(), value, text: quoted(&text) })
}

fn placed(error: Error, text: &str) -> Error {
    error.at(quoted(text)).at(ASSIGNMENT)
}

/// A text as errors show it.
fn quoted(text: &str) -> String {
    format!("{:?}", shortened(text.trim()))
}

fn parse(text: &str, time: RunTime) -> Result<(String, Expr)> {
    let parsed = parse_whole(text, KIND, &example(), |parser| {
        let column = parse_name(parser)?;
        parser.expect_token(&Token::Eq)?;
        Ok((column, parser.parse_expr()?))
    });
    let (column, value) = parsed.map_err(with_advice)?;
    Ok((column, converted(value, time)?))
}

/// Adds advice to the errors of texts that other languages have for assignments.
fn with_advice(error: Error) -> Error {
    match error.message() {
        message if message.ends_with("found: ==") => {
            error.advice(format!("write one =: {}", ASSIGNMENT.to("price = 1")))
        }
        message if message.starts_with("unexpected ,") => {
            error.advice(format!("give each column an option of its own: {}", ASSIGNMENT.to("price = 1")))
        }
        _ => error,
    }
}

/// A column's name, or the path to a field of one.
fn parse_name(parser: &mut Parser<'_>) -> Result<String, ParserError> {
    let mut name = parser.parse_identifier()?.value;
    while parser.consume_token(&Token::Period) {
        name.push('.');
        name.push_str(&parser.parse_identifier()?.value);
    }
    Ok(name)
}

fn parse_value(text: &str, time: RunTime) -> Result<Expr> {
    let value = parse_whole(text, KIND, &example(), |parser| parser.parse_expr())?;
    converted(value, time)
}

fn example() -> String {
    format!("write a column and its value, as in {}", ASSIGNMENT.to("price = price * 1.1"))
}

#[cfg(test)]
mod tests;
