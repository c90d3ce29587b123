//! Columns that are computed from those of a source, after rows were read, filtered and sorted.

use std::cell::Cell;
use std::collections::HashSet;
use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch, RecordBatchOptions};
use arrow::datatypes::{FieldRef, Schema, SchemaRef};
use lakerace_format::predicate::RowValue;
use lakerace_format::{Batches, Expr, FieldIds, ReadRequest, Source, narrowed_batch, requested_schema};
use lakerace_io::option::COLUMNS;
use lakerace_io::{Error, ErrorKind, Result};

use crate::column_item::{ColumnItem, ComputedColumn};
use crate::column_nesting::ColumnNesting;
use crate::database::shown;
use crate::filter::{RunTime, advice_on_name};
use crate::option_scope::PlaceKind;
use crate::options::ReadOptions;
use crate::scan_order::first_columns;

/// Parts of computed columns that an order copies at most.
const MAX_COPIES: usize = 100_000;

/// The columns that the options of a read name, some of which are computed.
#[derive(Debug, Clone)]
pub(crate) struct RequestedColumns {
    items: Vec<ColumnItem>,
    /// The location that is read, for errors.
    place: String,
}

/// A column or a field of a struct that a read needs.
struct NeededColumn {
    /// The name in a request.
    name: String,
    /// The column that contains it.
    root: String,
    is_plain: bool,
}

impl NeededColumn {
    fn is_whole(&self) -> bool {
        self.name == self.root
    }
}

impl RequestedColumns {
    /// The columns of the options, with the time of a run; `None` where none of them is computed, and none can be a field
    /// that becomes a column.
    ///
    /// # Errors
    /// Those of [`ColumnItem::parse`].
    pub(crate) fn from_options(location: &str, options: &ReadOptions, time: RunTime) -> Result<Option<Self>> {
        let items = options.columns.as_deref().unwrap_or_default();
        let may_be_field =
            |item: &ColumnItem| matches!(options.nesting, ColumnNesting::Flattened { .. }) && item.text().contains('.');
        if !items.iter().any(|item| item.as_computed().is_some() || may_be_field(item)) {
            return Ok(None);
        }
        let items = items.iter().map(|item| item.at_time(time)).collect::<Result<_>>()?;
        Ok(Some(Self { items, place: shown(location) }))
    }

    /// The same for rows whose structs become columns: a field of a struct is a column of its own then, with the name that
    /// it gets there.
    pub(crate) fn with_fields_as_columns(&self, nesting: &ColumnNesting, source: &Schema) -> Self {
        let ColumnNesting::Flattened { separator } = nesting else { return self.clone() };
        let own_column = |item: &ColumnItem| match item {
            ColumnItem::Name(text) if source.index_of(text).is_err() => {
                let (value, text) = (Expr::Column(text.clone()), text.clone());
                let bound = RowValue::bind(&value, source).ok()?;
                let name = bound.column_refs().next()?.path.join(separator);
                Some(ColumnItem::Computed(ComputedColumn { name, value, text }))
            }
            _ => None,
        };
        let items = self.items.iter().map(|item| own_column(item).unwrap_or_else(|| item.clone()));
        Self { items: items.collect(), place: self.place.clone() }
    }

    /// The columns as they were written.
    pub(crate) fn items(&self) -> &[ColumnItem] {
        &self.items
    }

    fn plain(&self) -> impl Iterator<Item = &String> {
        self.items.iter().filter_map(|item| match item {
            ColumnItem::Name(name) => Some(name),
            ColumnItem::Computed(_) => None,
        })
    }

    fn computed(&self) -> impl Iterator<Item = &ComputedColumn> {
        self.items.iter().filter_map(ColumnItem::as_computed)
    }

    /// The columns of the source that are needed, for opening it: those that are read unchanged come first.
    pub(crate) fn source_columns(&self) -> Vec<String> {
        let mut columns: Vec<String> = self.plain().cloned().collect();
        for computed in self.computed() {
            computed.value.visit_columns(&mut |name| {
                if !columns.iter().any(|known| known == name) {
                    columns.push(name.to_owned());
                }
            });
        }
        columns
    }

    /// The columns of a request to an opened source. A struct of which both all and a field are needed is read once.
    ///
    /// # Errors
    /// `NotFound` for a column that does not exist; `Usage` for a column that is named twice.
    pub(crate) fn request_columns(&self, source: &dyn Source) -> Result<Vec<String>> {
        let schema = source.schema();
        let needed = self.needed(&schema)?;
        self.refuse_repeated(&needed)?;
        let is_columnar = PlaceKind::of_source(&source.info().format).is_columnar();
        // Other sources return no field of a struct by itself.
        let is_whole = |column: &&NeededColumn| column.is_whole() || !column.is_plain && !is_columnar;
        let whole: HashSet<&str> = needed.iter().filter(is_whole).map(|column| column.root.as_str()).collect();
        let mut columns: Vec<String> = Vec::new();
        for column in &needed {
            let name = if whole.contains(column.root.as_str()) { &column.root } else { &column.name };
            if !columns.contains(name) {
                columns.push(name.clone());
            }
        }
        Ok(columns)
    }

