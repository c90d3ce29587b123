//! The columns of a version: as batches have them, and as its files do.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::datatypes::{DataType, Field, FieldRef, Schema};
use delta_kernel::engine::arrow_conversion::TryIntoArrow;
use delta_kernel::schema::StructType;
use delta_kernel::table_features::ColumnMappingMode;
use lakerace_format::{FindBy, TableSchema, map_inner_fields};
use lakerace_io::{Error, Result};

use crate::kernel::error::from_kernel;
use crate::write::TargetColumn;

/// The metadata of a field that has its id in Parquet files.
pub(crate) const FIELD_ID: &str = "PARQUET:field_id";

/// The columns of a version.
#[derive(Debug)]
pub(crate) struct TableColumns {
    /// The columns as the Parquet source takes them.
    pub schema: Arc<TableSchema>,
    /// The columns as the table's schema has them: with plain texts where batches have views.
    logical: Schema,
    /// The tree with the names that files and statistics have.
    stored: Schema,
    find_by: FindBy,
}

impl TableColumns {
    pub fn new(logical: &StructType, mode: ColumnMappingMode) -> Result<Self> {
        let arrow = |schema: &StructType| -> Result<Schema> {
            schema.try_into_arrow().map_err(|e| Error::unsupported("the table's schema").because(e))
        };
        let stored = arrow(&logical.make_physical(mode).map_err(from_kernel)?)?;
        let stored = Schema::new(stored.fields().iter().map(with_field_ids).collect::<Vec<_>>());
        let logical = Schema::new(arrow(logical)?.fields().iter().map(Self::plain).collect::<Vec<_>>());
        let find_by = match mode {
            ColumnMappingMode::Id => FindBy::Id,
            ColumnMappingMode::Name | ColumnMappingMode::None => FindBy::Name,
        };
        let schema = Arc::new(TableSchema::new(logical.clone(), stored.clone(), find_by)?);
        Ok(Self { schema, logical, stored, find_by })
    }

    /// A field without the metadata that only the log needs; the names of extension types stay.
    pub fn plain(field: &FieldRef) -> FieldRef {
        keeping(field, &|key| key.starts_with("ARROW:extension"))
    }

    /// The columns in the types of the table's schema.
    pub fn logical(&self) -> &Schema {
        &self.logical
    }

    /// The columns with the names that files and statistics have.
    pub fn stored(&self) -> &Schema {
        &self.stored
    }

    /// The columns in these types, and after them further ones, which files have by the same names.
    pub fn with_more(&self, logical: &Schema) -> Result<TableSchema> {
        let more = logical.fields().iter().skip(self.stored.fields().len());
        let stored = Schema::new(self.stored.fields().iter().chain(more).cloned().collect::<Vec<_>>());
        TableSchema::new(logical.clone(), stored, self.find_by)
    }

    /// All columns, as a write needs them.
    pub fn targets(&self) -> Vec<TargetColumn> {
        let pair = |(logical, stored): (&FieldRef, &FieldRef)| TargetColumn {
            logical: Arc::clone(logical),
            stored: Arc::clone(stored),
        };
        self.logical.fields().iter().zip(self.stored.fields()).map(pair).collect()
    }

    /// The names that a column, or a field of a struct column, has in files and statistics; `None` where there is none.
    pub fn stored_path(&self, path: &[String]) -> Option<Vec<&str>> {
        let (mut logical, mut stored) = (self.schema.schema().fields(), self.stored.fields());
        let mut names = Vec::with_capacity(path.len());
        for (depth, name) in path.iter().enumerate() {
            let at = logical.iter().position(|field| field.name() == name)?;
            names.push(stored.get(at)?.name().as_str());
            match (logical[at].data_type(), stored[at].data_type()) {
                (DataType::Struct(inner), DataType::Struct(stored_inner)) => {
                    (logical, stored) = (inner, stored_inner);
                }
                _ if depth + 1 < path.len() => return None,
                _ => {}
            }
        }
        Some(names)
    }
}

/// A field as files have it: with the ids by which its columns are found, and no other metadata.
pub(crate) fn with_field_ids(field: &FieldRef) -> FieldRef {
    keeping(field, &|key| key == FIELD_ID)
}

/// A field with only this metadata, at every level.
fn keeping(field: &FieldRef, keep: &dyn Fn(&str) -> bool) -> FieldRef {
    let below = |field: &FieldRef| keeping(field, keep);
    let data_type = map_inner_fields(field.data_type(), below).unwrap_or_else(|| field.data_type().clone());
    let kept = field.metadata().iter().filter(|(key, _)| keep(key));
    let metadata: HashMap<String, String> = kept.map(|(key, value)| (key.clone(), value.clone())).collect();
    Arc::new(Field::new(field.name(), data_type, field.is_nullable()).with_metadata(metadata))
}
