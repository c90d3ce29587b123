#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use super::*;
use crate::calendar::civil_from_days;

/// The text with something before and behind it, as it stands in a file.
fn within<T>(text: &str, parse: impl Fn(&[u8], usize, usize) -> Option<T>) -> Option<T> {
    let alone = parse(text.as_bytes(), 0, text.len()).is_some();
    let surrounded = format!("9876543210,{text},0123456789");
    let value = parse(surrounded.as_bytes(), 11, 11 + text.len());
    assert_eq!(alone, value.is_some(), "{text}");
    value
}

#[test]
fn integers_are_exact() {
    let mut random = StdRng::seed_from_u64(1);
    for _ in 0..100_000 {
        let n: i64 = random.random::<i64>() >> random.random_range(0..64);
        assert_eq!(within(&n.to_string(), int64), Some(n));
        let n: u64 = random.random::<u64>() >> random.random_range(0..64);
        assert_eq!(within(&n.to_string(), uint64), Some(n));
    }
    for (text, value) in [
        ("-9223372036854775808", Some(i64::MIN)),
        ("9223372036854775807", Some(i64::MAX)),
        ("9223372036854775808", None),
        ("-9223372036854775809", None),
        ("000000000000000000000000000012", Some(12)),
        ("00000000000000000000", Some(0)),
        ("+5", Some(5)),
        ("-0", Some(0)),
        ("", None),
        ("-", None),
        ("+", None),
        ("--1", None),
        ("1 ", None),
        ("12:4", None),
        ("12/4", None),
        ("1234567/", None),
        ("1e3", None),
        ("1.0", None),
    ] {
        assert_eq!(within(text, int64), value, "{text}");
    }
    assert_eq!(within("18446744073709551615", uint64), Some(u64::MAX));
    assert_eq!(within("18446744073709551616", uint64), None);
    assert_eq!(within("99999999999999999999", uint64), None);
    assert_eq!(within("-1", uint64), None);
}

/// Every byte beside the digits, at every place.
#[test]
fn only_digits_are_digits() {
    for len in 1..=19 {
        for at in 0..len {
            for byte in 0..=255u8 {
                let mut text = vec![b'7'; len];
                text[at] = byte;
                assert_eq!(digits(&text, 0, len).is_some(), byte.is_ascii_digit(), "{text:?}");
            }
        }
    }
}

#[test]
fn floats_are_the_nearest() {
    let mut random = StdRng::seed_from_u64(2);
    for _ in 0..100_000 {
        let text = match random.random_range(0..4) {
            0 => format!("{}", f64::from_bits(random.random())),
            1 => format!("{:.*}", random.random_range(0..17), random.random_range(-1e6..1e6)),
            2 => format!("{}.{}", random.random_range(0..1_000_000), random.random::<u32>()),
            _ => format!("{:e}", random.random::<f64>()),
        };
        let wanted: f64 = text.parse().unwrap();
        let got = within(&text, float64).unwrap_or_else(|| panic!("{text}"));
        assert!(got.to_bits() == wanted.to_bits() || got.is_nan() && wanted.is_nan(), "{text}");
    }
    for bad in ["", "-", ".", "1.2.3", "1.x", "x", "1,5", "--1", "1 ", "0x10", "1.5-", "-.-1"] {
        assert_eq!(within(bad, float64), None, "{bad}");
    }
    assert_eq!(within("-0.0", float64).map(f64::to_bits), Some((-0.0f64).to_bits()));
    assert_eq!(within("-Infinity", float64), Some(f64::NEG_INFINITY));
}

