#![allow(clippy::unwrap_used)]

use super::*;

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

/// Spare memory that no other test uses and no thread trims.
fn spare_memory() -> &'static SpareMemory {
    Box::leak(Box::new(SpareMemory::new(None)))
}

fn bytes(part: &mut ArenaBytes) -> &mut [u8] {
    // SAFETY: a part's bytes are its own.
    unsafe { std::slice::from_raw_parts_mut(part.start().as_ptr(), part.len()) }
}

#[test]
fn parts_are_packed_zeroed_and_apart() {
    let mut cursor = RegionCursor::in_region_of(spare_memory()).unwrap();
    let mut parts: Vec<ArenaBytes> = Vec::new();
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
    let mut cursor = RegionCursor::in_region_of(spare_memory()).unwrap();
    let parts: Vec<ArenaBytes> = std::iter::from_fn(|| cursor.take(UNIT_BYTES + 64)).collect();
    assert_eq!(parts.len(), UNITS - 1);
    assert!(cursor.take(usize::MAX).is_none());
    assert!(cursor.take(UNIT_BYTES - 64 * (UNITS - 1)).is_some(), "what is left can be taken");
}

#[test]
fn units_go_when_their_last_part_does() {
    let mut cursor = RegionCursor::in_region_of(spare_memory()).unwrap();
    let users = |cursor: &RegionCursor| -> Vec<u32> {
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
    let mut cursor = RegionCursor::in_region_of(spare).unwrap();
    let table: Vec<ArenaBytes> = (0..4).map(|_| cursor.take(UNIT_BYTES).unwrap()).collect();
    let start = table[0].start();
    drop(cursor);
    assert_eq!(spare.idle_bytes(), 0, "parts lie in all units");
    drop(table);
    assert_eq!(spare.idle_bytes(), 4 * UNIT_BYTES);

    let mut cursor = RegionCursor::in_region_of(spare).unwrap();
    let mut part = cursor.take(3 * UNIT_BYTES).unwrap();
    assert_eq!(part.start(), start);
    assert_eq!(spare.idle_bytes(), UNIT_BYTES, "three of four are in use again");
    bytes(&mut part).fill(7);
    drop(cursor);
    drop(part);
    assert_eq!(spare.idle_bytes(), 4 * UNIT_BYTES);
}

#[test]
fn idle_units_move_to_where_they_are_wanted() {
    let spare = spare_memory();
    let mut cursor = RegionCursor::in_region_of(spare).unwrap();
    let table: Vec<ArenaBytes> = (0..4).map(|_| cursor.take(UNIT_BYTES).unwrap()).collect();
    drop(cursor);
    drop(table);
    assert_eq!(spare.idle_bytes(), 4 * UNIT_BYTES);

    // A small column has the mapping, and a large one begins in a new one.
    let mut small = RegionCursor::in_region_of(spare).unwrap();
    let mut large = RegionCursor::in_region_of(spare).unwrap();
    let mut first = small.take(UNIT_BYTES).unwrap();
    bytes(&mut first).fill(1);
    let mut second = large.take(3 * UNIT_BYTES).unwrap();
    assert_eq!(spare.idle_bytes(), 0, "no memory was added");
    bytes(&mut second).fill(2);
    // The small one grows after all.
    let mut third = small.take(UNIT_BYTES).unwrap();
    bytes(&mut third).fill(3);
    for (number, part) in [&mut first, &mut second, &mut third].into_iter().enumerate() {
        assert!(bytes(part).iter().all(|byte| *byte == number as u8 + 1), "part {number} is its own");
    }
    drop((small, large, first, second, third));
    assert_eq!(spare.idle_bytes(), 5 * UNIT_BYTES);
}

/// Takes, fills, checks and drops parts.
fn use_memory(spare: &'static SpareMemory, seed: u64) {
    let mut random = StdRng::seed_from_u64(seed);
    let mut held: Vec<(ArenaBytes, u8)> = Vec::new();
    for _ in 0..20 {
        let mut cursor = RegionCursor::in_region_of(spare).unwrap();
        for _ in 0..random.random_range(1..8) {
            let Some(mut part) = cursor.take(random.random_range(1..2 * UNIT_BYTES)) else { break };
            let mark = random.random();
            bytes(&mut part).fill(mark);
            held.push((part, mark));
        }
        while held.len() > 6 {
            let (mut part, mark) = held.swap_remove(random.random_range(0..held.len()));
            assert!(bytes(&mut part).iter().all(|byte| *byte == mark), "seed {seed}");
        }
    }
}

#[test]
fn threads_share_spare_memory_while_it_is_trimmed() {
    let spare = spare_memory();
    let is_done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !is_done.load(Ordering::Relaxed) {
                spare.trim();
            }
        });
        let users: Vec<_> = (0..3).map(|seed| scope.spawn(move || use_memory(spare, seed))).collect();
        let ended: Vec<_> = users.into_iter().map(|user| user.join()).collect();
        is_done.store(true, Ordering::Relaxed);
        ended.into_iter().for_each(|end| end.unwrap());
    });
}

