#![allow(clippy::unwrap_used)]

use arrow::array::{Float32Array, Int64Array};
use arrow::datatypes::Field;
use serde_json::Value;

use super::*;

/// What the log states of a column whose least and greatest values are these.
fn stated(min: ArrayRef, max: ArrayRef) -> (Value, Value) {
    let bounds = |bound: ArrayRef| -> ArrayRef {
        let inner = Field::new("x", bound.data_type().clone(), true);
        let inner: ArrayRef = Arc::new(StructArray::from(vec![(Arc::new(inner), bound)]));
        let outer = Field::new("s", inner.data_type().clone(), true);
        Arc::new(StructArray::from(vec![(Arc::new(outer), inner)]))
    };
    let (min, max) = (bounds(min), bounds(max));
    let rows: ArrayRef = Arc::new(Int64Array::from(vec![2]));
    let parts = [("numRecords", rows), ("minValues", min), ("maxValues", max)];
    let field = |(name, array): (&str, ArrayRef)| (Arc::new(Field::new(name, array.data_type().clone(), true)), array);
    let text = log_text(&StructArray::from(parts.map(field).to_vec())).unwrap();
    let value: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(value["numRecords"], 2);
    let of = |kind: &str| value[kind]["s"].get("x").cloned().unwrap_or(Value::Null);
    (of("minValues"), of("maxValues"))
}

fn doubles(min: f64, max: f64) -> (String, String) {
    let (min, max) = stated(Arc::new(Float64Array::from(vec![min])), Arc::new(Float64Array::from(vec![max])));
    (min.to_string(), max.to_string())
}

fn pair(min: &str, max: &str) -> (String, String) {
    (min.to_owned(), max.to_owned())
}

#[test]
fn floats_have_bounds_for_every_order_of_zeros_and_nan() {
    assert_eq!(doubles(-1.5, 2.5), pair("-1.5", "2.5"));
    for zeros in [doubles(0.0, 0.0), doubles(-0.0, -0.0), doubles(-0.0, 0.0)] {
        assert_eq!(zeros, pair("-0.0", "0.0"));
    }
    for nothing in [doubles(1.0, f64::NAN), doubles(-f64::NAN, 1.0), doubles(f64::NAN, f64::NAN)] {
        assert_eq!(nothing, pair("null", "null"));
    }
    assert_eq!(doubles(f64::NEG_INFINITY, 1.0), pair("null", "1.0"));
    assert_eq!(doubles(1.0, f64::INFINITY), pair("1.0", "null"));
}

#[test]
fn a_float_of_32_bits_is_the_same_number_in_64() {
    let one = |value: f32| -> ArrayRef { Arc::new(Float32Array::from(vec![value])) };
    let (min, max) = stated(one(-0.1), one(0.1));
    assert_eq!((min.as_f64(), max.as_f64()), (Some(f64::from(-0.1f32)), Some(f64::from(0.1f32))));
    let (_, max) = stated(one(0.0), one(f32::MAX));
    assert_eq!(max.to_string().parse::<f32>().unwrap(), f32::MAX);
}

#[test]
fn timestamps_are_milliseconds_that_no_value_lies_beyond() {
    let at = |micros: i64| -> ArrayRef { Arc::new(TimestampMicrosecondArray::from(vec![micros]).with_timezone("UTC")) };
    let texts = |min: i64, max: i64| {
        let (min, max) = stated(at(min), at(max));
        (min.as_str().map(str::to_owned), max.as_str().map(str::to_owned))
    };
    let some = |text: &str| Some(text.to_owned());
    assert_eq!(texts(1, 1), (some("1970-01-01T00:00:00.000Z"), some("1970-01-01T00:00:00.001Z")));
    assert_eq!(texts(1000, 1000), (some("1970-01-01T00:00:00.001Z"), some("1970-01-01T00:00:00.001Z")));
    assert_eq!(texts(-1, -1), (some("1969-12-31T23:59:59.999Z"), some("1970-01-01T00:00:00.000Z")));
    let (first, last) = (*MICROS.start(), *MICROS.end());
    assert_eq!(texts(first, first), (some("0001-01-01T00:00:00.000Z"), some("0001-01-01T00:00:00.000Z")));
    assert_eq!(texts(last, last), (some("9999-12-31T23:59:59.999Z"), None));
    assert_eq!(texts(first - 1, last + 1), (None, None));
    assert_eq!(texts(i64::MIN, i64::MAX), (None, None));
}

#[test]
fn dates_beyond_four_digits_are_no_bounds() {
    let day = |day: i32| -> ArrayRef { Arc::new(Date32Array::from(vec![day])) };
    let (first, last) = (*DAYS.start(), *DAYS.end());
    assert_eq!(stated(day(first), day(last)), (Value::from("0001-01-01"), Value::from("9999-12-31")));
    assert_eq!(stated(day(first - 1), day(last + 1)), (Value::Null, Value::Null));
}
