//! Rows of a source that can be put into another order.

mod decode;
mod encode;
mod gather;
mod keyed;
mod kind;
mod ordered;

use std::ops::Range;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, RecordBatch};
use arrow::datatypes::{DataType, SchemaRef};
use lakerace_io::{Error, Result};

use self::encode::PackedPieces;
pub(crate) use self::encode::{PackedBatch, RowPacking};
pub(crate) use self::gather::gather;
pub(crate) use self::keyed::{KeyedRows, SORTING_BYTES_PER_ROW, SortedRows};
pub(crate) use self::ordered::OrderedRows;
use crate::key::{KeyColumns, Keys};

/// Batches whose rows are numbered one after the other.
#[derive(Debug)]
pub(crate) struct NumberedRows {
    pieces: KeptPieces,
    /// The number of the first row of each piece.
    firsts: Vec<u32>,
    /// The piece of every row whose number is a multiple of [`HINT_ROWS`]: a row's own piece is a few steps from it.
    hints: Vec<u32>,
    /// The approximate bytes of all values.
    bytes: usize,
    rows: usize,
    /// The most that a packed row takes.
    largest_bytes: usize,
    /// `None`: no column can be packed.
    packing: Option<Arc<RowPacking>>,
}

#[derive(Debug)]
enum KeptPieces {
    /// Original batches.
    Whole(Vec<RecordBatch>),
    Packed(Arc<RowPacking>, PackedPieces),
}

/// Rows between those whose piece is kept.
const HINT_ROWS: usize = 4096;

impl NumberedRows {
    /// No rows yet; they will be packed in this way.
    pub fn new(packing: Option<Arc<RowPacking>>) -> Self {
        let (pieces, firsts, hints) = (KeptPieces::Whole(Vec::new()), Vec::new(), Vec::new());
        Self { pieces, firsts, hints, bytes: 0, rows: 0, largest_bytes: 0, packing }
    }

    /// The number of rows.
    pub fn len(&self) -> usize {
        self.rows
    }

    /// The approximate bytes of all values.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Returns true if rows are packed: their pieces are not batches.
    pub fn is_packed(&self) -> bool {
        matches!(self.pieces, KeptPieces::Packed(..))
    }

    /// The original batches; none where rows are packed.
    pub fn batches(&self) -> &[RecordBatch] {
        match &self.pieces {
            KeptPieces::Whole(batches) => batches,
            KeptPieces::Packed(..) => &[],
        }
    }

    /// Appends a batch, with its rows in their own order.
    pub fn push(&mut self, batch: RecordBatch) -> Result<()> {
        self.append(batch, None).map(|_| ())
    }

    /// Appends a batch whose rows have these keys. Appends the keys to `all` in the order in which the rows are stored:
    /// rows that are packed may be stored nearly in the order of keys. Rows of the same key stay in their own order.
    pub fn push_by_keys(&mut self, batch: RecordBatch, keys: Keys, all: &mut Keys) -> Result<()> {
        match self.append(batch, Some(&keys))? {
            Some(packed) => packed.into_iter().for_each(|keys| all.append(keys)),
            None => all.append(keys),
        }
        Ok(())
    }

    /// Appends a batch that was packed with the layout of these rows, like [`Self::push_packed`], and drops its keys.
    pub fn push_unkeyed(&mut self, batch: PackedBatch) -> Result<()> {
        self.append_packed(batch).map(drop)
    }

    /// Appends a batch that was packed with the layout of these rows, and its keys to `all`. It is an error where rows
    /// are not packed.
    pub fn push_packed(&mut self, batch: PackedBatch, all: &mut Keys) -> Result<()> {
        self.append_packed(batch)?.into_iter().for_each(|keys| all.append(keys));
        Ok(())
    }

    /// The keys of packed pieces, where it has some.
    fn append(&mut self, batch: RecordBatch, keys: Option<&Keys>) -> Result<Option<Vec<Keys>>> {
        match &mut self.pieces {
            KeptPieces::Whole(batches) => {
                let (rows, bytes) = (batch.num_rows(), bytes_of(&batch));
                batches.push(batch);
                self.note(rows, bytes);
                Ok(None)
            }
            KeptPieces::Packed(packing, _) => {
                let packed = packing.pack(&batch, keys)?;
                self.append_packed(packed).map(Some)
            }
        }
    }

    fn append_packed(&mut self, packed: PackedBatch) -> Result<Vec<Keys>> {
        let mut all_keys = Vec::with_capacity(packed.len());
        for (piece, keys) in packed {
            let KeptPieces::Packed(_, pieces) = &mut self.pieces else {
                return Err(Error::internal("packed rows among others"));
            };
            let (rows, bytes) = (piece.rows(), piece.memory_bytes() + bytes_of(piece.others()));
            self.largest_bytes = self.largest_bytes.max(piece.largest_bytes());
            pieces.push(piece);
            all_keys.extend(keys);
            self.note(rows, bytes);
        }
        Ok(all_keys)
    }

