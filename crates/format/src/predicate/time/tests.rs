use super::*;

#[test]
fn dates() {
    assert_eq!(parse_date("1970-01-01"), Some(0));
    assert_eq!(parse_date("2024-02-29"), Some(19_782));
    assert_eq!(parse_date("1969-12-31"), Some(-1));
    assert_eq!(parse_date("0000-03-01"), Some(-719_468));
    assert_eq!(parse_date("-0001-12-31"), Some(-719_529));
    for wrong in ["", "2023-02-29", "2024-13-01", "2024-00-01", "2024-01-32", "24-01-01", "2024-01-01x", "2024-1-1-1"] {
        assert_eq!(parse_date(wrong), None, "{wrong}");
    }
}

#[test]
fn timestamps() {
    assert_eq!(parse_timestamp("1970-01-02"), Some((DAY_NS, false)));
    assert_eq!(parse_timestamp("1970-01-01 00:00:01"), Some((1_000_000_000, false)));
    assert_eq!(parse_timestamp("1970-01-01T00:00:01.5Z"), Some((1_500_000_000, true)));
    assert_eq!(parse_timestamp("1970-01-01T01:00+01:00"), Some((0, true)));
    assert_eq!(parse_timestamp("1969-12-31T22:30:00-0130"), Some((0, true)));
    assert_eq!(parse_timestamp("1970-01-01 00:00:00.000000001"), Some((1, false)));
    for wrong in
        ["1970-01-01 24:00", "1970-01-01 1:2", "1970-01-01 00:00:60", "1970-01-01 00:00:00.", "x", "1970-01-01T"]
    {
        assert_eq!(parse_timestamp(wrong), None, "{wrong}");
    }
    assert_eq!(parse_timestamp("1970-01-01 00:00:00.0000000001"), None, "finer than a nanosecond");
}
