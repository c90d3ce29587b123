#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, BooleanArray, Date32Array, Decimal128Array, DictionaryArray, Float64Array, Int8Array, Int64Array,
    LargeStringArray, RecordBatch, StringArray, StringViewArray, TimestampMicrosecondArray, UInt16Array,
};
use arrow::datatypes::Int32Type;
use lakerace_format::predicate::{Bounds, Value};
use lakerace_io::ErrorKind;
use proptest::prelude::*;

use super::*;

fn batch(columns: Vec<(&str, ArrayRef)>) -> RecordBatch {
    RecordBatch::try_from_iter(columns).unwrap()
}

fn encode(columns: Vec<(&str, ArrayRef)>) -> Keys {
    let batch = batch(columns);
    let names: Vec<String> = batch.schema().fields().iter().map(|field| field.name().clone()).collect();
    KeyColumns::new(&batch.schema(), &names).unwrap().keys(&batch, 0).unwrap()
}

fn ints(values: impl IntoIterator<Item = i64>) -> ArrayRef {
    Arc::new(values.into_iter().collect::<Int64Array>())
}

fn texts(values: &[&str]) -> ArrayRef {
    Arc::new(StringArray::from(values.to_vec()))
}

#[test]
fn many_keys_sort_as_few_do() {
    let spread = |row: u64| row.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let shapes: [fn(u64) -> u64; 6] = [
        |mixed| mixed,
        |mixed| mixed % 1000,
        |mixed| mixed >> 63,
        // Some of them a few times.
        |mixed| mixed >> 46,
        // All but one within a thousandth of the range.
        |mixed| if mixed % 50_000 == 7 { u64::MAX } else { mixed >> 12 },
        |_| 5,
    ];
    for (number, shape) in shapes.into_iter().enumerate() {
        for rows in [2, 5000, 200_000] {
            let keys: Vec<u64> = (0..rows).map(|row| shape(spread(row))).collect();
            let wide: Vec<u128> = keys.iter().map(|key| u128::from(*key) << 60).collect();
            let mut expected: Vec<u32> = (0..rows as u32).collect();
            expected.sort_by_key(|row| keys[*row as usize]);
            for threads in [1, 3] {
                for keys in [Keys::Narrow(keys.clone()), Keys::Wide(wide.clone())] {
                    let (sorted, order) = keys.clone().sorted(threads);
                    let order = order.unwrap_or_else(|| (0..rows as u32).collect());
                    assert!(order == expected, "shape {number}, {rows} rows, {threads} threads");
                    assert!(sorted == keys.take(&order), "shape {number}, {rows} rows, {threads} threads");
                }
            }
        }
    }
}

#[test]
fn keys_sort_as_their_columns() {
    let keys = encode(vec![("k", ints([3, -1, i64::MIN, i64::MAX, 0]))]);
    assert!(matches!(keys, Keys::Narrow(_)));
    assert_eq!(keys.sorted(2).1.unwrap(), [2, 1, 4, 0, 3]);
    // Two columns of 64 bits: the first decides.
    let keys = encode(vec![("a", ints([1, -1, 1])), ("b", ints([-5, 9, -6]))]);
    assert!(matches!(keys, Keys::Wide(_)));
    assert_eq!(keys.sorted(2).1.unwrap(), [1, 2, 0]);
    // Narrow ones share 64 bits.
    let small: ArrayRef = Arc::new(Int8Array::from(vec![-1, 1, -1]));
    let day: ArrayRef = Arc::new(Date32Array::from(vec![5, -5, -7]));
    let flag: ArrayRef = Arc::new(BooleanArray::from(vec![true, false, false]));
    let number: ArrayRef = Arc::new(UInt16Array::from(vec![1, 2, 3]));
    let keys = encode(vec![("a", small), ("b", day), ("c", flag), ("d", number)]);
    assert!(matches!(keys, Keys::Narrow(_)));
    assert_eq!(keys.sorted(2).1.unwrap(), [2, 0, 1]);
    let money: ArrayRef =
        Arc::new(Decimal128Array::from(vec![5, -5, i128::MIN]).with_precision_and_scale(38, 2).unwrap());
    assert_eq!(encode(vec![("k", money)]).sorted(2).1.unwrap(), [2, 1, 0]);
    assert_eq!(encode(vec![("k", texts(&["b", "", "ab", "b\0"]))]).sorted(2).1.unwrap(), [1, 2, 0, 3]);
    let composite = encode(vec![("a", texts(&["b", "a", "ab"])), ("b", ints([1, 2, 3]))]);
    assert_eq!(composite.sorted(2).1.unwrap(), [1, 2, 0]);
    assert_eq!(encode(vec![("k", ints([1, 1, 2]))]).sorted(2).1, None);
}

