//! The columns that a request names, in a source's schema.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, RecordBatch, RecordBatchOptions};
use arrow::compute::{CastOptions, cast_with_options};
use arrow::datatypes::{DataType, FieldRef, Schema, SchemaRef};
use lakerace_io::{Error, Result};

use crate::names::column_not_found;
use crate::predicate::Predicate;
use crate::{ReadPlan, ReadRequest};

/// The columns of a read.
#[derive(Debug)]
pub(crate) struct Columns {
    /// The columns to decode, as positions in the source's schema: those of the filter first.
    pub decoded: Vec<usize>,
    /// How many of them the filter needs.
    pub filtered: usize,
    /// For each output column its position in `decoded`.
    pub output: Vec<usize>,
    /// The schema of the batches.
    pub schema: SchemaRef,
    /// The filter, where it depends on columns.
    pub predicate: Option<Predicate>,
    /// The filter is a constant that keeps no row.
    pub is_never: bool,
}

impl Columns {
    /// Resolves the names of a request.
    pub fn resolve(schema: &SchemaRef, request: &ReadRequest) -> Result<Self> {
        let wanted = match &request.columns {
            None => (0..schema.fields().len()).collect(),
            Some(names) => positions(schema, names)?,
        };
        let mut decoded = Vec::new();
        let (mut predicate, mut is_never) = (None, false);
        if let Some(filter) = &request.filter {
            let bound = Predicate::bind(filter, schema)?;
            decoded = bound.columns().to_vec();
            match decoded.is_empty() {
                true => is_never = !is_true(&bound)?,
                false => predicate = Some(bound),
            }
        }
        let filtered = decoded.len();
        let mut at: HashMap<usize, usize> = decoded.iter().enumerate().map(|(at, column)| (*column, at)).collect();
        let mut output = Vec::with_capacity(wanted.len());
        for column in &wanted {
            let position = *at.entry(*column).or_insert_with(|| {
                decoded.push(*column);
                decoded.len() - 1
            });
            output.push(position);
        }
        let projected = schema.project(&wanted).map_err(|e| Error::internal(e.to_string()))?;
        Ok(Self { decoded, filtered, output, schema: Arc::new(projected), predicate, is_never })
    }

    /// The fields of the decoded columns, in a source with this schema.
    pub fn fields(&self, schema: &Schema) -> Vec<FieldRef> {
        self.decoded.iter().map(|column| Arc::clone(&schema.fields()[*column])).collect()
    }

    /// An error where a plan was made for other columns.
    pub fn check_plan(&self, plan: &ReadPlan) -> Result<()> {
        if self.schema == plan.schema {
            return Ok(());
        }
        Err(Error::usage("the plan was made for another schema of this source").advice("plan again"))
    }
}

/// The value of a filter without columns.
fn is_true(constant: &Predicate) -> Result<bool> {
    let options = RecordBatchOptions::new().with_row_count(Some(1));
    let row = RecordBatch::try_new_with_options(Arc::new(Schema::empty()), Vec::new(), &options)
        .map_err(|e| Error::internal(e.to_string()))?;
    let value = constant.evaluate(&row)?;
    Ok(value.len() == 1 && value.is_valid(0) && value.value(0))
}

fn positions(schema: &Schema, names: &[String]) -> Result<Vec<usize>> {
    let mut known: HashMap<&str, usize> = HashMap::with_capacity(schema.fields().len());
    for (position, field) in schema.fields().iter().enumerate() {
        // Of columns with the same name the first one is meant.
        known.entry(field.name()).or_insert(position);
    }
    let find = |name: &String| {
        let found = known.get(name.as_str()).copied();
        found.ok_or_else(|| column_not_found(name, schema.fields().iter().map(|field| field.name().as_str())))
    };
    names.iter().map(find).collect()
}

/// Where each decoded column is in a file with this schema.
pub(crate) fn roots(schema: &Schema, fields: &[FieldRef]) -> Vec<Option<usize>> {
    if fields.len() <= 8 {
        return fields.iter().map(|field| schema.fields().iter().position(|f| f.name() == field.name())).collect();
    }
    let mut known: HashMap<&str, usize> = HashMap::with_capacity(schema.fields().len());
    for (root, field) in schema.fields().iter().enumerate() {
        known.entry(field.name()).or_insert(root);
    }
    fields.iter().map(|field| known.get(field.name().as_str()).copied()).collect()
}

/// Widening between files, or a cast that keeps all values but for names inside of nested types.
pub(crate) fn widen(array: &ArrayRef, to: &DataType) -> Result<ArrayRef> {
    let options = CastOptions { safe: false, ..CastOptions::default() };
    let wide = cast_with_options(array, to, &options)
        .map_err(|e| Error::invalid(format!("its values don't fit the type {to}: {e}")))?;
    debug_assert_eq!(wide.len(), array.len());
    Ok(wide)
}
