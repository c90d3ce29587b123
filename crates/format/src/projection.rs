//! Parts of columns: some fields of a struct, without the others. Structs may lie within lists and be the values of maps.

use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, AsArray, GenericListArray, MapArray, OffsetSizeTrait, RecordBatch, RecordBatchOptions, StructArray,
};
use arrow::compute::cast;
use arrow::datatypes::{DataType, FieldRef, Fields, Schema, SchemaRef};
use arrow::error::ArrowError;
use lakerace_io::{Error, Result};

use crate::field_positions::{FieldPositions, FindBy};
use crate::nested_types::inner_fields;
use crate::variant::is_variant;

/// The wanted part of a column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ColumnPart {
    /// All of it.
    Whole,
    /// These fields of a struct, by name; if empty, any field from which the null flags follow.
    Fields(Vec<(String, ColumnPart)>),
}

impl ColumnPart {
    /// The field that a path of names leads to; the column itself if the path is empty.
    pub fn of_path(path: &[String]) -> Self {
        match path.split_first() {
            None => Self::Whole,
            Some((name, below)) => Self::Fields(vec![(name.clone(), Self::of_path(below))]),
        }
    }

    /// The fields that these paths of names lead to, through any lists and maps between.
    pub fn of_paths(paths: &[Vec<String>]) -> Self {
        let mut part = Self::nulls();
        paths.iter().for_each(|path| part.join(Self::of_path(path)));
        part
    }

    /// The smallest part from which the null flags follow.
    pub fn nulls() -> Self {
        Self::Fields(Vec::new())
    }

    /// The null flags of the field that a path of names leads to.
    pub fn nulls_of_path(path: &[String]) -> Self {
        match path.split_first() {
            None => Self::nulls(),
            Some((name, below)) => Self::Fields(vec![(name.clone(), Self::nulls_of_path(below))]),
        }
    }

    /// Adds the parts that `other` wants.
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
        let Self::Fields(wanted) = self else { return whole.clone() };
        match whole {
            DataType::Struct(fields) => DataType::Struct(fields_of(wanted, fields)),
            DataType::List(item) => DataType::List(self.of_field(item)),
            DataType::LargeList(item) => DataType::LargeList(self.of_field(item)),
            DataType::Map(entries, sorted) => match key_and_value(entries.data_type()) {
                Some([key, value]) => {
                    let pair = DataType::Struct(vec![Arc::clone(key), self.of_field(value)].into());
                    DataType::Map(Arc::new(entries.as_ref().clone().with_data_type(pair)), *sorted)
                }
                None => whole.clone(),
            },
            _ => whole.clone(),
        }
    }
}

/// The wanted fields of a struct, in their own order: all if it lacks one of them, and one if none is wanted.
fn fields_of(wanted: &[(String, ColumnPart)], fields: &Fields) -> Fields {
    if wanted.is_empty() {
        let least = least_of(fields).and_then(|at| fields.get(at));
        return least.map(|field| ColumnPart::nulls().of_field(field)).into_iter().collect();
    }
    if wanted.iter().any(|(name, _)| !fields.iter().any(|field| field.name() == name)) {
        return fields.clone();
    }
    let part = |field: &FieldRef| {
        let (_, part) = wanted.iter().find(|(name, _)| name == field.name())?;
        Some(part.of_field(field))
    };
    fields.iter().filter_map(part).collect()
}

/// The place of the field that takes the least to read.
fn least_of(fields: &Fields) -> Option<usize> {
    (0..fields.len()).min_by_key(|at| about_bytes(fields[*at].data_type()))
}

/// Approximate size of a value, in bytes.
fn about_bytes(data_type: &DataType) -> usize {
    const OF_TEXT: usize = 64;
    const OF_LIST: usize = 1024;
    match data_type {
        DataType::Boolean | DataType::Null => 1,
        DataType::Struct(fields) => fields.iter().map(|field| about_bytes(field.data_type())).min().unwrap_or(OF_LIST),
        other if other.is_nested() => OF_LIST,
        other => other.primitive_width().unwrap_or(OF_TEXT),
    }
}

