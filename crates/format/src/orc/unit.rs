//! Stripes of a read.

use std::ops::Range;
use std::sync::Arc;

use arrow::datatypes::{DataType, FieldRef};
use lakerace_io::{Result, Wanted};
use lakerace_orc::read::StripeRead;

use super::error::{from_orc, named};
use super::file::OrcFile;
use super::row_groups::StripeRowGroups;

/// The bytes that a column needs, ascending. Streams that touch are one range: they are read together or not at all.
pub(crate) fn spans(read: &StripeRead) -> Vec<Range<u64>> {
    let streams = read.ranges().iter().filter(|range| range.length > 0);
    let mut streams: Vec<_> = streams.map(|range| range.offset..range.offset + range.length).collect();
    streams.sort_unstable_by_key(|range| range.start);
    let mut spans: Vec<Range<u64>> = Vec::with_capacity(streams.len());
    for stream in streams {
        match spans.last_mut() {
            Some(last) if stream.start <= last.end => last.end = last.end.max(stream.end),
            _ => spans.push(stream),
        }
    }
    spans
}

/// A stripe of a read.
#[derive(Debug, Clone)]
pub(crate) struct StripeUnit {
    /// The file.
    pub file: Arc<OrcFile>,
    /// Its number in the plan.
    pub file_number: u32,
    /// The stripe.
    pub stripe: usize,
    /// The row groups that are read; `None`: all rows.
    pub groups: Option<Arc<StripeRowGroups>>,
}

impl StripeUnit {
    /// All rows of a stripe.
    pub fn whole(file: &Arc<OrcFile>, file_number: u32, stripe: usize) -> Self {
        Self { file: Arc::clone(file), file_number, stripe, groups: None }
    }

    /// Rows of the stripe.
    pub fn rows(&self) -> u64 {
        self.file.tail.stripes()[self.stripe].rows
    }

    /// The rows that are read: ascending, not empty, not touching.
    pub fn row_ranges(&self) -> Vec<Range<u64>> {
        match &self.groups {
            Some(groups) => groups.rows(),
            None => std::iter::once(0..self.rows()).filter(|rows| !rows.is_empty()).collect(),
        }
    }

    /// Plans the read of a decoded column, which may be a part of the file's; `None` if the file does not have it. The
    /// stripe's footer must be known.
    pub fn read(&self, field: &FieldRef) -> Result<Option<StripeRead>> {
        let columns = self.file.columns(field);
        if columns.is_empty() {
            return Ok(None);
        }
        let read = match &self.groups {
            None => self.file.columns_of_stripe(self.stripe, &columns)?.read_all(),
            Some(groups) => groups.stripe.project(&self.file.projection(&columns)?).read_groups(&groups.kept),
        };
        read.map(Some).map_err(from_orc)
    }

    /// Appends the byte ranges that these columns need, in their order, unless the file is known whole, and gives how many bytes
    /// they have.
    pub fn want(&self, fields: &[FieldRef], wanted: &mut Vec<Wanted>) -> Result<u64> {
        let mut bytes = 0;
        for field in fields {
            let Some(read) = self.read(field).map_err(|e| named(e, &self.file.url))? else { continue };
            for range in spans(&read) {
                bytes += range.end - range.start;
                if self.file.object.whole.is_none() {
                    wanted.push(Wanted { file: self.file_number, range });
                }
            }
        }
        Ok(bytes)
    }

    /// Approximate size of a row in memory, in bytes: values of variable width have their stored size, multiplied by a
    /// typical compression ratio.
    pub fn row_bytes(&self, fields: &[FieldRef]) -> u64 {
        self.column_bytes(fields).iter().sum::<u64>().max(1)
    }

    /// The estimated bytes of a decoded row of each column.
    pub fn column_bytes(&self, fields: &[FieldRef]) -> Vec<u64> {
        const EXPANSION: u64 = 4;
        let info = self.file.tail.stripes()[self.stripe];
        let of_row = (info.data_bytes / info.rows.max(1)).saturating_mul(EXPANSION);
        let share = of_row / self.file.schema.fields().len().max(1) as u64;
        let width = |field: &FieldRef| match field.data_type() {
            DataType::Utf8View | DataType::BinaryView => 16 + share,
            other => other.primitive_width().map_or(share.max(16), |width| width as u64),
        };
        fields.iter().map(width).collect()
    }
}
