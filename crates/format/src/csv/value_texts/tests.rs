#![allow(clippy::unwrap_used)]

use lakerace_io::ErrorKind;

use super::ValueTexts;
use crate::CsvOptions;

fn values(date: Option<&str>, timestamp: Option<&str>) -> ValueTexts {
    let owned = |format: Option<&str>| format.map(str::to_owned);
    // A number of seconds needs columns with types.
    let schema = Some("t timestamp(ns, UTC)".to_owned());
    let (date_format, timestamp_format) = (owned(date), owned(timestamp));
    let options = CsvOptions { date_format, timestamp_format, schema, ..CsvOptions::default() };
    ValueTexts::new(&options).unwrap()
}

fn shown(text: Option<std::borrow::Cow<'_, [u8]>>) -> Option<String> {
    text.map(|text| String::from_utf8(text.into_owned()).unwrap())
}

#[test]
fn dates_are_put_in_iso_8601() {
    let cases = [
        ("%d.%m.%Y", "29.02.2024", Some("2024-02-29")),
        ("%d.%m.%Y", "29.02.2023", None),
        ("%d.%m.%Y", "1.2.2024", Some("2024-02-01")),
        ("%d.%m.%Y", "2024-02-29", None),
        ("%d.%m.%Y", "29.02.2024 ", Some("2024-02-29")),
        ("%d.%m.%Y", "29.02.2024x", None),
        ("%m/%d/%y", "02/29/24", Some("2024-02-29")),
        ("%d %b %Y", "29 Feb 2024", Some("2024-02-29")),
        ("%Y%m%d", "20240229", Some("2024-02-29")),
        ("%Y-%j", "2024-060", Some("2024-02-29")),
    ];
    for (format, text, expected) in cases {
        assert_eq!(shown(values(Some(format), None).date(text.as_bytes())).as_deref(), expected, "{format} {text}");
    }
}

#[test]
fn timestamps_are_put_in_iso_8601() {
    let cases = [
        ("%d.%m.%Y %H:%M", "29.02.2024 13:45", Some("2024-02-29T13:45:00")),
        ("%d.%m.%Y %H:%M:%S%.f", "29.02.2024 13:45:01.25", Some("2024-02-29T13:45:01.250")),
        ("%d.%m.%Y %H:%M:%S%.f", "29.02.2024 13:45:01", Some("2024-02-29T13:45:01")),
        ("%m/%d/%Y %I:%M %p", "02/29/2024 01:45 PM", Some("2024-02-29T13:45:00")),
        ("%Y-%m-%d %H:%M:%S %z", "2024-02-29 13:45:00 +0200", Some("2024-02-29T11:45:00Z")),
        ("%s", "1709214300", Some("2024-02-29T13:45:00Z")),
        ("%d.%m.%Y", "29.02.2024", Some("2024-02-29T00:00:00")),
        ("%d.%m.%Y %H:%M", "29.02.2024 25:00", None),
    ];
    for (format, text, expected) in cases {
        let found = shown(values(None, Some(format)).timestamp(text.as_bytes()));
        assert_eq!(found.as_deref(), expected, "{format} {text}");
    }
}

#[test]
fn numbers_with_a_comma_get_a_point() {
    let values = ValueTexts { decimal_comma: true, ..ValueTexts::default() };
    for (text, expected) in
        [("1,5", Some("1.5")), ("-0,25", Some("-0.25")), ("12", Some("12")), ("1.5", None), ("1,2,3", Some("1.2,3"))]
    {
        assert_eq!(shown(values.number(text.as_bytes())).as_deref(), expected, "{text}");
        assert_eq!(shown(values.inferred(text.as_bytes())).as_deref(), expected, "{text}");
    }
    assert_eq!(shown(values.inferred(b"2024-02-29 00:00:00.5")).as_deref(), Some("2024-02-29 00:00:00.5"));
}

#[test]
fn formats_without_a_meaning_are_refused() {
    for format in ["%Q", "%", "day", ""] {
        let options = CsvOptions { date_format: Some(format.to_owned()), ..CsvOptions::default() };
        assert_eq!(ValueTexts::new(&options).unwrap_err().kind(), ErrorKind::Usage, "{format:?}");
    }
}
