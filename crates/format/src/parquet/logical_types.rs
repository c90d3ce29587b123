//! Logical types of Parquet that are no data types of Arrow: in Arrow, the metadata of a field has them.
//!
//! The parquet crate can do this as well (`arrow_canonical_extension_types`). But with it, files with a repeated column of
//! UUIDs or JSON outside of a list can't be opened, and the JSON of old writers (`ConvertedType`) is not recognized.

use std::sync::Arc;

use arrow::datatypes::{DataType, Field, FieldRef, Schema, SchemaRef};
use parquet::basic::{ConvertedType, LogicalType};
use parquet::errors::ParquetError;
use parquet::schema::types::{ColumnDescriptor, SchemaDescriptor, Type, TypePtr};

use super::footer::schema::{leaf_fields, with_leaf_fields};
use crate::extension_types::{has_uuid_values, is_json, mark_json, mark_uuid};

/// The key by which the parquet crate writes a time of day as one of UTC.
const UTC_TIME: &str = "adjusted_to_utc";

/// A logical type that a field's metadata has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum NotedType {
    Uuid,
    Json,
    UtcTime,
}

impl NotedType {
    fn of_column(column: &ColumnDescriptor) -> Option<Self> {
        match (column.logical_type_ref(), column.converted_type()) {
            (Some(LogicalType::Uuid), _) => Some(Self::Uuid),
            (Some(LogicalType::Json), _) | (None, ConvertedType::JSON) => Some(Self::Json),
            (Some(LogicalType::Time(time)), _) if time.is_adjusted_to_u_t_c => Some(Self::UtcTime),
            _ => None,
        }
    }

    /// Notes the type, unless the field has another extension type by the writer's Arrow schema.
    fn note(self, field: &mut Field) {
        let is_free = field.extension_type_name().is_none();
        match self {
            Self::Uuid if is_free && *field.data_type() == DataType::FixedSizeBinary(16) => mark_uuid(field),
            Self::Json if is_free && field.data_type().is_string() => mark_json(field),
            Self::UtcTime => {
                field.metadata_mut().insert(UTC_TIME.to_owned(), "true".to_owned());
            }
            Self::Uuid | Self::Json => {}
        }
    }
}

/// The schema of a file with the logical types of its leaf columns in the metadata of fields.
pub(super) fn with_noted_types(schema: &SchemaRef, stored: &SchemaDescriptor) -> SchemaRef {
    if stored.columns().iter().all(|column| NotedType::of_column(column).is_none()) {
        return Arc::clone(schema);
    }
    with_leaf_fields(schema, &|leaf, field| {
        let noted = stored.columns().get(leaf).and_then(|column| NotedType::of_column(column));
        let mut field = Arc::clone(field);
        if let Some(noted) = noted {
            noted.note(Arc::make_mut(&mut field));
        }
        field
    })
}

/// The types of a file to be written, with the logical types that the metadata of fields has. The parquet crate knows
/// the others.
pub(super) fn with_logical_types(stored: SchemaDescriptor, fields: &Schema) -> Result<SchemaDescriptor, ParquetError> {
    let logical_type = |leaf: FieldRef| match leaf.as_ref() {
        leaf if has_uuid_values(leaf) => Some(LogicalType::Uuid),
        leaf if is_json(leaf) => Some(LogicalType::Json),
        _ => None,
    };
    let types: Vec<_> = fields.fields().iter().flat_map(leaf_fields).map(logical_type).collect();
    if types.iter().all(Option::is_none) {
        return Ok(stored);
    }
    Ok(SchemaDescriptor::new(with_types(&stored.root_schema_ptr(), &mut types.into_iter())?))
}

/// A type with other logical types for its leaves, where they have one.
fn with_types(
    stored: &TypePtr,
    leaves: &mut dyn Iterator<Item = Option<LogicalType>>,
) -> Result<TypePtr, ParquetError> {
    let info = stored.get_basic_info();
    let id = info.has_id().then(|| info.id());
    let with_type = match stored.as_ref() {
        Type::GroupType { fields, .. } => {
            let fields = fields.iter().map(|field| with_types(field, leaves)).collect::<Result<_, _>>()?;
            let group = Type::group_type_builder(info.name())
                .with_converted_type(info.converted_type())
                .with_logical_type(info.logical_type_ref().cloned())
                .with_id(id)
                .with_fields(fields);
            // The root has no repetition.
            if info.has_repetition() { group.with_repetition(info.repetition()) } else { group }.build()?
        }
        Type::PrimitiveType { physical_type, type_length, .. } => {
            let Some(logical_type) = leaves.next().flatten() else { return Ok(Arc::clone(stored)) };
            Type::primitive_type_builder(info.name(), *physical_type)
                .with_repetition(info.repetition())
                .with_length(*type_length)
                .with_logical_type(Some(logical_type))
                .with_id(id)
                .build()?
        }
    };
    Ok(Arc::new(with_type))
}
