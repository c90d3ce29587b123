#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use super::*;

fn at(chunk: u64, offset: u64, values: u64) -> IndexPosition {
    IndexPosition { chunk, offset, values, bits: 0 }
}

#[test]
fn numbers_go_to_their_streams() {
    let kinds = [(StreamKind::Present, 2), (StreamKind::Data, 0), (StreamKind::Length, 1)];
    let numbers = [10, 11, 12, 13, 20, 21, 30, 31, 32];
    let found = split_positions(&numbers, &kinds, true).unwrap();
    assert_eq!(found, [IndexPosition { chunk: 10, offset: 11, values: 12, bits: 13 }, at(20, 21, 0), at(30, 31, 32)]);
    let plain = split_positions(&[20, 30, 32], &kinds[1..], false).unwrap();
    assert_eq!(plain, [at(20, 0, 0), at(30, 0, 32)]);
    assert_eq!(split_positions(&numbers[..8], &kinds, true), None);
    assert_eq!(split_positions(&numbers, &kinds[1..], true), None);
}

#[test]
fn ends_are_no_further_than_needed() {
    let block = 1 << 18;
    // At the beginning of a chunk and of a run.
    assert_eq!(stream_end([at(100, 0, 0)], true, block, 1 << 30), 100);
    // Within a chunk: that chunk, whose end the next row groups tell.
    assert_eq!(stream_end([at(100, 5, 0)], true, block, 1 << 30), 100 + block + 3);
    assert_eq!(stream_end([at(100, 5, 0), at(100, 9, 0), at(700, 0, 0)], true, block, 1 << 30), 700);
    // Within a run: it may go on in the chunk behind.
    assert_eq!(stream_end([at(100, 5, 3), at(700, 0, 0), at(900, 1, 1)], true, block, 1 << 30), 900);
    assert_eq!(stream_end([at(100, 5, 3)], true, block, 5000), 5000);
    assert_eq!(stream_end([at(100, 0, 0)], false, block, 5000), 100);
    assert_eq!(stream_end([at(100, 0, 1)], false, block, 50_000), 100 + MAX_RUN_BYTES as u64);
    assert_eq!(stream_end([], true, block, 5000), 5000);
}
