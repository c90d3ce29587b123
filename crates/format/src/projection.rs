//! Parts of columns: some fields of a struct, without the others.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, StructArray};
use arrow::datatypes::{DataType, FieldRef};
use lakerace_io::{Error, Result};

/// What is wanted of a column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Part {
    /// All of it.
    Whole,
    /// These fields of a struct, by name.
    Fields(Vec<(String, Part)>),
}

impl Part {
    /// The field that a path of names leads to; the column itself where there are none.
    pub fn of_path(path: &[String]) -> Self {
        match path.split_first() {
            None => Self::Whole,
            Some((name, below)) => Self::Fields(vec![(name.clone(), Self::of_path(below))]),
        }
    }

    /// Wants what `other` wants, too.
    pub fn join(&mut self, other: Self) {
        match (&mut *self, other) {
            (Self::Whole, _) => {}
            (_, Self::Whole) => *self = Self::Whole,
            (Self::Fields(fields), Self::Fields(others)) => {
                for (name, part) in others {
                    match fields.iter_mut().find(|(known, _)| *known == name) {
                        Some((_, known)) => known.join(part),
                        None => fields.push((name, part)),
                    }
                }
            }
        }
    }

    /// The column with this part of it alone, its fields in their own order.
    pub fn of_field(&self, whole: &FieldRef) -> FieldRef {
        match self {
            Self::Whole => Arc::clone(whole),
            Self::Fields(_) => Arc::new(whole.as_ref().clone().with_data_type(self.of_type(whole.data_type()))),
        }
    }

    fn of_type(&self, whole: &DataType) -> DataType {
        match (self, whole) {
            (Self::Fields(wanted), DataType::Struct(fields)) => {
                let part = |field: &FieldRef| {
                    let (_, part) = wanted.iter().find(|(name, _)| name == field.name())?;
                    Some(part.of_field(field))
                };
                DataType::Struct(fields.iter().filter_map(part).collect())
            }
            _ => whole.clone(),
        }
    }
}

/// The array without the fields of structs that `to` lacks. No value is copied.
pub(crate) fn narrow(array: &ArrayRef, to: &DataType) -> Result<ArrayRef> {
    let (DataType::Struct(own), DataType::Struct(wanted)) = (array.data_type(), to) else {
        return Ok(Arc::clone(array));
    };
    if own == wanted {
        return Ok(Arc::clone(array));
    }
    let whole = array.as_struct();
    let (mut fields, mut children) = (Vec::with_capacity(wanted.len()), Vec::with_capacity(wanted.len()));
    for (field, child) in own.iter().zip(whole.columns()) {
        if let Some(part) = wanted.iter().find(|part| part.name() == field.name()) {
            let child = narrow(child, part.data_type())?;
            fields.push(field.as_ref().clone().with_data_type(child.data_type().clone()));
            children.push(child);
        }
    }
    let narrowed = StructArray::try_new_with_length(fields.into(), children, whole.nulls().cloned(), whole.len());
    Ok(Arc::new(narrowed.map_err(|e| Error::internal(e.to_string()))?))
}

/// Calls `each` with every leaf of `whole`, numbered from `next` on, that `part` has as well; a leaf is what Parquet stores
/// as a column of its own. Of a struct that has none of them it is called with the first.
pub(crate) fn leaves_of_part(whole: &DataType, part: &DataType, next: &mut usize, each: &mut dyn FnMut(usize)) {
    match (whole, part) {
        (DataType::Struct(fields), DataType::Struct(wanted)) => {
            let (first, mut is_none) = (*next, true);
            for field in fields {
                match wanted.iter().find(|known| known.name() == field.name()) {
                    Some(known) => {
                        is_none = false;
                        leaves_of_part(field.data_type(), known.data_type(), next, each);
                    }
                    None => *next += leaf_count(field.data_type()),
                }
            }
            // Any leaf tells where the struct is null.
            if is_none && *next > first {
                each(first);
            }
        }
        _ => {
            let count = leaf_count(whole);
            (*next..*next + count).for_each(each);
            *next += count;
        }
    }
}

/// How many columns Parquet stores for a column of this type.
pub(crate) fn leaf_count(data_type: &DataType) -> usize {
    match data_type {
        DataType::Struct(fields) => fields.iter().map(|field| leaf_count(field.data_type())).sum(),
        DataType::List(item)
        | DataType::LargeList(item)
        | DataType::ListView(item)
        | DataType::LargeListView(item)
        | DataType::FixedSizeList(item, _)
        | DataType::Map(item, _) => leaf_count(item.data_type()),
        _ => 1,
    }
}

#[cfg(test)]
mod tests;
