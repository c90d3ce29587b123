#![allow(clippy::unwrap_used)]
use arrow::array::{Int64Array, StringViewArray, StringViewBuilder};

use super::*;
use crate::expr::{CompareOp, Expr, Literal, ScalarFunction};
use crate::predicate::bind::bind;
use crate::predicate::evaluate::evaluate_each;

fn column(name: &str) -> Box<Expr> {
    Box::new(Expr::Column(name.to_owned()))
}

fn text(value: &str) -> Expr {
    Expr::Literal(Literal::Text(value.to_owned()))
}

fn like(name: &str, pattern: &str, case_insensitive: bool) -> Expr {
    Expr::Like { expr: column(name), pattern: pattern.to_owned(), escape: None, case_insensitive }
}

fn call(function: ScalarFunction, arguments: Vec<Expr>) -> Expr {
    Expr::Call { function, arguments }
}

fn equal(left: Expr, right: Expr) -> Expr {
    Expr::Compare { op: CompareOp::Eq, left: Box::new(left), right: Box::new(right) }
}

fn upper(name: &str) -> Expr {
    call(ScalarFunction::Upper, vec![*column(name)])
}

/// Conditions of one column of texts, of other columns, and of several.
fn conditions() -> Vec<Expr> {
    let null = Expr::Literal(Literal::Null);
    let is_a = equal(*column("t"), text("a"));
    vec![
        like("t", "a%", false),
        Expr::Not(Box::new(like("t", "%b%", false))),
        like("t", "%B", true),
        equal(upper("t"), text("AB")),
        equal(call(ScalarFunction::Length, vec![*column("t")]), *column("x")),
        equal(call(ScalarFunction::Coalesce, vec![*column("t"), text("zz")]), text("zz")),
        Expr::Case { branches: vec![(is_a.clone(), null)], otherwise: Some(Box::new(like("t", "_b", false))) },
        Expr::Or(vec![Expr::IsNull(column("t")), like("t", "b%", false)]),
        Expr::And(vec![Expr::Not(Box::new(Expr::IsNull(column("t")))), like("t", "%a%", false)]),
        Expr::And(vec![like("t", "a%", false), like("u", "%b", false)]),
        Expr::Or(vec![like("t", "a%", false), equal(upper("t"), upper("u"))]),
        equal(upper("t"), upper("u")),
        is_a,
    ]
}

/// Texts of a few short and long values, with nulls, whose views are those of one buffer.
fn texts(rows: usize, values: usize, null_every: usize) -> StringViewArray {
    let long = |value: usize| format!("ab {} {value}", "long ".repeat(5));
    let distinct: Vec<String> = (0..values)
        .map(|value| ["a", "ab", "b", "Ba", ""].get(value).map_or_else(|| long(value), |t| (*t).to_owned()))
        .collect();
    let rows =
        (0..rows).map(|row| (null_every == 0 || row % null_every > 0).then(|| distinct[row * 7 % values].as_str()));
    let mut texts = StringViewBuilder::new().with_deduplicate_strings();
    texts.extend(rows);
    texts.finish()
}

#[test]
fn outcomes_are_those_of_each_row() {
    for (values, null_every) in [(1, 0), (5, 0), (5, 3), (40, 7), (3, 1)] {
        let rows = 3000;
        let columns: [(&str, ArrayRef); 3] = [
            ("t", Arc::new(texts(rows, values, null_every))),
            ("u", Arc::new(texts(rows, 3, 4))),
            ("x", Arc::new(Int64Array::from_iter_values((0..rows as i64).map(|row| row % 5)))),
        ];
        let batch = RecordBatch::try_from_iter(columns).unwrap();
        for condition in conditions() {
            let node = bind(&condition, &batch.schema()).unwrap();
            let expected = evaluate_each(&node, &batch).unwrap();
            if let Some(outcome) = by_distinct_texts(&node, &batch, evaluate_each).unwrap() {
                assert_eq!(outcome, expected, "{condition:?} of {values} values");
            }
        }
    }
}

#[test]
fn a_condition_is_asked_of_distinct_texts_where_they_repeat() {
    let is_asked = |condition: &Expr, rows: usize, values: usize| {
        let column: ArrayRef = Arc::new(texts(rows, values, 0));
        let batch = RecordBatch::try_from_iter([("t", column)]).unwrap();
        by_distinct_texts(&bind(condition, &batch.schema()).unwrap(), &batch, evaluate_each).unwrap().is_some()
    };
    let costly = equal(upper("t"), text("AB"));
    assert!(is_asked(&costly, 3000, 5));
    assert!(is_asked(&like("t", "%b%", false), 3000, 5));
    // A comparison of views is as fast.
    assert!(!is_asked(&equal(*column("t"), text("ab")), 3000, 5));
    assert!(!is_asked(&costly, 1000, 5));
    assert!(!is_asked(&costly, 3000, 3000));
}
