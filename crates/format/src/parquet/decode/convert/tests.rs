use super::{BigEndian, ValueConversion};

/// Two's complement of any length, by shifts of single bytes.
fn value_of(stored: &[u8]) -> i128 {
    let sign = if stored[0] & 0x80 == 0 { 0 } else { -1 };
    stored.iter().fold(sign, |value, byte| value << 8 | i128::from(*byte))
}

#[test]
fn decimals_of_every_width_are_converted_as_one_by_one() {
    let bytes: Vec<u8> = (0..40 * 16_u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
    for width in 1..=16 {
        for count in 0..40 {
            let stored = &bytes[..count * width];
            let expected: Vec<i128> = stored.chunks_exact(width).map(value_of).collect();
            let mut wide = vec![7; count];
            BigEndian::<u128>::new(width).convert_all(stored, &mut wide);
            assert!(wide.iter().map(|value| *value as i128).eq(expected.iter().copied()), "{count} of {width} bytes");
            if width <= 8 {
                let mut narrow = vec![7; count];
                BigEndian::<u64>::new(width).convert_all(stored, &mut narrow);
                assert!(narrow.iter().map(|value| i128::from(*value as i64)).eq(expected), "{count} of {width} bytes");
            }
        }
    }
}
