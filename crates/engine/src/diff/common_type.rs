//! The type in which the values of two columns are shown together.

use std::sync::Arc;

use arrow::compute::can_cast_types;
use arrow::datatypes::{DataType, Field, FieldRef, Fields};
use lakerace_format::is_uuid;

/// The type to which the values of both types are cast. `None`: there is none, as of a struct and a number.
///
/// Lists, structs and maps stay what they are, down to types that differ: those are text, or bytes where one of them is.
/// Names of the fields of lists and maps, and whether a field can be null, are no difference.
pub(super) fn common_type(first: &DataType, second: &DataType) -> Option<DataType> {
    let common = merged(first, second)?;
    (can_cast_types(first, &common) && can_cast_types(second, &common)).then_some(common)
}

fn merged(first: &DataType, second: &DataType) -> Option<DataType> {
    if first == second {
        return Some(first.clone());
    }
    match (plain(first), plain(second)) {
        (DataType::Struct(first), DataType::Struct(second)) => merged_structs(first, second).map(DataType::Struct),
        (DataType::Map(first, is_sorted), DataType::Map(second, _)) => {
            let (DataType::Struct(one), DataType::Struct(two)) = (first.data_type(), second.data_type()) else {
                return None;
            };
            let [(key, value), (other_key, other_value)] = [pair(one)?, pair(two)?];
            let data_type = |one: &FieldRef, two: &FieldRef| merged(one.data_type(), two.data_type());
            let key = Field::clone(key).with_data_type(data_type(key, other_key)?);
            let value = Field::clone(value).with_data_type(data_type(value, other_value)?).with_nullable(true);
            let entries = DataType::Struct(Fields::from(vec![key, value]));
            Some(DataType::Map(Arc::new(Field::clone(first).with_data_type(entries)), *is_sorted))
        }
        (first, second) => match (item(first), item(second)) {
            (Some(one), Some(two)) => {
                let values = merged(one.data_type(), two.data_type())?;
                let field = Arc::new(Field::clone(one).with_data_type(values).with_nullable(true));
                let is_large = is_large(first) || is_large(second);
                Some(if is_large { DataType::LargeList(field) } else { DataType::List(field) })
            }
            (None, None) if first.is_nested() || second.is_nested() => null_or(first, second),
            (None, None) => Some(merged_values(first, second)),
            _ => null_or(first, second),
        },
    }
}

/// Returns true if a field has UUIDs where the other one has texts, or fields within it do.
pub(super) fn has_texts_of_uuids(field: &Field, other: &Field) -> bool {
    if is_uuid(field) {
        return plain(other.data_type()).is_string();
    }
    let (own, others) = (plain(field.data_type()), plain(other.data_type()));
    match (item(own), item(others)) {
        (Some(own), Some(other)) => has_texts_of_uuids(own, other),
        _ => match (own, others) {
            (DataType::Struct(own), DataType::Struct(others)) => {
                own.len() == others.len() && own.iter().zip(others).any(|(own, other)| has_texts_of_uuids(own, other))
            }
            (DataType::Map(own, _), DataType::Map(other, _)) => has_texts_of_uuids(own, other),
            _ => false,
        },
    }
}

/// A column of nulls alone has the other's type.
fn null_or(first: &DataType, second: &DataType) -> Option<DataType> {
    match (first, second) {
        (DataType::Null, other) | (other, DataType::Null) => Some(other.clone()),
        _ => None,
    }
}

/// The fields of the first struct, in the types of both; `None` where the names differ.
fn merged_structs(first: &Fields, second: &Fields) -> Option<Fields> {
    if first.len() != second.len() {
        return None;
    }
    let fields = first.iter().zip(second).map(|(one, two)| {
        let data_type = merged(one.data_type(), two.data_type())?;
        (one.name() == two.name()).then(|| Field::clone(one).with_data_type(data_type).with_nullable(true))
    });
    fields.collect::<Option<Vec<_>>>().map(Fields::from)
}

fn merged_values(first: &DataType, second: &DataType) -> DataType {
    if first == second {
        return first.clone();
    }
    let holds = |is: fn(&DataType) -> bool| is(first) || is(second);
    // Bytes need not be text. Of bytes and a number, there is none.
    if holds(is_bytes) { DataType::BinaryView } else { DataType::Utf8View }
}

/// The type of the values: encodings are no difference.
fn plain(data_type: &DataType) -> &DataType {
    match data_type {
        DataType::Dictionary(_, values) => plain(values),
        DataType::RunEndEncoded(_, values) => plain(values.data_type()),
        other => other,
    }
}

fn pair(entries: &Fields) -> Option<(&FieldRef, &FieldRef)> {
    entries.first().zip(entries.get(1))
}

fn item(data_type: &DataType) -> Option<&FieldRef> {
    match data_type {
        DataType::List(field)
        | DataType::LargeList(field)
        | DataType::ListView(field)
        | DataType::LargeListView(field)
        | DataType::FixedSizeList(field, _) => Some(field),
        _ => None,
    }
}

fn is_large(data_type: &DataType) -> bool {
    matches!(data_type, DataType::LargeList(_) | DataType::LargeListView(_))
}

fn is_bytes(data_type: &DataType) -> bool {
    use DataType::{Binary, BinaryView, FixedSizeBinary, LargeBinary};
    matches!(data_type, Binary | LargeBinary | BinaryView | FixedSizeBinary(_))
}

#[cfg(test)]
mod tests;
