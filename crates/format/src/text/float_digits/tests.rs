#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use proptest::prelude::*;

use super::*;

/// The rule as it is said, by the digits that the standard library prints.
fn model(text: &str, nearest: f64) -> bool {
    let digits = |text: &str| -> String {
        let digits: String = text.split(['e', 'E']).next().unwrap().chars().filter(char::is_ascii_digit).collect();
        digits.trim_start_matches('0').to_owned()
    };
    let written = digits(text);
    let written = written.trim_end_matches('0');
    if written.is_empty() {
        return nearest == 0.0;
    }
    digits(&format!("{nearest:.places$e}", places = written.len() - 1)).trim_end_matches('0') == written
        && nearest > 0.0
}

fn check(text: &str) -> bool {
    let nearest: f64 = text.parse().unwrap();
    let kept = keeps_digits(text.as_bytes(), nearest);
    assert_eq!(kept, model(text, nearest), "{text}");
    kept
}

#[test]
fn texts_of_decimal_sources_are_told_from_those_of_doubles() {
    let long_zeros = format!("0.{}1", "0".repeat(900));
    let long_digits = format!("1.{}1", "0".repeat(900));
    for (text, kept) in [
        ("0.1", true),
        ("0", true),
        ("0.000e5", true),
        ("1.000000000000000056e-01", true),
        ("1.000000000000000055511151231257827e-01", true),
        ("1.000000000000000055511151231257828e-01", false),
        ("0.10000000000000000000000000", true),
        ("123456789012345.6", true),
        ("12345678901234567.89", false),
        ("12345678901234568.0", true),
        ("0.12345678901234567", false),
        ("0.12345678901234568", true),
        (".25", true),
        ("25.", true),
        ("1e22", true),
        ("1e400", false),
        ("1e-400", false),
        ("5e-324", true),
        ("3e-324", false),
        ("1e-323", true),
        ("1.7976931348623157E+308", true),
        ("1.7976931348623158e308", false),
        ("1e99999999999", false),
        (long_zeros.as_str(), false),
        (long_digits.as_str(), false),
        // Ties go to the even digit, as in C.
        ("729055138265277.2", true),
        ("729055138265277.3", false),
        ("562949953421312.12", true),
        ("562949953421312.13", false),
    ] {
        assert_eq!(check(text), kept, "{text}");
    }
}

proptest! {
    #[test]
    fn all_texts_of_doubles_are_kept(bits: u64, places in 16usize..25) {
        let double = f64::from_bits(bits & !(1 << 63));
        prop_assume!(double.is_finite());
        // Of two shortest texts that are as near, printers other than the standard library choose the one with the even digit.
        let shortest = zmij::Buffer::new().format_finite(double).to_owned();
        for text in [shortest, format!("{double:.16e}"), format!("{double:.places$e}")] {
            // Whole numbers without a point are looked at elsewhere.
            prop_assert!(check(&text) || !text.contains(['.', 'e']), "{}", text);
        }
    }

    #[test]
    fn the_model_agrees(whole in "[0-9]{0,20}", fraction in "[0-9]{1,20}", exponent in prop::option::of(-330i32..310)) {
        let exponent = exponent.map_or_else(String::new, |exponent| format!("e{exponent}"));
        check(&format!("{whole}.{fraction}{exponent}"));
    }

    #[test]
    fn the_model_agrees_near_the_last_place(double in 1e-20f64..1e17, places in 14usize..19, step in -2i64..=2) {
        let text = format!("{double:.places$e}");
        let (digits, exponent) = text.split_once('e').unwrap();
        let digits: i128 = digits.replace('.', "").parse().unwrap();
        let digits = digits + i128::from(step);
        let digits = digits.to_string();
        check(&format!("{}.{}e{exponent}", &digits[..1], &digits[1..]));
    }
}
