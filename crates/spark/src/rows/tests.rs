#![allow(clippy::unwrap_used)]

use arrow::array::AsArray;
use arrow::datatypes::{Field, Schema};

use super::*;

fn address<T>(values: &[T]) -> i64 {
    values.as_ptr() as i64
}

#[test]
fn columns_of_addresses_are_copied() {
    let item: FieldRef = Field::new("element", DataType::Utf8, true).into();
    let fields = vec![Field::new("n", DataType::Int32, true), Field::new("l", DataType::List(item), true)];
    let schema: SchemaRef = Schema::new(fields).into();
    let (numbers, valid) = ([7_i32, 0], [1_u8, 0]);
    let (spans, ends, bytes) = ([0_i32, 2, 2], [0_i32, 1, 3], *b"abc");
    let words = [2, address(&valid), address(&numbers), 2, 0, address(&spans), 2, 0, address(&ends), address(&bytes)];
    // SAFETY: the words are those of the schema's columns.
    let batch = unsafe { batch(&schema, 2, &words) }.unwrap();
    assert_eq!(batch.column(0).as_primitive::<Int32Type>().iter().collect::<Vec<_>>(), [Some(7), None]);
    let texts = batch.column(1).as_list::<i32>().value(0);
    assert_eq!(texts.as_string::<i32>().iter().flatten().collect::<Vec<_>>(), ["a", "bc"]);
    assert_eq!(batch.column(1).as_list::<i32>().value_length(1), 0);
}

#[test]
fn text_that_is_not_utf8_names_its_column() {
    let schema: SchemaRef = Schema::new(vec![Field::new("t", DataType::Utf8, true)]).into();
    let (ends, bytes) = ([0_i32, 1], [0xff_u8]);
    // SAFETY: the words are those of the schema's column.
    let error = unsafe { batch(&schema, 1, &[1, 0, address(&ends), address(&bytes)]) }.unwrap_err();
    assert!(error.to_string().contains("column \"t\""), "{error}");
}
