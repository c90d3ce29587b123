//! The columns that a request names, in a source's schema.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::array::{Array, RecordBatch, RecordBatchOptions};
use arrow::datatypes::{DataType, FieldRef, Fields, Schema, SchemaRef};
use lakerace_io::{Error, Result};

use crate::compact_type::compact_type;
use crate::field_positions::FieldPositions;
use crate::file_notes::requested_notes;
use crate::plan::{ReadPlan, ReadRequest};
use crate::predicate::{Predicate, find_column};
use crate::projection::ColumnPart;

/// The columns of a read.
#[derive(Debug)]
pub(crate) struct ReadColumns {
    /// The columns to decode, as positions in the source's schema, and the part of each; those of the filter come
    /// first.
    decoded: Vec<(usize, ColumnPart)>,
    /// The number of them that the filter needs.
    pub filtered: usize,
    /// The position of each output column among the decoded ones. An output column may be a part of its decoded column.
    pub output: Vec<usize>,
    /// The schema of the batches.
    pub schema: SchemaRef,
    /// The filter, if it depends on columns.
    pub predicate: Option<Predicate>,
    /// The filter is a constant that keeps no row.
    pub is_never: bool,
}

impl ReadColumns {
    /// Resolves the names of a request.
    pub fn resolve(schema: &SchemaRef, request: &ReadRequest) -> Result<Self> {
        let wanted = match &request.columns {
            None => {
                let all = schema.fields().iter().enumerate();
                all.map(|(column, field)| (column, used_part(request, field.name()))).collect()
            }
            Some(names) => wanted(schema, names, request)?,
        };
        let mut decoded: Vec<(usize, ColumnPart)> = Vec::new();
        let mut at: HashMap<usize, usize> = HashMap::new();
        let mut decode = |column: usize, part: ColumnPart| {
            let position = *at.entry(column).or_insert(decoded.len());
            match decoded.get_mut(position) {
                Some((_, known)) => known.join(part),
                None => decoded.push((column, part)),
            }
            position
        };
        let (mut predicate, mut is_never, mut filtered) = (None, false, 0);
        if let Some(filter) = &request.filter {
            let bound = Predicate::bind(filter, schema)?;
            for column in bound.column_refs() {
                let path = column.path.get(1..).unwrap_or_default();
                let is_nulls = column.data_type.is_nested() && bound.asks_nulls_alone(column);
                decode(column.root, if is_nulls { ColumnPart::nulls_of_path(path) } else { ColumnPart::of_path(path) });
            }
            filtered = bound.columns().len();
            match filtered {
                0 => is_never = !is_true(&bound)?,
                _ => predicate = Some(bound),
            }
        }
        let output = wanted.iter().map(|(column, part)| decode(*column, part.clone())).collect();
        let projected: Vec<FieldRef> =
            wanted.iter().map(|(column, part)| part.of_field(&schema.fields()[*column])).collect();
        let projected = Fields::from(projected);
        let notes = requested_notes(schema.metadata(), schema.fields(), &projected, request);
        let schema = Arc::new(Schema::new_with_metadata(projected, notes));
        Ok(Self { decoded, filtered, output, schema, predicate, is_never })
    }

    /// The fields of the decoded columns, in a source with this schema: of structs, those that are decoded.
    pub fn fields(&self, schema: &Schema) -> Vec<FieldRef> {
        self.decoded.iter().map(|(column, part)| part.of_field(&schema.fields()[*column])).collect()
    }

    /// Reads these columns in their [`compact_type`], where `has_compact` is true for a column and this type. Columns of the
    /// filter keep their types. `fields` are those of the decoded columns.
    pub fn read_compact(
        &mut self,
        fields: &mut [FieldRef],
        names: &[String],
        has_compact: impl Fn(&str, &DataType) -> bool,
    ) {
        let mut schema = self.schema.fields().to_vec();
        for (at, decoded) in fields.iter_mut().enumerate().skip(self.filtered) {
            let Some(compact) = compact_type(decoded.data_type()) else { continue };
            if !names.contains(decoded.name()) || !has_compact(decoded.name(), &compact) {
                continue;
            }
            let of_column = schema.iter_mut().zip(&self.output).filter(|(_, position)| **position == at);
            for field in of_column.map(|(field, _)| field).chain([decoded]) {
                *field = Arc::new(field.as_ref().clone().with_data_type(compact.clone()));
            }
        }
        self.schema = Arc::new(Schema::new_with_metadata(schema, self.schema.metadata().clone()));
    }

    /// An error where a plan was made for other columns. Metadata of the schema don't count: a plan to count rows has none.
    pub fn check_plan(&self, plan: &ReadPlan) -> Result<()> {
        if self.schema.fields() == plan.schema.fields() {
            return Ok(());
        }
        Err(Error::usage("the plan was made for another schema of this source").advice("plan the scan again"))
    }
}

/// The schema of the batches that a request gets of a source with this schema, where the source can leave out fields of structs.
///
/// # Errors
/// `NotFound` for a column that does not exist; `Invalid` for a filter that does not fit the columns.
pub fn requested_schema(schema: &SchemaRef, request: &ReadRequest) -> Result<SchemaRef> {
    ReadColumns::resolve(schema, request).map(|columns| columns.schema)
}

/// The part of a named column that the caller uses.
fn used_part(request: &ReadRequest, name: &str) -> ColumnPart {
    request.fields.get(name).map_or(ColumnPart::Whole, |paths| ColumnPart::of_paths(paths))
}

/// The value of a filter without columns.
fn is_true(constant: &Predicate) -> Result<bool> {
    let options = RecordBatchOptions::new().with_row_count(Some(1));
    let row = RecordBatch::try_new_with_options(Arc::new(Schema::empty()), Vec::new(), &options)
        .map_err(Error::unexpected)?;
    let value = constant.evaluate(&row)?;
    Ok(value.len() == 1 && value.is_valid(0) && value.value(0))
}

/// The columns of these names, and the part of each. Of columns with the same name the first one is used; a name with
/// dots that no column has leads to a field of a struct. The fields of one struct are grouped at the position of the
/// first of them.
fn wanted(schema: &Schema, names: &[String], request: &ReadRequest) -> Result<Vec<(usize, ColumnPart)>> {
    let known = FieldPositions::new(schema.fields());
    let mut wanted: Vec<(usize, ColumnPart)> = Vec::with_capacity(names.len());
    let mut parts: HashMap<usize, usize> = HashMap::new();
    for name in names {
        if let Some(column) = known.of_name(name) {
            wanted.push((column, used_part(request, name)));
            continue;
        }
        let field = find_column(schema.fields(), name)?;
        let part = ColumnPart::of_path(field.path.get(1..).unwrap_or_default());
        match parts.get(&field.root).and_then(|at| wanted.get_mut(*at)) {
            Some((_, joined)) => joined.join(part),
            None => {
                parts.insert(field.root, wanted.len());
                wanted.push((field.root, part));
            }
        }
    }
    Ok(wanted)
}

/// The position of each decoded column in a file with this schema.
pub(crate) fn roots(schema: &Schema, fields: &[FieldRef]) -> Vec<Option<usize>> {
    if fields.len() <= 8 {
        return fields.iter().map(|field| schema.fields().iter().position(|f| f.name() == field.name())).collect();
    }
    let known = FieldPositions::new(schema.fields());
    fields.iter().map(|field| known.of_name(field.name())).collect()
}
