//! Functions, casts, branches and intervals of SQL, as expressions.

use lakerace_format::schema_text::parse_type;
use lakerace_format::{CompareOp, Expr, Literal, ScalarFunction};
use lakerace_io::option::SQL;
use lakerace_io::{Error, Result};
use sqlparser::ast::{
    CaseWhen, CastKind, CeilFloorKind, DataType, DateTimeField, Expr as Sql, Function, FunctionArg, FunctionArgExpr,
    FunctionArguments, Interval, TrimWhereField, Value,
};
use sqlparser::tokenizer::Location;

use super::derived_functions::{call, derived, is_derived, now};
use super::{ExprDepth, construct, convert, position, unsupported};

/// Functions that are called by a name and arguments in parentheses.
const FUNCTIONS: &[(&str, ScalarFunction)] = &[
    ("coalesce", ScalarFunction::Coalesce),
    ("ifnull", ScalarFunction::Coalesce),
    ("lower", ScalarFunction::Lower),
    ("upper", ScalarFunction::Upper),
    ("length", ScalarFunction::Length),
    ("char_length", ScalarFunction::Length),
    ("concat", ScalarFunction::Concat),
    ("substr", ScalarFunction::Substr),
    ("trim", ScalarFunction::Trim),
    ("btrim", ScalarFunction::Trim),
    ("ltrim", ScalarFunction::TrimStart),
    ("rtrim", ScalarFunction::TrimEnd),
    ("date_trunc", ScalarFunction::DateTrunc),
    ("date_part", ScalarFunction::DatePart),
    ("regexp_like", ScalarFunction::RegexpLike),
    ("regexp_matches", ScalarFunction::RegexpLike),
    ("replace", ScalarFunction::Replace),
    ("starts_with", ScalarFunction::StartsWith),
    ("abs", ScalarFunction::Abs),
    ("round", ScalarFunction::Round),
];

/// Functions of SQL whose values are those of several rows.
const AGGREGATES: [&str; 12] = [
    "any_value",
    "array_agg",
    "avg",
    "count",
    "first",
    "last",
    "max",
    "median",
    "min",
    "row_number",
    "string_agg",
    "sum",
];

/// The functions by name, for messages.
const KNOWN: &str = "coalesce, nullif, lower, upper, length, concat, substr, trim, ltrim, rtrim, date_trunc, date_part, extract, \
                     year (and other parts), regexp_like, replace, starts_with, left, right, abs, round, ceil, floor, greatest, least, \
                     now, current_date()";

/// Converts a call of a function, or an expression for which SQL has special syntax.
pub(super) fn computed(sql: Sql, depth: ExprDepth<'_>, at: Location) -> Result<Expr> {
    match sql {
        Sql::Function(called) => function(called, depth, at),
        Sql::Cast { kind, expr, data_type, format: None, .. } => cast(&kind, *expr, &data_type, depth, at),
        Sql::Case { operand, conditions, else_result, .. } => case(operand, conditions, else_result, depth),
        Sql::Trim { trim_where, trim_what, expr, trim_characters } => {
            trim(trim_where, trim_what, *expr, trim_characters, depth)
        }
        Sql::Substring { expr, substring_from, substring_for, .. } => {
            let start = substring_from.unwrap_or_else(|| Box::new(Sql::value(Value::Number("1".to_owned(), false))));
            let parts = [Some(expr), Some(start), substring_for].into_iter().flatten();
            let arguments = parts.map(|sql| convert(*sql, depth.below())).collect::<Result<_>>()?;
            Ok(call(ScalarFunction::Substr, arguments))
        }
        Sql::Extract { field, expr, .. } => {
            let part = Expr::Literal(Literal::Text(field.to_string()));
            Ok(call(ScalarFunction::DatePart, vec![part, convert(*expr, depth.below())?]))
        }
        Sql::RLike { negated, expr, pattern, .. } => {
            let arguments = vec![convert(*expr, depth.below())?, convert(*pattern, depth.below())?];
            let found = call(ScalarFunction::RegexpLike, arguments);
            Ok(if negated { Expr::Not(Box::new(found)) } else { found })
        }
        Sql::Ceil { expr, field: CeilFloorKind::DateTimeField(DateTimeField::NoDateTime) } => {
            derived_of("ceil", &convert(*expr, depth.below())?, depth, at)
        }
        Sql::Floor { expr, field: CeilFloorKind::DateTimeField(DateTimeField::NoDateTime) } => {
            derived_of("floor", &convert(*expr, depth.below())?, depth, at)
        }
        Sql::Interval(span) => interval(span, depth, at),
        other => Err(unsupported(&construct(&other), at)),
    }
}

