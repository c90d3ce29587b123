#![allow(clippy::unwrap_used)]

use proptest::prelude::*;

use super::*;

fn parse(text: &str) -> DecimalNumber {
    DecimalNumber::parse(text).unwrap()
}

#[test]
fn spellings_of_one_number_are_equal() {
    for texts in [&["12.50", "1250e-2", "0012.5", "1.25E+1"][..], &["0", "-0.0", "0e99"], &["-1e3", "-1000"]] {
        assert!(texts.iter().all(|text| parse(text) == parse(texts[0])), "{texts:?}");
    }
    for text in ["", ".", "1e", "1e+", "+1", "1.2.3", "x", "1 ", "0x1", "1_0", "e5"] {
        assert_eq!(DecimalNumber::parse(text), None, "{text:?}");
    }
}

#[test]
fn floors() {
    let floor = |text: &str, scale| parse(text).floor(scale).map(|(floor, rest)| (floor.to_i128().unwrap(), rest));
    assert_eq!(floor("1.005", 2), Some((100, true)));
    assert_eq!(floor("-1.005", 2), Some((-101, true)));
    assert_eq!(floor("1.005", 3), Some((1005, false)));
    assert_eq!(floor("3000", -3), Some((3, false)));
    assert_eq!(floor("3001", -3), Some((3, true)));
    assert_eq!(floor("1e-400", 38), Some((0, true)));
    assert_eq!(floor("-1e-400", 38), Some((-1, true)));
    assert_eq!(parse("1e400").floor(0), None);
    assert_eq!(parse("1e999999999999999999999").floor(0), None);
    assert_eq!(
        floor("1.00500000000000000000000000000000000000000000000000000000000000000000000000000000001", 3),
        Some((1005, true))
    );
}

proptest! {
    #[test]
    fn order_is_that_of_numbers(a in -100_000i64..100_000, b in -100_000i64..100_000, places in 0usize..6) {
        let text = |n: i64| {
            let digits = format!("{:0>width$}", n.unsigned_abs(), width = places + 1);
            let (whole, fraction) = digits.split_at(digits.len() - places);
            format!("{}{whole}.{fraction}", if n < 0 { "-" } else { "" })
        };
        prop_assert_eq!(parse(&text(a)).cmp(&parse(&text(b))), a.cmp(&b));
    }
}
