//! The partition columns of versions of one schema, as columns of the last version, and their values in files.

use std::collections::HashMap;

use arrow::compute::cast;
use arrow::datatypes::{Field, Schema};
use delta_kernel::SnapshotRef;
use delta_kernel::schema::{DataType as KernelType, MetadataValue, PrimitiveType, StructField, StructType};
use lakerace_format::predicate::Value;
use lakerace_io::{Error, ErrorKind, Result};

use crate::kernel::error::from_kernel;

/// The metadata of a field that has its name in files.
const PHYSICAL_NAME: &str = "delta.columnMapping.physicalName";

/// The partition columns that the last version has, too.
pub(crate) struct Partitions(Vec<PartitionColumn>);

struct PartitionColumn {
    /// As the log names it.
    name: String,
    /// Its type in these versions.
    kind: PrimitiveType,
    /// The column of the last version.
    field: Field,
}

impl Partitions {
    /// The partitions of a version; `last` and `columns` are the schema of the last one, for the kernel and for
    /// readers.
    pub fn new(version: &SnapshotRef, last: &StructType, columns: &Schema) -> Result<Self> {
        let names = version.table_configuration().logical_partition_columns();
        Self::of_columns(&version.schema(), names, last, columns)
    }

    /// The partition columns of these names in a schema; the rest is as in [`Self::new`].
    pub fn of_columns(own: &StructType, names: &[String], last: &StructType, columns: &Schema) -> Result<Self> {
        let column = |name: &String| {
            let missing = || Error::corrupt(format!("the partition column {name:?} is not in the schema"));
            let field = own.field(name).ok_or_else(missing)?;
            let KernelType::Primitive(kind) = field.data_type() else {
                return Err(Error::unsupported(format!("the partition column {name:?} is of a nested type")));
            };
            let stored = stored_name(field).to_owned();
            let at = last.fields().position(|last| stored_name(last) == stored);
            Ok(at.map(|at| PartitionColumn { name: stored, kind: kind.clone(), field: columns.field(at).clone() }))
        };
        let columns = names.iter().map(column);
        Ok(Self(columns.filter_map(Result::transpose).collect::<Result<_>>()?))
    }

    /// The columns with the values that a file has, which the log names by texts. One that it does not name is null.
    pub fn of_file(&self, values: &HashMap<String, Option<String>>) -> Result<Vec<(Field, Option<Value>)>> {
        let value = |column: &PartitionColumn| {
            let named = |error: Error| error.at(format!("the partition column {:?}", column.name));
            let text = values.get(&column.name).and_then(Option::as_deref);
            Ok((column.field.clone(), text.map(|text| column.value(text)).transpose().map_err(named)?.flatten()))
        };
        self.0.iter().map(value).collect()
    }
}

impl PartitionColumn {
    fn value(&self, text: &str) -> Result<Option<Value>> {
        let value = self.kind.parse_scalar(text).and_then(|scalar| scalar.to_array(1)).map_err(from_kernel)?;
        let value = cast(&value, self.field.data_type()).map_err(|e| Error::from_source(ErrorKind::Unsupported, e))?;
        Ok(Value::from_array(&value, 0))
    }
}

/// The name that a field has in files.
pub(crate) fn stored_name(field: &StructField) -> &str {
    match field.metadata.get(PHYSICAL_NAME) {
        Some(MetadataValue::String(name)) => name,
        _ => field.name(),
    }
}
