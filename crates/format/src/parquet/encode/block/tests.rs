#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use super::*;

#[test]
fn bytes_come_in_order_and_blocks_come_back() {
    let pool = BlockPool::default();
    for _ in 0..3 {
        let mut blocks = BlockBuffer::new(&pool);
        let mut expected = Vec::new();
        for page in 0..100usize {
            let body = vec![page as u8; page * 1500];
            blocks.push(&[1, 2, 3], &PageBody::Bytes(&body));
            expected.extend_from_slice(&[1, 2, 3]);
            expected.extend_from_slice(&body);
        }
        let pieces = blocks.finish();
        assert!(pieces.iter().filter(|piece| piece.len() > BLOCK_BYTES / 2).count() >= 2);
        assert_eq!(pieces.concat(), expected);
        drop(pieces);
        // As many as one chunk had at once, however many chunks there were.
        assert_eq!(pool.0.lock().unwrap().len(), 3);
    }
}

#[test]
fn a_page_larger_than_a_block_is_one_piece() {
    let pool = BlockPool::default();
    let mut blocks = BlockBuffer::new(&pool);
    blocks.push(b"a", &PageBody::Bytes(&[]));
    blocks.push(b"h", &PageBody::Bytes(&vec![7; 3 * BLOCK_BYTES]));
    blocks.push(b"z", &PageBody::Bytes(&[]));
    let pieces = blocks.finish();
    assert_eq!(pieces.iter().map(Bytes::len).max(), Some(3 * BLOCK_BYTES + 1));
    assert_eq!(pieces.iter().map(Bytes::len).sum::<usize>(), 3 * BLOCK_BYTES + 3);
}
