//! A column of a row group as a state machine that yields the next rows.

use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, new_null_array};
use lakerace_io::{Error, Result};

use super::column_source::ColumnSource;
use super::flat_reader::FlatReader;
use super::nested_reader::NestedReader;
use super::old_dates::OldDates;
use crate::conform::{conform, widen};
use crate::exec::{ColumnReader, RowMask};
use crate::field_positions::FindBy;
use crate::projection::narrow;
use crate::table_schema::TablePart;
use crate::text_dictionary::text_dictionary;

/// Yields the rows of one column of one row group, step by step, front to back.
pub(crate) struct ParquetColumnReader {
    decoder: ChunkDecoder,
    old_dates: Option<OldDates>,
    source: ColumnSource,
    fit: ArrayFit,
}

/// The conversion of decoded arrays to the source's type.
enum ArrayFit {
    /// They are.
    Same,
    /// Fields that were not requested are left out; a type that still differs is cast with checks.
    Cast,
    /// Texts are keys of a dictionary.
    TextKeys,
    /// Nested columns of a table, field by field: the part that is read, and the way to find its fields.
    Conform(TablePart, FindBy),
}

enum ChunkDecoder {
    /// Our decoder.
    Flat(Box<FlatReader>),
    /// The parquet crate's.
    Nested(Box<NestedReader>),
    /// A column that the file does not have.
    Missing,
}

impl ParquetColumnReader {
    /// Prepares the lane; nothing is fetched yet.
    pub fn open(source: ColumnSource) -> Result<Self> {
        let decoder = match source.root {
            None => ChunkDecoder::Missing,
            Some(root) => match FlatReader::open(&source, root)? {
                Some(flat) => ChunkDecoder::Flat(Box::new(flat)),
                None => ChunkDecoder::Nested(Box::new(NestedReader::open(&source, root)?)),
            },
        };
        let old_dates = source.root.and_then(|root| {
            source.file.old_calendar.as_ref()?;
            OldDates::for_file(&source.file, &source.file.leaves_of(root, &source.field))
        });
        let from = source.root.and_then(|root| source.file.schema().fields().get(root));
        let fit = match (&source.file.table, from) {
            (_, Some(from)) if source.reads_text_keys(from) => ArrayFit::TextKeys,
            (_, Some(from)) if source.reads_words(from) && matches!(decoder, ChunkDecoder::Flat(_)) => ArrayFit::Same,
            (Some(table), Some(from)) if from.data_type().is_nested() => {
                let part = table.part(&source.field);
                let part = part.ok_or_else(|| Error::internal("a file's column does not match its table's"))?;
                ArrayFit::Conform(part, table.find_by())
            }
            (_, Some(from)) if from.data_type() != source.field.data_type() => ArrayFit::Cast,
            _ => ArrayFit::Same,
        };
        Ok(Self { decoder, old_dates, source, fit })
    }
}

impl ColumnReader for ParquetColumnReader {
    fn next(&mut self, gap: u64, rows: usize, selection: Option<&RowMask>) -> Result<ArrayRef> {
        let array = match &mut self.decoder {
            ChunkDecoder::Missing => {
                let kept = selection.map_or(rows, RowMask::count);
                if let Some(constants) = &self.source.file.constants
                    && let Some(array) = constants.array(self.source.field.name(), kept)?
                {
                    return widen(&array, self.source.field.data_type()).map_err(|e| self.source.with_location(e));
                }
                return Ok(new_null_array(self.source.field.data_type(), kept));
            }
            ChunkDecoder::Flat(lane) => {
                lane.skip(gap);
                lane.next(rows, selection)
            }
            ChunkDecoder::Nested(lane) => lane.next(rows).and_then(|array| match selection {
                None => Ok(array),
                Some(selection) => selection.filter(&array),
            }),
        };
        let array = array.and_then(|array| match &mut self.old_dates {
            None => Ok(array),
            Some(old) => old.mended(&array),
        });
        let array = array.map_err(|error| self.source.with_location(error))?;
        let to = self.source.field.data_type();
        let fitting = match &self.fit {
            ArrayFit::Same => return Ok(array),
            ArrayFit::TextKeys => match array.as_string_view_opt() {
                Some(texts) => text_dictionary(texts).map(|keys| Arc::new(keys) as ArrayRef),
                None => return Ok(array),
            },
            ArrayFit::Cast => {
                narrow(&array, to).and_then(|part| if part.data_type() == to { Ok(part) } else { widen(&part, to) })
            }
            ArrayFit::Conform(part, find_by) => {
                conform(&array, &part.logical, &part.stored, *find_by).and_then(|read| narrow(&read, to))
            }
        };
        fitting.map_err(|error| self.source.with_location(error))
    }

    fn skip(&mut self, gap: u64, rows: usize) -> Result<()> {
        match &mut self.decoder {
            ChunkDecoder::Missing => Ok(()),
            ChunkDecoder::Flat(lane) => {
                lane.skip(gap + rows as u64);
                Ok(())
            }
            ChunkDecoder::Nested(lane) => lane.next(rows).map(drop).map_err(|error| self.source.with_location(error)),
        }
    }
}
