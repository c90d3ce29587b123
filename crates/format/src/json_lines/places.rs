//! The values that the places of files give to columns that the lines of other files have.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::datatypes::{Field, SchemaRef};
use arrow::util::display::array_value_to_string;
use lakerace_exec::map_slice;
use lakerace_io::option::SCHEMA;
use lakerace_io::{Error, Object, Result};

use super::column::{ColumnOrigin, ColumnSlot};
use super::layout::JsonLayout;
use super::sample::fields_of_front;
use crate::Constants;
use crate::json::{Json, write_text};
use crate::schema_text::{print_type, quoted_name};

/// Files of a remote store whose first rows are read together.
const REMOTE_FRONTS_AT_ONCE: usize = 32;

/// JSON values for lines that lack a column, by the column's position.
pub(super) type PlaceValues = HashMap<usize, Arc<[u8]>>;

/// The columns that are read from lines.
pub(super) struct LineColumns<'a> {
    pub schema: &'a SchemaRef,
    pub origins: &'a [ColumnOrigin],
}

impl LineColumns<'_> {
    /// The values of each file that is read, for the columns that its first rows lack: in a file whose first rows have a
    /// column, a line without it has null.
    ///
    /// # Errors
    /// `Invalid` for a value that does not have the column's type.
    pub fn place_values(
        &self,
        objects: &[Object],
        is_read: &[bool],
        constants: &[Option<Arc<Constants>>],
        (layout, rows): (JsonLayout, usize),
    ) -> Result<Vec<PlaceValues>> {
        let is_placed =
            |field: &Field| constants.iter().flatten().any(|constants| constants.get(field.name()).is_some());
        let fields = self.schema.fields().iter().map(AsRef::as_ref).enumerate();
        let placed: Vec<(usize, &Field)> = fields.filter(|(_, field)| is_placed(field)).collect();
        let Some(first) = objects.first().filter(|_| !placed.is_empty()) else {
            return Ok(vec![PlaceValues::new(); objects.len()]);
        };
        let at_once = if first.store.is_local() { first.store.job.options().threads } else { REMOTE_FRONTS_AT_ONCE };
        let files: Vec<_> = objects.iter().zip(is_read).zip(constants).collect();
        map_slice(&files, at_once, |((object, is_read), constants)| {
            let Some(constants) = constants.as_ref().filter(|_| **is_read) else { return Ok(PlaceValues::new()) };
            let known = fields_of_front(object, layout, rows)?;
            let lacked = placed.iter().filter(|(_, field)| !known.contains(field.name()));
            let value = |(at, field): &(usize, &Field)| {
                let text = json_text(constants, field, self.origins[*at]).map_err(|error| error.at(object.url()));
                text.map(|text| Some((*at, text?))).transpose()
            };
            lacked.filter_map(value).collect()
        })
    }
}

/// A place's value as JSON that the column takes; `None` for null.
fn json_text(constants: &Constants, field: &Field, origin: ColumnOrigin) -> Result<Option<Arc<[u8]>>> {
    let name = field.name();
    if constants.get(name).is_none_or(|(_, value)| value.is_none()) {
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
    let data_type = print_type(field.data_type());
    let message = format!("the folder's value of {name:?}, {plain:?}, is not a value of type {data_type}");
    Err(Error::invalid(message)
        .advice(format!("give a type that holds all values with {}", SCHEMA.to(format!("{} utf8", quoted_name(name))))))
}
