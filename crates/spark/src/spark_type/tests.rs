#![allow(clippy::unwrap_used)]

use super::*;

#[test]
fn a_type_that_spark_lacks_names_the_column() {
    let schema = Schema::new(vec![Field::new("at", DataType::Time64(TimeUnit::Microsecond), true)]);
    let error = spark_schema(&schema).unwrap_err();
    assert!(error.to_string().contains("column \"at\""), "{error}");
}

#[test]
fn floats_and_nanoseconds_are_not_compared_for_spark() {
    assert_eq!(Filtering::of(&DataType::Float64), Filtering::Nulls);
    assert_eq!(Filtering::of(&DataType::Timestamp(TimeUnit::Nanosecond, None)), Filtering::Nulls);
    assert_eq!(Filtering::of(&DataType::Timestamp(TimeUnit::Microsecond, None)), Filtering::Exact);
    assert_eq!(Filtering::of(&DataType::Dictionary(DataType::Int8.into(), DataType::Utf8.into())), Filtering::Exact);
}
