//! Rows in a packed form, so that each of them is in one place of memory.
//!
//! Sorted rows are gathered from everywhere. In columns a row costs a cache miss for each column, and another one for
//! each text; packed it costs one or two, which are prefetched some rows ahead.

use std::ops::{Deref, Range};
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, RecordBatch, RecordBatchOptions, UInt32Array};
use arrow::buffer::NullBuffer;
use arrow::compute::take_record_batch;
use arrow::datatypes::{BinaryType, DataType, LargeBinaryType, LargeUtf8Type, SchemaRef, Utf8Type};
use arrow::error::ArrowError;
use lakerace_exec::map_with_states;
use lakerace_format::{Block, MemoryPool, prefetch};
use lakerace_io::{Error, Result};

use super::decode::UnpackedColumn;
use super::kind::LENGTH_BYTES;
use super::kind::PackedKind;
use crate::key::Keys;

/// The packed form of rows of a schema.
///
/// A row is a bit for each column (set: null), then the values of fixed width and the lengths of texts, then the texts.
/// Columns of other types stay columns.
#[derive(Debug)]
pub(crate) struct RowPacking {
    schema: SchemaRef,
    packed: Vec<PackedColumn>,
    /// The numbers of the columns that stay.
    others: Vec<usize>,
    /// Bytes of a row in front of its values.
    null_bytes: usize,
    /// Bytes of a row in front of its texts.
    fixed_bytes: usize,
    /// The pools, one for each thread: new memory is cleared under the pool's lock.
    pools: Vec<Arc<MemoryPool>>,
    /// True if more rows are packed when others are gone.
    recycles: bool,
}

#[derive(Debug)]
struct PackedColumn {
    number: usize,
    /// The offset of a row's value, or the length of its text.
    at: usize,
    kind: PackedKind,
}

/// Some rows, packed.
#[derive(Debug)]
pub(crate) struct PackedRows {
    bytes: Block,
    /// The start of each row, and the end of the last.
    starts: Vec<u32>,
    /// The position of each row in the original order.
    origins: Vec<u16>,
    /// True if a column has a null, by the numbers of packed columns.
    has_nulls: Vec<bool>,
    /// The columns that stay.
    others: RecordBatch,
    /// The memory of all columns but those that stay.
    memory_bytes: usize,
    /// The most that one of them takes, packed.
    largest_bytes: usize,
}

/// A batch in pieces, each with its keys, where it has some.
pub(crate) type PackedBatch = Vec<(PackedRows, Option<Keys>)>;

/// Pieces one after the other. Their memory is freed on several threads: returning half a gigabyte to the kernel takes
/// time.
#[derive(Debug)]
pub(super) struct PackedPieces {
    pieces: Vec<PackedRows>,
    pools: Vec<Arc<MemoryPool>>,
    recycles: bool,
}

/// Rows that are packed or unpacked column by column: they stay in a core's own cache.
const BLOCK_ROWS: usize = 256;
/// Rows of a piece at most: their columns are read in the order of keys, and stay in a core's own cache for it.
const PIECE_ROWS: usize = 4096;
/// Pieces that one thread frees as fast as more.
const PIECES_PER_THREAD: usize = 64;
/// Bytes of a piece at most, unless it is one row.
const PIECE_BYTES: u64 = 16 << 20;
/// Bytes of a row that are prefetched at most; the hardware prefetches longer ones from there on.
const FETCHED_BYTES: usize = 256;
const CACHE_LINE_BYTES: usize = 64;
/// Runs `$body` with `$texts` as the array of the concrete layout.
macro_rules! with_texts {
    ($array:expr, $texts:ident => $body:expr) => {
        match $array.data_type() {
            DataType::Utf8 => with_texts!(@ $array.as_bytes::<Utf8Type>(), $texts => $body),
            DataType::LargeUtf8 => with_texts!(@ $array.as_bytes::<LargeUtf8Type>(), $texts => $body),
            DataType::Binary => with_texts!(@ $array.as_bytes::<BinaryType>(), $texts => $body),
            DataType::LargeBinary => with_texts!(@ $array.as_bytes::<LargeBinaryType>(), $texts => $body),
            DataType::Utf8View => with_texts!(@ $array.as_string_view(), $texts => $body),
            _ => with_texts!(@ $array.as_binary_view(), $texts => $body),
        }
    };
    (@ $typed:expr, $texts:ident => $body:expr) => {{
        let $texts = $typed;
        $body
    }};
}

