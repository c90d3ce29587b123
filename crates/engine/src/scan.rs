//! Scanning: open, plan, read, checksum.

mod count;

use std::sync::Arc;

use arrow::datatypes::{FieldRef, Schema, SchemaRef};
use lakerace_database::DatabaseSystem;
use lakerace_delta::{Snapshot, SourceRows};
use lakerace_format::{Batches, Extremes, FieldPaths, Predicate, ReadPlan, ReadRequest, Source, requested_schema};
use lakerace_io::option::ORDER_BY;
use lakerace_io::{Error, ErrorKind, Job, RequestPlan, Result, StorageOptions};

use crate::checksum::{Checksum, checksum};
use crate::column_item::ColumnItem;
use crate::column_nesting::NestedProjection;
use crate::computed_columns::{ColumnProjection, RequestedColumns, with_column_advice};
use crate::database::{self, KnownTypes};
use crate::dataset::{self, OpenedLocation};
use crate::delta;
use crate::explain::Explain;
use crate::explain::row_filters;
use crate::option_scope::{PlaceKind, check_read_scope};
use crate::options::ReadOptions;
use crate::plan_log;
use crate::rebatch::{SOURCE_BATCH_ROWS, rebatch};
use crate::replaced_source;
use crate::scan_order::{ScanOrder, UnsortedRows};
use crate::scan_texts::{PlannedSteps, ScanTexts};
use crate::table_scan::OpenVersion;

/// A source with a plan.
pub struct Scan {
    source: Arc<dyn Source>,
    /// The plan of reading, before rows are sorted.
    plan: ReadPlan,
    order: Option<ScanOrder>,
    /// Columns that are computed from those that the plan reads.
    projection: Option<ColumnProjection>,
    /// The last step: the same columns with another nesting.
    nested: Option<NestedProjection>,
    /// The version of the Delta table that is read.
    version: Option<Snapshot>,
    filter: Option<String>,
    /// The plan has no file to read: the rows are only counted.
    only_counts: bool,
    job: Job,
}

/// Rows of a batch for a consumer that takes row by row: its columns stay in the cache while they are gone through.
const SMALL_BATCH_ROWS: usize = 4096;

/// The places whose options are checked when a source is opened.
enum ScopeCheck {
    /// The options of reading apply to the source.
    Source,
    /// Options of the CSV dialect may also apply to the target of the rows.
    SourceOrTarget(PlaceKind),
    /// The caller checks them.
    Later,
}

impl Scan {
    /// Opens a location and plans the read: footers and the like are read, data is not.
    pub fn open(location: &str, options: &ReadOptions, job: &Job) -> Result<Self> {
        Self::open_for_fields(location, options, FieldPaths::new(), job)
    }

    /// Opens like [`Self::open`], for a caller that reads no rows: for a Delta table, no data file is opened, and the
    /// plan has none to read.
    ///
    /// # Errors
    /// Those of [`Self::open`], except for those of a table's data files.
    pub fn describe(location: &str, options: &ReadOptions, job: &Job) -> Result<Self> {
        let texts = ScanTexts::parse(location, options)?;
        let opened = texts.open(location, options, job)?;
        // A table's log has its schema; the schema of files is that of their footers.
        let limit = if opened.version.is_some() { Some(0) } else { options.limit };
        let options = ReadOptions { limit, ..options.clone() };
        Self::plan_opened(location, opened, &options, texts, ScopeCheck::Source, job)
    }

    /// Opens like [`Self::open`], for a caller that may only count the rows. The log of a Delta table has their number, so
    /// that no data file is opened, and no read is planned: [`Self::planned_again`] does that. Other sources, and reads with
    /// a filter, an order or computed columns, are planned like those of [`Self::open`].
    ///
    /// # Errors
    /// As those of [`Self::open`].
    pub fn open_to_count(location: &str, options: &ReadOptions, job: &Job) -> Result<Self> {
        let texts = ScanTexts::parse(location, options)?;
        let opened = texts.open(location, options, job)?;
        let files = match &opened.version {
            Some(version) if !texts.has_expressions() => version.counted_files()?,
            _ => return Self::plan_opened(location, opened, options, texts, ScopeCheck::Source, job),
        };
        let none = ReadOptions { limit: Some(0), ..options.clone() };
        let mut scan = Self::plan_opened(location, opened, &none, texts, ScopeCheck::Source, job)?;
        scan.plan.request.limit = options.limit;
        scan.plan.files = files;
        scan.only_counts = true;
        Ok(scan)
    }

