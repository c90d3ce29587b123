//! Functions that are made of others: `year(t)` is `date_part('year', t)`.

use lakerace_format::{ArithmeticOp, CompareOp, Expr, Literal, ScalarFunction};
use lakerace_io::Result;

use super::ExprDepth;

/// Parts of a date or time that are functions, too.
const PARTS: [&str; 8] = ["year", "quarter", "month", "week", "day", "hour", "minute", "second"];
/// The other functions, with their arguments.
const OTHERS: [&str; 8] = ["ceil", "ceiling", "floor", "left", "right", "greatest", "least", "current_timestamp"];
/// The date of the run.
const DATES: [&str; 2] = ["current_date", "today"];

/// Returns true for the name of such a function.
pub(super) fn is_derived(name: &str) -> bool {
    PARTS.contains(&name) || OTHERS.contains(&name) || DATES.contains(&name)
}

/// The expression of a function of this name; `None` if it does not take these arguments.
///
/// # Errors
/// `Unsupported` where operands would be copied too often.
pub(super) fn derived(name: &str, arguments: &[Expr], depth: ExprDepth<'_>) -> Result<Option<Expr>> {
    Ok(match (name, arguments) {
        (part, [value]) if PARTS.contains(&part) => {
            Some(call(ScalarFunction::DatePart, vec![Expr::Literal(Literal::Text(part.to_owned())), value.clone()]))
        }
        ("ceil" | "ceiling", [value]) => Some(rounded_towards(value, CompareOp::Less, ArithmeticOp::Add, depth)?),
        ("floor", [value]) => Some(rounded_towards(value, CompareOp::Greater, ArithmeticOp::Subtract, depth)?),
        ("left", [text, Expr::Literal(Literal::Number { digits: count @ 0.., scale: 0 })]) => {
            Some(call(ScalarFunction::Substr, vec![text.clone(), whole(1), whole(*count)]))
        }
        ("right", [text, Expr::Literal(Literal::Number { digits: 0, scale: 0 })]) => {
            Some(call(ScalarFunction::Substr, vec![text.clone(), whole(1), whole(0)]))
        }
        ("right", [text, Expr::Literal(Literal::Number { digits: count @ 1.., scale: 0 })]) => {
            Some(call(ScalarFunction::Substr, vec![text.clone(), whole(-*count)]))
        }
        ("greatest", [first, others @ ..]) => Some(extreme(first, others, CompareOp::Greater, depth)?),
        ("least", [first, others @ ..]) => Some(extreme(first, others, CompareOp::Less, depth)?),
        ("current_timestamp", []) => Some(now(depth)),
        (date, []) if DATES.contains(&date) => {
            Some(Expr::Cast { expr: Box::new(now(depth)), data_type: "date".to_owned(), is_lenient: false })
        }
        _ => None,
    })
}

pub(super) fn call(function: ScalarFunction, arguments: Vec<Expr>) -> Expr {
    Expr::Call { function, arguments }
}

/// The time of the run.
pub(super) fn now(depth: ExprDepth<'_>) -> Expr {
    // Tables have microseconds: finer times would not fit the values that they are combined with.
    let nanoseconds = depth.shared.time.nanoseconds().div_euclid(1_000) * 1_000;
    Expr::Literal(Literal::Timestamp { nanoseconds, is_utc: true })
}

fn whole(digits: i128) -> Expr {
    Expr::Literal(Literal::Number { digits, scale: 0 })
}

/// The value rounded to a whole number, and moved by one if it was rounded the other way.
fn rounded_towards(value: &Expr, other_way: CompareOp, move_by: ArithmeticOp, depth: ExprDepth<'_>) -> Result<Expr> {
    let rounded = |value| call(ScalarFunction::Round, vec![value]);
    let first = rounded(depth.copied(value)?);
    let is_off = Expr::Compare { op: other_way, left: Box::new(first), right: Box::new(depth.copied(value)?) };
    let moved =
        Expr::Arithmetic { op: move_by, left: Box::new(rounded(depth.copied(value)?)), right: Box::new(whole(1)) };
    Ok(Expr::Case { branches: vec![(is_off, moved)], otherwise: Some(Box::new(rounded(value.clone()))) })
}

/// The greatest or the least value that is not null. NaN is greater than all numbers.
fn extreme(first: &Expr, others: &[Expr], op: CompareOp, depth: ExprDepth<'_>) -> Result<Expr> {
    let mut best = first.clone();
    for other in others {
        let copy = |value: &Expr| depth.copied(value).map(Box::new);
        // Only NaN differs from itself.
        let nan = if op == CompareOp::Greater { other } else { &best };
        let is_better = Expr::Or(vec![
            Expr::Compare { op, left: copy(other)?, right: copy(&best)? },
            Expr::Compare { op: CompareOp::NotEq, left: copy(nan)?, right: copy(nan)? },
        ]);
        let branches = vec![
            (Expr::IsNull(copy(other)?), depth.copied(&best)?),
            (Expr::IsNull(copy(&best)?), depth.copied(other)?),
            (is_better, other.clone()),
        ];
        best = Expr::Case { branches, otherwise: Some(Box::new(best)) };
    }
    Ok(best)
}
