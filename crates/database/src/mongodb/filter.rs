//! Filters as queries of MongoDB.
//!
//! A query finds all documents of which the filter may be true, and possibly more: what it finds is filtered again. So a
//! comparison is pushed down where the server's meaning is at least as wide as ours, and left out of the query where it is not:
//! null and missing fields never match a comparison on either side, and NaN is no number on either side.

use arrow::datatypes::{DataType, Field, Schema};
use bson::{Bson, DateTime, Document, doc};
use lakerace_format::{CompareOp, Expr, Literal};

use super::tag::TextTag;

/// A query that finds all documents for which `expr` may be true; `None`: all documents.
pub(super) fn query(expr: &Expr, schema: &Schema) -> Option<Document> {
    match expr {
        Expr::And(parts) => {
            let parts: Vec<Document> = parts.iter().filter_map(|part| query(part, schema)).collect();
            if parts.is_empty() { None } else { Some(doc! { "$and": parts }) }
        }
        Expr::Or(parts) => {
            let parts: Vec<Document> = parts.iter().map(|part| query(part, schema)).collect::<Option<_>>()?;
            if parts.is_empty() { None } else { Some(doc! { "$or": parts }) }
        }
        Expr::Compare { op, left, right } => match (left.as_ref(), right.as_ref()) {
            (Expr::Column(name), Expr::Literal(literal)) => compare(name, *op, literal, schema),
            (Expr::Literal(literal), Expr::Column(name)) => compare(name, op.flipped(), literal, schema),
            _ => None,
        },
        Expr::In { expr, list } => match expr.as_ref() {
            Expr::Column(name) => {
                let parts: Vec<Document> =
                    list.iter().map(|literal| compare(name, CompareOp::Eq, literal, schema)).collect::<Option<_>>()?;
                if parts.is_empty() { None } else { Some(doc! { "$or": parts }) }
            }
            _ => None,
        },
        // A field that is null, missing or undefined.
        Expr::IsNull(inner) => match inner.as_ref() {
            Expr::Column(name) if is_flat(name, schema) => {
                Some(doc! { "$or": [ { name: Bson::Null }, { name: { "$type": 6 } } ] })
            }
            _ => None,
        },
        Expr::Not(inner) => match inner.as_ref() {
            Expr::IsNull(inner) => match inner.as_ref() {
                Expr::Column(name) if is_flat(name, schema) => Some(doc! { name: { "$ne": Bson::Null } }),
                _ => None,
            },
            // NaN is not less, nor is any value that the server does not compare with numbers.
            Expr::Compare { op: CompareOp::Less, left, right } => match (left.as_ref(), right.as_ref()) {
                (Expr::Column(name), Expr::Literal(literal)) if is_float(name, schema) => {
                    let (low, _) = integer_bounds(literal).and_then(exact_doubles)?;
                    Some(doc! { name: { "$not": { "$lt": low } } })
                }
                _ => None,
            },
            _ => None,
        },
        _ => None,
    }
}

/// Returns true if a name of the query language means this field alone: dots lead into documents there, and dollars are operators.
pub(super) fn is_plain_name(name: &str) -> bool {
    !name.is_empty() && !name.contains('.') && !name.starts_with('$')
}

/// A column whose values are no arrays and no documents.
fn is_flat(name: &str, schema: &Schema) -> bool {
    is_plain_name(name)
        && schema.field_with_name(name).is_ok_and(|field| {
            !field.data_type().is_nested()
                && !field.data_type().is_null()
                && TextTag::from_field(field) != Some(TextTag::Json)
        })
}

/// A column of doubles alone.
fn is_float(name: &str, schema: &Schema) -> bool {
    let is_double = |field: &Field| field.data_type() == &DataType::Float64 && TextTag::from_field(field).is_none();
    is_flat(name, schema) && schema.field_with_name(name).is_ok_and(is_double)
}

fn compare(name: &str, op: CompareOp, literal: &Literal, schema: &Schema) -> Option<Document> {
    if !is_flat(name, schema) {
        return None;
    }
    let field = schema.field_with_name(name).ok()?;
    match (field.data_type(), TextTag::from_field(field)) {
        (DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View, None) => match literal {
            Literal::Text(text) => of_bounds(name, op, &Bson::from(text.as_str()), &Bson::from(text.as_str())),
            _ => None,
        },
        (DataType::Utf8, Some(TextTag::ObjectId)) => match literal {
            // Texts order as their ObjectIds do, but only texts in lower case are equal to one.
            Literal::Text(text) if text.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte)) => {
                let id = Bson::from(bson::oid::ObjectId::parse_str(text).ok()?);
                of_bounds(name, op, &id, &id)
            }
            _ => None,
        },
        (DataType::Boolean, _) => match literal {
            Literal::Boolean(value) if op == CompareOp::Eq => Some(doc! { name: *value }),
            _ => None,
        },
        (data_type, None) if data_type.is_integer() || matches!(data_type, DataType::Decimal128(..)) => {
            let (low, high) = integer_bounds(literal)?;
            of_bounds(name, op, &low.into(), &high.into())
        }
        (DataType::Float64, None) => {
            let (low, high) = integer_bounds(literal).and_then(exact_doubles)?;
            of_bounds(name, op, &low.into(), &high.into())
        }
        (DataType::Timestamp(_, Some(_)) | DataType::Date32, None) => {
            let (low, high) = date_bounds(literal)?;
            of_bounds(name, op, &low.into(), &high.into())
        }
        _ => None,
    }
}

/// The condition for a literal that lies between `low` and `high`. Equal bounds are the literal itself, to the
/// precision of the server.
fn of_bounds(name: &str, op: CompareOp, low: &Bson, high: &Bson) -> Option<Document> {
    Some(match op {
        CompareOp::Eq => doc! { name: { "$gte": low, "$lte": high } },
        CompareOp::Less | CompareOp::LessOrEq => doc! { name: { "$lte": high } },
        CompareOp::Greater | CompareOp::GreaterOrEq => doc! { name: { "$gte": low } },
        CompareOp::NotEq => return None,
    })
}

/// The integers on both sides of a number.
fn integer_bounds(literal: &Literal) -> Option<(i64, i64)> {
    match literal {
        Literal::Number { digits, scale } => {
            let unit = 10_i128.checked_pow(u32::from(*scale))?;
            let low = digits.div_euclid(unit);
            let high = if digits.rem_euclid(unit) == 0 { low } else { low + 1 };
            Some((i64::try_from(low).ok()?, i64::try_from(high).ok()?))
        }
        Literal::Float(float) if float.abs() < 9e15 => Some((float.floor() as i64, float.ceil() as i64)),
        _ => None,
    }
}

fn exact_doubles((low, high): (i64, i64)) -> Option<(f64, f64)> {
    const END: i64 = 1 << 53;
    (low.abs() < END && high.abs() < END).then_some((low as f64, high as f64))
}

/// The milliseconds on both sides of an instant.
fn date_bounds(literal: &Literal) -> Option<(DateTime, DateTime)> {
    const MS: i128 = 1_000_000;
    let (low, high) = match literal {
        Literal::Date(days) => {
            let ms = i128::from(*days) * 86_400_000;
            (ms, ms)
        }
        Literal::Timestamp { nanoseconds, .. } => (nanoseconds.div_euclid(MS), -(-nanoseconds).div_euclid(MS)),
        _ => return None,
    };
    Some((DateTime::from_millis(i64::try_from(low).ok()?), DateTime::from_millis(i64::try_from(high).ok()?)))
}

#[cfg(test)]
mod tests;