    /// Returns true if [`Self::open_to_count`] has planned no read.
    pub fn only_counts(&self) -> bool {
        self.only_counts
    }

    /// Describes a Delta table like [`Self::describe`], where a version of it is open: only the log after that one is
    /// read.
    ///
    /// # Errors
    /// As those of [`Self::open`].
    pub fn describe_after(location: &str, options: &ReadOptions, known: &OpenVersion, job: &Job) -> Result<Self> {
        let texts = ScanTexts::parse(location, options)?;
        let source = delta::open_after(location, options, known.snapshot(), job)?;
        let opened = OpenedLocation { version: Some(source.snapshot().clone()), source: Arc::new(source) };
        let options = ReadOptions { limit: Some(0), ..options.clone() };
        Self::plan_opened(location, opened, &options, texts, ScopeCheck::Source, job)
    }

    /// The same opened source and version with the columns, the filter and the limit of other options: nothing is
    /// opened again.
    ///
    /// # Errors
    /// As those of [`Self::open`].
    pub fn planned_again(&self, location: &str, options: &ReadOptions) -> Result<Self> {
        let texts = ScanTexts::parse(location, options)?;
        let opened = OpenedLocation { source: Arc::clone(&self.source), version: self.version.clone() };
        Self::plan_opened(location, opened, options, texts, ScopeCheck::Source, &self.job)
    }

    /// The version of the Delta table that is read; `None` of other sources.
    pub fn open_version(&self) -> Option<OpenVersion> {
        self.version.clone().map(OpenVersion::new)
    }

    /// Checks that a file that is to be replaced is none of those that are read from `source`, the location of this scan.
    ///
    /// # Errors
    /// `Usage` if it is one, and those of both locations.
    pub fn check_is_no_source(&self, source: &str, target: &str, storage: &StorageOptions) -> Result<()> {
        replaced_source::check_file(target, source, &self.plan, storage, &self.job)
    }

    /// The number of the Delta table's version that is read; `None` of other sources.
    pub fn version(&self) -> Option<u64> {
        self.version.as_ref().map(Snapshot::version)
    }

    /// The id of the Delta table that is read; `None` of other sources.
    pub fn table_id(&self) -> Option<&str> {
        self.version.as_ref().map(Snapshot::table_id)
    }

    /// The number of all rows, whether they are read or not, if open metadata contain it.
    pub fn total_rows(&self) -> Option<u64> {
        self.source.info().rows
    }

    /// Opens like [`Self::open`], for rows that are written to a target of this kind: options of the CSV dialect apply
    /// to it, too.
    pub(crate) fn open_for_target(
        location: &str,
        options: &ReadOptions,
        target: Option<PlaceKind>,
        job: &Job,
    ) -> Result<Self> {
        let scope = target.map_or(ScopeCheck::Source, ScopeCheck::SourceOrTarget);
        Self::open_with(location, options, FieldPaths::new(), scope, job)
    }

    /// Opens like [`Self::open`], for one of several sources: [`check_either_scope`] decides whether the options apply.
    ///
    /// [`check_either_scope`]: crate::option_scope::check_either_scope
    pub(crate) fn open_unchecked(location: &str, options: &ReadOptions, job: &Job) -> Result<Self> {
        Self::open_with(location, options, FieldPaths::new(), ScopeCheck::Later, job)
    }

    /// The kind of place that is read.
    pub(crate) fn place_kind(&self) -> PlaceKind {
        PlaceKind::of_source(&self.source.info().format)
    }

    /// Opens like [`Self::open`], for a caller that only uses these fields of some columns: in Parquet, ORC and Delta
    /// the others are not read. Batches of other formats have all fields.
    ///
    /// # Errors
    /// As those of [`Self::open`]. A column with a path that does not exist is read as a whole.
    pub fn open_for_fields(location: &str, options: &ReadOptions, fields: FieldPaths, job: &Job) -> Result<Self> {
        Self::open_with(location, options, fields, ScopeCheck::Source, job)
    }

