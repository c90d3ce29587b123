use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::{KEPT_BYTES, MemoryPool, SLACK_BYTES, class};

#[test]
fn blocks_are_aligned_and_apart() {
    let pool = Arc::new(MemoryPool::default());
    let mut blocks = Vec::new();
    for (number, bytes) in [1, 20_000, 1 << 20, 3 << 20, 70_000].into_iter().cycle().take(60).enumerate() {
        let mut block = pool.take_with_slack(bytes);
        assert!(block.len() >= bytes + SLACK_BYTES && block.as_ptr().addr().is_multiple_of(64));
        block.fill(number as u8);
        blocks.push(block);
    }
    for (number, block) in blocks.iter().enumerate() {
        assert!(block.iter().all(|byte| *byte == number as u8), "block {number} is its own");
    }
}

#[test]
fn a_block_comes_back_when_its_last_buffer_goes() {
    let pool = Arc::new(MemoryPool::default());
    let block = pool.take(100_000);
    let place = block.as_ptr();
    let buffer = block.into_buffer(10);
    let slice = buffer.slice(3);
    drop(buffer);
    assert_ne!(pool.take(100_000).as_ptr(), place, "still in use");
    drop(slice);
    let again = pool.take(100_000);
    assert_eq!(again.as_ptr(), place);
    pool.close();
    drop(again);
    assert!(pool.lock().blocks.is_empty() && pool.kept_bytes.load(Ordering::Relaxed) == 0);
}

#[cfg(target_os = "linux")]
#[test]
fn the_memory_of_dropped_rows_is_that_of_the_next_scan() {
    // A size that no other test takes.
    let bytes = 1_234_567;
    let pool = MemoryPool::new();
    let (first, second) = (pool.take(bytes), pool.take(bytes));
    let starts = [first.as_ptr().addr(), second.as_ptr().addr()];
    pool.close();
    drop((first.into_buffer(bytes), second));

    let next = MemoryPool::new();
    let blocks = [next.take(bytes), next.take(bytes)];
    for block in &blocks {
        assert!(starts.contains(&block.as_ptr().addr()), "taken again");
    }
    assert_ne!(blocks[0].as_ptr(), blocks[1].as_ptr());
    let third = next.take(bytes);
    assert!(!starts.contains(&third.as_ptr().addr()), "each once");
}

#[test]
fn classes_waste_a_sixteenth_at_most() {
    for bytes in (1..3_000_000).step_by(997) {
        let capacity = class(bytes);
        assert!(capacity >= bytes && capacity.is_multiple_of(64));
        assert!(capacity - bytes <= (bytes / 16).max(64), "{bytes} in {capacity}");
    }
}

#[test]
fn columns_share_what_is_kept() {
    let pools = MemoryPool::for_columns(3);
    let blocks: Vec<_> = (0..60).map(|number| pools[number % 3].take(5 << 20)).collect();
    drop(blocks);
    let kept = pools[0].kept_bytes.load(Ordering::Relaxed);
    let waiting: usize =
        pools.iter().map(|pool| pool.lock().blocks.values().flatten().map(|memory| memory.bytes).sum::<usize>()).sum();
    assert_eq!(kept, waiting);
    assert!((160 << 20..=KEPT_BYTES).contains(&kept), "{kept}");
    pools.iter().for_each(|pool| pool.close());
    assert_eq!(pools[0].kept_bytes.load(Ordering::Relaxed), 0);
}
