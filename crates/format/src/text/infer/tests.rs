#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use super::*;
use crate::schema_text::print_type;

fn inferred(values: &[&str]) -> String {
    let mut inferred = InferredType::default();
    for value in values {
        inferred.update(value.as_bytes());
    }
    print_type(&inferred.data_type())
}

#[test]
fn the_first_type_that_fits_all() {
    for (values, wanted) in [
        (&["true", "FALSE", ""][..], "bool"),
        (&["t", "f"], "utf8_view"),
        (&["1", "0"], "int64"),
        (&["1", "true"], "utf8_view"),
        (&["1", "-5", "9223372036854775807"], "int64"),
        (&["1", "2.5"], "float64"),
        (&["1e5", ".5", "NaN", "-inf"], "float64"),
        (&["1e999"], "utf8_view"),
        (&["1e-999"], "utf8_view"),
        (&["0e-999", "0.000"], "float64"),
        (&["1.5", "9007199254740993"], "utf8_view"),
        (&["1.5", "9007199254740992"], "float64"),
        (&["9007199254740993"], "int64"),
        (&["-0", "1"], "float64"),
        (&["007"], "utf8_view"),
        (&["00.5"], "utf8_view"),
        (&["0.5", "0"], "float64"),
        (&["+1"], "utf8_view"),
        (&["9223372036854775808"], "float64"),
        (&["9223372036854775809"], "utf8_view"),
        (&["12345678901234567.89"], "utf8_view"),
        (&["1.5", "0.12345678901234567890"], "utf8_view"),
        (&["1.000000000000000056e-01"], "float64"),
        (&["2024-01-01"], "date32"),
        (&["2024-01-01", "2024-01-01T00:00"], "timestamp(us)"),
        (&["2024-01-01T00:00:00Z", "2024-01-01T00:00:00+01:00"], "timestamp(us, UTC)"),
        (&["2024-01-01T00:00:00Z", "2024-01-01T00:00:00"], "utf8_view"),
        (&["2024-01-01T00:00:00.123456789"], "timestamp(ns)"),
        (&["2024-02-30"], "utf8_view"),
        (&["2024-01-01", "5"], "utf8_view"),
        (&["", ""], "utf8_view"),
        (&[], "utf8_view"),
    ] {
        assert_eq!(inferred(values), wanted, "{values:?}");
    }
}
