//! Schemas of versions next to that of a stream.

use delta_kernel::schema::{DataType, StructField, StructType};

use crate::changes::narrower_part;
use crate::snapshot::partitions::stored_name;

/// The part of a version's schema that a stream's columns lack: a column, a field, or a type that holds other values.
/// `None` where there is none.
pub(super) fn unread_field(version: &StructType, stream: &StructType) -> Option<String> {
    unread_within(version, stream, "")
}

fn unread_within(version: &StructType, stream: &StructType, path: &str) -> Option<String> {
    version.fields().find_map(|field| {
        let name = format!("{path}{}", field.name());
        match stream.fields().find(|other| stored_name(other) == stored_name(field)) {
            None => Some(format!("the column {name:?}")),
            Some(other) if other.name() != field.name() => {
                Some(format!("the name {name:?} of the column {path}{:?}", other.name()))
            }
            Some(other) => unread_type(field, other, &name),
        }
    })
}

fn unread_type(field: &StructField, stream: &StructField, name: &str) -> Option<String> {
    if let Some((from, to)) = narrower_part(field.data_type(), stream.data_type()) {
        return Some(format!("{from} as the type of {name:?}, and not {to}"));
    }
    unread_part(field.data_type(), stream.data_type(), name)
}

fn unread_part(version: &DataType, stream: &DataType, name: &str) -> Option<String> {
    match (version, stream) {
        (DataType::Struct(version), DataType::Struct(stream)) => unread_within(version, stream, &format!("{name}.")),
        (DataType::Array(version), DataType::Array(stream)) => {
            unread_part(version.element_type(), stream.element_type(), name)
        }
        (DataType::Map(version), DataType::Map(stream)) => unread_part(version.key_type(), stream.key_type(), name)
            .or_else(|| unread_part(version.value_type(), stream.value_type(), name)),
        _ => None,
    }
}
