#![allow(clippy::unwrap_used)]
use arrow::array::{Array, AsArray, Date32Array};
use arrow::datatypes::{DataType, Date32Type, Int64Type, Schema, i256};

use super::*;
use crate::{CompareOp, Expr, Literal, Predicate};

fn constants() -> Constants {
    let integer = |n| Some(Value::Integer(i256::from_i128(n)));
    Constants::new([
        (Field::new("day", DataType::Date32, false), integer(19_782)),
        (Field::new("n", DataType::Int64, true), None),
        (Field::new("country", DataType::Utf8View, true), Some(Value::Bytes(b"no".to_vec()))),
    ])
}

#[test]
fn gives_arrays_of_any_length() {
    let constants = constants();
    assert!(constants.fields().iter().all(|f| f.is_nullable()));
    let days = constants.array("day", 3).unwrap().unwrap();
    assert_eq!(days.as_primitive::<Date32Type>(), &Date32Array::from(vec![19_782; 3]));
    assert_eq!(constants.array("n", 2).unwrap().unwrap().as_primitive::<Int64Type>().null_count(), 2);
    assert_eq!(constants.array("country", 1).unwrap().unwrap().as_string_view().value(0), "no");
    assert_eq!(constants.array("day", 0).unwrap().unwrap().len(), 0);
    assert!(constants.array("other", 1).unwrap().is_none());
}

#[test]
fn prunes() {
    let constants = constants();
    let schema = Schema::new(constants.fields().clone());
    let reason = |name: &str, op, literal| {
        let expr = Expr::Compare {
            op,
            left: Box::new(Expr::Column(name.to_owned())),
            right: Box::new(Expr::Literal(literal)),
        };
        Predicate::bind(&expr, &schema).unwrap().can_match(&constants).err()
    };
    assert_eq!(reason("day", CompareOp::GreaterOrEq, Literal::Date(19_782)), None);
    let why = reason("day", CompareOp::Less, Literal::Text("2024-02-29".to_owned())).unwrap();
    assert_eq!(why, "partition: day min 2024-02-29 = 2024-02-29");
    let why = reason("n", CompareOp::Eq, Literal::Number { digits: 1, scale: 0 }).unwrap();
    assert_eq!(why, "partition: n has only nulls");
}
