#![allow(clippy::unwrap_used)]

use super::{Cost, Cursor, LARGEST_BYTES, PAUSES, Part, UNIT_BYTES, UNITS};

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

fn bytes(part: &mut Part) -> &mut [u8] {
    // SAFETY: a part's bytes are its own.
    unsafe { std::slice::from_raw_parts_mut(part.start().as_ptr(), part.len()) }
}

#[test]
fn parts_are_packed_zeroed_and_apart() {
    let mut cursor = Cursor::new().unwrap();
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
    let mut cursor = Cursor::new().unwrap();
    let parts: Vec<Part> = std::iter::from_fn(|| cursor.take(UNIT_BYTES + 64)).collect();
    assert_eq!(parts.len(), UNITS - 1);
    assert!(cursor.take(usize::MAX).is_none());
    assert!(cursor.take(UNIT_BYTES - 64 * (UNITS - 1)).is_some(), "what is left can be taken");
}

#[test]
fn units_go_when_their_last_part_does() {
    let mut cursor = Cursor::new().unwrap();
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
