//! Filters as SQL text.
//!
//! The language is SQL's boolean expressions over the columns of one source: comparisons (`=` or `==`, `<>` or `!=`,
//! `<`, `<=`, `>`, `>=`), `AND`, `OR`, `NOT`, `IN`, `BETWEEN`, `IS [NOT] NULL|TRUE|FALSE|UNKNOWN`,
//! `[NOT] LIKE|ILIKE … [ESCAPE …]`, `CASE`, `CAST(a AS type)`, `INTERVAL '…'`, functions such as `lower(a)`, arithmetic,
//! parentheses, and the constants `'text'`, `12`, `1.5`, `1e3`, `TRUE`, `NULL`, `X'00FF'`, `DATE '…'`, `TIMESTAMP '…'`,
//! `TIME '…'`. Names such as `user` and `current_date` are columns, not functions. `"any name"` or `` `any name` `` is a
//! column, as is `a.b` for a struct's field. [`lakerace_format::predicate`] describes the meaning of the operators.

mod assignment_text;
mod column_text;
mod constraint_text;
mod derived_functions;
mod functions;
mod order_text;
mod parameters;
mod run_time;

use std::cell::Cell;

use lakerace_format::predicate::time::{parse_date, parse_time, parse_timestamp};
use lakerace_format::{ArithmeticOp, CompareOp, Expr, Literal, ScalarFunction};
use lakerace_io::option::{PARAM, WHERE};
use lakerace_io::{Error, Result};
use sqlparser::ast::{
    AccessExpr, BinaryOperator, DataType, Expr as Sql, Function, FunctionArguments, ObjectName, ObjectNamePart,
    Spanned, UnaryOperator, Value,
};
use sqlparser::dialect::GenericDialect;
use sqlparser::keywords::Keyword;
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::{Location, Token, TokenWithSpan, Tokenizer};

pub use assignment_text::AssignmentText;
pub(crate) use assignment_text::parse_new_value;
pub(crate) use column_text::{advice_on_name, has_alias, parse_column};
pub(crate) use constraint_text::parse_constraint;
pub(crate) use order_text::parse_order;
pub use parameters::{FilterParameter, with_parameters, with_parameters_in};
pub(crate) use run_time::RunTime;

/// The kind of text that a filter is, in errors.
const FILTER: &str = "filter";
/// A filter longer than this is a mistake: a list this long is better joined with.
const MAX_BYTES: usize = 1 << 20;

/// A longer filter is not divided into its parts.
const SPLIT_BYTES: usize = 4096;

/// Parentheses and the like may be nested this deep.
const MAX_DEPTH: usize = 100;

/// Parts of operands that are copied at most.
const MAX_COPIES: usize = 100_000;

/// The stack of the parser and of its tree: this, and so much more for each byte of text (`a+a+a…` is a tree as deep as
/// half of its length). Only the used part of it becomes memory.
const STACK_BYTES: usize = 32 << 20;
const STACK_BYTES_PER_TEXT_BYTE: usize = 512;

/// Parses a filter. Errors name the line and column in `text`, both from 1.
pub fn parse_filter(text: &str) -> Result<Expr> {
    parse_filter_at(text, RunTime::now())
}

/// Parses a filter like [`parse_filter`], with the time of its run.
pub(crate) fn parse_filter_at(text: &str, time: RunTime) -> Result<Expr> {
    with_deep_stack(text, |text| parse(text, time)).map_err(|e| e.at(FILTER))
}

/// Parses a text on a thread whose stack is deep enough for it.
fn with_deep_stack<T: Send>(text: &str, parse: impl FnOnce(&str) -> Result<T> + Send) -> Result<T> {
    if text.len() > MAX_BYTES {
        return Err(Error::usage(format!("it has {} bytes, but the limit is {MAX_BYTES}", text.len())));
    }
    let stack = STACK_BYTES + text.len() * STACK_BYTES_PER_TEXT_BYTE;
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().stack_size(stack).spawn_scoped(scope, || parse(text));
        let thread = thread.map_err(|e| lakerace_io::threads::not_started(&e))?;
        thread.join().unwrap_or_else(|_| Err(Error::internal("the SQL parser failed")))
    })
}