    fn open_with(
        location: &str,
        options: &ReadOptions,
        fields: FieldPaths,
        scope: ScopeCheck,
        job: &Job,
    ) -> Result<Self> {
        let texts = ScanTexts::parse(location, options)?.for_fields(fields);
        let opened = texts.open(location, options, job)?;
        Self::plan_opened(location, opened, options, texts, scope, job)
    }

    fn plan_opened(
        location: &str,
        opened: OpenedLocation,
        options: &ReadOptions,
        texts: ScanTexts,
        scope: ScopeCheck,
        job: &Job,
    ) -> Result<Self> {
        let OpenedLocation { source, version } = opened;
        let (kind, place) = (PlaceKind::of_source(&source.info().format), database::shown(location));
        match scope {
            ScopeCheck::Source => check_read_scope(options, kind, None, &place)?,
            ScopeCheck::SourceOrTarget(target) => check_read_scope(options, kind, Some(target), &place)?,
            ScopeCheck::Later => {}
        }
        let batch_rows = options.batch_rows.map(|rows| rows.min(SOURCE_BATCH_ROWS));
        let planned = texts.plan(source.as_ref(), options, batch_rows);
        let (source, planned) = match planned {
            // The column may be in a file that its partition has excluded.
            Err(error) if error.kind() == ErrorKind::NotFound && texts.filter.is_some() => {
                let whole = dataset::open_whole(location, options, job)?.source;
                let planned = texts.plan(whole.as_ref(), options, batch_rows);
                (whole, planned)
            }
            planned => (source, planned),
        };
        let failed = |error| with_column_advice(error, options.columns.as_deref(), &source.schema()).or_at(&place);
        let mut steps = planned.map_err(failed)?;
        steps.plan.request.batch_rows = options.batch_rows;
        plan_log::log(&database::shown(location), &steps.plan, options, &source.schema());
        Ok(Self::of_steps(OpenedLocation { source, version }, steps, options, job))
    }

    fn of_steps(opened: OpenedLocation, steps: PlannedSteps, options: &ReadOptions, job: &Job) -> Self {
        let OpenedLocation { source, version } = opened;
        let PlannedSteps { plan, order, projection, nested } = steps;
        let filter = options.filter.clone();
        Self { source, plan, order, projection, nested, version, filter, only_counts: false, job: job.clone() }
    }

    /// Opens a database with types that are known before.
    pub(crate) fn open_known(
        system: &'static DatabaseSystem,
        location: &str,
        known: &KnownTypes,
        options: &ReadOptions,
        job: &Job,
    ) -> Result<Self> {
        let source = database::open_known(system, location, known, job)?;
        let options = &ReadOptions { limit: None, order_by: None, ..options.clone() };
        let texts = ScanTexts::parse(location, options)?;
        let steps = texts.plan(source.as_ref(), options, None)?;
        Ok(Self::of_steps(OpenedLocation { source, version: None }, steps, options, job))
    }

    /// Opens a location for a plan that was made elsewhere, such as a part of [`ReadPlan::split`].
    pub fn with_plan(location: &str, options: &ReadOptions, plan: ReadPlan, job: &Job) -> Result<Self> {
        // The plan is of one version, even if the table has a later one by now.
        let at = plan.request.version.map(|version| version.to_string()).or_else(|| options.at.clone());
        let options = &ReadOptions { at, order_by: None, ..options.clone() };
        let part = (plan.request.columns.as_deref(), plan.request.filter.as_ref());
        let opened = dataset::open(location, options, part, job)?;
        let opened = match has_columns(&opened.source.schema(), &plan) {
            true => opened,
            // They are in files that their partition has excluded.
            false => dataset::open_whole(location, options, job)?,
        };
        let steps = PlannedSteps::from_plan(location, plan, opened.source.as_ref(), options)?;
        Ok(Self::of_steps(opened, steps, options, job))
    }

    /// The schema of the batches.
    pub fn schema(&self) -> SchemaRef {
        match &self.nested {
            Some(nested) => Arc::clone(nested.schema()),
            None => self.inner_schema(),
        }
    }

    /// The schema of the batches before their nesting is changed.
    fn inner_schema(&self) -> SchemaRef {
        match &self.projection {
            Some(projection) => Arc::clone(projection.schema()),
            None => Arc::clone(self.order.as_ref().map_or(&self.plan.schema, ScanOrder::schema)),
        }
    }

