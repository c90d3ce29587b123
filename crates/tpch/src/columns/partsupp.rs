//! `partsupp`: four suppliers of each part.

use arrow::array::ArrayRef;
use lakerace_io::Result;

use super::{TablePiece, decimals, keys, numbers, several, unknown};
use crate::pool::CommentPool;
use crate::random::{FewNumbers, RangePick};
use crate::texts::comments;

/// Suppliers of a part.
pub(super) const SUPPLIERS: usize = 4;
/// Bytes of a comment on average.
const COMMENT: u32 = 124;

pub(super) fn column(piece: &TablePiece, name: &str) -> Result<ArrayRef> {
    const QUANTITIES: FewNumbers = FewNumbers::new(1, 9999);
    const COSTS: FewNumbers = FewNumbers::new(100, 100_000);
    let total = piece.len() * SUPPLIERS;
    let counts = vec![SUPPLIERS as u8; piece.len()];
    match name {
        "ps_partkey" => keys(piece.numbers().flat_map(|part| [part; SUPPLIERS]).collect()),
        "ps_suppkey" => {
            let suppliers = PartSuppliers::new(piece);
            keys(piece.numbers().flat_map(|part| [0, 1, 2, 3].map(|number| suppliers.of_part(part, number))).collect())
        }
        "ps_availqty" => {
            let stream = piece.stream(1_671_059_989, SUPPLIERS as u64);
            let value = |row: crate::random::RowDraws, number| QUANTITIES.pick(row.draw(number + 1)) as i32;
            numbers(several::<SUPPLIERS, _>(&counts, total, stream, value))
        }
        "ps_supplycost" => {
            let stream = piece.stream(1_051_288_424, SUPPLIERS as u64);
            let value = |row: crate::random::RowDraws, number| i128::from(COSTS.pick(row.draw(number + 1)));
            decimals(several::<SUPPLIERS, _>(&counts, total, stream, value))
        }
        "ps_comment" => {
            let stream = piece.stream(1_961_692_154, CommentPool::DRAWS * SUPPLIERS as u64);
            let places = CommentPool::new(COMMENT);
            let places =
                several::<SUPPLIERS, _>(&counts, total, stream, |row, number| places.comment_place(row, number));
            comments(places.into_iter(), COMMENT as usize, piece.mode)
        }
        _ => Err(unknown(piece, name)),
    }
}

/// Which suppliers a part has (specification 4.2.3, `PS_SUPPKEY`).
#[derive(Clone, Copy)]
pub(super) struct PartSuppliers {
    count: u64,
}

impl PartSuppliers {
    pub(super) fn new(piece: &TablePiece) -> Self {
        Self { count: piece.scale.suppliers() }
    }

    /// The key of a part's supplier `number` (from 0).
    #[inline(always)]
    pub(super) fn of_part(self, part: i64, number: i64) -> i64 {
        let (part, number) = (part as u64, number as u64);
        // A division of 32 bits takes half the time.
        match (u32::try_from(self.count), u32::try_from(part)) {
            (Ok(count), Ok(part)) if count < 1 << 28 && part < 1 << 30 => {
                let step = count / SUPPLIERS as u32 + (part - 1) / count;
                i64::from((part + number as u32 * step) % count + 1)
            }
            _ => {
                let step = self.count / SUPPLIERS as u64 + (part - 1) / self.count;
                ((part + number * step) % self.count + 1) as i64
            }
        }
    }
}
