#![allow(clippy::unwrap_used)]

use proptest::prelude::*;

use super::{PackedRun, PaddedDictionary};
use crate::parquet::decode::block::PageBytes;
use crate::parquet::decode::dictionary_indices::{IndexSlots, PageIndexes};

/// Packs indexes after `skipped` bits.
fn pack(indexes: &[u32], width: u32, skipped: usize) -> Vec<u8> {
    let mut bytes = vec![0u8; (skipped + indexes.len() * width as usize).div_ceil(8)];
    for (number, index) in indexes.iter().enumerate() {
        for bit in 0..width as usize {
            let at = skipped + number * width as usize + bit;
            bytes[at / 8] |= ((index >> bit & 1) as u8) << (at % 8);
        }
    }
    bytes
}

fn dictionary(len: usize) -> PaddedDictionary<u64> {
    let mut dictionary = PaddedDictionary::new(len);
    for (number, value) in dictionary.values_mut().iter_mut().enumerate() {
        *value = number as u64 * 3 + 1;
    }
    dictionary
}

/// The values of a page with one run of these indexes, read in two steps.
fn read(indexes: &[u32], width: u32, len: usize, cut: usize) -> lakerace_io::Result<Vec<u64>> {
    let groups = indexes.len().div_ceil(8);
    let mut page = vec![width as u8];
    let mut header = groups << 1 | 1;
    while header >= 0x80 {
        page.push(header as u8 | 0x80);
        header >>= 7;
    }
    page.push(header as u8);
    let mut padded = indexes.to_vec();
    padded.resize(groups * 8, 0);
    page.extend(pack(&padded, width, 0));
    let mut page = PageIndexes::new(PageBytes::Stored(page.into()))?;
    let dictionary = dictionary(len);
    let mut target = vec![0; indexes.len()];
    for part in [0..cut, cut..indexes.len()] {
        let target = &mut target[part.clone()];
        page.read(part.len(), &mut IndexSlots { dictionary: &dictionary, target, at: 0 })?;
    }
    Ok(target)
}

proptest! {
    /// Values taken at once equal those of single indexes, at any bit; an index without a value is never taken.
    #[test]
    fn values_are_those_of_the_indexes(
        width in 1u32..=20,
        skipped in 0usize..24,
        len in 0usize..5000,
        numbers in proptest::collection::vec(any::<u32>(), 0..300),
    ) {
        let indexes: Vec<u32> = numbers.iter().map(|number| number % (1 << width)).collect();
        let bytes = pack(&indexes, width, skipped);
        let dictionary = dictionary(len);
        let mut target = vec![0; indexes.len()];
        let taken = dictionary.gather(&PackedRun { bytes: &bytes, bit: skipped, width, count: indexes.len() }, &mut target);
        prop_assert!(taken <= indexes.len());
        for (index, value) in indexes.iter().zip(&target[..taken]) {
            prop_assert_eq!(Some(value), dictionary.values().get(*index as usize));
        }
    }

    /// A page gives the values of its indexes, or the error of one that is out of range.
    #[test]
    fn pages_give_values_or_an_error(
        width in 1u32..=16,
        len in 1usize..70_000,
        numbers in proptest::collection::vec(any::<u32>(), 1..300),
        bad in any::<proptest::sample::Index>(),
        has_bad in any::<bool>(),
        cut in any::<proptest::sample::Index>(),
    ) {
        let most = len.min(1 << width) as u32;
        let mut indexes: Vec<u32> = numbers.iter().map(|number| number % most).collect();
        let is_wrong = has_bad && (most as usize) < 1 << width;
        if is_wrong {
            let number = bad.index(indexes.len());
            indexes[number] = most + numbers[number] % ((1 << width) - most);
        }
        let found = read(&indexes, width, len, cut.index(indexes.len()));
        if is_wrong {
            prop_assert!(found.unwrap_err().to_string().contains("out of range for a dictionary"));
        } else {
            let expected: Vec<u64> = indexes.iter().map(|index| u64::from(*index) * 3 + 1).collect();
            prop_assert_eq!(found.unwrap(), expected);
        }
    }
}

/// Long runs are taken at once but for the last few values, whose words end after the bytes.
#[test]
fn most_of_a_run_is_taken() {
    for width in 1..=14 {
        let indexes: Vec<u32> = (0..4096).map(|number| number * 7 % (1 << width)).collect();
        let bytes = pack(&indexes, width, 0);
        let mut target = vec![0; indexes.len()];
        let run = PackedRun { bytes: &bytes, bit: 0, width, count: indexes.len() };
        let taken = dictionary(1 << width).gather(&run, &mut target);
        assert!(taken + 80 > indexes.len(), "{taken} values of {width} bits");
    }
    // Eight indexes of eight bits fill a word: they start at its first bit. Others start at any bit.
    for (width, skipped) in [1, 2, 3, 4, 5, 6, 7, 9, 10, 11, 12, 13, 14].into_iter().flat_map(|w| [(w, 1), (w, 7)]) {
        let indexes: Vec<u32> = (0..4096).map(|number| number * 7 % (1 << width)).collect();
        let bytes = pack(&indexes, width, skipped);
        let mut target = vec![0; indexes.len()];
        let run = PackedRun { bytes: &bytes, bit: skipped, width, count: indexes.len() };
        let taken = dictionary(1 << width).gather(&run, &mut target);
        assert!(taken + 80 > indexes.len(), "{taken} values of {width} bits at bit {skipped}");
        assert!(indexes.iter().zip(&target[..taken]).all(|(index, value)| *value == u64::from(*index) * 3 + 1));
    }
}
