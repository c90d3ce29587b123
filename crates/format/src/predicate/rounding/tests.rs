#![allow(clippy::unwrap_used)]

use arrow::array::{Decimal128Array, Float64Array, Int32Array, Int64Array, UInt64Array};

use super::*;

fn operand(array: impl arrow::array::Array + 'static) -> RowOperand {
    RowOperand { array: Arc::new(array), is_scalar: false }
}

#[test]
fn halves_are_rounded_away_from_zero() {
    for (value, places, expected) in [
        (15, 1, 20),
        (-15, 1, -20),
        (14, 1, 10),
        (-14, 1, -10),
        (5, 1, 10),
        (4, 1, 0),
        (7, 0, 7),
        (7, -3, 7),
        (7, 40, 0),
    ] {
        assert_eq!(rounded_integer(value, places), Some(expected), "{value}, {places}");
    }
    for (value, digits, expected) in
        [(2.5, 0, 3.0), (-2.5, 0, -3.0), (1.234, 2, 1.23), (1250.0, -2, 1300.0), (1e300, 300, 1e300), (1.5, -400, 0.0)]
    {
        assert_eq!(rounded_float(value, digits), expected, "{value}, {digits}");
    }
    assert!(rounded_float(f64::NAN, 1).is_nan());
    assert_eq!(rounded_float(f64::NEG_INFINITY, -1), f64::NEG_INFINITY);
}

#[test]
fn decimals_have_room_for_one_more_digit() {
    let decimals = Decimal128Array::from(vec![Some(999), Some(-995), Some(994), None]);
    let decimals = operand(decimals.with_precision_and_scale(3, 2).unwrap());
    let found = rounded(&decimals, 1).unwrap();
    assert_eq!(found.data_type(), &DataType::Decimal128(4, 2));
    let found = found.as_primitive::<Decimal128Type>();
    assert_eq!(found.iter().collect::<Vec<_>>(), [Some(1000), Some(-1000), Some(990), None]);
    let large = Decimal128Array::from(vec![10i128.pow(38) - 1]);
    let large = operand(large.with_precision_and_scale(38, 2).unwrap());
    assert!(rounded(&large, 0).is_err());
    assert!(absolute(&large).is_ok());
}

#[test]
fn integers_stay_integers() {
    assert_eq!(*absolute(&operand(Int32Array::from(vec![i32::MIN]))).unwrap(), Int64Array::from(vec![1i64 << 31]));
    assert!(absolute(&operand(Int64Array::from(vec![i64::MIN]))).is_err());
    let large = operand(UInt64Array::from(vec![u64::MAX]));
    assert_eq!(*rounded(&large, 2).unwrap(), UInt64Array::from(vec![u64::MAX]));
    assert!(rounded(&large, -1).is_err());
    assert_eq!(*absolute(&operand(Float64Array::from(vec![-0.0]))).unwrap(), Float64Array::from(vec![0.0]));
}

#[test]
fn a_minus_keeps_types_and_signs_of_zero() {
    let floats = negated(&operand(Float64Array::from(vec![0.0, -0.0, 1.5, f64::INFINITY]))).unwrap();
    let signs: Vec<bool> =
        floats.as_primitive::<Float64Type>().values().iter().map(|float| float.is_sign_negative()).collect();
    assert_eq!(signs, [true, false, true, true]);
    let decimals = Decimal128Array::from(vec![Some(125), None]).with_precision_and_scale(3, 2).unwrap();
    let found = negated(&operand(decimals)).unwrap();
    assert_eq!(found.data_type(), &DataType::Decimal128(3, 2));
    assert_eq!(found.as_primitive::<Decimal128Type>().iter().collect::<Vec<_>>(), [Some(-125), None]);
    let numbers = negated(&operand(UInt64Array::from(vec![7]))).unwrap();
    assert_eq!(numbers.as_primitive::<Int64Type>().values().as_ref(), [-7]);
    assert!(negated(&operand(UInt64Array::from(vec![u64::MAX]))).is_err());
    assert!(negated(&operand(Int64Array::from(vec![i64::MIN]))).is_err());
    assert_eq!(negated(&operand(Int32Array::from(vec![i32::MIN]))).unwrap().data_type(), &DataType::Int64);
}
