#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use arrow::array::{ArrayRef, Decimal128Array, Float64Array, Int64Array, StringArray};

use super::beyond;

fn row(values: ArrayRef, bound: ArrayRef, is_min: bool) -> Option<usize> {
    beyond(&values, &bound, is_min).unwrap()
}

#[test]
fn the_first_value_beyond_a_bound_is_found() {
    let integers: ArrayRef = Arc::new(Int64Array::from(vec![Some(5), None, Some(7)]));
    let one = |value: i64| -> ArrayRef { Arc::new(Int64Array::from(vec![value])) };
    assert_eq!(row(integers.clone(), one(5), true), None);
    assert_eq!(row(integers.clone(), one(6), true), Some(0));
    assert_eq!(row(integers.clone(), one(7), false), None);
    assert_eq!(row(integers, one(6), false), Some(2));
    let texts: ArrayRef = Arc::new(StringArray::from(vec!["a", "b"]));
    assert_eq!(row(texts, Arc::new(StringArray::from(vec!["a"])), false), Some(1));
    let decimal = |value: i128| -> ArrayRef {
        Arc::new(Decimal128Array::from(vec![value]).with_precision_and_scale(38, 2).unwrap())
    };
    let large = 12_345_678_901_234_567_890_123_456_789;
    assert_eq!(row(decimal(large), decimal(large - 1), false), Some(0));
    assert_eq!(row(decimal(large), decimal(large), false), None);
}

#[test]
fn nan_is_beyond_no_bound_and_zeros_are_equal() {
    let one = |value: f64| -> ArrayRef { Arc::new(Float64Array::from(vec![value])) };
    assert_eq!(row(one(f64::NAN), one(1.0), true), None);
    assert_eq!(row(one(f64::NAN), one(1.0), false), None);
    assert_eq!(row(one(-0.0), one(0.0), true), None);
    assert_eq!(row(one(0.0), one(-0.0), false), None);
    assert_eq!(row(one(2.0), one(1.0), false), Some(0));
}
