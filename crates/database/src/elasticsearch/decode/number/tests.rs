#![allow(clippy::unwrap_used, reason = "a test may panic")]

use super::*;

#[test]
fn decimals_are_exact_or_none() {
    let cases = [
        ("1.50", 5, 2, Some(150)),
        ("-1.5", 5, 2, Some(-150)),
        ("1.505", 5, 2, None),
        ("1.500", 5, 2, Some(150)),
        ("1e2", 5, 2, Some(10000)),
        ("1e3", 5, 2, None),
        ("0.001", 5, 2, None),
        ("0.000", 5, 2, Some(0)),
        ("123", 3, 0, Some(123)),
        ("1234", 3, 0, None),
        ("1200", 3, -2, Some(12)),
        ("x", 3, 0, None),
        ("", 3, 0, None),
        ("1e-2", 3, 2, Some(1)),
    ];
    for (text, precision, scale, expected) in cases {
        assert_eq!(decimal(text, precision, scale), expected.map(i256::from_i128), "{text}");
    }
    let nines = "9".repeat(38);
    assert_eq!(decimal(&nines, 38, 0).map(|value| value.to_string()), Some(nines));
}

#[test]
fn integers_are_exact_or_none() {
    assert_eq!(integer("9223372036854775807"), Some(i64::MAX));
    assert_eq!(integer("9223372036854775808"), None);
    assert_eq!(integer("1.0"), Some(1));
    assert_eq!(integer("1.7"), None);
    assert_eq!(integer("1e3"), Some(1000));
}
