//! Sheets of workbooks as a source.

mod rows;

use std::collections::VecDeque;
use std::sync::Arc;

use arrow::datatypes::{Field, Schema, SchemaRef};
use bytes::Bytes;
use lakerace_io::{Error, ErrorKind, Job, Object, Result, plan_requests};

use self::rows::{ReadWork, SheetRows};
use super::cell_arrays::BadValues;
use super::column_values::{ColumnToRead, ColumnTypeOrigin, column_array};
use super::sheet::{SheetOptions, SheetTable};
use super::workbook::{OpenWorkbook, column_letters};
use crate::batch_selection::BatchSelection;
use crate::field_positions::FieldPositions;
use crate::file_format::OpenOptions;
use crate::input::{Constants, InputFile};
use crate::options::OnBadRow;
use crate::place_columns::{file_owners, with_place_fields};
use crate::plan::{ReadPlan, ReadRequest};
use crate::predicate::Predicate;
use crate::schema_text::parse_schema;
use crate::sequential_files::{
    SequentialFile, learn_size, planned_files, selected_columns, sequential_info, sequential_plan,
};
use crate::source::{Batches, ColumnOwners, Source, SourceInfo};
use crate::suggestions::column_not_found;

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
/// The columns, their order and their types are those of the first file; if that has no rows, the types are those of the first one
/// that has some. The first file stays in memory as long as the source; the
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
                learn_size(object)?;
            }
        }
        let table = read_table(&bytes, &first_url, &sheet_options, job)?;
        drop(bytes);
        let given = csv.schema.as_deref().map(parse_schema).transpose()?;
        let (fields, own) = match given {
            Some(given) if !sheet_options.has_header => given_columns(&given),
            given => {
                let expected = csv.types.as_deref().map(parse_schema).transpose()?;
                let all = if options.all.is_empty() { &objects } else { options.all };
                let with_rows =
                    if table.has_rows() { None } else { first_with_rows(all, &first_url, &sheet_options, job)? };
                learnt_columns(&table, with_rows.as_ref(), [given.as_ref(), expected.as_ref()])?
            }
        };
        check_types(&fields, &own).map_err(|error| error.at(&first_url))?;
        warn_of_rounding(&table, &fields, job);
        let fields = fields.into_iter().map(Arc::new).collect();
        let schema = Arc::new(Schema::new(with_place_fields(fields, constants.iter().flatten())));
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
        selected_columns(request, &self.schema, &self.objects[0])
    }

    /// The columns of a sheet that the own columns are; `None` where all cells are empty.
    fn positions(&self, table: &SheetTable) -> Result<Vec<Option<usize>>> {
        positions(&self.own, table, &self.first_url)
    }

    /// The files of a plan that are read. The first file of the source stays in memory: it must be the one of the plan.
    fn planned_files(&self, plan: &ReadPlan) -> Result<VecDeque<SequentialFile>> {
        let mut planned = planned_files(plan, self.objects.iter())?;
        for file in &planned {
            let (known, now) = (&self.objects[file.position], &file.object);
            let is_same = known.e_tag.is_none() || now.e_tag.is_none() || known.e_tag == now.e_tag;
            if known.size_bytes != now.size_bytes || !is_same {
                return Err(Error::conflict("the file was replaced after the plan was made")
                    .at(now.url())
                    .advice("plan the scan again"));
            }
        }
        planned.retain(|file| file.is_read);
        Ok(planned.into())
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

/// The first workbook that has rows, other than the first of all. A workbook that can't be read has none: the read reports it.
fn first_with_rows(all: &[Object], first_url: &str, options: &SheetOptions, job: &Job) -> Result<Option<SheetTable>> {
    for object in all.iter().filter(|object| object.url() != first_url) {
        job.check()?;
        let bytes = fetch(&mut object.clone());
        match bytes.and_then(|bytes| read_table(&bytes, &object.url(), options, job)) {
            Ok(table) if table.has_rows() => return Ok(Some(table)),
            Err(error) if error.kind() == ErrorKind::Cancelled => return Err(error),
            _ => {}
        }
    }
    Ok(None)
}

/// The columns of a sheet without a header whose schema is given: column A is the first one.
fn given_columns(given: &Schema) -> (Vec<Field>, Vec<OwnColumn>) {
    let column = |(position, field): (u32, &Arc<Field>)| {
        let own = OwnColumn { name: field.name().clone(), is_named: false, position, origin: ColumnTypeOrigin::Given };
        (field.as_ref().clone(), own)
    };
    (0..).zip(given.fields()).map(column).unzip()
}

/// The columns of a sheet. Given or expected types come first, and the other columns have inferred ones: where the sheet has no
/// rows, those of another sheet.
fn learnt_columns(
    table: &SheetTable,
    with_rows: Option<&SheetTable>,
    known: [Option<&Schema>; 2],
) -> Result<(Vec<Field>, Vec<OwnColumn>)> {
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
        let other = with_rows.and_then(|table| table.columns.iter().find(|other| other.name == column.name));
        let field = || Field::new(&column.name, other.unwrap_or(column).kinds.data_type(), true);
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

impl Source for ExcelSource {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn info(&self) -> SourceInfo {
        sequential_info(super::EXCEL.name, self.objects.iter())
    }

    /// Plans one unit a file, which is read whole. Requests are made while the files are read.
    fn plan(&self, request: &ReadRequest) -> Result<ReadPlan> {
        let selected = self.selected(request)?;
        if let Some(filter) = &request.filter {
            Predicate::bind(filter, &self.schema)?;
        }
        request.check_batch_rows()?;
        let profile = self.objects.first().map(|object| object.store.profile());
        let profile = profile.ok_or_else(|| Error::usage("there is no file to read"))?;
        Ok(ReadPlan {
            request: request.clone(),
            schema: Arc::new(self.schema.project(&selected).map_err(Error::unexpected)?),
            files: self.objects.iter().map(sequential_plan).collect(),
            requests: plan_requests(&[], &self.job.options().ranges, &profile),
        })
    }

    fn column_owners(&self) -> ColumnOwners {
        file_owners(&self.schema.fields()[..self.own.len()], self.constants.iter().flatten())
    }

    fn leaves_out_rows(&self) -> bool {
        self.on_bad_row == OnBadRow::Skip
    }

    fn read(&self, plan: &ReadPlan) -> Result<Batches> {
        let files = self.planned_files(plan)?;
        let selection = BatchSelection::new(plan, &self.schema, self.own.len(), &self.selected(&plan.request)?)?;
        let work = ReadWork {
            first: Arc::clone(&self.first),
            first_url: self.first_url.clone(),
            options: self.options.clone(),
            own: self.own.clone(),
            constants: self.constants.clone(),
            selection,
            on_bad_row: self.on_bad_row,
            job: self.job.clone(),
        };
        let rows = SheetRows::new(work, files, plan.request.limit, plan.request.batch_rows);
        Ok(Batches::new(Arc::clone(&plan.schema), rows))
    }
}

#[cfg(test)]
mod tests;
