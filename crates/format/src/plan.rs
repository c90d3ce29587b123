//! The plan of a read, as a value: printable, priced, serialisable, made without reading data.

use std::collections::BTreeMap;

use arrow::datatypes::SchemaRef;
use lakerace_io::{Error, RequestPlan, Result};
use serde::{Deserialize, Serialize};

use crate::expr::Expr;

/// Paths of names that lead to fields of structs, by the column that contains them. Lists and maps on the way have no
/// names: a path continues in the items of a list, and in the values of a map.
pub type FieldPaths = BTreeMap<String, Vec<Vec<String>>>;

/// A caller's request to a [`crate::Source`].
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ReadRequest {
    /// Columns in the order wanted; `None`: all. A name that does not exist is an error that names the nearest.
    pub columns: Option<Vec<String>>,
    /// The fields that the caller uses of some of these columns. Others may be left out of the batches, by sources that need not
    /// read them then. No path: the caller asks only where the column is null.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub fields: FieldPaths,
    /// Only rows for which this is true. May use columns that are not in `columns`.
    pub filter: Option<Expr>,
    /// At most this many rows, the first ones.
    pub limit: Option<u64>,
    /// Rows in a batch at most; `None`: the source's own number.
    pub batch_rows: Option<usize>,
    /// The version of a table that has versions; `None`: the one that was opened. Plans always name theirs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<u64>,
}

impl ReadRequest {
    /// Fails for batches without rows.
    ///
    /// # Errors
    /// `Usage`.
    pub fn check_batch_rows(&self) -> Result<()> {
        match self.batch_rows {
            Some(0) => Err(Error::usage("a batch needs at least one row").advice("give a number of rows above 0")),
            _ => Ok(()),
        }
    }
}

/// The plan of a read. Made by [`crate::Source::plan`], run by [`crate::Source::read`].
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ReadPlan {
    /// The request.
    pub request: ReadRequest,
    /// The schema of the batches.
    #[serde(with = "schema_serde")]
    pub schema: SchemaRef,
    /// The files, those that are pruned whole included.
    pub files: Vec<FilePlan>,
    /// The data requests over all files. Footers were read for planning and are not among them.
    pub requests: RequestPlan,
}

/// A file of a plan.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FilePlan {
    /// Path or URL.
    pub url: String,
    /// Its size.
    pub size_bytes: u64,
    /// Its tag when planned.
    pub e_tag: Option<String>,
    /// Row groups (Parquet), stripes (ORC) or byte ranges (CSV).
    pub units: Vec<UnitPlan>,
}

/// A row group, stripe or byte range.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct UnitPlan {
    /// Its number in the file, from 0.
    pub index: usize,
    /// Its rows, where known.
    pub rows: Option<u64>,
    /// Rows that neither statistics of pages or row groups exclude nor a deletion vector hides, where known and fewer than
    /// `rows`.
    pub rows_after_pages: Option<u64>,
    /// The row groups of a stripe, where some of them are not read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub row_groups: Option<RowGroupsPlan>,
    /// The way in which its rows are found, such as `found by index changed_at`, if a source has a choice.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub row_lookup: Option<String>,
    /// Bytes wanted of it.
    pub wanted_bytes: u64,
    /// Why nothing of it is read, such as `statistics: l_quantity max 50 < 60`; `None`: it is read.
    pub pruned: Option<String>,
}

/// The row groups of an ORC stripe, some of which are read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RowGroupsPlan {
    /// The number of row groups in the stripe.
    pub all: u64,
    /// The number of them that are read.
    pub kept: u64,
    /// Why the first of the others is not, such as `row group statistics: id max 9999 < 20000`.
    pub reason: String,
}

impl ReadPlan {
    /// The rows that are left after pruning, where all are known: an upper bound of the rows that will be read.
    pub fn rows_at_most(&self) -> Option<u64> {
        let kept = self.files.iter().flat_map(|f| &f.units).filter(|u| u.pruned.is_none());
        kept.map(|u| u.rows_after_pages.or(u.rows)).sum()
    }

    /// Splits the plan into up to `n` plans that together do the same (without a limit), each serialisable and
    /// readable elsewhere, cut at file and unit borders and balanced by wanted bytes. The parts are runs in the plan's
    /// order. They have no requests of their own: the source that reads a part plans them.
    pub fn split(&self, n: usize) -> Vec<ReadPlan> {
        self::split::split(self, n)
    }
}

/// Arrow schemas as base64.
mod schema_serde {
    use std::sync::Arc;

    use arrow::datatypes::SchemaRef;
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    use crate::schema_bytes::{schema_from_base64, schema_to_base64};

    pub fn serialize<S: Serializer>(schema: &SchemaRef, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&schema_to_base64(schema))
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<SchemaRef, D::Error> {
        let text = String::deserialize(deserializer)?;
        schema_from_base64(&text).map(Arc::new).map_err(D::Error::custom)
    }
}

pub(crate) mod split;
#[cfg(test)]
mod tests;
