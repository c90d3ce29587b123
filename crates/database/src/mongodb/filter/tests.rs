#![allow(clippy::unwrap_used)]

use arrow::datatypes::{Field, TimeUnit};

use super::*;

fn schema() -> Schema {
    Schema::new(vec![
        Field::new("i", DataType::Int64, true),
        Field::new("f", DataType::Float64, true),
        Field::new("s", DataType::Utf8, true),
        Field::new("a.b", DataType::Int64, true),
        Field::new("t", DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into())), true),
        Field::new("l", DataType::new_list(DataType::Int64, true), true),
    ])
}

fn compare_with(name: &str, op: CompareOp, literal: Literal) -> Expr {
    Expr::Compare { op, left: Box::new(Expr::Column(name.to_owned())), right: Box::new(Expr::Literal(literal)) }
}

#[test]
fn a_query_is_at_least_as_wide_as_its_filter() {
    let number = |digits, scale| Literal::Number { digits, scale };
    let of = |expr: &Expr| query(expr, &schema());
    assert_eq!(of(&compare_with("i", CompareOp::Less, number(15, 1))), Some(doc! { "i": { "$lte": 2_i64 } }));
    assert_eq!(of(&compare_with("i", CompareOp::Greater, number(-15, 1))), Some(doc! { "i": { "$gte": -2_i64 } }));
    assert_eq!(of(&compare_with("f", CompareOp::Eq, number(1, 1))), Some(doc! { "f": { "$gte": 0.0, "$lte": 1.0 } }));
    let not_below = |name| Expr::Not(Box::new(compare_with(name, CompareOp::Less, number(15, 1))));
    assert_eq!(of(&not_below("f")), Some(doc! { "f": { "$not": { "$lt": 1.0 } } }));
    assert_eq!(of(&not_below("i")), None);
    let instant = Literal::Timestamp { nanoseconds: 1_500_000, is_utc: true };
    let query_of_instant = of(&compare_with("t", CompareOp::Less, instant));
    assert_eq!(query_of_instant, Some(doc! { "t": { "$lte": DateTime::from_millis(2) } }));
}

#[test]
fn what_the_server_means_otherwise_stays_here() {
    let one = || Literal::Number { digits: 1, scale: 0 };
    for filter in [
        compare_with("i", CompareOp::NotEq, one()),
        compare_with("a.b", CompareOp::Eq, one()),
        compare_with("l", CompareOp::Eq, one()),
        compare_with("i", CompareOp::Eq, Literal::Null),
        compare_with("f", CompareOp::Less, Literal::Number { digits: 1 << 60, scale: 0 }),
        Expr::Not(Box::new(compare_with("i", CompareOp::Eq, one()))),
        Expr::IsNull(Box::new(Expr::Column("l".to_owned()))),
        Expr::Or(vec![compare_with("i", CompareOp::Eq, one()), compare_with("l", CompareOp::Eq, one())]),
    ] {
        assert_eq!(query(&filter, &schema()), None, "{filter:?}");
    }
    let part = Expr::And(vec![compare_with("i", CompareOp::Eq, one()), compare_with("l", CompareOp::Eq, one())]);
    assert_eq!(query(&part, &schema()), Some(doc! { "$and": [{ "i": { "$gte": 1_i64, "$lte": 1_i64 } }] }));
}
