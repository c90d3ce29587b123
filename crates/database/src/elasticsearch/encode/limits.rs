//! Values that a field can't search exactly: texts that are too long, and numbers and times with more digits than it
//! keeps.

use arrow::datatypes::DataType;
use lakerace_format::calendar::units_per_second;
use serde_json::{Map, Value};

use super::cells::CellColumn;
use crate::elasticsearch::date_format::DAY_NS;
use crate::elasticsearch::mapping::{find, ignore_above, kind_of};
use lakerace_io::option::ALLOW_NARROWING;

/// The limits of a field and of those in it.
#[derive(Debug, Clone)]
pub(super) enum FieldLimits {
    /// It finds all values.
    None,
    /// It does not find some.
    Value(FieldLimit),
    /// The limits of an object's fields, in their order.
    Fields(Vec<Self>),
}

/// The values that a field finds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FieldLimit {
    /// The field, with the objects that it is in.
    pub path: String,
    check: LimitCheck,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum LimitCheck {
    /// Texts of at most so many UTF-16 units.
    Units(usize),
    /// Numbers of 64 bits that stay distinct in 32 bits.
    Float32,
    /// Times of whole milliseconds.
    Milliseconds,
    /// Times from 1970 to 2262.
    Nanoseconds,
}

impl FieldLimit {
    /// Why a value is not found.
    pub fn reason(&self) -> String {
        let path = &self.path;
        match self.check {
            // Elasticsearch would report it only at the end, and OpenSearch never.
            LimitCheck::Units(most) => {
                format!("the text of field {path:?} is longer than its ignore_above, {most} characters")
            }
            LimitCheck::Float32 => {
                format!(
                    "the number of field {path:?} has more digits than its float holds (allow this with \
                     {ALLOW_NARROWING})"
                )
            }
            LimitCheck::Milliseconds => format!(
                "the time of field {path:?} has more digits than the milliseconds of its date (allow this with \
                 {ALLOW_NARROWING})"
            ),
            LimitCheck::Nanoseconds => format!(
                "the time of field {path:?} is outside of the years 1970 to 2262 of its date_nanos (a new index \
                 accepts it with ?date={path})"
            ),
        }
    }

    fn for_field(path: &str, data_type: &DataType, mapped: &Value) -> Option<Self> {
        let check = match (data_type, kind_of(mapped)) {
            (DataType::Float64, "float") => LimitCheck::Float32,
            (DataType::Timestamp(_, _) | DataType::Date64, "date") => LimitCheck::Milliseconds,
            (DataType::Timestamp(_, _) | DataType::Date64 | DataType::Date32, "date_nanos") => LimitCheck::Nanoseconds,
            _ => LimitCheck::Units(ignore_above(mapped)?),
        };
        Some(Self { path: path.to_owned(), check })
    }

    fn is_passed(&self, cells: &CellColumn, row: usize) -> bool {
        let nanoseconds = || match cells {
            CellColumn::Timestamp(array, unit, _) => {
                Some(i128::from(array.value(row)) * i128::from(1_000_000_000 / units_per_second(*unit)))
            }
            CellColumn::Date(array) => Some(i128::from(array.value(row)) * DAY_NS),
            _ => None,
        };
        match self.check {
            LimitCheck::Units(most) => {
                cells.text(row).is_some_and(|text| text.len() > most && text.encode_utf16().count() > most)
            }
            LimitCheck::Float32 => match cells {
                CellColumn::Float64(array) => !is_float32(array.value(row)),
                _ => false,
            },
            LimitCheck::Milliseconds => nanoseconds().is_some_and(|value| value % 1_000_000 != 0),
            LimitCheck::Nanoseconds => nanoseconds().is_some_and(|value| !(0..=i128::from(i64::MAX)).contains(&value)),
        }
    }
}

/// Returns true if a number is exact in 32 bits, or is the value of the shortest text of a number that is.
fn is_float32(value: f64) -> bool {
    let single = value as f32;
    f64::from(single) == value
        || !value.is_finite()
        || single.is_finite() && zmij::Buffer::new().format_finite(single).parse() == Ok(value)
}

impl FieldLimits {
    /// The limits of a field of this type with this mapping.
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
            _ => FieldLimit::for_field(path, data_type, mapped).map_or(Self::None, Self::Value),
        }
    }

    /// Takes away the limits of digits of the fields that may lose some.
    pub fn allow_narrowing(self, is_allowed: &impl Fn(&str) -> bool) -> Self {
        match self {
            Self::Value(FieldLimit { path, check: LimitCheck::Float32 | LimitCheck::Milliseconds })
                if is_allowed(&path) =>
            {
                Self::None
            }
            Self::Fields(fields) => {
                Self::Fields(fields.into_iter().map(|limits| limits.allow_narrowing(is_allowed)).collect())
            }
            other => other,
        }
    }

    /// The limit that a value of the row's passes, if one does.
    pub fn passed(&self, cells: &CellColumn, row: usize) -> Option<&FieldLimit> {
        if matches!(self, Self::None) || !cells.is_valid(row) {
            return None;
        }
        match (self, cells) {
            (_, CellColumn::List(array, items)) => {
                let offsets = array.value_offsets();
                (offsets[row] as usize..offsets[row + 1] as usize).find_map(|item| self.passed(items, item))
            }
            (Self::Fields(limits), CellColumn::Struct(_, fields)) => {
                limits.iter().zip(fields).find_map(|(limits, (_, cells))| limits.passed(cells, row))
            }
            (Self::Value(limit), cells) => limit.is_passed(cells, row).then_some(limit),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests;
