//! Statistics of other writers, less precise than the values or wrong: no filter loses a row, no upsert adds a second row of a
//! key.

use std::sync::Arc;

use arrow::array::{ArrayRef, Decimal128Array, Int64Array, RecordBatch, StringArray, TimestampMicrosecondArray};
use futures::executor::block_on;
use lakerace_delta::{DeltaSource, Table, UpsertOptions, WriteMode, upsert};
use lakerace_format::{Batches, CompareOp, Expr, Literal, ReadRequest, Source};
use lakerace_io::object_store::memory::InMemory;
use lakerace_io::object_store::path::Path;
use lakerace_io::object_store::{ObjectStore, PutOptions};
use serde_json::{Value, json};

use crate::common::{entry, table, write};

fn decimal(value: i128, precision: u8, scale: i8) -> (ArrayRef, Literal) {
    let array = Decimal128Array::from(vec![value]).with_precision_and_scale(precision, scale).unwrap();
    (Arc::new(array), Literal::Number { digits: value, scale: scale as u8 })
}

fn long(value: i64) -> (ArrayRef, Literal) {
    (Arc::new(Int64Array::from(vec![value])), Literal::Number { digits: value.into(), scale: 0 })
}

fn text(value: &str) -> (ArrayRef, Literal) {
    (Arc::new(StringArray::from(vec![value])), Literal::Text(value.to_owned()))
}

fn instant(micros: i64) -> (ArrayRef, Literal) {
    let array = TimestampMicrosecondArray::from(vec![micros]).with_timezone("UTC");
    (Arc::new(array), Literal::Timestamp { nanoseconds: i128::from(micros) * 1000, is_utc: true })
}

