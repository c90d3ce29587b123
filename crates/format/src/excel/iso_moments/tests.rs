use super::*;
use crate::excel::cells::duration_text;
use crate::excel::texts::SheetTexts;

/// The text of a value.
fn shown(text: &str, kind: MomentKind, is_1904: bool) -> Option<String> {
    let mut out = String::new();
    match iso_value(text, kind, is_1904)? {
        IsoValue::Moment(moment) => moment.write_text(&SheetTexts::default(), &mut out),
        IsoValue::Duration(days) => out = duration_text(days),
    }
    Some(out)
}

#[test]
fn texts_are_moments_by_their_parts_and_formats() {
    use MomentKind::{Date, DateTime, Time, Unknown};
    let cases = [
        ("2024-02-29", Unknown, "2024-02-29"),
        ("2024-02-29", DateTime, "2024-02-29T00:00:00"),
        ("2024-02-29Z", Date, "2024-02-29"),
        (" 2024-02-29T00:00:00 ", Date, "2024-02-29"),
        ("2024-02-29T00:00:00", Unknown, "2024-02-29T00:00:00"),
        ("2024-02-29T12:30", Date, "2024-02-29T12:30:00"),
        ("2024-02-29T12:30:15.25Z", Unknown, "2024-02-29T12:30:15.250"),
        ("2024-02-29T23:59:59.9996", DateTime, "2024-03-01T00:00:00"),
        ("2024-02-29T12:30:15.123456789", DateTime, "2024-02-29T12:30:15.123"),
        ("0001-01-01", Date, "0001-01-01"),
        ("9999-12-31T23:59:59", DateTime, "9999-12-31T23:59:59"),
        ("12:30:15", Unknown, "12:30:15"),
        ("T12:30", Time, "12:30:00"),
        ("23:59:59.9999", Time, "23:59:59.999"),
        ("1899-12-30T06:30:00", Time, "06:30:00"),
        ("1899-12-31T06:30:00", Time, "06:30:00"),
        ("1899-12-31T06:30:00", DateTime, "1899-12-31T06:30:00"),
        ("1904-01-01T06:30:00", Time, "1904-01-01T06:30:00"),
        ("PT26H30M", Unknown, "26:30:00"),
        ("PT0.25S", Unknown, "00:00:00.250"),
        ("PT90M5S", Time, "01:30:05"),
    ];
    for (text, kind, expected) in cases {
        assert_eq!(shown(text, kind, false).as_deref(), Some(expected), "{text} {kind:?}");
    }
    assert_eq!(shown("1904-01-01T06:30:00", Time, true).as_deref(), Some("06:30:00"));
}

#[test]
fn other_texts_are_none() {
    for text in [
        "",
        "Z",
        "T",
        "x",
        "2024-02-30",
        "2023-02-29",
        "2024-2-9",
        "2024-02-29T",
        "2024-02-29T24:00:00",
        "2024-02-29T12:30:00+02:00",
        "2024-02-29T12:30:00.",
        "2024-02-29T12:30.5",
        "+12024-02-29",
        "0000-01-01",
        "20240229",
        "45351",
        "25:00",
        "P1D",
        "PT",
        "PT5",
        "PTH",
        "PT1M1H",
        "PT1.5H",
        "PT.S",
        "PT99999999999999999S",
        "PT1é",
        "é",
    ] {
        assert_eq!(shown(text, MomentKind::Unknown, false), None, "{text}");
    }
}
