//! One column of one row group as a state machine that yields the next rows.

use std::ops::Range;
use std::sync::Arc;

use arrow::array::{ArrayRef, new_null_array};
use arrow::datatypes::FieldRef;
use lakerace_io::{Error, Fetcher, Result};

use super::flat_reader::FlatLane;
use super::nested_reader::NestedLane;
use super::planning::Unit;
use crate::FindBy;
use crate::columns::widen;
use crate::conform::conform;
use crate::exec::{ColumnReader, RowMask};
use crate::parquet::decode::block::Pool;
use crate::parquet::footer::FileMeta;
use crate::parquet::footer::page_index::ChunkPages;
use crate::projection::narrow;

/// Where a lane's bytes come from.
#[derive(Debug, Clone)]
pub(crate) struct LaneSource {
    /// The file.
    pub file: Arc<FileMeta>,
    /// Its number in the fetcher.
    pub file_number: u32,
    /// The row group.
    pub row_group: usize,
    /// The root column in the file; `None` where the file does not have it.
    pub root: Option<usize>,
    /// The field that the batches have.
    pub field: FieldRef,
    /// The rows of the row group that will be asked for; all others are skipped. Ascending, not empty.
    pub rows: Arc<Vec<Range<u64>>>,
    /// The most rows of one step.
    pub step_rows: usize,
    /// The bytes.
    pub fetcher: Fetcher,
    /// Memory.
    pub pool: Arc<Pool>,
}

/// Yields the rows of one column of one row group, step by step, front to back.
pub(crate) struct ParquetColumnReader {
    decoder: Decoder,
    source: LaneSource,
    fit: Fit,
}

/// How the decoded arrays become those of the source's type.
enum Fit {
    /// They are.
    Same,
    /// Fields that were not asked for are left out, or else by a checked cast.
    Cast,
    /// Nested columns of a table, field by field: what they are, how they are stored, and what their fields are found by.
    Conform(FieldRef, FieldRef, FindBy),
}

enum Decoder {
    /// Our decoder.
    Flat(Box<FlatLane>),
    /// The parquet crate's.
    Nested(Box<NestedLane>),
    /// A column that the file does not have.
    Missing,
}

impl ParquetColumnReader {
    /// Prepares the lane; nothing is fetched yet.
    pub fn open(source: LaneSource) -> Result<Self> {
        let decoder = match source.root {
            None => Decoder::Missing,
            Some(root) => match FlatLane::open(&source, root)? {
                Some(flat) => Decoder::Flat(Box::new(flat)),
                None => Decoder::Nested(Box::new(NestedLane::open(&source, root)?)),
            },
        };
        let from = source.root.and_then(|root| source.file.schema().fields().get(root));
        let fit = match (&source.file.table, from) {
            (Some(table), Some(from)) if from.data_type().is_nested() => {
                let stored = table.stored(source.field.name());
                let stored = stored.ok_or_else(|| Error::internal("a column of a file is not its table's"))?;
                let whole = table.schema().fields().iter().find(|field| field.name() == source.field.name());
                let whole = whole.ok_or_else(|| Error::internal("a column is not its table's"))?;
                Fit::Conform(Arc::clone(whole), Arc::clone(stored), table.find_by())
            }
            (_, Some(from)) if from.data_type() != source.field.data_type() => Fit::Cast,
            _ => Fit::Same,
        };
        Ok(Self { decoder, source, fit })
    }
}

impl ColumnReader for ParquetColumnReader {
    fn next(&mut self, gap: u64, rows: usize, selection: Option<&RowMask>) -> Result<ArrayRef> {
        let array = match &mut self.decoder {
            Decoder::Missing => {
                let kept = selection.map_or(rows, RowMask::count);
                if let Some(constants) = &self.source.file.constants
                    && let Some(array) = constants.array(self.source.field.name(), kept)?
                {
                    return widen(&array, self.source.field.data_type()).map_err(|e| self.source.place(e));
                }
                return Ok(new_null_array(self.source.field.data_type(), kept));
            }
            Decoder::Flat(lane) => {
                lane.skip(gap);
                lane.next(rows, selection)
            }
            Decoder::Nested(lane) => lane.next(rows).and_then(|array| match selection {
                None => Ok(array),
                Some(selection) => selection.filter(&array),
            }),
        };
        let array = array.map_err(|error| self.source.place(error))?;
        let to = self.source.field.data_type();
        let fitting = match &self.fit {
            Fit::Same => return Ok(array),
            Fit::Cast => {
                narrow(&array, to).and_then(|part| if part.data_type() == to { Ok(part) } else { widen(&part, to) })
            }
            Fit::Conform(whole, stored, find_by) => {
                conform(&array, whole.data_type(), stored.data_type(), *find_by).and_then(|whole| narrow(&whole, to))
            }
        };
        fitting.map_err(|error| self.source.place(error))
    }

    fn skip(&mut self, gap: u64, rows: usize) -> Result<()> {
        match &mut self.decoder {
            Decoder::Missing => Ok(()),
            Decoder::Flat(lane) => {
                lane.skip(gap + rows as u64);
                Ok(())
            }
            Decoder::Nested(lane) => lane.next(rows).map(drop).map_err(|error| self.source.place(error)),
        }
    }
}

impl LaneSource {
    /// The pages of a flat column, where only some of them were planned for.
    pub fn pages(&self, root: usize, leaf: usize) -> Result<Option<Arc<ChunkPages>>> {
        let unit = Unit {
            file: Arc::clone(&self.file),
            file_number: self.file_number,
            row_group: self.row_group,
            rows: Arc::clone(&self.rows),
        };
        unit.pages(root, leaf)
    }

    /// Names file, row group and column in an error about data.
    pub fn place(&self, error: Error) -> Error {
        match error.place() {
            // Stores name their object already.
            Some(place) if place.starts_with(&self.file.url) => error,
            _ if error.kind() == lakerace_io::ErrorKind::Cancelled => error,
            _ => {
                let (url, group, column) = (&self.file.url, self.row_group, self.field.name());
                error.at(format!("{url}: row group {group}, column {column:?}"))
            }
        }
    }
}
