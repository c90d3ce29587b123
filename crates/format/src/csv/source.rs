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
use crate::batch_selection::BatchSelection;
use crate::field_positions::FieldPositions;
use crate::input::{Constants, InputFile};
use crate::options::{CsvOptions, OnBadRow};
use crate::place_columns::{file_owners, with_place_fields};
use crate::plan::{ReadPlan, ReadRequest};
use crate::predicate::Predicate;
use crate::schema_text::parse_schema;
use crate::sequential_files::{
    learn_size, planned_files, selected_columns, sequential_info, sequential_plan, wanted_bytes,
};
use crate::source::{Batches, ColumnOwners, Source, SourceInfo};
use crate::suggestions::column_not_found;
use crate::text::{BlockReader, text_requests, with_damage_hint};

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
        objects.iter_mut().try_for_each(learn_size)?;
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
                let (schema, origins, warning) = learn_schema(all, &rules, given.as_ref(), expected.as_ref(), rows)
                    .map_err(|error| with_damage_hint(error, all))?;
                if let Some(warning) = warning.filter(|_| options.delimiter.is_none()) {
                    job.warn(&warning);
                }
                (schema, origins)
            }
        };
        check_columns(&schema)?;
        let fields = with_place_fields(schema.fields().to_vec(), constants.iter().flatten());
        Ok(Self {
            objects,
            first_url,
            dialect,
            rules: Arc::new(rules),
            schema: Arc::new(Schema::new(fields)),
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
        selected_columns(request, &self.schema, &self.objects[0])
    }

    fn requests(&self, wanted: &[Wanted]) -> RequestPlan {
        text_requests(wanted, &self.objects[0].store.profile(), &self.job)
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
        sequential_info(self.dialect.name(), self.objects.iter())
    }

    /// Plans one unit a file: the start of a record can't be known without reading from the front.
    fn plan(&self, request: &ReadRequest) -> Result<ReadPlan> {
        let selected = self.selected(request)?;
        if let Some(filter) = &request.filter {
            Predicate::bind(filter, &self.schema)?;
        }
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
        let selected = self.selected(&plan.request)?;
        let selection = BatchSelection::new(plan, &self.schema, self.origins.len(), &selected)?;
        let columns = FileColumns {
            first_url: self.first_url.clone(),
            names: self.schema.fields()[..self.origins.len()].iter().map(|f| f.name().clone()).collect(),
            wanted: selection.own_positions.clone(),
        };
        // A part of a split plan has no requests: they are planned here.
        let own_requests = plan
            .requests
            .requests
            .is_empty()
            .then(|| self.requests(&wanted_bytes(planned.iter().map(|file| (&file.object, 0, file.is_read)))));
        let constants = planned
            .iter()
            .filter_map(|file| Some((file.object.url(), Arc::clone(self.constants[file.position].as_ref()?))));
        let constants = constants.collect();
        let urls = planned.iter().map(|file| Arc::from(file.object.url())).collect();
        let (objects, is_read) = planned.into_iter().map(|file| (file.object, file.is_read)).unzip();
        let requests = own_requests.as_ref().unwrap_or(&plan.requests);
        let input = BlockReader::start(objects, is_read, requests, self.rules.form, &self.job)?;
        let chain = BlockChain::new(Arc::clone(&self.rules), Arc::new(columns));
        let work = BlockWork {
            parser: BatchParser {
                rules: Arc::clone(&self.rules),
                schema: Arc::clone(&selection.own),
                origins: selection.own_positions.iter().map(|column| self.origins[*column]).collect(),
                on_bad_row: self.on_bad_row,
                expected_rows: AtomicUsize::new(0),
            },
            selection,
            constants,
            urls,
            fetcher: input.fetcher(),
            job: self.job.clone(),
        };
        let batch_rows = plan.request.batch_rows.unwrap_or(BATCH_ROWS).max(1);
        let reader = CsvBatches::start(work, input, chain, plan.request.limit, batch_rows);
        let objects = self.objects.clone();
        let rows = reader.map(move |batch| batch.map_err(|error| with_damage_hint(error, &objects)));
        Ok(Batches::new(Arc::clone(&plan.schema), rows))
    }
}

/// The error for a column that a header lacks. The first line may be no header at all.
fn unknown_column(name: &str, names: &[String], has_header: bool) -> Error {
    let error = column_not_found(name, names.iter().map(String::as_str));
    match error.advice_text().map(str::to_owned) {
        Some(advice) if has_header => {
            error.advice(format!("{advice}; if the file has no header, use {}", option::NO_HEADER))
        }
        _ => error,
    }
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
                return Err(
                    unknown_column(field.name(), names, rules.header).at(format!("{}, header", objects[0].url()))
                );
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
