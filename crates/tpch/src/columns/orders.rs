//! `orders`.

use arrow::array::ArrayRef;
use lakerace_io::Result;

use super::lineitem::{OrderLines, is_past};
use super::order_numbers::{order_days, order_keys};
use super::{ForeignKeys, TablePiece, days, decimals, keys, numbers, unknown};
use crate::pool::CommentPool;
use crate::random::{ManyNumbers, RangePick};
use crate::texts::{BatchTexts, comments, push_numbered};
use crate::words;

/// Bytes of a comment on average.
const COMMENT: u32 = 49;
/// Every third customer has no orders.
const CUSTOMER_MORTALITY: i64 = 3;

/// Orders of a piece.
pub(super) struct PieceOrders<'p> {
    piece: &'p TablePiece,
}

impl<'p> PieceOrders<'p> {
    pub(super) fn new(piece: &'p TablePiece) -> Self {
        Self { piece }
    }

    pub(super) fn column(&self, name: &str) -> Result<ArrayRef> {
        let piece = self.piece;
        match name {
            "o_orderkey" => keys(order_keys(piece).collect()),
            "o_custkey" => keys(self.customers()),
            "o_orderstatus" => words::ORDER_STATUS.column(self.statuses(), piece.mode),
            "o_totalprice" => decimals(self.totals()),
            "o_orderdate" => days(order_days(piece)),
            "o_orderpriority" => piece.words(591_449_447, &words::ORDER_PRIORITIES),
            "o_clerk" => self.clerks(),
            "o_shippriority" => numbers(vec![0; piece.len()]),
            "o_comment" => {
                let stream = piece.stream(276_090_261, CommentPool::DRAWS);
                comments(CommentPool::new(COMMENT).places(stream, piece.len()), COMMENT as usize, piece.mode)
            }
            _ => Err(unknown(piece, name)),
        }
    }

    fn customers(&self) -> Vec<i64> {
        const SEED: u64 = 851_767_375;
        let last = self.piece.scale.customers();
        // A customer without orders gives them to a neighbour.
        let living = |mut key: i64| {
            let mut delta = 1;
            while key % CUSTOMER_MORTALITY == 0 {
                key = (key + delta).min(last as i64);
                delta = -delta;
            }
            key
        };
        let customers = ForeignKeys::up_to(last);
        self.piece.stream(SEED, 1).draws(self.piece.len()).map(|draw| living(customers.pick(draw))).collect()
    }

    /// Fulfilled where all lines are shipped, open where none is.
    fn statuses(&self) -> Vec<u8> {
        let lines = OrderLines::new(self.piece);
        let shipped = lines.ship_days().iter().map(|day| u8::from(is_past(*day)));
        let shipped: Vec<u8> = shipped.collect();
        let mut at = 0;
        let status = |count: &u8| {
            let count = usize::from(*count);
            let shipped: usize = shipped[at..at + count].iter().map(|shipped| usize::from(*shipped)).sum();
            at += count;
            if shipped == count { 2 } else { u8::from(shipped > 0) }
        };
        lines.counts().iter().map(status).collect()
    }

    /// The sum of the lines' prices, discounted and taxed, each cut off to hundredths.
    fn totals(&self) -> Vec<i128> {
        let lines = OrderLines::new(self.piece);
        let prices = lines.extended_prices();
        let (discounts, taxes) = (lines.discounts(), lines.taxes());
        let mut at = 0;
        let total = |count: &u8| {
            let range = at..at + usize::from(*count);
            at = range.end;
            let total: i64 = range.map(|i| prices[i] * (100 - discounts[i]) / 100 * (100 + taxes[i]) / 100).sum();
            i128::from(total)
        };
        lines.counts().iter().map(total).collect()
    }

    fn clerks(&self) -> Result<ArrayRef> {
        let last = self.piece.scale.clerks();
        let clerks = ManyNumbers::new(1, last as i64);
        let mut texts = BatchTexts::new(self.piece.len(), 15);
        for draw in self.piece.stream(1_171_034_773, 1).draws(self.piece.len()) {
            push_numbered(b"Clerk#", clerks.pick(draw) as u64, texts.bytes());
            texts.end();
        }
        texts.finish()
    }
}