    /// The plan of reading. It has the columns of the source that computed ones need; of rows that are sorted, it has those
    /// that the order needs, and no limit.
    pub fn plan(&self) -> &ReadPlan {
        &self.plan
    }

    /// Splits the plan, as [`ReadPlan::split`] does.
    ///
    /// # Errors
    /// `Usage` for rows that are sorted.
    pub fn split(&self, n: usize) -> Result<Vec<ReadPlan>> {
        match &self.order {
            None => Ok(self.plan.split(n)),
            Some(_) => Err(Error::usage(format!("{ORDER_BY}: rows are sorted as a whole, and not in parts"))
                .advice(format!("omit {ORDER_BY}, and sort what the parts give"))),
        }
    }

    /// The order of the rows as it was written; `None`: that of the source.
    pub(crate) fn order_text(&self) -> Option<&str> {
        self.order.as_ref().map(ScanOrder::text)
    }

    /// The columns as they were written, if some of them are computed.
    pub(crate) fn computed_items(&self) -> Option<&[ColumnItem]> {
        self.projection.as_ref().map(ColumnProjection::items)
    }

    /// The change of the columns' nesting, if there is one.
    pub(crate) fn nested(&self) -> Option<&NestedProjection> {
        self.nested.as_ref()
    }

    /// The most rows that the scan returns.
    pub(crate) fn limit(&self) -> Option<u64> {
        self.order.as_ref().map_or(self.plan.request.limit, ScanOrder::limit)
    }

    /// The schema of a Delta table from its log: JSON in which fields have metadata, such as comments.
    pub fn table_schema_text(&self) -> Option<&str> {
        self.version.as_ref().map(Snapshot::schema_text)
    }

    /// The plan in words, and its price under other settings. Sends no request.
    pub fn explain(&self) -> Explain {
        self.explain_plan(self.plan.clone())
    }

    /// Describes the plan of [`Self::count`].
    pub fn explain_count(&self) -> Explain {
        if self.only_counts {
            return self.explain();
        }
        let counted = self.count_plan();
        // The parts of this plan have the bytes of all columns. The count itself reports errors.
        let planned = self.source.plan(&counted.request).unwrap_or(counted);
        self.explain_plan(self.with_requests(planned))
    }

    fn explain_plan(&self, mut plan: ReadPlan) -> Explain {
        let wanted = if self.only_counts { None } else { self.source.wanted(&plan).unwrap_or_default() };
        plan.request.limit = self.limit();
        let explain = Explain::new(plan, self.filter.clone(), wanted, &self.job.options().ranges);
        let row_filters = self.filter.as_deref().map(|filter| row_filters(filter, &self.source.schema()));
        let order_by = self.order_text().map(str::to_owned);
        let texts = |items: &[ColumnItem]| items.iter().map(|item| item.text().to_owned()).collect();
        let columns = self.computed_items().map(texts);
        let names = |nested: &NestedProjection| {
            nested.schema().fields().iter().map(|field| field.name().clone()).collect::<Vec<_>>()
        };
        let returned = self.nested.as_ref().map(names);
        Explain { columns, returned, row_filters: row_filters.unwrap_or_default(), order_by, ..explain }
    }

    /// The least and the greatest value of a column, if metadata have them exactly and there is neither a filter nor a
    /// limit.
    pub fn extremes(&self, column: &str) -> Result<Option<Extremes>> {
        if self.plan.request.filter.is_some() || self.limit().is_some() {
            return Ok(None);
        }
        let column = match &self.projection {
            _ if self.nested.as_ref().is_some_and(|nested| !nested.keeps(column)) => None,
            None => Some(column),
            Some(projection) => projection.source_of(column),
        };
        column.map_or(Ok(None), |column| self.source.extremes(column))
    }

    /// The format of the source.
    pub(crate) fn format(&self) -> String {
        self.source.info().format
    }

    /// All columns of the source, whether they are read or not.
    pub(crate) fn source_schema(&self) -> SchemaRef {
        self.source.schema()
    }

    /// The number of rows that the scan will return, if it is known in advance.
    pub(crate) fn known_rows(&self) -> Option<u64> {
        self.rows_within(self.limit())
    }

