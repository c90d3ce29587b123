//! ORC files of one schema as a source.

use std::ops::Range;
use std::sync::Arc;

use arrow::datatypes::{DataType, FieldRef, SchemaRef};
use lakerace_io::option::TIMESTAMP_UNIT;
use lakerace_io::{Error, Fetcher, Job, Object, PathProfile, RequestPlan, Result, Wanted, plan_requests};
use lakerace_orc::read::ReaderClock;

use super::column_reader::StripeSet;
use super::error::from_orc;
use super::fetch::read_stripe_footers;
use super::file::{OrcFile, open};
use super::groups::{GroupFilter, StripeRemainder};
use super::statistics::{excludes_file, excludes_stripe};
use super::timestamps::settle;
use super::unit::StripeUnit;
use crate::columns::ReadColumns;
use crate::exec::{BatchPlan, ScanTask, batch_rows, run, steps_ahead};
use crate::expr::Expr;
use crate::file_format::OpenOptions;
use crate::files::{file_plan, files_of_plan, has_requests, info, kept_units, open_part, profile};
use crate::input::InputFile;
use crate::options::{ColumnUnion, CsvOptions, ExcelOptions, OrcOptions, ParquetOptions, TimestampUnit};
use crate::plan::{ReadPlan, ReadRequest, UnitPlan};
use crate::schema_merge::merge;
use crate::source::{Batches, ColumnOwners, Source, SourceInfo};

/// ORC files, read as one table. Their columns are matched by name: one that a file lacks reads as null there, and `int`
/// widens to `bigint`, `float` to `double`.
///
/// Timestamps are in the unit of the option [`TimestampUnit`](crate::TimestampUnit).
#[derive(Debug)]
pub struct OrcSource {
    files: Vec<Arc<OrcFile>>,
    schema: SchemaRef,
    owners: ColumnOwners,
    options: OrcOptions,
    job: Job,
}

impl OrcSource {
    /// Opens the files: one tail read each, several together. The order of `objects` is the order of the rows.
    pub fn open(objects: Vec<Object>, job: &Job) -> Result<Self> {
        Self::open_files(
            objects.into_iter().map(InputFile::from).collect(),
            OrcOptions::default(),
            ColumnUnion::default(),
            job,
        )
    }

    /// Opens like [`Self::open`], for files some of whose columns are constants.
    pub fn open_files(files: Vec<InputFile>, options: OrcOptions, union: ColumnUnion, job: &Job) -> Result<Self> {
        let (parquet, csv) = (ParquetOptions::default(), CsvOptions::default());
        let all = OpenOptions {
            all: &[],
            first: None,
            csv: &csv,
            parquet,
            orc: &options,
            excel: &ExcelOptions::default(),
            union,
            columns: None,
        };
        Self::open_part(files, &all, job)
    }

    /// Opens files that may be some of the files of a table, by the options for them.
    pub(crate) fn open_part(files: Vec<InputFile>, options: &OpenOptions<'_>, job: &Job) -> Result<Self> {
        let OpenOptions { first, orc, union, columns, .. } = *options;
        let clock = orc.timestamp_zone.as_deref().map(ReaderClock::in_zone).transpose().map_err(from_orc)?;
        let (mut files, owners) =
            open_part(files, first, columns, |file, opening| open(file, opening, clock.as_ref()))?;
        settle(&mut files, orc.timestamp_unit)?;
        let schema = merge(&files, union)?;
        let has_times =
            || schema.flattened_fields().iter().any(|field| matches!(field.data_type(), DataType::Timestamp(..)));
        // The Spark connector sets a unit for all files, and a zone with it.
        if orc.timestamp_unit != TimestampUnit::Auto && orc.timestamp_zone.is_none() && !has_times() {
            job.warn(&format!("{TIMESTAMP_UNIT} has no effect: the files have no timestamps"));
        }
        Ok(Self { files, schema, owners, options: orc.clone(), job: job.clone() })
    }