/// The parts of a filter that are joined by AND, in their own notation; the whole filter where it can't be parsed.
pub(crate) fn parts(text: &str) -> Vec<String> {
    // Only short texts: the parser recurses on this thread.
    if text.len() > SPLIT_BYTES {
        return vec![text.to_owned()];
    }
    let dialect = GenericDialect {};
    let parsed = Parser::new(&dialect).try_with_sql(text).and_then(|mut parser| parser.parse_expr());
    match parsed {
        Ok(Sql::BinaryOp { left, op: BinaryOperator::And, right }) => {
            chain(*left, &BinaryOperator::And, *right).iter().map(ToString::to_string).collect()
        }
        _ => vec![text.to_owned()],
    }
}

fn parse(text: &str, time: RunTime) -> Result<Expr> {
    let sql = parse_whole(text, FILTER, &example(), |parser| parser.parse_expr())?;
    converted(sql, time)
}

/// The expression of a whole text.
fn converted(sql: Sql, time: RunTime) -> Result<Expr> {
    convert(sql, ExprDepth { level: 0, shared: &ExprShared { copies: Cell::new(0), time } })
}

fn tokens_of(text: &str, kind: &str, example: &str) -> Result<Vec<TokenWithSpan>> {
    let tokens = Tokenizer::new(&GenericDialect {}, text).tokenize_with_location();
    tokens.map_err(|error| syntax(kind, example, error.into()))
}

fn example() -> String {
    format!("write a condition such as {}", WHERE.to("price > 100"))
}

/// Parses all of a text of this kind. The advice of errors is an example of such a text.
fn parse_whole<T>(
    text: &str,
    kind: &str,
    example: &str,
    read: impl FnOnce(&mut Parser<'_>) -> Result<T, ParserError>,
) -> Result<T> {
    let tokens = tokens_of(text, kind, example)?;
    check_depth(&tokens)?;
    // The parser counts several levels for one of ours.
    let parser = Parser::new(&GenericDialect {}).with_recursion_limit(MAX_DEPTH * 4);
    let mut parser = parser.with_tokens_with_locations(tokens);
    if parser.peek_token_ref().token == Token::EOF {
        return Err(Error::usage("it is empty").advice(example));
    }
    let parsed = read(&mut parser).map_err(|error| syntax(kind, example, error))?;
    let rest = parser.peek_token();
    if rest.token != Token::EOF {
        let message = format!("unexpected {} after the end of the {kind}", rest.token);
        return Err(Error::usage(message).at(position(rest.span.start)).advice(example));
    }
    Ok(parsed)
}

/// Rejects a filter that is nested too deeply. The parser has such a limit itself, but tries other readings when it
/// reaches it, and then reports a different error.
fn check_depth(tokens: &[TokenWithSpan]) -> Result<()> {
    // A column may be named `end`, which closes no parenthesis.
    let (mut open, mut cases, mut prefixes) = (0usize, 0usize, 0usize);
    for token in tokens {
        let keyword = match &token.token {
            Token::Whitespace(_) => continue,
            Token::Word(word) => word.keyword,
            _ => Keyword::NoKeyword,
        };
        match (&token.token, keyword) {
            (Token::LParen | Token::LBracket | Token::LBrace, _) => open += 1,
            (Token::RParen | Token::RBracket | Token::RBrace, _) => open = open.saturating_sub(1),
            (_, Keyword::CASE) => cases += 1,
            (_, Keyword::END) => cases = cases.saturating_sub(1),
            _ => {}
        }
        let is_prefix = matches!(token.token, Token::Minus | Token::Plus | Token::Tilde | Token::ExclamationMark)
            || matches!(keyword, Keyword::NOT | Keyword::INTERVAL);
        prefixes = if is_prefix { prefixes + 1 } else { 0 };
        if open + cases + prefixes > MAX_DEPTH {
            let message = format!("it is nested deeper than {MAX_DEPTH} levels");
            return Err(Error::unsupported(message).at(position(token.span.start)));
        }
    }
    Ok(())
}

/// The error of the parser in a text of this kind. The advice for one that is not complete is an example.
fn syntax(kind: &str, example: &str, error: ParserError) -> Error {
    let text = match error {
        ParserError::RecursionLimitExceeded => {
            return Error::unsupported(format!("it is nested deeper than {MAX_DEPTH} levels"));
        }
        ParserError::TokenizerError(text) | ParserError::ParserError(text) => text,
    };
    let is_incomplete = text.contains("found: EOF");
    let text = text.replace("found: EOF", &format!("found: the end of the {kind}"));
    // The parser appends the place to the text.
    let error = match text.rsplit_once(" at Line: ") {
        Some((message, place)) => {
            let place = place.replace(", Column: ", " column ");
            Error::usage(lower_first(message)).at(format!("line {place}"))
        }
        None => Error::usage(lower_first(&text)),
    };
    if is_incomplete {
        return error.advice(example);
    }
    error.advice("put a column name that is an SQL keyword in double quotes")
}

fn lower_first(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or(String::new(), |c| c.to_lowercase().chain(chars).collect())
}

fn position(at: Location) -> String {
    if at.line == 0 { "somewhere".to_owned() } else { format!("line {} column {}", at.line, at.column) }
}

fn unsupported(what: &str, at: Location) -> Error {
    Error::unsupported(format!("{what} can't be used here")).at(position(at))
}

/// The depth of an expression, and the state of the whole text.
#[derive(Clone, Copy)]
struct ExprDepth<'a> {
    level: usize,
    shared: &'a ExprShared,
}