impl RowPacking {
    /// The packing of rows of this schema, on up to so many threads; `None` where no column can be packed.
    pub fn new(schema: &SchemaRef, threads: usize) -> Option<Self> {
        let kinds: Vec<Option<PackedKind>> =
            schema.fields().iter().map(|field| PackedKind::for_type(field.data_type())).collect();
        let others = (0..kinds.len()).filter(|number| kinds[*number].is_none()).collect();
        let null_bytes = kinds.iter().flatten().count().div_ceil(8);
        let mut at = null_bytes;
        let mut packed = Vec::new();
        for (number, kind) in kinds.into_iter().enumerate() {
            if let Some(kind) = kind {
                packed.push(PackedColumn { number, at, kind });
                at += kind.width();
            }
        }
        let (schema, pools) = (Arc::clone(schema), (0..threads.max(1)).map(|_| MemoryPool::new()).collect());
        let recycles = false;
        (!packed.is_empty()).then_some(Self { schema, packed, others, null_bytes, fixed_bytes: at, pools, recycles })
    }

    /// Recycles memory: new rows get the memory of rows that were dropped, which is kept until then.
    pub fn recycling(self) -> Self {
        Self { recycles: true, ..self }
    }

    /// Packs a batch in pieces. With keys, the rows of a piece are stored nearly in the order of their keys, and the
    /// keys are returned in the order of the rows: rows that are later gathered by key are then adjacent.
    ///
    /// Errors: `Invalid` for a row of 4 GiB and more.
    pub fn pack(&self, batch: &RecordBatch, keys: Option<&Keys>) -> Result<PackedBatch> {
        let mut pools: Vec<&Arc<MemoryPool>> = self.pools.iter().take(batch.num_rows().div_ceil(PIECE_ROWS)).collect();
        if pools.is_empty() {
            return Ok(Vec::new());
        }
        // Piece by piece, as threads get a core: the source's threads have work, too.
        let packed = map_with_states(&mut pools, ranges(batch), |pool, range| {
            let mut pieces = Vec::with_capacity(1);
            RowPacker { packing: self, batch, keys, pool }.pack(range, &mut pieces)?;
            Ok::<_, Error>(pieces)
        })?;
        Ok(packed.into_iter().flatten().collect())
    }

    /// Like [`Self::pack`], on the calling thread only, which has this number.
    pub fn pack_alone(&self, batch: &RecordBatch, keys: Option<&Keys>, thread: usize) -> Result<PackedBatch> {
        let pool = &self.pools[thread % self.pools.len()];
        let packer = RowPacker { packing: self, batch, keys, pool };
        let mut pieces = Vec::new();
        ranges(batch).try_for_each(|range| packer.pack(range, &mut pieces))?;
        Ok(pieces)
    }

    fn texts(&self) -> impl Iterator<Item = &PackedColumn> {
        self.packed.iter().filter(|column| matches!(column.kind, PackedKind::Text))
    }

    /// The columns that stay, of these rows.
    fn others(&self, batch: &RecordBatch, order: &[u32]) -> Result<RecordBatch> {
        let others = batch.project(&self.others).map_err(broken)?;
        if self.others.is_empty() {
            return Ok(others.slice(0, order.len()));
        }
        take_record_batch(&others, &UInt32Array::from(order.to_vec())).map_err(broken)
    }

