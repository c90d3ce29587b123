//! The rows of a side that may differ, in partitions on the local disk, and their comparison.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex};

use arrow::array::{ArrayRef, BooleanArray, RecordBatch, StringArray, UInt32Array};
use arrow::compute::{cast, concat_batches, filter_record_batch, interleave, take_record_batch};
use lakerace_exec::map_with_states;
use lakerace_format::csv::moment_texts;
use lakerace_format::schema_text::print_field_type;
use lakerace_format::sort::spill::{RunLocation, SpillFile, broken};
use lakerace_format::with_own_texts;
use lakerace_io::option::{COLUMNS, SUMMARY};
use lakerace_io::wait::{into_value, lock};
use lakerace_io::{Error, Job, Result};

use super::DiffOutput;
use super::diff_side::DiffSide;
use super::differing_keys::DifferingKeys;
use super::hash_partitions::{MAX_LEVEL, PARTITIONS, partition_of};
use crate::checksum::row_hashes;

/// Bytes of rows in memory before all of them are written, at most.
const BUFFER_BYTES: u64 = 64 << 20;
/// The part of the memory for rows that wait to be written.
const BUFFER_SHARE: u64 = 8;
/// The part of the memory for the rows of a partition, of which there are copies while they are compared.
const COMPARED_SHARE: u64 = 4;
/// Rows of a batch that is handed out at most.
const BATCH_ROWS: usize = 8192;

/// Rows that may differ.
pub(super) struct RowPartitions {
    /// Partitions within a partition have the next level.
    level: u32,
    /// The rows on the disk, as runs of each partition.
    spill: Option<SpillFile>,
    runs: Vec<Vec<RunLocation>>,
    /// Rows that are not written yet.
    waiting: Vec<Vec<RecordBatch>>,
    waiting_bytes: u64,
    /// Bytes of these at which they are written.
    buffer_bytes: u64,
}

/// The rows of a partition.
struct StoredRows {
    spill: Option<SpillFile>,
    runs: Vec<RunLocation>,
    waiting: Vec<RecordBatch>,
    bytes: u64,
}

impl RowPartitions {
    /// No rows, of partitions at a level.
    pub fn new(level: u32, memory_bytes: u64) -> Self {
        Self {
            level,
            spill: None,
            runs: vec![Vec::new(); PARTITIONS],
            waiting: vec![Vec::new(); PARTITIONS],
            waiting_bytes: 0,
            buffer_bytes: BUFFER_BYTES.min(memory_bytes / BUFFER_SHARE),
        }
    }

    /// Reads the rows of a side whose key is one of a set.
    pub fn read(side: &DiffSide, keys: &DifferingKeys, memory_bytes: u64, job: &Job) -> Result<Self> {
        let rows = Mutex::new(Self::new(0, memory_bytes));
        let mut threads = vec![(); job.options().threads.max(1)];
        map_with_states(&mut threads, side.scan.batches()?, |(), batch| {
            job.check()?;
            let batch = side.project(&batch?)?;
            let hashes = side.key.hashes(&batch)?;
            let kept: BooleanArray = hashes.iter().map(|hash| Some(keys.may_have(*hash))).collect();
            if kept.true_count() == 0 {
                return Ok(());
            }
            let batch = filter_record_batch(&batch, &kept).map_err(Error::unexpected)?;
            let hashes: Vec<u128> = hashes.into_iter().filter(|hash| keys.may_have(*hash)).collect();
            lock(&rows).add(&batch, &hashes)
        })?;
        Ok(into_value(rows))
    }

    /// Divides a partition into partitions of the next level.
    fn divided(stored: StoredRows, side: &DiffSide, level: u32, memory_bytes: u64, job: &Job) -> Result<Self> {
        let mut rows = Self::new(level, memory_bytes);
        stored.each(|batch| {
            job.check()?;
            rows.add(&batch, &side.key.hashes(&batch)?)
        })?;
        Ok(rows)
    }

