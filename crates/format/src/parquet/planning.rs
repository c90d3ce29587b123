//! From a request to a plan, and from a plan to what a read steps through.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use arrow::array::{Array, RecordBatch, RecordBatchOptions};
use arrow::datatypes::{DataType, FieldRef, Schema, SchemaRef};
use lakerace_io::{Error, Result, Wanted};

use super::flat::decoder;
use super::footer::FileMeta;
use super::index::{ChunkPages, chunk_pages};
use crate::names::column_not_found;
use crate::predicate::Predicate;
use crate::{ReadPlan, ReadRequest};

/// The columns of a read.
#[derive(Debug)]
pub(crate) struct Columns {
    /// The columns to decode, as positions in the source's schema: those of the filter first.
    pub decoded: Vec<usize>,
    /// How many of them the filter needs.
    pub filtered: usize,
    /// For each output column its position in `decoded`.
    pub output: Vec<usize>,
    /// The schema of the batches.
    pub schema: SchemaRef,
    /// The filter, where it depends on columns.
    pub predicate: Option<Predicate>,
    /// The filter is a constant that keeps no row.
    pub is_never: bool,
}

impl Columns {
    /// Resolves the names of a request.
    pub fn resolve(schema: &SchemaRef, request: &ReadRequest) -> Result<Self> {
        let wanted = match &request.columns {
            None => (0..schema.fields().len()).collect(),
            Some(names) => positions(schema, names)?,
        };
        let mut decoded = Vec::new();
        let (mut predicate, mut is_never) = (None, false);
        if let Some(filter) = &request.filter {
            let bound = Predicate::bind(filter, schema)?;
            decoded = bound.columns().to_vec();
            match decoded.is_empty() {
                true => is_never = !is_true(&bound)?,
                false => predicate = Some(bound),
            }
        }
        let filtered = decoded.len();
        let mut at: HashMap<usize, usize> = decoded.iter().enumerate().map(|(at, column)| (*column, at)).collect();
        let mut output = Vec::with_capacity(wanted.len());
        for column in &wanted {
            let position = *at.entry(*column).or_insert_with(|| {
                decoded.push(*column);
                decoded.len() - 1
            });
            output.push(position);
        }
        let projected = schema.project(&wanted).map_err(|e| Error::internal(e.to_string()))?;
        Ok(Self { decoded, filtered, output, schema: Arc::new(projected), predicate, is_never })
    }
}

/// The value of a filter without columns.
fn is_true(constant: &Predicate) -> Result<bool> {
    let options = RecordBatchOptions::new().with_row_count(Some(1));
    let row = RecordBatch::try_new_with_options(Arc::new(Schema::empty()), Vec::new(), &options)
        .map_err(|e| Error::internal(e.to_string()))?;
    let value = constant.evaluate(&row)?;
    Ok(value.len() == 1 && value.is_valid(0) && value.value(0))
}

fn positions(schema: &Schema, names: &[String]) -> Result<Vec<usize>> {
    let mut known: HashMap<&str, usize> = HashMap::with_capacity(schema.fields().len());
    for (position, field) in schema.fields().iter().enumerate() {
        // Of columns with the same name the first one is meant.
        known.entry(field.name()).or_insert(position);
    }
    let find = |name: &String| {
        let found = known.get(name.as_str()).copied();
        found.ok_or_else(|| column_not_found(name, schema.fields().iter().map(|field| field.name().as_str())))
    };
    names.iter().map(find).collect()
}

/// Where each decoded column is in a file.
pub(crate) fn roots(file: &FileMeta, fields: &[FieldRef]) -> Vec<Option<usize>> {
    let schema = file.schema();
    if fields.len() <= 8 {
        return fields.iter().map(|field| schema.fields().iter().position(|f| f.name() == field.name())).collect();
    }
    let mut known: HashMap<&str, usize> = HashMap::with_capacity(schema.fields().len());
    for (root, field) in schema.fields().iter().enumerate() {
        known.entry(field.name()).or_insert(root);
    }
    fields.iter().map(|field| known.get(field.name().as_str()).copied()).collect()
}

/// A row group that a read goes through.
#[derive(Debug, Clone)]
pub(crate) struct Unit {
    /// The file.
    pub file: Arc<FileMeta>,
    /// Its number in the plan.
    pub file_number: u32,
    /// The row group.
    pub row_group: usize,
    /// The rows that are not pruned: ascending, not empty, not touching.
    pub rows: Arc<Vec<Range<u64>>>,
}

impl Unit {
    /// All rows of a row group.
    pub fn whole(file: &Arc<FileMeta>, file_number: u32, row_group: usize) -> Self {
        let rows = file.metadata().row_group(row_group).num_rows() as u64;
        Self { file: Arc::clone(file), file_number, row_group, rows: Arc::new(std::iter::once(0..rows).collect()) }
    }

    /// How many rows are not pruned.
    pub fn row_count(&self) -> u64 {
        self.rows.iter().map(|range| range.end - range.start).sum()
    }

