//! ORC files of one schema as a source.

use std::ops::Range;
use std::sync::Arc;

use arrow::datatypes::{DataType, FieldRef, SchemaRef};
use lakerace_io::{Error, Fetcher, Job, Object, PathProfile, RequestPlan, Result, Wanted, plan_requests};

use super::file::{OrcFile, Unit, open, read_stripe_footers};
use super::lane::Stripes;
use super::statistics::{excludes_file, excludes_stripe};
use super::timestamps::settle;
use crate::columns::Columns;
use crate::files::{files_of_plan, open_all, profile};
use crate::merge::merge;
use crate::steps::{Scan, batch_rows, run, steps, steps_ahead};
use crate::{Batches, FilePlan, InputFile, OrcOptions, ReadPlan, ReadRequest, Source, SourceInfo, UnitPlan};

/// ORC files, read as one table. Their columns are matched by name: one that a file lacks reads as null there, and `int`
/// widens to `bigint`, `float` to `double`.
///
/// Timestamps are in the unit that [`TimestampUnit`](crate::TimestampUnit) tells.
#[derive(Debug)]
pub struct OrcSource {
    files: Vec<Arc<OrcFile>>,
    schema: SchemaRef,
    options: OrcOptions,
    job: Job,
}

impl OrcSource {
    /// Opens the files: one tail read each, several at once. The order of `objects` is the order of the rows.
    pub fn open(objects: Vec<Object>, job: &Job) -> Result<Self> {
        Self::open_files(objects.into_iter().map(InputFile::from).collect(), OrcOptions::default(), job)
    }

    /// Like [`Self::open`], of files some of whose columns are constants.
    pub fn open_files(files: Vec<InputFile>, options: OrcOptions, job: &Job) -> Result<Self> {
        let mut files = open_all(files, open)?;
        settle(&mut files, options.timestamp_unit)?;
        let schema = merge(&files)?;
        Ok(Self { files, schema, options, job: job.clone() })
    }

    /// The requests for these stripes, and the bytes wanted of each.
    fn requests(&self, units: &[Unit], fields: &[FieldRef]) -> Result<(RequestPlan, Vec<u64>)> {
        let (wanted, bytes) = self.ranges(units, fields)?;
        Ok((plan_requests(&wanted, &self.job.options().ranges, &profile(&self.files)), bytes))
    }

    /// The byte ranges of these stripes, and how many bytes those of each have. Reads footers that are not known yet.
    fn ranges(&self, units: &[Unit], fields: &[FieldRef]) -> Result<(Vec<Wanted>, Vec<u64>)> {
        read_stripe_footers(units, fields, &self.job)?;
        let mut wanted = Vec::new();
        let bytes = units.iter().map(|unit| unit.want(fields, &mut wanted)).collect::<Result<_>>()?;
        Ok((wanted, bytes))
    }
}

/// Why nothing of a stripe is read.
fn pruned(unit: &Unit, columns: &Columns, left: u64, file_reason: Option<&String>) -> Result<Option<String>> {
    if left == 0 {
        return Ok(Some("limit: enough rows before it".to_owned()));
    }
    if columns.is_never {
        return Ok(Some("the filter is never true".to_owned()));
    }
    if unit.rows() == 0 {
        return Ok(Some("it has no rows".to_owned()));
    }
    match (file_reason, &columns.predicate) {
        (Some(reason), _) => Ok(Some(reason.clone())),
        (None, Some(predicate)) => excludes_stripe(unit, predicate),
        (None, None) => Ok(None),
    }
}

/// The stripes that a plan keeps, as this process knows them.
fn units_of_plan(plan: &ReadPlan, files: &[Arc<OrcFile>]) -> Result<Vec<Unit>> {
    let mut units = Vec::new();
    for (number, (file, file_plan)) in files.iter().zip(&plan.files).enumerate() {
        for unit in file_plan.units.iter().filter(|unit| unit.pruned.is_none()) {
            if unit.index >= file.tail.stripes().len() {
                let message = format!("the plan names stripe {}, which it does not have", unit.index);
                return Err(Error::usage(message).at(&file.url).advice("plan again"));
            }
            units.push(Unit { file: Arc::clone(file), file_number: number as u32, stripe: unit.index });
        }
    }
    Ok(units)
}

/// Bytes that a row takes in memory, about: values of no fixed width as they are stored, expanded by as much as
/// compression mostly gains.
fn row_bytes(unit: &Unit, fields: &[FieldRef]) -> u64 {
    const EXPANSION: u64 = 4;
    let info = unit.file.tail.stripes()[unit.stripe];
    let of_row = (info.data_bytes / info.rows.max(1)).saturating_mul(EXPANSION);
    let share = of_row / unit.file.schema.fields().len().max(1) as u64;
    let width = |field: &FieldRef| match field.data_type() {
        DataType::Utf8View | DataType::BinaryView => 16 + share,
        other => other.primitive_width().map_or(share.max(16), |width| width as u64),
    };
    fields.iter().map(width).sum::<u64>().max(1)
}

