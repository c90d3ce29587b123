//! No literal is equal to a value of fewer digits or of another form.
#![allow(clippy::unwrap_used)]

use arrow::array::{
    ArrayRef, Decimal128Array, Decimal256Array, FixedSizeBinaryArray, Float16Array, Float32Array, Float64Array,
    Int64Array, StringArray, UInt64Array,
};
use arrow::datatypes::{ArrowPrimitiveType, Float16Type, i256};

use super::tests::{F, T, compare, one};
use super::*;
use crate::CompareOp::{Eq, Greater, GreaterOrEq, Less, LessOrEq, NotEq};
use crate::{CompareOp, Literal};

fn bind_error(values: ArrayRef, op: CompareOp, literal: Literal) -> String {
    let batch = RecordBatch::try_from_iter([("x", values)]).unwrap();
    Predicate::bind(&compare("x", op, literal), &batch.schema()).unwrap_err().to_string()
}

fn written(text: &str) -> Literal {
    Literal::number(text).unwrap()
}

/// For one value that is not equal to a number: what the comparisons say, where the value is less or else greater.
fn check_apart(value: &ArrayRef, text: &str, is_less: bool) {
    let literal = || written(text);
    let [less, greater] = if is_less { [T, F] } else { [F, T] };
    assert_eq!(one(Arc::clone(value), Eq, literal()), [F], "= {text}");
    assert_eq!(one(Arc::clone(value), NotEq, literal()), [T], "<> {text}");
    assert_eq!(one(Arc::clone(value), Less, literal()), [less], "< {text}");
    assert_eq!(one(Arc::clone(value), LessOrEq, literal()), [less], "<= {text}");
    assert_eq!(one(Arc::clone(value), Greater, literal()), [greater], "> {text}");
    assert_eq!(one(Arc::clone(value), GreaterOrEq, literal()), [greater], ">= {text}");
}

fn check_equal(value: &ArrayRef, text: &str) {
    assert_eq!(one(Arc::clone(value), Eq, written(text)), [T], "= {text}");
    assert_eq!(one(Arc::clone(value), NotEq, written(text)), [F], "<> {text}");
    assert_eq!(one(Arc::clone(value), Less, written(text)), [F], "< {text}");
    assert_eq!(one(Arc::clone(value), GreaterOrEq, written(text)), [T], ">= {text}");
}

#[test]
fn decimals_and_integers_are_never_rounded() {
    let decimal: ArrayRef = Arc::new(Decimal128Array::from(vec![100]).with_precision_and_scale(10, 2).unwrap());
    check_apart(&decimal, "1.005", true);
    check_apart(&decimal, "0.995", false);
    check_apart(&decimal, "1.00000000000000000000000000000000000000000000000001", true);
    check_apart(&decimal, "1.00000000000000000001e0", true);
    check_apart(&decimal, "1e400", true);
    check_apart(&decimal, "-1e400", false);
    check_equal(&decimal, "1.000");
    check_equal(&decimal, "100e-2");
    let integer: ArrayRef = Arc::new(Int64Array::from(vec![9_007_199_254_740_993]));
    check_apart(&integer, "9007199254740992e0", false);
    check_apart(&integer, "9007199254740993.5", true);
    check_apart(&integer, "170141183460469231731687303715884105728", true);
    check_equal(&integer, "9007199254740993e0");
    check_equal(&integer, "9007199254740993.0");
    let unsigned: ArrayRef = Arc::new(UInt64Array::from(vec![u64::MAX]));
    check_apart(&unsigned, "-1", false);
    check_apart(&unsigned, "18446744073709551616", true);
    check_equal(&unsigned, "18446744073709551615");
    let digits = "1234567890123456789012345678901234567890123456789012345678901234567890";
    let wide = Decimal256Array::from(vec![i256::from_string(digits).unwrap()]).with_precision_and_scale(76, 0);
    let wide: ArrayRef = Arc::new(wide.unwrap());
    check_equal(&wide, digits);
    check_apart(&wide, &format!("{digits}.5"), true);
    check_apart(&wide, "1.234567890123456789e69", false);
}

