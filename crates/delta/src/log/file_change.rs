//! A file that an entry of the log adds or removes, as its rows are read.

use std::collections::HashMap;
use std::sync::Arc;

use delta_kernel::actions::deletion_vector::DeletionVectorDescriptor;
use lakerace_format::Constants;
use lakerace_io::{Error, Object, Result};
use serde::Deserialize;

use crate::kernel::error::from_kernel;
use crate::snapshot::files::{TableFile, row_count};
use crate::table::Table;

/// A file that a version adds or removes, or a change file.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", expecting = "an object")]
pub(crate) struct FileChange {
    pub path: String,
    pub partition_values: Option<HashMap<String, Option<String>>>,
    size: Option<i64>,
    modification_time: Option<i64>,
    data_change: Option<bool>,
    deletion_vector: Option<ChangedVector>,
    stats: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", expecting = "an object")]
struct ChangedVector {
    storage_type: String,
    path_or_inline_dv: String,
    offset: Option<i32>,
    size_in_bytes: i32,
    cardinality: i64,
}

impl FileChange {
    /// Returns true if rows were added or removed, not only moved.
    pub fn changes_data(&self) -> bool {
        self.data_change.unwrap_or(true)
    }

    /// The deletion vector that the file has in the version.
    pub fn vector(&self) -> Result<Option<DeletionVectorDescriptor>> {
        let Some(vector) = &self.deletion_vector else { return Ok(None) };
        let kind = vector.storage_type.parse().map_err(|_| {
            Error::corrupt(format!("a deletion vector with the storage type {:?}", vector.storage_type))
        })?;
        let target = vector.path_or_inline_dv.as_str();
        DeletionVectorDescriptor::try_new(kind, target, vector.offset, vector.size_in_bytes, vector.cardinality)
            .map(Some)
            .map_err(from_kernel)
    }

    /// The file of a table, with the columns that all of its rows share.
    pub fn table_file(&self, table: &Table, constants: Constants) -> Result<TableFile> {
        let size = self.size.and_then(|size| u64::try_from(size).ok());
        Ok(TableFile {
            path: self.path.clone(),
            object: Object { size_bytes: size, ..table.object(&self.path)? },
            size_bytes: size.unwrap_or(0),
            modified: self.modification_time.unwrap_or(0),
            vector: self.vector()?,
            constants: Some(Arc::new(constants)),
            statistics: None,
            rows: self.stats.as_deref().and_then(row_count),
        })
    }
}