    /// Whether page statistics have pruned some rows.
    pub fn is_partial(&self) -> bool {
        self.row_count() < self.file.metadata().row_group(self.row_group).num_rows() as u64
    }

    /// The byte ranges that its columns need, in the order of columns. Of a flat column with an offset index only the
    /// pages that hold rows which are not pruned.
    pub fn ranges(&self, roots: &[Option<usize>]) -> Result<Vec<Range<u64>>> {
        let mut ranges = Vec::new();
        for root in roots.iter().flatten() {
            for leaf in self.file.leaves.get(*root).cloned().unwrap_or(0..0) {
                match self.pages(*root, leaf)? {
                    Some(pages) => ranges.extend(pages.ranges(&self.rows)),
                    None => ranges.push(self.file.chunk_range(self.row_group, leaf)?),
                }
            }
        }
        ranges.retain(|range| !range.is_empty());
        Ok(ranges)
    }

    /// The pages of a column of ours, where some of its rows are pruned and the file says where its pages are.
    pub fn pages(&self, root: usize, leaf: usize) -> Result<Option<Arc<ChunkPages>>> {
        let is_ours = || decoder(&self.file, self.row_group, root, &Arc::default()).is_some();
        if self.is_partial() && is_ours() { chunk_pages(&self.file, self.row_group, leaf) } else { Ok(None) }
    }
}

/// Bytes of a row group that are asked for before its next columns' turn comes again: columns advance together, so
/// their bytes are needed in slices.
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

/// One step of a read: the same rows of every column of a unit.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Step {
    /// The unit.
    pub unit: usize,
    /// Pruned rows before it.
    pub gap: u64,
    /// Its rows.
    pub rows: usize,
}

/// Cuts units into steps of at most `step_rows` rows, and ends after `limit` rows.
pub(crate) fn steps(units: &[Unit], step_rows: usize, limit: Option<u64>) -> Vec<Step> {
    let step_rows = step_rows.max(1) as u64;
    let mut left = limit.unwrap_or(u64::MAX);
    let mut steps = Vec::new();
    for (unit, plan) in units.iter().enumerate() {
        let mut at = 0;
        for range in plan.rows.iter() {
            let mut start = range.start;
            while start < range.end && left > 0 {
                let rows = (range.end - start).min(step_rows).min(left);
                steps.push(Step { unit, gap: start - at, rows: rows as usize });
                start += rows;
                at = start;
                left -= rows;
            }
        }
    }
    steps
}

/// Bytes of a batch, about.
const BATCH_BYTES: u64 = 32 << 20;
/// Below this many rows the work per batch outweighs the work per row.
const LEAST_STEP_ROWS: u64 = 1024;
/// A step of a column of 8 bytes is half a megabyte: it is still in the second-level cache when it is looked at.
const MOST_STEP_ROWS: u64 = 64 << 10;

/// The rows of a step where the caller did not say.
pub(crate) fn default_step_rows(units: &[Unit], fields: &[FieldRef]) -> usize {
    let bytes = units.iter().map(|unit| row_bytes(unit, fields)).max().unwrap_or(1);
    (BATCH_BYTES / bytes.max(1)).clamp(LEAST_STEP_ROWS, MOST_STEP_ROWS) as usize
}

/// Bytes that a row takes in memory, about.
pub(crate) fn row_bytes(unit: &Unit, fields: &[FieldRef]) -> u64 {
    let group = unit.file.metadata().row_group(unit.row_group);
    let rows = (group.num_rows() as u64).max(1);
    let mut bytes = 0u64;
    for (field, root) in fields.iter().zip(roots(&unit.file, fields)) {
        let leaves = root.and_then(|root| unit.file.leaves.get(root).cloned()).unwrap_or(0..0);
        let stored: u64 = leaves.map(|leaf| group.column(leaf).uncompressed_size().max(0) as u64).sum();
        let width = match field.data_type() {
            DataType::Utf8View | DataType::BinaryView => 16 + stored / rows,
            other => (other.primitive_width().unwrap_or(0) as u64).max(stored / rows),
        };
        bytes += width;
    }
    bytes.max(1)
}

/// The files of a plan among the files of the source.
pub(crate) fn files_of_plan(plan: &ReadPlan, files: &[Arc<FileMeta>]) -> Result<Vec<Arc<FileMeta>>> {
    let known: HashMap<&str, &Arc<FileMeta>> = files.iter().map(|file| (file.url.as_str(), file)).collect();
    let find = |url: &str, e_tag: &Option<String>, size: u64| {
        let file = known.get(url).ok_or_else(|| {
            Error::usage("the plan names a file that is not of this source").at(url).advice("plan again")
        })?;
        let same_tag = file.object.e_tag.is_none() || e_tag.is_none() || file.object.e_tag == *e_tag;
        if !same_tag || file.size_bytes != size {
            return Err(Error::conflict("the file was replaced since the plan was made").at(url).advice("plan again"));
        }
        Ok(Arc::clone(file))
    };
    plan.files.iter().map(|file| find(&file.url, &file.e_tag, file.size_bytes)).collect()
}