    /// Unpacks `count` rows: the number of their piece, and of the row in it. `others` are the unpacked columns of
    /// these rows.
    pub fn unpack(
        &self,
        pieces: &[PackedRows],
        mut at: impl Iterator<Item = (u32, u32)>,
        count: usize,
        others: &RecordBatch,
    ) -> Result<RecordBatch> {
        let mut columns: Vec<UnpackedColumn> = (self.packed.iter().enumerate())
            .map(|(nth, column)| {
                let has_nulls = pieces.iter().any(|piece| piece.has_nulls[nth]);
                UnpackedColumn::new(self.schema.field(column.number).data_type(), column.kind, has_nulls, count)
            })
            .collect();
        // The starts of rows have to be known before they can be fetched.
        let mut next_block = || {
            let block: Vec<(u32, u32)> = at.by_ref().take(BLOCK_ROWS).collect();
            block.iter().for_each(|(piece, row)| prefetch(&pieces[*piece as usize].starts[*row as usize]));
            block
        };
        let mut ahead = fetch(pieces, &next_block());
        let mut next = next_block();
        let mut texts = Vec::with_capacity(BLOCK_ROWS);
        while !ahead.is_empty() {
            let rows = std::mem::replace(&mut ahead, fetch(pieces, &next));
            next = next_block();
            texts.clear();
            texts.resize(rows.len(), self.fixed_bytes);
            for (nth, (column, unpacked)) in self.packed.iter().zip(&mut columns).enumerate() {
                unpacked.append(&rows, nth, column.at, &mut texts);
            }
        }
        let mut arrays: Vec<Option<ArrayRef>> = vec![None; self.schema.fields().len()];
        for (column, unpacked) in self.packed.iter().zip(columns) {
            arrays[column.number] = Some(unpacked.finish(count).map_err(broken)?);
        }
        for (number, array) in self.others.iter().zip(others.columns()) {
            arrays[*number] = Some(Arc::clone(array));
        }
        let options = RecordBatchOptions::new().with_row_count(Some(count));
        let arrays = arrays.into_iter().flatten().collect();
        RecordBatch::try_new_with_options(Arc::clone(&self.schema), arrays, &options).map_err(broken)
    }

    /// No pieces.
    pub(super) fn no_pieces(&self) -> PackedPieces {
        PackedPieces { pieces: Vec::new(), pools: self.pools.clone(), recycles: self.recycles }
    }

    /// The schema of the columns that stay.
    pub fn others_schema(&self) -> Result<SchemaRef> {
        self.schema.project(&self.others).map(Arc::new).map_err(broken)
    }
}

/// The rows of each piece.
fn ranges(batch: &RecordBatch) -> impl Iterator<Item = Range<usize>> {
    let rows = batch.num_rows();
    (0..rows).step_by(PIECE_ROWS).map(move |first| first..(first + PIECE_ROWS).min(rows))
}

/// Packs rows of a batch by one thread.
struct RowPacker<'a> {
    packing: &'a RowPacking,
    batch: &'a RecordBatch,
    keys: Option<&'a Keys>,
    pool: &'a Arc<MemoryPool>,
}

