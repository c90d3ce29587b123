//! Conditions that fail for some rows, which are not asked.
#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use arrow::array::{ArrayRef, BooleanArray, RecordBatch, StringArray};
use arrow::buffer::BooleanBuffer;

use super::Predicate;
use super::tests::{T, batch, column, compare, number};
use crate::{CompareOp, Expr, Literal};

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
fn rows_that_are_not_asked_do_not_fail() {
    let shown = texts();
    let bound = Predicate::bind(&cast_over_five(), &shown.schema()).unwrap();
    let asked = BooleanBuffer::from(vec![true, false, true, true]);
    assert_eq!(bound.true_among(&shown, &asked).unwrap(), BooleanBuffer::from(vec![true, false, false, false]));
    assert_eq!(bound.true_among(&shown, &BooleanBuffer::new_unset(4)).unwrap(), BooleanBuffer::new_unset(4));
    assert!(bound.true_among(&shown, &BooleanBuffer::new_set(4)).unwrap_err().to_string().contains("'bad'"));
}