    /// Packs the rows, and later ones: they are not in order. Their numbers do not change.
    pub fn pack(&mut self) -> Result<()> {
        let (KeptPieces::Whole(batches), Some(packing)) = (&mut self.pieces, &self.packing) else { return Ok(()) };
        let (batches, packing) = (std::mem::take(batches), Arc::clone(packing));
        let pieces = packing.no_pieces();
        *self = Self { pieces: KeptPieces::Packed(Arc::clone(&packing), pieces), ..Self::new(Some(packing)) };
        batches.into_iter().try_for_each(|batch| self.push(batch))
    }

    /// Notes the next piece.
    fn note(&mut self, rows: usize, bytes: usize) {
        self.hints.resize((self.rows + rows).div_ceil(HINT_ROWS), self.firsts.len() as u32);
        self.firsts.push(self.rows as u32);
        self.rows += rows;
        self.bytes += bytes;
    }

    /// The piece of a row, and the row in it.
    fn position(&self, row: u32) -> (u32, u32) {
        let mut piece = self.hints[row as usize / HINT_ROWS] as usize;
        while self.firsts.get(piece + 1).is_some_and(|first| *first <= row) {
            piece += 1;
        }
        (piece as u32, row - self.firsts[piece])
    }

    /// These rows, in this order.
    pub fn gather(&self, schema: &SchemaRef, rows: impl ExactSizeIterator<Item = u32> + Clone) -> Result<RecordBatch> {
        let (count, at) = (rows.len(), rows.map(|row| self.position(row)));
        let wide = |(piece, row): (u32, u32)| (piece as usize, row as usize);
        match &self.pieces {
            KeptPieces::Whole(batches) => gather(schema, batches, &at.map(wide).collect::<Vec<_>>()).map_err(broken),
            KeptPieces::Packed(packing, pieces) => {
                let others_schema = packing.others_schema()?;
                let others = if others_schema.fields().is_empty() {
                    RecordBatch::new_empty(others_schema)
                } else {
                    let batches: Vec<RecordBatch> = pieces.iter().map(|piece| piece.others().clone()).collect();
                    let at: Vec<_> = at.clone().map(wide).collect();
                    gather(&others_schema, &batches, &at).map_err(broken)?
                };
                packing.unpack(pieces, at, count, &others)
            }
        }
    }

    /// Divides these rows into ranges of up to `most_rows` rows, and of approximately up to `most_bytes` bytes when
    /// they are gathered.
    pub fn cut(
        &self,
        rows: impl ExactSizeIterator<Item = u32>,
        most_rows: usize,
        most_bytes: usize,
    ) -> Vec<Range<usize>> {
        let (count, most_rows) = (rows.len(), most_rows.max(1));
        let pieces = match &self.pieces {
            KeptPieces::Packed(_, pieces) if self.largest_bytes > most_bytes / most_rows => pieces,
            _ => return (0..count).step_by(most_rows).map(|from| from..(from + most_rows).min(count)).collect(),
        };
        let (mut ranges, mut from, mut bytes) = (Vec::new(), 0, 0);
        for (at, row) in rows.enumerate() {
            let (piece, row) = self.position(row);
            let more = pieces[piece as usize].row_bytes(row as usize);
            if at > from && (at - from == most_rows || bytes + more > most_bytes) {
                ranges.push(from..at);
                (from, bytes) = (at, 0);
            }
            bytes += more;
        }
        if from < count {
            ranges.push(from..count);
        }
        ranges
    }

    /// The position of a row in the original order.
    pub fn origin(&self, row: u32) -> u32 {
        let (piece, at) = self.position(row);
        match &self.pieces {
            KeptPieces::Whole(_) => row,
            KeptPieces::Packed(_, pieces) => row - at + pieces[piece as usize].origin(at as usize),
        }
    }

    /// The key of a row, for people.
    pub fn describe(&self, schema: &SchemaRef, row: u32, columns: &KeyColumns) -> Result<String> {
        let row = self.gather(schema, std::iter::once(row))?;
        let value = |name: &str| {
            let array = row.column_by_name(name)?;
            let value = lakerace_format::value_text(array, 0).ok()?;
            Some(format!("{name} = {value}"))
        };
        Ok(columns.names().filter_map(value).collect::<Vec<_>>().join(", "))
    }
}

/// The bytes of a batch's own values.
fn bytes_of(batch: &RecordBatch) -> usize {
    batch.columns().iter().map(value_bytes).sum()
}

/// The bytes of an array's own values. What else is in buffers that it shares with other arrays, they account for.
pub(crate) fn value_bytes(array: &ArrayRef) -> usize {
    let views = |used: usize| array.len() * size_of::<u128>() + used;
    match array.data_type() {
        DataType::Utf8View => views(array.as_string_view().total_buffer_bytes_used()),
        DataType::BinaryView => views(array.as_binary_view().total_buffer_bytes_used()),
        // Layouts that have no such size are taken for all they hold.
        _ => array.to_data().get_slice_memory_size().unwrap_or_else(|_| array.get_array_memory_size()),
    }
}

fn broken(error: arrow::error::ArrowError) -> Error {
    Error::internal("the rows can't be sorted").because(error)
}