    /// The requests for these stripes, and the bytes wanted of each.
    fn requests(&self, units: &[StripeUnit], fields: &[FieldRef]) -> Result<(RequestPlan, Vec<u64>)> {
        let (wanted, bytes) = self.ranges(units, fields)?;
        Ok((plan_requests(&wanted, &self.job.options().ranges, &profile(&self.files)), bytes))
    }

    /// Finds the part of these stripes that the filter leaves: all of each, some of its row groups, or nothing.
    fn row_groups(
        &self,
        units: &[StripeUnit],
        columns: &ReadColumns,
        filter: Option<&Expr>,
    ) -> Result<Vec<StripeRemainder>> {
        match (&columns.predicate, filter) {
            (Some(predicate), Some(filter)) => {
                let fields = columns.fields(&self.schema);
                GroupFilter { predicate, filter, fields: &fields }.ask(units, &self.job)
            }
            _ => Ok(units.iter().map(|_| StripeRemainder::Whole).collect()),
        }
    }

    /// The stripes that a plan keeps, as this process knows them.
    fn units_of_plan(&self, plan: &ReadPlan, files: &[Arc<OrcFile>], columns: &ReadColumns) -> Result<Vec<StripeUnit>> {
        let mut units = Vec::new();
        let (mut partial, mut places) = (Vec::new(), Vec::new());
        for kept in kept_units(plan, files) {
            let (number, file, unit_plan) = kept?;
            let unit = StripeUnit::whole(file, number, unit_plan.index);
            if let Some(row_groups) = &unit_plan.row_groups {
                partial.push(unit.clone());
                places.push((units.len(), row_groups));
            }
            units.push(unit);
        }
        let left = self.row_groups(&partial, columns, plan.request.filter.as_ref())?;
        for ((place, planned), left) in places.into_iter().zip(left) {
            let StripeRemainder::Some(groups) = left else { return Err(other_groups(&units[place])) };
            if groups.plan != *planned {
                return Err(other_groups(&units[place]));
            }
            units[place].groups = Some(groups);
        }
        Ok(units)
    }

    /// The byte ranges of these stripes that are to be requested, and the number of bytes needed of each. Reads footers
    /// that are not known yet.
    fn ranges(&self, units: &[StripeUnit], fields: &[FieldRef]) -> Result<(Vec<Wanted>, Vec<u64>)> {
        read_stripe_footers(units, fields, &self.job)?;
        let mut wanted = Vec::new();
        let bytes = units.iter().map(|unit| unit.want(fields, &mut wanted)).collect::<Result<_>>()?;
        Ok((wanted, bytes))
    }
}

