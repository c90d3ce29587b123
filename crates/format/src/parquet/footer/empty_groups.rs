//! Groups without fields in the schema of a file: some writers have them, and Arrow has no columns for them.

use std::sync::Arc;

use parquet::errors::ParquetError;
use parquet::file::metadata::{FileMetaData, ParquetMetaData};
use parquet::schema::types::{SchemaDescriptor, Type, TypePtr};

/// The footer without them. They have no leaf columns, so all others keep their numbers.
pub(crate) fn without_empty_groups(metadata: ParquetMetaData) -> Result<ParquetMetaData, ParquetError> {
    let file = metadata.file_metadata();
    let root = file.schema_descr().root_schema_ptr();
    if !has_empty_group(&root) || root.get_fields().is_empty() {
        return Ok(metadata);
    }
    let fields = filled(root.get_fields())?;
    let root = Type::group_type_builder(root.name()).with_fields(fields).build()?;
    let file = FileMetaData::new(
        file.version(),
        file.num_rows(),
        file.created_by().map(str::to_owned),
        file.key_value_metadata().map(|pairs| pairs.iter().filter(|pair| pair.key != ARROW_SCHEMA).cloned().collect()),
        Arc::new(SchemaDescriptor::new(Arc::new(root))),
        file.column_orders().cloned(),
    );
    Ok(ParquetMetaData::new(file, metadata.row_groups().to_vec()))
}

/// The key of a writer's Arrow schema, which has the groups as well.
const ARROW_SCHEMA: &str = parquet::arrow::ARROW_SCHEMA_META_KEY;

fn has_empty_group(group: &Type) -> bool {
    let fields = group.get_fields();
    fields.is_empty() || fields.iter().any(|field| field.is_group() && has_empty_group(field))
}

/// The fields, without groups that have none or none but such.
fn filled(fields: &[TypePtr]) -> Result<Vec<TypePtr>, ParquetError> {
    let mut kept = Vec::with_capacity(fields.len());
    for field in fields {
        if !field.is_group() || !has_empty_group(field) {
            kept.push(Arc::clone(field));
            continue;
        }
        let below = filled(field.get_fields())?;
        if below.is_empty() {
            continue;
        }
        let info = field.get_basic_info();
        let group = Type::group_type_builder(field.name())
            .with_repetition(info.repetition())
            .with_converted_type(info.converted_type())
            .with_logical_type(info.logical_type_ref().cloned())
            .with_id(info.has_id().then(|| info.id()))
            .with_fields(below);
        kept.push(Arc::new(group.build()?));
    }
    Ok(kept)
}
