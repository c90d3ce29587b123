//! Sheets of workbooks as a source.

mod rows;

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use arrow::datatypes::{Field, Schema, SchemaRef};
use bytes::Bytes;
use lakerace_io::{Error, Job, Object, Result, plan_requests};

use self::rows::{ReadWork, SheetRows};
use super::cell_arrays::BadValues;
use super::column_values::{ColumnToRead, ColumnTypeOrigin, column_array};
use super::sheet::{SheetOptions, SheetTable};
use super::workbook::{OpenWorkbook, column_letters};
use crate::files::columns_of_place;
use crate::schema_text::parse_schema;
use crate::suggestions::column_not_found;
use crate::{
    Batches, ColumnOwners, Constants, FieldPositions, FilePlan, InputFile, OnBadRow, OpenOptions, Predicate, ReadPlan,
    ReadRequest, Source, SourceInfo, UnitPlan,
};

/// Bytes of the request that also learns a file's size: all of most workbooks.
const FIRST_BYTES: u64 = 64 << 20;

/// A column of the files themselves.
#[derive(Debug, Clone)]
pub(super) struct OwnColumn {
    name: String,
    /// A header names it. Otherwise its position in the sheet does.
    is_named: bool,
    position: u32,
    origin: ColumnTypeOrigin,
}

/// Workbooks of the same columns, read as one table: a sheet of each.
///
/// The columns, their order and their types are those of the first file. It stays in memory as long as the source; the
/// others are read one after another. A file that lacks a column, or has another, is an error when the read comes to it.
pub(crate) struct ExcelSource {
    objects: Vec<Object>,
    /// The file whose columns all have.
    first: Arc<SheetTable>,
    first_url: String,
    options: SheetOptions,
    /// The files' own columns, then those of their places.
    schema: SchemaRef,
    own: Vec<OwnColumn>,
    constants: Vec<Option<Arc<Constants>>>,
    on_bad_row: OnBadRow,
    job: Job,
}

impl ExcelSource {
    /// Opens files: the first one is read. The columns are those of the first of `options.all`, if there are any.
    ///
    /// # Errors
    /// `NotFound` for a sheet or a column that does not exist, `Invalid` for an empty sheet, `Corrupt` for a damaged
    /// workbook, `Unsupported` for other kinds of workbooks and those that are too large.
    pub fn open_files(files: Vec<InputFile>, options: &OpenOptions<'_>, job: &Job) -> Result<Self> {
        files.iter().try_for_each(|file| file.refuse_hidden("Excel"))?;
        let (mut objects, constants): (Vec<Object>, Vec<_>) =
            files.into_iter().map(|file| (file.object, file.constants)).unzip();
        let csv = options.csv;
        let sheet_options = SheetOptions::new(csv, options.excel.sheet.as_deref());
        let first = options.all.first().or(objects.first()).cloned();
        let mut first = first.ok_or_else(|| Error::usage("there is no file to read"))?;
        let first_url = first.url();
        let bytes = fetch(&mut first)?;
        for object in objects.iter_mut().filter(|object| object.size_bytes.is_none()) {
            if object.url() == first_url {
                (object.size_bytes, object.e_tag) = (first.size_bytes, first.e_tag.clone());
            } else {
                let tail = object.read_tail(1)?;
                (object.size_bytes, object.e_tag) = (Some(tail.size_bytes), object.e_tag.take().or(tail.e_tag));
            }
        }
        let table = read_table(&bytes, &first_url, &sheet_options, job)?;
        drop(bytes);
        let given = csv.schema.as_deref().map(parse_schema).transpose()?;
        let (fields, own) = match given {
            Some(given) if !sheet_options.has_header => given_columns(&given),
            given => {
                let expected = csv.types.as_deref().map(parse_schema).transpose()?;
                learnt_columns(&table, [given.as_ref(), expected.as_ref()])?
            }
        };
        check_types(&fields, &own).map_err(|error| error.at(&first_url))?;
        warn_of_rounding(&table, &fields, job);
        let schema = Arc::new(with_constants(fields, &constants));
        let source = Self {
            objects,
            first: Arc::new(table),
            first_url,
            options: sheet_options,
            schema,
            own,
            constants,
            on_bad_row: csv.on_bad_row,
            job: job.clone(),
        };
        source.positions(&source.first)?;
        Ok(source)
    }

    /// The requested columns, by position.
    fn selected(&self, request: &ReadRequest) -> Result<Vec<usize>> {
        let Some(names) = &request.columns else { return Ok((0..self.schema.fields().len()).collect()) };
        let known = || self.schema.fields().iter().map(|field| field.name().as_str());
        let not_found = |name: &String| column_not_found(name, known()).at(&self.first_url);
        let positions = FieldPositions::new(self.schema.fields());
        names.iter().map(|name| positions.of_name(name).ok_or_else(|| not_found(name))).collect()
    }

    /// The columns of a sheet that the own columns are; `None` where all cells are empty.
    fn positions(&self, table: &SheetTable) -> Result<Vec<Option<usize>>> {
        positions(&self.own, table, &self.first_url)
    }