impl Source for OrcSource {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn info(&self) -> SourceInfo {
        SourceInfo {
            format: "orc".to_owned(),
            rows: Some(self.files.iter().map(|file| file.rows()).sum()),
            files: self.files.len() as u64,
            bytes: self.files.iter().map(|file| file.size_bytes).sum(),
            units: Some(self.files.iter().map(|file| file.tail.stripes().len() as u64).sum()),
        }
    }

    fn plan(&self, request: &ReadRequest) -> Result<ReadPlan> {
        let columns = Columns::resolve(&self.schema, request)?;
        let fields = columns.fields(&self.schema);
        let mut left = request.limit.unwrap_or(u64::MAX);
        let mut files = Vec::with_capacity(self.files.len());
        let (mut kept, mut places) = (Vec::new(), Vec::new());
        for (number, file) in self.files.iter().enumerate() {
            let file_number = u32::try_from(number).map_err(|_| Error::unsupported("more than 4 billion files"))?;
            let file_reason = columns.predicate.as_ref().and_then(|predicate| excludes_file(file, predicate));
            let mut units = Vec::with_capacity(file.tail.stripes().len());
            for stripe in 0..file.tail.stripes().len() {
                self.job.check()?;
                let unit = Unit { file: Arc::clone(file), file_number, stripe };
                let pruned = pruned(&unit, &columns, left, file_reason.as_ref())?;
                let rows = unit.rows();
                if pruned.is_none() {
                    if columns.predicate.is_none() {
                        left -= left.min(rows);
                    }
                    kept.push(unit);
                    places.push((number, stripe));
                }
                units.push(UnitPlan {
                    index: stripe,
                    rows: Some(rows),
                    rows_after_pages: None,
                    wanted_bytes: 0,
                    pruned,
                });
            }
            let (url, size_bytes, e_tag) = (file.url.clone(), file.size_bytes, file.object.e_tag.clone());
            files.push(FilePlan { url, size_bytes, e_tag, units });
        }
        let (requests, wanted) = self.requests(&kept, &fields)?;
        for ((file, unit), bytes) in places.into_iter().zip(wanted) {
            files[file].units[unit].wanted_bytes = bytes;
        }
        Ok(ReadPlan { request: request.clone(), schema: columns.schema, files, requests })
    }

    fn wanted(&self, plan: &ReadPlan) -> Result<Option<(Vec<Wanted>, PathProfile)>> {
        let columns = Columns::resolve(&self.schema, &plan.request)?;
        let units = units_of_plan(plan, &files_of_plan(plan, &self.files)?)?;
        let (wanted, _) = self.ranges(&units, &columns.fields(&self.schema))?;
        Ok(Some((wanted, profile(&self.files))))
    }

    fn read(&self, plan: &ReadPlan) -> Result<Batches> {
        let columns = Columns::resolve(&self.schema, &plan.request)?;
        columns.check_plan(plan)?;
        let fields = columns.fields(&self.schema);
        let files = files_of_plan(plan, &self.files)?;
        let units = units_of_plan(plan, &files)?;
        read_stripe_footers(&units, &fields, &self.job)?;
        let limit = plan.request.limit;
        let row_bytes = units.iter().map(|unit| row_bytes(unit, &fields)).max().unwrap_or(1);
        let step_rows = plan.request.batch_rows.unwrap_or_else(|| batch_rows(row_bytes)).max(1);
        let whole: Vec<Range<u64>> = units.iter().map(|unit| 0..unit.rows()).collect();
        let row_limit = limit.filter(|_| columns.predicate.is_none());
        let steps = steps(whole.iter().map(std::slice::from_ref), step_rows, row_limit);
        let steps_ahead = steps_ahead((step_rows as u64).saturating_mul(row_bytes), self.job.options().threads);
        let objects = files.iter().map(|file| file.object.clone()).collect();
        let fetcher = if plan.requests.requests.is_empty() {
            // A part of a split plan: its requests are planned here.
            Fetcher::start(objects, &self.requests(&units, &fields)?.0, &self.job)?
        } else {
            Fetcher::start(objects, &plan.requests, &self.job)?
        };
        let units = Stripes::new(units, fields.clone(), step_rows, self.options, fetcher);
        run(Scan { columns, fields, units, steps, steps_ahead, job: self.job.clone() }, step_rows, limit)
    }
}