impl RowPacker<'_> {
    /// Packs rows of a batch, in several pieces where they are too large for one.
    ///
    /// Errors: `Invalid` for a row of 4 GiB and more.
    fn pack(&self, range: Range<usize>, pieces: &mut Vec<(PackedRows, Option<Keys>)>) -> Result<()> {
        let Self { packing, batch, keys, .. } = *self;
        let mut total = (packing.fixed_bytes as u64).saturating_mul(range.len() as u64);
        for column in packing.texts() {
            let array = batch.column(column.number);
            with_texts!(array, texts => for row in range.clone() {
                let text = text(texts.value(row), None, row as u32);
                total += text.len() as u64;
                // Texts are sequential here, and in no order when they are packed.
                text.first().into_iter().for_each(prefetch);
            });
        }
        if total > PIECE_BYTES && range.len() > 1 {
            let middle = range.start + range.len() / 2;
            self.pack(range.start..middle, pieces)?;
            return self.pack(middle..range.end, pieces);
        }
        if u32::try_from(total).is_err() {
            return Err(Error::invalid(format!("a row has {total} bytes, but the limit is 4 GiB")));
        }
        let order = match keys {
            Some(keys) => keys.nearly_sorted(range.clone()),
            None => (range.start as u32..range.end as u32).collect(),
        };
        let packed = self.pack_all(&order, total as usize)?;
        pieces.push((packed, keys.map(|keys| keys.take(&order))));
        Ok(())
    }

    /// Packs these rows, a range in any order.
    fn pack_all(&self, order: &[u32], bytes: usize) -> Result<PackedRows> {
        let Self { packing, batch, .. } = *self;
        // Texts under nulls are left out, so that fewer bytes may be used than there are.
        let mut block = self.pool.take(bytes);
        let packed = &mut block[..bytes];
        let mut starts = Vec::with_capacity(order.len() + 1);
        let mut end = 0u32;
        let columns = packing.packed.iter().map(|column| {
            let data = batch.column(column.number).to_data();
            let nulls = data.nulls().filter(|nulls| nulls.null_count() > 0).cloned();
            (column, batch.column(column.number), data, nulls)
        });
        let columns: Vec<_> = columns.collect();
        let mut ends = Vec::with_capacity(BLOCK_ROWS);
        for rows in order.chunks(BLOCK_ROWS) {
            // The bytes of each row, then its start.
            ends.clear();
            ends.resize(rows.len(), packing.fixed_bytes as u32);
            for (_, array, _, nulls) in columns.iter().filter(|(column, ..)| matches!(column.kind, PackedKind::Text)) {
                with_texts!(array, texts => for (row, end) in rows.iter().zip(&mut ends) {
                    *end += text(texts.value(*row as usize), nulls.as_ref(), *row).len() as u32;
                });
            }
            let first = starts.len();
            for bytes in &mut ends {
                starts.push(end);
                packed[end as usize..end as usize + packing.null_bytes].fill(0);
                end += *bytes;
                *bytes = end - *bytes + packing.fixed_bytes as u32;
            }
            for (nth, (column, array, data, nulls)) in columns.iter().enumerate() {
                let starts = &starts[first..];
                if let Some(nulls) = nulls {
                    mark_nulls(nulls, rows, nth, starts, packed);
                }
                match column.kind {
                    PackedKind::Fixed { width } => {
                        let values = &data.buffers()[0].as_slice()[data.offset() * width..];
                        put(width, values, rows, starts, column.at, packed);
                    }
                    PackedKind::Text => with_texts!(array, texts => {
                        for ((row, end), start) in rows.iter().zip(&mut ends).zip(starts) {
                            let text = text(texts.value(*row as usize), nulls.as_ref(), *row);
                            let at = *start as usize + column.at;
                            packed[at..at + LENGTH_BYTES].copy_from_slice(&(text.len() as u32).to_ne_bytes());
                            let place = *end as usize;
                            packed[place..place + text.len()].copy_from_slice(text);
                            *end += text.len() as u32;
                        }
                    }),
                }
            }
        }
        starts.push(end);
        let first_row = order.iter().min().copied().unwrap_or(0);
        let largest_bytes = starts.windows(2).map(|row| row[1] - row[0]).max().unwrap_or(0) as usize;
        let memory_bytes = block.len() + starts.len() * size_of::<u32>() + order.len() * size_of::<u16>();
        Ok(PackedRows {
            bytes: block,
            starts,
            // A piece has fewer rows than such a number can count.
            origins: order.iter().map(|row| (row - first_row) as u16).collect(),
            has_nulls: columns.iter().map(|(.., nulls)| nulls.is_some()).collect(),
            others: packing.others(batch, order)?,
            memory_bytes,
            largest_bytes,
        })
    }
}

impl PackedRows {
    /// The number of rows.
    pub fn rows(&self) -> usize {
        self.starts.len() - 1
    }

