#![allow(clippy::unwrap_used)]

use bson::{Bson, Decimal128, doc};
use lakerace_io::ErrorKind;

use super::count;

#[test]
fn counts_are_integers() {
    for (answer, expected) in [
        (doc! { "n": 0_i32 }, Some(0)),
        (doc! { "n": i32::MAX }, Some(2_147_483_647)),
        (doc! { "n": i64::MAX }, Some(9_223_372_036_854_775_807)),
        (doc! { "n": Bson::Null }, None),
        (doc! { "m": 1_i32 }, None),
    ] {
        assert_eq!(count(&answer, "n").unwrap(), expected, "{answer}");
    }
}

#[test]
fn other_numbers_are_no_counts() {
    let decimal: Decimal128 = "7".parse().unwrap();
    for value in [
        Bson::Double(3.0),
        // Also the nearest float of 2^53 + 1.
        Bson::Double(9_007_199_254_740_992.0),
        Bson::Double(f64::NAN),
        Bson::Decimal128(decimal),
        Bson::Int32(-1),
        Bson::Int64(i64::MIN),
        Bson::String("3".to_owned()),
    ] {
        let error = count(&doc! { "n": value.clone() }, "n").unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported, "{value}");
        assert!(error.to_string().contains("n: "), "{error}");
    }
}
