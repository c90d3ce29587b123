//! A file of a version as the tasks of a scan get it.

use std::sync::Arc;

use arrow::datatypes::i256;
use delta_kernel::actions::deletion_vector::DeletionVectorDescriptor;
use lakerace_format::Constants;
use lakerace_format::predicate::Value;
use lakerace_io::{Error, Object, Result};
use serde::{Deserialize, Serialize};

use crate::kernel::error::from_kernel;
use crate::snapshot::columns::TableColumns;
use crate::snapshot::files::TableFile;
use crate::table::Table;

/// A file of a version with its data in the log, except for its statistics.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ScanFile {
    /// Its name in the log.
    pub path: String,
    /// Its size, as the log says.
    pub size_bytes: u64,
    /// Its rows, deleted ones included, where the log says so.
    rows: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    vector: Option<StatedVector>,
    /// The values of the partition columns.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    partition_values: Vec<Option<StatedValue>>,
}

/// A deletion vector, by the fields of the protocol.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct StatedVector {
    storage_type: String,
    path_or_inline_dv: String,
    offset: Option<i32>,
    size_in_bytes: i32,
    cardinality: i64,
}

/// A value of a partition column.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
enum StatedValue {
    Boolean(bool),
    /// A text, because no number of JSON is as wide.
    Integer(String),
    /// The bits, because JSON has no NaN.
    Float(u64),
    Bytes(Vec<u8>),
}

impl ScanFile {
    pub(crate) fn from_file(file: &TableFile) -> Self {
        let values = file.constants.as_ref().map(|constants| {
            let value = |name: &String| constants.get(name).and_then(|(_, value)| value).map(StatedValue::from_value);
            constants.fields().iter().map(|field| value(field.name())).collect()
        });
        Self {
            path: file.path.clone(),
            size_bytes: file.size_bytes,
            rows: file.rows,
            vector: file.vector.as_ref().map(StatedVector::from_descriptor),
            partition_values: values.unwrap_or_default(),
        }
    }

    /// Rows that are not deleted, where the log says so.
    pub(super) fn visible_rows(&self) -> Option<u64> {
        let hidden = self.vector.as_ref().map_or(0, |vector| vector.cardinality.max(0) as u64);
        Some(self.rows?.saturating_sub(hidden))
    }

    /// The file of a table with these columns. Sends no request.
    pub(super) fn open(
        &self,
        table: &Table,
        columns: &TableColumns,
        partition_columns: &[String],
    ) -> Result<TableFile> {
        let named = |error: Error| error.at(self.path.clone());
        let object = Object { size_bytes: Some(self.size_bytes), ..table.object(&self.path)? };
        let vector = self.vector.as_ref().map(StatedVector::open).transpose().map_err(named)?;
        let constants = match partition_columns {
            [] => None,
            names => Some(Arc::new(self.constants(names, columns).map_err(named)?)),
        };
        Ok(TableFile {
            path: self.path.clone(),
            object,
            size_bytes: self.size_bytes,
            // Nothing that is read depends on its age.
            modified: 0,
            vector,
            constants,
            statistics: None,
            rows: self.rows,
        })
    }

    fn constants(&self, names: &[String], columns: &TableColumns) -> Result<Constants> {
        if names.len() != self.partition_values.len() {
            return Err(Error::internal("a file of the scan has values of other partition columns"));
        }
        let schema = columns.schema.schema();
        let constant = |(name, value): (&String, &Option<StatedValue>)| {
            let field = schema.field_with_name(name).map_err(Error::unexpected)?;
            Ok((field.clone(), value.as_ref().map(StatedValue::value).transpose()?))
        };
        Ok(Constants::new(names.iter().zip(&self.partition_values).map(constant).collect::<Result<Vec<_>>>()?))
    }
}

impl StatedVector {
    fn from_descriptor(vector: &DeletionVectorDescriptor) -> Self {
        Self {
            storage_type: vector.storage_type.to_string(),
            path_or_inline_dv: vector.path_or_inline_dv.clone(),
            offset: vector.offset,
            size_in_bytes: vector.size_in_bytes,
            cardinality: vector.cardinality,
        }
    }

    fn open(&self) -> Result<DeletionVectorDescriptor> {
        let kind = self.storage_type.parse().map_err(from_kernel)?;
        let vector = DeletionVectorDescriptor::try_new(
            kind,
            self.path_or_inline_dv.as_str(),
            self.offset,
            self.size_in_bytes,
            self.cardinality,
        );
        vector.map_err(from_kernel)
    }
}

impl StatedValue {
    fn from_value(value: &Value) -> Self {
        match value {
            Value::Boolean(is_true) => Self::Boolean(*is_true),
            Value::Integer(number) => Self::Integer(number.to_string()),
            Value::Float(number) => Self::Float(number.to_bits()),
            Value::Bytes(bytes) => Self::Bytes(bytes.clone()),
        }
    }

    fn value(&self) -> Result<Value> {
        Ok(match self {
            Self::Boolean(is_true) => Value::Boolean(*is_true),
            Self::Integer(text) => {
                let number = i256::from_string(text);
                Value::Integer(number.ok_or_else(|| Error::internal(format!("{text:?} is not a whole number")))?)
            }
            Self::Float(bits) => Value::Float(f64::from_bits(*bits)),
            Self::Bytes(bytes) => Value::Bytes(bytes.clone()),
        })
    }
}
