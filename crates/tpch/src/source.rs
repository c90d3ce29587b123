//! A generated table as a source.

use std::ops::Range;
use std::sync::Arc;

use arrow::array::{BooleanArray, RecordBatch, RecordBatchOptions};
use arrow::compute::filter_record_batch;
use arrow::datatypes::{SchemaRef, i256};
use lakerace_exec::{OrderedPool, PoolOptions};
use lakerace_format::predicate::{Bounds, ColumnRef, ColumnStatistics, Value};
use lakerace_format::suggestions::column_not_found;
use lakerace_format::{Batches, FilePlan, Predicate, ReadPlan, ReadRequest, Source, SourceInfo, UnitPlan};
use lakerace_io::{Error, Job, RequestPlan, Result};

use crate::baseline;
use crate::columns::{TablePiece, count_lines};
use crate::mode::Mode;
use crate::refresh::order_key;
use crate::spec::{FORMAT, Spec};
use crate::table::Table;

/// Rows in a batch, where no other number is given.
const BATCH_ROWS: usize = 65_536;
/// The approximate number of rows in a unit of a plan.
const UNIT_ROWS: u64 = 262_144;
/// Units of a plan at most.
const UNITS: u64 = 4096;
/// The most orders whose lines are counted to plan a read: the sum of this many random numbers takes a tenth of a
/// second.
const COUNTED_ORDERS: u64 = 20_000_000;

/// Batches that may be under way or wait to be taken, for each thread.
const WINDOW_OF_EACH: usize = 2;

/// The entities of batches, in order.
type Ranges = Box<dyn Iterator<Item = Range<u64>> + Send>;

/// A table of TPC-H, generated while it is read, on the job's threads.
pub struct TpchSource {
    spec: Spec,
    schema: SchemaRef,
    job: Job,
}

impl TpchSource {
    /// A table.
    pub fn new(spec: Spec, job: &Job) -> Self {
        Self { schema: spec.table.schema(spec.mode, spec.whole_quantities), spec, job: job.clone() }
    }

    /// The table that it generates.
    pub fn spec(&self) -> Spec {
        self.spec
    }

    /// The number of its rows, where it was worth while to count them.
    pub fn rows(&self) -> Option<u64> {
        self.counts_rows().then(|| self.rows_of(self.entities()))
    }

    /// The entities that its rows are made from.
    fn entities(&self) -> Range<u64> {
        self.spec.entities()
    }

    /// Entities of a unit.
    fn unit_entities(&self) -> u64 {
        let entities = self.entities();
        (UNIT_ROWS / self.spec.table.rows_per_entity()).max((entities.end - entities.start).div_ceil(UNITS))
    }

    /// The entities of a unit.
    fn unit(&self, index: u64) -> Range<u64> {
        let (all, each) = (self.entities(), self.unit_entities());
        let start = all.start.saturating_add(index.saturating_mul(each)).min(all.end);
        start..start.saturating_add(each).min(all.end)
    }

    /// The rows that some entities have.
    fn rows_of(&self, entities: Range<u64>) -> u64 {
        match self.spec.table {
            Table::LineItem => count_lines(entities),
            table => (entities.end - entities.start) * table.rows_per_entity(),
        }
    }

    fn counts_rows(&self) -> bool {
        let entities = self.entities();
        self.spec.table != Table::LineItem || entities.end - entities.start <= COUNTED_ORDERS
    }

    fn index_of(&self, name: &str) -> Result<usize> {
        let names = self.schema.fields().iter().map(|field| field.name().as_str());
        self.schema.index_of(name).map_err(|_| column_not_found(name, names).at(self.spec))
    }

    fn selected(&self, request: &ReadRequest) -> Result<Vec<usize>> {
        match &request.columns {
            None => Ok((0..self.schema.fields().len()).collect()),
            Some(names) => names.iter().map(|name| self.index_of(name)).collect(),
        }
    }