#[test]
fn strings_have_one_key_in_all_layouts() {
    let words = ["", "a", "a string of more than twelve bytes, and of more than thirty-two"];
    let dictionary: DictionaryArray<Int32Type> = words.into_iter().collect();
    let layouts: Vec<ArrayRef> = vec![
        texts(&words),
        Arc::new(LargeStringArray::from(words.to_vec())),
        Arc::new(StringViewArray::from(words.to_vec())),
        Arc::new(dictionary),
    ];
    for composite in [false, true] {
        let of = |array: &ArrayRef| {
            let mut columns = vec![("k", array.clone())];
            if composite {
                columns.push(("n", ints([1, 2, 3])));
            }
            encode(columns)
        };
        for layout in &layouts[1..] {
            assert_eq!(of(layout), of(&layouts[0]), "{}", layout.data_type());
        }
        // A slice of an array is keyed by its own rows.
        assert_eq!(encode(vec![("k", layouts[0].slice(1, 2))]), encode(vec![("k", texts(&words[1..]))]));
    }
}

#[test]
fn a_null_key_is_refused_by_row_and_column() {
    let rows = batch(vec![("k", ints([1, 2])), ("s", Arc::new(StringArray::from(vec![Some("a"), None])))]);
    let error = KeyColumns::new(&rows.schema(), &["k", "s"]).unwrap().keys(&rows, 1000).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid);
    assert!(error.message().contains("\"s\" is null in row 1001"), "{error}");
}

#[test]
fn wrong_key_columns_are_refused() {
    let rows = batch(vec![("id", ints([1])), ("x", Arc::new(Float64Array::from(vec![1.0])))]);
    let kind = |names: &[&str]| {
        let error = KeyColumns::new(&rows.schema(), names).unwrap_err();
        (error.kind(), error.to_string())
    };
    assert_eq!(kind(&[]).0, ErrorKind::Usage);
    assert_eq!(kind(&["id", "id"]).0, ErrorKind::Usage);
    assert_eq!(kind(&["ID"]), (ErrorKind::NotFound, "there is no column \"ID\" (did you mean \"id\"?)".to_owned()));
    assert_eq!(kind(&["x"]).0, ErrorKind::Unsupported);
    let columns = KeyColumns::new(&rows.schema(), &["id"]).unwrap();
    let other = batch(vec![("id", texts(&["1"]))]);
    assert_eq!(columns.keys(&other, 0).unwrap_err().kind(), ErrorKind::Invalid);
    let without = batch(vec![("n", ints([1]))]);
    assert_eq!(columns.keys(&without, 0).unwrap_err().kind(), ErrorKind::Invalid);
}

#[test]
fn time_zones_are_names_only() {
    let at = |zone: &str| -> ArrayRef { Arc::new(TimestampMicrosecondArray::from(vec![5]).with_timezone(zone)) };
    let utc = batch(vec![("t", at("UTC"))]);
    let columns = KeyColumns::new(&utc.schema(), &["t"]).unwrap();
    let berlin = columns.keys(&batch(vec![("t", at("Europe/Berlin"))]), 0).unwrap();
    assert_eq!(berlin, columns.keys(&utc, 0).unwrap());
    let local: ArrayRef = Arc::new(TimestampMicrosecondArray::from(vec![5]));
    assert!(columns.keys(&batch(vec![("t", local)]), 0).is_err());
}

#[test]
fn repeated_keys_are_found() {
    let keys = encode(vec![("k", ints([1, 1, 2, 3, 3, 3]))]);
    assert_eq!(keys.repeated(), [0..2, 3..6]);
    assert!(encode(vec![("k", ints([]))]).repeated().is_empty());
}

