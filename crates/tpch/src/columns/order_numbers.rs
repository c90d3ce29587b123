//! Keys and days of orders, which their lines share.

use super::TablePiece;
use crate::random::FewNumbers;
use crate::refresh::order_key;

/// 1992-01-01, in days since 1970.
pub(crate) const FIRST_DAY: i64 = 8035;

/// Days on which orders are made: until 151 days before the end of 1998.
pub(crate) const ORDER_DAYS: FewNumbers = FewNumbers::new(FIRST_DAY, FIRST_DAY + 2557 - 151 - 1);

/// The orders' keys.
pub(crate) fn order_keys(piece: &TablePiece) -> impl ExactSizeIterator<Item = i64> + use<> {
    let (scale, first) = (piece.scale, piece.entities.start);
    (0..piece.len()).map(move |i| order_key(scale, first + i as u64))
}

/// The orders' dates, in days since 1970.
pub(crate) fn order_days(piece: &TablePiece) -> Vec<i32> {
    piece.drawn(1_066_728_069, ORDER_DAYS, |day| day as i32)
}
