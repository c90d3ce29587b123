//! Days and times of nested columns for which readers look by others.

use std::collections::HashSet;

use arrow::array::{ArrayRef, AsArray};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Int64Type};
use lakerace_io::{Error, Result};
use lakerace_orc::skipped_days::TimeScale;
use parquet::bloom_filter::Sbbf;
use parquet::schema::types::ColumnDescriptor;

use crate::parquet::encode::bloom::insert_others;
use crate::parquet::encode::statistics::time_scale;

/// The doubtful values of one leaf, whose bloom filter is made elsewhere.
pub(super) struct DoubtfulTimes {
    /// Names of the fields below the column.
    path: Vec<String>,
    scale: TimeScale,
    values: HashSet<i64>,
}

impl DoubtfulTimes {
    /// An empty set for a leaf; `None` for a leaf without times, and for one in a list, whose filter no reader uses.
    pub(super) fn new(leaf: &ColumnDescriptor) -> Option<Self> {
        let scale = time_scale(leaf).filter(|_| leaf.max_rep_level() == 0)?;
        Some(Self { path: leaf.path().parts()[1..].to_vec(), scale, values: HashSet::new() })
    }

    /// Adds those of a column.
    pub(super) fn add(&mut self, column: &ArrayRef) -> Result<()> {
        let mut leaf = column;
        for name in &self.path {
            let field = leaf.as_struct_opt().and_then(|fields| fields.column_by_name(name));
            leaf = field.ok_or_else(|| Error::internal(format!("a struct has no field {name:?}")))?;
        }
        let plain = if self.scale == TimeScale::DAYS { cast(leaf, &DataType::Int32) } else { Ok(leaf.clone()) };
        let numbers = plain.and_then(|plain| cast(&plain, &DataType::Int64)).map_err(Error::unexpected)?;
        let numbers = numbers.as_primitive::<Int64Type>().iter().flatten();
        self.values.extend(numbers.filter(|value| self.scale.is_doubtful(*value)));
        Ok(())
    }

    /// Adds the values that readers look for in their place to the filter of the leaf, whose values have `bytes` bytes.
    pub(super) fn complete(&self, filter: &mut Sbbf, bytes: usize) {
        self.values.iter().for_each(|value| insert_others(filter, *value, self.scale, bytes));
    }
}