/// Rows and indexes that a set finds in a batch.
fn found(set: &KeySet, batch: &Keys) -> Vec<(usize, usize)> {
    let mut all = Vec::new();
    set.find(batch, |row, index| all.push((row, index)));
    all
}

fn set_of(values: &[i64], as_text: bool) -> KeySet {
    let keys = keys_of(values, as_text);
    KeySet::new(keys.sorted(2).0)
}

fn keys_of(values: &[i64], as_text: bool) -> Keys {
    if as_text {
        let texts: Vec<String> = values.iter().map(|value| format!("{value:020}")).collect();
        encode(vec![("k", Arc::new(StringArray::from(texts)))])
    } else {
        encode(vec![("k", ints(values.iter().copied()))])
    }
}

proptest! {
    #[test]
    fn a_set_finds_what_is_in_it(
        of in proptest::collection::btree_set(0i64..300, 0..60),
        mut rows in proptest::collection::vec(0i64..300, 0..120),
        stretches in 0usize..7,
        as_text: bool,
        spread in proptest::sample::select(vec![1i64, 1000, 1 << 50]),
    ) {
        // In order, in several stretches of which each is, or in none.
        let length = if stretches == 0 { 1 } else { rows.len().div_ceil(stretches).max(1) };
        rows.chunks_mut(length).for_each(<[i64]>::sort_unstable);
        rows.iter_mut().for_each(|row| *row *= spread);
        let of: Vec<i64> = of.into_iter().map(|key| key * spread).collect();
        let set = set_of(&of, as_text);
        let expected: Vec<_> = rows
            .iter()
            .enumerate()
            .filter_map(|(row, value)| of.binary_search(value).ok().map(|index| (row, index)))
            .collect();
        prop_assert_eq!(found(&set, &keys_of(&rows, as_text)), expected);
    }

    #[test]
    fn appended_keys_are_those_of_one_batch(one in proptest::collection::vec(0i64..99, 0..20), two in proptest::collection::vec(0i64..99, 0..20), as_text: bool) {
        let mut keys = keys_of(&one, as_text);
        keys.append(keys_of(&two, as_text));
        let all: Vec<i64> = one.into_iter().chain(two).collect();
        prop_assert_eq!(keys, keys_of(&all, as_text));
    }
}

#[test]
fn many_keys_are_found_however_they_lie() {
    let mixed = |n: i64| n.wrapping_mul(0x5851_f42d_4c95_7f2d) & i64::MAX;
    let shapes: [fn(i64) -> i64; 3] = [
        // Evenly over all numbers: in buckets. In two heaps at the ends, with gaps: in a hash table. Side by side: bits.
        |n| n.wrapping_mul(0x5851_f42d_4c95_7f2d) & i64::MAX,
        |n| if n % 2 == 0 { n * 1000 } else { i64::MAX - n * 1000 },
        |n| n,
    ];
    for (number, shape) in shapes.into_iter().enumerate() {
        let mut of: Vec<i64> = (0..6000).map(shape).collect();
        of.sort_unstable();
        let set = set_of(&of, false);
        // As many rows as keys, many more and many fewer, half of them in the set; in order and not.
        for rows in [6000, 90_000, 300] {
            let mut values: Vec<i64> = (0..rows).map(|n| shape(mixed(n) % 12_000)).collect();
            for stretches in [0, 3, 1] {
                if stretches > 0 {
                    let length = values.len().div_ceil(stretches);
                    values.chunks_mut(length).for_each(<[i64]>::sort_unstable);
                }
                let index = |value: &i64| of.binary_search(value).ok();
                let expected: Vec<_> =
                    values.iter().enumerate().filter_map(|(row, value)| Some((row, index(value)?))).collect();
                assert!(expected.len() > rows as usize / 3);
                assert!(found(&set, &keys_of(&values, false)) == expected, "shape {number}, {rows} rows, {stretches}");
            }
        }
    }
}