/// A function that SQL has its own syntax for.
fn derived_of(name: &str, value: &Expr, depth: ExprDepth<'_>, at: Location) -> Result<Expr> {
    let found = derived(name, std::slice::from_ref(value), depth)?;
    found.ok_or_else(|| unsupported(&format!("the function {name}"), at))
}

/// A function that is called by its name.
fn function(function: Function, depth: ExprDepth<'_>, at: Location) -> Result<Expr> {
    let name = function.name.to_string().to_lowercase();
    if AGGREGATES.contains(&name.as_str()) {
        let advice = format!("it aggregates rows, which {} does", SQL.with([]));
        return Err(unsupported(&format!("the function {name}"), at).advice(advice));
    }
    let plain = function.over.is_none() && function.filter.is_none() && function.within_group.is_empty();
    let FunctionArguments::List(list) = function.args else {
        return Err(unsupported(&format!("the function {name}"), at));
    };
    if !plain || list.duplicate_treatment.is_some() || !list.clauses.is_empty() {
        return Err(unsupported(&format!("the function {name}, which aggregates rows"), at));
    }
    let is_known = FUNCTIONS.iter().any(|(known, _)| *known == name)
        || matches!(name.as_str(), "now" | "nullif")
        || is_derived(&name);
    if !is_known {
        return Err(unsupported(&format!("the function {name}"), at).advice(format!("supported functions are {KNOWN}")));
    }
    let mut arguments = Vec::with_capacity(list.args.len());
    for argument in list.args {
        match argument {
            FunctionArg::Unnamed(FunctionArgExpr::Expr(sql)) => arguments.push(convert(sql, depth.below())?),
            _ => return Err(unsupported(&format!("an argument of {name} that is not a value"), at)),
        }
    }
    match (name.as_str(), arguments.as_slice()) {
        ("now", []) => Ok(now(depth)),
        // It ignores nulls, where `||` returns null.
        ("concat", [_, ..]) => {
            let empty = || Expr::Literal(Literal::Text(String::new()));
            let text = |part| Expr::Cast { expr: Box::new(part), data_type: "text".to_owned(), is_lenient: false };
            let parts = arguments.into_iter().map(|part| call(ScalarFunction::Coalesce, vec![text(part), empty()]));
            Ok(call(ScalarFunction::Concat, parts.chain([empty()]).collect()))
        }
        // Statistics can decide LIKE.
        ("starts_with", [value, Expr::Literal(Literal::Text(prefix))]) => Ok(Expr::Like {
            expr: Box::new(value.clone()),
            pattern: prefix.replace('\\', "\\\\").replace('%', "\\%").replace('_', "\\_") + "%",
            escape: Some('\\'),
            case_insensitive: false,
        }),
        ("nullif", [value, other]) => {
            let left = Box::new(depth.copied(value)?);
            let equal = Expr::Compare { op: CompareOp::Eq, left, right: Box::new(other.clone()) };
            let branches = vec![(equal, Expr::Literal(Literal::Null))];
            Ok(Expr::Case { branches, otherwise: Some(Box::new(value.clone())) })
        }
        _ => match FUNCTIONS.iter().find(|(known, _)| *known == name) {
            Some((_, function)) => Ok(call(*function, arguments)),
            None => {
                let found = derived(&name, &arguments, depth)?;
                found.ok_or_else(|| unsupported(&format!("{name} with these {} arguments", arguments.len()), at))
            }
        },
    }
}

/// `CAST(a AS int)`, `TRY_CAST(a AS int)`, `a::int`.
fn cast(kind: &CastKind, sql: Sql, data_type: &DataType, depth: ExprDepth<'_>, at: Location) -> Result<Expr> {
    let name = type_name(data_type);
    parse_type(&name).map_err(|error| error.at(position(at)))?;
    let is_lenient = matches!(kind, CastKind::TryCast | CastKind::SafeCast);
    Ok(Expr::Cast { expr: Box::new(convert(sql, depth.below())?), data_type: name, is_lenient })
}

/// A type of SQL by the name that schemas have for it.
fn type_name(data_type: &DataType) -> String {
    use sqlparser::ast::TimezoneInfo as Zone;
    match data_type {
        DataType::Varchar(_)
        | DataType::CharVarying(_)
        | DataType::CharacterVarying(_)
        | DataType::Text
        | DataType::String(_) => "text".to_owned(),
        DataType::Timestamp(_, Zone::WithTimeZone | Zone::Tz) => "timestamptz".to_owned(),
        DataType::Timestamp(None, _) | DataType::TimestampNtz(None) => "timestamp".to_owned(),
        DataType::DoublePrecision => "double".to_owned(),
        other => other.to_string().to_lowercase(),
    }
}

