//! The part of a filter that SQLite judges as we do.
//!
//! Every row that comes back is judged again, so a condition may keep too many rows, and never too few.

use lakerace_format::{CompareOp, Expr, Literal};
use rusqlite::types::Value;

use super::infer::{ComparisonOrder, TypedColumn};
use super::kind::StorageClass;
use super::location::quoted;
use super::lower_bound::at_least;

/// A condition and its parameters; `None`: nothing of the filter can be judged by SQLite.
pub(super) fn condition(filter: &Expr, columns: &[TypedColumn]) -> Option<(String, Vec<Value>)> {
    let mut parameters = Vec::new();
    let sql = render(filter, columns, &mut parameters)?;
    Some((sql, parameters))
}

fn render(filter: &Expr, columns: &[TypedColumn], parameters: &mut Vec<Value>) -> Option<String> {
    match filter {
        // A part that SQLite can't judge keeps more rows.
        Expr::And(parts) => {
            let parts: Vec<String> = parts.iter().filter_map(|part| whole(part, columns, parameters)).collect();
            (!parts.is_empty()).then(|| format!("({})", parts.join(" AND ")))
        }
        other => whole(other, columns, parameters),
    }
}

/// The condition of all of a filter. Parameters of parts that end in `None` are taken back.
fn whole(filter: &Expr, columns: &[TypedColumn], parameters: &mut Vec<Value>) -> Option<String> {
    let before = parameters.len();
    let sql = exact(filter, columns, parameters);
    if sql.is_none() {
        parameters.truncate(before);
    }
    sql
}

fn exact(filter: &Expr, columns: &[TypedColumn], parameters: &mut Vec<Value>) -> Option<String> {
    match filter {
        Expr::And(_) => render(filter, columns, parameters),
        Expr::Or(parts) => {
            let parts: Option<Vec<String>> = parts.iter().map(|part| exact(part, columns, parameters)).collect();
            Some(format!("({})", parts?.join(" OR ")))
        }
        Expr::IsNull(value) => match value.as_ref() {
            Expr::Column(name) => {
                let column = find(name, columns)?;
                Some(format!("{} IS NULL", quoted(column.field.name())))
            }
            _ => None,
        },
        Expr::Compare { op, left, right } => match (left.as_ref(), right.as_ref()) {
            (Expr::Column(name), Expr::Literal(literal)) => compare(find(name, columns)?, *op, literal, parameters),
            (Expr::Literal(literal), Expr::Column(name)) => {
                compare(find(name, columns)?, op.flipped(), literal, parameters)
            }
            _ => None,
        },
        Expr::In { expr, list } => {
            let Expr::Column(name) = expr.as_ref() else { return None };
            let column = find(name, columns)?;
            let parts: Option<Vec<String>> =
                list.iter().map(|literal| compare(column, CompareOp::Eq, literal, parameters)).collect();
            let parts = parts.filter(|parts| !parts.is_empty())?;
            Some(format!("({})", parts.join(" OR ")))
        }
        _ => None,
    }
}

fn find<'a>(name: &str, columns: &'a [TypedColumn]) -> Option<&'a TypedColumn> {
    columns.iter().find(|column| column.field.name() == name)
}

/// Pushes a comparison down where the column's values are of one storage class: SQLite compares numbers by value and
/// texts by their bytes, as lakerace does. For other columns, it evaluates only lower bounds.
fn compare(column: &TypedColumn, op: CompareOp, literal: &Literal, parameters: &mut Vec<Value>) -> Option<String> {
    let same = match column.order {
        ComparisonOrder::None => return None,
        ComparisonOrder::LowerBounds => None,
        ComparisonOrder::All => compare_same(column, op, literal, parameters),
    };
    match op {
        CompareOp::Greater | CompareOp::GreaterOrEq => same.or_else(|| at_least(column, literal, parameters)),
        _ => same,
    }
}

/// A comparison with the outcome that ours has.
fn compare_same(column: &TypedColumn, op: CompareOp, literal: &Literal, parameters: &mut Vec<Value>) -> Option<String> {
    let kind = StorageClass::for_type(column.field.data_type()).ok()?;
    let value = match (kind, literal) {
        (StorageClass::Integer | StorageClass::Real, Literal::Number { digits, scale: 0 }) => {
            Value::Integer(i64::try_from(*digits).ok()?)
        }
        (StorageClass::Text, Literal::Text(text)) => Value::Text(text.clone()),
        (StorageClass::Boolean, Literal::Boolean(value)) => Value::Integer(i64::from(*value)),
        _ => return None,
    };
    // A float of a narrower type, or an integer that no float holds, may be equal by other rules.
    if kind == StorageClass::Real && !matches!(value, Value::Integer(value) if value.unsigned_abs() <= 1 << 24) {
        return None;
    }
    let operator = match op {
        CompareOp::Eq => "=",
        CompareOp::NotEq => "<>",
        CompareOp::Less => "<",
        CompareOp::LessOrEq => "<=",
        CompareOp::Greater => ">",
        CompareOp::GreaterOrEq => ">=",
    };
    parameters.push(value);
    Some(format!("{} {operator} ?", column.compared))
}