    /// The packed bytes of a row.
    pub fn row_bytes(&self, row: usize) -> usize {
        (self.starts[row + 1] - self.starts[row]) as usize
    }

    /// The memory they take without the columns that stay, in bytes.
    pub fn memory_bytes(&self) -> usize {
        self.memory_bytes
    }

    /// The packed bytes of the largest row.
    pub fn largest_bytes(&self) -> usize {
        self.largest_bytes
    }

    /// The columns that stay.
    pub fn others(&self) -> &RecordBatch {
        &self.others
    }

    /// The position of a row in the original order.
    pub fn origin(&self, row: usize) -> u32 {
        u32::from(self.origins[row])
    }
}

impl PackedPieces {
    /// Appends one.
    pub fn push(&mut self, piece: PackedRows) {
        self.pieces.push(piece);
    }
}

impl Deref for PackedPieces {
    type Target = [PackedRows];

    fn deref(&self) -> &[PackedRows] {
        &self.pieces
    }
}

impl Drop for PackedPieces {
    fn drop(&mut self) {
        if self.recycles {
            return;
        }
        // No one will use the returned memory: rows of a later window get new memory of the same pools.
        self.pools.iter().for_each(|pool| pool.close());
        let share = self.pieces.len().div_ceil(self.pools.len()).max(PIECES_PER_THREAD);
        std::thread::scope(|scope| {
            while self.pieces.len() > share {
                let part = self.pieces.split_off(self.pieces.len() - share);
                // Where no thread can be started, the memory to free is dropped with the error.
                let _ = std::thread::Builder::new().spawn_scoped(scope, move || drop(part));
            }
            self.pieces.clear();
        });
    }
}

/// A text to be packed.
fn text<'a, T: AsRef<[u8]> + ?Sized>(text: &'a T, nulls: Option<&NullBuffer>, row: u32) -> &'a [u8] {
    if nulls.is_some_and(|nulls| nulls.is_null(row as usize)) { &[] } else { text.as_ref() }
}

fn mark_nulls(nulls: &NullBuffer, rows: &[u32], nth: usize, starts: &[u32], packed: &mut [u8]) {
    for (row, start) in rows.iter().zip(starts) {
        packed[*start as usize + nth / 8] |= u8::from(nulls.is_null(*row as usize)) << (nth % 8);
    }
}

/// Writes the values of these rows, which have a fixed width, at `at` bytes after the start of each row.
fn put(width: usize, values: &[u8], rows: &[u32], starts: &[u32], at: usize, packed: &mut [u8]) {
    fn each<const WIDTH: usize>(values: &[u8], rows: &[u32], starts: &[u32], at: usize, packed: &mut [u8]) {
        let values = values.as_chunks::<WIDTH>().0;
        for (row, start) in rows.iter().zip(starts) {
            let place = *start as usize + at;
            packed[place..place + WIDTH].copy_from_slice(&values[*row as usize]);
        }
    }
    match width {
        1 => each::<1>(values, rows, starts, at, packed),
        2 => each::<2>(values, rows, starts, at, packed),
        4 => each::<4>(values, rows, starts, at, packed),
        8 => each::<8>(values, rows, starts, at, packed),
        _ => each::<16>(values, rows, starts, at, packed),
    }
}

/// The bytes of each row, which are on their way into the cache.
fn fetch<'a>(pieces: &'a [PackedRows], at: &[(u32, u32)]) -> Vec<&'a [u8]> {
    let begin = |(piece, row): &(u32, u32)| {
        let piece = &pieces[*piece as usize];
        let row = &piece.bytes[piece.starts[*row as usize] as usize..piece.starts[*row as usize + 1] as usize];
        let begin = &row[..row.len().min(FETCHED_BYTES)];
        begin.iter().step_by(CACHE_LINE_BYTES).chain(begin.last()).for_each(prefetch);
        row
    };
    at.iter().map(begin).collect()
}

fn broken(error: ArrowError) -> Error {
    Error::internal("the rows can't be sorted").because(error)
}

#[cfg(test)]
mod tests;
