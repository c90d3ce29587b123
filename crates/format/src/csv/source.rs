//! CSV and TBL files as a source.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use lakerace_io::option;
use lakerace_io::{Error, Job, Object, PathProfile, RequestPlan, Result, Wanted};

use super::chain::{BlockChain, FileColumns};
use super::column::TypeOrigin;
use super::columns::column_for;
use super::parse::BatchParser;
use super::read::{BlockWork, CsvBatches};
use super::rules::{Dialect, DialectRules};
use super::sample::FileSample;
use super::value_texts::ValueTexts;
use crate::files::columns_of_place;
use crate::schema_text::parse_schema;
use crate::suggestions::column_not_found;
use crate::text::{BlockReader, text_requests};
use crate::{
    Batches, ColumnOwners, Constants, CsvOptions, FieldPositions, FilePlan, InputFile, OnBadRow, Predicate, ReadPlan,
    ReadRequest, Source, SourceInfo, UnitPlan,
};

/// Default number of rows from which types are inferred.
const INFER_ROWS: usize = 10_000;

/// Rows in a batch, where no other number is given.
const BATCH_ROWS: usize = 65_536;

/// CSV or TBL files of the same columns, read as one table.
///
/// The columns, their order and their types are those of the first file (types not given are inferred, see
/// [`crate::csv`]). Files with a header may have their columns in any order; a file that lacks one, or has another, is an
/// error when the read comes to it.
pub struct CsvSource {
    objects: Vec<Object>,
    /// The file whose columns all have.
    first_url: String,
    dialect: Dialect,
    rules: Arc<DialectRules>,
    /// The files' own columns, then those of their places.
    schema: SchemaRef,
    /// The origins of the types of the files' own columns, which come first.
    origins: Vec<TypeOrigin>,
    /// The constants of the files' places, file by file.
    constants: Vec<Option<Arc<Constants>>>,
    on_bad_row: OnBadRow,
    job: Job,
}

impl CsvSource {
    /// Opens files: the start of the first one is read, unless a schema is given and there is no header.
    ///
    /// # Errors
    /// `Invalid` for an empty file, a header that can't be read, text that is not UTF-8; `NotFound` for a column of the
    /// given schema that the header does not have; `Usage` for options that contradict one another.
    pub fn open(objects: Vec<Object>, dialect: Dialect, options: &CsvOptions, job: &Job) -> Result<Self> {
        Self::open_files(objects.into_iter().map(InputFile::from).collect(), &[], dialect, options, job)
    }

    /// Opens like [`Self::open`], for files some of whose columns are constants. The columns and types are those of
    /// `all`, if it is not empty: files of known sizes, including those that are not read.
    pub fn open_files(
        files: Vec<InputFile>,
        all: &[Object],
        dialect: Dialect,
        options: &CsvOptions,
        job: &Job,
    ) -> Result<Self> {
        files.iter().try_for_each(|file| file.refuse_hidden("CSV"))?;
        let (mut objects, constants): (Vec<Object>, Vec<_>) =
            files.into_iter().map(|f| (f.object, f.constants)).unzip();
        let rules = DialectRules::new(dialect, options)?;
        if options.infer_rows == Some(0) {
            return Err(Error::usage("types can't be inferred from zero rows")
                .advice(format!("let it read at least one row with {}", option::INFER_ROWS)));
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
        let all = if all.is_empty() { &objects } else { all };
        let first_url = all[0].url();
        let given = options.schema.as_deref().map(parse_schema).transpose()?;
        let (schema, origins) = match given {
            Some(given) if !rules.header => {
                let origins = vec![TypeOrigin::Given; given.fields().len()];
                (given, origins)
            }
            given => {
                let expected = options.types.as_deref().map(parse_schema).transpose()?;
                let rows = options.infer_rows.unwrap_or(INFER_ROWS);
                let (schema, origins, warning) = learn_schema(all, &rules, given.as_ref(), expected.as_ref(), rows)?;
                if let Some(warning) = warning.filter(|_| options.delimiter.is_none()) {
                    job.warn(&warning);
                }
                (schema, origins)
            }
        };
        check_columns(&schema)?;
        let schema = with_constants(schema, &constants);
        Ok(Self {
            objects,
            first_url,
            dialect,
            rules: Arc::new(rules),
            schema: Arc::new(schema),
            origins,
            constants,
            on_bad_row: options.on_bad_row,
            job: job.clone(),
        })
    }

    /// Checks that files that are written with these columns can be read with them.
    ///
    /// # Errors
    /// `Unsupported` for a type that text can't hold, or a name that a header can't hold.
    pub(crate) fn check_schema(schema: &Schema, dialect: Dialect, options: &CsvOptions) -> Result<()> {
        check_columns(schema)?;
        let is_blank = |field: &&Arc<Field>| field.name().trim().is_empty();
        match schema.fields().iter().find(is_blank) {
            Some(field) if DialectRules::new(dialect, options)?.header => {
                Err(Error::unsupported(format!("the header can't have a column named {:?}", field.name())))
            }
            _ => Ok(()),
        }
    }

    /// The requested columns, by position.
    fn selected(&self, request: &ReadRequest) -> Result<Vec<usize>> {
        match &request.columns {
            None => Ok((0..self.schema.fields().len()).collect()),
            Some(names) => {
                let positions = FieldPositions::new(self.schema.fields());
                let known = || self.schema.fields().iter().map(|field| field.name().as_str());
                let not_found = |name: &String| column_not_found(name, known()).at(self.objects[0].url());
                names.iter().map(|name| positions.of_name(name).ok_or_else(|| not_found(name))).collect()
            }
        }
    }

    /// The files of a plan, with their properties when it was made, and for each a flag that says if it is read.
    fn planned_objects(&self, plan: &ReadPlan) -> Result<(Vec<Object>, Vec<bool>)> {
        let mut objects = Vec::with_capacity(plan.files.len());
        let mut wanted = Vec::with_capacity(plan.files.len());
        let by_url: HashMap<String, &Object> = self.objects.iter().map(|o| (o.url(), o)).collect();
        for file in &plan.files {
            let Some(object) = by_url.get(&file.url) else {
                return Err(Error::usage("the plan refers to a file that does not belong to this source").at(&file.url));
            };
            let mut object = (*object).clone();
            object.size_bytes = Some(file.size_bytes);
            object.e_tag.clone_from(&file.e_tag);
            objects.push(object);
            wanted.push(file.units.iter().any(|u| u.pruned.is_none()));
        }
        Ok((objects, wanted))
    }
}

impl CsvSource {
    fn requests(&self, mut wanted: Vec<Wanted>) -> RequestPlan {
        wanted.retain(|w| !w.range.is_empty());
        text_requests(&wanted, &self.objects[0].store.profile(), &self.job)
    }

