#![allow(clippy::unwrap_used, reason = "a test may panic")]

use arrow::array::{Date32Array, Decimal128Array, TimestampMicrosecondArray};

use super::super::kept::EarlierRun;
use super::*;

fn largest_of(column: ArrayRef) -> WatermarkValue {
    WatermarkValue::highest(None, &column).unwrap().unwrap()
}

fn again(mark: &WatermarkValue) -> WatermarkValue {
    let kept = EarlierRun { mark: Some(mark.clone()), ..EarlierRun::default() };
    EarlierRun::parse(&kept.text().unwrap()).unwrap().mark.unwrap()
}

#[test]
fn the_highest_value_is_kept_exactly() {
    let cases: Vec<(ArrayRef, Option<&str>, &str)> = vec![
        (Arc::new(Int64Array::from(vec![Some(3), None, Some(i64::MAX)])), None, "9223372036854775807"),
        (Arc::new(Int64Array::from(vec![i64::MIN])), Some("5"), "-9223372036854775808"),
        (Arc::new(UInt64Array::from(vec![u64::MAX, 1])), Some("1"), "18446744073709551614"),
        (Arc::new(Float64Array::from(vec![0.1, f64::NAN, -3.0])), None, "0.1"),
        (Arc::new(Float64Array::from(vec![f64::INFINITY, 2.5, f64::NEG_INFINITY])), Some("0.5"), "2.0"),
        (Arc::new(Date32Array::from(vec![0, 59])), Some("25h"), "DATE '1970-02-27'"),
        (Arc::new(StringArray::from(vec!["b", "it's"])), None, "'it''s'"),
        (Arc::new(Decimal128Array::from(vec![1250]).with_precision_and_scale(9, 2).unwrap()), Some("0.25"), "12.25"),
        (
            Arc::new(TimestampMicrosecondArray::from(vec![1_000_001]).with_timezone("Europe/Berlin")),
            Some("1s"),
            "TIMESTAMP '1970-01-01T00:00:00.000001Z'",
        ),
        (Arc::new(TimestampMicrosecondArray::from(vec![86_400_000_000])), None, "TIMESTAMP '1970-01-02T00:00:00'"),
    ];
    for (column, overlap, literal) in cases {
        let mark = again(&largest_of(Arc::clone(&column)));
        let expected = format!("(\"a\"\"b\" >= {literal} OR \"a\"\"b\" IS NULL)");
        assert_eq!(mark.condition("a\"b", overlap, false).unwrap(), expected);
        let is_float = column.data_type().is_floating();
        let or_nan = format!("(NOT \"a\"\"b\" < {literal} OR \"a\"\"b\" IS NULL)");
        let expected = if is_float { or_nan } else { expected };
        assert_eq!(mark.condition("a\"b", overlap, true).unwrap(), expected);
    }
}

#[test]
fn nothing_lowers_a_mark() {
    let mark = largest_of(Arc::new(Int64Array::from(vec![5])));
    for column in [vec![None, Some(4)], vec![None], vec![]] {
        let column: ArrayRef = Arc::new(Int64Array::from(column));
        assert_eq!(WatermarkValue::highest(Some(mark.clone()), &column).unwrap(), Some(mark.clone()));
    }
    assert_eq!(WatermarkValue::highest(None, &(Arc::new(Int64Array::from(vec![None])) as ArrayRef)).unwrap(), None);
    let infinite: ArrayRef = Arc::new(Float64Array::from(vec![f64::INFINITY, f64::NEG_INFINITY]));
    assert_eq!(WatermarkValue::highest(None, &infinite).unwrap(), None);
    let mark = largest_of(Arc::new(Float64Array::from(vec![1.5])));
    assert_eq!(WatermarkValue::highest(Some(mark.clone()), &infinite).unwrap(), Some(mark));
}

#[test]
fn damaged_marks_are_errors_with_a_way_on() {
    for text in ["", "{}", r#"{"type":"int64","value":"x"}"#, r#"{"type":"float64","value":"inf"}"#] {
        let error = EarlierRun::parse(text).unwrap_err();
        assert_eq!(error.kind(), lakerace_io::ErrorKind::Corrupt);
        assert!(error.to_string().contains("`where=1 = 1`"), "{error}");
    }
}

#[test]
fn wrong_overlaps_are_named() {
    let since = |overlap: &str| Since { column: "a".to_owned(), overlap: Some(overlap.to_owned()) };
    for (data_type, overlap) in [
        (DataType::Int64, "1.5"),
        (DataType::Date32, "7"),
        (DataType::Utf8, "1"),
        (DataType::Float64, "-1"),
        (DataType::Float64, "inf"),
    ] {
        assert!(WatermarkValue::check(&data_type, &since(overlap)).unwrap_err().to_string().contains("overlap"));
    }
    assert!(WatermarkValue::check(&DataType::Boolean, &since("1")).is_err());
    WatermarkValue::check(&DataType::Date32, &since("7d")).unwrap();
}

#[test]
fn rows_are_told_by_where_their_values_are() {
    let mark = largest_of(Arc::new(Float64Array::from(vec![1.5])));
    let column: ArrayRef = Arc::new(Float64Array::from(vec![Some(1.5), Some(2.5), None, Some(f64::NAN), Some(0.5)]));
    let places = mark.places(&column).unwrap();
    assert_eq!(places.at, BooleanArray::from(vec![true, false, false, false, false]));
    assert_eq!(places.without, BooleanArray::from(vec![false, false, true, true, false]));
    let below = mark.is_below(&column).unwrap();
    assert_eq!(below, BooleanArray::from(vec![Some(false), Some(true), None, None, Some(false)]));
    let higher = largest_of(Arc::new(Float64Array::from(vec![9.0])));
    assert_eq!(WatermarkValue::lower(higher, mark.clone()).unwrap(), mark);
}
