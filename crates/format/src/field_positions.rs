//! Positions of fields by name or id, in constant time each if there are many.

use std::cell::OnceCell;
use std::collections::{HashMap, HashSet};

use arrow::datatypes::{Field, Fields};
use parquet::arrow::PARQUET_FIELD_ID_META_KEY;

use crate::nested_types::inner_fields;

/// Up to this number, fields are searched one by one: an index of them would cost more than it saves.
const FEW_FIELDS: usize = 16;

/// Finds fields by their names. Of fields with the same name, the first one is found.
///
/// ```
/// use arrow::datatypes::{DataType, Field, Schema};
/// use lakerace_format::FieldPositions;
///
/// let schema = Schema::new(vec![Field::new("id", DataType::Int64, false), Field::new("name", DataType::Utf8, true)]);
/// let positions = FieldPositions::new(schema.fields());
/// assert_eq!(positions.of_name("name"), Some(1));
/// assert_eq!(positions.of_name("Name"), None);
/// ```
#[derive(Debug)]
pub struct FieldPositions<'a> {
    fields: &'a Fields,
    /// Made when the first one of many fields is looked for.
    names: OnceCell<HashMap<&'a str, usize>>,
    ids: OnceCell<HashMap<&'a str, usize>>,
}

impl<'a> FieldPositions<'a> {
    /// The positions of these fields.
    pub fn new(fields: &'a Fields) -> Self {
        Self { fields, names: OnceCell::new(), ids: OnceCell::new() }
    }

    /// The position of the field with a name.
    pub fn of_name(&self, name: &str) -> Option<usize> {
        self.of_key(&self.names, &|field| Some(field.name()), name)
    }

    /// The position of the field that is stored like `stored`.
    pub(crate) fn of_stored(&self, stored: &Field, find_by: FindBy) -> Option<usize> {
        match (find_by, field_id(stored)) {
            (FindBy::Id, Some(id)) => self.of_key(&self.ids, &field_id, id),
            // Columns that do not belong to the table have no id: change files have one.
            _ => self.of_name(stored.name()),
        }
    }

    fn of_key(
        &self,
        index: &OnceCell<HashMap<&'a str, usize>>,
        key_of: &dyn Fn(&'a Field) -> Option<&'a str>,
        key: &str,
    ) -> Option<usize> {
        if self.fields.len() <= FEW_FIELDS {
            return self.fields.iter().position(|field| key_of(field) == Some(key));
        }
        let make = || {
            let mut index = HashMap::with_capacity(self.fields.len());
            for (at, field) in self.fields.iter().enumerate() {
                if let Some(key) = key_of(field) {
                    index.entry(key).or_insert(at);
                }
            }
            index
        };
        index.get_or_init(make).get(key).copied()
    }
}

/// The key by which a column is found in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FindBy {
    /// Its stored name.
    Name,
    /// Its field id. Files without ids are refused.
    Id,
}

/// The field ids of columns. A file of other columns may have each of them once.
#[derive(Debug, Default)]
pub struct FieldIds {
    taken: HashSet<String>,
}

impl FieldIds {
    /// Takes the ids of a field and of those within it.
    pub fn take(&mut self, field: &Field) {
        self.taken.extend(field_id(field).map(str::to_owned));
        inner_fields(field.data_type()).into_iter().flatten().for_each(|inner| self.take(inner));
    }

    /// The field without its id if that is taken; takes its ids otherwise.
    #[must_use]
    pub fn of_copy(&mut self, mut field: Field) -> Field {
        if field_id(&field).is_some_and(|id| self.taken.contains(id)) {
            let mut metadata = field.metadata().clone();
            metadata.remove(PARQUET_FIELD_ID_META_KEY);
            field.set_metadata(metadata);
        }
        self.take(&field);
        field
    }
}

fn field_id(field: &Field) -> Option<&str> {
    field.metadata().get(PARQUET_FIELD_ID_META_KEY).map(String::as_str)
}

#[cfg(test)]
mod tests;
