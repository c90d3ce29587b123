//! The values that the places of files give to columns that the lines of other files have.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};

use arrow::datatypes::{Field, SchemaRef};
use arrow::util::display::array_value_to_string;
use bytes::Bytes;
use lakerace_io::option::SCHEMA;
use lakerace_io::{Error, Result};

use super::column::{AbsentFields, ColumnOrigin, ColumnSlot};
use super::sample::fields_of_lines;
use crate::input::Constants;
use crate::json::{Json, write_text};
use crate::schema_text::{print_field_type, quoted_name};
use crate::text::MAX_SAMPLE_BYTES;

/// The columns that are read from lines.
#[derive(Debug, Clone)]
pub(super) struct LineColumns {
    pub schema: SchemaRef,
    pub origins: Vec<ColumnOrigin>,
}

/// The files of a read whose places give values to columns of lines.
pub(super) struct FilePlaces {
    pub columns: Arc<LineColumns>,
    pub urls: Arc<[String]>,
    /// The constants of files, by the file's number.
    pub constants: Vec<Option<Arc<Constants>>>,
    /// The number of rows that are a file's first ones.
    pub front_rows: usize,
}

impl FilePlaces {
    /// Returns true if the place of a file has a value for a column that is read from lines.
    pub fn has_values(&self, file: usize) -> bool {
        let Some(constants) = self.constants.get(file).and_then(Option::as_ref) else { return false };
        let mut names = self.columns.schema.fields().iter().map(|field| field.name());
        names.any(|name| has_value(constants, name))
    }

    /// Returns true if lines of this number and length are all that says which columns a file has.
    pub fn is_front(&self, lines: usize, bytes: usize) -> bool {
        lines >= self.front_rows || bytes >= MAX_SAMPLE_BYTES
    }

    /// The place of a file that starts with these lines.
    pub fn file_place(&self, file: usize, front: Vec<Bytes>) -> Option<Arc<FilePlace>> {
        Some(Arc::new(FilePlace {
            columns: Arc::clone(&self.columns),
            url: self.urls.get(file)?.clone(),
            constants: self.constants.get(file).cloned().flatten()?,
            front_rows: self.front_rows,
            front: Mutex::new(FrontFields::Unread(front)),
        }))
    }
}

fn has_value(constants: &Constants, name: &str) -> bool {
    constants.get(name).is_some_and(|(_, value)| value.is_some())
}

/// The values of one file's place. Its first lines are examined when a line lacks a column for the first time.
#[derive(Debug)]
pub(super) struct FilePlace {
    columns: Arc<LineColumns>,
    url: String,
    constants: Arc<Constants>,
    front_rows: usize,
    front: Mutex<FrontFields>,
}

#[derive(Debug)]
enum FrontFields {
    Unread(Vec<Bytes>),
    Known(HashSet<String>),
}

impl FilePlace {
    /// Returns true if the first rows of the file have the column.
    fn has_field(&self, name: &str) -> bool {
        let mut front = self.front.lock().unwrap_or_else(PoisonError::into_inner);
        if let FrontFields::Unread(blocks) = &*front {
            *front = FrontFields::Known(fields_of_lines(blocks, MAX_SAMPLE_BYTES, self.front_rows));
        }
        matches!(&*front, FrontFields::Known(fields) if fields.contains(name))
    }
}

impl AbsentFields for FilePlace {
    fn has_value(&self, column: usize) -> bool {
        has_value(&self.constants, self.columns.schema.field(column).name())
    }

    /// In a file whose first rows have a column, a line without it has null.
    fn value(&self, column: usize) -> Result<Option<Arc<[u8]>>> {
        let field = self.columns.schema.field(column);
        if self.has_field(field.name()) {
            return Ok(None);
        }
        json_text(&self.constants, field, self.columns.origins[column]).map_err(|error| error.at(&self.url))
    }
}

/// A place's value as JSON that the column takes; `None` for null.
fn json_text(constants: &Constants, field: &Field, origin: ColumnOrigin) -> Result<Option<Arc<[u8]>>> {
    let name = field.name();
    if !has_value(constants, name) {
        return Ok(None);
    }
    let Some(array) = constants.array(name, 1)? else { return Ok(None) };
    let plain = array_value_to_string(&array, 0).map_err(Error::unexpected)?;
    let mut quoted = Vec::with_capacity(plain.len() + 2);
    write_text(&mut quoted, plain.as_bytes());
    for text in [quoted.as_slice(), plain.as_bytes()] {
        let mut json = Json::new(text);
        if ColumnSlot::new(field, name.clone(), origin)?.append(&mut json).is_ok() && json.is_at_end() {
            return Ok(Some(text.into()));
        }
    }
    let data_type = print_field_type(field);
    let message = format!("the folder's value of {name:?}, {plain:?}, is not a value of type {data_type}");
    Err(Error::invalid(message)
        .advice(format!("give a type that holds all values with {}", SCHEMA.to(format!("{} utf8", quoted_name(name))))))
}
