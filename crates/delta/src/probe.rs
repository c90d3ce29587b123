//! Finding rows in the files of a version: the numbers that they have in their file.

use arrow::record_batch::RecordBatch;
use lakerace_format::predicate::ColumnStatistics;
use lakerace_format::{FilePlan, InputFile, ParquetSource, ReadPlan, ReadRequest, Source};
use lakerace_io::{RangeOptions, RequestPlan, Result, plan_requests};
use roaring::RoaringTreemap;

use crate::files::TableFile;
use crate::{Snapshot, parallel};

/// Says which rows are looked for.
pub(crate) trait Probe: Send + Sync {
    /// The rows of each of these files that are looked for, deleted ones included; `None` for a file that can't have any
    /// and was not looked into.
    fn find(&self, snapshot: &Snapshot, files: &[&TableFile]) -> Result<Vec<Option<RoaringTreemap>>>;
}

/// A way of looking through files.
pub(crate) struct Look<'a> {
    pub snapshot: &'a Snapshot,
    /// The columns that are read.
    pub columns: Vec<String>,
    /// Whether a row group of which this is known has to be looked into.
    pub keeps: &'a (dyn Fn(&dyn ColumnStatistics) -> bool + Sync),
}

/// A row group to look into.
pub(crate) struct Part {
    /// Its file, among those asked for.
    pub file: usize,
    /// The number of its first row in the file.
    first_row: u64,
    plan: ReadPlan,
}

/// Opened files with the row groups of them that have to be looked into.
pub(crate) struct Opened {
    source: ParquetSource,
    pub parts: Vec<Part>,
    ranges: RangeOptions,
}

/// Files that are open at the same time at most.
const FILES_AT_ONCE: usize = 256;
/// Row groups that are fetched at once from a remote store: latency is what it costs there.
const REMOTE_PARTS_AT_ONCE: usize = 8;

impl Look<'_> {
    /// Looks into these files, several row groups at once. `each` gets the batches of a row group one after the other, with
    /// the number of the first row of each; what it made of them comes back with the number of the file, in order.
    pub fn through<T: Default + Send>(
        &self,
        files: &[&TableFile],
        each: &(dyn Fn(&mut T, u64, &RecordBatch) -> Result<()> + Sync),
    ) -> Result<Vec<(usize, T)>> {
        let mut all = Vec::new();
        for (group, files) in files.chunks(FILES_AT_ONCE).enumerate() {
            let Opened { source, parts, .. } = self.open(files)?;
            for (part, made) in parts.iter().zip(self.run(&source, &parts, each)?) {
                all.push((group * FILES_AT_ONCE + part.file, made));
            }
        }
        Ok(all)
    }

    /// Opens files.
    pub fn open(&self, files: &[&TableFile]) -> Result<Opened> {
        let inputs = files.iter().map(|file| InputFile {
            object: file.object.clone(),
            constants: file.constants.clone(),
            // With the hidden rows, so that the rows of the batches are those of the file.
            hidden: None,
        });
        // Row groups are read side by side, each by one thread.
        let job = self.snapshot.table().job().with_threads(1);
        let source = ParquetSource::open_table(inputs.collect(), self.snapshot.table_schema(), &job)?;
        let request = ReadRequest { columns: Some(self.columns.clone()), ..ReadRequest::default() };
        let plan = source.plan(&request)?;
        let mut parts = Vec::new();
        for (number, file) in plan.files.iter().enumerate() {
            let mut first_row = 0;
            for unit in &file.units {
                if unit.pruned.is_none() && source.with_statistics(number, unit.index, self.keeps)? {
                    let file = FilePlan { units: vec![unit.clone()], ..file.clone() };
                    let requests = RequestPlan { requests: Vec::new(), ..plan.requests };
                    let (request, schema) = (plan.request.clone(), plan.schema.clone());
                    let plan = ReadPlan { request, schema, files: vec![file], requests };
                    parts.push(Part { file: number, first_row, plan });
                }
                first_row += unit.rows.unwrap_or(0);
            }
        }
        Ok(Opened { source, parts, ranges: job.options().ranges })
    }

    fn run<T: Default + Send>(
        &self,
        source: &ParquetSource,
        parts: &[Part],
        each: &(dyn Fn(&mut T, u64, &RecordBatch) -> Result<()> + Sync),
    ) -> Result<Vec<T>> {
        let job = self.snapshot.table().job();
        let threads = if self.snapshot.table().is_local() { job.options().threads } else { REMOTE_PARTS_AT_ONCE };
        parallel::each(parts, threads, |part| look_into(source, part, each))
    }
}

impl Opened {
    /// Requests for the columns of a row group.
    pub fn requests(&self, part: &Part) -> Result<u64> {
        let Some((wanted, profile)) = self.source.wanted(&part.plan)? else { return Ok(0) };
        Ok(plan_requests(&wanted, &self.ranges, &profile).requests.len() as u64)
    }
}

impl Part {
    /// Bytes of its columns.
    pub fn bytes(&self) -> u64 {
        self.plan.files.iter().flat_map(|file| &file.units).map(|unit| unit.wanted_bytes).sum()
    }
}

fn look_into<T: Default>(
    source: &ParquetSource,
    part: &Part,
    each: &(dyn Fn(&mut T, u64, &RecordBatch) -> Result<()> + Sync),
) -> Result<T> {
    let (mut made, mut first_row) = (T::default(), part.first_row);
    for batch in source.read(&part.plan)? {
        let batch = batch?;
        each(&mut made, first_row, &batch)?;
        first_row += batch.num_rows() as u64;
    }
    Ok(made)
}

/// Puts what was found in row groups together, by files.
pub(crate) fn by_file(files: usize, found: Vec<(usize, RoaringTreemap)>) -> Vec<Option<RoaringTreemap>> {
    let mut all: Vec<Option<RoaringTreemap>> = vec![Some(RoaringTreemap::new()); files];
    for (file, rows) in found {
        if let Some(Some(all)) = all.get_mut(file) {
            *all |= rows;
        }
    }
    all
}