    fn needed(&self, schema: &Schema) -> Result<Vec<NeededColumn>> {
        let mut needed = Vec::new();
        for name in self.plain() {
            // Of columns with the same name, the first one is read.
            let root = match schema.index_of(name) {
                Ok(_) => name.clone(),
                Err(_) => root_of(name, schema)?,
            };
            needed.push(NeededColumn { name: name.clone(), root, is_plain: true });
        }
        for column in self.computed() {
            self.bound(column, schema)?;
            // Those whose values do not matter, as in `a = NULL`, are needed for their types.
            let mut used = Vec::new();
            column.value.visit_columns(&mut |name| used.push(name.to_owned()));
            for name in used {
                let root = match schema.index_of(&name) {
                    Ok(_) => name.clone(),
                    Err(_) => root_of(&name, schema)?,
                };
                needed.push(NeededColumn { name, root, is_plain: false });
            }
        }
        Ok(needed)
    }

    fn bound(&self, column: &ComputedColumn, schema: &Schema) -> Result<RowValue> {
        RowValue::bind(&column.value, schema).map_err(|error| self.placed(error, &column.text))
    }

    /// The error of a computed column.
    fn placed(&self, error: Error, text: &str) -> Error {
        error.at(format!("{text:?}")).at(&self.place)
    }

    /// An error where a column would be there twice.
    fn refuse_repeated(&self, needed: &[NeededColumn]) -> Result<()> {
        let mut names: HashSet<&str> = HashSet::new();
        let (mut whole, mut parts): (HashSet<&str>, HashSet<&str>) = (HashSet::new(), HashSet::new());
        for column in needed.iter().filter(|column| column.is_plain) {
            let is_new = names.insert(&column.name);
            if column.is_whole() {
                whole.insert(&column.root)
            } else {
                parts.insert(&column.root)
            };
            if !is_new || whole.contains(column.root.as_str()) && parts.contains(column.root.as_str()) {
                return Err(repeated(&column.root));
            }
        }
        let mut names: HashSet<&str> = whole.union(&parts).copied().collect();
        match self.computed().find(|column| !names.insert(&column.name)) {
            None => Ok(()),
            Some(column) => Err(repeated(&column.name)),
        }
    }

    /// A value with computed columns in place of their names.
    ///
    /// # Errors
    /// `Unsupported` for a value that becomes too large.
    pub(crate) fn with_aliases(&self, value: &Expr) -> Result<Expr> {
        let copies = Cell::new(0);
        let replaced = value.with_columns_replaced(&|name| {
            if copies.get() > MAX_COPIES {
                return None;
            }
            let value = self.aliased(name)?;
            copies.set(copies.get() + value.part_count());
            Some(value)
        });
        if copies.get() > MAX_COPIES {
            let message = format!("computed columns appear in it with more than {MAX_COPIES} parts");
            return Err(Error::unsupported(message).advice("name fewer or shorter computed columns"));
        }
        Ok(replaced)
    }

    /// The value of a computed column of this name, or of a field of one that renames a struct.
    fn aliased(&self, name: &str) -> Option<Expr> {
        if let Some(column) = self.computed().find(|column| column.name == name) {
            return Some(column.value.clone());
        }
        let field = |column: &ComputedColumn| {
            let rest = name.strip_prefix(&column.name)?.strip_prefix('.')?;
            column.renamed().map(|renamed| Expr::Column(format!("{renamed}.{rest}")))
        };
        self.computed().find_map(field)
    }
}

/// An error of a plan, with the advice that helps where a name was meant as a value.
pub(crate) fn with_column_advice(error: Error, items: Option<&[ColumnItem]>, schema: &SchemaRef) -> Error {
    if error.kind() != ErrorKind::NotFound {
        return error;
    }
    for item in items.unwrap_or_default() {
        let ColumnItem::Name(name) = item else { continue };
        let request = ReadRequest { columns: Some(vec![name.clone()]), ..ReadRequest::default() };
        if requested_schema(schema, &request).is_ok() {
            continue;
        }
        if name == "*" {
            let message = format!("{COLUMNS}: * is not a column");
            return Error::usage(message).advice(format!("omit {COLUMNS} to read all columns"));
        }
        if let Some(advice) = advice_on_name(name) {
            return error.advice(advice);
        }
    }
    error
}

fn repeated(name: &str) -> Error {
    Error::usage(format!("{COLUMNS}: several columns have the name {name:?}"))
        .advice(format!("give one of them another name, as in {}", COLUMNS.to(format!("{name} as other"))))
}

