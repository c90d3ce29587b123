//! The columns that a write fills, of a table that exists and of a new one.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::datatypes::Schema;
use delta_kernel::engine::arrow_conversion::{TryIntoArrow, TryIntoKernel};
use delta_kernel::expressions::{ColumnName, Scalar};
use delta_kernel::schema::{DataType as KernelType, StructField, StructType};
use delta_kernel::table_features::TableFeature;
use delta_kernel::transaction::WriteState;
use lakerace_io::{Error, Result};

use crate::kernel::error::guarded;
use crate::snapshot::Snapshot;
use crate::snapshot::columns::{TableColumns, with_field_ids};
use crate::write::fit::{TargetColumn, TargetColumns};

impl TargetColumns {
    /// The columns of a version.
    pub fn from_snapshot(snapshot: &Snapshot) -> Self {
        existing_targets(snapshot, snapshot.columns(), Vec::new())
    }
}

/// The columns of a table that exists.
pub(super) fn existing_targets(
    snapshot: &Snapshot,
    columns: &TableColumns,
    new_statistics: Vec<ColumnName>,
) -> TargetColumns {
    let partition_columns = snapshot.partition_columns();
    let configuration = snapshot.kernel().table_configuration();
    let materialized = configuration.is_feature_supported(&TableFeature::MaterializePartitionColumns);
    let targets = columns.targets();
    let is_partition = |target: &TargetColumn| partition_columns.contains(target.logical.name());
    let of_name = |name: &String| targets.iter().find(|target| target.logical.name() == name).cloned();
    TargetColumns {
        partitions: partition_columns.iter().filter_map(of_name).collect(),
        data: targets.iter().filter(|target| materialized || !is_partition(target)).cloned().collect(),
        new_statistics,
        has_vectors: configuration.is_feature_supported(&TableFeature::DeletionVectors),
    }
}

/// The columns of a table to be created. The write context of any partition describes how they are stored.
pub(super) fn new_targets(schema: &Schema, partition_by: &[String], state: &Arc<WriteState>) -> Result<TargetColumns> {
    let kernel: StructType = schema.try_into_kernel().map_err(Error::unexpected)?;
    let mut builder = state.write_context_builder();
    if !partition_by.is_empty() {
        let any = |name: &String| {
            let field = kernel.field(name).ok_or_else(|| Error::internal(format!("there is no column {name:?}")))?;
            Ok((name.clone(), any_value(field)))
        };
        builder = builder.with_partition_values(partition_by.iter().map(any).collect::<Result<HashMap<_, _>>>()?);
    }
    let context = guarded(|| builder.build())?;
    let arrow = |schema: &StructType| -> Result<Schema> { schema.try_into_arrow().map_err(Error::unexpected) };
    let (logical, stored) = (arrow(context.logical_data_schema())?, arrow(context.physical_data_schema())?);
    if logical.fields().len() != stored.fields().len() {
        return Err(Error::unsupported("creating a table whose files contain its partition columns"));
    }
    let pair =
        |(logical, stored)| TargetColumn { logical: TableColumns::plain(logical), stored: with_field_ids(stored) };
    let of_name = |name: &String| {
        let field = schema.field_with_name(name).map_err(Error::unexpected)?;
        let logical = TableColumns::plain(&Arc::new(field.clone()));
        Ok(TargetColumn { stored: Arc::clone(&logical), logical })
    };
    Ok(TargetColumns {
        data: logical.fields().iter().zip(stored.fields()).map(pair).collect(),
        partitions: partition_by.iter().map(of_name).collect::<Result<_>>()?,
        new_statistics: Vec::new(),
        has_vectors: false,
    })
}

/// A value that a column can have: null where it may be.
fn any_value(field: &StructField) -> Scalar {
    let values = ["0", "true", "1970-01-01", "1970-01-01 00:00:00"];
    match field.data_type() {
        KernelType::Primitive(primitive) if !field.is_nullable() => {
            values.iter().find_map(|value| primitive.parse_scalar(value).ok())
        }
        _ => None,
    }
    .unwrap_or_else(|| Scalar::Null(field.data_type().clone()))
}