/// Statistics of a file of one row with these bounds of `k`.
fn bounds(min: &str, max: &str) -> String {
    format!(r#"{{"numRecords":1,"minValues":{{"k":{min}}},"maxValues":{{"k":{max}}},"nullCount":{{"k":0}}}}"#)
}

fn same(bound: &str) -> String {
    bounds(bound, bound)
}

fn rows(key: &ArrayRef, text: &str) -> RecordBatch {
    let texts: ArrayRef = Arc::new(StringArray::from(vec![text]));
    RecordBatch::try_from_iter_with_nullable([("k", Arc::clone(key), true), ("text", texts, true)]).unwrap()
}

/// Puts other statistics in the place of those of the table's one file.
fn state(inner: &Arc<InMemory>, statistics: &str) {
    let mut lines = entry(inner, 0);
    for line in &mut lines {
        if let Some(add) = line.get_mut("add") {
            add["stats"] = json!(statistics);
        }
    }
    put_entry(inner, &lines);
}

/// Puts another entry in the place of the first one.
fn put_entry(inner: &Arc<InMemory>, lines: &[Value]) {
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    let path = Path::from(format!("lake/table/_delta_log/{:020}.json", 0));
    block_on(inner.put_opts(&path, text.into(), PutOptions::default())).unwrap();
}

fn count(table: &Table, filter: Option<Expr>) -> usize {
    let source = DeltaSource::open(table.snapshot(None).unwrap()).unwrap();
    let plan = source.plan(&ReadRequest { filter, ..ReadRequest::default() }).unwrap();
    source.read(&plan).unwrap().map(|batch| batch.unwrap().num_rows()).sum()
}

fn check((key, literal): (ArrayRef, Literal), statistics: &str) {
    let inner = Arc::new(InMemory::new());
    let made = table(&inner);
    write(&made, WriteMode::Error, rows(&key, "old"), &[], &[]);
    state(&inner, statistics);
    let is = |op, literal: &Literal| {
        let sides = [Expr::Column("k".to_owned()), Expr::Literal(literal.clone())].map(Box::new);
        let [left, right] = sides;
        Some(Expr::Compare { op, left, right })
    };
    assert_eq!(count(&made, is(CompareOp::Eq, &literal)), 1, "{statistics}: = {literal:?}");
    assert_eq!(count(&made, is(CompareOp::GreaterOrEq, &literal)), 1, "{statistics}: >= {literal:?}");
    assert_eq!(count(&made, is(CompareOp::LessOrEq, &literal)), 1, "{statistics}: <= {literal:?}");
    assert_eq!(count(&made, is(CompareOp::NotEq, &literal)), 0, "{statistics}: <> {literal:?}");
    let not_null = Expr::Not(Box::new(Expr::IsNull(Box::new(Expr::Column("k".to_owned())))));
    assert_eq!(count(&made, Some(not_null)), 1, "{statistics}: IS NOT NULL");
    let new = rows(&key, "new");
    let options = UpsertOptions { key: vec!["k".to_owned()], ..UpsertOptions::default() };
    upsert(&made, Batches::new(new.schema(), std::iter::once(Ok(new))), &options).unwrap();
    assert_eq!(count(&made, None), 1, "{statistics}: one row of the key");
}

#[test]
fn decimals_that_were_doubles() {
    check(decimal(12_345_678_901_234_567_891, 38, 0), &same("9223372036854775807"));
    check(decimal(12_345_678_901_234_567_891, 38, 0), &same("1.2345678901234567e19"));
    check(decimal(-12_345_678_901_234_567_891, 38, 0), &same("-9223372036854775808"));
    check(decimal(-12_345_678_901_234_567_891, 38, 0), &same("-9.223372036854775807e18"));
    check(decimal(10i128.pow(37), 38, 10), &same("9223372036854775807"));
    check(decimal(1_000_000_000_000_000_001, 38, 18), &same("1.0"));
    check(decimal(-1_000_000_000_000_000_001, 38, 18), &same("-1.0"));
    check(decimal(123_456_789_012_345_678, 18, 2), &same("1234567890123456.8"));
    check(decimal(123_456_789_012_345_678, 18, 2), &same("1234567890123456.75"));
    check(decimal(12_345, 10, 2), &same("123.45"));
    check(decimal(5, 38, 30), &same("5e-30"));
}

#[test]
fn integers_that_were_doubles() {
    check(long(9_007_199_254_740_993), &same("9007199254740992"));
    check(long(9_007_199_254_740_993), &same("9.007199254740992e15"));
    check(long(-1_234_567_890_123_456_789), &same("-1234567890123456800"));
    check(long(i64::MAX), &same("9223372036854775807"));
    check(long(i64::MAX), &same("9223372036854774784"));
}

#[test]
fn offsets_of_zones() {
    // New York in 1879 and Amsterdam in 1930, whose offsets had seconds, and Nepal.
    let (new_york, amsterdam) = (instant(-2_840_140_800_000_000 + 2_000_000), instant(-1_262_305_172_000_000));
    check(new_york, &same(r#""1879-12-31T19:04:00.000-04:56""#));
    check(amsterdam.clone(), &same(r#""1930-01-01T00:00:00.000+00:19""#));
    check(amsterdam, &same(r#""1930-01-01T00:00:00.000+0019""#));
    check(instant(1_700_000_000_123_456), &same(r#""2023-11-15T03:58:20.123+05:45""#));
    for unreadable in ["1879-12-31T19:04:00.000-04:56:02", "1879-12-31 19:04:00 LMT", "soon"] {
        check(instant(-2_840_140_798_000_000), &same(&format!("{unreadable:?}")));
    }
}

#[test]
fn a_partition_value_that_is_no_time_is_named_with_its_file_and_column() {
    let inner = Arc::new(InMemory::new());
    let (value, literal) = instant(1_700_000_000_000_000);
    write(&table(&inner), WriteMode::Error, rows(&value, "old"), &["k"], &[]);
    let stated = |text: &str| {
        let mut name = String::new();
        let mut lines = entry(&inner, 0);
        for line in &mut lines {
            if let Some(add) = line.get_mut("add") {
                add["partitionValues"]["k"] = json!(text);
                name = add["path"].as_str().unwrap().to_owned();
            }
        }
        put_entry(&inner, &lines);
        name
    };
    for readable in ["2023-11-14 22:13:20", "2023-11-15T03:58:20.000+05:45", "2023-11-14T22:13:20.000000Z"] {
        stated(readable);
        let sides = [Expr::Column("k".to_owned()), Expr::Literal(literal.clone())].map(Box::new);
        let [left, right] = sides;
        let same = Expr::Compare { op: CompareOp::Eq, left, right };
        assert_eq!(count(&table(&inner), Some(same)), 1, "{readable}");
    }
    let name = stated("2023-11-14T22:13:20-04:56:02");
    let error =
        table(&inner).snapshot(None).and_then(|snapshot| DeltaSource::open(snapshot)?.plan(&ReadRequest::default()));
    let text = error.err().unwrap().to_string();
    assert!(text.contains(&name) && text.contains("\"k\"") && text.contains("-04:56:02"), "{text}");
}

#[test]
fn cut_times_and_texts() {
    check(instant(1_700_000_000_123_456), &same(r#""2023-11-14T22:13:20.123Z""#));
    check(instant(-1_700_000_000_123_456), &same(r#""1916-02-18T01:46:39.877Z""#));
    let begin = "0123456789".repeat(4);
    check(text(&begin), &same(&format!("{:?}", &begin[..32])));
    check(text(&format!("{}\u{1f600}", &begin[..32])), &same(&format!("\"{}\u{fffd}\"", &begin[..32])));
}

#[test]
fn statistics_that_contradict_themselves_or_the_schema() {
    check(long(5), &bounds("7", "3"));
    check(text("m"), &bounds(r#""x""#, r#""c""#));
    for wrong in [
        r#"{"numRecords":1,"minValues":{"k":"seven"},"maxValues":{"k":"nine"},"nullCount":{"k":0}}"#,
        r#"{"numRecords":1,"minValues":{"k":{"x":1}},"maxValues":{"k":[1]},"nullCount":{"k":0}}"#,
        r#"{"numRecords":1,"minValues":{"k":5},"maxValues":{"k":5},"nullCount":{"k":2}}"#,
        r#"{"numRecords":1,"minValues":{"k":5},"maxValues":{"k":5},"nullCount":{"k":1}}"#,
        r#"{"numRecords":1,"minValues":{"k":5},"maxValues":{"k":5},"nullCount":{"k":-1}}"#,
        r#"{"numRecords":1,"nullCount":{"k":2}}"#,
        r#"{"numRecords":1,"minValues":{"k":5},"maxValues":{"k":5},"nullCount":{"k":"none"}}"#,
        r#"{"numRecords":1,"minValues":[5],"maxValues":"5"}"#,
    ] {
        check(long(5), wrong);
    }
}
