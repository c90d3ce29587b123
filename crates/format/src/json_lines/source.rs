//! JSON lines as a source.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use arrow::datatypes::{Schema, SchemaRef};
use arrow::record_batch::RecordBatch;
use lakerace_exec::OrderedPool;
use lakerace_io::option::{INFER_ROWS, ON_BAD_ROW};
use lakerace_io::{Error, ErrorKind, Job, Object, PathProfile, RequestPlan, Result, Wanted};

use super::blocks::{LineBlock, LineBlocks};
use super::column::{ColumnOrigin, ExtraFields, ObjectColumns};
use super::layout::JsonLayout;
use super::parse::{LineParser, ParsedRows, constants_of};
use super::places::{FilePlaces, LineColumns};
use super::sample::{INFER_ROWS as SAMPLE_ROWS, LearntTypes, StatedTypes, learn_schema};
use crate::files::columns_of_place;
use crate::schema_text::parse_schema;
use crate::suggestions::column_not_found;
use crate::text::{BlockReader, pool_options, text_requests};
use crate::{
    Batches, ColumnOwners, Constants, CsvOptions, Expr, FieldPositions, FilePlan, InputFile, OnBadRow, Predicate,
    ReadPlan, ReadRequest, Source, SourceInfo, UnitPlan,
};

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
        for object in &mut objects {
            if object.size_bytes.is_none() {
                let tail = object.read_tail(1)?;
                object.size_bytes = Some(tail.size_bytes);
                object.e_tag = object.e_tag.take().or(tail.e_tag);
            }
        }
        let given = options.schema.as_deref().map(parse_schema).transpose()?;
        let expected = options.types.as_deref().map(parse_schema).transpose()?;
        let known = StatedTypes::new(given.as_ref(), expected.as_ref());
        let all = if all.is_empty() { &objects } else { all };
        let LearntTypes { schema, origins, mixed } = learn_schema(all, &known, &constants, layout, options)?;
        // Types that can't be read are reported before the read.
        ObjectColumns::new(schema.fields(), &origins, "", ExtraFields::Refused)?;
        let schema = Arc::new(with_constants(&schema, &constants));
        Ok(Self {
            objects,
            schema,
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
        let Some(names) = &request.columns else { return Ok((0..self.schema.fields().len()).collect()) };
        let known = || self.schema.fields().iter().map(|field| field.name().as_str());
        let not_found = |name: &String| column_not_found(name, known()).at(self.objects[0].url());
        let positions = FieldPositions::new(self.schema.fields());
        names.iter().map(|name| positions.of_name(name).ok_or_else(|| not_found(name))).collect()
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

    /// The files of a plan, with their properties when it was made, and for each a flag that says if it is read.
    fn planned_objects(&self, plan: &ReadPlan) -> Result<(Vec<Object>, Vec<bool>)> {
        let by_url: HashMap<String, &Object> = self.objects.iter().map(|object| (object.url(), object)).collect();
        let planned = plan.files.iter().map(|file| {
            let missing =
                || Error::usage("the plan refers to a file that does not belong to this source").at(&file.url);
            let object = (*by_url.get(&file.url).ok_or_else(missing)?).clone();
            let is_read = file.units.iter().any(|unit| unit.pruned.is_none());
            Ok((Object { size_bytes: Some(file.size_bytes), e_tag: file.e_tag.clone(), ..object }, is_read))
        });
        Ok(planned.collect::<Result<Vec<_>>>()?.into_iter().unzip())
    }

    fn requests(&self, wanted: &[Wanted]) -> RequestPlan {
        text_requests(wanted, &self.objects[0].store.profile(), &self.job)
    }

    fn project(&self, columns: &[usize]) -> Result<SchemaRef> {
        self.schema.project(columns).map(Arc::new).map_err(Error::unexpected)
    }

    /// Makes the parser of the blocks of a plan's files.
    fn parser(&self, plan: &ReadPlan, urls: Arc<[String]>) -> Result<LineParser> {
        let selected = self.selected(&plan.request)?;
        let filter = plan.request.filter.as_ref().map(|f| Predicate::bind(f, &self.schema)).transpose()?;
        let mut read: Vec<usize> = selected.clone();
        read.extend(filter.iter().flat_map(|filter| filter.columns().iter().copied()));
        read.sort_unstable();
        read.dedup();
        // The constants are the last ones.
        let own = read.partition_point(|column| *column < self.origins.len());
        let names = self.schema.fields()[..self.origins.len()].iter().map(|field| field.name().clone());
        let files = self.objects.iter().zip(&self.constants);
        let constants = files.filter_map(|(object, known)| Some((object.url(), Arc::clone(known.as_ref()?)))).collect();
        let constants = constants_of(&urls, &constants);
        let origins = read[..own].iter().map(|column| self.origins[*column]).collect();
        Ok(LineParser {
            constants,
            urls,
            unit: self.layout.unit(),
            columns: Arc::new(LineColumns { schema: self.project(&read[..own])?, origins }),
            unread: names.enumerate().filter(|(at, _)| !read[..own].contains(at)).map(|(_, name)| name).collect(),
            others: if plan.request.columns.is_some() { ExtraFields::PassedOver } else { ExtraFields::Refused },
            on_bad_row: self.on_bad_row,
            whole_schema: self.project(&read)?,
            filter,
            projection: selected.iter().filter_map(|column| read.binary_search(column).ok()).collect(),
            output: Arc::clone(&plan.schema),
        })
    }
}

impl Source for JsonLinesSource {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn info(&self) -> SourceInfo {
        let bytes = self.objects.iter().filter_map(|object| object.size_bytes).sum();
        let files = self.objects.len() as u64;
        SourceInfo { format: self.layout.format().name.to_owned(), rows: None, files, bytes, units: Some(files) }
    }

    /// Plans one unit a file: the start of a line can't be known without reading from the front.
    fn plan(&self, request: &ReadRequest) -> Result<ReadPlan> {
        let selected = self.selected(request)?;
        if let Some(filter) = &request.filter {
            let filter = Predicate::bind(filter, &self.schema).map_err(|error| self.told_as_mixed(filter, error))?;
            self.refuse_mixed(filter.columns().iter().copied())?;
        }
        self.refuse_mixed(selected.iter().copied())?;
        if request.batch_rows == Some(0) {
            return Err(Error::usage("a batch needs at least one row"));
        }
        let file = |object: &Object| {
            let size_bytes = object.size_bytes.unwrap_or(0);
            let unit = UnitPlan { wanted_bytes: size_bytes, ..UnitPlan::default() };
            FilePlan { url: object.url(), size_bytes, e_tag: object.e_tag.clone(), units: vec![unit] }
        };
        let files: Vec<FilePlan> = self.objects.iter().map(file).collect();
        let requests = self.requests(&wanted_of(&self.objects, &vec![true; files.len()]));
        Ok(ReadPlan { request: request.clone(), schema: self.project(&selected)?, files, requests })
    }

    fn column_owners(&self) -> ColumnOwners {
        let own = &self.schema.fields()[..self.origins.len()];
        let files = self.constants.iter().flatten().flat_map(|constants| columns_of_place(own, constants)).collect();
        ColumnOwners { files, ..ColumnOwners::default() }
    }

    fn leaves_out_rows(&self) -> bool {
        self.on_bad_row == OnBadRow::Skip
    }

    fn wanted(&self, plan: &ReadPlan) -> Result<Option<(Vec<Wanted>, PathProfile)>> {
        let (objects, is_read) = self.planned_objects(plan)?;
        Ok(Some((wanted_of(&objects, &is_read), self.objects[0].store.profile())))
    }

    fn read(&self, plan: &ReadPlan) -> Result<Batches> {
        let (objects, is_read) = self.planned_objects(plan)?;
        let urls: Arc<[String]> = objects.iter().map(Object::url).collect();
        let parser = self.parser(plan, Arc::clone(&urls))?;
        let places = FilePlaces {
            columns: Arc::clone(&parser.columns),
            urls: Arc::clone(&urls),
            constants: parser.constants.clone(),
            front_rows: self.sample_rows,
        };
        // A part of a split plan has no requests: they are planned here.
        let planned = plan.requests.requests.is_empty().then(|| self.requests(&wanted_of(&objects, &is_read)));
        let input = BlockReader::start(
            objects,
            is_read,
            planned.as_ref().unwrap_or(&plan.requests),
            self.layout.form(),
            &self.job,
        )?;
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
        Ok(Batches::new(Arc::clone(&plan.schema), rows))
    }
}

/// The whole files that are read.
fn wanted_of(objects: &[Object], is_read: &[bool]) -> Vec<Wanted> {
    let files = objects.iter().zip(is_read).enumerate().filter(|(_, (_, is_read))| **is_read);
    let whole = files.map(|(file, (object, _))| Wanted { file: file as u32, range: 0..object.size_bytes.unwrap_or(0) });
    whole.filter(|wanted| !wanted.range.is_empty()).collect()
}

/// The columns of the files' places after their own.
fn with_constants(schema: &Schema, constants: &[Option<Arc<Constants>>]) -> Schema {
    let mut fields: Vec<_> = schema.fields().iter().cloned().collect();
    for field in constants.iter().flatten().flat_map(|constants| constants.fields()) {
        if !fields.iter().any(|known| known.name() == field.name()) {
            fields.push(Arc::clone(field));
        }
    }
    Schema::new(fields)
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