/// The fields of a map's entries, which are identified by position.
pub(crate) fn key_and_value(entries: &DataType) -> Option<[&FieldRef; 2]> {
    match entries {
        DataType::Struct(fields) => match fields.as_ref() {
            [key, value] => Some([key, value]),
            _ => None,
        },
        _ => None,
    }
}

/// The schema with values in place of dictionaries, in columns and in fields of structs, lists and maps. Rows that are brought into
/// another order have it: a dictionary of all of them may have more values than its keys can count, or be larger than the rows.
pub fn without_dictionaries(schema: &Schema) -> Schema {
    let fields: Fields = schema.fields().iter().map(|field| of_type(field, &decoded_type(field.data_type()))).collect();
    Schema::new_with_metadata(fields, schema.metadata().clone())
}

fn decoded_type(data_type: &DataType) -> DataType {
    let decoded = |field: &FieldRef| of_type(field, &decoded_type(field.data_type()));
    match data_type {
        DataType::Dictionary(_, values) => decoded_type(values),
        DataType::Struct(fields) => DataType::Struct(fields.iter().map(decoded).collect()),
        DataType::List(item) => DataType::List(decoded(item)),
        DataType::LargeList(item) => DataType::LargeList(decoded(item)),
        DataType::Map(entries, is_sorted) => match key_and_value(entries.data_type()) {
            Some([key, value]) => {
                let pair = vec![Arc::clone(key), decoded(value)].into();
                DataType::Map(of_type(entries, &DataType::Struct(pair)), *is_sorted)
            }
            None => data_type.clone(),
        },
        other => other.clone(),
    }
}

/// The first columns of a batch, those of a schema, without the fields of structs that it lacks, and with values where it has no
/// dictionary. No other value is copied.
///
/// # Errors
/// `Internal` for a batch whose columns do not begin with those of the schema.
pub fn narrowed_batch(batch: &RecordBatch, schema: &SchemaRef) -> Result<RecordBatch> {
    let columns = schema.fields().iter().zip(batch.columns()).map(|(field, column)| narrow(column, field.data_type()));
    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    RecordBatch::try_new_with_options(Arc::clone(schema), columns.collect::<Result<_>>()?, &options).map_err(unfit)
}

/// The array without the fields of structs that `to` lacks, and with values where `to` has no dictionary.
pub(crate) fn narrow(array: &ArrayRef, to: &DataType) -> Result<ArrayRef> {
    match (array.data_type(), to) {
        (own, to) if own == to => Ok(Arc::clone(array)),
        (DataType::Dictionary(_, values), to) if !matches!(to, DataType::Dictionary(..)) => {
            narrow(&cast(array, values).map_err(unfit)?, to)
        }
        (DataType::Struct(own), DataType::Struct(wanted)) => narrow_struct(array.as_struct(), own, wanted),
        (DataType::List(own), DataType::List(item)) => narrow_list::<i32>(array, own, item),
        (DataType::LargeList(own), DataType::LargeList(item)) => narrow_list::<i64>(array, own, item),
        (DataType::Map(own, sorted), DataType::Map(entries, _)) => {
            match (key_and_value(own.data_type()), key_and_value(entries.data_type())) {
                (Some(own_pair), Some([_, value])) => narrow_map(array.as_map(), (own, own_pair), value, *sorted),
                _ => Ok(Arc::clone(array)),
            }
        }
        _ => Ok(Arc::clone(array)),
    }
}

fn narrow_struct(whole: &StructArray, own: &Fields, wanted: &Fields) -> Result<ArrayRef> {
    let (mut fields, mut children) = (Vec::with_capacity(wanted.len()), Vec::with_capacity(wanted.len()));
    for (field, child) in own.iter().zip(whole.columns()) {
        if let Some(part) = wanted.iter().find(|part| part.name() == field.name()) {
            let child = narrow(child, part.data_type())?;
            fields.push(of_type(field, child.data_type()));
            children.push(child);
        }
    }
    let narrowed = StructArray::try_new_with_length(fields.into(), children, whole.nulls().cloned(), whole.len());
    Ok(Arc::new(narrowed.map_err(unfit)?))
}

