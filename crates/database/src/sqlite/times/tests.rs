use arrow::datatypes::TimeUnit;
use proptest::prelude::*;

use super::*;

const UNITS: [TimeUnit; 4] = [TimeUnit::Second, TimeUnit::Millisecond, TimeUnit::Microsecond, TimeUnit::Nanosecond];

fn timestamp(value: i64, unit: TimeUnit, is_utc: bool) -> String {
    let mut text = String::new();
    write_timestamp(value, unit, is_utc, &mut text);
    text
}

#[test]
fn texts_are_iso() {
    assert_eq!(timestamp(0, TimeUnit::Second, false), "1970-01-01T00:00:00");
    assert_eq!(timestamp(-1, TimeUnit::Microsecond, true), "1969-12-31T23:59:59.999999Z");
    assert_eq!(timestamp(1_709_210_096_000, TimeUnit::Millisecond, false), "2024-02-29T12:34:56.000");
    let mut text = String::new();
    write_date(-719_529, &mut text);
    text.push(' ');
    write_date(2_932_897, &mut text);
    assert_eq!(text, "-0001-12-31 +10000-01-01");
}

#[test]
fn foreign_texts_are_read() {
    let parse = |text| parse_timestamp(text, TimeUnit::Millisecond);
    assert_eq!(parse("1970-01-02"), Some((86_400_000, false)));
    assert_eq!(parse("1970-01-01 00:01"), Some((60_000, false)));
    assert_eq!(parse("1970-01-01 01:00:00.5+01:00"), Some((500, true)));
    assert_eq!(parse("1970-01-01T00:00:00.0001"), None);
    assert_eq!(parse("1970-01-01T00:00:00.1000"), Some((100, false)));
    for text in ["", "now", "1970-1-1", "1970-02-30", "1970-01-01T24:00:00", "20240101", "1970-01-01T00:00:00."] {
        assert_eq!(parse(text), None, "{text}");
    }
}

proptest! {
    #[test]
    fn dates_come_back(days in -2_000_000_000i64..2_000_000_000) {
        let mut text = String::new();
        write_date(days, &mut text);
        prop_assert_eq!(parse_date(&text), Some(days), "{}", text);
    }

    #[test]
    fn timestamps_come_back(value in any::<i64>(), unit in 0usize..4, is_utc in any::<bool>()) {
        let unit = UNITS[unit];
        let text = timestamp(value, unit, is_utc);
        prop_assert_eq!(parse_timestamp(&text, unit), Some((value, is_utc)), "{}", text);
    }
}

#[test]
fn years_that_no_unit_reaches_are_none() {
    for text in ["+99999999999999999-01-01", "-9223372036854775807-01-01", "2023-02-29", "2024-13-01", "2024-00-01"] {
        assert_eq!(parse_date(text), None, "{text}");
    }
    assert_eq!(parse_date("2024-02-29"), Some(19_782));
}
