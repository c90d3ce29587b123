//! Columns under construction: JSON values become typed arrays, exactly or not at all.

mod nested;
mod scalar;

use std::sync::Arc;

use arrow::array::ArrayRef;
use arrow::datatypes::{DataType, Field};
use lakerace_io::Result;
use lakerace_io::option::{COLUMNS, SCHEMA};

use super::fault::{LineFault, shown};
use crate::extension_types::is_uuid;
use crate::json::{Json, JsonKind};
use crate::schema_text::{UUID, print_type};
use crate::text::infer;

pub(super) use nested::{ExtraFields, ObjectColumns};

/// The result of an append.
pub(super) type Append = std::result::Result<(), LineFault>;

/// The origin of a column's type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ColumnOrigin {
    /// The user's schema: texts take any value verbatim, and numbers may be quoted.
    Given,
    /// The schema of the table that the rows go to.
    Expected,
    /// The types of the first rows.
    Inferred,
}

/// A column's values so far. After a fault, all that is appended to it for this row is of no use, and `finish` cuts it off.
trait JsonColumn: Send {
    /// Appends a value other than null.
    fn append(&mut self, json: &mut Json<'_>, kind: JsonKind, place: &ColumnPath) -> Append;

    fn append_null(&mut self);

    /// The array of the first `rows` rows.
    fn finish(&mut self, rows: usize) -> Result<ArrayRef>;
}

/// The name of a column, or of values within one, in messages.
#[derive(Debug, Clone)]
struct ColumnPath {
    /// Such as `a.b[]`.
    path: String,
    data_type: DataType,
    is_uuid: bool,
    origin: ColumnOrigin,
    is_nullable: bool,
}

/// A column with its place.
pub(super) struct ColumnSlot {
    place: ColumnPath,
    column: Box<dyn JsonColumn>,
    missing: MissingValue,
}

/// The values of fields that objects lack.
pub(super) trait AbsentFields: Send + Sync {
    /// Returns true if a column may have a value other than null.
    fn has_value(&self, column: usize) -> bool;

    /// The value of a column as JSON; `None` for null.
    fn value(&self, column: usize) -> Result<Option<Arc<[u8]>>>;
}

/// The value of objects that lack a field.
#[derive(Clone)]
enum MissingValue {
    Null,
    /// JSON.
    Known(Arc<[u8]>),
    /// The value of this column, which is asked for when an object lacks it.
    Asked(Arc<dyn AbsentFields>, usize),
}

impl ColumnSlot {
    /// # Errors
    /// `Unsupported` for types that JSON has no values for.
    pub fn new(field: &Field, path: String, origin: ColumnOrigin) -> Result<Self> {
        let data_type = field.data_type().clone();
        let place = ColumnPath { path, data_type, is_uuid: is_uuid(field), origin, is_nullable: field.is_nullable() };
        let column = match nested::column(&place)? {
            Some(column) => column,
            None => scalar::column(&place)?,
        };
        Ok(Self { place, column, missing: MissingValue::Null })
    }

    /// Appends the next value.
    pub fn append(&mut self, json: &mut Json<'_>) -> Append {
        match json.kind()? {
            JsonKind::Null if self.place.is_nullable => {
                json.null()?;
                self.column.append_null();
                Ok(())
            }
            JsonKind::Null => Err(self.place.null(json.position())),
            kind => self.column.append(json, kind, &self.place),
        }
    }

    /// Appends the value of a field that the object lacks, which ends at this byte.
    pub fn append_missing(&mut self, at: usize) -> Append {
        if let MissingValue::Asked(fields, column) = &self.missing {
            let value = fields.value(*column).map_err(|error| LineFault::Place(Box::new(error)))?;
            self.missing = value.map_or(MissingValue::Null, MissingValue::Known);
        }
        if let MissingValue::Known(value) = &self.missing {
            let value = Arc::clone(value);
            return self.append(&mut Json::new(&value));
        }
        if !self.place.is_nullable {
            return Err(self.place.null(at));
        }
        self.column.append_null();
        Ok(())
    }

    /// The array of the first `rows` rows.
    pub fn finish(&mut self, rows: usize) -> Result<ArrayRef> {
        self.column.finish(rows)
    }
}

impl ColumnPath {
    #[cold]
    fn null(&self, at: usize) -> LineFault {
        let message = format!("null in {:?}, which is declared `not null`", self.path);
        LineFault::value(at, message, format!("declare it nullable in {SCHEMA}"))
    }

    /// The fault of a next value, of any kind, that the column can't hold.
    #[cold]
    fn misfit(&self, json: &Json<'_>) -> LineFault {
        let mut rest = json.clone();
        // Blanks may precede it.
        let kind = rest.kind();
        let at = rest.position();
        let (written, value) = match kind.and_then(|_| rest.skip()) {
            Ok(value) => (value, shown(value)),
            Err(error) => return LineFault::Json(error),
        };
        let data_type = if self.is_uuid { UUID.to_owned() } else { print_type(&self.data_type) };
        let from = match self.origin {
            ColumnOrigin::Given => "",
            ColumnOrigin::Expected => ", which the table has",
            ColumnOrigin::Inferred => ", which was inferred from the first rows",
        };
        let is_float = self.data_type == DataType::Float64 && self.origin == ColumnOrigin::Inferred;
        let problem = match is_float && infer::loses_digits(written) {
            true => "has more digits than a value of type",
            false => "is not a value of type",
        };
        let message = format!("{:?}: {value} {problem} {data_type}{from}", self.path);
        let top = self.path.split(['.', '[']).next().unwrap_or_default();
        let advice =
            format!("give {top:?} a type that can hold all of its values with {SCHEMA}, or exclude it with {COLUMNS}");
        LineFault::value(at, message, advice)
    }
}
