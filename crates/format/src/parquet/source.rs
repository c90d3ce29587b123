//! Parquet files of one schema as a source.

use std::ops::Range;
use std::sync::Arc;

use arrow::datatypes::{DataType, FieldRef, SchemaRef};
use lakerace_io::option::TIMESTAMP_UNIT;
use lakerace_io::{Error, Fetcher, Job, Object, PathProfile, RequestPlan, Result, Wanted, plan_requests};

use super::footer::narrow::RootNames;
use super::footer::{FileMeta, TypesBy, has_int96, open};
use super::read::RowGroups;
use super::read::extremes::extremes;
use super::read::flat_decoder::decoder;
use super::read::planning::{column_bytes, column_work, default_step_rows, row_bytes, want};
use super::read::prune::GroupPruner;
use super::read::unit::RowGroupUnit;
use crate::columns::{ReadColumns, roots};
use crate::compact_type::compact_type;
use crate::exec::{BatchPlan, ScanTask, run, steps_ahead};
use crate::files::{file_plan, files_of_plan, has_requests, info, kept_units, open_all, open_part, profile};
use crate::input::InputFile;
use crate::options::{ColumnUnion, ParquetOptions, TimestampUnit};
use crate::plan::{ReadPlan, ReadRequest, UnitPlan};
use crate::schema_merge::merge;
use crate::source::{Batches, ColumnOwners, Extremes, Source, SourceInfo};
use crate::table_schema::TableSchema;

/// Parquet files, read as one table. Their columns are matched by name: one that a file lacks reads as null there, and
/// `int32` widens to `int64`, `float` to `double`.
#[derive(Debug)]
pub struct ParquetSource {
    pub(super) files: Vec<Arc<FileMeta>>,
    pub(super) schema: SchemaRef,
    owners: ColumnOwners,
    pub(super) job: Job,
}

impl ParquetSource {
    /// Opens the files: one tail read each, several together. The order of `objects` is the order of the rows.
    pub fn open(objects: Vec<Object>, job: &Job) -> Result<Self> {
        let files = objects.into_iter().map(InputFile::from).collect();
        Self::open_files(files, ParquetOptions::default(), ColumnUnion::default(), job)
    }

    /// Opens like [`Self::open`], for files some of whose columns are constants.
    pub fn open_files(files: Vec<InputFile>, options: ParquetOptions, union: ColumnUnion, job: &Job) -> Result<Self> {
        Self::open_columns(files, None, options, union, None, job)
    }

    /// Opens like [`Self::open_files`], for reads of only these columns, those of filters included. A source of one
    /// wide file may then have only these: its footer is decoded for them. A name with dots is that of a column, or
    /// leads to a field of a struct. Another `first` file than that of `files`, if there is one, decides whose
    /// values a column has that files and their places have.
    pub fn open_columns(
        files: Vec<InputFile>,
        first: Option<&Object>,
        options: ParquetOptions,
        union: ColumnUnion,
        columns: Option<&[String]>,
        job: &Job,
    ) -> Result<Self> {
        // The columns of several files are compared with one another.
        let narrow = columns.filter(|_| files.len() == 1).map(RootNames::of_request);
        let types = TypesBy::File(options, narrow.as_ref());
        let (files, owners) = open_part(files, first, columns, |file, tail_bytes| open(file, types, tail_bytes))?;
        // A file may have such timestamps in columns that were not decoded.
        let may_take_unit = || files.iter().any(|file| file.is_narrowed || has_int96(file.metadata()));
        if options.timestamp_unit != TimestampUnit::Auto && !may_take_unit() {
            job.warn(&format!(
                "{TIMESTAMP_UNIT} has no effect: the files have no 96-bit timestamps, and other timestamps have their \
                 own unit"
            ));
        }
        let schema = merge(&files, union)?;
        Ok(Self { files, schema, owners, job: job.clone() })
    }

    /// Opens files of a table, which defines their columns: names, types, and the key to find them by. Constants take
    /// precedence over columns of the files. A file whose object already has a size must have that size; otherwise it
    /// is an error of kind `Corrupt`.
    pub fn open_table(files: Vec<InputFile>, table: &Arc<TableSchema>, job: &Job) -> Result<Self> {
        let files = open_all(files, |file, tail_bytes| open(file, TypesBy::Table(table), tail_bytes))?;
        let owners = ColumnOwners::default();
        Ok(Self { files, schema: Arc::clone(table.schema()), owners, job: job.clone() })
    }

