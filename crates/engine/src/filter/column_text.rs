//! Computed columns as SQL text: `price * 1.2 as gross`.

use lakerace_format::Expr;
use lakerace_io::option::COLUMNS;
use lakerace_io::{Error, Result};
use sqlparser::dialect::GenericDialect;
use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan, Tokenizer};

use super::{RunTime, converted, parse_whole, position, tokens_of, with_deep_stack};

/// The kind of text that a computed column is, in errors.
const COLUMN: &str = "column";
/// Characters of a column's text that errors show.
const SHOWN_CHARACTERS: usize = 60;

/// Parses a value of the filter language and the name that it gets: `price * 1.2 as gross`.
///
/// # Errors
/// `Usage` for a text that is no such value, `Unsupported` for one that the language lacks.
pub(crate) fn parse_column(text: &str, time: RunTime) -> Result<(Expr, String)> {
    let place = |error: Error| error.at(format!("{:?}", shortened(text))).at(COLUMNS);
    with_deep_stack(text, |text| parse(text, time)).map_err(place)
}

/// Returns true if a text ends with `as` and a name.
pub(crate) fn has_alias(text: &str) -> bool {
    let tokens = significant_tokens(text);
    matches!(tokens.as_slice(), [_, .., alias, _] if is_as(alias))
}

/// The advice on a name that no column has, if it was meant as a value; `None` of other names.
pub(crate) fn advice_on_name(name: &str) -> Option<String> {
    if significant_tokens(name).iter().any(is_as) && !is_value(name) {
        return Some(format!("put a name after AS in double quotes, as in {}", COLUMNS.to("a as \"my name\"")));
    }
    is_value(name)
        .then(|| format!("give a value its name, as in {}", COLUMNS.to(format!("{} as name", shortened(name)))))
}

/// Returns true if a text is a value of the filter language, and neither a column nor a constant.
fn is_value(text: &str) -> bool {
    let value = with_deep_stack(text, parse_value);
    matches!(value, Ok(value) if !matches!(value, Expr::Column(_) | Expr::Literal(_)))
}

fn parse_value(text: &str) -> Result<Expr> {
    let sql = parse_whole(text, COLUMN, "", |parser| parser.parse_expr())?;
    converted(sql, RunTime::now())
}

fn parse(text: &str, time: RunTime) -> Result<(Expr, String)> {
    let example = format!("write a value and its name, as in {}", COLUMNS.to("price * 1.2 as gross"));
    let tokens = tokens_of(text, COLUMN, &example)?;
    if let Some(TokenWithSpan { token: Token::Mul, span }) = tokens.iter().find(|token| is_significant(&token.token)) {
        let message = "* stands for all columns, which have their own names";
        return Err(Error::usage(message).at(position(span.start)).advice(format!("name each column in {COLUMNS}")));
    }
    let (value, name) = parse_whole(text, COLUMN, &example, |parser| {
        let value = parser.parse_expr()?;
        parser.expect_keyword(Keyword::AS)?;
        Ok((value, parser.parse_identifier()?))
    })?;
    if name.value.is_empty() {
        return Err(Error::usage("the name after AS is empty").at(position(name.span.start)).advice(example));
    }
    Ok((converted(value, time)?, name.value))
}

/// The tokens of a text without blanks and comments; none of a text that can't be divided into tokens.
fn significant_tokens(text: &str) -> Vec<Token> {
    let tokens = Tokenizer::new(&GenericDialect {}, text).tokenize().unwrap_or_default();
    tokens.into_iter().filter(is_significant).collect()
}

fn is_significant(token: &Token) -> bool {
    !matches!(token, Token::Whitespace(_))
}

fn is_as(token: &Token) -> bool {
    matches!(token, Token::Word(word) if word.keyword == Keyword::AS && word.quote_style.is_none())
}

/// The first characters of a text.
pub(super) fn shortened(text: &str) -> String {
    let mut chars = text.chars();
    let shown: String = chars.by_ref().take(SHOWN_CHARACTERS).collect();
    if chars.next().is_some() { shown + "…" } else { shown }
}

#[cfg(test)]
mod tests;