#[test]
fn ranges_of_first_columns_are_ranges_of_keys() {
    let value = |n: i64| Some(Value::Integer(n.into()));
    let bounds = |min: Option<Value>, max: Option<Value>| Bounds { min, max, null_count: None };
    let text = |text: &str| Some(Value::Bytes(text.as_bytes().to_vec()));
    let is_in = |columns: &[(&str, ArrayRef)], bounds: &Bounds| {
        let rows = batch(columns.to_vec());
        let names: Vec<&str> = columns.iter().map(|(name, _)| *name).collect();
        let key = KeyColumns::new(&rows.schema(), &names).unwrap();
        let set = KeySet::new(key.keys(&rows, 0).unwrap().sorted(2).0);
        key.range(bounds).is_none_or(|(low, high)| set.count_between(&low, high.as_ref()) > 0)
    };
    let small: ArrayRef = Arc::new(Int8Array::from(vec![5, 5]));
    // One column, two in 64 bits, two in 128 bits, a text in front.
    for columns in [
        vec![("a", ints([-10, 20]))],
        vec![("a", ints([-10, 20])), ("b", ints([i64::MAX, i64::MIN]))],
        vec![("a", ints([-10, 20])), ("b", texts(&["", "zz"]))],
    ] {
        for (min, max, expected) in
            [(-10, -10, true), (-9, 19, false), (20, 99, true), (21, 99, false), (-99, -11, false)]
        {
            assert_eq!(is_in(&columns, &bounds(value(min), value(max))), expected, "{min} to {max} of {columns:?}");
        }
        assert!(is_in(&columns, &bounds(value(20), None)) && !is_in(&columns, &bounds(value(21), None)));
        assert!(is_in(&columns, &bounds(None, value(-10))) && !is_in(&columns, &bounds(None, value(-11))));
        assert!(is_in(&columns, &bounds(None, None)));
    }
    let days: ArrayRef = Arc::new(Date32Array::from(vec![-3, 9]));
    let packed = vec![("a", days), ("b", small)];
    assert!(is_in(&packed, &bounds(value(9), value(9))) && !is_in(&packed, &bounds(value(-2), value(8))));
    // A bound that the type can't hold says nothing.
    assert!(is_in(&packed, &bounds(value(1 << 40), value(1 << 41))));
    for columns in [vec![("a", texts(&["b", "d"]))], vec![("a", texts(&["b", "d"])), ("b", ints([1, 2]))]] {
        assert!(is_in(&columns, &bounds(text("a"), text("b"))) && is_in(&columns, &bounds(text("d"), text("d"))));
        assert!(!is_in(&columns, &bounds(text("ba"), text("c"))) && !is_in(&columns, &bounds(text("da"), text("z"))));
    }
}

proptest! {
    #[test]
    fn nearly_sorted_rows_are_all_rows_and_keep_the_order_of_equal_keys(
        values in proptest::collection::vec(-50i64..50, 0..200),
        spread in proptest::sample::select(vec![1i64, 1000, 1 << 50]),
        cut in 0usize..20,
        as_text: bool,
    ) {
        let values: Vec<i64> = values.iter().map(|value| value * spread).collect();
        let range = cut.min(values.len())..values.len();
        let rows = keys_of(&values, as_text).nearly_sorted(range.clone());
        let mut known = rows.clone();
        known.sort_unstable();
        prop_assert!(known.into_iter().eq(range.start as u32..range.end as u32));
        let value = |row: &u32| values[*row as usize];
        for (at, row) in rows.iter().enumerate() {
            prop_assert!(rows[at..].iter().filter(|other| value(other) == value(row)).all(|other| other >= row));
        }
        // As many keys as there are stretches for them come in their order.
        prop_assert!(as_text || spread > 1 || rows.is_sorted_by_key(value));
        let mut sorted = values.clone();
        sorted.sort_unstable();
        let sorted = if as_text { keys_of(&sorted, true).sorted(1).0 } else { keys_of(&sorted, false) };
        prop_assert!(sorted.nearly_sorted(range.clone()).is_sorted());
    }
}

#[test]
fn keys_that_have_room_are_not_moved() {
    for as_text in [false, true] {
        let mut keys = keys_of(&[1, 2, 3], as_text);
        // More than there is address space for: they grow as they come, then.
        keys.reserve(usize::MAX / 8);
        keys.reserve(1000);
        let room_bytes = keys.memory_bytes();
        let all: Vec<i64> = (1..=1003).collect();
        all[3..].chunks(10).for_each(|more| keys.append(keys_of(more, as_text)));
        assert!(as_text || (keys.memory_bytes() == room_bytes && keys.is_at_capacity()));
        assert_eq!(keys, keys_of(&all, as_text));
    }
}
