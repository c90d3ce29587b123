#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::collections::HashMap;

use arrow::array::{Decimal128Array, DictionaryArray, Int32Array, StructArray};
use arrow::datatypes::{Fields, Int8Type};
use lakerace_io::ErrorKind;

use super::*;
use crate::{ArithmeticOp, Literal};

fn column(name: &str) -> Expr {
    Expr::Column(name.to_owned())
}

fn batch(columns: Vec<(Field, ArrayRef)>) -> RecordBatch {
    let (fields, arrays): (Vec<_>, Vec<_>) = columns.into_iter().unzip();
    RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays).unwrap()
}

#[test]
fn a_renamed_column_keeps_its_field_and_its_array() {
    let texts: DictionaryArray<Int8Type> = vec!["a", "b", "a"].into_iter().collect();
    let metadata = HashMap::from([("comment".to_owned(), "x".to_owned())]);
    let field = Field::new("t", texts.data_type().clone(), false).with_metadata(metadata);
    let batch = batch(vec![(field.clone(), Arc::new(texts) as ArrayRef)]);
    let value = RowValue::bind(&column("t"), &batch.schema()).unwrap();
    assert_eq!(value.field("u", &batch.schema()), field.with_name("u"));
    assert_eq!(&value.evaluate(&batch).unwrap(), batch.column(0));
}

#[test]
fn a_field_of_a_struct_is_null_where_the_struct_is() {
    let fields: Fields = vec![Field::new("f", DataType::Int32, false)].into();
    let numbers: ArrayRef = Arc::new(Int32Array::from(vec![1, 2]));
    let rows = StructArray::new(fields.clone(), vec![numbers], Some(vec![true, false].into()));
    let batch = batch(vec![(Field::new("s", DataType::Struct(fields), true), Arc::new(rows))]);
    let value = RowValue::bind(&column("s.f"), &batch.schema()).unwrap();
    assert_eq!(value.field("f", &batch.schema()), Field::new("f", DataType::Int32, true));
    let expected: ArrayRef = Arc::new(Int32Array::from(vec![Some(1), None]));
    assert_eq!(&value.evaluate_as(&DataType::Int32, &batch).unwrap(), &expected);
}

#[test]
fn a_constant_is_not_nullable_and_has_all_rows() {
    let batch = batch(vec![(Field::new("a", DataType::Int32, true), Arc::new(Int32Array::from(vec![1, 2])))]);
    let value = RowValue::bind(&Expr::Literal(Literal::Boolean(true)), &batch.schema()).unwrap();
    assert_eq!(value.field("b", &batch.schema()), Field::new("b", DataType::Boolean, false));
    assert_eq!(value.evaluate(&batch).unwrap().len(), 2);
    assert_eq!(value.column_refs().count(), 0);
}

#[test]
fn a_decimal_without_room_for_its_digits_is_an_error() {
    let most = 10_i128.pow(38) - 1;
    let numbers = Decimal128Array::from(vec![most]).with_precision_and_scale(38, 0).unwrap();
    let batch = batch(vec![(Field::new("d", numbers.data_type().clone(), true), Arc::new(numbers))]);
    let right = Box::new(Expr::Literal(Literal::Number { digits: 1, scale: 0 }));
    let sum = Expr::Arithmetic { op: ArithmeticOp::Add, left: Box::new(column("d")), right };
    let value = RowValue::bind(&sum, &batch.schema()).unwrap();
    let error = value.evaluate_as(value.data_type(), &batch).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid);
}