    /// Plans like [`Source::plan`], only for the row groups whose midpoint is in their file's range of bytes: if ranges
    /// divide a file, each of its row groups belongs to exactly one of them. No ranges: all row groups.
    pub fn plan_ranges(&self, request: &ReadRequest, ranges: &[Range<u64>]) -> Result<ReadPlan> {
        let columns = ReadColumns::resolve(&self.schema, request)?;
        let fields = columns.fields(&self.schema);
        let pruner = GroupPruner::new(&self.job);
        let mut left = request.limit.unwrap_or(u64::MAX);
        let mut files = Vec::with_capacity(self.files.len());
        let mut kept_units = Vec::new();
        for (number, file) in self.files.iter().enumerate() {
            let number =
                u32::try_from(number).map_err(|_| Error::unsupported("there are more than 4 billion files"))?;
            let mut units = Vec::with_capacity(file.metadata().num_row_groups());
            for row_group in 0..file.metadata().num_row_groups() {
                self.job.check()?;
                if !ranges.get(files.len()).is_none_or(|range| file.has_midpoint_in(row_group, range)) {
                    units.push(elsewhere(row_group));
                    continue;
                }
                let whole = RowGroupUnit::whole(file, number, row_group);
                let (plan, kept) = self.plan_unit(&pruner, &whole, &columns, left)?;
                if let Some(kept) = kept {
                    if columns.predicate.is_none() {
                        left -= left.min(kept.visible_count());
                    }
                    kept_units.push((files.len(), units.len(), kept));
                }
                units.push(plan);
            }
            files.push(file_plan(file.as_ref(), units));
        }
        let (requests, wanted) = self.requests(kept_units.iter().map(|(_, _, unit)| unit), &fields)?;
        for ((file, unit, _), bytes) in kept_units.iter().zip(wanted) {
            files[*file].units[*unit].wanted_bytes = bytes;
        }
        Ok(ReadPlan { request: request.clone(), schema: columns.schema, files, requests })
    }

    fn plan_unit(
        &self,
        pruner: &GroupPruner<'_>,
        unit: &RowGroupUnit,
        columns: &ReadColumns,
        left: u64,
    ) -> Result<(UnitPlan, Option<RowGroupUnit>)> {
        let rows = unit.file.metadata().row_group(unit.row_group).num_rows() as u64;
        let mut plan = UnitPlan { index: unit.row_group, rows: Some(rows), ..UnitPlan::default() };
        if left == 0 {
            plan.pruned = Some("limit: enough rows before it".to_owned());
            return Ok((plan, None));
        }
        if columns.is_never {
            plan.pruned = Some("the filter is never true".to_owned());
            return Ok((plan, None));
        }
        if rows == 0 {
            plan.pruned = Some("it has no rows".to_owned());
            return Ok((plan, None));
        }
        if unit.visible_count() == 0 {
            plan.pruned = Some("deletion vector: all its rows are deleted".to_owned());
            return Ok((plan, None));
        }
        match pruner.prune(unit, columns)? {
            Err(reason) => {
                plan.pruned = Some(reason);
                Ok((plan, None))
            }
            Ok(kept) => {
                let left = kept.visible_count();
                if left < rows {
                    plan.rows_after_pages = Some(left);
                }
                Ok((plan, Some(kept)))
            }
        }
    }

    /// The requests for these row groups, and the bytes wanted of each.
    pub(super) fn requests<'a>(
        &self,
        units: impl Iterator<Item = &'a RowGroupUnit>,
        fields: &[FieldRef],
    ) -> Result<(RequestPlan, Vec<u64>)> {
        let (wanted, bytes) = self.ranges(units, fields)?;
        Ok((plan_requests(&wanted, &self.job.options().ranges, &profile(&self.files)), bytes))
    }

    /// The byte ranges of these row groups that are to be requested, and the number of bytes needed of each.
    fn ranges<'a>(
        &self,
        units: impl Iterator<Item = &'a RowGroupUnit>,
        fields: &[FieldRef],
    ) -> Result<(Vec<Wanted>, Vec<u64>)> {
        let (mut wanted, mut bytes) = (Vec::new(), Vec::new());
        let mut known: Option<(u32, Vec<Option<usize>>)> = None;
        for unit in units {
            let roots = match &known {
                Some((file, roots)) if *file == unit.file_number => roots,
                _ => &known.insert((unit.file_number, roots(unit.file.schema(), fields))).1,
            };
            let before = wanted.len();
            bytes.push(want(&mut wanted, unit.file_number, &unit.ranges(fields, roots)?));
            if unit.file.object.whole.is_some() {
                wanted.truncate(before);
            }
        }
        Ok((wanted, bytes))
    }

    /// The row groups that a plan keeps, as this process knows them.
    pub(super) fn units_of_plan(
        &self,
        plan: &ReadPlan,
        files: &[Arc<FileMeta>],
        columns: &ReadColumns,
    ) -> Result<Vec<RowGroupUnit>> {
        let pruner = GroupPruner::new(&self.job);
        let mut units = Vec::new();
        for kept in kept_units(plan, files) {
            let (number, file, unit_plan) = kept?;
            let unit = RowGroupUnit::whole(file, number, unit_plan.index);
            units.push(match unit_plan.rows_after_pages {
                None => unit,
                Some(_) => pruner.pages(&unit, columns)?,
            });
        }
        Ok(units)
    }
}