    fn constants_by_url(&self) -> HashMap<String, Arc<Constants>> {
        let files = self.objects.iter().zip(&self.constants);
        files.filter_map(|(object, constants)| Some((object.url(), Arc::clone(constants.as_ref()?)))).collect()
    }
}

/// Fails for types that text can't hold.
fn check_columns(schema: &Schema) -> Result<()> {
    schema
        .fields()
        .iter()
        .try_for_each(|field| column_for(field, 0, TypeOrigin::Given, &ValueTexts::default()).map(drop))
}

impl Source for CsvSource {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn info(&self) -> SourceInfo {
        let bytes = self.objects.iter().filter_map(|o| o.size_bytes).sum();
        let files = self.objects.len() as u64;
        SourceInfo { format: self.dialect.name().to_owned(), rows: None, files, bytes, units: Some(files) }
    }

    /// Plans one unit a file: the start of a record can't be known without reading from the front.
    fn plan(&self, request: &ReadRequest) -> Result<ReadPlan> {
        let selected = self.selected(request)?;
        if let Some(filter) = &request.filter {
            Predicate::bind(filter, &self.schema)?;
        }
        if request.batch_rows == Some(0) {
            return Err(Error::usage("a batch needs at least one row"));
        }
        let mut files = Vec::with_capacity(self.objects.len());
        let mut wanted = Vec::with_capacity(self.objects.len());
        for (i, object) in self.objects.iter().enumerate() {
            let size_bytes = object.size_bytes.unwrap_or(0);
            let unit = UnitPlan { wanted_bytes: size_bytes, ..UnitPlan::default() };
            files.push(FilePlan { url: object.url(), size_bytes, e_tag: object.e_tag.clone(), units: vec![unit] });
            wanted.push(Wanted { file: i as u32, range: 0..size_bytes });
        }
        let requests = self.requests(wanted);
        let schema = Arc::new(self.schema.project(&selected).map_err(Error::unexpected)?);
        Ok(ReadPlan { request: request.clone(), schema, files, requests })
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
        let files = objects.iter().zip(is_read).enumerate().filter(|(_, (_, is_read))| *is_read);
        let range = |object: &Object| 0..object.size_bytes.unwrap_or(0);
        let mut wanted: Vec<Wanted> =
            files.map(|(i, (object, _))| Wanted { file: i as u32, range: range(object) }).collect();
        wanted.retain(|w| !w.range.is_empty());
        Ok(Some((wanted, self.objects[0].store.profile())))
    }

