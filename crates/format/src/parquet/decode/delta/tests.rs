use proptest::prelude::*;

use super::{fixed_byte_arrays, integers, lengths, prefixed_byte_arrays};

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

/// A page of one block of 128 differences of `width` bits after a zero, bit by bit as Encodings.md says.
fn packed(differences: &[u64], width: usize) -> Vec<u8> {
    // The values of a block, its miniblocks, all values (129, as the first one is no difference), the first one, the
    // least difference, and the width.
    let mut bytes = vec![0x80, 1, 1, 0x81, 1, 0, 0, width as u8];
    let start = bytes.len();
    bytes.resize(start + 16 * width, 0);
    for (number, difference) in differences.iter().enumerate() {
        for bit in (0..width).filter(|bit| difference >> bit & 1 == 1) {
            let at = number * width + bit;
            bytes[start + at / 8] |= 1 << (at % 8);
        }
    }
    bytes
}

/// Lengths as DELTA_BINARY_PACKED: each block has one miniblock of 8 differences of 64 bits.
fn lengths_page(lengths: &[u64]) -> Vec<u8> {
    let mut bytes = vec![8, 1, lengths.len() as u8, (lengths[0] * 2) as u8];
    for block in lengths.windows(2).collect::<Vec<_>>().chunks(8) {
        bytes.extend([0, 64]);
        let differences = block.iter().map(|pair| pair[1].wrapping_sub(pair[0])).chain(std::iter::repeat(0)).take(8);
        bytes.extend(differences.flat_map(u64::to_le_bytes));
    }
    bytes
}

proptest! {
    #[test]
    fn differences_of_each_width_are_added_up(
        width in 1usize..=64,
        differences in prop::collection::vec(any::<u64>(), 128),
    ) {
        let differences: Vec<u64> = differences.iter().map(|bits| bits >> (64 - width)).collect();
        let mut sum = 0u64;
        let sums = std::iter::once(0).chain(differences.iter().map(|difference| {
            sum = sum.wrapping_add(*difference);
            sum
        }));
        let wanted: Vec<u8> = sums.flat_map(u64::to_le_bytes).collect();
        let plain = integers(&packed(&differences, width), 8, 129).ok().map(|bytes| bytes.to_vec());
        prop_assert_eq!(plain, Some(wanted));
    }

    /// Prefixes of the preceding value, as long as possible, and suffixes: Encodings.md.
    #[test]
    fn prefixes_are_expanded(values in prop::collection::vec("[ab]{0,40}", 1..100)) {
        let (mut prefixes, mut suffixes, mut bytes, mut last) = (Vec::new(), Vec::new(), Vec::new(), "");
        for value in &values {
            let shared = value.bytes().zip(last.bytes()).take_while(|(a, b)| a == b).count();
            prefixes.push(shared as u64);
            suffixes.push((value.len() - shared) as u64);
            bytes.extend_from_slice(&value.as_bytes()[shared..]);
            last = value;
        }
        let page = [lengths_page(&prefixes), lengths_page(&suffixes), bytes].concat();
        let length = |value: &String| (value.len() as u32).to_le_bytes().to_vec();
        let wanted: Vec<u8> = values.iter().flat_map(|value| [length(value), value.clone().into_bytes()].concat()).collect();
        let plain = prefixed_byte_arrays(&page, values.len()).ok().map(|bytes| bytes.to_vec());
        prop_assert_eq!(plain, Some(wanted));
        prop_assert!(prefixed_byte_arrays(&page[..page.len() - 1], values.len()).is_err() || page.ends_with(&[0]));
    }

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
