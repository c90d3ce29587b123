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
    // A float between these two is the integer.
    assert_eq!(integer("9007199254740991.4"), None);
    assert_eq!(integer("9007199254740993.0"), Some(9_007_199_254_740_993));
    assert_eq!(unsigned("18446744073709551615"), Some(u64::MAX));
    assert_eq!(unsigned("18446744073709551615.0"), Some(u64::MAX));
    assert_eq!((unsigned("18446744073709551616"), unsigned("-1")), (None, None));
}

#[test]
fn floats_hold_the_number_or_are_none() {
    assert_eq!(float64("0.1234567890123456789"), Some(0.123_456_789_012_345_68));
    assert_eq!(float64("9007199254740992"), Some(9_007_199_254_740_992.0));
    assert_eq!(float64("9223372036854776000"), Some(9_223_372_036_854_775_808.0));
    assert_eq!(float64("9223372036854775808"), Some(9_223_372_036_854_775_808.0));
    assert_eq!((float64("9007199254740993"), float64("-9007199254740993"), float64("1e400")), (None, None, None));
    assert_eq!(float32("0.1"), Some(0.1));
    assert_eq!(float32("16777216"), Some(16_777_216.0));
    assert_eq!(float32("0.30000001192092896"), Some(0.3));
    assert_eq!(float32("3.4028235e38"), Some(f32::MAX));
    assert_eq!(float32("1e-45"), Some(f32::from_bits(1)));
    assert_eq!((float32("16777217"), float32("0.123456789012"), float32("12345678.9")), (None, None, None));
    assert_eq!((float32("1e39"), float32("1e-50")), (None, None));
    assert!(float64("NaN").is_some_and(f64::is_nan));
}
