//! Columns, each made for itself.

mod customer;
mod fixed;
mod lineitem;
mod order_numbers;
mod orders;
mod part;
mod partsupp;
mod people;
mod supplier;

pub(crate) use lineitem::count_lines;

use std::ops::Range;
use std::sync::Arc;

use arrow::array::{ArrayRef, Date32Array, Decimal128Array, Int32Array, PrimitiveArray};
use arrow::datatypes::{ArrowPrimitiveType, Int64Type};
use lakerace_io::{Error, Result};

use crate::mode::Mode;
use crate::random::{ColumnStream, FewNumbers, RandomDraw, RangePick, RowDraws};
use crate::scale::Scale;
use crate::table::Table;
use crate::words::NumberedWords;

/// The part of a table that a batch is made from.
#[derive(Debug, Clone)]
pub(crate) struct TablePiece {
    pub(crate) table: Table,
    pub(crate) scale: Scale,
    /// Its entities (see [`Table::entities`]), from 0. Orders beyond the last one are those that refresh streams insert.
    pub(crate) entities: Range<u64>,
    pub(crate) mode: Mode,
    /// `l_quantity` is a whole number, not a decimal.
    pub(crate) whole_quantities: bool,
}

impl TablePiece {
    /// The columns asked for, by their numbers, and the number of rows.
    pub(crate) fn columns(&self, wanted: &[usize]) -> Result<(Vec<ArrayRef>, usize)> {
        let name = |number: &usize| self.table.columns().get(*number).map(|(name, _)| *name);
        let names: Vec<&str> = wanted.iter().filter_map(name).collect();
        match self.table {
            Table::Nation => self.rows(&names, fixed::nation),
            Table::Region => self.rows(&names, fixed::region),
            Table::Part => self.rows(&names, part::column),
            Table::Supplier => self.rows(&names, supplier::column),
            Table::Customer => self.rows(&names, customer::column),
            Table::PartSupp => {
                let columns = names.iter().map(|name| partsupp::column(self, name)).collect::<Result<_>>()?;
                Ok((columns, self.len() * partsupp::SUPPLIERS))
            }
            Table::Orders => {
                let orders = orders::PieceOrders::new(self);
                let columns = names.iter().map(|name| orders.column(name)).collect::<Result<_>>()?;
                Ok((columns, self.len()))
            }
            Table::LineItem => {
                let lines = lineitem::OrderLines::new(self);
                let columns = names.iter().map(|name| lines.column(name)).collect::<Result<_>>()?;
                Ok((columns, lines.rows()))
            }
        }
    }

    fn rows(&self, names: &[&str], column: fn(&Self, &str) -> Result<ArrayRef>) -> Result<(Vec<ArrayRef>, usize)> {
        let columns = names.iter().map(|name| column(self, name)).collect::<Result<_>>()?;
        Ok((columns, self.len()))
    }

    /// Entities.
    fn len(&self) -> usize {
        (self.entities.end - self.entities.start) as usize
    }

    /// The sequence of a column at the first entity.
    fn stream(&self, seed: u64, draws_of_each: u64) -> ColumnStream {
        ColumnStream::at(seed, draws_of_each, self.entities.start)
    }

    /// The entities' numbers, from 1.
    fn numbers(&self) -> impl ExactSizeIterator<Item = i64> + use<> {
        let first = self.entities.start as i64 + 1;
        (0..self.len()).map(move |i| first + i as i64)
    }

    /// Makes a number for each entity.
    fn drawn<T>(&self, seed: u64, few: FewNumbers, value: impl Fn(i64) -> T) -> Vec<T> {
        self.stream(seed, 1).draws(self.len()).map(|draw| value(few.pick(draw))).collect()
    }

    /// Makes a word for each entity.
    fn words(&self, seed: u64, words: &NumberedWords) -> Result<ArrayRef> {
        let numbers = self.stream(seed, 1).draws(self.len()).map(|draw| words.number(draw)).collect();
        words.column(numbers, self.mode)
    }
}

/// A primitive column without nulls.
fn primitive<T: ArrowPrimitiveType>(values: Vec<T::Native>) -> ArrayRef {
    Arc::new(PrimitiveArray::<T>::new(values.into(), None))
}

fn keys(values: Vec<i64>) -> Result<ArrayRef> {
    Ok(primitive::<Int64Type>(values))
}

fn numbers(values: Vec<i32>) -> Result<ArrayRef> {
    Ok(Arc::new(Int32Array::new(values.into(), None)))
}

fn days(values: Vec<i32>) -> Result<ArrayRef> {
    Ok(Arc::new(Date32Array::new(values.into(), None)))
}

/// decimal(15,2), of hundredths.
fn decimals(hundredths: Vec<i128>) -> Result<ArrayRef> {
    let column = Decimal128Array::new(hundredths.into(), None).with_precision_and_scale(15, 2);
    Ok(Arc::new(column.map_err(Error::unexpected)?))
}

fn unknown(piece: &TablePiece, name: &str) -> Error {
    Error::internal(format!("{} has no column {name:?}", piece.table))
}

/// Draws `EACH` values for each entity and keeps the number in `counts`. All are computed, which is faster than a
/// branch on a random number, and the next entity's values overwrite the surplus.
fn several<const EACH: usize, T: Copy + Default>(
    counts: &[u8],
    total: usize,
    mut stream: ColumnStream,
    value: impl Fn(RowDraws, usize) -> T,
) -> Vec<T> {
    let mut values = vec![T::default(); total + EACH];
    let mut at = 0;
    for count in counts {
        let row = stream.next_row();
        if let Some(places) = values[at..].first_chunk_mut::<EACH>() {
            for (number, place) in places.iter_mut().enumerate() {
                *place = value(row, number);
            }
        }
        at += usize::from(*count);
    }
    values.truncate(total);
    values
}

/// Keys of another table, from 1 on.
#[derive(Clone, Copy)]
enum ForeignKeys {
    Few(FewNumbers),
    Many(crate::random::ManyNumbers),
}

impl ForeignKeys {
    fn up_to(last: u64) -> Self {
        if last <= FewNumbers::MAX {
            Self::Few(FewNumbers::new(1, last as i64))
        } else {
            Self::Many(crate::random::ManyNumbers::new(1, last as i64))
        }
    }

    #[inline(always)]
    fn pick(self, draw: RandomDraw) -> i64 {
        match self {
            Self::Few(few) => few.pick(draw),
            Self::Many(many) => many.pick(draw),
        }
    }
}
