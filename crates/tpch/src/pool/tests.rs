use tpchgen::text::TextPool;

use super::*;

#[test]
fn the_pool_is_the_references() {
    let reference = TextPool::get_or_init_default();
    assert_eq!(reference.size() as usize, POOL_BYTES);
    for number in 0..PIECES {
        let start = number * PIECE_BYTES;
        let end = (start + PIECE_BYTES + OVERLAP_BYTES).min(POOL_BYTES);
        let expected = reference.text(start as i32, end as i32).as_bytes();
        assert!(piece(number).as_slice() == expected, "piece {number} differs");
    }
}

#[test]
fn the_seeds_are_those_on_the_way_through_the_pool() {
    let mut expected = Vec::new();
    let (mut offset, mut seed) = (0, 933_588_178);
    grammar::walk(seed, |sentence_bytes, next_seed| {
        if offset + sentence_bytes > expected.len() * PIECE_BYTES {
            expected.push((seed, (expected.len() * PIECE_BYTES - offset) as u16));
        }
        (offset, seed) = (offset + sentence_bytes, next_seed);
        expected.len() < PIECES
    });
    assert_eq!(expected, SEEDS);
}

#[test]
fn comments_are_the_references() {
    use tpchgen::random::RandomText;
    let comments = CommentPool::new(27);
    let mut reference = RandomText::new(1_095_462_486, TextPool::get_or_init_default(), 27.0);
    for place in comments.places(ColumnStream::at(1_095_462_486, CommentPool::DRAWS, 0), 10_000) {
        assert_eq!(place.text(), reference.next_value().as_bytes());
        reference.row_finished();
    }
}