    /// The files of a plan that are read, with their properties when it was made.
    fn planned_objects(&self, plan: &ReadPlan) -> Result<VecDeque<Object>> {
        let by_url: HashMap<String, &Object> = self.objects.iter().map(|object| (object.url(), object)).collect();
        let is_read = |file: &&FilePlan| file.units.iter().any(|unit| unit.pruned.is_none());
        let planned = plan.files.iter().filter(is_read).map(|file| {
            let missing =
                || Error::usage("the plan refers to a file that does not belong to this source").at(&file.url);
            let object = (*by_url.get(&file.url).ok_or_else(missing)?).clone();
            let is_same = object.e_tag.is_none() || file.e_tag.is_none() || object.e_tag == file.e_tag;
            if object.size_bytes != Some(file.size_bytes) || !is_same {
                return Err(Error::conflict("the file was replaced after the plan was made")
                    .at(&file.url)
                    .advice("plan the scan again"));
            }
            Ok(object)
        });
        planned.collect()
    }
}

/// Reads the bytes of a workbook, and learns its size: by one request if most workbooks are not larger.
pub(super) fn fetch(object: &mut Object) -> Result<Bytes> {
    let url = object.url();
    if object.size_bytes.is_none() {
        let tail = object.read_tail(FIRST_BYTES).map_err(|error| error.at(&url))?;
        (object.size_bytes, object.e_tag) = (Some(tail.size_bytes), object.e_tag.take().or(tail.e_tag));
        OpenWorkbook::check_size(tail.size_bytes).map_err(|error| error.at(&url))?;
        if tail.bytes.len() as u64 == tail.size_bytes {
            return Ok(tail.bytes);
        }
    }
    let size_bytes = object.size_bytes.unwrap_or(0);
    OpenWorkbook::check_size(size_bytes).map_err(|error| error.at(&url))?;
    object.read_range(0..size_bytes)
}

/// Reads the sheet of a workbook.
pub(super) fn read_table(bytes: &Bytes, url: &str, options: &SheetOptions, job: &Job) -> Result<SheetTable> {
    let mut workbook = OpenWorkbook::open(bytes, url, job)?;
    SheetTable::read(&mut workbook, url, options, job)
}

/// The columns of a sheet without a header whose schema is given: column A is the first one.
fn given_columns(given: &Schema) -> (Vec<Field>, Vec<OwnColumn>) {
    let column = |(position, field): (u32, &Arc<Field>)| {
        let own = OwnColumn { name: field.name().clone(), is_named: false, position, origin: ColumnTypeOrigin::Given };
        (field.as_ref().clone(), own)
    };
    (0..).zip(given.fields()).map(column).unzip()
}

/// The columns of a sheet. Given or expected types come first, and the other columns have inferred ones.
fn learnt_columns(table: &SheetTable, known: [Option<&Schema>; 2]) -> Result<(Vec<Field>, Vec<OwnColumn>)> {
    let names = || table.columns.iter().map(|column| column.name.as_str());
    let [given, _] = known;
    if let Some(given) = given
        && let Some(field) = given.fields().iter().find(|field| names().all(|name| name != field.name()))
    {
        return Err(column_not_found(field.name(), names()).at(format!("{}, header", table.place)));
    }
    let known: Vec<_> =
        known.into_iter().flatten().map(|schema| (schema, FieldPositions::new(schema.fields()))).collect();
    let stated =
        |name: &str| known.iter().find_map(|(schema, positions)| positions.of_name(name).map(|at| schema.field(at)));
    let columns = table.columns.iter().map(|column| {
        let stated = stated(&column.name);
        let field = || Field::new(&column.name, column.kinds.data_type(), true);
        let origin = if stated.is_some() { ColumnTypeOrigin::Given } else { ColumnTypeOrigin::Inferred };
        let own = OwnColumn { name: column.name.clone(), is_named: column.is_named, position: column.position, origin };
        (stated.cloned().unwrap_or_else(field), own)
    });
    Ok(columns.unzip())
}

/// The columns of a sheet that these columns are; `None` where all cells are empty. Named columns may be in any order.
fn positions(own: &[OwnColumn], table: &SheetTable, first_url: &str) -> Result<Vec<Option<usize>>> {
    let is_same = |column: &OwnColumn, other: &super::sheet::SheetColumn| match column.is_named {
        true => other.name == column.name && other.is_named,
        false => other.position == column.position && !other.is_named,
    };
    let advice = "workbooks that are read together must have the same columns, in any order";
    let is_unknown = |other: &&super::sheet::SheetColumn| own.iter().all(|column| !is_same(column, other));
    if let Some(surplus) = table.columns.iter().find(is_unknown) {
        let letters = column_letters(surplus.position);
        let message = match surplus.is_named {
            true => format!("the header has a column {:?}, which {first_url} does not have", surplus.name),
            false => format!("column {letters} has values, but is not among the columns that are read"),
        };
        return Err(Error::invalid(message).at(&table.place).advice(advice));
    }
    own.iter()
        .map(|column| match table.columns.iter().position(|other| is_same(column, other)) {
            None if column.is_named => {
                let message = format!("the header has no column {:?}, which {first_url} has", column.name);
                Err(Error::invalid(message).at(&table.place).advice(advice))
            }
            found => Ok(found),
        })
        .collect()
}

