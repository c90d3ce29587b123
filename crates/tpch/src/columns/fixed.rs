//! `nation` and `region`: the same at any scale.

use arrow::array::ArrayRef;
use lakerace_io::Result;
use tpchgen::distribution::Distributions;

use super::{TablePiece, keys, unknown};
use crate::pool::CommentPool;
use crate::texts::comments;
use crate::words;

/// Bytes of a comment on average.
const COMMENT: u32 = 72;

pub(super) fn nation(piece: &TablePiece, name: &str) -> Result<ArrayRef> {
    match name {
        "n_nationkey" => from_zero(piece),
        "n_name" => words::NATIONS.column(piece.entities.clone().map(|n| n as u8).collect(), piece.mode),
        "n_regionkey" => {
            // The distribution has region keys in place of weights, as differences whose running sums `get_weight`
            // returns.
            let nations = Distributions::static_default().nations();
            keys(piece.entities.clone().map(|n| i64::from(nations.get_weight(n as usize))).collect())
        }
        "n_comment" => comment(piece, 606_179_079),
        _ => Err(unknown(piece, name)),
    }
}

pub(super) fn region(piece: &TablePiece, name: &str) -> Result<ArrayRef> {
    match name {
        "r_regionkey" => from_zero(piece),
        "r_name" => words::REGIONS.column(piece.entities.clone().map(|n| n as u8).collect(), piece.mode),
        "r_comment" => comment(piece, 1_500_869_201),
        _ => Err(unknown(piece, name)),
    }
}

fn from_zero(piece: &TablePiece) -> Result<ArrayRef> {
    keys(piece.entities.clone().map(|n| n as i64).collect())
}

fn comment(piece: &TablePiece, seed: u64) -> Result<ArrayRef> {
    let places = CommentPool::new(COMMENT).places(piece.stream(seed, CommentPool::DRAWS), piece.len());
    comments(places, COMMENT as usize, piece.mode)
}