fn narrow_list<O: OffsetSizeTrait>(array: &ArrayRef, own: &FieldRef, item: &FieldRef) -> Result<ArrayRef> {
    let whole = array.as_list::<O>();
    let values = narrow(whole.values(), item.data_type())?;
    let field = of_type(own, values.data_type());
    let narrowed = GenericListArray::<O>::try_new(field, whole.offsets().clone(), values, whole.nulls().cloned());
    Ok(Arc::new(narrowed.map_err(unfit)?))
}

fn narrow_map(
    whole: &MapArray,
    (own, [key, own_value]): (&FieldRef, [&FieldRef; 2]),
    value: &FieldRef,
    is_sorted: bool,
) -> Result<ArrayRef> {
    let values = narrow(whole.values(), value.data_type())?;
    let pair: Fields = vec![Arc::clone(key), of_type(own_value, values.data_type())].into();
    let entries = StructArray::try_new(pair, vec![Arc::clone(whole.keys()), values], None).map_err(unfit)?;
    let field = of_type(own, entries.data_type());
    let (offsets, nulls) = (whole.offsets().clone(), whole.nulls().cloned());
    Ok(Arc::new(MapArray::try_new(field, offsets, entries, nulls, is_sorted).map_err(unfit)?))
}

fn of_type(field: &FieldRef, data_type: &DataType) -> FieldRef {
    match field.data_type() == data_type {
        true => Arc::clone(field),
        false => Arc::new(field.as_ref().clone().with_data_type(data_type.clone())),
    }
}

fn unfit(error: ArrowError) -> Error {
    Error::unexpected(error)
}

/// Calls `each` with every leaf of `whole`, numbered from `next` on, that `part` has as well; a leaf is what Parquet
/// stores as a separate column. For a struct without such leaves, `each` gets those of one field. `find_by` determines
/// how the fields of `part` are found among those of `whole`.
pub(crate) fn leaves_of_part(
    whole: &DataType,
    part: &DataType,
    find_by: FindBy,
    next: &mut usize,
    each: &mut dyn FnMut(usize),
) {
    match (whole, part) {
        // The parts of a variant have a meaning only together.
        (DataType::Struct(fields), DataType::Struct(wanted)) if !is_variant(wanted) => {
            let positions = FieldPositions::new(fields);
            let mut parts: Vec<Option<&FieldRef>> = vec![None; fields.len()];
            for part in wanted {
                if let Some(at) = positions.of_stored(part, find_by) {
                    parts[at] = Some(part);
                }
            }
            // Any field has the null flags of the struct.
            let least = parts.iter().all(Option::is_none).then(|| least_of(fields)).flatten();
            for (at, (field, part)) in fields.iter().zip(&parts).enumerate() {
                match part {
                    None if least == Some(at) => {
                        let part = ColumnPart::nulls().of_type(field.data_type());
                        leaves_of_part(field.data_type(), &part, FindBy::Name, next, each);
                    }
                    Some(part) => leaves_of_part(field.data_type(), part.data_type(), find_by, next, each),
                    None => *next += leaf_count(field.data_type()),
                }
            }
        }
        (DataType::List(item) | DataType::LargeList(item), DataType::List(part) | DataType::LargeList(part)) => {
            leaves_of_part(item.data_type(), part.data_type(), find_by, next, each);
        }
        (DataType::Map(entries, _), DataType::Map(part, _)) => {
            match (key_and_value(entries.data_type()), key_and_value(part.data_type())) {
                (Some([key, value]), Some([_, part])) => {
                    all_leaves(key.data_type(), next, each);
                    leaves_of_part(value.data_type(), part.data_type(), find_by, next, each);
                }
                _ => all_leaves(whole, next, each),
            }
        }
        _ => all_leaves(whole, next, each),
    }
}

fn all_leaves(whole: &DataType, next: &mut usize, each: &mut dyn FnMut(usize)) {
    let count = leaf_count(whole);
    (*next..*next + count).for_each(each);
    *next += count;
}

/// The number of columns that Parquet stores for a column of this type.
pub(crate) fn leaf_count(data_type: &DataType) -> usize {
    inner_fields(data_type).map_or(1, |fields| fields.iter().map(|field| leaf_count(field.data_type())).sum())
}

#[cfg(test)]
mod tests;
