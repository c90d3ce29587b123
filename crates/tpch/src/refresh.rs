//! The refresh functions: RF1 inserts orders with their lines, RF2 deletes as many (TPC-H 3.0.1, clauses 2.5 to 2.8).
//!
//! A stream inserts and deletes a thousandth of the table's orders each, SF x 1,500. As dbgen makes them (`-U`):
//!
//! - Orders that are inserted are the rows that the table would have if it went on beyond its last order; the n-th stream's
//!   come after those of the one before.
//! - Of 32 order keys the first eight belong to the table (clause 4.2.3). The inserted order number i (from 1, counted
//!   through all streams) has the key of the table's order number i, eight further: in the gap after it.
//! - RF2 of the n-th stream deletes the n-th thousandth of the table's orders. So the orders that one stream inserts have keys
//!   next to those that it deletes.

use std::ops::Range;

use lakerace_io::{Error, Result};
use tpchgen::generators::OrderGenerator;

use crate::scale::Scale;
use crate::table::Table;

/// Streams that a table has, one for each thousandth of it but the last. (The 1000th of dbgen deletes keys that no row has.)
pub const MAX_STREAMS: u32 = 999;
/// The divisor of the table's number of orders that gives the orders of a stream.
const SHARE: u64 = 1000;
/// From a key of the table to the key in the gap after it.
const GAP: i64 = 8;
/// Keys of the table in a row, and from the first of them to the first of the next ones.
const KEPT: i64 = 8;
const BLOCK: i64 = 32;

/// The rows of a refresh stream in `orders` or `lineitem`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Refresh {
    /// The rows that RF1 of a stream, numbered from 1, inserts.
    Insert(u32),
    /// The rows of the table that RF2 of a stream deletes.
    Delete(u32),
}

/// The meaning of an order key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OrderKey {
    /// The table's order of this number, from 1.
    Table(u64),
    /// The inserted order of this number, from 1, counted through all streams.
    Inserted(u64),
}

impl Refresh {
    /// The number of its stream.
    pub fn stream(self) -> u32 {
        match self {
            Self::Insert(stream) | Self::Delete(stream) => stream,
        }
    }

    /// Its name in locations.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Insert(_) => "insert",
            Self::Delete(_) => "delete",
        }
    }

    /// Fails where a table, or a stream, has none.
    ///
    /// # Errors
    /// `Usage`, naming the tables and numbers that there are.
    pub(crate) fn check(self, table: Table) -> Result<()> {
        check_streams(self.stream())?;
        if matches!(table, Table::Orders | Table::LineItem) {
            return Ok(());
        }
        Err(Error::usage(format!("refresh streams change orders and lineitem, not {table}"))
            .advice(format!("omit {}", self.name())))
    }

    /// The orders that its rows are made from, by their places from 0; those after the last one of the table are inserted.
    pub(crate) fn orders(self, scale: Scale) -> Range<u64> {
        let numbers = stream_orders(scale, self.stream());
        match self {
            Self::Insert(_) => scale.orders() + numbers.start..scale.orders() + numbers.end,
            Self::Delete(_) => numbers,
        }
    }
}

/// Returns an error if the number of streams is out of range.
///
/// # Errors
/// `Usage`.
pub fn check_streams(streams: u32) -> Result<()> {
    if (1..=MAX_STREAMS).contains(&streams) {
        return Ok(());
    }
    Err(Error::usage(format!("there is no refresh stream {streams}"))
        .advice(format!("choose 1 to {MAX_STREAMS}: each replaces a thousandth of the orders")))
}

/// The places, from 0, of the orders that a stream deletes, and of those that it inserts among all that streams insert.
pub fn stream_orders(scale: Scale, stream: u32) -> Range<u64> {
    let each = scale.orders() / SHARE;
    let stream = u64::from(stream);
    each * stream.saturating_sub(1)..each * stream
}

/// The key of the order at a place, from 0; after the last one of the table come the inserted ones.
pub(crate) fn order_key(scale: Scale, place: u64) -> i64 {
    match place.checked_sub(scale.orders()) {
        None => OrderKey::Table(place + 1).key(),
        Some(inserted) => OrderKey::Inserted(inserted + 1).key(),
    }
}

impl OrderKey {
    /// Decodes a key; `None` if no table of TPC-H uses it.
    pub fn decode(key: i64) -> Option<Self> {
        let number = u64::try_from(key.div_euclid(BLOCK) * KEPT + key.rem_euclid(KEPT)).ok()?;
        match key.rem_euclid(BLOCK) / KEPT {
            0 if number > 0 => Some(Self::Table(number)),
            1 if number > 0 => Some(Self::Inserted(number)),
            _ => None,
        }
    }

    /// The key.
    pub fn key(self) -> i64 {
        match self {
            Self::Table(number) => OrderGenerator::make_order_key(number as i64),
            Self::Inserted(number) => OrderGenerator::make_order_key(number as i64) + GAP,
        }
    }
}

#[cfg(test)]
mod tests;
