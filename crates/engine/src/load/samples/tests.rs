#![allow(clippy::unwrap_used)]

use arrow::array::{Decimal128Array, Float64Array};

use super::*;

#[test]
fn each_column_is_looked_for_by_its_extremes_zero_and_nulls() {
    let columns: [(&str, ArrayRef); 4] = [
        ("n", Arc::new(Int64Array::from(vec![Some(3), None, Some(-7), Some(3), Some(0)]))),
        ("f", Arc::new(Float64Array::from(vec![0.0, f64::NAN, -0.0, f64::INFINITY, 1e300]))),
        ("d", Arc::new(Decimal128Array::from(vec![-5, 7, 7, 7, -5]).with_precision_and_scale(18, 2).unwrap())),
        ("t\"x", Arc::new(StringArray::from(vec![Some("it's"), Some(""), None, None, Some("")]))),
    ];
    let batch = RecordBatch::try_from_iter_with_nullable(columns.map(|(name, array)| (name, array, true))).unwrap();
    let samples = ColumnSamples::new(&batch.schema());
    samples.add(&batch.slice(0, 2)).unwrap();
    samples.add(&batch.slice(2, 3)).unwrap();
    let expected: Vec<(String, u64)> =
        samples.expected().unwrap().into_iter().map(|expected| (expected.condition, expected.rows)).collect();
    let wanted = [
        ("\"n\" = 3", 2),
        ("\"f\" = 1e300", 1),
        ("\"d\" = 0.07", 3),
        ("\"t\"\"x\" = 'it''s'", 1),
        ("\"n\" = -7", 1),
        ("\"f\" = 0.0", 2),
        ("\"d\" = -0.05", 2),
        ("\"t\"\"x\" = ''", 2),
        ("\"n\" = 0", 1),
        ("\"n\" IS NULL", 1),
        ("\"t\"\"x\" IS NULL", 2),
    ];
    assert_eq!(expected, wanted.map(|(condition, rows)| (condition.to_owned(), rows)));
}
