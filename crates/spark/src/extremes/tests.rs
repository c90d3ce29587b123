use super::*;

fn number(value: i64, data_type: &DataType) -> Option<String> {
    spark_number(&Value::Integer(i256::from_i128(i128::from(value))), data_type).map(|number| number.to_string())
}

#[test]
fn times_are_microseconds() {
    let seconds = DataType::Timestamp(TimeUnit::Second, None);
    assert_eq!(number(2, &seconds).as_deref(), Some("2000000"));
    assert_eq!(number(-3, &DataType::Timestamp(TimeUnit::Millisecond, None)).as_deref(), Some("-3000"));
    assert_eq!(number(1, &DataType::Timestamp(TimeUnit::Nanosecond, None)), None);
}

#[test]
fn days_of_another_calendar_are_left_to_spark() {
    assert_eq!(number(GREGORIAN_DAYS, &DataType::Date32).as_deref(), Some("-141427"));
    assert_eq!(number(GREGORIAN_DAYS - 1, &DataType::Date32), None);
    assert_eq!(number(GREGORIAN_DAYS * 86_400 - 1, &DataType::Timestamp(TimeUnit::Second, None)), None);
}

#[test]
fn floats_and_texts_are_left_to_spark() {
    assert_eq!(spark_number(&Value::Float(1.0), &DataType::Float64), None);
    assert_eq!(spark_number(&Value::Bytes(b"a".to_vec()), &DataType::Utf8), None);
    assert_eq!(spark_number(&Value::Boolean(true), &DataType::Boolean), Some(i256::ONE));
}
