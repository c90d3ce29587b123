use super::*;

#[test]
fn ranges_are_consecutive_and_not_too_many() {
    assert_eq!(divided(3..=5), [(3, 3), (4, 4), (5, 5)]);
    for last in [7, 206, 207, 1_006, 123_456] {
        let ranges = divided(7..=last);
        assert!(ranges.len() as u64 <= RANGES_AT_MOST, "{last}");
        assert_eq!((ranges[0].0, ranges[ranges.len() - 1].1), (7, last));
        assert!(ranges.windows(2).all(|pair| pair[0].1 + 1 == pair[1].0), "{ranges:?}");
    }
}
