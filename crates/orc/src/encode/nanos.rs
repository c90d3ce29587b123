//! The fraction of a second of a timestamp.

/// Nanoseconds with their trailing zeros counted: the lower three bits hold that count less one where it is two or more,
/// the rest what is left of the number.
#[inline]
pub(crate) fn encode(nanos: u32) -> i64 {
    if nanos == 0 {
        return 0;
    }
    if !nanos.is_multiple_of(100) {
        return i64::from(nanos) << 3;
    }
    let mut rest = nanos / 100;
    let mut zeros = 1;
    while zeros < 7 && rest.is_multiple_of(10) {
        rest /= 10;
        zeros += 1;
    }
    i64::from(rest) << 3 | zeros
}

#[cfg(test)]
mod tests {
    use super::encode;

    #[test]
    fn writes_the_examples_of_the_specification() {
        assert_eq!(encode(1000), 0x0a);
        assert_eq!(encode(100_000), 0x0c);
    }

    #[test]
    fn gives_back_what_went_in() {
        for nanos in [0, 1, 10, 99, 100, 120, 1_000_000, 123_000_000, 500_000_000, 900_000_000, 999_999_999] {
            let encoded = encode(nanos);
            let zeros = (encoded & 7) as u32;
            let decoded = (encoded >> 3) * if zeros == 0 { 1 } else { 10i64.pow(zeros + 1) };
            assert_eq!(decoded, i64::from(nanos));
        }
    }
}
