//! Conditions that fail for some rows, which are not asked.
#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use arrow::array::{ArrayRef, BooleanArray, Int64Array, RecordBatch, StringArray};
use arrow::buffer::BooleanBuffer;

use super::Predicate;
use super::tests::{T, batch, column, compare, number};
use crate::{ArithmeticOp, CompareOp, Expr, Literal};

/// Texts, one of which is no number.
fn texts() -> RecordBatch {
    batch(vec![("x", Arc::new(StringArray::from(vec![Some("7"), Some("bad"), None, Some("3")])))])
}

/// `CAST(x AS bigint) > 5`
fn cast_over_five() -> Expr {
    let cast = Expr::Cast { expr: column("x"), data_type: "bigint".to_owned(), is_lenient: false };
    Expr::Compare { op: CompareOp::Greater, left: Box::new(cast), right: Box::new(Expr::Literal(number(5, 0))) }
}

/// Returns true for the rows that a filter keeps.
fn kept(expr: &Expr, batch: &RecordBatch) -> Vec<bool> {
    let found = Predicate::bind(expr, &batch.schema()).unwrap().evaluate(batch).unwrap();
    found.iter().map(|value| value == T).collect()
}

#[test]
fn rows_that_another_condition_decides_do_not_fail() {
    let bad = || compare("x", CompareOp::Eq, Literal::Text("bad".into()));
    let good = || Expr::Not(Box::new(bad()));
    assert_eq!(kept(&Expr::And(vec![good(), cast_over_five()]), &texts()), [true, false, false, false]);
    assert_eq!(kept(&Expr::And(vec![cast_over_five(), good()]), &texts()), [true, false, false, false]);
    assert_eq!(kept(&Expr::Or(vec![bad(), cast_over_five()]), &texts()), [true, true, false, false]);
    let neither = Expr::Not(Box::new(Expr::Or(vec![cast_over_five(), bad()])));
    assert_eq!(kept(&neither, &texts()), [false, false, false, true]);
    // An unknown guard keeps no row either.
    let guarded = |guards: Vec<Option<bool>>| {
        let guard: ArrayRef = Arc::new(BooleanArray::from(guards));
        let shown = batch(vec![("x", Arc::clone(texts().column(0))), ("ok", guard)]);
        kept(&Expr::And(vec![cast_over_five(), Expr::Column("ok".into())]), &shown)
    };
    assert_eq!(guarded(vec![T, None, T, None]), [true, false, false, false]);
    let open = Expr::And(vec![cast_over_five(), bad()]);
    let error = Predicate::bind(&open, &texts().schema()).unwrap().evaluate(&texts()).unwrap_err();
    assert!(error.to_string().contains("'bad'"), "{error}");
}

#[test]
fn of_two_conditions_that_may_fail_each_is_asked_of_the_rows_that_the_other_leaves_open() {
    // n + 1 fails for the greatest number, where x is a number.
    let numbers: ArrayRef = Arc::new(Int64Array::from(vec![1, 2, 1, i64::MAX]));
    let shown = batch(vec![("x", Arc::clone(texts().column(0))), ("n", Arc::clone(&numbers))]);
    let next = |is: i128| {
        let one = Box::new(Expr::Literal(number(1, 0)));
        let sum = Expr::Arithmetic { op: ArithmeticOp::Add, left: column("n"), right: one };
        Expr::Compare { op: CompareOp::Eq, left: Box::new(sum), right: Box::new(Expr::Literal(number(is, 0))) }
    };
    let few = shown.slice(0, 3);
    for both in [vec![cast_over_five(), next(2)], vec![next(2), cast_over_five()]] {
        assert_eq!(kept(&Expr::And(both), &few), [true, false, false]);
    }
    for either in [vec![cast_over_five(), next(3)], vec![next(3), cast_over_five()]] {
        assert_eq!(kept(&Expr::Or(either.clone()), &few), [true, true, false]);
        assert_eq!(kept(&Expr::Not(Box::new(Expr::Or(either))), &few), [false, false, false]);
    }
    // Each fails for a row that the other leaves open: the error is that of the first one.
    let bound = Predicate::bind(&Expr::And(vec![cast_over_five(), next(3)]), &shown.schema()).unwrap();
    assert!(bound.evaluate(&shown).unwrap_err().to_string().contains("'bad'"));
}

#[test]
fn rows_that_are_not_asked_do_not_fail() {
    let shown = texts();
    let bound = Predicate::bind(&cast_over_five(), &shown.schema()).unwrap();
    let asked = BooleanBuffer::from(vec![true, false, true, true]);
    assert_eq!(bound.true_among(&shown, &asked).unwrap(), BooleanBuffer::from(vec![true, false, false, false]));
    assert_eq!(bound.true_among(&shown, &BooleanBuffer::new_unset(4)).unwrap(), BooleanBuffer::new_unset(4));
    assert!(bound.true_among(&shown, &BooleanBuffer::new_set(4)).unwrap_err().to_string().contains("'bad'"));
}