    /// Adds rows, with the hashes of their keys.
    pub fn add(&mut self, batch: &RecordBatch, hashes: &[u128]) -> Result<()> {
        let mut members: Vec<Vec<u32>> = vec![Vec::new(); PARTITIONS];
        for (row, hash) in hashes.iter().enumerate() {
            members[partition_of(*hash, self.level)].push(row as u32);
        }
        for (number, rows) in members.into_iter().enumerate().filter(|(_, rows)| !rows.is_empty()) {
            let part = take_record_batch(batch, &UInt32Array::from(rows)).map_err(Error::unexpected)?;
            // Views would bring the texts of all partitions into the file of each.
            let part = with_own_texts(&part)?;
            self.waiting_bytes += part.get_array_memory_size() as u64;
            self.waiting[number].push(part);
        }
        if self.waiting_bytes > self.buffer_bytes {
            self.write()?;
        }
        Ok(())
    }

    /// Writes all rows that wait.
    fn write(&mut self) -> Result<()> {
        let spill = match &mut self.spill {
            Some(spill) => spill,
            none => none.insert(SpillFile::create()?),
        };
        for (runs, waiting) in self.runs.iter_mut().zip(&mut self.waiting) {
            let Some(first) = waiting.first() else { continue };
            let schema = first.schema();
            let mut run = spill.begin(&schema)?;
            run.write(&concat_batches(&schema, waiting.iter()).map_err(Error::unexpected)?)?;
            runs.push(run.finish()?);
            waiting.clear();
        }
        self.waiting_bytes = 0;
        Ok(())
    }

    /// The rows of a partition, which are gone then.
    fn take(&mut self, number: usize) -> StoredRows {
        let waiting = std::mem::take(&mut self.waiting[number]);
        let runs = std::mem::take(&mut self.runs[number]);
        let waiting_bytes: u64 = waiting.iter().map(|batch| batch.get_array_memory_size() as u64).sum();
        let bytes = waiting_bytes + runs.iter().map(|run| run.bytes()).sum::<u64>();
        StoredRows { spill: self.spill.clone(), runs, waiting, bytes }
    }
}

impl StoredRows {
    fn each(self, mut each: impl FnMut(RecordBatch) -> Result<()>) -> Result<()> {
        if let Some(spill) = &self.spill {
            for run in self.runs {
                spill.open(run, None)?.try_for_each(|batch| each(batch.map_err(broken)?))?;
                spill.forget(run);
            }
        }
        self.waiting.into_iter().try_for_each(each)
    }

    fn whole(self, side: &DiffSide) -> Result<RecordBatch> {
        let mut batches = Vec::new();
        self.each(|batch| {
            batches.push(batch);
            Ok(())
        })?;
        concat_batches(&side.schema, batches.iter()).map_err(Error::unexpected)
    }
}

/// A comparison of rows, partition by partition: it counts the columns that differ, and hands out rows up to the limit.
pub(super) struct RowComparison<'a> {
    pub sides: [&'a DiffSide; 2],
    pub output: &'a DiffOutput,
    /// Differences that are still to be handed out at most.
    pub left: u64,
    pub memory_bytes: u64,
    pub changed_columns: &'a mut BTreeMap<String, u64>,
    pub job: &'a Job,
    pub take: &'a mut dyn FnMut(RecordBatch) -> Result<()>,
}

impl RowComparison<'_> {
    pub fn partitions(&mut self, mut rows: [RowPartitions; 2]) -> Result<()> {
        let level = rows[0].level;
        for number in 0..PARTITIONS {
            self.job.check()?;
            let [first, second] = [rows[0].take(number), rows[1].take(number)];
            if first.bytes + second.bytes > self.memory_bytes / COMPARED_SHARE && level < MAX_LEVEL {
                let divided = |stored, side: usize| {
                    RowPartitions::divided(stored, self.sides[side], level + 1, self.memory_bytes, self.job)
                };
                let parts = [divided(first, 0)?, divided(second, 1)?];
                self.partitions(parts)?;
            } else {
                self.partition([first.whole(self.sides[0])?, second.whole(self.sides[1])?])?;
            }
        }
        Ok(())
    }

    fn partition(&mut self, batches: [RecordBatch; 2]) -> Result<()> {
        let differences = RowDifferences::new(self.sides, &batches)?;
        differences.count(&batches[0], self.changed_columns);
        let mut shown = usize::try_from(self.left).unwrap_or(usize::MAX).min(differences.found.len());
        self.left -= shown as u64;
        let mut rest = differences.found.as_slice();
        while shown > 0 {
            let (part, after) = rest.split_at(shown.min(BATCH_ROWS / 2));
            (self.take)(batch_of(part, &batches, self.output)?)?;
            shown -= part.len();
            rest = after;
        }
        Ok(())
    }
}

