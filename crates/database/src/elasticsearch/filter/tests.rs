#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test may panic")]

use arrow::datatypes::Field;

use super::*;

fn schema() -> Schema {
    Schema::new(vec![
        Field::new("n", DataType::Int64, true),
        Field::new("t", DataType::Utf8, true),
        Field::new("f", DataType::Float64, true),
        Field::new("when", DataType::Timestamp(TimeUnit::Microsecond, None), true),
    ])
}

fn query(filter: &Expr) -> Option<Value> {
    let properties = json!({
        "n": { "type": "long" }, "t": { "type": "keyword" }, "f": { "type": "double" }, "when": { "type": "date_nanos" },
    });
    query_of(filter, &schema(), properties.as_object().unwrap())
}

fn compare(name: &str, op: CompareOp, literal: Literal) -> Expr {
    Expr::Compare { op, left: Box::new(Expr::Column(name.to_owned())), right: Box::new(Expr::Literal(literal)) }
}

fn number(digits: i128) -> Literal {
    Literal::Number { digits, scale: 0 }
}

#[test]
fn exact_comparisons_become_queries() {
    assert_eq!(query(&compare("n", CompareOp::Less, number(5))), Some(json!({ "range": { "n": { "lt": 5 } } })));
    let text = compare("t", CompareOp::Eq, Literal::Text("007".to_owned()));
    assert_eq!(query(&text), Some(json!({ "term": { "t": "007" } })));
    let when = compare("when", CompareOp::GreaterOrEq, Literal::Timestamp { nanoseconds: 1_000, is_utc: false });
    assert_eq!(query(&when), Some(json!({ "range": { "when": { "gte": "1970-01-01T00:00:00.000001000Z" } } })));
}

#[test]
fn what_a_query_would_round_is_no_query() {
    for filter in [
        compare("n", CompareOp::Less, Literal::Number { digits: 15, scale: 1 }),
        compare("n", CompareOp::Eq, number(1 << 70)),
        compare("f", CompareOp::Eq, number(1)),
        compare("t", CompareOp::Eq, number(7)),
        compare("missing", CompareOp::Eq, number(7)),
        compare("when", CompareOp::Less, Literal::Timestamp { nanoseconds: -1, is_utc: false }),
    ] {
        assert_eq!(query(&filter), None, "{filter:?}");
    }
}

#[test]
fn a_conjunction_keeps_what_it_can_and_a_disjunction_needs_all() {
    let exact = compare("n", CompareOp::Eq, number(1));
    let other = compare("f", CompareOp::Eq, number(1));
    let both = query(&Expr::And(vec![exact.clone(), other.clone()]));
    assert_eq!(both, Some(json!({ "bool": { "filter": [{ "term": { "n": 1 } }] } })));
    assert_eq!(query(&Expr::Or(vec![exact.clone(), other])), None);
    assert!(query(&Expr::Or(vec![exact.clone(), exact])).is_some());
}
