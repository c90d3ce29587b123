//! The pages of a column, and their purpose.

use super::unit::RowGroupUnit;
use crate::compact_type::compact_type;
use crate::parquet::decode::block::MemoryPool;
use crate::parquet::footer::FileMeta;
use crate::parquet::footer::page_index::ChunkPages;
use crate::text_dictionary::text_key_type;
use arrow::datatypes::{DataType, Field, FieldRef};
use lakerace_io::{Error, Fetcher, Result};
use std::ops::Range;
use std::sync::Arc;

/// The source of a column reader's bytes.
#[derive(Debug, Clone)]
pub(crate) struct ColumnSource {
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
    /// The rows of the row group that will be requested; all others are skipped. Ascending, not empty.
    pub rows: Arc<Vec<Range<u64>>>,
    /// The most rows of one step.
    pub step_rows: usize,
    /// The bytes.
    pub fetcher: Fetcher,
    /// Memory.
    pub pool: Arc<MemoryPool>,
}

impl ColumnSource {
    /// Returns true if texts of this field of the file are read as keys of a dictionary.
    pub fn reads_text_keys(&self, stored: &Field) -> bool {
        *stored.data_type() == DataType::Utf8View && *self.field.data_type() == text_key_type()
    }

    /// Returns true if decimals of this field of the file are read in 64 bits.
    pub fn reads_words(&self, stored: &Field) -> bool {
        matches!(stored.data_type(), DataType::Decimal128(..))
            && compact_type(stored.data_type()).as_ref() == Some(self.field.data_type())
    }

    /// The pages of a flat column, where only some of them were planned for.
    pub fn pages(&self, root: usize, leaf: usize) -> Result<Option<Arc<ChunkPages>>> {
        let unit = RowGroupUnit {
            file: Arc::clone(&self.file),
            file_number: self.file_number,
            row_group: self.row_group,
            rows: Arc::clone(&self.rows),
        };
        unit.pages(root, leaf)
    }

    /// Adds file, row group and column to an error in the data.
    pub fn with_location(&self, error: Error) -> Error {
        match error.location() {
            // Errors of stores name their object already.
            Some(place) if place.starts_with(&self.file.url) => error,
            _ if error.kind() == lakerace_io::ErrorKind::Cancelled => error,
            _ => {
                let (url, group, column) = (&self.file.url, self.row_group, self.field.name());
                error.at(format!("{url}: row group {group}, column {column:?}"))
            }
        }
    }
}
