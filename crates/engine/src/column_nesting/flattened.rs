//! Structs as columns of their fields.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, BooleanArray, RecordBatch, RecordBatchOptions};
use arrow::buffer::NullBuffer;
use arrow::datatypes::{DataType, Field, Fields, Schema, SchemaRef};
use lakerace_io::option::{COLUMNS, FLATTEN};
use lakerace_io::{Error, Result};

/// The columns of a schema, with the fields of structs in place of the structs.
#[derive(Debug, Clone)]
pub(super) struct FlattenedColumns {
    schema: SchemaRef,
    /// The position of the column that each of them is from.
    roots: Vec<usize>,
}

/// A column, or a field of one that is no struct itself.
pub(super) struct LeafField<'a> {
    /// The column that it becomes.
    pub field: Field,
    root: usize,
    /// The names that lead to it.
    path: Vec<&'a str>,
}

impl FlattenedColumns {
    /// The columns of this schema. The separator joins the names of structs and fields.
    ///
    /// # Errors
    /// `Usage` where a field would get the name of another column.
    pub fn new(input: &Schema, separator: &str) -> Result<Self> {
        let found = leaves(input, separator);
        let mut known: HashMap<&str, &LeafField<'_>> = HashMap::with_capacity(found.len());
        for leaf in &found {
            match known.entry(leaf.field.name()) {
                Entry::Vacant(entry) => _ = entry.insert(leaf),
                // Columns of the source with the same name stay as they are.
                Entry::Occupied(entry) if entry.get().path.len() == 1 && leaf.path.len() == 1 => {}
                Entry::Occupied(entry) => return Err(same_name(entry.get(), leaf)),
            }
        }
        let roots = found.iter().map(|leaf| leaf.root).collect();
        let fields: Fields = found.into_iter().map(|leaf| leaf.field).collect();
        Ok(Self { schema: Arc::new(Schema::new_with_metadata(fields, input.metadata().clone())), roots })
    }

    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// The position of the column of the input that a column is from.
    pub fn source(&self, at: usize) -> Option<usize> {
        self.roots.get(at).copied()
    }

    pub fn project_batch(&self, batch: &RecordBatch) -> Result<RecordBatch> {
        let mut columns = Vec::with_capacity(self.roots.len());
        for (field, array) in batch.schema_ref().fields().iter().zip(batch.columns()) {
            push_leaves(field, array, None, &mut columns)?;
        }
        let rows = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
        RecordBatch::try_new_with_options(Arc::clone(&self.schema), columns, &rows).map_err(Error::unexpected)
    }
}

/// The fields of a struct that becomes columns. An extension type is one value.
fn struct_fields(field: &Field) -> Option<&Fields> {
    match field.data_type() {
        DataType::Struct(fields) if field.extension_type_name().is_none() => Some(fields),
        _ => None,
    }
}

/// The columns of a schema and the fields of its structs, without the structs.
pub(super) fn leaves<'a>(schema: &'a Schema, separator: &str) -> Vec<LeafField<'a>> {
    let mut found = Vec::with_capacity(schema.fields().len());
    for (root, field) in schema.fields().iter().enumerate() {
        add_leaves(field, (root, &mut Vec::new(), field.is_nullable()), separator, &mut found);
    }
    found
}

fn add_leaves<'a>(
    field: &'a Field,
    (root, path, is_nullable): (usize, &mut Vec<&'a str>, bool),
    separator: &str,
    found: &mut Vec<LeafField<'a>>,
) {
    path.push(field.name());
    match struct_fields(field) {
        Some(fields) => {
            for inner in fields {
                add_leaves(inner, (root, path, is_nullable || inner.is_nullable()), separator, found);
            }
        }
        None => {
            let field = field.clone().with_name(path.join(separator)).with_nullable(is_nullable);
            found.push(LeafField { field, root, path: path.clone() });
        }
    }
    path.pop();
}

/// Adds a column, or the fields of a struct, which are null where one of these structs is.
fn push_leaves(field: &Field, array: &ArrayRef, nulls: Option<&NullBuffer>, columns: &mut Vec<ArrayRef>) -> Result<()> {
    let Some(fields) = struct_fields(field) else {
        columns.push(match nulls.filter(|nulls| nulls.null_count() > 0) {
            None => Arc::clone(array),
            Some(nulls) => {
                let is_null = BooleanArray::new(!nulls.inner(), None);
                arrow::compute::nullif(array, &is_null).map_err(Error::unexpected)?
            }
        });
        return Ok(());
    };
    let parent = array.as_struct_opt().ok_or_else(|| Error::internal(format!("{:?} is no struct", field.name())))?;
    let nulls = NullBuffer::union(nulls, parent.nulls());
    for (inner, child) in fields.iter().zip(parent.columns()) {
        push_leaves(inner, child, nulls.as_ref(), columns)?;
    }
    Ok(())
}

fn same_name(first: &LeafField<'_>, second: &LeafField<'_>) -> Error {
    let shown = |leaf: &LeafField<'_>| {
        let names: Vec<String> = leaf.path.iter().rev().map(|name| format!("{name:?}")).collect();
        names.join(" of ")
    };
    let name = first.field.name();
    Error::usage(format!(
        "{FLATTEN}: two columns would have the name {name:?}: {}, and {}",
        shown(first),
        shown(second)
    ))
    .advice(format!("choose another separator, or omit or rename one of them with {COLUMNS}"))
}
