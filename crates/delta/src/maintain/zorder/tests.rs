#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, Float32Array, Float64Array, Int64Array, RecordBatch, StringArray};

use super::{CurveSample, SortColumns, interleave};

fn names(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

/// A square of 256 x 256 points, row by row.
fn square() -> RecordBatch {
    let x: ArrayRef = Arc::new((0..65_536).map(|n| Some(n % 256)).collect::<Int64Array>());
    let y: ArrayRef = Arc::new((0..65_536).map(|n| Some(format!("{:04}", n / 256))).collect::<StringArray>());
    RecordBatch::try_from_iter_with_nullable([("x", x, true), ("y", y, true)]).unwrap()
}

#[test]
fn bits_alternate() {
    assert_eq!(interleave(&[0b11_1111_1111, 0], 3), [0b1010_1010, 0b1010_1010, 0b1010_0000]);
    assert_eq!(interleave(&[0, 1], 3), [0, 0, 0b0001_0000]);
    assert_eq!(interleave(&[1], 2), [0, 0b0100_0000]);
}

#[test]
fn rows_near_on_the_curve_are_near_in_both_columns() {
    let square = square();
    let columns = SortColumns::new(&names(&["x", "y"]), &square.schema()).unwrap();
    let mut sample = CurveSample::new(&columns, 65_536);
    sample.look(&columns, &square).unwrap();
    let keys = sample.curve().keys(&columns, &square).unwrap();
    let mut order: Vec<usize> = (0..65_536).collect();
    order.sort_by_key(|row| keys.value(*row));
    // A sixteenth of the rows covers a quarter of the values of each column.
    for part in order.chunks(4096) {
        let extent = |of: &dyn Fn(usize) -> usize| {
            let values = part.iter().map(|row| of(*row));
            values.clone().max().unwrap() - values.min().unwrap()
        };
        let (x, y) = (extent(&|row| row % 256), extent(&|row| row / 256));
        assert_eq!((x, y), (63, 63));
    }
}

#[test]
fn keys_sort_as_their_columns_with_nulls_first() {
    let a: ArrayRef = Arc::new(Int64Array::from(vec![Some(2), None, Some(-1), Some(2)]));
    let b: ArrayRef = Arc::new(StringArray::from(vec![Some("b"), Some("z"), Some("c"), Some("a")]));
    let batch = RecordBatch::try_from_iter_with_nullable([("a", a, true), ("b", b, true)]).unwrap();
    let columns = SortColumns::new(&names(&["a", "b"]), &batch.schema()).unwrap();
    let keys = columns.keys(&batch).unwrap();
    let mut order: Vec<usize> = (0..keys.len()).collect();
    order.sort_by_key(|row| keys.value(*row));
    assert_eq!(order, [1, 2, 3, 0]);
    assert!(SortColumns::new(&names(&["c"]), &batch.schema()).is_err());
}

#[test]
fn floats_that_are_equal_have_equal_keys() {
    let values = [0.0, -0.0, f64::NAN, -f64::NAN, f64::INFINITY, -1.0];
    let ids: ArrayRef = Arc::new(Int64Array::from(vec![2, 1, 2, 1, 0, 0]));
    let doubles: ArrayRef = Arc::new(Float64Array::from(values.to_vec()));
    let floats: ArrayRef = Arc::new(Float32Array::from(values.map(|value| value as f32).to_vec()));
    for column in [doubles, floats] {
        let batch = RecordBatch::try_from_iter([("x", column), ("id", Arc::clone(&ids))]).unwrap();
        let one = SortColumns::new(&names(&["x"]), &batch.schema()).unwrap();
        let keys = one.keys(&batch).unwrap();
        assert_eq!((keys.value(0), keys.value(2)), (keys.value(1), keys.value(3)));
        // Ties are decided by the next column.
        let two = SortColumns::new(&names(&["x", "id"]), &batch.schema()).unwrap();
        let keys = two.keys(&batch).unwrap();
        let mut order: Vec<usize> = (0..keys.len()).collect();
        order.sort_by_key(|row| keys.value(*row));
        assert_eq!(order, [5, 1, 0, 4, 3, 2]);
        let mut sample = CurveSample::new(&one, 6);
        sample.look(&one, &batch).unwrap();
        let places = sample.curve().keys(&one, &batch).unwrap();
        assert_eq!((places.value(0), places.value(2)), (places.value(1), places.value(3)));
    }
}