#[test]
fn floats_are_what_their_shortest_text_says() {
    let double: ArrayRef = Arc::new(Float64Array::from(vec![9_007_199_254_740_992.0]));
    check_equal(&double, "9007199254740992");
    check_apart(&double, "9007199254740993", true);
    check_apart(&double, "9007199254740991.5", false);
    let tenth: ArrayRef = Arc::new(Float64Array::from(vec![0.1]));
    check_equal(&tenth, "0.1");
    check_equal(&tenth, "0.1000000000000000055511151231257827021181583404541015625");
    // Between the shortest text and the exact value.
    check_equal(&tenth, "0.10000000000000000001");
    check_apart(&tenth, "0.10000000000000000556", true);
    check_apart(&tenth, "0.09999999999999999999", false);
    let single: ArrayRef = Arc::new(Float32Array::from(vec![0.1]));
    check_equal(&single, "0.1");
    check_equal(&single, "1e-1");
    check_equal(&single, "0.100000001490116119384765625");
    // The same number as a double.
    check_equal(&single, "0.10000000149011612");
    check_apart(&single, "0.100000001490116123", true);
    check_equal(&single, "0.1000000001");
    check_apart(&single, "0.1000000015", true);
    check_apart(&single, "0.0999999999", false);
    // Midway between two texts of as many digits.
    let single: ArrayRef = Arc::new(Float32Array::from(vec![5_811.656_25_f64 as f32]));
    check_equal(&single, "5811.6562");
    check_equal(&single, "5811.6563");
    check_equal(&single, "5811.65625");
    check_apart(&single, "5811.6561", false);
    check_apart(&single, "5811.6564", true);
    let single: ArrayRef = Arc::new(Float32Array::from(vec![16_777_216.0]));
    check_apart(&single, "16777217", true);
    // The shortest text of 2^31 is 2147483600.
    let single: ArrayRef = Arc::new(Float32Array::from(vec![2_147_483_648.0]));
    check_equal(&single, "2147483648");
    check_apart(&single, "2147483647", false);
    check_apart(&single, "2147483640.5", false);
    check_apart(&single, "2147483649", true);
    let double: ArrayRef = Arc::new(Float64Array::from(vec![-9_223_372_036_854_775_808.0]));
    check_equal(&double, "-9223372036854775808");
    check_apart(&double, "-9223372036854775809", false);
    check_apart(&double, "-9223372036854775807", true);
    let single: ArrayRef = Arc::new(Float32Array::from(vec![16_777_216.0]));
    check_equal(&single, "16777216");
    type Half = <Float16Type as ArrowPrimitiveType>::Native;
    let half: ArrayRef = Arc::new(Float16Array::from(vec![Half::from_f32(0.1)]));
    check_equal(&half, "0.1");
    check_apart(&half, "0.10001", true);
    check_apart(&half, "70000", true);
    let zero: ArrayRef = Arc::new(Float64Array::from(vec![-0.0]));
    check_equal(&zero, "0");
    check_apart(&zero, "1e-400", true);
    check_apart(&zero, "-1e-400", false);
    let infinity: ArrayRef = Arc::new(Float64Array::from(vec![f64::INFINITY]));
    check_apart(&infinity, "1e400", false);
    let nan: ArrayRef = Arc::new(Float64Array::from(vec![f64::NAN]));
    for op in [Eq, Less, LessOrEq, Greater, GreaterOrEq] {
        assert_eq!(one(Arc::clone(&nan), op, written("0.10000000000000000001")), [F], "{op:?}");
    }
}

