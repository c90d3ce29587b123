//! Values behind the sample, and in later files: those that would have led to another type are errors, never other values.

use lakerace_format::OnBadRow;
use lakerace_io::ErrorKind;

use crate::csv_read::Case;

/// Each: a value that is sampled, one behind it, and the type that an error advises; none where both are of one type.
const MISFITS: &[(&str, &str, Option<&str>)] = &[
    // Numbers that are written unlike numbers.
    ("98101", "01234", Some("utf8")),
    ("98101", "-01", Some("utf8")),
    ("98101", "+49", Some("utf8")),
    ("98101", "-0", Some("float64")),
    ("98101", "00", Some("utf8")),
    ("98101", "0x10", Some("utf8")),
    ("98101", "1_000", Some("utf8")),
    ("98101", "1.5", Some("float64")),
    ("98101", "9223372036854775808", Some("float64")),
    ("98101", "9223372036854775809", Some("utf8")),
    ("98101", "0", None),
    ("98101", "-7", None),
    ("98101", " 7 ", None),
    ("98101", "9223372036854775807", None),
    // Floats that lose digits, or all of the number.
    ("1.5", "9007199254740993", Some("utf8")),
    ("1.5", "-9007199254740993", Some("utf8")),
    ("1.5", "123456789012345678901", Some("utf8")),
    ("1.5", "1e400", Some("utf8")),
    ("1.5", "-1e400", Some("utf8")),
    ("1.5", "1e-400", Some("utf8")),
    ("1.5", "+1.5", Some("utf8")),
    ("1.5", "01.5", Some("utf8")),
    ("1.5", "INF", Some("utf8")),
    ("1.5", "+inf", Some("utf8")),
    ("1.5", "9007199254740992", None),
    ("1.5", "-inf", None),
    ("1.5", "0", None),
    ("1.5", "-0", None),
    ("1.5", "0.000", None),
    ("1.5", ".25", None),
    ("1.5", "12345678901234567.89", Some("utf8")),
    ("1.5", "-12345678901234567.89", Some("utf8")),
    ("1.5", "0.12345678901234567890", Some("utf8")),
    // Its double is 0.12345678901234568 of all programs.
    ("1.5", "0.12345678901234567", Some("utf8")),
    ("1.5", "1.2345678901234567e-7", Some("utf8")),
    ("1.5", "9.123456789012345678e22", Some("utf8")),
    ("1.5", "1.23e-322", Some("utf8")),
    ("1.5", "0.12345678901234568", None),
    ("1.5", "1.000000000000000056e-01", None),
    ("1.5", "0.100000000000000000000000000000", None),
    ("1.5", "-123456789012345.6", None),
    ("1.5", "1e-300", None),
    ("1.5", "5e-324", None),
    ("1.5", "2.2250738585072014e-308", None),
    ("1.5", "1.7976931348623157e308", None),
    // Booleans in other spellings.
    ("true", "1", Some("utf8")),
    ("true", "t", Some("utf8")),
    ("true", "yes", Some("utf8")),
    ("true", "FALSE", None),
    // Times of another kind.
    ("2024-01-01", "2024-01-01T12:00:00", Some("timestamp(us)")),
    ("2024-01-01", "01/02/2024", Some("utf8")),
    ("2024-01-01", "20240102", Some("utf8")),
    ("2024-01-01T00:00:00Z", "2024-01-01T00:00:00", Some("utf8")),
    ("2024-01-01T00:00:00Z", "2024-01-01", Some("utf8")),
    ("2024-01-01T00:00:00", "2024-01-01T00:00:00Z", Some("utf8")),
    ("2024-01-01T00:00:00", "2024-01-01T00:00:00.1234567", Some("utf8")),
    ("2024-01-01T00:00:00.123456789Z", "2024-01-01T00:00:00", Some("utf8")),
    ("2024-01-01T00:00:00", "2024-01-02", None),
];

#[test]
fn after_the_sample_and_in_later_files_nothing_is_taken_for_another_value() {
    for (sampled, behind, wider) in MISFITS {
        for quote in ["", "\""] {
            let mut case = Case::new(format!("v,n\n{sampled},1\n{quote}{behind}{quote},2\n"));
            case.options.infer_rows = Some(1);
            let mut folder = Case::new(format!("v,n\n{sampled},1\n"));
            folder.files.push(("u.csv", format!("v,n\n\n{quote}{behind}{quote},2\n").into_bytes()));
            for (case, place) in [(case, "t.csv, line 3, column \"v\""), (folder, "u.csv, line 3, column \"v\"")] {
                let Some(wider) = wider else {
                    assert_eq!(case.rows().len(), 2, "{behind} behind {sampled}");
                    continue;
                };
                let error = case.error();
                assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
                let said = error.to_string();
                assert!(said.contains(place) && said.contains("inferred"), "{said}");
                assert!(said.contains(&format!("`schema=v {wider}`")), "{behind} behind {sampled}: {said}");
            }
        }
    }
}

#[test]
fn what_is_after_the_sample_is_what_it_was_in_it() {
    for (sampled, behind, wider) in MISFITS {
        let all = Case::new(format!("v\n{sampled}\n{behind}\n")).read().unwrap();
        let one = Case::new(format!("v\n{sampled}\n")).read().unwrap();
        assert_eq!(all.schema() == one.schema(), wider.is_none(), "{behind} behind {sampled}: {}", all.schema());
    }
}

#[test]
fn a_misfit_is_left_out_or_null_on_request() {
    let text = "zip\n98101\n01234\n";
    let case = |on_bad_row| {
        let mut case = Case::new(text).on_bad_row(on_bad_row);
        case.options.infer_rows = Some(1);
        case.rows()
    };
    assert_eq!(case(OnBadRow::Skip), [["98101"]]);
    assert_eq!(case(OnBadRow::Null), [["98101"], ["-"]]);
}

#[test]
fn a_type_that_is_given_takes_what_is_documented() {
    assert_eq!(Case::new("v\n01234\n+49\n-0\n").schema("v int64").rows(), [["1234"], ["49"], ["0"]]);
    assert_eq!(Case::new("v\n01234\n+49\n").schema("v utf8").rows(), [["01234"], ["+49"]]);
    assert_eq!(Case::new("v\n1\nt\nFalse\n").schema("v bool").rows(), [["true"], ["true"], ["false"]]);
    assert_eq!(Case::new("v\ninf\n-Infinity\n").schema("v float32").rows(), [["inf"], ["-inf"]]);
    for (value, data_type) in [("1e400", "float64"), ("-1e400", "float64"), ("1e39", "float32"), ("70000", "float16")] {
        let error = Case::new(format!("v\n{value}\n")).schema(&format!("v {data_type}")).error();
        assert!(error.to_string().contains("line 2, column \"v\""), "{error}");
    }
}