/// The state of one text while it is converted.
struct ExprShared {
    /// Parts that were copied so far.
    copies: Cell<usize>,
    /// The time of all `now()`.
    time: RunTime,
}

impl ExprDepth<'_> {
    fn below(self) -> Self {
        Self { level: self.level + 1, ..self }
    }

    /// A copy of an operand that SQL writes once and that an expression has twice, as in `BETWEEN`. Copies of
    /// copies double with each level.
    fn copied(self, expr: &Expr) -> Result<Expr> {
        let copies = self.shared.copies.get() + expr.part_count();
        if copies > MAX_COPIES {
            let message = format!("its operands appear in more than {MAX_COPIES} places when it is expanded");
            return Err(Error::unsupported(message)
                .advice("nest nullif, CASE, BETWEEN, IN and IS TRUE less deeply in one another"));
        }
        self.shared.copies.set(copies);
        Ok(expr.clone())
    }
}

fn convert(sql: Sql, depth: ExprDepth<'_>) -> Result<Expr> {
    if depth.level > MAX_DEPTH {
        return Err(unsupported(&format!("a chain of more than {MAX_DEPTH} operators"), sql.span().start));
    }
    // A long chain's span is worked out from all of its parts: not at each of its levels.
    let at = if matches!(sql, Sql::BinaryOp { .. }) { Location::empty() } else { sql.span().start };
    let inner = |sql: Box<Sql>| convert(*sql, depth.below()).map(Box::new);
    let is = |sql: Box<Sql>, wanted: bool| -> Result<Expr> {
        let value = convert(*sql, depth.below())?;
        let is_known = not(Expr::IsNull(Box::new(depth.copied(&value)?)));
        Ok(Expr::And(vec![is_known, if wanted { value } else { not(value) }]))
    };
    match sql {
        Sql::Nested(sql) => convert(*sql, depth.below()),
        Sql::Identifier(name) => Ok(Expr::Column(name.value)),
        Sql::CompoundIdentifier(names) => {
            Ok(Expr::Column(names.into_iter().map(|n| n.value).collect::<Vec<_>>().join(".")))
        }
        // `user.name`, whose first part is a function of SQL.
        Sql::CompoundFieldAccess { root, access_chain } => match path(&root, &access_chain) {
            Some(name) => Ok(Expr::Column(name)),
            None => Err(unsupported("[…]", at)),
        },
        // `user`, `current_date` and the like: functions of SQL that are called without parentheses, and of no filter.
        Sql::Function(Function { name: ObjectName(mut parts), args: FunctionArguments::None, .. })
            if parts.len() == 1 && parts[0].as_ident().is_some() =>
        {
            match parts.pop() {
                Some(ObjectNamePart::Identifier(name)) => Ok(Expr::Column(name.value)),
                _ => Err(Error::internal("a function without a name")),
            }
        }
        Sql::Value(value) if parameters::is_place(&value.value) => {
            let error = Error::usage("a placeholder has no value").at(position(at));
            Err(error
                .advice(format!(
                "give the value of each ? of {WHERE} in order with {PARAM}; other options take no ?, except for the values of an \
                 update"
            )))
        }
        Sql::Value(value) => literal(value.value, at).map(Expr::Literal),
        Sql::TypedString(typed) => typed_literal(&typed.data_type, typed.value.value, at).map(Expr::Literal),
        Sql::UnaryOp { op, expr } => unary(op, *expr, depth, at),
        Sql::BinaryOp { left, op, right } => binary(left, op, right, depth),
        Sql::IsNull(sql) | Sql::IsUnknown(sql) => Ok(Expr::IsNull(inner(sql)?)),
        Sql::IsNotNull(sql) | Sql::IsNotUnknown(sql) => Ok(not(Expr::IsNull(inner(sql)?))),
        Sql::IsTrue(sql) => is(sql, true),
        Sql::IsFalse(sql) => is(sql, false),
        Sql::IsNotTrue(sql) => is(sql, true).map(not),
        Sql::IsNotFalse(sql) => is(sql, false).map(not),
        Sql::InList { expr, list, negated } => {
            let found = in_list(*convert(*expr, depth.below()).map(Box::new)?, list, depth)?;
            Ok(if negated { not(found) } else { found })
        }
        Sql::Between { expr, negated, low, high } => {
            let value = inner(expr)?;
            let copy = Box::new(depth.copied(&value)?);
            let within = Expr::And(vec![
                Expr::Compare { op: CompareOp::GreaterOrEq, left: copy, right: inner(low)? },
                Expr::Compare { op: CompareOp::LessOrEq, left: value, right: inner(high)? },
            ]);
            Ok(if negated { not(within) } else { within })
        }
        Sql::Like { negated, any: false, expr, pattern, escape_char } => {
            let like = like(inner(expr)?, *pattern, escape_char, false, depth)?;
            Ok(if negated { not(like) } else { like })
        }
        Sql::ILike { negated, any: false, expr, pattern, escape_char } => {
            let like = like(inner(expr)?, *pattern, escape_char, true, depth)?;
            Ok(if negated { not(like) } else { like })
        }
        other => functions::computed(other, depth, at),
    }
}

