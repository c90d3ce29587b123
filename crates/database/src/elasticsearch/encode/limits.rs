//! The longest texts that fields find.

use arrow::datatypes::DataType;
use serde_json::{Map, Value};

use super::cells::Cells;
use crate::elasticsearch::mapping::{find, ignore_above};

/// The limits of a field and of those in it.
#[derive(Debug, Clone)]
pub(super) enum Limits {
    /// It finds all texts.
    None,
    /// It finds no longer ones.
    Text(Limit),
    /// Those of the fields of an object, in their order.
    Fields(Vec<Self>),
}

/// The longest text that a field finds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Limit {
    /// Its length in UTF-16 units.
    pub most_units: usize,
    /// The field, with the objects that it is in.
    pub path: String,
}

impl Limits {
    /// Those of a field of this type, as it is mapped.
    pub fn new(path: &str, data_type: &DataType, mapped: Option<&Value>) -> Self {
        let Some(mapped) = mapped else { return Self::None };
        match data_type {
            DataType::List(item) | DataType::LargeList(item) | DataType::FixedSizeList(item, _) => {
                Self::new(path, item.data_type(), Some(mapped))
            }
            DataType::Map(entries, _) => Self::new(path, entries.data_type(), Some(mapped)),
            DataType::Dictionary(_, values) => Self::new(path, values, Some(mapped)),
            DataType::Struct(fields) => {
                let empty = Map::new();
                let properties = mapped["properties"].as_object().unwrap_or(&empty);
                let limits = fields.iter().map(|field| {
                    let path = format!("{path}.{}", field.name());
                    Self::new(&path, field.data_type(), find(properties, field.name()))
                });
                let limits: Vec<Self> = limits.collect();
                if limits.iter().all(|limit| matches!(limit, Self::None)) { Self::None } else { Self::Fields(limits) }
            }
            _ => match ignore_above(mapped) {
                Some(most_units) => Self::Text(Limit { most_units, path: path.to_owned() }),
                None => Self::None,
            },
        }
    }

    /// The limit that a text of the row's value passes, if one does.
    pub fn passed(&self, cells: &Cells, row: usize) -> Option<&Limit> {
        if matches!(self, Self::None) || !cells.is_valid(row) {
            return None;
        }
        match (self, cells) {
            (_, Cells::List(array, items)) => {
                let offsets = array.value_offsets();
                (offsets[row] as usize..offsets[row + 1] as usize).find_map(|item| self.passed(items, item))
            }
            (Self::Fields(limits), Cells::Struct(_, fields)) => {
                limits.iter().zip(fields).find_map(|(limits, (_, cells))| limits.passed(cells, row))
            }
            (Self::Text(limit), cells) => {
                let is_long =
                    |text: &str| text.len() > limit.most_units && text.encode_utf16().count() > limit.most_units;
                cells.text(row).is_some_and(is_long).then_some(limit)
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests;
