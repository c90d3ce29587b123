//! `lineitem`: one to seven lines of each order.

use std::cell::OnceCell;

use arrow::array::ArrayRef;
use lakerace_io::Result;

use super::order_numbers::{order_days, order_keys};
use super::part::retail_price;
use super::partsupp::PartSuppliers;
use super::{ForeignKeys, TablePiece, days, decimals, keys, numbers, several, unknown};
use crate::pool::CommentPool;
use crate::random::{ColumnStream, FewNumbers, RangePick, RowDraws};
use crate::texts::comments;
use crate::words::{self, NOT_RETURNED, NumberedWords};

/// The most lines of an order: each order owns the draws of this many.
const LINES: usize = 7;
/// Bytes of a comment on average.
const COMMENT: u32 = 27;
/// 1995-06-17, the day on which the data was made, in days since 1970 (specification 4.2.2.12).
const NOW: i32 = 9298;

const LINE_COUNTS: FewNumbers = FewNumbers::new(1, LINES as i64);
const LINE_COUNT_SEED: u64 = 1_434_868_289;
const QUANTITIES: FewNumbers = FewNumbers::new(1, 50);
const DISCOUNTS: FewNumbers = FewNumbers::new(0, 10);
const TAXES: FewNumbers = FewNumbers::new(0, 8);
const SUPPLIER_NUMBERS: FewNumbers = FewNumbers::new(0, 3);
/// Days from order to shipping, from order to the day agreed on, and from shipping to receipt.
const SHIP_DAYS: FewNumbers = FewNumbers::new(1, 121);
const COMMIT_DAYS: FewNumbers = FewNumbers::new(30, 90);
const RECEIPT_DAYS: FewNumbers = FewNumbers::new(1, 30);

/// Returns true if a day is not after the one on which the data was made.
#[inline(always)]
pub(super) fn is_past(day: i32) -> bool {
    day <= NOW
}

/// Lines of the orders in a range.
pub(crate) fn count_lines(orders: std::ops::Range<u64>) -> u64 {
    let stream = ColumnStream::at(LINE_COUNT_SEED, 1, orders.start);
    stream.draws((orders.end - orders.start) as usize).map(|draw| LINE_COUNTS.pick(draw) as u64).sum()
}

/// The lines of a piece's orders. What several columns are made from is made once.
pub(super) struct OrderLines<'p> {
    piece: &'p TablePiece,
    counts: Vec<u8>,
    total: usize,
    order_days: OnceCell<Vec<i32>>,
    ship_days: OnceCell<Vec<i32>>,
    receipt_days: OnceCell<Vec<i32>>,
    parts: OnceCell<Vec<i64>>,
    quantities: OnceCell<Vec<i64>>,
}

impl<'p> OrderLines<'p> {
    pub(super) fn new(piece: &'p TablePiece) -> Self {
        let counts = piece.drawn(LINE_COUNT_SEED, LINE_COUNTS, |count| count as u8);
        let total = counts.iter().map(|count| usize::from(*count)).sum();
        Self {
            piece,
            counts,
            total,
            order_days: OnceCell::new(),
            ship_days: OnceCell::new(),
            receipt_days: OnceCell::new(),
            parts: OnceCell::new(),
            quantities: OnceCell::new(),
        }
    }

    pub(super) fn rows(&self) -> usize {
        self.total
    }

    /// Lines of each order.
    pub(super) fn counts(&self) -> &[u8] {
        &self.counts
    }

    pub(super) fn column(&self, name: &str) -> Result<ArrayRef> {
        match name {
            "l_orderkey" => keys(self.of_orders(order_keys(self.piece))),
            "l_partkey" => keys(self.parts().to_vec()),
            "l_suppkey" => keys(self.suppliers()),
            "l_linenumber" => numbers(self.line_numbers()),
            "l_quantity" if self.piece.whole_quantities => keys(self.quantities().to_vec()),
            "l_quantity" => decimals(self.quantities().iter().map(|quantity| i128::from(quantity * 100)).collect()),
            "l_extendedprice" => decimals(self.extended_prices().into_iter().map(i128::from).collect()),
            "l_discount" => decimals(self.discounts().into_iter().map(i128::from).collect()),
            "l_tax" => decimals(self.taxes().into_iter().map(i128::from).collect()),
            "l_returnflag" => words::RETURN_FLAGS.column(self.return_flags(), self.piece.mode),
            "l_linestatus" => {
                let statuses = self.ship_days().iter().map(|day| u8::from(is_past(*day)));
                words::LINE_STATUS.column(statuses.collect(), self.piece.mode)
            }
            "l_shipdate" => days(self.ship_days().to_vec()),
            "l_commitdate" => days(self.commit_days()),
            "l_receiptdate" => days(self.receipt_days().to_vec()),
            "l_shipinstruct" => self.words(1_371_272_478, &words::SHIP_INSTRUCTIONS),
            "l_shipmode" => self.words(675_466_456, &words::SHIP_MODES),
            "l_comment" => {
                let stream = self.piece.stream(1_095_462_486, CommentPool::DRAWS * LINES as u64);
                let places = CommentPool::new(COMMENT);
                let place = |row: RowDraws, number| places.comment_place(row, number);
                let places = several::<LINES, _>(&self.counts, self.total, stream, place);
                comments(places.into_iter(), COMMENT as usize, self.piece.mode)
            }
            _ => Err(unknown(self.piece, name)),
        }
    }

