#![allow(clippy::unwrap_used)]

use arrow::datatypes::TimeUnit;

use super::TimestampForm;
use crate::sqlite::times::parse_timestamp;

/// Every text of a column, read in a unit and written in the column's form.
fn written(texts: &[&str], unit: TimeUnit) -> Vec<String> {
    let form = TimestampForm::of_texts(texts.iter().map(|text| (*text).to_owned())).unwrap();
    let write = |text: &&str| {
        let (value, is_utc) = parse_timestamp(text, unit).unwrap();
        let mut written = String::new();
        form.write(value, unit, is_utc, &mut written);
        written
    };
    texts.iter().map(write).collect()
}

#[test]
fn texts_of_one_program_stay_the_same() {
    use TimeUnit::{Microsecond, Millisecond, Nanosecond, Second};
    let cases: [(&[&str], TimeUnit); 12] = [
        (&["2024-01-01 10:00:00", "1969-12-31 23:59:59"], Second),
        (&["2024-01-01 10:00:00", "2024-01-01 10:00:00"], Microsecond),
        (&["2024-01-01T10:00:00", "2024-01-01T00:00:00"], Second),
        // strftime('%Y-%m-%d %H:%M:%f')
        (&["2024-01-01 10:00:00.000", "2024-01-01 10:00:00.120"], Millisecond),
        // SQLAlchemy
        (&["2024-01-01 10:00:00.000000", "1969-12-31 23:59:59.500000"], Microsecond),
        (&["2024-01-01 10:00:00.000000"], Second),
        // Django, pandas
        (&["2024-01-01 10:00:00", "2024-01-01 10:00:00.120000"], Microsecond),
        (&["2024-01-01 10:00:00.000000001"], Nanosecond),
        (&["2024-01-01", "2024-02-29"], Second),
        (&["2024-01-01 10:00", "2024-01-01 00:00"], Second),
        (&["2024-01-01 10:00:00+00:00", "2024-01-01 10:00:00.120000+00:00"], Microsecond),
        (&["2024-01-01T10:00:00Z"], Second),
    ];
    for (texts, unit) in cases {
        assert_eq!(written(texts, unit), texts, "{unit:?}");
    }
}

#[test]
fn no_digit_is_lost() {
    let form = TimestampForm::of_texts(["2024-01-01 10:00".to_owned()].into_iter()).unwrap();
    for (value, unit, expected) in [
        (1, TimeUnit::Second, "1970-01-01 00:00:01"),
        (1, TimeUnit::Nanosecond, "1970-01-01 00:00:00.000000001"),
        (120, TimeUnit::Millisecond, "1970-01-01 00:00:00.120"),
        (0, TimeUnit::Nanosecond, "1970-01-01 00:00"),
    ] {
        let mut text = String::new();
        form.write(value, unit, false, &mut text);
        assert_eq!(text, expected);
    }
}