/// `CASE WHEN a THEN b ELSE c END`, and `CASE a WHEN 1 THEN b END`.
fn case(
    operand: Option<Box<Sql>>,
    conditions: Vec<CaseWhen>,
    otherwise: Option<Box<Sql>>,
    depth: ExprDepth<'_>,
) -> Result<Expr> {
    let operand = operand.map(|sql| convert(*sql, depth.below())).transpose()?;
    let mut branches = Vec::with_capacity(conditions.len());
    for CaseWhen { condition, result } in conditions {
        let condition = convert(condition, depth.below())?;
        let condition = match &operand {
            None => condition,
            Some(operand) => {
                let left = Box::new(depth.copied(operand)?);
                Expr::Compare { op: CompareOp::Eq, left, right: Box::new(condition) }
            }
        };
        branches.push((condition, convert(result, depth.below())?));
    }
    let otherwise = otherwise.map(|sql| convert(*sql, depth.below()).map(Box::new)).transpose()?;
    Ok(Expr::Case { branches, otherwise })
}

/// `TRIM(a)`, `TRIM(BOTH 'x' FROM a)`, `TRIM(a, 'x')`.
fn trim(
    side: Option<TrimWhereField>,
    what: Option<Box<Sql>>,
    sql: Sql,
    characters: Option<Vec<Sql>>,
    depth: ExprDepth<'_>,
) -> Result<Expr> {
    let function = match side {
        None | Some(TrimWhereField::Both) => ScalarFunction::Trim,
        Some(TrimWhereField::Leading) => ScalarFunction::TrimStart,
        Some(TrimWhereField::Trailing) => ScalarFunction::TrimEnd,
    };
    let mut arguments = vec![convert(sql, depth.below())?];
    for sql in what.map(|sql| *sql).into_iter().chain(characters.into_iter().flatten()) {
        arguments.push(convert(sql, depth.below())?);
    }
    Ok(call(function, arguments))
}

/// `INTERVAL '1 day'`, `INTERVAL '1 day 2 hours'`, `INTERVAL 1 DAY`.
fn interval(interval: Interval, depth: ExprDepth<'_>, at: Location) -> Result<Expr> {
    let wrong = |text: &str| {
        Error::usage(format!("{text:?} is not an interval"))
            .at(position(at))
            .advice("write it as INTERVAL '7 days' or INTERVAL 1 MONTH")
    };
    if interval.last_field.is_some() {
        return Err(unsupported("an interval with two units", at));
    }
    let value = match convert(*interval.value, depth.below())? {
        Expr::Literal(Literal::Text(text)) => text,
        Expr::Literal(Literal::Number { digits, scale: 0 }) => digits.to_string(),
        _ => return Err(unsupported("an interval that is not a constant", at)),
    };
    let text = match interval.leading_field {
        Some(unit) => format!("{value} {unit}"),
        None => value,
    };
    parse_interval(&text).map(Expr::Literal).ok_or_else(|| wrong(&text))
}

/// Whole numbers with their units, one after the other.
fn parse_interval(text: &str) -> Option<Literal> {
    let (mut months, mut days, mut nanoseconds) = (0i32, 0i32, 0i64);
    let mut words = text.split_whitespace();
    while let Some(number) = words.next() {
        let number: i64 = number.parse().ok()?;
        let unit = words.next()?.to_lowercase();
        let small = i32::try_from(number).ok();
        match unit.strip_suffix('s').unwrap_or(&unit) {
            "year" => months = months.checked_add(small?.checked_mul(12)?)?,
            "quarter" => months = months.checked_add(small?.checked_mul(3)?)?,
            "month" => months = months.checked_add(small?)?,
            "week" => days = days.checked_add(small?.checked_mul(7)?)?,
            "day" => days = days.checked_add(small?)?,
            unit => {
                let length = match unit {
                    "hour" => 3_600_000_000_000,
                    "minute" => 60_000_000_000,
                    "second" => 1_000_000_000,
                    "millisecond" => 1_000_000,
                    "microsecond" => 1_000,
                    _ => return None,
                };
                nanoseconds = nanoseconds.checked_add(number.checked_mul(length)?)?;
            }
        }
    }
    (!text.trim().is_empty()).then_some(Literal::Interval { months, days, nanoseconds })
}