/// The name of a column and of the fields that lead from it; `None` of other accesses.
fn path(root: &Sql, access_chain: &[AccessExpr]) -> Option<String> {
    let mut name = match root {
        Sql::Identifier(name) => name.value.clone(),
        Sql::Function(Function { name: ObjectName(parts), args: FunctionArguments::None, .. }) => {
            let [ObjectNamePart::Identifier(name)] = parts.as_slice() else { return None };
            name.value.clone()
        }
        _ => return None,
    };
    for access in access_chain {
        let AccessExpr::Dot(Sql::Identifier(field)) = access else { return None };
        name.push('.');
        name.push_str(&field.value);
    }
    Some(name)
}

fn not(expr: Expr) -> Expr {
    Expr::Not(Box::new(expr))
}

/// The name of an expression that is not allowed here.
fn construct(sql: &Sql) -> String {
    match sql {
        Sql::Function(function) => format!("the function {}", function.name),
        Sql::Cast { .. } | Sql::Convert { .. } => "CAST".to_owned(),
        Sql::Case { .. } => "CASE".to_owned(),
        Sql::InSubquery { .. } | Sql::Subquery(_) | Sql::Exists { .. } => "a subquery".to_owned(),
        Sql::InUnnest { .. } => "UNNEST".to_owned(),
        Sql::Interval(_) => "INTERVAL".to_owned(),
        Sql::Extract { .. } => "EXTRACT".to_owned(),
        Sql::SimilarTo { .. } => "SIMILAR TO".to_owned(),
        Sql::RLike { .. } => "a regular expression".to_owned(),
        Sql::IsDistinctFrom(..) | Sql::IsNotDistinctFrom(..) => "IS DISTINCT FROM".to_owned(),
        Sql::Like { .. } | Sql::ILike { .. } => "LIKE ANY".to_owned(),
        Sql::AtTimeZone { .. } => "AT TIME ZONE".to_owned(),
        Sql::Substring { .. } | Sql::Trim { .. } | Sql::Position { .. } => "a text function".to_owned(),
        Sql::Ceil { .. } | Sql::Floor { .. } => "rounding".to_owned(),
        Sql::Tuple(_) => "a tuple".to_owned(),
        Sql::CompoundFieldAccess { .. } | Sql::JsonAccess { .. } | Sql::Array(_) => "[…]".to_owned(),
        other => {
            let text = other.to_string();
            let cut: String = text.chars().take(40).collect();
            if cut.len() < text.len() { format!("`{cut}…`") } else { format!("`{cut}`") }
        }
    }
}

