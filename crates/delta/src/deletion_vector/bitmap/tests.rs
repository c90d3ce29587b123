#![allow(clippy::unwrap_used)]

use lakerace_io::ErrorKind;
use proptest::prelude::*;
use roaring::RoaringTreemap;

use super::bits;

fn stored(rows: &RoaringTreemap) -> Vec<u8> {
    let mut bytes = Vec::new();
    rows.serialize_into(&mut bytes).unwrap();
    bytes
}

fn set(bits: &[u8]) -> Vec<u64> {
    (0..bits.len() as u64 * 8).filter(|row| bits[*row as usize / 8] >> (row % 8) & 1 == 1).collect()
}

/// Scattered rows (few: a list, many: bits) and runs, in several containers.
fn rows() -> impl Strategy<Value = RoaringTreemap> {
    let scattered = (any::<u64>(), 0u64..400_000, 1u64..200);
    let runs = prop::collection::vec((0u64..400_000, 1u64..100_000), 0..4);
    (scattered, runs, any::<bool>()).prop_map(|((seed, end, one_of), runs, optimized)| {
        let is_in = |row: &u64| ((row ^ seed).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40).is_multiple_of(one_of);
        let mut rows: RoaringTreemap = (0..end).filter(is_in).collect();
        for (start, length) in runs {
            rows.insert_range(start..start + length);
        }
        if optimized {
            rows.optimize();
        }
        rows
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]

    #[test]
    fn the_bits_are_those_of_the_rows(rows in rows()) {
        prop_assert_eq!(set(&bits(&stored(&rows), 1 << 20).unwrap()), rows.iter().collect::<Vec<_>>());
    }

    #[test]
    fn damage_does_no_harm(rows in rows(), at in any::<prop::sample::Index>(), value in any::<u8>(), cut in any::<bool>()) {
        let mut bytes = stored(&rows);
        let at = at.index(bytes.len());
        bytes[at] = value;
        if cut {
            bytes.truncate(at);
        }
        match bits(&bytes, 1 << 20) {
            Ok(bits) => prop_assert!(bits.len() <= (1 << 20) / 8),
            Err(error) => prop_assert_eq!(error.kind(), ErrorKind::Corrupt),
        }
    }
}

#[test]
fn rows_of_many_billions_have_their_place() {
    let rows: RoaringTreemap = [7, (1 << 32) + 9].into_iter().collect();
    let found = bits(&stored(&rows), 1 << 33).unwrap();
    assert!(found[0] == 1 << 7 && found[(1 << 29) + 1] == 1 << 1);
    let error = bits(&stored(&rows), 1 << 32).unwrap_err();
    assert!(error.to_string().contains("4294967296"), "{error}");
    // A log may say of a file what it likes.
    let absurd: RoaringTreemap = [7, 1 << 50].into_iter().collect();
    assert_eq!(bits(&stored(&absurd), 1 << 60).unwrap_err().kind(), ErrorKind::Unsupported);
}
