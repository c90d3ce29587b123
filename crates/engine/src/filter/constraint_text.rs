//! The text of a table's constraint: SQL that Spark parses in the same way.

use lakerace_format::Expr;
use lakerace_io::{Error, Result};
use sqlparser::tokenizer::{Token, TokenWithSpan};

use super::{FILTER, example, parse_filter, position, tokens_of};

/// Words that may have a parenthesis after them: operators, and functions that are the same in Spark.
const BEFORE_PARENTHESES: &[&str] = &[
    "and",
    "between",
    "case",
    "char_length",
    "coalesce",
    "else",
    "ifnull",
    "in",
    "length",
    "not",
    "nullif",
    "or",
    "then",
    "when",
];
/// Words that may have a text after them.
const BEFORE_TEXTS: &[&str] =
    &["and", "between", "case", "date", "else", "like", "not", "or", "then", "timestamp", "when"];
/// Operators of other dialects.
const FOREIGN_WORDS: &[&str] = &["isnull", "notnull", "escape", "ilike"];

/// Parses the condition of a constraint. Words and signs that Spark does not know, or reads in another way, are errors.
pub(crate) fn parse_constraint(text: &str) -> Result<Expr> {
    let expr = parse_filter(text)?;
    let tokens = tokens_of(text, FILTER, &example())?;
    let is_blank = |token: &&TokenWithSpan| matches!(token.token, Token::Whitespace(_));
    let tokens: Vec<&TokenWithSpan> = tokens.iter().filter(|token| !is_blank(token)).collect();
    for (at, token) in tokens.iter().enumerate() {
        let next = tokens.get(at + 1).map(|next| &next.token);
        if let Some(what) = foreign(&token.token, next) {
            let message = format!("{what}, which Spark may read in another way");
            return Err(Error::unsupported(message).at(position(token.span.start)));
        }
    }
    Ok(expr)
}

/// A description of a token that Spark does not read as lakerace does.
fn foreign(token: &Token, next: Option<&Token>) -> Option<String> {
    match token {
        Token::Word(word) => match word.quote_style {
            None => {
                let lower = word.value.to_lowercase();
                let is_any = |words: &[&str]| words.contains(&lower.as_str());
                match next {
                    _ if is_any(FOREIGN_WORDS) => Some(format!("the word {lower}")),
                    Some(Token::LParen) if !is_any(BEFORE_PARENTHESES) => Some(format!("the function {lower}")),
                    Some(Token::SingleQuotedString(_)) if !is_any(BEFORE_TEXTS) => {
                        Some(format!("a text after the word {lower}"))
                    }
                    _ => None,
                }
            }
            Some('`') => None,
            Some(_) => Some("a name in double quotes".to_owned()),
        },
        Token::SingleQuotedString(text) if text.contains('\\') => Some("a text with a backslash".to_owned()),
        // Two texts next to each other, or one with a quote in it: that depends on Spark's version.
        Token::SingleQuotedString(text) if text.contains('\'') => Some("a text with a quote in it".to_owned()),
        Token::SingleQuotedString(_) if matches!(next, Some(Token::SingleQuotedString(_))) => {
            Some("a text next to a text".to_owned())
        }
        Token::SingleQuotedString(_)
        | Token::HexStringLiteral(_)
        | Token::Number(..)
        | Token::LParen
        | Token::RParen
        | Token::Comma
        | Token::Period
        | Token::Eq
        | Token::DoubleEq
        | Token::Neq
        | Token::Lt
        | Token::LtEq
        | Token::Gt
        | Token::GtEq
        | Token::Plus
        | Token::Minus
        | Token::Mod
        | Token::EOF => None,
        other => Some(format!("the sign {other}")),
    }
}

#[cfg(test)]
mod tests;