    fn units(&self, request: &ReadRequest, predicate: Option<&Predicate>) -> Vec<UnitPlan> {
        let all = self.entities();
        let count = (all.end - all.start).div_ceil(self.unit_entities());
        let mut left = request.limit.unwrap_or(u64::MAX);
        let counts = self.counts_rows();
        let unit = |index| {
            let entities = self.unit(index);
            let mut unit = UnitPlan { index: index as usize, ..UnitPlan::default() };
            if left == 0 {
                unit.pruned = Some("limit: enough rows before it".to_owned());
                return unit;
            }
            let keys = UnitKeys { spec: self.spec, entities: entities.clone() };
            unit.pruned = predicate.and_then(|predicate| predicate.can_match(&keys).err());
            if unit.pruned.is_none() && (counts || request.limit.is_some()) {
                unit.rows = Some(self.rows_of(entities));
            }
            if predicate.is_none() {
                left -= left.min(unit.rows.unwrap_or(0));
            }
            unit
        };
        (0..count).map(unit).collect()
    }
}

impl Source for TpchSource {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn info(&self) -> SourceInfo {
        let entities = self.entities();
        let units = (entities.end - entities.start).div_ceil(self.unit_entities());
        SourceInfo { format: FORMAT.to_owned(), rows: self.rows(), files: 0, bytes: 0, units: Some(units) }
    }

    fn plan(&self, request: &ReadRequest) -> Result<ReadPlan> {
        let selected = self.selected(request)?;
        let predicate = request.filter.as_ref().map(|filter| Predicate::bind(filter, &self.schema)).transpose()?;
        request.check_batch_rows()?;
        let units = self.units(request, predicate.as_ref());
        let file = FilePlan { url: self.spec.to_string(), size_bytes: 0, e_tag: None, units };
        let schema = Arc::new(self.schema.project(&selected).map_err(Error::unexpected)?);
        Ok(ReadPlan { request: request.clone(), schema, files: vec![file], requests: RequestPlan::none() })
    }

    fn read(&self, plan: &ReadPlan) -> Result<Batches> {
        let batch_rows = plan.request.batch_rows.unwrap_or(BATCH_ROWS).clamp(1, BATCH_ROWS);
        let selected = self.selected(&plan.request)?;
        let filter = plan.request.filter.as_ref().map(|filter| Predicate::bind(filter, &self.schema)).transpose()?;
        let maker = BatchMaker::new(self, selected, filter, Arc::clone(&plan.schema))?;
        let ranges = self.ranges(plan, batch_rows)?;
        let threads = self.job.options().threads.max(1);
        let options =
            PoolOptions { thread_name: "lakerace-tpch", threads, window: WINDOW_OF_EACH * threads, joins: true };
        let pieces = OrderedPool::start(options, &self.job, ranges.map(Ok), move |entities| maker.batch(entities));
        let rows = PieceBatches {
            pieces: Some(pieces),
            waiting: None,
            batch_rows,
            left: plan.request.limit.unwrap_or(u64::MAX),
            job: self.job.clone(),
        };
        Ok(Batches::new(Arc::clone(&plan.schema), rows))
    }
}

impl TpchSource {
    /// The entities of batches, in order.
    fn ranges(&self, plan: &ReadPlan, batch_rows: usize) -> Result<Ranges> {
        let name = self.spec.to_string();
        if plan.files.iter().any(|file| file.url != name) {
            return Err(Error::usage("the plan is for another table").at(name).advice("plan the scan again"));
        }
        let each = (batch_rows as u64 / self.spec.table.rows_per_entity()).max(1);
        let units = plan.files.iter().flat_map(|file| &file.units).filter(|unit| unit.pruned.is_none());
        let units: Vec<Range<u64>> = units.map(|unit| self.unit(unit.index as u64)).collect();
        let batches = units.into_iter().flat_map(move |unit| {
            let count = (unit.end - unit.start).div_ceil(each);
            (0..count).map(move |i| unit.start + i * each..(unit.start + (i + 1) * each).min(unit.end))
        });
        Ok(Box::new(batches))
    }
}

/// Makes batches as a plan wants them.
struct BatchMaker {
    spec: Spec,
    schema: SchemaRef,
    selected: Vec<usize>,
    filter: Option<Predicate>,
    /// The schema of the columns that the filter needs.
    filter_schema: SchemaRef,
    planned: SchemaRef,
}

impl BatchMaker {
    fn new(source: &TpchSource, selected: Vec<usize>, filter: Option<Predicate>, planned: SchemaRef) -> Result<Self> {
        let filter_columns = filter.as_ref().map_or(&[][..], Predicate::columns);
        let filter_schema = Arc::new(source.schema.project(filter_columns).map_err(Error::unexpected)?);
        let schema = Arc::clone(&source.schema);
        Ok(Self { spec: source.spec, schema, selected, filter, filter_schema, planned })
    }