/// Why nothing of a stripe is read.
fn pruned(unit: &StripeUnit, columns: &ReadColumns, left: u64, file_reason: Option<&String>) -> Result<Option<String>> {
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

fn other_groups(unit: &StripeUnit) -> Error {
    let message = format!("the plan keeps other row groups of stripe {} than its filter does", unit.stripe);
    Error::usage(message).at(&unit.file.url).advice("plan the scan again")
}

impl Source for OrcSource {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn info(&self) -> SourceInfo {
        info(super::ORC.name, &self.files)
    }

    fn column_owners(&self) -> ColumnOwners {
        self.owners.clone()
    }

    fn plan(&self, request: &ReadRequest) -> Result<ReadPlan> {
        let columns = ReadColumns::resolve(&self.schema, request)?;
        let fields = columns.fields(&self.schema);
        let mut left = request.limit.unwrap_or(u64::MAX);
        let mut files = Vec::with_capacity(self.files.len());
        let (mut kept, mut places) = (Vec::new(), Vec::new());
        for (number, file) in self.files.iter().enumerate() {
            let file_number =
                u32::try_from(number).map_err(|_| Error::unsupported("there are more than 4 billion files"))?;
            let file_reason = columns.predicate.as_ref().and_then(|predicate| excludes_file(file, predicate));
            let mut units = Vec::with_capacity(file.tail.stripes().len());
            for stripe in 0..file.tail.stripes().len() {
                self.job.check()?;
                let unit = StripeUnit::whole(file, file_number, stripe);
                let pruned = pruned(&unit, &columns, left, file_reason.as_ref())?;
                let rows = unit.rows();
                if pruned.is_none() {
                    if columns.predicate.is_none() {
                        left -= left.min(rows);
                    }
                    kept.push(unit);
                    places.push((number, stripe));
                }
                units.push(UnitPlan { index: stripe, rows: Some(rows), pruned, ..UnitPlan::default() });
            }
            files.push(file_plan(file.as_ref(), units));
        }
        let (mut read, mut plans) = (Vec::with_capacity(kept.len()), Vec::with_capacity(kept.len()));
        let left = self.row_groups(&kept, &columns, request.filter.as_ref())?;
        for ((mut unit, (file, stripe)), left) in kept.into_iter().zip(places).zip(left) {
            let plan = &mut files[file].units[stripe];
            match left {
                StripeRemainder::Whole => {}
                StripeRemainder::Nothing(reason) => {
                    plan.pruned = Some(reason);
                    continue;
                }
                StripeRemainder::Some(groups) => {
                    plan.rows_after_pages = Some(groups.rows().iter().map(|rows| rows.end - rows.start).sum());
                    plan.row_groups = Some(groups.plan.clone());
                    unit.groups = Some(groups);
                }
            }
            read.push(unit);
            plans.push((file, stripe));
        }
        let (requests, wanted) = self.requests(&read, &fields)?;
        for ((file, unit), bytes) in plans.into_iter().zip(wanted) {
            files[file].units[unit].wanted_bytes = bytes;
        }
        Ok(ReadPlan { request: request.clone(), schema: columns.schema, files, requests })
    }

    fn wanted(&self, plan: &ReadPlan) -> Result<Option<(Vec<Wanted>, PathProfile)>> {
        let columns = ReadColumns::resolve(&self.schema, &plan.request)?;
        let units = self.units_of_plan(plan, &files_of_plan(plan, &self.files)?, &columns)?;
        let (wanted, _) = self.ranges(&units, &columns.fields(&self.schema))?;
        Ok(Some((wanted, profile(&self.files))))
    }

    fn read(&self, plan: &ReadPlan) -> Result<Batches> {
        let columns = ReadColumns::resolve(&self.schema, &plan.request)?;
        columns.check_plan(plan)?;
        let fields = columns.fields(&self.schema);
        let files = files_of_plan(plan, &self.files)?;
        let units = self.units_of_plan(plan, &files, &columns)?;
        read_stripe_footers(&units, &fields, &self.job)?;
        let limit = plan.request.limit;
        let largest = units.iter().max_by_key(|unit| unit.row_bytes(&fields));
        let column_bytes = largest.map(|unit| unit.column_bytes(&fields)).unwrap_or_default();
        let row_bytes = column_bytes.iter().sum::<u64>().max(1);
        let step_rows = plan.request.batch_rows.unwrap_or_else(|| batch_rows(row_bytes, fields.len())).max(1);
        let rows: Vec<Vec<Range<u64>>> = units.iter().map(StripeUnit::row_ranges).collect();
        let row_limit = limit.filter(|_| columns.predicate.is_none());
        let steps = BatchPlan::new(rows.iter().map(|rows| (rows.as_slice(), step_rows)), row_limit);
        // A limit may be reached within the first unit.
        let unit_steps = if limit.is_some() { 0 } else { steps.largest_unit() };
        let steps_ahead = steps_ahead(step_rows, &column_bytes, &column_bytes, unit_steps, self.job.options().threads);
        let objects = files.iter().map(|file| file.object.clone()).collect();
        let fetcher = if has_requests(plan, units.iter().map(|unit| (unit.file_number, unit.file.as_ref()))) {
            Fetcher::start(objects, &plan.requests, &self.job)?
        } else {
            // A part of a split plan, or one of other files known whole: its requests are planned here.
            Fetcher::start(objects, &self.requests(&units, &fields)?.0, &self.job)?
        };
        let units = StripeSet::new(units, fields.clone(), step_rows, self.options.timestamp_unit, fetcher);
        run(ScanTask { columns, fields, units, steps, steps_ahead, job: self.job.clone() }, step_rows, limit)
    }
}