#[test]
fn units_of_a_stream_do_not_pile_up() {
    let spare = spare_memory();
    let mut cursor = RegionCursor::in_region_of(spare).unwrap();
    for _ in 0..UNITS - 1 {
        drop(cursor.take(UNIT_BYTES).unwrap());
    }
    assert_eq!(spare.idle_bytes(), 0);
}

#[test]
fn spare_memory_is_trimmed_to_what_it_keeps() {
    let spare = spare_memory();
    let mut cursors: Vec<RegionCursor> = (0..3).map(|_| RegionCursor::in_region_of(spare).unwrap()).collect();
    let mut parts: Vec<ArenaBytes> =
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
    let cost = MappingCost { small_ns: AtomicU64::new(0), small_until: AtomicU32::new(0), pause: AtomicU32::new(0) };
    assert_eq!(cost.page_size(), PageSize::Small, "nothing is known yet");
    cost.note(PageSize::Small, 1000);
    for _ in 0..10 {
        assert_eq!(cost.page_size(), PageSize::Huge);
        cost.note(PageSize::Huge, 300);
    }
    let mut expected = PAUSES.0;
    for _ in 0..10 {
        assert_eq!(cost.page_size(), PageSize::Huge);
        cost.note(PageSize::Huge, 5000);
        for _ in 0..expected {
            assert_eq!(cost.page_size(), PageSize::Small);
            cost.note(PageSize::Small, 1000);
        }
        expected = (expected * 2).min(PAUSES.1);
    }
    assert_eq!(cost.page_size(), PageSize::Huge);
    cost.note(PageSize::Huge, 300);
    assert_eq!(cost.page_size(), PageSize::Huge, "fast again");
}

#[test]
fn small_pages_are_measured_again_where_huge_ones_are_not_clearly_cheaper() {
    let cost = MappingCost { small_ns: AtomicU64::new(0), small_until: AtomicU32::new(0), pause: AtomicU32::new(0) };
    assert_eq!(cost.page_size(), PageSize::Small);
    // The first small pages were slow by chance: later ones take a sixth of the time.
    cost.note(PageSize::Small, 6000);
    let mut huge = 0;
    for _ in 0..100 {
        let size = cost.page_size();
        huge += u32::from(size == PageSize::Huge);
        cost.note(size, if size == PageSize::Huge { 5500 } else { 1000 });
    }
    assert!(huge <= 6, "{huge} units of 100");
}

#[test]
fn spare_heap_is_bounded_and_trimmed() {
    let spare = spare_memory();
    let size = 4 << 20;
    for _ in 0..32 {
        spare.put_heap(HeapMemory::zeroed(size));
    }
    assert_eq!(spare.idle_bytes(), 32 * size);
    assert!(spare.take_heap(size + 64).is_none(), "too small");
    assert!(spare.take_heap(size / 2).is_none(), "too large");
    let memory = spare.take_heap(size - size / 8).unwrap();
    assert_eq!((memory.len(), spare.idle_bytes()), (size, 31 * size));
    drop(memory);
    spare.trim();
    assert_eq!(spare.idle_bytes(), 64 << 20);
    assert!(spare.take_heap(size).is_some());
}
