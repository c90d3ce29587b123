//! Rows whose keys are known ahead, sorted and written run by run while they are read.

use std::collections::VecDeque;
use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use lakerace_exec::map_ordered;
use lakerace_format::Batches;
use lakerace_io::{Job, Result};

use super::key_windows::{FIRST_ROW, PIECES_AHEAD, numbered_pieces};
use super::source::changed;
use crate::rows::{NumberedRows, OrderedRows, PackedBatch, RowPacking, value_bytes};
use crate::write::BatchFit;

/// The options of writing rows in runs.
pub(crate) struct StreamingWrite<'a> {
    /// From the source's columns to the table's.
    pub fit: &'a BatchFit,
    /// Approximate bytes of a run.
    pub run_bytes: usize,
    pub job: &'a Job,
}

/// The writer of the rows.
pub(crate) type Write<'a> = &'a mut (dyn FnMut(&RecordBatch) -> Result<()> + Send);

/// Rows that are written at a time.
const SLICE_ROWS: usize = 65_536;
/// So many runs of rows take the memory of an upsert.
const RUNS_IN_MEMORY: usize = super::RUNS_IN_MEMORY as usize;
/// Rows of a run at least, as the exponent of two: fewer are no order.
const LEAST_RUN_BITS: u32 = 8;
/// A run ends early if its rows are so many times larger than the first ones.
const LARGEST_RUN: usize = 2;

impl StreamingWrite<'_> {
    /// Writes the rows of a source in sorted runs, each with as many rows as take approximately [`Self::run_bytes`].
    ///
    /// Errors: those of the source and of `write`; `Conflict` where the source has other rows than when its keys were
    /// read.
    pub fn write(&self, batches: Batches, rows: u32, order: Option<Vec<u32>>, write: Write<'_>) -> Result<()> {
        let mut batches = batches.filter(|batch| !matches!(batch, Ok(batch) if batch.num_rows() == 0)).peekable();
        let (threads, memory_bytes) = (self.job.options().threads, self.run_bytes.saturating_mul(RUNS_IN_MEMORY));
        let Some(order) = order else {
            let mut next = 0;
            for piece in numbered_pieces(batches, threads, memory_bytes) {
                self.job.check()?;
                let (first_row, piece) = piece?;
                next = next_row(first_row, &piece, rows)?;
                write(&self.fit.fit(&piece)?)?;
            }
            return if next == rows { Ok(()) } else { Err(changed()) };
        };
        let run_bits = match batches.peek() {
            Some(Ok(first)) => self.run_bits(first),
            _ => LEAST_RUN_BITS,
        };
        let packing = RowPacking::new(self.fit.schema(), threads).map(|packing| Arc::new(packing.recycling()));
        let mut run = FillingRun {
            schema: Arc::clone(self.fit.schema()),
            packing: packing.clone(),
            orders: by_run(order, rows, run_bits),
            run_bits,
            most_bytes: self.run_bytes.saturating_mul(LARGEST_RUN),
            first_row: 0,
            rows: no_rows(&packing)?,
            threads,
        };
        let pack = |thread, (first_row, piece): (u64, RecordBatch)| {
            self.job.check()?;
            let end = next_row(first_row, &piece, rows)?;
            let piece = self.fit.fit(&piece)?;
            let (mut parts, first) = (Vec::new(), end - piece.num_rows() as u32);
            let mut begin = first;
            while begin < end {
                let part_end = end.min(((begin >> run_bits) + 1) << run_bits);
                let part = piece.slice((begin - first) as usize, (part_end - begin) as usize);
                parts.push(match &packing {
                    Some(packing) => RunPart::Packed(packing.pack_alone(&part, None, thread)?),
                    None => RunPart::Whole(part),
                });
                begin = part_end;
            }
            Ok(parts)
        };
        let pieces = numbered_pieces(batches, threads, memory_bytes);
        map_ordered(pieces, (PIECES_AHEAD, threads), pack, |parts: Vec<RunPart>| {
            parts.into_iter().try_for_each(|part| run.push(part, write))
        })?;
        if run.next_row() != rows {
            return Err(changed());
        }
        run.end(write)
    }

    /// The rows of a run, as the exponent of two, where all are like these.
    fn run_bits(&self, rows: &RecordBatch) -> u32 {
        let bytes: usize = rows.columns().iter().map(value_bytes).sum();
        let row_bytes = bytes.div_ceil(rows.num_rows().max(1)).max(1);
        (self.run_bytes / row_bytes).max(1).ilog2().clamp(LEAST_RUN_BITS, u32::BITS - 2)
    }
}

/// The number of the row after a piece, counted from 0, of a source that has so many rows.
fn next_row(first_row: u64, piece: &RecordBatch, rows: u32) -> Result<u32> {
    let next = first_row - FIRST_ROW + piece.num_rows() as u64;
    u32::try_from(next).ok().filter(|next| *next <= rows).ok_or_else(changed)
}

/// The rows of each run, in the order of keys.
fn by_run(order: Vec<u32>, rows: u32, run_bits: u32) -> VecDeque<Vec<u32>> {
    let runs = rows.div_ceil(1 << run_bits);
    let mut orders: Vec<Vec<u32>> = (0..runs).map(|_| Vec::with_capacity(1 << run_bits.min(rows.ilog2()))).collect();
    for row in order {
        orders[(row >> run_bits) as usize].push(row);
    }
    orders.into()
}

/// Some rows of one run, on their way into it.
enum RunPart {
    Whole(RecordBatch),
    Packed(PackedBatch),
}

/// A run that fills.
struct FillingRun {
    schema: SchemaRef,
    packing: Option<Arc<RowPacking>>,
    /// The rows to write of this run and of each one after it, in the order of keys.
    orders: VecDeque<Vec<u32>>,
    run_bits: u32,
    most_bytes: usize,
    /// The number of the first row.
    first_row: u32,
    rows: NumberedRows,
    threads: usize,
}

fn no_rows(packing: &Option<Arc<RowPacking>>) -> Result<NumberedRows> {
    let mut rows = NumberedRows::new(packing.clone());
    rows.pack()?;
    Ok(rows)
}

impl FillingRun {
    fn next_row(&self) -> u32 {
        self.first_row + self.rows.len() as u32
    }

    /// Adds the next rows, and writes the run with its last ones.
    fn push(&mut self, part: RunPart, write: Write<'_>) -> Result<()> {
        match part {
            RunPart::Whole(rows) => self.rows.push(rows)?,
            RunPart::Packed(rows) => self.rows.push_unkeyed(rows)?,
        }
        let is_last = self.next_row() & ((1 << self.run_bits) - 1) == 0;
        if is_last || self.rows.bytes() >= self.most_bytes { self.end(write) } else { Ok(()) }
    }

    /// Writes the rows that there are in the order of their keys.
    fn end(&mut self, write: Write<'_>) -> Result<()> {
        let (first, next) = (self.first_row, self.next_row());
        let Some(order) = self.orders.pop_front() else { return Ok(()) };
        let (mut now, later): (Vec<u32>, Vec<u32>) = order.into_iter().partition(|row| *row < next);
        if next & ((1 << self.run_bits) - 1) != 0 {
            self.orders.push_front(later);
        }
        now.iter_mut().for_each(|row| *row -= first);
        let rows = std::mem::replace(&mut self.rows, no_rows(&self.packing)?);
        self.first_row = next;
        let rows = OrderedRows::new(Arc::clone(&self.schema), rows, Some(now));
        rows.each_batch(SLICE_ROWS, self.threads, &mut |batch| write(&batch))
    }
}

#[cfg(test)]
mod tests;