#[test]
fn lists_hold_no_rounded_values() {
    let values: ArrayRef = Arc::new(Float32Array::from(vec![0.1, 16_777_216.0]));
    let schema = Schema::new(vec![arrow::datatypes::Field::new("x", DataType::Float32, true)]);
    let batch = RecordBatch::try_new(Arc::new(schema.clone()), vec![values]).unwrap();
    let list = |texts: &[&str]| Expr::In {
        expr: Box::new(Expr::Column("x".into())),
        list: texts.iter().map(|text| written(text)).collect(),
    };
    let found = |texts: &[&str]| {
        let predicate = Predicate::bind(&list(texts), &schema).unwrap();
        let found = predicate.evaluate(&batch).unwrap();
        assert!(predicate.equalities().iter().all(|(_, values)| values.len() <= texts.len()));
        found.true_count()
    };
    assert_eq!(found(&["0.1", "16777217", "5", "6", "7", "8"]), 1);
    assert_eq!(found(&["0.1000000015", "16777216"]), 1);
    assert_eq!(found(&["0.1000000015", "16777217"]), 0);
}

#[test]
fn uuids_in_all_spellings() {
    let id =
        |last: u8| [0x12, 0x3e, 0x45, 0x67, 0xe8, 0x9b, 0x12, 0xd3, 0xa4, 0x56, 0x42, 0x66, 0x14, 0x17, 0x40, last];
    let ids = FixedSizeBinaryArray::try_from_iter([id(0), id(1)].into_iter()).unwrap();
    let ids: ArrayRef = Arc::new(ids);
    let text = |text: &str| Literal::Text(text.to_owned());
    for spelling in [
        "123e4567-e89b-12d3-a456-426614174000",
        "123E4567-E89B-12D3-A456-426614174000",
        "{123e4567-e89b-12d3-a456-426614174000}",
        "123e4567e89b12d3a456426614174000",
        "{123e4567e89b12d3a456426614174000}",
    ] {
        assert_eq!(one(Arc::clone(&ids), Eq, text(spelling)), [T, F], "{spelling}");
        assert_eq!(one(Arc::clone(&ids), NotEq, text(spelling)), [F, T], "{spelling}");
        assert_eq!(one(Arc::clone(&ids), Greater, text(spelling)), [F, T], "{spelling}");
        assert_eq!(one(Arc::clone(&ids), LessOrEq, text(spelling)), [T, F], "{spelling}");
    }
    assert_eq!(one(Arc::clone(&ids), Eq, Literal::Binary(id(1).to_vec())), [F, T]);
    for wrong in ["123e4567-e89b-12d3-a456-42661417400", "no id", "", "123e4567-e89b-12d3-a456-42661417400g"] {
        let error = bind_error(Arc::clone(&ids), Eq, text(wrong));
        assert!(error.contains("is not a UUID"), "{error}");
    }
    let codes: ArrayRef = Arc::new(FixedSizeBinaryArray::try_from_iter([*b"DE", *b"FR"].into_iter()).unwrap());
    assert_eq!(one(Arc::clone(&codes), Eq, text("DE")), [T, F]);
    assert!(bind_error(codes, Eq, text("DEU")).contains("2 bytes"));
}

#[test]
fn a_text_column_is_no_uuid() {
    let ids: ArrayRef = Arc::new(FixedSizeBinaryArray::try_from_iter([[0u8; 16]].into_iter()).unwrap());
    let texts: ArrayRef = Arc::new(StringArray::from(vec!["00000000-0000-0000-0000-000000000000"]));
    let batch = RecordBatch::try_from_iter([("u", ids), ("s", texts)]).unwrap();
    let sides = ["u", "s"].map(|name| Box::new(Expr::Column(name.into())));
    let [left, right] = sides;
    let expr = Expr::Compare { op: Eq, left, right };
    let error = Predicate::bind(&expr, &batch.schema()).unwrap_err();
    assert_eq!(error.kind(), lakerace_io::ErrorKind::Invalid, "{error}");
}
