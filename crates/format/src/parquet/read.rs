//! The row groups of a read as units of its steps.

pub(super) mod checked_group;
pub(super) mod chunk_bytes;
pub(super) mod column_reader;
pub(super) mod column_source;
pub(super) mod extremes;
pub(super) mod flat_decoder;
pub(super) mod flat_reader;
pub(super) mod nested_reader;
pub(super) mod old_dates;
pub(super) mod page_header;
pub(super) mod pages;
pub(super) mod planning;
pub(super) mod prune;
pub(super) mod row_group;
pub(super) mod trust;
pub(super) mod unit;

use std::ops::Range;
use std::sync::{Arc, OnceLock};

use arrow::array::BooleanArray;
use arrow::datatypes::FieldRef;
use lakerace_io::{Fetcher, Result};

use self::column_reader::ParquetColumnReader;
use self::column_source::ColumnSource;
use self::unit::RowGroupUnit;
use super::decode::block::MemoryPool;
use crate::columns::roots;
use crate::exec::DecodeUnits;

/// The row groups of a read, and the data for decoding their columns.
pub(crate) struct RowGroups {
    units: Vec<RowGroupUnit>,
    /// The fields of the decoded columns.
    fields: Vec<FieldRef>,
    /// The positions of these in the file of each unit, once it is started.
    roots: Vec<OnceLock<Vec<Option<usize>>>>,
    /// The most rows of a step of each unit.
    step_rows: Vec<usize>,
    fetcher: Fetcher,
    /// Memory that is used over and over, by column.
    pools: Vec<Arc<MemoryPool>>,
}

impl RowGroups {
    /// Row groups, from the bytes of `fetcher`.
    pub fn new(units: Vec<RowGroupUnit>, fields: Vec<FieldRef>, step_rows: Vec<usize>, fetcher: Fetcher) -> Self {
        let pools = MemoryPool::for_columns(fields.len());
        let roots = units.iter().map(|_| OnceLock::new()).collect();
        Self { units, fields, roots, step_rows, fetcher, pools }
    }
}

impl DecodeUnits for RowGroups {
    type ColumnReader = ParquetColumnReader;

    fn count(&self) -> usize {
        self.units.len()
    }

    fn open(&self, unit: usize, column: usize) -> Result<ParquetColumnReader> {
        let plan = &self.units[unit];
        let roots = self.roots[unit].get_or_init(|| roots(plan.file.schema(), &self.fields));
        let source = ColumnSource {
            file: Arc::clone(&plan.file),
            file_number: plan.file_number,
            row_group: plan.row_group,
            root: roots[column],
            field: Arc::clone(&self.fields[column]),
            rows: Arc::clone(&plan.rows),
            step_rows: self.step_rows[unit],
            fetcher: self.fetcher.clone(),
            pool: Arc::clone(&self.pools[column]),
        };
        ParquetColumnReader::open(source.clone()).map_err(|error| source.with_location(error))
    }

    fn unit_place(&self, unit: usize) -> String {
        let unit = &self.units[unit];
        format!("{}: row group {}", unit.file.url, unit.row_group)
    }

    fn visible(&self, unit: usize, rows: Range<u64>) -> Option<BooleanArray> {
        let unit = &self.units[unit];
        let hidden = unit.file.hidden.as_ref()?;
        let first = unit.file.rows_of(unit.row_group).start;
        hidden.visible(first + rows.start..first + rows.end)
    }

    fn hides_rows(&self) -> bool {
        self.units.iter().any(|unit| unit.file.hidden.is_some())
    }

    fn close(&self) {
        self.pools.iter().for_each(|pool| pool.close());
    }
}