fn unary(op: UnaryOperator, expr: Sql, depth: ExprDepth<'_>, at: Location) -> Result<Expr> {
    let value = convert(expr, depth.below())?;
    match (op, value) {
        (UnaryOperator::Not, value) => Ok(not(value)),
        (UnaryOperator::Plus, value) => Ok(value),
        (UnaryOperator::Minus, Expr::Literal(Literal::Number { digits, scale })) => {
            Ok(Expr::Literal(Literal::Number { digits: -digits, scale }))
        }
        (UnaryOperator::Minus, Expr::Literal(Literal::Float(f))) => Ok(Expr::Literal(Literal::Float(-f))),
        (UnaryOperator::Minus, Expr::Literal(Literal::LongNumber(text))) => {
            let negated = text.strip_prefix('-').map_or_else(|| format!("-{text}"), str::to_owned);
            Ok(Expr::Literal(Literal::LongNumber(negated)))
        }
        // Not `0 - a`, which is 0.0 where a is 0.0.
        (UnaryOperator::Minus, value) => Ok(derived_functions::call(ScalarFunction::Negate, vec![value])),
        (op, _) => Err(unsupported(&format!("the operator {op}"), at)),
    }
}

fn binary(left: Box<Sql>, op: BinaryOperator, right: Box<Sql>, depth: ExprDepth<'_>) -> Result<Expr> {
    use {ArithmeticOp as A, CompareOp as C};
    if matches!(op, BinaryOperator::And | BinaryOperator::Or) {
        let sides = chain(*left, &op, *right);
        let parts: Vec<Expr> = sides.into_iter().map(|sql| convert(sql, depth.below())).collect::<Result<_>>()?;
        return Ok(if op == BinaryOperator::And { Expr::And(parts) } else { Expr::Or(parts) });
    }
    let compare = match op {
        BinaryOperator::Eq => Some(C::Eq),
        BinaryOperator::NotEq => Some(C::NotEq),
        BinaryOperator::Lt => Some(C::Less),
        BinaryOperator::LtEq => Some(C::LessOrEq),
        BinaryOperator::Gt => Some(C::Greater),
        BinaryOperator::GtEq => Some(C::GreaterOrEq),
        _ => None,
    };
    let arithmetic = match op {
        BinaryOperator::Plus => Some(A::Add),
        BinaryOperator::Minus => Some(A::Subtract),
        BinaryOperator::Multiply => Some(A::Multiply),
        BinaryOperator::Divide => Some(A::Divide),
        BinaryOperator::Modulo => Some(A::Modulo),
        _ => None,
    };
    if op == BinaryOperator::StringConcat {
        let sides = [convert(*left, depth.below())?, convert(*right, depth.below())?];
        return Ok(derived_functions::call(ScalarFunction::Concat, sides.into()));
    }
    if compare.is_none() && arithmetic.is_none() {
        return Err(unsupported(&format!("the operator {op}"), left.span().start));
    }
    let (left, right) = (Box::new(convert(*left, depth.below())?), Box::new(convert(*right, depth.below())?));
    match (compare, arithmetic) {
        (Some(op), _) => Ok(Expr::Compare { op, left, right }),
        (None, Some(op)) => Ok(Expr::Arithmetic { op, left, right }),
        (None, None) => Err(Error::internal("an operator without a meaning")),
    }
}

/// The sides of `a AND b AND c …`, which the parser nests to the left.
fn chain(left: Sql, op: &BinaryOperator, right: Sql) -> Vec<Sql> {
    let (mut sides, mut rest) = (vec![right], left);
    loop {
        match rest {
            Sql::BinaryOp { left, op: inner, right } if inner == *op => {
                sides.push(*right);
                rest = *left;
            }
            other => {
                sides.push(other);
                sides.reverse();
                return sides;
            }
        }
    }
}

