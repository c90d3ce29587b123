use proptest::prelude::*;

use super::{fixed_byte_arrays, integers, joined_streams, lengths, prefixed_byte_arrays};

/// From Encodings.md: 1, 2, 3, 4, 5 has a least difference of 1 and widths of 0.
#[test]
fn the_example_of_the_specification() {
    let data = [128, 1, 4, 5, 2, 2, 0, 0, 0, 0];
    let plain = integers(&data, 4, 5).ok().map(|bytes| bytes.to_vec());
    let wanted: Vec<u8> = (1..=5i32).flat_map(i32::to_le_bytes).collect();
    assert_eq!(plain, Some(wanted));
    assert!(integers(&data, 4, 4).is_err(), "more values than the page has");
    assert!(integers(&data, 3, 5).is_err());
    let claimed = integers(&data, 8, 1 << 30).err().map(|error| error.to_string());
    assert_eq!(claimed.as_deref(), Some("a page of 1073741824 packed values is too large"));
}

#[test]
fn lengths_that_are_none_are_errors() {
    let error = |data: &[u8], count| lengths(data, count).err().map(|error| error.to_string());
    // Values from 1 on that fall by 2.
    assert_eq!(error(&[128, 1, 4, 2, 2, 3, 0, 0, 0, 0], 2).as_deref(), Some("a value has a negative length"));
    assert_eq!(error(&[128, 1, 4, 2, 2, 3, 0, 0, 0, 0], 1).as_deref(), Some("a page of 1 has 2 packed values"));
    assert_eq!(error(&[], 1 << 29).as_deref(), Some("a page of 536870912 lengths is too large"));
}

#[test]
fn streams_are_joined() {
    let plain = joined_streams(&[1, 2, 3, 4, 5, 6], 2).ok().map(|bytes| bytes.to_vec());
    assert_eq!(plain, Some(vec![1, 4, 2, 5, 3, 6]));
    assert!(joined_streams(&[1, 2, 3], 2).is_err());
}

proptest! {
    #[test]
    fn noise_does_no_harm(noise in prop::collection::vec(any::<u8>(), 0..200), count in 0usize..1000) {
        let _ = integers(&noise, 8, count);
        if let Ok((found, end)) = lengths(&noise, count) {
            prop_assert!(end <= noise.len() && found.peek(usize::MAX).len() <= count);
            prop_assert_eq!(found.sum(), found.peek(usize::MAX).iter().map(|length| u64::from(*length)).sum::<u64>());
        }
        let _ = prefixed_byte_arrays(&noise, count);
        let _ = fixed_byte_arrays(&noise, count, 3);
    }
}
