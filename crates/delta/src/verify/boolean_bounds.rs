//! The log's bounds of booleans: the kernel, which prunes by none, leaves them out of the statistics that it returns.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::array::{ArrayRef, BooleanArray};
use arrow::datatypes::{DataType, Fields};
use lakerace_io::Result;
use serde_json::Value;

use crate::snapshot::Snapshot;
use crate::snapshot::files::each_statistics;

/// Bounds of booleans, by the path of their file: the objects `minValues` and `maxValues` of its statistics.
pub(super) struct BooleanBounds(HashMap<String, [Value; 2]>);

impl BooleanBounds {
    /// Reads the log, if a column of the version has booleans.
    pub fn read(snapshot: &Snapshot) -> Result<Self> {
        let mut bounds = HashMap::new();
        if !has_booleans(snapshot.schema().fields()) {
            return Ok(Self(bounds));
        }
        each_statistics(snapshot, |path, text| {
            let Ok(mut statistics) = serde_json::from_str::<Value>(text) else { return };
            bounds.insert(path.to_owned(), ["minValues", "maxValues"].map(|kind| statistics[kind].take()));
        })?;
        Ok(Self(bounds))
    }

    /// A bound of a column in a file, as an array of one value; `None`: the log has none. `stored` is the column's path
    /// in statistics.
    pub fn bound(&self, file: &str, stored: &[&str], is_min: bool) -> Option<ArrayRef> {
        let [min, max] = self.0.get(file)?;
        let found = stored.iter().try_fold(if is_min { min } else { max }, |value, name| value.get(*name));
        let bound = found?.as_bool()?;
        Some(Arc::new(BooleanArray::from(vec![bound])))
    }
}

fn has_booleans(fields: &Fields) -> bool {
    fields.iter().any(|field| match field.data_type() {
        DataType::Boolean => true,
        DataType::Struct(inner) => has_booleans(inner),
        _ => false,
    })
}