fn in_list(value: Expr, list: Vec<Sql>, depth: ExprDepth<'_>) -> Result<Expr> {
    let items: Vec<Expr> = list.into_iter().map(|sql| convert(sql, depth.below())).collect::<Result<_>>()?;
    let as_literal = |e: &Expr| if let Expr::Literal(l) = e { Some(l.clone()) } else { None };
    match items.iter().map(as_literal).collect::<Option<Vec<Literal>>>() {
        Some(list) => Ok(Expr::In { expr: Box::new(value), list }),
        None => {
            let equal = |item| {
                let left = Box::new(depth.copied(&value)?);
                Ok(Expr::Compare { op: CompareOp::Eq, left, right: Box::new(item) })
            };
            Ok(Expr::Or(items.into_iter().map(equal).collect::<Result<_>>()?))
        }
    }
}

fn like(
    expr: Box<Expr>,
    pattern: Sql,
    escape: Option<Box<Sql>>,
    case_insensitive: bool,
    depth: ExprDepth<'_>,
) -> Result<Expr> {
    let at = pattern.span().start;
    let text = |sql: Sql| match convert(sql, depth.below()) {
        Ok(Expr::Literal(Literal::Text(text))) => Ok(text),
        _ => Err(unsupported("LIKE with a pattern or escape that is not a string constant", at)),
    };
    let pattern = text(pattern)?;
    let escape =
        match escape.map(|sql| text(*sql)).transpose()?.as_deref().map(|t| (t.chars().next(), t.chars().count())) {
            None | Some((None, _)) => None,
            Some((Some(c), 1)) => Some(c),
            Some(_) => return Err(Error::usage("ESCAPE takes one character").at(position(at))),
        };
    Ok(Expr::Like { expr, pattern, escape, case_insensitive })
}

fn literal(value: Value, at: Location) -> Result<Literal> {
    match value {
        Value::Null => Ok(Literal::Null),
        Value::Boolean(b) => Ok(Literal::Boolean(b)),
        Value::Number(text, _) => {
            Literal::number(&text).ok_or_else(|| Error::usage(format!("{text} is not a number")).at(position(at)))
        }
        Value::SingleQuotedString(text) | Value::EscapedStringLiteral(text) | Value::NationalStringLiteral(text) => {
            Ok(Literal::Text(text))
        }
        Value::HexStringLiteral(text) => {
            let wrong = || Error::usage(format!("X'{text}' is not pairs of hexadecimal digits")).at(position(at));
            hex(&text).map(Literal::Binary).ok_or_else(wrong)
        }
        other => Err(unsupported(&format!("the constant {other}"), at)),
    }
}

fn typed_literal(data_type: &DataType, value: Value, at: Location) -> Result<Literal> {
    let Literal::Text(text) = literal(value, at)? else { return Err(unsupported("this constant", at)) };
    let wrong = |kind: &str, form: &str| {
        Error::usage(format!("'{text}' is not a valid {kind}")).at(position(at)).advice(format!("write it as {form}"))
    };
    match data_type {
        DataType::Date => parse_date(&text).map(Literal::Date).ok_or_else(|| wrong("date", "2024-02-29")),
        DataType::Timestamp(..) | DataType::TimestampNtz(_) | DataType::Datetime(_) => parse_timestamp(&text)
            .map(|(nanoseconds, is_utc)| Literal::Timestamp { nanoseconds, is_utc })
            .ok_or_else(|| wrong("timestamp", "2024-02-29 23:59:59.5 or 2024-02-29T23:59:59+02:00")),
        DataType::Time(..) => match parse_time(&text) {
            Some(_) => Ok(Literal::Text(text)),
            None => Err(wrong("time", "23:59:59.5")),
        },
        other => Err(unsupported(&format!("a constant of type {other}"), at)),
    }
}

fn hex(text: &str) -> Option<Vec<u8>> {
    if !text.len().is_multiple_of(2) || !text.is_ascii() {
        return None;
    }
    (0..text.len()).step_by(2).map(|i| u8::from_str_radix(&text[i..i + 2], 16).ok()).collect()
}

#[cfg(test)]
mod tests;