    /// When lines are shipped, in days since 1970.
    pub(super) fn ship_days(&self) -> &[i32] {
        self.ship_days.get_or_init(|| {
            let offsets = self.small(1_769_349_045, SHIP_DAYS, |days| days as i32);
            self.after_orders(offsets)
        })
    }

    /// Prices of lines, in hundredths.
    pub(super) fn extended_prices(&self) -> Vec<i64> {
        let lines = self.parts().iter().zip(self.quantities());
        lines.map(|(part, quantity)| retail_price(*part) * quantity).collect()
    }

    /// In hundredths.
    pub(super) fn discounts(&self) -> Vec<i64> {
        self.small(554_590_007, DISCOUNTS, |discount| discount)
    }

    /// In hundredths.
    pub(super) fn taxes(&self) -> Vec<i64> {
        self.small(721_958_466, TAXES, |tax| tax)
    }

    fn parts(&self) -> &[i64] {
        const SEED: u64 = 1_808_217_256;
        self.parts.get_or_init(|| {
            let last = self.piece.scale.parts();
            match ForeignKeys::up_to(last) {
                ForeignKeys::Few(few) => self.small(SEED, few, |part| part),
                ForeignKeys::Many(many) => self.drawn(SEED, |row, number| many.pick(row.draw(number + 1))),
            }
        })
    }

    fn quantities(&self) -> &[i64] {
        self.quantities.get_or_init(|| self.small(209_208_115, QUANTITIES, |quantity| quantity))
    }

    fn suppliers(&self) -> Vec<i64> {
        let suppliers = PartSuppliers::new(self.piece);
        let numbers = self.small(2_095_021_727, SUPPLIER_NUMBERS, |number| number);
        self.parts().iter().zip(numbers).map(|(part, number)| suppliers.of_part(*part, number)).collect()
    }

    fn line_numbers(&self) -> Vec<i32> {
        let stream = ColumnStream::at(LINE_COUNT_SEED, 1, 0);
        several::<LINES, _>(&self.counts, self.total, stream, |_, number| number as i32 + 1)
    }

    fn commit_days(&self) -> Vec<i32> {
        self.after_orders(self.small(904_914_315, COMMIT_DAYS, |days| days as i32))
    }

    fn receipt_days(&self) -> &[i32] {
        self.receipt_days.get_or_init(|| {
            let offsets = self.small(373_135_028, RECEIPT_DAYS, |days| days as i32);
            self.ship_days().iter().zip(offsets).map(|(ship, offset)| ship + offset).collect()
        })
    }

    /// The return flags. A line that was received by 1995-06-17 is kept or returned; only these lines draw.
    fn return_flags(&self) -> Vec<u8> {
        let words = &*words::RETURN_FLAGS;
        let mut stream = self.piece.stream(717_419_739, LINES as u64);
        let mut flags = Vec::with_capacity(self.total);
        let mut days = self.receipt_days();
        for count in &self.counts {
            let (own, rest) = days.split_at(usize::from(*count));
            days = rest;
            let row = stream.next_row();
            let mut drawn = 0;
            flags.extend(own.iter().map(|day| {
                let is_received = is_past(*day);
                drawn += usize::from(is_received);
                // Not received: the draw is the last one again, or the row's own, and counts for nothing.
                let flag = words.number(row.draw(drawn));
                if is_received { flag } else { NOT_RETURNED }
            }));
        }
        flags
    }

    fn words(&self, seed: u64, words: &NumberedWords) -> Result<ArrayRef> {
        words.column(self.drawn(seed, |row, number| words.number(row.draw(number + 1))), self.piece.mode)
    }

    /// A number for each line.
    fn small<T: Copy + Default>(&self, seed: u64, few: FewNumbers, value: impl Fn(i64) -> T) -> Vec<T> {
        self.drawn(seed, |row, number| value(few.pick(row.draw(number + 1))))
    }

    /// A value for each line, of one draw.
    fn drawn<T: Copy + Default>(&self, seed: u64, value: impl Fn(RowDraws, usize) -> T) -> Vec<T> {
        several::<LINES, _>(&self.counts, self.total, self.piece.stream(seed, LINES as u64), value)
    }

    /// Each order's value, for all of its lines.
    fn of_orders<T: Copy + Default>(&self, orders: impl Iterator<Item = T>) -> Vec<T> {
        let mut values = vec![T::default(); self.total + LINES];
        let mut at = 0;
        for (value, count) in orders.zip(&self.counts) {
            if let Some(places) = values[at..].first_chunk_mut::<LINES>() {
                *places = [value; LINES];
            }
            at += usize::from(*count);
        }
        values.truncate(self.total);
        values
    }

    /// Days after the lines' orders.
    fn after_orders(&self, mut offsets: Vec<i32>) -> Vec<i32> {
        let orders = self.order_days.get_or_init(|| order_days(self.piece));
        let orders = self.of_orders(orders.iter().copied());
        offsets.iter_mut().zip(orders).for_each(|(day, order)| *day += order);
        offsets
    }
}
