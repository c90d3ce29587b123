//! The fraction of a second of a timestamp.

/// Encodes nanoseconds without their trailing zeros: the lower three bits hold the number of zeros less one if it is
/// two or more, the other bits the remaining number.
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
mod tests;
