#![allow(clippy::unwrap_used, reason = "a test may panic")]

use super::*;

/// Milliseconds of 2024-05-01T10:00:00Z.
const TEN: i128 = 1_714_557_600_000;

fn default() -> DateFormats {
    DateFormats::of_field(None).unwrap()
}

#[test]
fn parts_that_are_missing_are_the_first_of_their_kind() {
    for (text, expected) in [
        ("2024-05-01T10:00:00.1234567Z", TEN * 1_000_000 + 123_456_700),
        ("2024-05-01T10:00:00,123Z", TEN * 1_000_000 + 123_000_000),
        ("2024-05-01T10", TEN * 1_000_000),
        ("2024-05-01T10:00", TEN * 1_000_000),
        ("2024-05-01T12:00:00+0200", TEN * 1_000_000),
        ("2024-05-01T12:00:00+02:00", TEN * 1_000_000),
        ("2024-05-01T12+02", TEN * 1_000_000),
        ("2024-05-01T05:30:00-04:30", TEN * 1_000_000),
        ("2024-05-01T", TEN * 1_000_000 - 10 * 3600 * SECOND_NS),
        ("2024-05", TEN * 1_000_000 - 10 * 3600 * SECOND_NS),
        ("1970", 0),
        ("1969-12-31T23:59:59.999999999Z", -1),
        ("1714557600000", TEN * 1_000_000),
        ("1714557600000.25", TEN * 1_000_000 + 250_000),
        ("-1", -1_000_000),
        ("20240", 20_240_000_000),
    ] {
        assert_eq!(default().text(text), Some(expected), "{text}");
    }
    for wrong in [
        "",
        "2024-13",
        "2024-05-01T24:00",
        "2024-05-01T10:00:00.",
        "2024-05-01T10:00:00.0000000001Z",
        "2024-05-01X",
        "2024-05-01T10Zx",
        "202-05-01",
        "yesterday",
        "1e3",
    ] {
        assert_eq!(default().text(wrong), None, "{wrong}");
    }
}

#[test]
fn the_first_format_that_fits_tells() {
    let epoch_first = DateFormats::of_field(Some("epoch_millis||strict_date_optional_time")).unwrap();
    assert_eq!(epoch_first.text("2024"), Some(2_024_000_000));
    assert_eq!(default().number("2024"), default().text("2024-01-01"));
    assert_eq!(DateFormats::of_text().number("2024"), Some(2_024_000_000));
    let seconds = DateFormats::of_field(Some("epoch_second")).unwrap();
    assert_eq!(seconds.number("1714557600.5"), Some(TEN * 1_000_000 + 500_000_000));
    assert_eq!(seconds.text("2024-05-01"), None);
    assert_eq!(DateFormats::of_field(Some("strict_date_optional_time||dd.MM.yyyy")), None);
}
