//! JSON lines as a source.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use arrow::datatypes::{Schema, SchemaRef};
use arrow::record_batch::RecordBatch;
use lakerace_exec::OrderedPool;
use lakerace_io::option::{INFER_ROWS, ON_BAD_ROW, SCHEMA};
use lakerace_io::{Error, ErrorKind, Job, Object, PathProfile, RequestPlan, Result, Wanted};

use super::blocks::{LineBlock, LineBlocks};
use super::column::{ColumnOrigin, ExtraFields, ObjectColumns};
use super::layout::JsonLayout;
use super::parse::{LineParser, ParsedRows};
use super::places::{FilePlaces, LineColumns};
use super::sample::{INFER_ROWS as SAMPLE_ROWS, LearntTypes, StatedTypes, learn_schema};
use crate::batch_selection::BatchSelection;
use crate::expr::Expr;
use crate::input::{Constants, InputFile};
use crate::options::{CsvOptions, OnBadRow};
use crate::place_columns::{file_owners, with_place_fields};
use crate::plan::{ReadPlan, ReadRequest};
use crate::predicate::Predicate;
use crate::schema_text::parse_schema;
use crate::sequential_files::{
    SequentialFile, learn_size, planned_files, selected_columns, sequential_info, sequential_plan, wanted_bytes,
};
use crate::source::{Batches, ColumnOwners, Source, SourceInfo};
use crate::text::{BlockReader, pool_options, text_requests, with_damage_hint};

/// Rows in a batch at most, where no other number is given.
const BATCH_ROWS: usize = 65_536;

/// Files of JSON lines, an object a line, read as one table.
///
/// Columns and types that are not given are those of the first 10,000 rows: bool, int64, uint64, decimal(38,0), float64,
/// utf8, lists and structs. Integers next to floats are floats, where that is exact. A field that is missing is null. What
/// the first rows would have typed otherwise is an error after them, with its line and column: another kind of value, a
/// number that the type does not hold exactly, a field that they lack.
pub struct JsonLinesSource {
    objects: Vec<Object>,
    /// The lines' own columns, then those of the files' places.
    schema: SchemaRef,
    /// The origins of the types of the lines' own columns.
    origins: Vec<ColumnOrigin>,
    /// Columns of values of several kinds, by position: an error if they are requested.
    mixed: HashMap<usize, Error>,
    constants: Vec<Option<Arc<Constants>>>,
    layout: JsonLayout,
    /// The number of first rows that have the columns.
    sample_rows: usize,
    on_bad_row: OnBadRow,
    job: Job,
}

impl JsonLinesSource {
    /// Opens files: the start of the first ones is read. They are those of `all`, if it is not empty: files of known
    /// sizes, including those that are not read.
    ///
    /// # Errors
    /// `Invalid` for a line that is not JSON, for values of several kinds in one place, and if there is no row and no
    /// schema is given; `Unsupported` for a given type without values in JSON.
    pub(crate) fn open_files(
        files: Vec<InputFile>,
        all: &[Object],
        options: &CsvOptions,
        layout: JsonLayout,
        job: &Job,
    ) -> Result<Self> {
        files.iter().try_for_each(|file| file.refuse_hidden(layout.format().title))?;
        let (mut objects, constants): (Vec<Object>, Vec<_>) =
            files.into_iter().map(|file| (file.object, file.constants)).unzip();
        if options.infer_rows == Some(0) {
            return Err(Error::usage("types can't be inferred from zero rows")
                .advice(format!("let it read at least one row with {INFER_ROWS}")));
        }
        if options.on_bad_row == OnBadRow::Null {
            return Err(Error::unsupported("a damaged line has no fields to set to null").advice(format!(
                "use {} for {}",
                ON_BAD_ROW.to("skip"),
                layout.format().title
            )));
        }
        if objects.is_empty() {
            return Err(Error::usage("there is no file to read"));
        }
        objects.iter_mut().try_for_each(learn_size)?;
        let given = options.schema.as_deref().map(parse_schema).transpose()?;
        let expected = options.types.as_deref().map(parse_schema).transpose()?;
        let known = StatedTypes::new(given.as_ref(), expected.as_ref());
        let all = if all.is_empty() { &objects } else { all };
        let LearntTypes { schema, origins, mixed, mistyped } =
            learn_schema(all, &known, &constants, layout, options).map_err(|error| with_damage_hint(error, all))?;
        for (name, near) in mistyped {
            let url = all[0].url();
            job.warn(&format!("{url}: {SCHEMA}: the first rows have no column {name:?} (did you mean {near:?}?)"));
        }
        // Types that can't be read are reported before the read.
        ObjectColumns::new(schema.fields(), &origins, "", ExtraFields::Refused)?;
        let fields = with_place_fields(schema.fields().to_vec(), constants.iter().flatten());
        Ok(Self {
            objects,
            schema: Arc::new(Schema::new(fields)),
            origins,
            mixed,
            constants,
            layout,
            sample_rows: options.infer_rows.unwrap_or(SAMPLE_ROWS),
            on_bad_row: options.on_bad_row,
            job: job.clone(),
        })
    }