#[test]
fn decimals_lose_nothing() {
    for (text, precision, scale, value) in [
        ("1.5", 15, 2, Some(150)),
        ("-0.05", 15, 2, Some(-5)),
        ("+7", 15, 2, Some(700)),
        ("1.500", 15, 2, Some(150)),
        ("1.505", 15, 2, None),
        ("1234", 3, 0, None),
        ("999", 3, 0, Some(999)),
        ("10", 3, 2, None),
        (".5", 3, 2, Some(50)),
        ("5.", 3, 2, Some(500)),
        (".", 3, 2, None),
        ("", 3, 2, None),
        ("1e2", 9, 0, None),
        ("1500", 3, -2, Some(15)),
        ("1501", 6, -2, None),
        ("99999999999999999999999999999999999999", 38, 0, Some(10i128.pow(38) - 1)),
        ("100000000000000000000000000000000000000", 38, 0, None),
        ("9999999999999999999999999999999999999999999", 38, 0, None),
        ("0000000000000000000000000000000000000000001", 38, 0, Some(1)),
    ] {
        assert_eq!(decimal128(text.as_bytes(), precision, scale), value, "{text}");
        if let Some(value) = value {
            assert_eq!(decimal256(text.as_bytes(), precision, scale), Some(i256::from_i128(value)), "{text}");
        }
    }
    assert_eq!(decimal256(&b"9".repeat(76), 76, 0).map(|v| v.to_string()), Some("9".repeat(76)));
    assert_eq!(decimal256(&b"9".repeat(80), 76, 0), None);
}

#[test]
fn dates_are_those_of_the_calendar() {
    for (text, days) in [
        ("1970-01-01", Some(0)),
        ("1969-12-31", Some(-1)),
        ("2000-02-29", Some(11_016)),
        ("1900-02-29", None),
        ("2023-02-29", None),
        ("0000-01-01", Some(-719_528)),
        ("-0001-12-31", Some(-719_529)),
        ("+10000-01-01", Some(2_932_897)),
        ("9999-12-31", Some(2_932_896)),
        ("10000-01-01", None),
        ("2024-1-01", None),
        ("2024-13-01", None),
        ("2024-00-01", None),
        ("2024-01-00", None),
        ("2024-04-31", None),
        ("2024-01-011", None),
        ("20240101", None),
        ("", None),
        ("-", None),
    ] {
        assert_eq!(date(text.as_bytes()), days, "{text}");
    }
    for days in (-800_000..3_000_000).step_by(97) {
        let (year, month, day) = civil_from_days(days);
        assert_eq!(days_from_civil(year, month, day), days);
    }
}

#[test]
fn times_and_offsets() {
    let us = TimeUnit::Microsecond;
    for (text, value) in [
        ("1970-01-01T00:00:01", Some((1_000_000, None))),
        ("1970-01-01 00:00:01.5", Some((1_500_000, None))),
        ("1970-01-01T00:00:00,000001", Some((1, None))),
        ("1970-01-01T00:00:00.0000010", Some((1, None))),
        ("1970-01-01T00:00:00.0000001", None),
        ("1970-01-01T02:00:00+02:00", Some((0, Some(120)))),
        ("1970-01-01T02:00:00 +0200", Some((0, Some(120)))),
        ("1969-12-31T19:00-05", Some((0, Some(-300)))),
        ("1970-01-01T00:00:00Z", Some((0, Some(0)))),
        ("1970-01-01 00:00:00 UTC", Some((0, Some(0)))),
        ("1970-01-01", Some((0, None))),
        ("1970-01-01T24:00:00", None),
        ("1970-01-01T00:60:00", None),
        ("1970-01-01T00:00:60", None),
        ("1970-01-01T", None),
        ("1970-01-01T00:00:00.", None),
        ("1970-01-01T00:00:00+99:00", None),
        ("1970-01-01T00:00:00x", None),
        ("294247-01-10T04:00:54.775807", None),
        ("+294247-01-10T04:00:54.775807", Some((i64::MAX, None))),
        ("+294247-01-10T04:00:54.775808", None),
    ] {
        assert_eq!(timestamp(text.as_bytes(), us), value, "{text}");
    }
    assert_eq!(time(b"23:59:59.999", TimeUnit::Millisecond), Some(86_399_999));
    assert_eq!(time(b"23:59:59.999", TimeUnit::Second), None);
    assert_eq!(time(b"12:30", TimeUnit::Second), Some(45_000));
}
