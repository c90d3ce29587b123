use proptest::prelude::*;

use super::super::row_selection::RowSelection;
use super::{compact, copy_kept};

/// Both ways give the values whose bit is set.
fn check<T: Copy + PartialEq + std::fmt::Debug>(
    words: &[u64],
    rows: std::ops::Range<usize>,
    value: impl Fn(usize) -> T,
) {
    let kept = RowSelection::new(words, rows.clone());
    let mut values: Vec<T> = (0..rows.len()).map(&value).collect();
    let wanted: Vec<T> = kept.runs().flatten().map(&value).collect();
    // Stored values begin anywhere, and slots behind the one that is written to are others'.
    let bytes = size_of::<T>();
    let mut stored = vec![0u8; 1 + rows.len() * bytes];
    for (row, value) in values.iter().enumerate() {
        // SAFETY: a plain number, and room for it.
        unsafe { stored.as_mut_ptr().add(1 + row * bytes).cast::<T>().write_unaligned(*value) };
    }
    let other = value(usize::MAX >> 8);
    let mut target = vec![other; wanted.len() + 3];
    // SAFETY: a plain number.
    let count = unsafe { copy_kept(&stored[1..], kept, &mut target[..wanted.len() + 1]) };
    assert_eq!(target[..count], wanted);
    assert_eq!(target[count + 1..], [other; 2]);
    let count = compact(&mut values, kept);
    assert_eq!(values[..count], wanted);
}

proptest! {
    #[test]
    fn values_that_are_kept_move_together(
        words in prop::collection::vec(prop_oneof![Just(0), Just(u64::MAX), any::<u64>()], 1..20),
        ends in (any::<prop::sample::Index>(), any::<prop::sample::Index>()),
    ) {
        let (a, b) = (ends.0.index(words.len() * 64 + 1), ends.1.index(words.len() * 64 + 1));
        let rows = a.min(b)..a.max(b);
        check(&words, rows.clone(), |row| row as u8);
        check(&words, rows.clone(), |row| row as u32);
        check(&words, rows.clone(), |row| row as u64);
        check(&words, rows, |row| row as u128);
    }
}
