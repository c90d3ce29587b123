//! Rows as structs, and builders that copy them into columns: the `tpchgen` crates' own way.

use arrow::array::{Array, ArrayRef, AsArray, Int64Array, RecordBatch};
use arrow::compute::concat_batches;
use arrow::datatypes::{Decimal128Type, Int64Type, SchemaRef};
use arrow::error::ArrowError;
use lakerace_io::{Error, Result};
use std::sync::Arc;
use tpchgen::generators::{
    CustomerGenerator, LineItemGenerator, NationGenerator, OrderGenerator, PartGenerator, PartSuppGenerator,
    RegionGenerator, SupplierGenerator,
};
use tpchgen_arrow::{
    CustomerArrow, LineItemArrow, NationArrow, OrderArrow, PartArrow, PartSuppArrow, RegionArrow, SupplierArrow,
};

use crate::columns::TablePiece;
use crate::refresh::OrderKey;
use crate::table::Table;

/// All columns of a piece, with this schema.
pub(crate) fn batch(piece: &TablePiece, schema: &SchemaRef) -> Result<RecordBatch> {
    let total = piece.table.entities(piece.scale);
    let wanted = &piece.entities;
    // The reference generator makes parts of equal size: as many parts of approximately the piece's size as fit. It
    // doesn't split tables whose size is the same at any scale.
    let is_fixed = matches!(piece.table, Table::Nation | Table::Region);
    let count = if is_fixed { 1 } else { (total / (wanted.end - wanted.start).max(1)).clamp(1, i32::MAX as u64 / 2) };
    let each = (total / count).max(1);
    let mut found = Vec::new();
    // The reference continues beyond the last part, with parts of the same size, and that is where inserted orders are.
    let is_inserted = wanted.start >= total;
    let mut number = if is_inserted { wanted.start / each } else { (wanted.start / each).min(count - 1) };
    while number * each < wanted.end && (number < count || is_inserted) {
        let start = number * each;
        let end = if number + 1 == count { total } else { start + each };
        let part = reference_part(piece, number as i32 + 1, count as i32)?;
        let from = wanted.start.clamp(start, end) - start;
        let to = wanted.end.clamp(start, end) - start;
        let rows = rows_of(piece.table, &part, start, from)..rows_of(piece.table, &part, start, to);
        let part = with_schema(&part.slice(rows.start, rows.len()), piece, schema)?;
        found.push(if is_inserted { with_gap_keys(&part, total)? } else { part });
        number += 1;
    }
    concat_batches(schema, &found).map_err(Error::unexpected)
}

/// The row at which an entity starts. Entities are counted from the batch's first one, whose number is `start`.
fn rows_of(table: Table, batch: &RecordBatch, start: u64, entity: u64) -> usize {
    let rows = batch.num_rows();
    match table {
        Table::PartSupp => (entity * table.rows_per_entity()) as usize,
        Table::LineItem => {
            let key = OrderGenerator::make_order_key((start + entity) as i64 + 1);
            let keys = batch.column(0).as_primitive::<Int64Type>().values();
            keys.partition_point(|other| *other < key)
        }
        _ => (entity as usize).min(rows),
    }
}

/// A part of a table, by the reference.
fn reference_part(piece: &TablePiece, number: i32, count: i32) -> Result<RecordBatch> {
    let factor = piece.scale.factor();
    macro_rules! first_batch {
        ($arrow:ident, $generator:ident) => {
            first($arrow::new($generator::new(factor, number, count)).with_batch_size(MOST_ROWS))
        };
    }
    match piece.table {
        Table::Nation => first_batch!(NationArrow, NationGenerator),
        Table::Region => first_batch!(RegionArrow, RegionGenerator),
        Table::Part => first_batch!(PartArrow, PartGenerator),
        Table::Supplier => first_batch!(SupplierArrow, SupplierGenerator),
        Table::PartSupp => first_batch!(PartSuppArrow, PartSuppGenerator),
        Table::Customer => first_batch!(CustomerArrow, CustomerGenerator),
        Table::Orders => first_batch!(OrderArrow, OrderGenerator),
        Table::LineItem => first_batch!(LineItemArrow, LineItemGenerator),
    }
}

/// All rows of a part come in one batch.
const MOST_ROWS: usize = 1 << 31;

fn first(mut batches: impl Iterator<Item = Result<RecordBatch, ArrowError>>) -> Result<RecordBatch> {
    batches.next().ok_or_else(|| Error::internal("the reference returned no rows"))?.map_err(Error::unexpected)
}

fn with_schema(batch: &RecordBatch, piece: &TablePiece, schema: &SchemaRef) -> Result<RecordBatch> {
    let mut columns = batch.columns().to_vec();
    if piece.table == Table::LineItem && piece.whole_quantities {
        let column = schema.index_of("l_quantity").map_err(Error::unexpected)?;
        columns[column] = whole(&columns[column])?;
    }
    RecordBatch::try_new(Arc::clone(schema), columns).map_err(Error::unexpected)
}

/// Orders, or their lines, whose keys are those of inserted ones: the reference went on counting.
fn with_gap_keys(batch: &RecordBatch, orders: u64) -> Result<RecordBatch> {
    let mut columns = batch.columns().to_vec();
    let counted = columns[0].as_primitive_opt::<Int64Type>();
    let counted = counted.ok_or_else(|| Error::internal("the reference's order keys are not numbers"))?;
    let gap_key = |key: &i64| match OrderKey::decode(*key) {
        Some(OrderKey::Table(number)) if number > orders => OrderKey::Inserted(number - orders).key(),
        _ => *key,
    };
    columns[0] = Arc::new(Int64Array::from_iter_values(counted.values().iter().map(gap_key)));
    RecordBatch::try_new(batch.schema(), columns).map_err(Error::unexpected)
}

/// Hundredths as whole numbers.
fn whole(decimals: &ArrayRef) -> Result<ArrayRef> {
    let decimals = decimals.as_primitive_opt::<Decimal128Type>();
    let decimals = decimals.ok_or_else(|| Error::internal("the reference's quantities are not decimals"))?;
    debug_assert_eq!(decimals.null_count(), 0);
    Ok(Arc::new(Int64Array::from_iter_values(decimals.values().iter().map(|hundredths| (hundredths / 100) as i64))))
}
