//! The nesting of the columns that a read returns: structs become columns of their fields, or columns become structs by
//! their names.

mod flattened;
mod unflattened;

use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::datatypes::{FieldRef, Schema, SchemaRef};
use lakerace_format::{Batches, check_nesting};
use lakerace_io::option::{FLATTEN, OptionDefinition, UNFLATTEN};
use lakerace_io::{Error, Result};
use serde::Serialize;

use self::flattened::{FlattenedColumns, leaves};
use self::unflattened::UnflattenedColumns;

/// The separator of the parts of a name, where none is given.
pub const DEFAULT_SEPARATOR: &str = ".";

/// The nesting of the columns that a read returns. Filters, orders and the columns of the read name those of the source.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub enum ColumnNesting {
    /// That of the source.
    #[default]
    Unchanged,
    /// Structs are columns of their fields. The separator joins their names.
    Flattened {
        /// The separator.
        separator: String,
    },
    /// Columns are fields of structs. The separator divides their names.
    Unflattened {
        /// The separator.
        separator: String,
    },
}

impl ColumnNesting {
    /// The nesting of two options, of which each has a separator where it is given.
    ///
    /// # Errors
    /// `Usage` where both are given, or a separator is empty.
    pub fn from_options(flatten: Option<String>, unflatten: Option<String>) -> Result<Self> {
        let checked = |separator: String, option: &OptionDefinition| match separator.is_empty() {
            true => Err(Error::usage(format!("{option}: the separator is empty"))
                .advice(format!("give one, such as \"_\", or none for {DEFAULT_SEPARATOR:?}"))),
            false => Ok(separator),
        };
        Ok(match (flatten, unflatten) {
            (None, None) => Self::Unchanged,
            (Some(separator), None) => Self::Flattened { separator: checked(separator, &FLATTEN)? },
            (None, Some(separator)) => Self::Unflattened { separator: checked(separator, &UNFLATTEN)? },
            (Some(_), Some(_)) => {
                return Err(Error::usage(format!("{FLATTEN} and {UNFLATTEN} are opposites, and both are given"))
                    .advice("give one of them, or write a file in between"));
            }
        })
    }

    /// The columns of a source's schema with this nesting.
    ///
    /// # Errors
    /// Those of [`NestedProjection::new`].
    pub(crate) fn schema(&self, source: &SchemaRef) -> Result<SchemaRef> {
        let projection = NestedProjection::new(self, source)?;
        Ok(projection.map_or_else(|| Arc::clone(source), |projection| Arc::clone(projection.schema())))
    }

    /// Batches with this nesting.
    ///
    /// # Errors
    /// Those of [`NestedProjection::new`].
    pub(crate) fn batches(&self, source: Batches) -> Result<Batches> {
        Ok(match NestedProjection::new(self, source.schema())? {
            None => source,
            Some(projection) => projection.project(source),
        })
    }

    /// The columns of a source without structs whose rows, with this nesting, have the columns of a target.
    pub(crate) fn source_fields(&self, target: &Schema) -> Vec<FieldRef> {
        match self {
            Self::Unchanged | Self::Flattened { .. } => target.fields().to_vec(),
            Self::Unflattened { separator } => {
                leaves(target, separator).into_iter().map(|leaf| Arc::new(leaf.field)).collect()
            }
        }
    }
}

/// The last step of a scan: its columns with another nesting.
#[derive(Debug, Clone)]
pub(crate) struct NestedProjection {
    nesting: ColumnNesting,
    input: SchemaRef,
    columns: NestedColumns,
}

#[derive(Debug, Clone)]
enum NestedColumns {
    Flattened(FlattenedColumns),
    Unflattened(UnflattenedColumns),
}

impl NestedProjection {
    /// The projection of batches with this schema; `None` where they stay as they are.
    ///
    /// # Errors
    /// `Usage` for two columns that would get the same name; `Unsupported` for types that are nested too deep.
    pub(crate) fn new(nesting: &ColumnNesting, input: &SchemaRef) -> Result<Option<Self>> {
        let columns = match nesting {
            ColumnNesting::Unchanged => return Ok(None),
            ColumnNesting::Flattened { separator } => {
                check_nesting(input)?;
                NestedColumns::Flattened(FlattenedColumns::new(input, separator)?)
            }
            ColumnNesting::Unflattened { separator } => {
                let columns = UnflattenedColumns::new(input, separator)?;
                check_nesting(columns.schema())?;
                NestedColumns::Unflattened(columns)
            }
        };
        let projection = Self { nesting: nesting.clone(), input: Arc::clone(input), columns };
        Ok(Some(projection).filter(|projection| projection.schema().fields() != input.fields()))
    }

    /// The columns of the result.
    pub(crate) fn schema(&self) -> &SchemaRef {
        match &self.columns {
            NestedColumns::Flattened(columns) => columns.schema(),
            NestedColumns::Unflattened(columns) => columns.schema(),
        }
    }

    /// The option.
    pub(crate) fn nesting(&self) -> &ColumnNesting {
        &self.nesting
    }

    /// The columns of the input that columns of the result are made of, in the order of the input.
    pub(crate) fn sources(&self, names: &[String]) -> Vec<String> {
        let mut positions: Vec<usize> = Vec::new();
        for name in names {
            let Ok(at) = self.schema().index_of(name) else { continue };
            match &self.columns {
                NestedColumns::Flattened(columns) => positions.extend(columns.source(at)),
                NestedColumns::Unflattened(columns) => columns.add_sources(at, &mut positions),
            }
        }
        positions.sort_unstable();
        positions.dedup();
        positions.into_iter().map(|at| self.input.field(at).name().clone()).collect()
    }

    /// Returns true if a column of the result is one of the input, unchanged.
    pub(crate) fn keeps(&self, name: &str) -> bool {
        let of = |schema: &Schema| schema.field_with_name(name).map(|field| field.data_type().clone()).ok();
        of(self.schema()).is_some_and(|found| of(&self.input) == Some(found))
    }

    /// The rows of these batches with the columns of the result.
    pub(crate) fn project(&self, batches: Batches) -> Batches {
        let projection = self.clone();
        Batches::new(Arc::clone(self.schema()), batches.map(move |batch| projection.project_batch(&batch?)))
    }

    fn project_batch(&self, batch: &RecordBatch) -> Result<RecordBatch> {
        match &self.columns {
            NestedColumns::Flattened(columns) => columns.project_batch(batch),
            NestedColumns::Unflattened(columns) => columns.project_batch(batch),
        }
    }
}

#[cfg(test)]
mod tests;