/// A row that differs.
struct RowDifference {
    /// Its place on the first side.
    first: Option<usize>,
    /// Its place on the second side.
    second: Option<usize>,
    /// The columns that differ, where both sides have it.
    columns: Vec<String>,
}

struct RowDifferences {
    found: Vec<RowDifference>,
}

impl RowDifferences {
    fn new(sides: [&DiffSide; 2], batches: &[RecordBatch; 2]) -> Result<Self> {
        let mut places: HashMap<u128, usize> =
            sides[1].key.hashes(&batches[1])?.into_iter().enumerate().map(|(row, hash)| (hash, row)).collect();
        let mut found = Vec::new();
        let mut pairs: Vec<(usize, usize)> = Vec::new();
        for (row, hash) in sides[0].key.hashes(&batches[0])?.into_iter().enumerate() {
            match places.remove(&hash) {
                Some(other) => pairs.push((row, other)),
                None => found.push(RowDifference { first: Some(row), second: None, columns: Vec::new() }),
            }
        }
        let mut names: Vec<Vec<String>> = vec![Vec::new(); pairs.len()];
        for (at, field) in batches[0].schema_ref().fields().iter().enumerate() {
            let hashes = |batch: &RecordBatch| row_hashes(&batch.project(&[at]).map_err(Error::unexpected)?);
            let (first, second) = (hashes(&batches[0])?, hashes(&batches[1])?);
            for ((one, two), names) in pairs.iter().zip(&mut names) {
                if first[*one] != second[*two] {
                    names.push(field.name().clone());
                }
            }
        }
        for ((one, two), columns) in pairs.into_iter().zip(names).filter(|(_, columns)| !columns.is_empty()) {
            found.push(RowDifference { first: Some(one), second: Some(two), columns });
        }
        let mut inserted: Vec<usize> = places.into_values().collect();
        inserted.sort_unstable();
        found.extend(inserted.into_iter().map(|row| RowDifference {
            first: None,
            second: Some(row),
            columns: Vec::new(),
        }));
        Ok(Self { found })
    }

    fn count(&self, batch: &RecordBatch, changed_columns: &mut BTreeMap<String, u64>) {
        let names = self.found.iter().flat_map(|difference| &difference.columns);
        names.for_each(|name| *changed_columns.entry(name.clone()).or_default() += 1);
        debug_assert!(changed_columns.len() <= batch.num_columns());
    }
}

/// The differences as a batch of the output's schema.
fn batch_of(differences: &[RowDifference], batches: &[RecordBatch; 2], output: &DiffOutput) -> Result<RecordBatch> {
    let (mut kinds, mut names, mut places) = (Vec::new(), Vec::new(), Vec::new());
    for RowDifference { first, second, columns } in differences {
        let columns = (!columns.is_empty()).then(|| columns.join(","));
        let is_changed = first.is_some() && second.is_some();
        for (side, place, kind) in [
            (0, first, if is_changed { "update_preimage" } else { "delete" }),
            (1, second, if is_changed { "update_postimage" } else { "insert" }),
        ] {
            if let Some(row) = place {
                places.push((side, *row));
                kinds.push(kind);
                names.push(columns.clone());
            }
        }
    }
    let mut arrays: Vec<ArrayRef> = vec![Arc::new(StringArray::from(kinds))];
    for (at, field) in output.schema.fields()[1..output.schema.fields().len() - 1].iter().enumerate() {
        let typed = |batch: &RecordBatch| {
            let column = batch.column(at);
            let cast = cast(column, field.data_type()).or_else(|error| match moment_texts(column) {
                Some(texts) if field.data_type().is_string() => cast(&texts, field.data_type()),
                _ => Err(error),
            });
            cast.map_err(|error| {
                Error::unsupported(format!("a value that differs has no {}", print_field_type(field)))
                    .because(error)
                    .at(format!("column {:?}", field.name()))
                    .advice(format!("name the other columns with {COLUMNS}, or count differences alone with {SUMMARY}"))
            })
        };
        let (first, second) = (typed(&batches[0])?, typed(&batches[1])?);
        arrays.push(interleave(&[first.as_ref(), second.as_ref()], &places).map_err(Error::unexpected)?);
    }
    arrays.push(Arc::new(StringArray::from(names)));
    RecordBatch::try_new(Arc::clone(&output.schema), arrays).map_err(Error::unexpected)
}
