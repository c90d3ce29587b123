//! The schema of a table that knows its columns better than its files do.

use std::sync::Arc;

use arrow::datatypes::{DataType, Field, FieldRef, Schema, SchemaRef};
use lakerace_io::{Error, Result};

use crate::Constants;
use crate::conform::FindBy;
use crate::conform::{check, find};

/// The columns of a table, and how they are found in its files: by name or by field id, at every level of nesting.
/// A column that a file lacks reads as null there; narrower types are widened.
#[derive(Debug)]
pub struct TableSchema {
    /// The columns as batches have them.
    logical: SchemaRef,
    /// The same columns, each with the name and the field id (`PARQUET:field_id`) that it has in files.
    stored: SchemaRef,
    find_by: FindBy,
}

impl TableSchema {
    /// Both schemas have the same tree. Root strings and bytes become views, as the sources of this crate give them.
    pub fn new(logical: Schema, stored: Schema, find_by: FindBy) -> Result<Self> {
        if logical.fields().len() != stored.fields().len() {
            return Err(Error::internal("a table has other columns than its files are said to have"));
        }
        let logical = crate::parquet::with_root_views(&logical).unwrap_or_else(|| Arc::new(logical));
        Ok(Self { logical, stored: Arc::new(stored), find_by })
    }

    /// The schema of the table's batches.
    pub fn schema(&self) -> &SchemaRef {
        &self.logical
    }

    pub(crate) fn find_by(&self) -> FindBy {
        self.find_by
    }

    /// How the column of this name is stored.
    pub(crate) fn stored(&self, name: &str) -> Option<&FieldRef> {
        let at = self.logical.fields().iter().position(|field| field.name() == name)?;
        self.stored.fields().get(at)
    }

    /// The schema of a file with the table's names for its columns, in the file's order and of the file's types. Columns
    /// that are none of the table's get names that no column can have. An error where a type does not fit.
    pub(crate) fn of_file(&self, file: &Schema, constants: Option<&Constants>) -> Result<SchemaRef> {
        if self.find_by == FindBy::Id && !file.fields().is_empty() && !file.fields().iter().any(|field| has_id(field)) {
            return Err(Error::invalid("its columns have no field ids, by which the table would find them")
                .advice("the table's columns are mapped by id: only writers that know this can add files to it"));
        }
        let mut names: Vec<Option<&str>> = vec![None; file.fields().len()];
        for (column, stored) in self.logical.fields().iter().zip(self.stored.fields()) {
            if constants.is_some_and(|constants| constants.get(column.name()).is_some()) {
                continue;
            }
            let Some(root) = find(file.fields(), stored, self.find_by) else { continue };
            check(file.field(root).data_type(), column.data_type(), stored.data_type(), self.find_by)
                .map_err(|error| error.at(format!("column {:?}", column.name())))?;
            names[root] = Some(column.name());
        }
        let named = |(root, field): (usize, &FieldRef)| {
            let name = names[root].map_or_else(|| format!("\0{root}"), str::to_owned);
            Arc::new(field.as_ref().clone().with_name(name))
        };
        Ok(Arc::new(Schema::new(file.fields().iter().enumerate().map(named).collect::<Vec<FieldRef>>())))
    }
}

fn has_id(field: &Field) -> bool {
    field.metadata().contains_key(parquet::arrow::PARQUET_FIELD_ID_META_KEY)
        || match field.data_type() {
            DataType::Struct(fields) => fields.iter().any(|field| has_id(field)),
            DataType::List(field) | DataType::Map(field, _) => has_id(field),
            _ => false,
        }
}

#[cfg(test)]
mod tests;
