//! Filters as queries. Rows are filtered again when they arrive, so a query may find more rows than the filter keeps,
//! and never fewer.

use arrow::datatypes::{DataType, Schema, TimeUnit};
use lakerace_format::{CompareOp, Expr, Literal};
use serde_json::{Map, Value, json};

use super::mapping::{find, kind_of};
use super::time::{write_date, write_timestamp};

/// The query for those parts of a filter that a query says exactly; `None` where there are none.
pub(super) fn query_of(filter: &Expr, schema: &Schema, properties: &Map<String, Value>) -> Option<Value> {
    let fields = QueryFields { schema, properties };
    match filter {
        Expr::And(parts) => {
            let parts: Vec<Value> = parts.iter().filter_map(|part| query_of(part, schema, properties)).collect();
            (!parts.is_empty()).then(|| json!({ "bool": { "filter": parts } }))
        }
        Expr::Or(parts) => {
            let parts: Option<Vec<Value>> = parts.iter().map(|part| query_of(part, schema, properties)).collect();
            Some(json!({ "bool": { "should": parts?, "minimum_should_match": 1 } }))
        }
        Expr::Compare { op, left, right } => match (left.as_ref(), right.as_ref()) {
            (Expr::Column(name), Expr::Literal(literal)) => fields.compare(name, *op, literal),
            (Expr::Literal(literal), Expr::Column(name)) => fields.compare(name, op.flipped(), literal),
            _ => None,
        },
        Expr::In { expr, list } => match expr.as_ref() {
            Expr::Column(name) => {
                let values: Option<Vec<Value>> = list.iter().map(|literal| fields.term(name, literal)).collect();
                Some(json!({ "terms": { (name): values? } }))
            }
            _ => None,
        },
        Expr::IsNull(expr) => {
            let exists = fields.exists(expr)?;
            Some(json!({ "bool": { "must_not": [exists] } }))
        }
        Expr::Not(inner) => match inner.as_ref() {
            Expr::IsNull(expr) => fields.exists(expr),
            _ => None,
        },
        Expr::Column(name) => fields.compare(name, CompareOp::Eq, &Literal::Boolean(true)),
        _ => None,
    }
}

struct QueryFields<'a> {
    schema: &'a Schema,
    properties: &'a Map<String, Value>,
}

impl QueryFields<'_> {
    fn compare(&self, name: &str, op: CompareOp, literal: &Literal) -> Option<Value> {
        let value = self.term(name, literal)?;
        let bound = |bound: &str| {
            // Booleans have an order in SQL, and no ranges here.
            (!value.is_boolean()).then(|| json!({ "range": { (name): { (bound): value.clone() } } }))
        };
        match op {
            CompareOp::Eq => Some(json!({ "term": { (name): value } })),
            CompareOp::NotEq => {
                let (exists, equal) = (json!({ "exists": { "field": name } }), json!({ "term": { (name): value } }));
                Some(json!({ "bool": { "filter": [exists], "must_not": [equal] } }))
            }
            CompareOp::Less => bound("lt"),
            CompareOp::LessOrEq => bound("lte"),
            CompareOp::Greater => bound("gt"),
            CompareOp::GreaterOrEq => bound("gte"),
        }
    }

    /// A literal as the field of this column has its values; `None` where the two are not compared exactly there.
    fn term(&self, name: &str, literal: &Literal) -> Option<Value> {
        let data_type = self.schema.field_with_name(name).ok()?.data_type();
        let mapped = self.indexed(name)?;
        match (data_type, kind_of(mapped), literal) {
            (DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View, "keyword", Literal::Text(text)) => {
                Some(json!(text))
            }
            (DataType::Boolean, "boolean", Literal::Boolean(value)) => Some(json!(value)),
            (
                DataType::Int8
                | DataType::Int16
                | DataType::Int32
                | DataType::Int64
                | DataType::UInt8
                | DataType::UInt16
                | DataType::UInt32,
                "byte" | "short" | "integer" | "long",
                Literal::Number { digits, scale: 0 },
            ) if is_in_range(*digits, kind_of(mapped)) => Some(json!(i64::try_from(*digits).ok()?)),
            (DataType::Date32, "date", Literal::Date(days)) => text(|out| write_date(out, i64::from(*days))),
            (DataType::Timestamp(unit, _), "date" | "date_nanos", Literal::Timestamp { nanoseconds, .. }) => {
                let is_fine = kind_of(mapped) == "date_nanos";
                if !is_fine && matches!(unit, TimeUnit::Microsecond | TimeUnit::Nanosecond) {
                    return None;
                }
                let value = i64::try_from(*nanoseconds).ok()?;
                if !is_fine && value % 1_000_000 != 0 || is_fine && value < 0 {
                    return None;
                }
                text(|out| write_timestamp(out, value, TimeUnit::Nanosecond, true))
            }
            _ => None,
        }
    }

    fn exists(&self, expr: &Expr) -> Option<Value> {
        let Expr::Column(name) = expr else { return None };
        let data_type = self.schema.field_with_name(name).ok()?.data_type();
        // An empty list, an empty object and one of nulls are there, and have no field.
        if data_type.is_nested() || data_type.is_null() {
            return None;
        }
        self.indexed(name)?;
        Some(json!({ "exists": { "field": name } }))
    }

    /// The field of a column, if the index holds all of its values unchanged.
    fn indexed(&self, name: &str) -> Option<&Value> {
        let mapped = find(self.properties, name)?;
        let changes = ["ignore_above", "normalizer", "null_value", "ignore_malformed", "script"];
        let is_searched = mapped["index"] != false && changes.iter().all(|key| mapped[*key].is_null());
        let is_kept = !matches!(kind_of(mapped), "object" | "nested" | "binary" | "text" | "flattened");
        (is_searched && is_kept).then_some(mapped)
    }
}

fn is_in_range(value: i128, kind: &str) -> bool {
    let bits = match kind {
        "byte" => 7,
        "short" => 15,
        "integer" => 31,
        _ => 63,
    };
    (-(1_i128 << bits)..1_i128 << bits).contains(&value)
}

fn text(write: impl FnOnce(&mut Vec<u8>) -> Result<(), String>) -> Option<Value> {
    let mut out = Vec::new();
    write(&mut out).ok()?;
    String::from_utf8(out).ok().map(Value::String)
}

#[cfg(test)]
mod tests;
