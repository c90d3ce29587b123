#![allow(clippy::unwrap_used, clippy::panic)]

use lakerace_format::{CompareOp, Literal};

use super::*;

/// The time that a value is compared with, or that it is.
fn time_of(value: &Expr) -> i128 {
    match value {
        Expr::Literal(Literal::Timestamp { nanoseconds, .. }) => *nanoseconds,
        Expr::Compare { op: CompareOp::Less, right, .. } => time_of(right),
        other => panic!("no time: {other:?}"),
    }
}

#[test]
fn a_run_has_one_time() {
    let columns = ["now() as a", "b", "NOW() as c"].map(|text| ColumnItem::parse(text).unwrap());
    let options = ReadOptions {
        columns: Some(columns.to_vec()),
        filter: Some("t < now()".to_owned()),
        order_by: Some("t < now()".to_owned()),
        ..ReadOptions::default()
    };
    let texts = ScanTexts::parse("a.parquet", &options).unwrap();
    let time = time_of(texts.filter.as_ref().unwrap());
    let computed = texts.computed.as_ref().unwrap().items().iter().filter_map(ColumnItem::as_computed);
    let values: Vec<i128> = computed.map(|column| time_of(&column.value)).collect();
    assert_eq!(values, [time, time]);
    let before = columns.iter().filter_map(ColumnItem::as_computed).map(|column| time_of(&column.value));
    assert!(before.into_iter().all(|parsed| parsed <= time));
}
