//! The columns that the first rows of files have.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use arrow::datatypes::{DataType, Field, Schema};
use bytes::Bytes;
use lakerace_io::nearest::nearest;
use lakerace_io::option::SCHEMA;
use lakerace_io::{Error, Object, Result};

use super::column::ColumnOrigin;
use super::fault::{RowUnit, no_json, no_object};
use super::layout::JsonLayout;
use super::shape::{Line, MixedPlace, NEAR_FLOATS, ValueShape};
use crate::field_positions::FieldPositions;
use crate::input::Constants;
use crate::json::{Json, JsonKind};
use crate::options::{CsvOptions, OnBadRow};
use crate::schema_text::quoted_name;
use crate::text::{read_front, without_byte_order_mark};

/// Default number of rows that are examined.
pub(super) const INFER_ROWS: usize = 10_000;

/// Limit of files that are examined, if the first ones have few rows.
const MOST_FILES: usize = 16;

/// Types that are known beforehand: those that the user gives, then those of the table that rows go to.
pub(super) struct StatedTypes<'a> {
    given: Option<&'a Schema>,
    /// The columns of both, in the order in which they are asked.
    positions: Vec<(&'a Schema, FieldPositions<'a>, ColumnOrigin)>,
}

impl<'a> StatedTypes<'a> {
    /// Types of these columns.
    pub fn new(given: Option<&'a Schema>, expected: Option<&'a Schema>) -> Self {
        let both = [(given, ColumnOrigin::Given), (expected, ColumnOrigin::Expected)];
        let indexed =
            |(schema, origin): (Option<&'a Schema>, _)| schema.map(|s| (s, FieldPositions::new(s.fields()), origin));
        Self { given, positions: both.into_iter().filter_map(indexed).collect() }
    }

    fn find(&self, name: &str) -> Option<(Field, ColumnOrigin)> {
        let find = |(schema, positions, origin): &(&Schema, FieldPositions<'_>, ColumnOrigin)| {
            positions.of_name(name).map(|at| (schema.field(at).clone(), *origin))
        };
        self.positions.iter().find_map(find)
    }
}

/// The schema that follows from the first rows.
pub(super) struct LearntTypes {
    pub schema: Schema,
    /// The origin of the type of each column.
    pub origins: Vec<ColumnOrigin>,
    /// The problems of columns, by position, that have no type for all of their values.
    pub mixed: HashMap<usize, Error>,
    /// Given columns that the rows lack, with the column that was probably meant.
    pub mistyped: Vec<(String, String)>,
}

/// The columns that the first rows have, and the given ones that they lack.
pub(super) fn learn_schema(
    objects: &[Object],
    known: &StatedTypes<'_>,
    constants: &[Option<Arc<Constants>>],
    layout: JsonLayout,
    options: &CsvOptions,
) -> Result<LearntTypes> {
    let limit = options.infer_rows.unwrap_or(INFER_ROWS);
    let (mut shape, mut rows, mut fault) = (ValueShape::default(), 0, None);
    for (number, object) in objects.iter().enumerate().take(MOST_FILES) {
        let front = look(object, layout, number, limit - rows, options.on_bad_row, known.given.is_some(), &mut shape)?;
        (rows, fault) = (rows + front.rows, fault.or(front.fault));
        if rows >= limit {
            break;
        }
    }
    if rows == 0 && known.given.is_none() {
        return Err(fault.unwrap_or_else(|| {
            Error::invalid("there is no row to infer the columns from")
                .at(objects.first().map_or_else(String::new, Object::url))
                .advice(format!("give the columns with {SCHEMA}"))
        }));
    }
    let (mut columns, mut mixed) = (Vec::new(), HashMap::new());
    for (path, name, values) in shape.named("") {
        // A column without a value has the type that the files' places give.
        let placed = || constants.iter().flatten().find_map(|c| c.fields().find(name).map(|(_, field)| field)).cloned();
        columns.push(match known.find(name) {
            Some(column) => column,
            None if values.is_empty() && placed().is_some() => {
                let data_type = placed().map_or(DataType::Utf8, |field| field.data_type().clone());
                (Field::new(name, data_type, true), ColumnOrigin::Inferred)
            }
            None => {
                let data_type = values.data_type(&path).unwrap_or_else(|error| {
                    mixed.insert(columns.len(), several_kinds(objects, layout.unit(), name, &error));
                    DataType::Utf8
                });
                (Field::new(name, data_type, true), ColumnOrigin::Inferred)
            }
        });
    }
    let found: HashSet<String> = columns.iter().map(|(column, _): &(Field, _)| column.name().clone()).collect();
    let mut mistyped = Vec::new();
    for field in known.given.iter().flat_map(|given| given.fields()) {
        if !found.contains(field.name()) {
            columns.push((field.as_ref().clone(), ColumnOrigin::Given));
            let others = found.iter().map(String::as_str).filter(|name| known.find(name).is_none());
            mistyped.extend(nearest(field.name(), others).map(|near| (field.name().clone(), near.to_owned())));
        }
    }
    let (fields, origins): (Vec<_>, Vec<_>) = columns.into_iter().map(|(field, from)| (Arc::new(field), from)).unzip();
    Ok(LearntTypes { schema: Schema::new(fields), origins, mixed, mistyped })
}

/// The front of a file.
struct FileFront {
    rows: usize,
    /// The fault of the first line that is not an object.
    fault: Option<Error>,
}

/// The fields that the first rows of a file have, of which these are the first bytes. Damaged lines have none: the read
/// reports them.
pub(super) fn fields_of_lines(blocks: &[Bytes], most_bytes: usize, most_rows: usize) -> HashSet<String> {
    let (mut shape, mut rows, mut bytes) = (ValueShape::default(), 0, 0);
    for line in blocks.iter().flat_map(|block| block.split_inclusive(|byte| *byte == b'\n')) {
        bytes += line.len();
        if rows >= most_rows || bytes > most_bytes {
            break;
        }
        let mut json = Json::new(line);
        let mut dry = json.clone();
        let is_object = matches!(dry.kind(), Ok(JsonKind::Object)) && dry.skip().is_ok();
        rows += usize::from(is_object && shape.add(&mut json, (0, 0)).is_ok());
    }
    shape.named("").map(|(_, name, _)| name.to_owned()).collect()
}

/// Adds the front of a file.
fn look(
    object: &Object,
    layout: JsonLayout,
    number: usize,
    limit: usize,
    on_bad_row: OnBadRow,
    is_given: bool,
    shape: &mut ValueShape,
) -> Result<FileFront> {
    let url = object.url();
    let unit = layout.unit();
    let (text, is_whole) = read_front(object, limit, layout.form()).map_err(|error| error.at(&url))?;
    let text = without_byte_order_mark(text, &url)?;
    let end = match (is_whole, memchr::memrchr(b'\n', &text)) {
        (true, _) => text.len(),
        (false, Some(at)) => at + 1,
        (false, None) if is_given => 0,
        (false, None) => {
            return Err(Error::invalid(format!("the first line is longer than {} bytes", text.len()))
                .at(format!("{url}, line 1"))
                .advice(format!("give the columns with {SCHEMA}")));
        }
    };
    let (mut rows, mut fault) = (0, None);
    for (at, line) in text[..end].split(|byte| *byte == b'\n').enumerate() {
        let mut json = Json::new(line);
        if json.is_at_end() {
            continue;
        }
        let place: Line = (number, at as u64 + 1);
        // A line that is damaged says nothing of the columns.
        let mut dry = json.clone();
        let is_object = matches!(dry.kind(), Ok(JsonKind::Object));
        let outcome = dry.skip().and_then(|_| if is_object { shape.add(&mut json, place) } else { Ok(()) });
        match outcome {
            Ok(()) if is_object => rows += 1,
            // The read finds the same, after the rows.
            Ok(()) => fault = fault.or_else(|| Some(no_object(unit, json.position()).error(&url, unit, place.1, line))),
            Err(error) => {
                let error = no_json(&url, unit, place.1, line, error);
                if on_bad_row != OnBadRow::Skip {
                    return Err(error);
                }
                fault = fault.or(Some(error));
            }
        }
        if rows >= limit {
            break;
        }
    }
    Ok(FileFront { rows, fault })
}

fn several_kinds(objects: &[Object], unit: RowUnit, name: &str, mixed: &MixedPlace) -> Error {
    let url = |file: usize| objects.get(file).map_or_else(String::new, Object::url);
    let place = |(kind, (file, line)): &(&str, Line)| format!("{kind} ({}, {unit} {line})", url(*file));
    let kinds: Vec<String> = mixed.kinds.iter().map(place).collect();
    let has_nearest = mixed.path == name && mixed.kinds.iter().all(|(kind, _)| NEAR_FLOATS.contains(kind));
    let nearest = match has_nearest {
        true => ", decimals if they have enough digits, or float64 for the nearest floats",
        false => "",
    };
    let as_text = SCHEMA.to(format!("{} utf8", quoted_name(name)));
    Error::invalid(format!("{:?} has no type that can hold all of its values: {}", mixed.path, kinds.join(", ")))
        .advice(format!("give a type that can, such as {as_text}, which keeps the JSON text{nearest}"))
}
