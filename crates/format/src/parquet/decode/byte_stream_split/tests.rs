use proptest::prelude::*;

use super::joined_streams;

#[test]
fn streams_are_joined() {
    let plain = joined_streams(&[1, 2, 3, 4, 5, 6], 2).ok().map(|bytes| bytes.to_vec());
    assert_eq!(plain, Some(vec![1, 4, 2, 5, 3, 6]));
    assert!(joined_streams(&[1, 2, 3], 2).is_err());
    assert!(joined_streams(&[], 0).is_err());
    assert_eq!(joined_streams(&[], 8).ok().map(|bytes| bytes.len()), Some(0));
}

proptest! {
    /// From Encodings.md: byte `k` of value `i` is byte `i` of stream `k`.
    #[test]
    fn each_byte_has_its_place(
        values in 0usize..200,
        width in 1usize..20,
        bytes in prop::collection::vec(any::<u8>(), 4000),
    ) {
        let data = &bytes[..values * width];
        let place = |at: usize| data[(at % width) * values + at / width];
        let wanted: Vec<u8> = (0..data.len()).map(place).collect();
        prop_assert_eq!(joined_streams(data, width).ok().map(|bytes| bytes.to_vec()), Some(wanted));
    }
}
