use super::*;

/// The text of a serial number.
fn moment(serial: f64, kind: MomentKind, is_1904: bool) -> String {
    let mut text = String::new();
    match CellValue::of_serial(serial, kind, is_1904) {
        CellValue::Bad(bad) => text = bad.shown(&SheetTexts::default()),
        value => value.write_text(&SheetTexts::default(), &mut text),
    }
    text
}

#[test]
fn serial_numbers_count_from_1900_with_a_day_too_many() {
    let cases = [
        (0.0, "1899-12-31"),
        (1.0, "1900-01-01"),
        (59.0, "1900-02-28"),
        (60.0, "the number 60, which is no date of Excel"),
        (61.0, "1900-03-01"),
        (45_351.0, "2024-02-29"),
        (2_958_465.0, "9999-12-31"),
        (2_958_466.0, "the number 2958466, which is no date of Excel"),
        (-1.0, "the number -1, which is no date of Excel"),
    ];
    for (serial, text) in cases {
        assert_eq!(moment(serial, MomentKind::Date, false), text);
    }
}

#[test]
fn serial_numbers_count_from_1904() {
    let cases = [
        (0.0, "1904-01-01"),
        (43_889.0, "2024-02-29"),
        (2_957_003.0, "9999-12-31"),
        (2_957_004.0, "the number 2957004, which is no date of Excel"),
    ];
    for (serial, text) in cases {
        assert_eq!(moment(serial, MomentKind::Date, true), text);
    }
}

#[test]
fn the_format_decides_unless_a_time_would_be_lost() {
    use MomentKind::{Date, DateTime, Time, Unknown};
    let cases = [
        (45_351.5, Date, "2024-02-29T12:00:00"),
        (45_351.0, DateTime, "2024-02-29T00:00:00"),
        (45_351.521_238_425_9, DateTime, "2024-02-29T12:30:35"),
        (45_351.521_238_437_5, DateTime, "2024-02-29T12:30:35.001"),
        (0.5, Time, "12:00:00"),
        (0.0, Time, "00:00:00"),
        (0.999_999_999_9, Time, "1900-01-01T00:00:00"),
        (45_351.25, Time, "2024-02-29T06:00:00"),
        (45_351.0, Unknown, "2024-02-29"),
        (45_351.25, Unknown, "2024-02-29T06:00:00"),
    ];
    for (serial, kind, text) in cases {
        assert_eq!(moment(serial, kind, false), text, "{serial} {kind:?}");
    }
}

#[test]
fn numbers_and_durations_have_texts() {
    let numbers = [
        (1.0, "1"),
        (-0.0, "-0"),
        (0.1, "0.1"),
        (1e15, "1000000000000000"),
        (123_456_789.125, "123456789.125"),
        (1e300, "1e300"),
        (1e-300, "1e-300"),
    ];
    for (number, text) in numbers {
        let mut out = String::new();
        CellValue::Number(number).write_text(&SheetTexts::default(), &mut out);
        assert_eq!(out.replace('+', ""), text);
    }
    let durations = [(0.0, "00:00:00"), (1.104_166_666_666_7, "26:30:00"), (-0.5, "-12:00:00"), (1e-7, "00:00:00.009")];
    for (days, text) in durations {
        assert_eq!(duration_text(days), text);
    }
}

#[test]
fn a_column_has_the_type_that_all_values_fit() {
    use CellValue::{Boolean, Date, Number, Text, Time, Timestamp};
    let (date, at, time) = (Date(1), Timestamp(1), Time(1));
    let stamp = DataType::Timestamp(TimeUnit::Microsecond, None);
    let clock = DataType::Time64(TimeUnit::Microsecond);
    let bad = CellValue::Bad(BadCell::Uncalculated);
    let cases: [(&[CellValue], DataType); 15] = [
        (&[], DataType::Utf8View),
        (&[bad], DataType::Utf8View),
        (&[Number(1.0), bad, Number(-9_007_199_254_740_991.0)], DataType::Int64),
        (&[Number(9_007_199_254_740_992.0)], DataType::Float64),
        (&[Number(1.0), Number(0.5)], DataType::Float64),
        (&[Number(-0.0)], DataType::Float64),
        (&[Boolean(true)], DataType::Boolean),
        (&[Boolean(true), Number(1.0)], DataType::Utf8View),
        (&[date], DataType::Date32),
        (&[date, at], stamp.clone()),
        (&[at], stamp),
        (&[time], clock),
        (&[time, date], DataType::Utf8View),
        (&[Number(1.0), Text(0)], DataType::Utf8View),
        (&[Number(1.0), date], DataType::Utf8View),
    ];
    for (values, expected) in cases {
        let mut kinds = ValueKinds::default();
        values.iter().for_each(|value| kinds.add(value));
        assert_eq!(kinds.data_type(), expected, "{values:?}");
    }
}
