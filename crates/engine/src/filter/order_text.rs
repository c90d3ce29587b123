//! Orders of rows as SQL text: `a desc, lower(b) nulls first`.

use lakerace_format::Expr;
use lakerace_format::sort::SortTerm;
use lakerace_io::option::ORDER_BY;
use lakerace_io::{Error, Result};
use sqlparser::ast::{Expr as Sql, OrderByExpr, OrderBySort, Spanned};
use sqlparser::parser::Parser;

use super::{RunTime, converted, parse_whole, position, with_deep_stack};

/// Parses the terms of an order: values of the filter language, each with its direction and the place of nulls.
/// Ascending and nulls last are the defaults.
///
/// # Errors
/// `Usage` for a text that is none, and for a value without a column.
pub(crate) fn parse_order(text: &str, time: RunTime) -> Result<Vec<SortTerm>> {
    with_deep_stack(text, |text| parse(text, time)).map_err(|error| error.at(ORDER_BY))
}

fn parse(text: &str, time: RunTime) -> Result<Vec<SortTerm>> {
    let read = |parser: &mut Parser<'_>| parser.parse_comma_separated(Parser::parse_order_by_expr);
    parse_whole(text, "order", &example(), read)?.into_iter().map(|parsed| term(parsed, time)).collect()
}

fn term(parsed: OrderByExpr, time: RunTime) -> Result<SortTerm> {
    let OrderByExpr { expr, options, with_fill } = parsed;
    let (at, text) = (expr.span().start, expr.to_string());
    let wrong = |message: String| Err(Error::usage(message).at(position(at)).advice(example()));
    let is_descending = match options.sort {
        None | Some(OrderBySort::Asc) => false,
        Some(OrderBySort::Desc) => true,
        Some(OrderBySort::Using(_)) => return wrong("USING is not known here".to_owned()),
    };
    if with_fill.is_some() {
        return wrong("WITH FILL is not known here".to_owned());
    }
    if let Some(word) = direction(&expr) {
        let error = Error::usage(format!("{word} is a direction, and no column stands before it"));
        return Err(error.at(position(at)).advice(format!("write \"{word}\" in quotes for a column of this name")));
    }
    let value = converted(expr, time)?;
    if !has_column(&value) {
        return wrong(format!("{text} is the same for all rows"));
    }
    Ok(SortTerm { value, text, is_descending, has_nulls_first: options.nulls_first.unwrap_or(false) })
}

/// The word of a direction in place of a value, which SQL reserves. `nulls`, `first` and `last` are also names.
fn direction(value: &Sql) -> Option<&str> {
    match value {
        Sql::Identifier(name) if name.quote_style.is_none() => {
            ["asc", "desc"].iter().any(|word| name.value.eq_ignore_ascii_case(word)).then_some(&name.value)
        }
        _ => None,
    }
}

fn has_column(value: &Expr) -> bool {
    let mut found = false;
    value.visit_columns(&mut |_| found = true);
    found
}

fn example() -> String {
    format!("name columns, as in {}", ORDER_BY.to("price desc, day"))
}

#[cfg(test)]
mod tests;
