#![allow(clippy::unwrap_used)]

use arrow::array::{Decimal128Array, Float64Array, Int32Array, Int64Array};
use arrow::datatypes::Field;
use lakerace_io::ErrorKind;

use super::*;

fn apply(operator: &str, old: ArrayRef, new: ArrayRef) -> ArrayRef {
    operator.parse::<MergeOperator>().unwrap().apply(&old, &new).unwrap()
}

fn ints(values: [Option<i64>; 4]) -> ArrayRef {
    Arc::new(Int64Array::from(values.to_vec()))
}

fn texts(values: [Option<&str>; 4]) -> ArrayRef {
    Arc::new(StringArray::from(values.to_vec()))
}

#[test]
fn nulls_count_as_nothing() {
    let (old, new) = (ints([Some(5), Some(5), None, None]), ints([Some(3), None, Some(3), None]));
    let merged = |operator| apply(operator, old.clone(), new.clone());
    assert_eq!(&merged("last"), &new);
    assert_eq!(&merged("last_not_null"), &ints([Some(3), Some(5), Some(3), None]));
    assert_eq!(&merged("sum"), &ints([Some(8), Some(5), Some(3), None]));
    assert_eq!(&merged("min"), &ints([Some(3), Some(5), Some(3), None]));
    assert_eq!(&merged("max"), &ints([Some(5), Some(5), Some(3), None]));
    let (old, new) = (texts([Some("a"), Some("a"), None, None]), texts([Some("b"), None, Some("b"), None]));
    assert_eq!(&apply("concat:, ", old.clone(), new.clone()), &texts([Some("a, b"), Some("a"), Some("b"), None]));
    assert_eq!(&apply("max", old, new), &texts([Some("b"), Some("a"), Some("b"), None]));
}

#[test]
fn concat_keeps_the_layout_of_texts() {
    let large: ArrayRef = Arc::new(LargeStringArray::from(vec!["a"]));
    let view: ArrayRef = Arc::new(StringViewArray::from(vec!["a"]));
    for text in [large, view] {
        let joined = apply("concat:-", text.clone(), text.clone());
        assert_eq!(joined.data_type(), text.data_type());
        assert_eq!(arrow::util::display::array_value_to_string(&joined, 0).unwrap(), "a-a");
    }
}

#[test]
fn sums_of_decimals_keep_their_type() {
    let money = |values: Vec<i128>| -> ArrayRef {
        Arc::new(Decimal128Array::from(values).with_precision_and_scale(4, 2).unwrap())
    };
    assert_eq!(&apply("sum", money(vec![150]), money(vec![-25])), &money(vec![125]));
    let error = MergeOperator::Sum.apply(&money(vec![9999]), &money(vec![1])).unwrap_err();
    assert!(matches!(error, ArrowError::ArithmeticOverflow(_)), "{error}");
}

fn schema() -> Schema {
    Schema::new(vec![
        Field::new("k", DataType::Int64, false),
        Field::new("n", DataType::Int32, true),
        Field::new("s", DataType::Utf8, true),
        Field::new("x", DataType::Float64, true),
    ])
}

fn operators(pairs: &[(&str, &str)]) -> Result<MergeOperators> {
    let parsed = pairs.iter().map(|(name, text)| ((*name).to_owned(), text.parse().unwrap()));
    MergeOperators::new(parsed, &schema(), &["k"])
}

#[test]
fn operators_are_checked_against_the_table() {
    assert!(operators(&[("n", "sum"), ("s", "concat:;"), ("x", "max")]).unwrap().combine_rows());
    assert!(!operators(&[("n", "last")]).unwrap().combine_rows());
    let kind = |pairs| operators(pairs).unwrap_err().kind();
    assert_eq!(kind(&[("m", "sum")]), ErrorKind::NotFound);
    assert_eq!(kind(&[("k", "sum")]), ErrorKind::Usage);
    assert_eq!(kind(&[("s", "sum")]), ErrorKind::Usage);
    assert_eq!(kind(&[("n", "concat:;")]), ErrorKind::Usage);
    assert_eq!("average".parse::<MergeOperator>().unwrap_err().kind(), ErrorKind::Usage);
    assert_eq!("concat:|".parse::<MergeOperator>().unwrap().to_string(), "concat:|");
}

fn rows(n: Vec<Option<i32>>, x: Vec<f64>) -> RecordBatch {
    let columns: Vec<(&str, ArrayRef)> =
        vec![("n", Arc::new(Int32Array::from(n))), ("x", Arc::new(Float64Array::from(x)))];
    RecordBatch::try_from_iter(columns).unwrap()
}

#[test]
fn rows_without_a_new_one_stay_as_they_are() {
    let operators = operators(&[("n", "sum")]).unwrap();
    let old = rows(vec![Some(1), Some(i32::MAX), None], vec![1.0, 2.0, 3.0]);
    let new = rows(vec![Some(10), Some(10), Some(10)], vec![4.0, 5.0, 6.0]);
    let merged = operators.merge_where(&[true, false, true], &old, &new).unwrap();
    assert_eq!(merged.columns(), rows(vec![Some(11), Some(i32::MAX), Some(10)], vec![4.0, 2.0, 6.0]).columns());
    let error = operators.merge_where(&[true, true, true], &old, &new).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid);
    assert!(error.message().contains("\"n\" overflows"), "{error}");
}
