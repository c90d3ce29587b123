#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use super::*;

fn printed(print: impl Fn(&mut Vec<u8>)) -> String {
    let mut out = b"before".to_vec();
    print(&mut out);
    String::from_utf8(out).unwrap().strip_prefix("before").unwrap().to_owned()
}

#[test]
fn integers_print_as_the_library_prints_them() {
    let mut random = StdRng::seed_from_u64(1);
    for n in [0, 9, 10, 99, 100, u64::MAX, 10u64.pow(19)] {
        assert_eq!(printed(|out| unsigned(n, out)), n.to_string());
    }
    for _ in 0..20_000 {
        let n = random.random::<i64>() >> random.random_range(0..64);
        assert_eq!(printed(|out| signed(n, out)), n.to_string());
    }
    assert_eq!(printed(|out| signed(i64::MIN, out)), i64::MIN.to_string());
}

/// No other text of fewer digits reads back as the same float.
#[test]
fn floats_print_the_shortest_text() {
    let mut random = StdRng::seed_from_u64(2);
    for round in 0..200_000 {
        let n = match round % 4 {
            0 => f64::from_bits(random.random()),
            1 => random.random_range(-1e6..1e6),
            2 => (random.random_range(-1e6..1e6f64) * 100.0).round() / 100.0,
            _ => f64::from(random.random_range(-100_000..100_000)) / 10f64.powi(random.random_range(0..7)),
        };
        let text = printed(|out| float64(n, out));
        let back: f64 = text.parse().unwrap();
        assert!(back.to_bits() == n.to_bits() || n.is_nan() && back.is_nan(), "{n:?} {text}");
        let digits = |text: &str| {
            let mantissa = text.split(['e', 'E']).next().unwrap_or_default().to_owned();
            let digits: String = mantissa.chars().filter(char::is_ascii_digit).collect();
            digits.trim_start_matches('0').trim_end_matches('0').len()
        };
        assert_eq!(digits(&text), digits(&format!("{n:e}")), "{n:?} {text}");
        assert!(!n.is_finite() || text.contains(['.', 'e']), "{text}");
    }
    for (n, text) in [
        (0.0, "0.0"),
        (-0.0, "-0.0"),
        (1.0, "1.0"),
        (-1.5, "-1.5"),
        (0.001, "0.001"),
        (100.25, "100.25"),
        (99_999_999_999.0, "99999999999.0"),
        (f64::NAN, "NaN"),
        (f64::NEG_INFINITY, "-inf"),
    ] {
        assert_eq!(printed(|out| float64(n, out)), text);
    }
}

#[test]
fn decimals_have_all_their_places() {
    for (n, scale, text) in [
        (0, 2, "0.00"),
        (-5, 2, "-0.05"),
        (12_345, 2, "123.45"),
        (7, 0, "7"),
        (7, -2, "700"),
        (0, -2, "0"),
        (10i128.pow(37), 38, "0.10000000000000000000000000000000000000"),
        (-(10i128.pow(38) - 1), 37, "-9.9999999999999999999999999999999999999"),
    ] {
        assert_eq!(printed(|out| decimal128(n, scale, out)), text);
        assert_eq!(printed(|out| decimal256(i256::from_i128(n), scale, out)), text);
    }
}