/// Fails for given types that cells have no values of.
fn check_types(fields: &[Field], own: &[OwnColumn]) -> Result<()> {
    let mut bad = BadValues::new(OnBadRow::Error);
    fields.iter().zip(own).try_for_each(|(field, own)| {
        let read = ColumnToRead { column: None, field, origin: own.origin, number: 0 };
        column_array(&read, 0..0, &super::texts::SheetTexts::default(), &mut bad).map(drop)
    })
}

/// Warns of whole numbers that Excel may have rounded.
fn warn_of_rounding(table: &SheetTable, fields: &[Field], job: &Job) {
    let rounded = table.columns.iter().find(|column| {
        let is_float = |field: &Field| field.name() == &column.name && field.data_type().is_floating();
        column.kinds.has_rounded_integers() && fields.iter().any(is_float)
    });
    if let Some(column) = rounded {
        job.warn(&format!(
            "{}: column {:?} has numbers of 2^53 and more, of which a workbook keeps 15 to 17 digits: it is read as \
             float64. Store such identifiers as text",
            table.place, column.name
        ));
    }
}

/// The columns of the files' places after their own.
fn with_constants(fields: Vec<Field>, constants: &[Option<Arc<Constants>>]) -> Schema {
    let mut fields: Vec<Arc<Field>> = fields.into_iter().map(Arc::new).collect();
    for field in constants.iter().flatten().flat_map(|constants| constants.fields()) {
        if !fields.iter().any(|known| known.name() == field.name()) {
            fields.push(Arc::clone(field));
        }
    }
    Schema::new(fields)
}

impl Source for ExcelSource {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn info(&self) -> SourceInfo {
        let bytes = self.objects.iter().filter_map(|object| object.size_bytes).sum();
        let files = self.objects.len() as u64;
        SourceInfo { format: super::EXCEL.name.to_owned(), rows: None, files, bytes, units: Some(files) }
    }

    /// Plans one unit a file, which is read whole. Requests are made while the files are read.
    fn plan(&self, request: &ReadRequest) -> Result<ReadPlan> {
        let selected = self.selected(request)?;
        if let Some(filter) = &request.filter {
            Predicate::bind(filter, &self.schema)?;
        }
        if request.batch_rows == Some(0) {
            return Err(Error::usage("a batch needs at least one row"));
        }
        let file = |object: &Object| {
            let size_bytes = object.size_bytes.unwrap_or(0);
            let unit = UnitPlan { wanted_bytes: size_bytes, ..UnitPlan::default() };
            FilePlan { url: object.url(), size_bytes, e_tag: object.e_tag.clone(), units: vec![unit] }
        };
        let profile = self.objects.first().map(|object| object.store.profile());
        let profile = profile.ok_or_else(|| Error::usage("there is no file to read"))?;
        Ok(ReadPlan {
            request: request.clone(),
            schema: Arc::new(self.schema.project(&selected).map_err(Error::unexpected)?),
            files: self.objects.iter().map(file).collect(),
            requests: plan_requests(&[], &self.job.options().ranges, &profile),
        })
    }

    fn column_owners(&self) -> ColumnOwners {
        let own = &self.schema.fields()[..self.own.len()];
        let files = self.constants.iter().flatten().flat_map(|constants| columns_of_place(own, constants)).collect();
        ColumnOwners { files, ..ColumnOwners::default() }
    }

    fn leaves_out_rows(&self) -> bool {
        self.on_bad_row == OnBadRow::Skip
    }

    fn read(&self, plan: &ReadPlan) -> Result<Batches> {
        let files = self.planned_objects(plan)?;
        let selected = self.selected(&plan.request)?;
        let filter = plan.request.filter.as_ref().map(|filter| Predicate::bind(filter, &self.schema)).transpose()?;
        let mut wanted: Vec<usize> = selected.clone();
        wanted.extend(filter.iter().flat_map(|filter| filter.columns().iter().copied()));
        wanted.sort_unstable();
        wanted.dedup();
        let by_url = self.objects.iter().zip(&self.constants);
        let constants = by_url.filter_map(|(object, known)| Some((object.url(), Arc::clone(known.as_ref()?))));
        let work = ReadWork {
            first: Arc::clone(&self.first),
            first_url: self.first_url.clone(),
            options: self.options.clone(),
            own: self.own.clone(),
            wanted_schema: Arc::new(self.schema.project(&wanted).map_err(Error::unexpected)?),
            // The constants are the last ones.
            own_wanted: wanted.iter().copied().filter(|column| *column < self.own.len()).collect(),
            constants: constants.collect(),
            projection: selected.iter().filter_map(|column| wanted.binary_search(column).ok()).collect(),
            filter,
            schema: Arc::clone(&plan.schema),
            on_bad_row: self.on_bad_row,
            job: self.job.clone(),
        };
        let rows = SheetRows::new(work, files, plan.request.limit, plan.request.batch_rows);
        Ok(Batches::new(Arc::clone(&plan.schema), rows))
    }
}

#[cfg(test)]
mod tests;
