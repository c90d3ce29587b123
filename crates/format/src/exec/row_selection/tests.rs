use proptest::prelude::*;

use super::{RowSelection, compress};

fn naive(bits: u64, mask: u64) -> u64 {
    let mut found = (0, 0);
    for bit in (0..64).filter(|bit| mask >> bit & 1 == 1) {
        found = (found.0 | (bits >> bit & 1) << found.1, found.1 + 1);
    }
    found.0
}

fn words() -> impl Strategy<Value = Vec<u64>> {
    prop::collection::vec(prop_oneof![Just(0), Just(u64::MAX), any::<u64>(), (0u32..64).prop_map(|bit| 1 << bit)], 1..8)
}

proptest! {
    #[test]
    fn bits_move_together(bits in any::<u64>(), mask in prop_oneof![any::<u64>(), Just(0), Just(u64::MAX)]) {
        prop_assert_eq!(compress(bits, mask), naive(bits, mask));
    }

    #[test]
    fn rows_are_kept_where_their_bit_is_set(
        words in words(), ends in (any::<prop::sample::Index>(), any::<prop::sample::Index>()), cut in 0usize..600,
    ) {
        let (a, b) = (ends.0.index(words.len() * 64 + 1), ends.1.index(words.len() * 64 + 1));
        let rows = a.min(b)..a.max(b);
        let wanted: Vec<usize> =
            rows.clone().filter(|row| words[row / 64] >> (row % 64) & 1 == 1).map(|row| row - rows.start).collect();
        let mut kept = RowSelection::new(&words, rows.clone());
        prop_assert_eq!((kept.len(), kept.count()), (rows.len(), wanted.len()));
        prop_assert_eq!(kept.leading(), wanted.first().copied().unwrap_or(rows.len()));
        prop_assert_eq!(kept.runs().flatten().collect::<Vec<_>>(), wanted.clone());
        let one_by_one = kept.pieces().flat_map(|piece| piece.kept_rows().map(move |row| piece.start + row));
        prop_assert_eq!(one_by_one.collect::<Vec<_>>(), wanted.clone());
        let first = kept.take(cut);
        prop_assert_eq!(first.len(), cut.min(rows.len()));
        prop_assert_eq!(kept.len(), rows.len() - first.len());
        let both = first.runs().chain(kept.runs().map(|run| run.start + first.len()..run.end + first.len()));
        prop_assert_eq!(both.flatten().collect::<Vec<_>>(), wanted);
    }
}
