#![allow(clippy::unwrap_used, clippy::panic)]

use arrow::datatypes::TimeUnit;

use super::*;

fn integer(value: i128) -> Value {
    Value::Integer(i256::from_i128(value))
}

/// Whether bounds that were stated as `stated` let a value be.
fn contain(stated: i128, value: i128, data_type: &DataType) -> bool {
    let holds = |bound: Option<Value>, ordering| {
        bound.is_none_or(|bound| bound.compare(&integer(value)).is_none_or(|order| order != ordering))
    };
    holds(at_least(integer(stated), data_type), std::cmp::Ordering::Greater)
        && holds(at_most(integer(stated), data_type), std::cmp::Ordering::Less)
}

#[test]
fn a_decimal_that_was_a_double_is_within_its_bounds() {
    for (precision, scale) in [(38, 0), (38, 18), (38, 30), (18, 2), (16, 2), (38, 38)] {
        let most = 10i128.pow(precision.into()) - 1;
        let values = (0..38).flat_map(|n| [10i128.pow(n), 10i128.pow(n) * 7 + 3, most / 10i128.pow(n)]);
        for value in values.filter(|value| *value <= most).flat_map(|value| [value, -value]) {
            let double = value as f64 / 10f64.powi(scale);
            // As a reader of the log takes the text of the double.
            let text = format!("{double:.60}");
            let (whole, fraction) = text.split_once('.').unwrap();
            let digits = format!("{whole}{}", &fraction[..scale as usize]);
            let Ok(stated) = digits.parse::<i128>() else { continue };
            let data_type = DataType::Decimal128(precision, scale as i8);
            assert!(contain(stated, value, &data_type), "{value} stated as {stated} of {data_type}");
        }
    }
    // Few digits stay what they are.
    let data_type = DataType::Decimal128(10, 2);
    assert_eq!(at_least(integer(1234), &data_type), Some(integer(1234)));
    assert!(!contain(1234, 1235, &data_type) && !contain(1234, 1233, &data_type));
    assert!(!contain(1234, 1300, &DataType::Decimal128(38, 2)));
}

#[test]
fn a_saturated_decimal_has_no_bound() {
    let most = i128::from(i64::MAX);
    let huge = 10i128.pow(37);
    for (data_type, most) in [
        (DataType::Decimal128(38, 0), most),
        (DataType::Decimal128(38, 10), most),
        (DataType::Decimal128(38, 18), most * 10i128.pow(18)),
    ] {
        assert_eq!(at_most(integer(most), &data_type), None, "{data_type}");
        assert_eq!(at_most(integer(most + 1), &data_type), None, "{data_type}");
        assert_eq!(at_least(integer(-most - 1), &data_type), None, "{data_type}");
        assert!(contain(most, huge.max(most), &data_type) && contain(-most, -huge.max(most), &data_type));
        assert!(at_least(integer(most), &data_type).is_some() && at_most(integer(-most), &data_type).is_some());
    }
}

#[test]
fn integers_beyond_doubles_are_widened() {
    for value in [(1i128 << 53) + 1, 1_234_567_890_123_456_789, i64::MAX.into()] {
        for value in [value, -value] {
            let stated = (value as f64) as i64;
            assert!(contain(stated.into(), value, &DataType::Int64), "{value} as {stated}");
        }
    }
    assert!(!contain((1 << 53) - 1, 1 << 53, &DataType::Int64));
    assert_eq!(at_most(integer(i64::MAX.into()), &DataType::Int64), Some(integer(i64::MAX.into())));
    assert_eq!(at_least(integer(i64::MIN.into()), &DataType::Int64), Some(integer(i64::MIN.into())));
}

#[test]
fn milliseconds_stand_for_their_microseconds() {
    let data_type = DataType::Timestamp(TimeUnit::Microsecond, None);
    assert!(
        contain(5_000, 5_999, &data_type) && !contain(5_000, 6_000, &data_type) && !contain(5_000, 4_999, &data_type)
    );
    assert!(contain(-5_000, -5_999, &data_type) && contain(-5_000, -4_001, &data_type));
}

#[test]
fn an_offset_without_seconds_is_off_by_less_than_a_minute() {
    let zoned = DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into()));
    let local = DataType::Timestamp(TimeUnit::Microsecond, None);
    // 1900-01-01T00:00:00-04:56:02 as New York's own time, stated as -04:56; 1930 in Amsterdam, +00:19:32, as +00:19.
    for (stated, value) in [(-2_208_971_040i128, -2_208_971_038i128), (-1_262_305_140, -1_262_305_172)] {
        let (stated, value) = (stated * 1_000_000, value * 1_000_000);
        assert!(contain(stated, value, &zoned) && !contain(stated, value, &local));
    }
    // Liberia's last, and a time from which on no offset has seconds.
    assert!(contain(63_590_639_999_000, 63_590_669_999_000, &zoned));
    assert!(!contain(1_600_000_000_000_000, 1_600_000_001_000_000, &zoned));
    assert!(!contain(1_600_000_000_000_000, 1_599_999_999_999_999, &zoned));
}

#[test]
fn a_cut_text_stands_for_longer_ones() {
    let most = |text: &str| match at_most(Value::Bytes(text.into()), &DataType::Utf8View) {
        Some(Value::Bytes(bytes)) => String::from_utf8(bytes).unwrap(),
        other => panic!("{other:?}"),
    };
    let begin = "ä".repeat(32);
    assert!(most(&begin) > format!("{begin}zzz") && most(&begin) > format!("{begin}\u{1f600}"));
    assert!(most(&format!("{begin}\u{fffd}")) > format!("{begin}\u{1f600}"));
    let widened = format!("{begin}\u{10ffff}");
    assert_eq!(most(&widened), widened);
    assert_eq!(most("short"), "short");
}