    /// The number of rows that a read with this limit returns, if it is known in advance.
    fn rows_within(&self, limit: Option<u64>) -> Option<u64> {
        let rows = self.plan.rows_at_most().filter(|_| self.plan.request.filter.is_none());
        rows.map(|rows| rows.min(limit.unwrap_or(u64::MAX)))
    }

    /// Adds the plan's bytes and rows to the meter.
    fn note_plan(&self, plan: &ReadPlan) {
        let requests = &plan.requests;
        let bytes = requests.wanted_bytes + requests.read_through_bytes;
        self.job.meter().plan_read(bytes, self.rows_within(self.plan.request.limit));
    }

    /// Starts reading. May be called again: each call reads again.
    pub fn batches(&self) -> Result<Batches> {
        self.source_batches().map(|batches| self.projected(batches))
    }

    /// Reads like [`Self::batches`]. These columns may have their [`compact_type`](lakerace_format::compact_type), where the
    /// files store them as such.
    pub fn compact_batches(&self, columns: &[String]) -> Result<Batches> {
        let is_changed = self.order.is_some() || self.projection.is_some() || self.nested.is_some();
        if columns.is_empty() || is_changed || self.plan.request.batch_rows.is_some() {
            return self.batches();
        }
        self.note_plan(&self.plan);
        self.source.read_compact(&self.plan, columns)
    }

    /// The rows with the columns of the scan, from those of the source that they need.
    fn projected(&self, batches: Batches) -> Batches {
        let computed = match &self.projection {
            Some(projection) => projection.project(batches),
            None => batches,
        };
        match &self.nested {
            Some(nested) => nested.project(computed),
            None => computed,
        }
    }

    /// Starts reading the columns of the source, in the order of the scan.
    fn source_batches(&self) -> Result<Batches> {
        if let Some(order) = &self.order {
            let sorted = order.sorted(self.unsorted(order)?, &self.job);
            return Ok(match self.plan.request.batch_rows {
                Some(rows) => rebatch(sorted, rows),
                None => sorted,
            });
        }
        self.note_plan(&self.plan);
        let Some(rows) = self.plan.request.batch_rows else { return self.source.read(&self.plan) };
        let request = ReadRequest { batch_rows: Some(rows.min(SOURCE_BATCH_ROWS)), ..self.plan.request.clone() };
        let batches = self.source.read(&ReadPlan { request, ..self.plan.clone() })?;
        Ok(rebatch(batches, rows))
    }

    /// Starts reading what a sort needs first.
    fn unsorted(&self, order: &ScanOrder) -> Result<UnsortedRows> {
        if order.limit() != Some(0)
            && let Some(read) = order.key_read(&self.source, &self.plan)?
        {
            let (bytes, rows) = read.planned();
            self.job.meter().plan_read(bytes, rows);
            let keys = read.keys()?;
            return Ok(UnsortedRows::KeysFirst(Box::new(read), keys));
        }
        self.unordered(order).map(UnsortedRows::All)
    }

    /// Starts reading rows that an order needs.
    fn unordered(&self, order: &ScanOrder) -> Result<Batches> {
        if order.limit() == Some(0) {
            return Ok(Batches::new(Arc::clone(&self.plan.schema), std::iter::empty()));
        }
        self.note_plan(&self.plan);
        self.source.read(&order.plan(&self.plan))
    }

    /// Reads like [`Self::batches`], for a consumer that processes row by row: batches without a set size are small, so
    /// that few decoded rows wait.
    pub fn small_batches(&self) -> Result<Batches> {
        if self.plan.request.batch_rows.is_some() || self.order.is_some() || !self.is_columnar() {
            return self.batches();
        }
        self.note_plan(&self.plan);
        let request = ReadRequest { batch_rows: Some(SMALL_BATCH_ROWS), ..self.plan.request.clone() };
        let batches = self.source.read(&ReadPlan { request, ..self.plan.clone() })?;
        Ok(self.projected(batches))
    }

    /// The rows for an upsert, which may read columns of them ahead where these are stored apart.
    pub fn source_rows(&self) -> Result<SourceRows> {
        let Some(rows) = self.known_rows().filter(|_| self.is_columnar() && self.order.is_none()) else {
            return self.batches().map(SourceRows::from);
        };
        let again = Self {
            source: Arc::clone(&self.source),
            plan: self.plan.clone(),
            order: None,
            projection: self.projection.clone(),
            nested: self.nested.clone(),
            version: None,
            filter: None,
            only_counts: false,
            job: self.job.clone(),
        };
        let read = move |columns: Option<&[String]>| match columns {
            None => again.batches(),
            Some(columns) => again.columns(columns),
        };
        Ok(SourceRows::read_again(self.schema(), rows, self.plan.requests.wanted_bytes, read))
    }

