//! Checks the log's statistics against the values of files.

use arrow::array::{Array, ArrayRef, AsArray, Scalar, make_array};
use arrow::buffer::NullBuffer;
use arrow::compute::cast;
use arrow::compute::kernels::cmp::{gt, lt};
use arrow::datatypes::{DataType, Float32Type, Float64Type, Int64Type, i256};
use lakerace_format::value_text;
use lakerace_io::option::{COMPACT, SORT_BY};
use lakerace_io::{Error, Result};

use super::boolean_bounds::BooleanBounds;
use super::finding::{Finding, Subject};
use super::is_damage;
use crate::row_ids::read::read_with_ids;
use crate::snapshot::Snapshot;
use crate::snapshot::files::TableFile;
use crate::snapshot::statistics::FileStatistics;
use crate::snapshot::statistics::imprecise::timestamp_slack;
use crate::table::Table;

/// The next step where a bound does not hold.
fn advice(table: &Table) -> String {
    let compact = COMPACT.on(table.location()).with([SORT_BY.to("COLUMN")]);
    format!(
        "other readers skip rows; if the value is damaged, take the file from a backup, or restore an earlier version; if \
         the value is right, rewrite the file with new statistics, using {compact}"
    )
}

/// Reads all visible rows of these files, and holds bounds and null counts against them.
pub(super) fn check(snapshot: &Snapshot, files: &[TableFile], findings: &mut Vec<Finding>) -> Result<()> {
    let partitions = snapshot.partition_columns();
    let fields = snapshot.schema().fields().iter().map(|field| field.name().clone());
    let columns: Vec<String> = fields.filter(|name| !partitions.contains(name)).collect();
    let booleans = BooleanBounds::read(snapshot)?;
    for file in files {
        snapshot.table().job().check()?;
        let checked = check_file(snapshot, file, &columns, &booleans);
        match checked {
            Ok(problems) => {
                let finding =
                    |problem| Finding::new(Subject::Statistics, file.object.url(), problem, advice(snapshot.table()));
                findings.extend(problems.into_iter().map(finding));
            }
            Err(error) if is_damage(&error) => {
                findings.push(Finding::of_error(Subject::File, file.object.url(), &error));
            }
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// A column, or a field of a struct column, of one file.
struct LeafStatistics {
    name: String,
    min: Option<ArrayRef>,
    max: Option<ArrayRef>,
    stated_nulls: Option<u64>,
    nulls: u64,
    problem: Option<String>,
}

fn check_file(
    snapshot: &Snapshot,
    file: &TableFile,
    columns: &[String],
    booleans: &BooleanBounds,
) -> Result<Vec<String>> {
    let statistics = FileStatistics { file, columns: snapshot.columns() };
    let mut leaves: Vec<LeafStatistics> = Vec::new();
    let mut rows = 0;
    for batch in read_with_ids(snapshot, std::slice::from_ref(&file.path), columns, None)? {
        let batch = batch?;
        rows += batch.num_rows() as u64;
        let mut number = 0;
        for (name, column) in columns.iter().zip(batch.columns()) {
            let mut path = vec![name.clone()];
            visit(column, None, &mut path, &mut |path, values| {
                if leaves.len() == number {
                    leaves.push(LeafStatistics::new(&statistics, booleans, path, values.data_type()));
                }
                let leaf = &mut leaves[number];
                number += 1;
                leaf.take(values)
            })?;
        }
    }
    // A writer that hides rows may leave the counts as they were.
    let has_all_rows = file.vector.is_none() && file.rows == Some(rows);
    Ok(leaves.into_iter().filter_map(|leaf| leaf.problem(has_all_rows)).collect())
}

/// Calls `take` for a column, or for the fields of a struct column: those that are null with the struct are null.
fn visit(
    column: &ArrayRef,
    nulls: Option<&NullBuffer>,
    path: &mut Vec<String>,
    take: &mut dyn FnMut(&[String], &ArrayRef) -> Result<()>,
) -> Result<()> {
    let all = NullBuffer::union(nulls, column.nulls());
    if let Some(fields) = column.as_struct_opt() {
        for (field, values) in fields.fields().iter().zip(fields.columns()) {
            path.push(field.name().clone());
            visit(values, all.as_ref(), path, take)?;
            path.pop();
        }
        return Ok(());
    }
    if nulls.is_none() {
        return take(path, column);
    }
    let data = column.to_data().into_builder().nulls(all).build().map_err(Error::unexpected)?;
    take(path, &make_array(data))
}

impl LeafStatistics {
    fn new(statistics: &FileStatistics<'_>, booleans: &BooleanBounds, path: &[String], data_type: &DataType) -> Self {
        let stored = statistics.columns.stored_path(path);
        let stated = |kind: &str| {
            let (array, row) = statistics.array(kind, stored.as_ref()?)?;
            let one = array.slice(row, 1);
            one.is_valid(0).then_some(one)
        };
        // A bound of another type says nothing to any reader.
        let bound = |kind: &str| match data_type {
            DataType::Boolean => booleans.bound(&statistics.file.path, stored.as_ref()?, kind == "minValues"),
            _ => cast(&stated(kind)?, data_type).ok().filter(|bound| bound.is_valid(0)),
        };
        let nulls = stated("nullCount").and_then(|count| Some(count.as_primitive_opt::<Int64Type>()?.value(0)));
        Self {
            name: path.join("."),
            min: bound("minValues").and_then(|min| moved(min, -1)),
            max: bound("maxValues").and_then(|max| moved(max, 1)),
            stated_nulls: nulls.and_then(|nulls| u64::try_from(nulls).ok()),
            nulls: 0,
            problem: None,
        }
    }

    fn take(&mut self, values: &ArrayRef) -> Result<()> {
        self.nulls += values.logical_null_count() as u64;
        if self.problem.is_some() {
            return Ok(());
        }
        for (bound, is_min) in [(&self.min, true), (&self.max, false)] {
            let Some(bound) = bound else { continue };
            if let Some(row) = beyond(values, bound, is_min)? {
                let text = |array: &ArrayRef, row| value_text(array, row).unwrap_or_default();
                let (side, kind) = if is_min { ("below", "minimum") } else { ("above", "maximum") };
                self.problem = Some(format!(
                    "column {}: the value {} is {side} the {kind} {} that the log states",
                    self.name,
                    text(values, row),
                    text(bound, 0)
                ));
                return Ok(());
            }
        }
        Ok(())
    }

    fn problem(self, has_all_rows: bool) -> Option<String> {
        let stated = self.stated_nulls.filter(|stated| has_all_rows && *stated != self.nulls);
        let count = || {
            stated
                .map(|stated| format!("column {}: it has {} nulls, but the log states {stated}", self.name, self.nulls))
        };
        self.problem.clone().or_else(count)
    }
}

/// A bound of a timestamp, moved by the most that writers may have cut, earlier (-1) or later (1).
fn moved(bound: ArrayRef, direction: i64) -> Option<ArrayRef> {
    if !matches!(bound.data_type(), DataType::Timestamp(..)) {
        return Some(bound);
    }
    let data_type = bound.data_type().clone();
    let value = cast(&bound, &DataType::Int64).ok()?;
    let value = value.as_primitive_opt::<Int64Type>()?.value(0);
    let slack = timestamp_slack(i256::from(value), &data_type).as_i128() as i64;
    let value = value.saturating_add(direction * slack);
    let moved: ArrayRef = std::sync::Arc::new(arrow::array::Int64Array::from(vec![value]));
    cast(&moved, &data_type).ok()
}

/// The first row with a value beyond a bound. NaN is beyond none, and both zeros are equal.
fn beyond(values: &ArrayRef, bound: &ArrayRef, is_min: bool) -> Result<Option<usize>> {
    fn float(values: impl Iterator<Item = Option<f64>>, bound: f64, is_min: bool) -> Option<usize> {
        let is_beyond = |value: f64| if is_min { value < bound } else { value > bound };
        values.enumerate().find(|(_, value)| value.is_some_and(is_beyond)).map(|(row, _)| row)
    }
    if let (Some(values), Some(bound)) =
        (values.as_primitive_opt::<Float64Type>(), bound.as_primitive_opt::<Float64Type>())
    {
        return Ok(float(values.iter(), bound.value(0), is_min));
    }
    if let (Some(values), Some(bound)) =
        (values.as_primitive_opt::<Float32Type>(), bound.as_primitive_opt::<Float32Type>())
    {
        return Ok(float(values.iter().map(|value| value.map(f64::from)), bound.value(0).into(), is_min));
    }
    let bound = Scalar::new(std::sync::Arc::clone(bound));
    let compared = if is_min { lt(values, &bound) } else { gt(values, &bound) };
    // A type that has no order has no bounds.
    let Ok(compared) = compared else { return Ok(None) };
    Ok((0..compared.len()).find(|row| compared.is_valid(*row) && compared.value(*row)))
}

#[cfg(test)]
mod tests;
