//! The order of the rows of a scan: they are sorted after they were read.

mod first_keys;
mod key_read;
mod order_bound;

use std::sync::Arc;

use arrow::array::{BinaryArray, RecordBatch};
use arrow::datatypes::{Field, Schema, SchemaRef};
use lakerace_format::sort::{FirstRows, SortKeys, SortTerm, TopRows};
use lakerace_format::{
    Batches, Expr, ReadPlan, ReadRequest, Source, narrowed_batch, requested_schema, without_dictionaries,
};
use lakerace_io::address_space::memory_within;
use lakerace_io::memory_limit::check_memory;
use lakerace_io::option::ORDER_BY;
use lakerace_io::{Error, Job, Result};

use self::first_keys::FirstKeys;
pub(crate) use self::key_read::KeyRead;
use self::order_bound::OrderBound;
use crate::filter::{RunTime, parse_order};
use crate::option_scope::PlaceKind;
use crate::options::ReadOptions;

/// Bytes of rows that are sorted in memory by default.
const MEMORY_BYTES: u64 = 512 << 20;
/// Rows of a batch that is sorted.
const BATCH_ROWS: usize = 8192;
/// Rows of a batch for each one that is wanted, above which the batch's own first rows are found before all keys are made.
const MOST_ROWS_PER_WANTED_ROW: usize = 4;

/// The order that the options of a read name.
#[derive(Debug, Clone)]
pub(crate) struct RequestedOrder {
    terms: Vec<SortTerm>,
    text: String,
}

impl RequestedOrder {
    /// The order of the options; `None` where they have none.
    pub(crate) fn parse(options: &ReadOptions, time: RunTime) -> Result<Option<Self>> {
        let parse = |text: &String| Ok(Self { terms: parse_order(text, time)?, text: text.clone() });
        options.order_by.as_ref().map(parse).transpose()
    }

    /// The order by other values: those that `replace` returns for its own.
    pub(crate) fn by_other_values(self, replace: impl Fn(&Expr) -> Result<Expr>) -> Result<Self> {
        let other = |term: SortTerm| Ok(SortTerm { value: replace(&term.value)?, ..term });
        Ok(Self { terms: self.terms.into_iter().map(other).collect::<Result<_>>()?, ..self })
    }

    /// The columns of a read, and after them those that only the order needs.
    pub(crate) fn with_own_columns(&self, columns: Option<&[String]>) -> Option<Vec<String>> {
        let mut columns = columns?.to_vec();
        for term in &self.terms {
            term.value.visit_columns(&mut |name| {
                if !columns.iter().any(|known| known == name) {
                    columns.push(name.to_owned());
                }
            });
        }
        Some(columns)
    }

    /// The plan of the rows that are sorted: it has all columns that the order needs, and no limit.
    ///
    /// # Errors
    /// The errors of [`Source::plan`].
    pub(crate) fn plan(&self, source: &dyn Source, request: &ReadRequest) -> Result<ReadPlan> {
        let asked = request.columns.as_deref();
        let columns = match PlaceKind::of_source(&source.info().format).is_columnar() {
            true => self.with_own_columns(asked),
            false => self.with_own_columns(asked).map(|all| with_whole_structs(&source.schema(), asked, &all)),
        };
        // No row at all is the first one of none.
        let limit = request.limit.filter(|limit| *limit == 0);
        source.plan(&ReadRequest { columns, limit, ..request.clone() })
    }
}

/// The columns that a read asks for, and after them the others of `all`, for a source that does not return a field of a
/// struct by itself: the struct in place of the field.
fn with_whole_structs(schema: &Schema, asked: Option<&[String]>, all: &[String]) -> Vec<String> {
    let mut columns = asked.unwrap_or_default().to_vec();
    for name in &all[columns.len()..] {
        let is_column = |name: &str| schema.index_of(name).is_ok();
        let mut structs = name.match_indices('.').map(|(dot, _)| &name[..dot]);
        let column = if is_column(name) { name } else { structs.find(|name| is_column(name)).unwrap_or(name) };
        if !columns.iter().any(|known| known == column) {
            columns.push(column.to_owned());
        }
    }
    columns
}

/// The order of a planned scan.
#[derive(Debug, Clone)]
pub(crate) struct ScanOrder {
    terms: Vec<SortTerm>,
    keys: SortKeys,
    text: String,
    /// The columns of the sorted rows.
    schema: SchemaRef,
    limit: Option<u64>,
    memory_bytes: u64,
}

