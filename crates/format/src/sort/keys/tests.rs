#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use arrow::array::{
    BooleanArray, Decimal128Array, Float16Array, Float32Array, Float64Array, Int32Array, ListArray, StringViewArray,
    StructArray, TimestampMicrosecondArray,
};
use arrow::datatypes::{Field, Fields, Int32Type};
use lakerace_io::ErrorKind;

use super::*;

fn term(column: &str, is_descending: bool, has_nulls_first: bool) -> SortTerm {
    SortTerm { value: Expr::Column(column.to_owned()), text: column.to_owned(), is_descending, has_nulls_first }
}

fn batch(array: ArrayRef) -> RecordBatch {
    RecordBatch::try_from_iter_with_nullable([("a", array, true)]).unwrap()
}

/// The numbers of the rows of a batch in the order of their keys; rows with equal keys are in one group.
fn order(batch: &RecordBatch, terms: &[SortTerm]) -> Vec<Vec<usize>> {
    let keys = SortKeys::bind(terms, &batch.schema()).unwrap().encode(batch).unwrap();
    let mut rows: Vec<usize> = (0..keys.len()).collect();
    rows.sort_by_key(|row| keys.value(*row));
    rows.chunk_by(|a, b| keys.value(*a) == keys.value(*b)).map(<[usize]>::to_vec).collect()
}

fn ascending(array: ArrayRef) -> Vec<Vec<usize>> {
    order(&batch(array), &[term("a", false, false)])
}

#[test]
fn floats_have_one_zero_and_one_nan() {
    let negative_nan = f64::from_bits(0xfff8_0000_0000_0001);
    let values = [Some(0.0), Some(-0.0), None, Some(f64::NAN), Some(negative_nan), Some(f64::INFINITY), Some(-1.5)];
    let expected = [vec![6], vec![0, 1], vec![5], vec![3, 4], vec![2]];
    assert_eq!(ascending(Arc::new(Float64Array::from(values.to_vec()))), expected);
    let singles: Float32Array = values.iter().map(|value| value.map(|value| value as f32)).collect();
    let halves = arrow::compute::cast(&singles, &DataType::Float16).unwrap();
    assert_eq!(halves.as_any().downcast_ref::<Float16Array>().unwrap().len(), 7);
    assert_eq!(ascending(Arc::new(singles)), expected);
    assert_eq!(ascending(halves), expected);
}

#[test]
fn nulls_are_where_the_term_says() {
    let rows = batch(Arc::new(Int32Array::from(vec![Some(2), None, Some(-1)])));
    let sorted = |is_descending, has_nulls_first| order(&rows, &[term("a", is_descending, has_nulls_first)]).concat();
    assert_eq!(sorted(false, false), [2, 0, 1]);
    assert_eq!(sorted(true, false), [0, 2, 1]);
    assert_eq!(sorted(false, true), [1, 2, 0]);
    assert_eq!(sorted(true, true), [1, 0, 2]);
}

#[test]
fn values_of_other_types_sort_as_they_compare() {
    let texts = StringViewArray::from(vec!["b", "a long text that is not in the view", "", "ä", "B", "a"]);
    assert_eq!(ascending(Arc::new(texts)).concat(), [2, 4, 5, 1, 0, 3]);
    let decimals = Decimal128Array::from(vec![100, -250, 3]).with_precision_and_scale(10, 2).unwrap();
    assert_eq!(ascending(Arc::new(decimals)).concat(), [1, 2, 0]);
    assert_eq!(ascending(Arc::new(BooleanArray::from(vec![true, false]))).concat(), [1, 0]);
    let times = TimestampMicrosecondArray::from(vec![5, -5]).with_timezone("UTC");
    assert_eq!(ascending(Arc::new(times)).concat(), [1, 0]);
}

#[test]
fn fields_of_null_structs_are_null() {
    let field = Fields::from(vec![Field::new("b", DataType::Int32, true)]);
    let values: ArrayRef = Arc::new(Int32Array::from(vec![3, 1, 2]));
    let nulls = arrow::buffer::NullBuffer::from(vec![true, false, true]);
    let rows = batch(Arc::new(StructArray::new(field, vec![values], Some(nulls))));
    assert_eq!(order(&rows, &[term("a.b", false, false)]).concat(), [2, 0, 1]);
}

#[test]
fn errors_name_the_column() {
    let lists = ListArray::from_iter_primitive::<Int32Type, _, _>([Some([Some(1)])]);
    let rows = batch(Arc::new(lists));
    let error = |column| SortKeys::bind(&[term(column, false, false)], &rows.schema()).unwrap_err();
    assert_eq!(error("a").kind(), ErrorKind::Unsupported);
    assert!(error("a").to_string().contains("values of type list(int32)"), "{}", error("a"));
    assert_eq!(error("b").kind(), ErrorKind::NotFound);
}
