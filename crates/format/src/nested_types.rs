//! The fields within nested types: those of structs, the elements of lists, and the entries of maps.

use std::sync::Arc;

use arrow::datatypes::{DataType, FieldRef};

/// The fields directly within a struct, a list of any layout or a map; `None` for a type without fields within. The
/// arrays of these fields are the children of an array of the type, in the same order.
pub fn inner_fields(data_type: &DataType) -> Option<&[FieldRef]> {
    use DataType as T;
    match data_type {
        T::Struct(fields) => Some(fields),
        T::List(item)
        | T::LargeList(item)
        | T::ListView(item)
        | T::LargeListView(item)
        | T::FixedSizeList(item, _)
        | T::Map(item, _) => Some(std::slice::from_ref(item)),
        _ => None,
    }
}

/// The type with other fields directly within it; `None` for a type without fields within.
///
/// ```
/// use std::sync::Arc;
///
/// use arrow::datatypes::{DataType, Field};
/// use lakerace_format::map_inner_fields;
///
/// let numbers = DataType::new_list(DataType::Int32, true);
/// let wider = map_inner_fields(&numbers, |item| Arc::new(Field::clone(item).with_data_type(DataType::Int64)));
/// assert_eq!(wider, Some(DataType::new_list(DataType::Int64, true)));
/// assert_eq!(map_inner_fields(&DataType::Int32, Arc::clone), None);
/// ```
pub fn map_inner_fields(data_type: &DataType, mut map: impl FnMut(&FieldRef) -> FieldRef) -> Option<DataType> {
    use DataType as T;
    Some(match data_type {
        T::Struct(fields) => T::Struct(fields.iter().map(map).collect()),
        T::List(item) => T::List(map(item)),
        T::LargeList(item) => T::LargeList(map(item)),
        T::ListView(item) => T::ListView(map(item)),
        T::LargeListView(item) => T::LargeListView(map(item)),
        T::FixedSizeList(item, size) => T::FixedSizeList(map(item), *size),
        T::Map(entries, is_sorted) => T::Map(map(entries), *is_sorted),
        _ => return None,
    })
}

/// The field with another type: the same field where the type is its own.
pub(crate) fn with_type(field: &FieldRef, data_type: DataType) -> FieldRef {
    match data_type == *field.data_type() {
        true => Arc::clone(field),
        false => Arc::new(field.as_ref().clone().with_data_type(data_type)),
    }
}

/// Returns true if `is_wanted` is true of a type or of one within it, at any level: also of the values of dictionaries
/// and runs, and of the members of unions.
pub(crate) fn contains_type(data_type: &DataType, is_wanted: &dyn Fn(&DataType) -> bool) -> bool {
    is_wanted(data_type)
        || match data_type {
            DataType::Dictionary(_, values) => contains_type(values, is_wanted),
            DataType::RunEndEncoded(_, values) => contains_type(values.data_type(), is_wanted),
            DataType::Union(members, _) => {
                members.iter().any(|(_, member)| contains_type(member.data_type(), is_wanted))
            }
            other => inner_fields(other).into_iter().flatten().any(|field| contains_type(field.data_type(), is_wanted)),
        }
}

#[cfg(test)]
mod tests;
