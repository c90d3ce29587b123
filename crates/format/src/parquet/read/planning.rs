//! Conversion of a request to a plan, and of a plan to the steps of a read.

use std::ops::Range;

use arrow::datatypes::{DataType, FieldRef};
use lakerace_io::Wanted;

use super::unit::RowGroupUnit;
use crate::columns::roots;
use crate::exec::batch_rows;

/// Bytes of a row group that are requested before its next columns: columns advance together, so their bytes are needed
/// in slices.
const SLICE_BYTES: u64 = 32 << 20;

/// Appends the ranges of one row group in the order of need: a slice of each column, then the next slice of each.
pub(crate) fn want(wanted: &mut Vec<Wanted>, file: u32, ranges: &[Range<u64>]) -> u64 {
    let total: u64 = ranges.iter().map(|range| range.end - range.start).sum();
    let slices = total.div_ceil(SLICE_BYTES).max(1);
    for slice in 0..slices {
        for range in ranges {
            let length = range.end - range.start;
            let at = |slice: u64| range.start + (u128::from(length) * u128::from(slice) / u128::from(slices)) as u64;
            let part = at(slice)..at(slice + 1);
            if !part.is_empty() {
                wanted.push(Wanted { file, range: part });
            }
        }
    }
    total
}

/// The rows of a step where the caller did not say.
pub(crate) fn default_step_rows(units: &[RowGroupUnit], fields: &[FieldRef]) -> usize {
    batch_rows(units.iter().map(|unit| row_bytes(unit, fields)).max().unwrap_or(1), fields.len())
}

/// Approximate size of a row in memory, in bytes.
pub(crate) fn row_bytes(unit: &RowGroupUnit, fields: &[FieldRef]) -> u64 {
    column_bytes(unit, fields).iter().sum::<u64>().max(1)
}

/// The estimated bytes of a decoded row of each column.
pub(crate) fn column_bytes(unit: &RowGroupUnit, fields: &[FieldRef]) -> Vec<u64> {
    let rows = unit_rows(unit);
    let column = |(field, stored): (&FieldRef, u64)| match field.data_type() {
        DataType::Utf8View | DataType::BinaryView => 16 + stored / rows,
        other => (other.primitive_width().unwrap_or(0) as u64).max(stored / rows),
    };
    fields.iter().zip(stored_bytes(unit, fields)).map(column).collect()
}

/// The work of decoding each column of the row group, in bytes that are decompressed and written. Columns of the same width differ in
/// it by several times: indexes of a dictionary take a few bits a row.
pub(crate) fn column_work(unit: &RowGroupUnit, fields: &[FieldRef]) -> Vec<u64> {
    let rows = unit_rows(unit);
    let written = column_bytes(unit, fields).into_iter().map(|bytes| bytes.saturating_mul(rows));
    written.zip(stored_bytes(unit, fields)).map(|(written, stored)| written.saturating_add(stored)).collect()
}

fn unit_rows(unit: &RowGroupUnit) -> u64 {
    (unit.file.metadata().row_group(unit.row_group).num_rows() as u64).max(1)
}

/// The uncompressed bytes of each column.
fn stored_bytes(unit: &RowGroupUnit, fields: &[FieldRef]) -> Vec<u64> {
    let group = unit.file.metadata().row_group(unit.row_group);
    let column = |(field, root): (&FieldRef, Option<usize>)| {
        let leaves = root.map_or_else(Vec::new, |root| unit.file.leaves_of(root, field));
        leaves.into_iter().map(|leaf| group.column(leaf).uncompressed_size().max(0) as u64).sum()
    };
    fields.iter().zip(roots(unit.file.schema(), fields)).map(column).collect()
}