    /// Checks that lines that are written with these columns can be read with them.
    ///
    /// # Errors
    /// `Unsupported` for a type without values in JSON.
    pub(crate) fn check_schema(schema: &Schema) -> Result<()> {
        let origins = vec![ColumnOrigin::Given; schema.fields().len()];
        ObjectColumns::new(schema.fields(), &origins, "", ExtraFields::Refused).map(drop)
    }

    /// The requested columns, by position.
    fn selected(&self, request: &ReadRequest) -> Result<Vec<usize>> {
        selected_columns(request, &self.schema, &self.objects[0])
    }

    /// The error of a filter that does not fit the columns; of one that names a column without a type it says so.
    fn told_as_mixed(&self, filter: &Expr, error: Error) -> Error {
        let is_named = |column: usize| {
            let others: Vec<usize> = (0..self.schema.fields().len()).filter(|other| *other != column).collect();
            let others = self.schema.project(&others).map_err(Error::unexpected);
            others.and_then(|others| Predicate::bind(filter, &others)).is_err_and(|e| e.kind() == ErrorKind::NotFound)
        };
        match self.mixed.iter().find(|(column, _)| error.kind() != ErrorKind::NotFound && is_named(**column)) {
            Some((_, mixed)) => mixed.clone(),
            None => error,
        }
    }

    /// Fails where one of these columns has no type.
    fn refuse_mixed(&self, mut columns: impl Iterator<Item = usize>) -> Result<()> {
        columns.find_map(|column| self.mixed.get(&column)).map_or(Ok(()), |error| Err(error.clone()))
    }

    fn requests(&self, wanted: &[Wanted]) -> RequestPlan {
        text_requests(wanted, &self.objects[0].store.profile(), &self.job)
    }

    /// Makes the parser of the blocks of a plan's files.
    fn parser(&self, plan: &ReadPlan, planned: &[SequentialFile]) -> Result<LineParser> {
        let selection = BatchSelection::new(plan, &self.schema, self.origins.len(), &self.selected(&plan.request)?)?;
        let own = &selection.own_positions;
        let names = self.schema.fields()[..self.origins.len()].iter().map(|field| field.name().clone());
        Ok(LineParser {
            constants: planned.iter().map(|file| self.constants[file.position].clone()).collect(),
            urls: planned.iter().map(|file| file.object.url()).collect(),
            unit: self.layout.unit(),
            columns: Arc::new(LineColumns {
                schema: Arc::clone(&selection.own),
                origins: own.iter().map(|column| self.origins[*column]).collect(),
            }),
            unread: names.enumerate().filter(|(at, _)| !own.contains(at)).map(|(_, name)| name).collect(),
            others: if plan.request.columns.is_some() { ExtraFields::PassedOver } else { ExtraFields::Refused },
            on_bad_row: self.on_bad_row,
            selection,
        })
    }
}

impl Source for JsonLinesSource {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn info(&self) -> SourceInfo {
        sequential_info(self.layout.format().name, self.objects.iter())
    }

    /// Plans one unit a file: the start of a line can't be known without reading from the front.
    fn plan(&self, request: &ReadRequest) -> Result<ReadPlan> {
        let selected = self.selected(request)?;
        if let Some(filter) = &request.filter {
            let filter = Predicate::bind(filter, &self.schema).map_err(|error| self.told_as_mixed(filter, error))?;
            self.refuse_mixed(filter.columns().iter().copied())?;
        }
        self.refuse_mixed(selected.iter().copied())?;
        request.check_batch_rows()?;
        Ok(ReadPlan {
            request: request.clone(),
            schema: Arc::new(self.schema.project(&selected).map_err(Error::unexpected)?),
            files: self.objects.iter().map(sequential_plan).collect(),
            requests: self.requests(&wanted_bytes(self.objects.iter().map(|object| (object, 0, true)))),
        })
    }

