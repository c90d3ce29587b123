#![allow(clippy::unwrap_used)]

use super::{Cost, Cursor, LARGEST_BYTES, PAUSES, Part, SpareMemory, UNIT_BYTES, UNITS};

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// Spare memory that no other test uses and no thread trims.
fn spare_memory() -> &'static SpareMemory {
    Box::leak(Box::new(SpareMemory::new(None)))
}

fn bytes(part: &mut Part) -> &mut [u8] {
    // SAFETY: a part's bytes are its own.
    unsafe { std::slice::from_raw_parts_mut(part.start().as_ptr(), part.len()) }
}

#[test]
fn parts_are_packed_zeroed_and_apart() {
    let mut cursor = Cursor::in_region_of(spare_memory()).unwrap();
    let mut parts: Vec<Part> = Vec::new();
    for (number, length) in [1, 64, 65, 1 << 20, 3 << 20, LARGEST_BYTES].into_iter().enumerate() {
        let mut part = cursor.take(length).unwrap();
        assert!(part.len() >= length && part.len() < length + 64);
        if let Some(last) = parts.last() {
            assert_eq!(part.offset, last.offset + last.len());
        }
        assert!(bytes(&mut part).iter().all(|byte| *byte == 0));
        bytes(&mut part).fill(number as u8 + 1);
        parts.push(part);
    }
    for (number, part) in parts.iter_mut().enumerate() {
        assert!(bytes(part).iter().all(|byte| *byte == number as u8 + 1), "part {number} is its own");
    }
}

#[test]
fn a_region_ends() {
    let mut cursor = Cursor::in_region_of(spare_memory()).unwrap();
    let parts: Vec<Part> = std::iter::from_fn(|| cursor.take(UNIT_BYTES + 64)).collect();
    assert_eq!(parts.len(), UNITS - 1);
    assert!(cursor.take(usize::MAX).is_none());
    assert!(cursor.take(UNIT_BYTES - 64 * (UNITS - 1)).is_some(), "what is left can be taken");
}

#[test]
fn units_go_when_their_last_part_does() {
    let mut cursor = Cursor::in_region_of(spare_memory()).unwrap();
    let users = |cursor: &Cursor| -> Vec<u32> {
        cursor.region.users[..4].iter().map(|users| users.load(Ordering::Relaxed)).collect()
    };
    let first = cursor.take(UNIT_BYTES / 2).unwrap();
    assert_eq!(users(&cursor), [2, 1, 1, 1]);
    let second = cursor.take(UNIT_BYTES).unwrap();
    assert_eq!(users(&cursor), [2, 2, 1, 1], "the cursor has left the first one");
    drop(first);
    assert_eq!(users(&cursor), [1, 2, 1, 1]);
    drop(second);
    assert_eq!(users(&cursor), [0, 1, 1, 1]);
    let mut third = cursor.take(2 * UNIT_BYTES).unwrap();
    bytes(&mut third).fill(1);
    drop(cursor);
    assert!(bytes(&mut third).iter().all(|byte| *byte == 1), "a part outlives the cursor");
}

#[test]
fn a_dropped_table_is_the_memory_of_the_next() {
    let spare = spare_memory();
    let mut cursor = Cursor::in_region_of(spare).unwrap();
    let table: Vec<Part> = (0..4).map(|_| cursor.take(UNIT_BYTES).unwrap()).collect();
    let start = table[0].start();
    drop(cursor);
    assert_eq!(spare.idle_bytes(), 0, "parts lie in all units");
    drop(table);
    assert_eq!(spare.idle_bytes(), 4 * UNIT_BYTES);

    let mut cursor = Cursor::in_region_of(spare).unwrap();
    let mut part = cursor.take(3 * UNIT_BYTES).unwrap();
    assert_eq!(part.start(), start);
    assert_eq!(spare.idle_bytes(), UNIT_BYTES, "three of four are in use again");
    bytes(&mut part).fill(7);
    drop(cursor);
    drop(part);
    assert_eq!(spare.idle_bytes(), 4 * UNIT_BYTES);
}

#[test]
fn units_of_a_stream_do_not_pile_up() {
    let spare = spare_memory();
    let mut cursor = Cursor::in_region_of(spare).unwrap();
    for _ in 0..UNITS - 1 {
        drop(cursor.take(UNIT_BYTES).unwrap());
    }
    assert_eq!(spare.idle_bytes(), 0);
}

#[test]
fn spare_memory_is_trimmed_to_what_it_keeps() {
    let spare = spare_memory();
    let mut cursors: Vec<Cursor> = (0..3).map(|_| Cursor::in_region_of(spare).unwrap()).collect();
    let mut parts: Vec<Part> =
        cursors.iter_mut().flat_map(|cursor| (0..UNITS).map(|_| cursor.take(UNIT_BYTES).unwrap())).collect();
    drop(cursors);
    // One unit of the first region stays in use.
    let mut kept = parts.remove(0);
    bytes(&mut kept).fill(9);
    drop(parts);
    assert_eq!(spare.idle_bytes(), (3 * UNITS - 1) * UNIT_BYTES);
    spare.trim();
    assert_eq!(spare.idle_bytes(), UNITS * UNIT_BYTES);
    assert!(bytes(&mut kept).iter().all(|byte| *byte == 9), "a unit in use is left alone");
    drop(kept);
    assert_eq!(spare.idle_bytes(), (UNITS + 1) * UNIT_BYTES);
}

#[test]
fn huge_pages_are_left_alone_while_they_are_slow() {
    let cost = Cost { small_ns: AtomicU64::new(0), small_until: AtomicU32::new(0), pause: AtomicU32::new(0) };
    assert!(cost.takes_small(), "nothing is known yet");
    cost.note(true, 1000);
    for _ in 0..10 {
        assert!(!cost.takes_small());
        cost.note(false, 300);
    }
    let mut expected = PAUSES.0;
    for _ in 0..10 {
        assert!(!cost.takes_small());
        cost.note(false, 5000);
        for _ in 0..expected {
            assert!(cost.takes_small());
            cost.note(true, 1000);
        }
        expected = (expected * 2).min(PAUSES.1);
    }
    assert!(!cost.takes_small());
    cost.note(false, 300);
    assert!(!cost.takes_small(), "fast again");
}