/// The name of the column that contains a field.
fn root_of(name: &str, schema: &Schema) -> Result<String> {
    let value = RowValue::bind(&Expr::Column(name.to_owned()), schema)?;
    Ok(value.column_refs().next().and_then(|column| column.path.first()).cloned().unwrap_or_default())
}

/// The last step of a scan: its columns, from those that were read.
#[derive(Debug, Clone)]
pub(crate) struct ColumnProjection {
    requested: RequestedColumns,
    outputs: Vec<OutputColumn>,
    /// The columns that are returned as they were read, which are the first ones.
    plain: SchemaRef,
    schema: SchemaRef,
}

/// A column of the result.
#[derive(Debug, Clone)]
enum OutputColumn {
    /// The number of a column that was read.
    Plain(usize),
    /// A value, and its text for errors.
    Computed { value: RowValue, text: String },
}

impl ColumnProjection {
    /// The projection of batches with the schema `input`, which a request for the columns `read` gets from `source`.
    ///
    /// # Errors
    /// `NotFound` for a column that does not exist; `Invalid` for types that don't fit.
    pub(crate) fn new(
        requested: &RequestedColumns,
        source: &SchemaRef,
        read: Option<&Vec<String>>,
        input: &SchemaRef,
    ) -> Result<Self> {
        let columns = Some(requested.plain().cloned().collect());
        let plain = first_columns(source, &ReadRequest { columns, ..ReadRequest::default() }, read, input)?;
        let (mut outputs, mut fields): (Vec<OutputColumn>, Vec<FieldRef>) = (Vec::new(), Vec::new());
        let mut is_taken = vec![false; plain.fields().len()];
        let mut ids = FieldIds::default();
        plain.fields().iter().for_each(|field| ids.take(field));
        for item in &requested.items {
            match item {
                ColumnItem::Name(name) => {
                    let root = if plain.index_of(name).is_ok() { name.clone() } else { root_of(name, source)? };
                    let at = plain.index_of(&root).map_err(Error::unexpected)?;
                    // Fields of one struct are one column.
                    if !std::mem::replace(&mut is_taken[at], true) {
                        outputs.push(OutputColumn::Plain(at));
                        fields.push(Arc::clone(&plain.fields()[at]));
                    }
                }
                ColumnItem::Computed(column) => {
                    let value = requested.bound(column, input)?;
                    fields.push(Arc::new(ids.of_copy(value.field(&column.name, input))));
                    outputs.push(OutputColumn::Computed { value, text: column.text.clone() });
                }
            }
        }
        let schema = Arc::new(Schema::new_with_metadata(fields, plain.metadata().clone()));
        Ok(Self { requested: requested.clone(), outputs, plain, schema })
    }

    /// The columns of the result.
    pub(crate) fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// The columns as they were written.
    pub(crate) fn items(&self) -> &[ColumnItem] {
        self.requested.items()
    }

    /// The columns of the result with these names, in this order.
    pub(crate) fn restricted(&self, names: &[String]) -> RequestedColumns {
        let is_named = |item: &&ColumnItem, name: &String| match item {
            ColumnItem::Name(own) => own == name || own.strip_prefix(name).is_some_and(|rest| rest.starts_with('.')),
            ColumnItem::Computed(column) => column.name == *name,
        };
        let items = names.iter().flat_map(|name| self.items().iter().filter(move |item| is_named(item, name)));
        RequestedColumns { items: items.cloned().collect(), place: self.requested.place.clone() }
    }

    /// The column of the source that a column of the result is, unchanged; `None` of a computed one.
    pub(crate) fn source_of<'a>(&'a self, name: &'a str) -> Option<&'a str> {
        match self.requested.computed().find(|column| column.name == name) {
            Some(column) => column.renamed(),
            None => self.schema.index_of(name).is_ok().then_some(name),
        }
    }

    /// The rows of these batches with the columns of the result.
    pub(crate) fn project(&self, batches: Batches) -> Batches {
        let projection = self.clone();
        Batches::new(Arc::clone(&self.schema), batches.map(move |batch| projection.project_batch(&batch?)))
    }

    fn project_batch(&self, batch: &RecordBatch) -> Result<RecordBatch> {
        let plain = narrowed_batch(batch, &self.plain)?;
        let column = |(output, field): (&OutputColumn, &FieldRef)| -> Result<ArrayRef> {
            match output {
                OutputColumn::Plain(at) => Ok(Arc::clone(plain.column(*at))),
                OutputColumn::Computed { value, text } => {
                    let values = value.evaluate_as(field.data_type(), batch);
                    values.map_err(|error| self.requested.placed(error, text))
                }
            }
        };
        let columns = self.outputs.iter().zip(self.schema.fields()).map(column).collect::<Result<_>>()?;
        let rows = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
        RecordBatch::try_new_with_options(Arc::clone(&self.schema), columns, &rows).map_err(Error::unexpected)
    }
}

#[cfg(test)]
mod tests;
