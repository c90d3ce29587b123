#![allow(clippy::unwrap_used)]

use arrow::array::{ArrayRef, AsArray, Date64Array, Float64Array, UInt64Array};
use arrow::datatypes::{Date32Type, Decimal128Type};

use super::*;

#[test]
fn types_without_a_vector_are_cast() {
    let columns: [(&str, ArrayRef); 3] = [
        ("n", Arc::new(UInt64Array::from(vec![Some(u64::MAX), None]))),
        ("d", Arc::new(Date64Array::from(vec![86_400_000, -86_400_000]))),
        ("f", Arc::new(Float64Array::from(vec![0.5, 1.5]))),
    ];
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    let fitted = fitted_schema(batch.schema_ref());
    let done = fit(&batch, &fitted).unwrap();
    assert_eq!(done.column(0).as_primitive::<Decimal128Type>().value(0), i128::from(u64::MAX));
    assert_eq!(done.column(1).as_primitive::<Date32Type>().values(), &[1, -1]);
    assert!(Arc::ptr_eq(done.column(2), batch.column(2)));
}

#[test]
fn nested_types_are_cast_inside() {
    let item = |data_type| Arc::new(Field::new("item", data_type, true));
    assert_eq!(fitted(&DataType::ListView(item(DataType::UInt64))), DataType::List(item(DataType::Decimal128(20, 0))));
    let words = DataType::Dictionary(DataType::Int8.into(), DataType::Utf8View.into());
    assert_eq!(fitted(&words), words);
    assert_eq!(fitted(&DataType::Decimal128(5, -2)), DataType::Decimal128(7, 0));
    assert_eq!(fitted(&DataType::Decimal256(60, 2)), DataType::Decimal256(60, 2));
}