    /// Restricts the rows to some of the columns.
    fn columns(&self, names: &[String]) -> Result<Batches> {
        let Some(nested) = &self.nested else { return self.inner_columns(names) };
        let batches = nested.nesting().batches(self.inner_columns(&nested.sources(names))?)?;
        let at = |name: &String| batches.schema().index_of(name).map_err(Error::unexpected);
        let positions = names.iter().map(at).collect::<Result<Vec<_>>>()?;
        let schema = Arc::new(batches.schema().project(&positions).map_err(Error::unexpected)?);
        let chosen = batches.map(move |batch| batch?.project(&positions).map_err(Error::unexpected));
        Ok(Batches::new(schema, chosen))
    }

    /// Restricts the rows to some of the columns before their nesting is changed.
    fn inner_columns(&self, names: &[String]) -> Result<Batches> {
        if let Some(projection) = &self.projection {
            return self.computed_columns(&projection.restricted(names));
        }
        let at = |name: &String| self.plan.schema.index_of(name).map_err(Error::unexpected);
        let schema = self.plan.schema.project(&names.iter().map(at).collect::<Result<Vec<_>>>()?);
        let schema = schema.map_err(Error::unexpected)?;
        self.source.read(&self.plan_of(Some(names.to_vec()), schema))
    }

    /// Reads fewer computed columns: only those of the source that they need.
    fn computed_columns(&self, requested: &RequestedColumns) -> Result<Batches> {
        let columns = Some(requested.request_columns(self.source.as_ref())?);
        let plan = self.source.plan(&ReadRequest { columns, batch_rows: None, ..self.plan.request.clone() })?;
        let read = plan.request.columns.as_ref();
        let projection = ColumnProjection::new(requested, &self.source.schema(), read, &plan.schema)?;
        Ok(projection.project(self.source.read(&plan)?))
    }

    /// The plan with other columns: its requests are planned again.
    fn plan_of(&self, columns: Option<Vec<String>>, schema: Schema) -> ReadPlan {
        ReadPlan {
            request: ReadRequest { columns, batch_rows: None, ..self.plan.request.clone() },
            schema: Arc::new(schema),
            files: self.plan.files.clone(),
            requests: RequestPlan { requests: Vec::new(), ..self.plan.requests.clone() },
        }
    }

    /// Returns true if columns are stored apart, with statistics by which filtered reads leave out rows.
    pub(crate) fn is_columnar(&self) -> bool {
        PlaceKind::of_source(&self.format()).is_columnar()
    }

    /// Row count and checksum of all rows of the scan.
    pub fn checksum(&self) -> Result<Checksum> {
        let rows = match &self.order {
            // A checksum does not depend on the order.
            Some(order) if order.limit().is_none() => self.projected(order.unsorted(self.unordered(order)?)),
            _ => self.batches()?,
        };
        checksum(rows, &self.job)
    }
}

/// Returns true if a source has the columns of a plan, with their types.
fn has_columns(schema: &SchemaRef, plan: &ReadPlan) -> bool {
    // Without a filter no file was excluded.
    let Some(filter) = &plan.request.filter else { return true };
    let root = |name: &String| name.split('.').next().is_some_and(|root| schema.index_of(root).is_ok());
    let has = |name: &String| schema.index_of(name).is_ok() || root(name);
    // A plan has the fields of structs that are read, or all.
    let asked = requested_schema(schema, &plan.request);
    let is_of = |schema: &Schema, planned: &FieldRef| {
        schema.field_with_name(planned.name()).is_ok_and(|own| own.data_type() == planned.data_type())
    };
    let is_same = |planned: &FieldRef| {
        schema.index_of(planned.name()).is_err()
            || is_of(schema, planned)
            || asked.as_ref().is_ok_and(|asked| is_of(asked, planned))
    };
    plan.request.columns.iter().flatten().all(has)
        && plan.schema.fields().iter().all(is_same)
        && Predicate::bind(filter, schema).is_ok()
}

#[cfg(test)]
mod tests;
