#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test may panic")]

use proptest::prelude::*;

use super::*;

proptest! {
    #[test]
    fn timestamps_are_read_as_they_were_written(value in any::<i64>(), is_instant in any::<bool>()) {
        for unit in [TimeUnit::Second, TimeUnit::Millisecond, TimeUnit::Microsecond, TimeUnit::Nanosecond] {
            let mut text = Vec::new();
            if write_timestamp(&mut text, value, unit, is_instant).is_err() {
                continue;
            }
            let (days, nanoseconds, has_zone) = quick_timestamp(&text).unwrap();
            let total = i128::from(days) * 86_400_000_000_000 + i128::from(nanoseconds);
            prop_assert_eq!(total, i128::from(value) * i128::from(1_000_000_000 / units_per_second(unit)));
            prop_assert_eq!(has_zone, is_instant);
            let slow = lakerace_format::predicate::time::parse_timestamp(std::str::from_utf8(&text).unwrap());
            prop_assert_eq!(slow, Some((total, is_instant)));
        }
    }

    #[test]
    fn dates_are_read_as_they_were_written(days in -719_528_i64..=2_932_896) {
        let mut text = Vec::new();
        write_date(&mut text, days).unwrap();
        prop_assert_eq!(quick_date(&text), Some(days));
    }
}

#[test]
fn what_is_no_date_is_none() {
    for wrong in ["2023-02-29", "2023-13-01", "2023-1-01", "20230101", "2023-00-10", "", "2023-01-01T"] {
        assert_eq!(quick_date(wrong.as_bytes()), None, "{wrong}");
    }
    for wrong in ["2023-01-01", "2023-01-01T24:00:00", "2023-01-01T00:00:00.", "2023-01-01T00:00:00.1234567890"] {
        assert_eq!(quick_timestamp(wrong.as_bytes()), None, "{wrong}");
    }
    assert!(write_date(&mut Vec::new(), 2_932_897).is_err());
    assert!(write_date(&mut Vec::new(), -719_529).is_err());
}

#[test]
fn clocks_are_within_a_day() {
    let day = 86_400_000_000_000;
    for (value, expected) in [(0, "00:00:00.000"), (day - 1, "23:59:59.999")] {
        let mut text = Vec::new();
        write_clock(&mut text, value, TimeUnit::Millisecond).unwrap();
        assert_eq!(text, expected.as_bytes());
    }
    for value in [-1, day, i64::MIN, i64::MAX] {
        let mut text = Vec::new();
        assert!(write_clock(&mut text, value, TimeUnit::Nanosecond).is_err(), "{value}");
        assert_eq!(text, b"");
    }
}