    fn batch(&self, entities: Range<u64>) -> Result<RecordBatch> {
        let spec = self.spec;
        let piece = TablePiece {
            table: spec.table,
            scale: spec.scale,
            entities,
            mode: spec.mode,
            whole_quantities: spec.whole_quantities,
        };
        if spec.mode == Mode::Baseline {
            let batch = baseline::batch(&piece, &self.schema)?;
            let keep = self.filter.as_ref().map(|filter| filter.evaluate(&batch)).transpose()?;
            let batch = batch.project(&self.selected).map_err(Error::unexpected)?;
            return self.keep(batch, keep);
        }
        let keep = match &self.filter {
            None => None,
            Some(filter) => {
                let batch = batch_of(&piece, filter.columns(), &self.filter_schema)?;
                let keep = filter.evaluate(&batch)?;
                if keep.true_count() == 0 {
                    return Ok(RecordBatch::new_empty(Arc::clone(&self.planned)));
                }
                Some(keep)
            }
        };
        self.keep(batch_of(&piece, &self.selected, &self.planned)?, keep)
    }

    fn keep(&self, batch: RecordBatch, keep: Option<BooleanArray>) -> Result<RecordBatch> {
        match keep {
            Some(keep) if keep.true_count() < keep.len() => {
                filter_record_batch(&batch, &keep).map_err(Error::unexpected)
            }
            _ => Ok(batch),
        }
    }
}

fn batch_of(piece: &TablePiece, columns: &[usize], schema: &SchemaRef) -> Result<RecordBatch> {
    let (columns, rows) = piece.columns(columns)?;
    let options = RecordBatchOptions::new().with_row_count(Some(rows));
    RecordBatch::try_new_with_options(Arc::clone(schema), columns, &options).map_err(Error::unexpected)
}

/// Pieces as batches of the size that is wanted, up to a limit.
struct PieceBatches {
    /// `None` once all is read.
    pieces: Option<OrderedPool<Range<u64>, RecordBatch, Error>>,
    waiting: Option<RecordBatch>,
    batch_rows: usize,
    left: u64,
    job: Job,
}

impl Iterator for PieceBatches {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.left == 0 {
            // Its threads end.
            self.pieces = None;
            return None;
        }
        let batch = match self.next_piece()? {
            Ok(batch) => batch,
            Err(error) => return Some(Err(error)),
        };
        let rows = batch.num_rows().min(self.batch_rows).min(usize::try_from(self.left).unwrap_or(usize::MAX));
        if rows < batch.num_rows() {
            self.waiting = Some(batch.slice(rows, batch.num_rows() - rows));
        }
        self.left -= rows as u64;
        self.job.meter().read_rows(rows as u64);
        Some(Ok(if rows < batch.num_rows() { batch.slice(0, rows) } else { batch }))
    }
}

impl PieceBatches {
    /// The next rows, some at least.
    fn next_piece(&mut self) -> Option<Result<RecordBatch>> {
        if let Some(batch) = self.waiting.take() {
            return Some(Ok(batch));
        }
        loop {
            if let Err(error) = self.job.check() {
                return Some(Err(error));
            }
            match self.pieces.as_mut()?.take().transpose()? {
                Ok(batch) if batch.num_rows() == 0 => {}
                other => return Some(other),
            }
        }
    }
}

/// The known keys of a unit: they grow with the entities.
struct UnitKeys {
    spec: Spec,
    entities: Range<u64>,
}

impl ColumnStatistics for UnitKeys {
    fn row_count(&self) -> Option<u64> {
        None
    }

    fn bounds(&self, column: &ColumnRef) -> Bounds {
        let key = |entity: u64| match self.spec.table {
            Table::Nation | Table::Region => entity as i64,
            Table::Orders | Table::LineItem => order_key(self.spec.scale, entity),
            _ => entity as i64 + 1,
        };
        let null_count = Some(0);
        if column.path.first().map(String::as_str) != self.spec.table.key().first().copied() {
            return Bounds { null_count, ..Bounds::default() };
        }
        let value = |key: i64| Value::Integer(i256::from_i128(key.into()));
        let (first, last) = (key(self.entities.start), key(self.entities.end.saturating_sub(1)));
        Bounds { min: Some(value(first)), max: Some(value(last)), null_count }
    }

    fn label(&self) -> &str {
        "keys"
    }
}