    fn column_owners(&self) -> ColumnOwners {
        file_owners(&self.schema.fields()[..self.origins.len()], self.constants.iter().flatten())
    }

    fn leaves_out_rows(&self) -> bool {
        self.on_bad_row == OnBadRow::Skip
    }

    fn wanted(&self, plan: &ReadPlan) -> Result<Option<(Vec<Wanted>, PathProfile)>> {
        let planned = planned_files(plan, self.objects.iter())?;
        let wanted = wanted_bytes(planned.iter().map(|file| (&file.object, 0, file.is_read)));
        Ok(Some((wanted, self.objects[0].store.profile())))
    }

    fn read(&self, plan: &ReadPlan) -> Result<Batches> {
        let planned = planned_files(plan, self.objects.iter())?;
        let parser = self.parser(plan, &planned)?;
        let urls = Arc::clone(&parser.urls);
        let places = FilePlaces {
            columns: Arc::clone(&parser.columns),
            urls: Arc::clone(&urls),
            constants: parser.constants.clone(),
            front_rows: self.sample_rows,
        };
        // A part of a split plan has no requests: they are planned here.
        let own_requests = plan
            .requests
            .requests
            .is_empty()
            .then(|| self.requests(&wanted_bytes(planned.iter().map(|file| (&file.object, 0, file.is_read)))));
        let requests = own_requests.as_ref().unwrap_or(&plan.requests);
        let (objects, is_read) = planned.into_iter().map(|file| (file.object, file.is_read)).unzip();
        let input = BlockReader::start(objects, is_read, requests, self.layout.form(), &self.job)?;
        let work = move |block: LineBlock| parser.parse(&block);
        let rows = JsonBatches {
            blocks: OrderedPool::start(
                pool_options("lakerace-jsonl", &self.job),
                &self.job,
                LineBlocks::new(input, urls, places),
                work,
            ),
            pending: VecDeque::new(),
            error: None,
            rows_left: plan.request.limit.unwrap_or(u64::MAX),
            batch_rows: plan.request.batch_rows.unwrap_or(BATCH_ROWS).max(1),
            is_done: false,
            job: self.job.clone(),
        };
        let objects = self.objects.clone();
        let rows = rows.map(move |batch| batch.map_err(|error| with_damage_hint(error, &objects)));
        Ok(Batches::new(Arc::clone(&plan.schema), rows))
    }
}

/// Batches of all blocks, cut to a number of rows and to a limit.
struct JsonBatches {
    blocks: OrderedPool<LineBlock, ParsedRows, Error>,
    pending: VecDeque<RecordBatch>,
    /// The error that ends the read, once the pending batches are taken.
    error: Option<Error>,
    rows_left: u64,
    batch_rows: usize,
    is_done: bool,
    job: Job,
}

impl JsonBatches {
    fn accept(&mut self, parsed: ParsedRows) {
        self.job.meter().bad_rows(parsed.bad_rows);
        let rows = (parsed.batch.num_rows() as u64).min(self.rows_left);
        self.rows_left -= rows;
        let rows = rows as usize;
        for from in (0..rows).step_by(self.batch_rows) {
            self.pending.push_back(parsed.batch.slice(from, self.batch_rows.min(rows - from)));
        }
        self.is_done = self.rows_left == 0 || parsed.error.is_some();
        // An error after the limit is not reported.
        self.error = parsed.error.filter(|_| self.rows_left > 0);
    }
}

impl Iterator for JsonBatches {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(batch) = self.pending.pop_front() {
                self.job.meter().read_rows(batch.num_rows() as u64);
                return Some(Ok(batch));
            }
            if self.is_done || self.rows_left == 0 {
                return self.error.take().map(Err);
            }
            match self.blocks.take() {
                Ok(Some(parsed)) => self.accept(parsed),
                Ok(None) => self.is_done = true,
                Err(error) => (self.is_done, self.error) = (true, Some(error)),
            }
        }
    }
}
