#![allow(clippy::unwrap_used)]

use arrow::array::{Float64Array, Int64Array, ListArray, StringArray};
use arrow::datatypes::Int64Type;

use super::*;

fn changed(first: Vec<(&str, ArrayRef)>, second: Vec<(&str, ArrayRef)>) -> Result<Option<Vec<bool>>> {
    let batch = |columns| RecordBatch::try_from_iter(columns).map_err(Error::unexpected);
    let changed = changed_rows(&[batch(first)?, batch(second)?])?;
    Ok(changed.map(|changed| changed.values().iter().collect()))
}

#[test]
fn rows_differ_by_nulls_and_values() {
    let numbers: ArrayRef = Arc::new(Int64Array::from(vec![Some(1), None, Some(3), None, Some(5)]));
    let others: ArrayRef = Arc::new(Int64Array::from(vec![Some(1), None, None, Some(4), Some(6)]));
    assert_eq!(changed(vec![("a", Arc::clone(&numbers))], vec![("a", Arc::clone(&numbers))]).unwrap(), None);
    let same: ArrayRef = Arc::new(Int64Array::from(vec![Some(1), None, Some(3), None, Some(5)]));
    assert_eq!(changed(vec![("a", Arc::clone(&numbers))], vec![("a", same)]).unwrap(), None);
    assert_eq!(changed(vec![("a", numbers)], vec![("a", others)]).unwrap(), Some(vec![false, false, true, true, true]));
}

#[test]
fn zeros_of_two_signs_and_other_types_are_the_same() {
    let floats: ArrayRef = Arc::new(Float64Array::from(vec![0.0, f64::NAN, 1.5, 2.0]));
    let others: ArrayRef = Arc::new(Float64Array::from(vec![-0.0, -f64::NAN, 1.5, 3.0]));
    assert_eq!(
        changed(vec![("a", Arc::clone(&floats))], vec![("a", others)]).unwrap(),
        Some(vec![false, false, false, true])
    );
    let numbers: ArrayRef = Arc::new(Int64Array::from(vec![0, 1, 1, 2]));
    assert_eq!(changed(vec![("a", floats)], vec![("a", numbers)]).unwrap(), Some(vec![false, true, true, false]));
}

#[test]
fn nested_columns_are_compared_beside_others() {
    let lists = |values: &[Option<i64>]| -> ArrayRef {
        let rows = values.iter().map(|value| value.map(|value| vec![Some(value), None]));
        Arc::new(ListArray::from_iter_primitive::<Int64Type, _, _>(rows))
    };
    let texts = |values: [&str; 3]| -> ArrayRef { Arc::new(StringArray::from(values.to_vec())) };
    let first = vec![("l", lists(&[Some(1), None, Some(3)])), ("t", texts(["a", "b", "c"]))];
    let second = vec![("l", lists(&[Some(1), Some(2), Some(3)])), ("t", texts(["a", "b", "d"]))];
    assert_eq!(changed(first, second).unwrap(), Some(vec![false, true, true]));
}
