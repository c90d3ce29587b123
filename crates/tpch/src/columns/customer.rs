//! `customer`.

use arrow::array::ArrayRef;
use lakerace_io::Result;

use super::{TablePiece, keys, people, unknown};
use crate::pool::CommentPool;
use crate::texts::comments;
use crate::words;

const NATION_SEED: u64 = 1_489_529_863;
/// Bytes of a comment on average.
const COMMENT: u32 = 73;

pub(super) fn column(piece: &TablePiece, name: &str) -> Result<ArrayRef> {
    match name {
        "c_custkey" => keys(piece.numbers().collect()),
        "c_name" => people::name(piece, "Customer#"),
        "c_address" => people::address(piece, 881_155_353),
        "c_nationkey" => keys(people::nations(piece, NATION_SEED)),
        "c_phone" => people::phone(piece, 1_521_138_112, NATION_SEED),
        "c_acctbal" => people::balance(piece, 298_370_230),
        "c_mktsegment" => piece.words(1_140_279_430, &words::MARKET_SEGMENTS),
        "c_comment" => {
            let stream = piece.stream(1_335_826_707, CommentPool::DRAWS);
            comments(CommentPool::new(COMMENT).places(stream, piece.len()), COMMENT as usize, piece.mode)
        }
        _ => Err(unknown(piece, name)),
    }
}
