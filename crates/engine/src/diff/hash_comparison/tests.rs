use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use super::*;

fn row((key, row): (&u64, &u64)) -> RowHash {
    // Many keys share a slot, and half of their hash.
    RowHash { key: KeyHash { low: key % 8, high: *key }, row: *row }
}

fn side() -> impl Strategy<Value = BTreeMap<u64, u64>> {
    prop::collection::btree_map(0u64..200, 0u64..3, 0..100)
}

proptest! {
    #[test]
    fn a_partition_is_compared_as_two_maps_are(first in side(), second in side()) {
        let rows = [&first, &second].map(|side| side.iter().map(row).collect::<Vec<_>>());
        let found = PartitionDiff::new(&rows[0], &rows[1]);
        let found = found.map_err(|doubled| TestCaseError::fail(format!("{doubled:?}")))?;
        let keys: BTreeSet<u64> = first.keys().chain(second.keys()).copied().collect();
        let count = |is: &dyn Fn(Option<&u64>, Option<&u64>) -> bool| {
            keys.iter().filter(|key| is(first.get(key), second.get(key))).count() as u64
        };
        prop_assert_eq!(found.inserted, count(&|one, _| one.is_none()));
        prop_assert_eq!(found.deleted, count(&|_, two| two.is_none()));
        prop_assert_eq!(found.unchanged, count(&|one, two| one == two));
        prop_assert_eq!(found.changed, count(&|one, two| one.is_some() && two.is_some() && one != two));
        let different = keys.iter().filter(|key| first.get(key) != second.get(key)).map(|key| key % 8);
        let (mut known, mut wanted) = (found.keys, different.collect::<Vec<_>>());
        known.sort_unstable();
        wanted.sort_unstable();
        prop_assert_eq!(known, wanted);
    }

    #[test]
    fn a_key_of_two_rows_is_found(first in side(), second in side(), at in 0usize..100, side in 0usize..2) {
        let mut rows = [&first, &second].map(|side| side.iter().map(row).collect::<Vec<_>>());
        prop_assume!(!rows[side].is_empty());
        let doubled = rows[side][at % rows[side].len()];
        rows[side].push(RowHash { row: doubled.row + 1, ..doubled });
        prop_assert_eq!(PartitionDiff::new(&rows[0], &rows[1]), Err(DoubledKey { side, key: doubled.key }));
    }
}