/// Returns true if a file stores a column as the type that has this compact type, and our decoder reads that.
fn stores_compact(file: &FileMeta, name: &str, compact: &DataType) -> bool {
    let Ok(root) = file.schema().index_of(name) else { return false };
    let stored = file.schema().field(root).data_type();
    if file.constants.is_some() || compact_type(stored).as_ref() != Some(compact) {
        return false;
    }
    // Other texts become keys when they are read.
    let is_decoded = |row_group| decoder(file, row_group, root, compact, &Arc::default()).is_some();
    *stored == DataType::Utf8View || (0..file.metadata().num_row_groups()).all(is_decoded)
}

/// The plan of a row group that another part of its file's readers reads.
fn elsewhere(row_group: usize) -> UnitPlan {
    let pruned = Some("it is in another range of the file".to_owned());
    UnitPlan { index: row_group, pruned, ..UnitPlan::default() }
}

impl Source for ParquetSource {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn info(&self) -> SourceInfo {
        info(super::PARQUET.name, &self.files)
    }

    fn column_owners(&self) -> ColumnOwners {
        self.owners.clone()
    }

    fn plan(&self, request: &ReadRequest) -> Result<ReadPlan> {
        self.plan_ranges(request, &[])
    }

    fn wanted(&self, plan: &ReadPlan) -> Result<Option<(Vec<Wanted>, PathProfile)>> {
        let columns = ReadColumns::resolve(&self.schema, &plan.request)?;
        let files = files_of_plan(plan, &self.files)?;
        let units = self.units_of_plan(plan, &files, &columns)?;
        let (wanted, _) = self.ranges(units.iter(), &columns.fields(&self.schema))?;
        Ok(Some((wanted, profile(&self.files))))
    }

    fn extremes(&self, column: &str) -> Result<Option<Extremes>> {
        Ok(extremes(&self.files, &self.schema, column))
    }

    fn read(&self, plan: &ReadPlan) -> Result<Batches> {
        self.read_compact(plan, &[])
    }

    fn read_compact(&self, plan: &ReadPlan, compact: &[String]) -> Result<Batches> {
        let columns = ReadColumns::resolve(&self.schema, &plan.request)?;
        columns.check_plan(plan)?;
        let files = files_of_plan(plan, &self.files)?;
        let units = self.units_of_plan(plan, &files, &columns)?;
        let is_planned = has_requests(plan, units.iter().map(|unit| (unit.file_number, unit.file.as_ref())));
        // A part of a split plan has no requests; nor has a plan for other files that are known completely.
        let requests = is_planned.then_some(&plan.requests);
        self.read_units(&plan.request, columns, &files, units, requests, compact)
    }
}

impl ParquetSource {
    /// Reads row groups of some files, by planned requests, or by requests that are planned here. `compact`: columns
    /// that may have their compact type.
    pub(super) fn read_units(
        &self,
        request: &ReadRequest,
        mut columns: ReadColumns,
        files: &[Arc<FileMeta>],
        units: Vec<RowGroupUnit>,
        requests: Option<&RequestPlan>,
        compact: &[String],
    ) -> Result<Batches> {
        let mut fields = columns.fields(&self.schema);
        let step_rows = request.batch_rows.unwrap_or_else(|| default_step_rows(&units, &fields));
        let unit_step_rows: Vec<usize> = match request.batch_rows {
            Some(most) => vec![most; units.len()],
            None => units.iter().map(|unit| unit.step_rows(step_rows)).collect(),
        };
        let steps = BatchPlan::new(
            units.iter().zip(&unit_step_rows).map(|(unit, step_rows)| (unit.rows.as_slice(), *step_rows)),
            request.limit.filter(|_| columns.predicate.is_none() && files.iter().all(|file| file.hidden.is_none())),
        );
        let largest = units.iter().max_by_key(|unit| row_bytes(unit, &fields));
        let column_bytes = largest.map(|unit| column_bytes(unit, &fields)).unwrap_or_default();
        let column_work = largest.map(|unit| column_work(unit, &fields)).unwrap_or_default();
        // A limit may be reached within the first unit.
        let unit_steps = if request.limit.is_some() { 0 } else { steps.largest_unit() };
        let threads = self.job.options().threads;
        let steps_ahead = steps_ahead(step_rows, &column_bytes, &column_work, unit_steps, threads);
        let objects = files.iter().map(|file| file.object.clone()).collect();
        let fetcher = match requests {
            Some(requests) => Fetcher::start(objects, requests, &self.job)?,
            None => Fetcher::start(objects, &self.requests(units.iter(), &fields)?.0, &self.job)?,
        };
        // Small batches are joined after a filter, which would have to join their dictionaries.
        let keeps_batches = columns.predicate.is_none() && files.iter().all(|file| file.hidden.is_none());
        columns.read_compact(&mut fields, compact, |name, compact| {
            (keeps_batches || !matches!(compact, DataType::Dictionary(..)))
                && files.iter().all(|file| stores_compact(file, name, compact))
        });
        let units = RowGroups::new(units, fields.clone(), unit_step_rows, fetcher);
        let scan = ScanTask { columns, fields, units, steps, steps_ahead, job: self.job.clone() };
        run(scan, step_rows, request.limit)
    }
}
