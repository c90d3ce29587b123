#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use super::*;

#[test]
fn decimals_come_at_the_scale_of_their_column() {
    let exact = |text, scale| {
        let down = decimal(text, scale, false);
        assert_eq!(down, decimal(text, scale, true), "{text}");
        down
    };
    assert_eq!(exact("12.5", 2), Some(1250));
    assert_eq!(exact("-0.05", 2), Some(-5));
    assert_eq!(exact("7", 0), Some(7));
    assert_eq!(exact("99999999999999999999999999999999999999", 0), Some(10i128.pow(38) - 1));
    for nonsense in ["", "-", ".", "1e5", "1.2.3", "999999999999999999999999999999999999999999"] {
        assert_eq!(exact(nonsense, 1), None);
    }
    assert_eq!((decimal("1.25", 1, false), decimal("1.25", 1, true)), (Some(12), Some(13)));
    assert_eq!((decimal("-1.25", 1, false), decimal("-1.25", 1, true)), (Some(-13), Some(-12)));
}