impl ScanOrder {
    /// The order of the rows of a [`RequestedOrder::plan`] for a request, of a source with this schema.
    ///
    /// # Errors
    /// `NotFound` for a column that does not exist; `Unsupported` for values without an order; `Usage` for a limit of
    /// memory that is too small for the columns of the sorted rows.
    pub(crate) fn new(
        order: &RequestedOrder,
        source: &SchemaRef,
        (asked, plan): (&ReadRequest, &ReadPlan),
        memory_bytes: Option<u64>,
    ) -> Result<Self> {
        let schema = first_columns(source, asked, plan.request.columns.as_ref(), &plan.schema)?;
        let schema = Arc::new(without_dictionaries(&schema));
        if let Some(bytes) = memory_bytes {
            check_memory(bytes, schema.fields().len()).map_err(|error| error.at(ORDER_BY))?;
        }
        Ok(Self {
            terms: order.terms.clone(),
            keys: SortKeys::bind(&order.terms, source)?,
            text: order.text.clone(),
            schema,
            limit: asked.limit,
            memory_bytes: memory_bytes.unwrap_or_else(|| memory_within(MEMORY_BYTES)),
        })
    }

    /// The order as it was written.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// The columns of the sorted rows.
    pub(crate) fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// The most rows that are left.
    pub(crate) fn limit(&self) -> Option<u64> {
        self.limit
    }

    /// The plan of reading rows to be sorted.
    pub(crate) fn plan(&self, plan: &ReadPlan) -> ReadPlan {
        let request = ReadRequest { batch_rows: Some(BATCH_ROWS), ..plan.request.clone() };
        ReadPlan { request, ..plan.clone() }
    }

    /// The rows of these batches as they come, without the columns that only the order needs.
    pub(crate) fn unsorted(&self, batches: Batches) -> Batches {
        let schema = Arc::clone(&self.schema);
        let narrowed = batches.map(move |batch| narrowed_batch(&batch?, &schema));
        Batches::new(Arc::clone(&self.schema), narrowed)
    }

    /// The read of the keys of a plan before its other columns; `None` where the rows are read once.
    ///
    /// # Errors
    /// The errors of [`Source::plan`].
    pub(crate) fn key_read(&self, source: &Arc<dyn Source>, plan: &ReadPlan) -> Result<Option<KeyRead>> {
        let (Some(limit), [SortTerm { value: Expr::Column(_), .. }, ..]) = (self.limit, self.terms.as_slice()) else {
            return Ok(None);
        };
        let mut columns: Vec<String> = Vec::new();
        for term in &self.terms {
            term.value.visit_columns(&mut |name| {
                if !columns.iter().any(|known| known == name) {
                    columns.push(name.to_owned());
                }
            });
        }
        KeyRead::plan(source, self.plan(plan), columns, limit)
    }

    /// The rows in order. The first batch is asked for when all of them are read.
    pub(crate) fn sorted(&self, rows: UnsortedRows, job: &Job) -> Batches {
        let rows = SortingBatches { order: self.clone(), state: SortState::Unsorted(rows), job: job.clone() };
        Batches::new(Arc::clone(&self.schema), rows)
    }

    fn sort(&self, rows: UnsortedRows, job: &Job) -> Result<FirstRows> {
        let batches = match rows {
            UnsortedRows::All(batches) => batches,
            UnsortedRows::KeysFirst(read, keys) => {
                let bound = self.bound_of(keys, job)?;
                read.rows(bound)?
            }
        };
        let mut rows = TopRows::new(&self.schema, self.limit.unwrap_or(u64::MAX), self.memory_bytes);
        self.for_each_part(batches, job, |part, keys| {
            rows.push(&narrowed_batch(part, &self.schema)?, keys)?;
            Ok(rows.bound().map(<[u8]>::to_vec))
        })?;
        rows.finish()
    }

    /// The condition that the first rows meet, by the keys of all rows.
    fn bound_of(&self, keys: Batches, job: &Job) -> Result<Option<Expr>> {
        let limit = self.limit.and_then(|limit| usize::try_from(limit).ok()).unwrap_or(usize::MAX);
        let mut first = FirstKeys::new(limit, self.memory_bytes);
        self.for_each_part(keys, job, |_, keys| {
            first.push(&keys);
            Ok(first.bound().map(<[u8]>::to_vec))
        })
    }

