//! The schema of a table that knows its columns better than its files do.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use arrow::datatypes::{DataType, Field, FieldRef, Fields, Schema, SchemaRef};
use lakerace_io::{Error, Result};

use crate::conform::check;
use crate::field_positions::{FieldPositions, FindBy};
use crate::files::hidden_name;
use crate::input::Constants;
use crate::nested_types::inner_fields;
use crate::projection::key_and_value;
use crate::variant::is_variant;

/// The columns of a table, and how they are found in its files: by name or by field id, at every level of nesting.
/// A column that a file lacks reads as null there; narrower types are widened.
#[derive(Debug)]
pub struct TableSchema {
    /// The columns as batches have them.
    logical: SchemaRef,
    /// The columns, each with the name and the field id (`PARQUET:field_id`) that it has in files.
    stored: SchemaRef,
    find_by: FindBy,
    /// Positions of the columns by name, once one is looked for.
    positions: OnceLock<HashMap<String, usize>>,
}

impl TableSchema {
    /// Both schemas have the same tree. Root strings and bytes become views, as the sources of this crate give them.
    pub fn new(logical: Schema, stored: Schema, find_by: FindBy) -> Result<Self> {
        if logical.fields().len() != stored.fields().len() {
            return Err(Error::internal("a table has other columns than its files are declared to have"));
        }
        let logical = crate::parquet::with_root_views(&logical).unwrap_or_else(|| Arc::new(logical));
        Ok(Self { logical, stored: Arc::new(stored), find_by, positions: OnceLock::new() })
    }

    /// The schema of the table's batches.
    pub fn schema(&self) -> &SchemaRef {
        &self.logical
    }

    pub(crate) fn find_by(&self) -> FindBy {
        self.find_by
    }

    /// A part of the column that has its name; `None` if the table has no such column.
    pub(crate) fn part(&self, part: &Field) -> Option<TablePart> {
        let index = || self.logical.fields().iter().enumerate().map(|(at, field)| (field.name().clone(), at)).collect();
        let at = *self.positions.get_or_init(index).get(part.name())?;
        let (logical, stored) = (self.logical.fields().get(at)?, self.stored.fields().get(at)?);
        Some(TablePart::from_types(logical.data_type(), stored.data_type(), part.data_type()))
    }

    /// The schema of a file with the table's names for its columns, in the file's order and with the file's types.
    /// Columns that the table does not have get names that no column can have. An error if a type does not fit.
    pub(crate) fn of_file(&self, file: &Schema, constants: Option<&Constants>) -> Result<SchemaRef> {
        if self.find_by == FindBy::Id && !file.fields().is_empty() && !file.fields().iter().any(|field| has_id(field)) {
            return Err(Error::invalid("its columns have no field ids, by which the table would find them")
                .advice("the table's columns are mapped by id: only writers that support this can add files to it"));
        }
        let positions = FieldPositions::new(file.fields());
        let mut names: Vec<Option<&str>> = vec![None; file.fields().len()];
        for (column, stored) in self.logical.fields().iter().zip(self.stored.fields()) {
            if constants.is_some_and(|constants| constants.get(column.name()).is_some()) {
                continue;
            }
            let Some(root) = positions.of_stored(stored, self.find_by) else { continue };
            check(file.field(root).data_type(), column.data_type(), stored.data_type(), self.find_by)
                .map_err(|error| error.at(format!("column {:?}", column.name())))?;
            names[root] = Some(column.name());
        }
        let named = |(root, field): (usize, &FieldRef)| {
            let name = names[root].map_or_else(|| hidden_name(root), str::to_owned);
            Arc::new(field.as_ref().clone().with_name(name))
        };
        Ok(Arc::new(Schema::new(file.fields().iter().enumerate().map(named).collect::<Vec<FieldRef>>())))
    }
}

/// The part of a column that is read from files, in both trees: of structs, only the wanted fields. Variants are whole,
/// because they are made of all their parts in the files.
#[derive(Debug)]
pub(crate) struct TablePart {
    /// The type in batches.
    pub logical: DataType,
    /// The type in files.
    pub stored: DataType,
}

impl TablePart {
    fn from_types(logical: &DataType, stored: &DataType, part: &DataType) -> Self {
        use DataType as T;
        let whole = || Self { logical: logical.clone(), stored: stored.clone() };
        match (logical, stored, part) {
            (T::Struct(fields), T::Struct(stored), T::Struct(wanted)) if !is_variant(stored) => {
                Self::of_struct((fields, stored), wanted).unwrap_or_else(whole)
            }
            (T::List(item), T::List(stored), T::List(part)) => {
                let (item, stored) = Self::of_field((item, stored), part);
                Self { logical: T::List(item), stored: T::List(stored) }
            }
            (T::Map(entries, sorted), T::Map(stored, stored_sorted), T::Map(part, _)) => {
                let pairs = [entries, stored, part].map(|entries| key_and_value(entries.data_type()));
                let [Some([key, value]), Some([stored_key, stored_value]), Some([_, part])] = pairs else {
                    return whole();
                };
                let (value, stored_value) = Self::of_field((value, stored_value), part);
                let map = |entries: &FieldRef, key: &FieldRef, value, sorted| {
                    let pair = T::Struct(vec![Arc::clone(key), value].into());
                    T::Map(Arc::new(entries.as_ref().clone().with_data_type(pair)), sorted)
                };
                let logical = map(entries, key, value, *sorted);
                Self { logical, stored: map(stored, stored_key, stored_value, *stored_sorted) }
            }
            _ => whole(),
        }
    }

    /// `None` where all fields are read.
    fn of_struct((logical, stored): (&Fields, &Fields), wanted: &Fields) -> Option<Self> {
        let kept = logical.iter().zip(stored).filter_map(|both| {
            let part = wanted.iter().find(|part| part.name() == both.0.name())?;
            Some(Self::of_field(both, part))
        });
        let (logical, stored): (Vec<FieldRef>, Vec<FieldRef>) = kept.unzip();
        let stored = Fields::from(stored);
        // A struct that looks like a variant without its other fields is not one.
        let is_part = !stored.is_empty() && !is_variant(&stored);
        is_part.then(|| Self { logical: DataType::Struct(logical.into()), stored: DataType::Struct(stored) })
    }

    fn of_field((logical, stored): (&FieldRef, &FieldRef), part: &Field) -> (FieldRef, FieldRef) {
        let of = Self::from_types(logical.data_type(), stored.data_type(), part.data_type());
        let typed = |field: &FieldRef, data_type| Arc::new(field.as_ref().clone().with_data_type(data_type));
        (typed(logical, of.logical), typed(stored, of.stored))
    }
}

fn has_id(field: &Field) -> bool {
    field.metadata().contains_key(parquet::arrow::PARQUET_FIELD_ID_META_KEY)
        || inner_fields(field.data_type()).into_iter().flatten().any(|inner| has_id(inner))
}

#[cfg(test)]
mod tests;