    fn read(&self, plan: &ReadPlan) -> Result<Batches> {
        let (objects, wanted_files) = self.planned_objects(plan)?;
        let selected = self.selected(&plan.request)?;
        let filter = plan.request.filter.as_ref().map(|f| Predicate::bind(f, &self.schema)).transpose()?;
        let mut wanted: Vec<usize> = selected.clone();
        wanted.extend(filter.iter().flat_map(|f| f.columns().iter().copied()));
        wanted.sort_unstable();
        wanted.dedup();
        let project = |columns: &[usize]| self.schema.project(columns).map(Arc::new).map_err(Error::unexpected);
        // The constants are the last ones.
        let own = wanted.partition_point(|column| *column < self.origins.len());
        let parser_schema = project(&wanted[..own])?;
        let whole_schema = project(&wanted)?;
        let projection = selected.iter().filter_map(|s| wanted.binary_search(s).ok()).collect();
        let columns = FileColumns {
            first_url: self.first_url.clone(),
            names: self.schema.fields()[..self.origins.len()].iter().map(|f| f.name().clone()).collect(),
            wanted: wanted[..own].to_vec(),
        };
        let urls = objects.iter().map(|o| Arc::from(o.url())).collect();
        // A part of a split plan has no requests: they are planned here.
        let planned = match plan.requests.requests.is_empty() {
            true => self.wanted(plan)?.map(|(wanted, _)| self.requests(wanted)),
            false => None,
        };
        let requests = planned.as_ref().unwrap_or(&plan.requests);
        let input = BlockReader::start(objects, wanted_files, requests, self.rules.form, &self.job)?;
        let chain = BlockChain::new(Arc::clone(&self.rules), Arc::new(columns));
        let work = BlockWork {
            parser: BatchParser {
                rules: Arc::clone(&self.rules),
                schema: parser_schema,
                origins: wanted[..own].iter().map(|column| self.origins[*column]).collect(),
                on_bad_row: self.on_bad_row,
                expected_rows: AtomicUsize::new(0),
            },
            filter,
            projection,
            whole_schema,
            constants: self.constants_by_url(),
            schema: Arc::clone(&plan.schema),
            urls,
            fetcher: input.fetcher(),
            job: self.job.clone(),
        };
        let batch_rows = plan.request.batch_rows.unwrap_or(BATCH_ROWS).max(1);
        let reader = CsvBatches::start(work, input, chain, plan.request.limit, batch_rows);
        Ok(Batches::new(Arc::clone(&plan.schema), reader))
    }
}

/// The columns of the files' places after their own.
fn with_constants(schema: Schema, constants: &[Option<Arc<Constants>>]) -> Schema {
    let mut fields: Vec<_> = schema.fields().iter().cloned().collect();
    for field in constants.iter().flatten().flat_map(|constants| constants.fields()) {
        if !fields.iter().any(|known| known.name() == field.name()) {
            fields.push(Arc::clone(field));
        }
    }
    Schema::new(fields)
}

/// The schema from the start of the first file, the origin of each type, and a warning of text that seems to have another
/// delimiter. Given or expected types come first, and the other columns have inferred ones. If the first file has no row, types
/// are inferred from the first file that has one.
fn learn_schema(
    objects: &[Object],
    rules: &DialectRules,
    given: Option<&Schema>,
    expected: Option<&Schema>,
    rows: usize,
) -> Result<(Schema, Vec<TypeOrigin>, Option<String>)> {
    let first = FileSample::read(&objects[0], rules, rows)?;
    let names = &first.names;
    let mut places: HashMap<&str, usize> = HashMap::with_capacity(names.len());
    for (place, name) in names.iter().enumerate() {
        places.entry(name).or_insert(place);
    }
    if let Some(given) = given {
        for field in given.fields() {
            if !places.contains_key(field.name().as_str()) {
                return Err(column_not_found(field.name(), names.iter().map(String::as_str))
                    .at(format!("{}, header", objects[0].url())));
            }
        }
    }
    let known_schemas: Vec<_> =
        [given, expected].into_iter().flatten().map(|schema| (schema, FieldPositions::new(schema.fields()))).collect();
    let known = |name: &str| {
        known_schemas.iter().find_map(|(schema, positions)| positions.of_name(name).map(|at| schema.field(at)))
    };
    let mut types = vec![DataType::Utf8View; names.len()];
    if !names.iter().all(|n| known(n).is_some()) {
        let (found, mut seen) = first.types(rules, rows);
        types = found;
        for object in objects.iter().skip(1) {
            if seen > 0 {
                break;
            }
            let sample = FileSample::read(object, rules, rows)?;
            let (found, rows_seen) = sample.types(rules, rows);
            seen = rows_seen;
            for (name, data_type) in sample.names.iter().zip(found) {
                if let Some(place) = places.get(name.as_str()) {
                    types[*place] = data_type;
                }
            }
        }
    }
    let fields = names.iter().zip(types).map(|(name, data_type)| match known(name) {
        Some(field) => (field.clone(), TypeOrigin::Given),
        None => (Field::new(name, data_type, true), TypeOrigin::Inferred),
    });
    let (fields, origins): (Vec<Field>, Vec<TypeOrigin>) = fields.unzip();
    Ok((Schema::new(fields), origins, first.other_delimiter(rules)))
}