    /// Calls `process` with parts of batches and their keys. It returns the key after which no row is wanted. Rows are left out that
    /// come after it, or after as many rows of their batch as are wanted. Returns the condition on rows that do not come after the
    /// last key.
    fn for_each_part(
        &self,
        batches: Batches,
        job: &Job,
        mut process: impl FnMut(&RecordBatch, BinaryArray) -> Result<Option<Vec<u8>>>,
    ) -> Result<Option<Expr>> {
        let mut bound = OrderBound::default();
        let limit = self.limit.and_then(|limit| usize::try_from(limit).ok()).unwrap_or(usize::MAX).max(1);
        for batch in batches {
            let batch = batch?;
            let mut at = 0;
            while at < batch.num_rows() {
                job.check()?;
                let part = batch.slice(at, BATCH_ROWS.min(batch.num_rows() - at));
                at += part.num_rows();
                let mut part = bound.rows_before(part)?;
                if part.num_rows() / limit > MOST_ROWS_PER_WANTED_ROW {
                    part = self.keys.first_rows(part, limit)?;
                }
                if part.num_rows() == 0 {
                    continue;
                }
                let keys = self.keys.encode(&part)?;
                if let Some(key) = process(&part, keys)? {
                    bound.move_to(&key, &self.terms, &self.keys, &part)?;
                }
            }
        }
        Ok(bound.into_condition())
    }
}

/// The rows that an order is applied to.
pub(crate) enum UnsortedRows {
    /// All of them.
    All(Batches),
    /// Their keys, and the read of the rows that may come first by these.
    KeysFirst(Box<KeyRead>, Batches),
}

/// The columns that a request gets from batches that have others as well, after them: those with the schema `planned` and
/// the columns `read` of a source.
///
/// # Errors
/// `NotFound` for a column that does not exist.
pub(crate) fn first_columns(
    source: &SchemaRef,
    asked: &ReadRequest,
    read: Option<&Vec<String>>,
    planned: &SchemaRef,
) -> Result<SchemaRef> {
    // Notes on all rows, and on their numbers, are not those of other rows or of another order.
    let asked = ReadRequest { limit: Some(u64::MAX), filter: None, ..asked.clone() };
    let wanted = requested_schema(source, &asked)?;
    let widened = requested_schema(source, &ReadRequest { columns: read.cloned(), ..asked })?;
    let (wanted_fields, widened_fields) = (wanted.fields(), widened.fields());
    let field = |(at, planned): (usize, &Arc<Field>)| match (wanted_fields.get(at), widened_fields.get(at)) {
        // The source leaves out fields of structs.
        (Some(wanted), Some(widened)) if widened.data_type() == planned.data_type() => Arc::clone(wanted),
        _ => Arc::clone(planned),
    };
    let fields: Vec<_> = planned.fields().iter().take(wanted_fields.len()).enumerate().map(field).collect();
    let notes = if planned.metadata().is_empty() { planned.metadata() } else { wanted.metadata() };
    Ok(Arc::new(Schema::new_with_metadata(fields, notes.clone())))
}

/// Rows that are sorted when the first ones are asked for.
struct SortingBatches {
    order: ScanOrder,
    state: SortState,
    job: Job,
}

enum SortState {
    Unsorted(UnsortedRows),
    Sorted(FirstRows),
    Ended,
}

impl SortingBatches {
    fn next_batch(&mut self) -> Result<Option<RecordBatch>> {
        let mut rows = match std::mem::replace(&mut self.state, SortState::Ended) {
            SortState::Ended => return Ok(None),
            SortState::Unsorted(_) if self.order.limit == Some(0) => return Ok(None),
            SortState::Unsorted(rows) => self.order.sort(rows, &self.job)?,
            SortState::Sorted(rows) => rows,
        };
        self.job.check()?;
        let Some(batch) = rows.next_batch()? else { return Ok(None) };
        self.state = SortState::Sorted(rows);
        batch.with_schema(Arc::clone(&self.order.schema)).map(Some).map_err(Error::unexpected)
    }
}

impl Iterator for SortingBatches {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        self.next_batch().transpose()
    }
}
