#![allow(clippy::unwrap_used)]

use lakerace_io::ErrorKind;

use super::parse_constraint;
use crate::filter::parse_filter;

#[test]
fn texts_that_spark_reads_alike_are_filters() {
    for text in [
        "a > 0 AND `b c` < 1.5",
        "day >= '2020-01-01' AND day < DATE '2030-01-01'",
        "at > TIMESTAMP '2020-01-01T00:00:00Z' -- so it is",
        "state IN ('a', 'b') OR NOT (state LIKE 'x_%')",
        "CASE WHEN a > 0 THEN (b = 'x') ELSE FALSE END",
        "length(t) BETWEEN 1 AND 3 AND coalesce(t, '') <> 'y'",
        "t = X'00FF'",
    ] {
        assert_eq!(parse_constraint(text).unwrap(), parse_filter(text).unwrap(), "{text}");
    }
}

#[test]
fn texts_that_spark_may_read_otherwise_are_refused() {
    for (text, what) in [
        ("t = 'it''s'", "a quote"),
        (r"t LIKE 'a\%'", "backslash"),
        (r#""t" = 'a'"#, "double quotes"),
        ("at < now()", "now"),
        ("trim(t) = 'a'", "trim"),
        ("lower(t) = 'a'", "lower"),
        ("t || 'a' = 'b'", "||"),
        ("t::int = 1", "::"),
        ("CAST(t AS int) = 1", "cast"),
        ("t LIKE 'a' ESCAPE '/'", "escape"),
        ("t ILIKE 'a'", "ilike"),
        ("t = TIME '10:00:00'", "time"),
        ("t = E'a'", ""),
        ("t = N'a'", ""),
    ] {
        let error = parse_constraint(text).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported, "{text}: {error}");
        assert!(error.message().contains(what), "{text}: {error}");
    }
}
