//! Columns as fields of an index: which field a column gets, and whether an existing one holds its values.

use arrow::datatypes::{DataType, Field, Fields, Schema, TimeUnit};
use lakerace_format::schema_text::print_type;
use lakerace_io::option::{ALLOW_NARROWING, COLUMNS, MODE};
use lakerace_io::{Error, Result};
use serde_json::{Map, Value, json};

use super::date_format::DateFormats;
use super::location::LocationParameters;

/// Columns of these names are a document's metadata, and no part of it.
pub(super) const ID: &str = "_id";
/// See [`ID`].
pub(super) const ROUTING: &str = "_routing";

/// Names that the server keeps for itself.
const RESERVED: [&str; 10] =
    ["_index", "_source", "_type", "_ignored", "_field_names", "_size", "_meta", "_tier", "_seq_no", "_doc_count"];

/// Returns true if a column is kept in the document.
pub(super) fn is_in_document(field: &Field) -> bool {
    field.name() != ID && field.name() != ROUTING
}

/// The fields of these columns, as `properties` of a mapping.
///
/// # Errors
/// `Unsupported` and `Invalid` name the column that no field holds.
pub(super) fn properties(schema: &Schema, parameters: &LocationParameters) -> Result<Map<String, Value>> {
    for name in parameters.keyword.iter().chain(&parameters.text) {
        if schema.field_with_name(name).is_err() {
            return Err(Error::not_found(format!("the location names a column {name:?}, which the rows do not have")));
        }
    }
    let mut properties = Map::new();
    for field in schema.fields().iter().filter(|field| is_in_document(field)) {
        check_name(field.name())?;
        if RESERVED.contains(&field.name().as_str()) {
            return Err(Error::invalid(format!(
                "no column can be named {:?}: the server reserves the name",
                field.name()
            ))
            .advice("rename the column"));
        }
        let mapped = if parameters.keyword.contains(field.name()) {
            json!({ "type": "keyword" })
        } else if parameters.text.contains(field.name()) {
            json!({ "type": "text" })
        } else {
            one(field.data_type(), field.name(), parameters)?
        };
        put(&mut properties, field.name(), mapped)?;
    }
    Ok(properties)
}

/// Puts a field where its dots lead.
fn put(properties: &mut Map<String, Value>, name: &str, mapped: Value) -> Result<()> {
    let clash = || {
        Error::invalid(format!(
            "column {name:?} is the same field as another column, because dots in names lead into objects"
        ))
        .advice("rename one of the columns")
    };
    let Some((first, rest)) = name.split_once('.') else {
        return match properties.insert(name.to_owned(), mapped) {
            None => Ok(()),
            Some(_) => Err(clash()),
        };
    };
    let object = properties.entry(first).or_insert_with(|| json!({ "type": "object", "properties": {} }));
    match object.get_mut("properties").and_then(Value::as_object_mut) {
        Some(inner) => put(inner, rest, mapped),
        None => Err(clash()),
    }
}

fn check_name(name: &str) -> Result<()> {
    if name.split('.').all(|part| !part.trim().is_empty()) {
        return Ok(());
    }
    Err(Error::invalid(format!(
        "no field can be named {name:?}: the name is empty, or has an empty part next to a dot"
    ))
    .advice("rename the column"))
}

fn one(data_type: &DataType, place: &str, parameters: &LocationParameters) -> Result<Value> {
    let number = |name: &str| json!({ "type": name, "coerce": false });
    Ok(match data_type {
        DataType::Boolean => json!({ "type": "boolean" }),
        DataType::Int8 => number("byte"),
        DataType::Int16 | DataType::UInt8 => number("short"),
        DataType::Int32 | DataType::UInt16 => number("integer"),
        DataType::Int64 | DataType::UInt32 | DataType::Duration(_) => number("long"),
        DataType::Float16 | DataType::Float32 => number("float"),
        DataType::Float64 => number("double"),
        DataType::Binary | DataType::LargeBinary | DataType::BinaryView | DataType::FixedSizeBinary(_) => {
            json!({ "type": "binary" })
        }
        DataType::Date32 => json!({ "type": "date", "format": "strict_date" }),
        DataType::Date64 | DataType::Timestamp(TimeUnit::Second | TimeUnit::Millisecond, _) => {
            json!({ "type": "date", "format": "strict_date_optional_time" })
        }
        DataType::Timestamp(_, _) if parameters.is_date(place) => {
            json!({ "type": "date", "format": "strict_date_optional_time_nanos" })
        }
        DataType::Timestamp(_, _) => json!({ "type": "date_nanos", "format": "strict_date_optional_time_nanos" }),
        DataType::Null
        | DataType::UInt64
        | DataType::Time32(_)
        | DataType::Time64(_)
        | DataType::Utf8
        | DataType::LargeUtf8
        | DataType::Utf8View => json!({ "type": "keyword" }),
        other if other.is_decimal() => json!({ "type": "keyword" }),
        DataType::Dictionary(_, values) => one(values, place, parameters)?,
        DataType::List(item) | DataType::LargeList(item) | DataType::FixedSizeList(item, _) => {
            one(item.data_type(), place, parameters)?
        }
        DataType::Map(entries, _) => one(entries.data_type(), place, parameters)?,
        DataType::Struct(fields) => object(fields, place, parameters)?,
        _ => {
            return Err(Error::unsupported(format!(
                "column {place:?} is of type {}, which no Elasticsearch field can hold",
                print_type(data_type)
            ))
            .advice(format!("exclude the column with {COLUMNS}, or convert it to text first")));
        }
    })
}

fn object(fields: &Fields, place: &str, parameters: &LocationParameters) -> Result<Value> {
    let mut properties = Map::new();
    for field in fields {
        check_name(field.name())?;
        let mapped = one(field.data_type(), &format!("{place}.{}", field.name()), parameters)?;
        put(&mut properties, field.name(), mapped)?;
    }
    Ok(json!({ "type": "object", "properties": properties }))
}

/// The way in which an existing field takes a column's values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FieldFit {
    /// It holds all of them unchanged.
    Exact,
    /// It stores them, but searches and sorts by less precise values.
    Narrow,
    /// It takes other values.
    Not,
}

/// Holds columns against the fields of an index that exists; gives those that it lacks.
///
/// # Errors
/// `Invalid` where a field holds other values, `Unsupported` where it would narrow them and this is not allowed.
pub(super) fn missing(
    wanted: &Map<String, Value>,
    schema: &Schema,
    existing: &Map<String, Value>,
    allows_narrowing: impl Fn(&str) -> bool,
) -> Result<Map<String, Value>> {
    for field in schema.fields().iter().filter(|field| is_in_document(field)) {
        check(field.data_type(), field.name(), find(existing, field.name()), allows_narrowing(field.name()))?;
    }
    Ok(lacking(wanted, existing))
}

/// The field of a name whose dots lead into objects.
pub(super) fn find<'a>(properties: &'a Map<String, Value>, name: &str) -> Option<&'a Value> {
    if let Some(found) = properties.get(name) {
        return Some(found);
    }
    let (first, rest) = name.split_once('.')?;
    find(properties.get(first)?.get("properties")?.as_object()?, rest)
}

fn lacking(wanted: &Map<String, Value>, existing: &Map<String, Value>) -> Map<String, Value> {
    let mut lacks = Map::new();
    for (name, mapped) in wanted {
        let Some(found) = existing.get(name) else {
            lacks.insert(name.clone(), mapped.clone());
            continue;
        };
        if let (Some(wanted), Some(found)) = (mapped["properties"].as_object(), found["properties"].as_object()) {
            let inner = lacking(wanted, found);
            if !inner.is_empty() {
                lacks.insert(name.clone(), json!({ "properties": inner }));
            }
        }
    }
    lacks
}

fn check(data_type: &DataType, place: &str, mapped: Option<&Value>, allow_narrowing: bool) -> Result<()> {
    let Some(mapped) = mapped else { return Ok(()) };
    let inner = match data_type {
        DataType::List(item) | DataType::LargeList(item) | DataType::FixedSizeList(item, _) => Some(item.data_type()),
        DataType::Map(entries, _) => Some(entries.data_type()),
        DataType::Dictionary(_, values) => Some(values.as_ref()),
        _ => None,
    };
    if let Some(inner) = inner {
        return check(inner, place, Some(mapped), allow_narrowing);
    }
    let kind = kind_of(mapped);
    if let (DataType::Struct(fields), "object" | "nested") = (data_type, kind) {
        let empty = Map::new();
        let properties = mapped["properties"].as_object().unwrap_or(&empty);
        return fields.iter().try_for_each(|field| {
            let place = format!("{place}.{}", field.name());
            check(field.data_type(), &place, find(properties, field.name()), allow_narrowing)
        });
    }
    let shown = print_type(data_type);
    match fit(data_type, kind) {
        FieldFit::Exact => Ok(()),
        FieldFit::Narrow if allow_narrowing => Ok(()),
        FieldFit::Narrow => Err(Error::unsupported(format!(
            "column {place:?} is of type {shown}; its field of type {kind} searches and sorts with less precision"
        ))
        .advice(format!(
            "allow this with {ALLOW_NARROWING}, or use {}, which creates the field again",
            MODE.to("overwrite")
        ))),
        FieldFit::Not => Err(Error::invalid(format!(
            "column {place:?} is of type {shown}, which its field of type {kind} can't hold"
        ))
        .advice(format!("choose another index, or use {}, which creates the field again", MODE.to("overwrite")))),
    }
}

/// The type of a field; objects need not name theirs.
pub(super) fn kind_of(mapped: &Value) -> &str {
    mapped["type"].as_str().unwrap_or("object")
}

/// The longest text that a field finds, in UTF-16 units, where it has a limit: longer ones are in the document alone.
pub(super) fn ignore_above(mapped: &Value) -> Option<usize> {
    let limit = mapped.get("ignore_above")?.as_u64()?;
    matches!(kind_of(mapped), "keyword" | "wildcard").then(|| usize::try_from(limit).unwrap_or(usize::MAX))
}

/// Returns true if a field of this type takes numbers.
pub(super) fn is_numeric(kind: &str) -> bool {
    matches!(
        kind,
        "byte" | "short" | "integer" | "long" | "unsigned_long" | "half_float" | "float" | "double" | "scaled_float"
    )
}

fn fit(data_type: &DataType, kind: &str) -> FieldFit {
    let is_text = matches!(kind, "keyword" | "text" | "wildcard" | "match_only_text" | "constant_keyword");
    if is_text && !matches!(data_type, DataType::Struct(_)) || *data_type == DataType::Null {
        return FieldFit::Exact;
    }
    let integers = ["byte", "short", "integer", "long"];
    let integer = |exact_from: usize, floats_hold: &[&str]| match integers.iter().position(|name| *name == kind) {
        Some(width) if width >= exact_from => FieldFit::Exact,
        None if floats_hold.contains(&kind) => FieldFit::Exact,
        None if matches!(kind, "float" | "double" | "half_float" | "scaled_float") => FieldFit::Narrow,
        _ => FieldFit::Not,
    };
    match data_type {
        DataType::Int8 => integer(0, &["half_float", "float", "double"]),
        DataType::Int16 => integer(1, &["float", "double"]),
        DataType::UInt8 if kind == "unsigned_long" => FieldFit::Exact,
        DataType::UInt16 | DataType::UInt32 | DataType::UInt64 if kind == "unsigned_long" => FieldFit::Exact,
        DataType::UInt8 => integer(1, &["half_float", "float", "double"]),
        DataType::UInt16 => integer(2, &["float", "double"]),
        DataType::Int32 => integer(2, &["double"]),
        DataType::UInt32 => integer(3, &["double"]),
        DataType::Int64 | DataType::UInt64 | DataType::Duration(_) => integer(3, &[]),
        DataType::Float16 | DataType::Float32 if matches!(kind, "float" | "double") => FieldFit::Exact,
        // The encoder checks each value for whether it is a float of 32 bits.
        DataType::Float64 if matches!(kind, "double" | "float") => FieldFit::Exact,
        DataType::Float16 | DataType::Float32 | DataType::Float64 if is_float(kind) => FieldFit::Narrow,
        other if other.is_decimal() && is_float(kind) => FieldFit::Narrow,
        DataType::Boolean if kind == "boolean" => FieldFit::Exact,
        DataType::Binary | DataType::LargeBinary | DataType::BinaryView | DataType::FixedSizeBinary(_)
            if kind == "binary" =>
        {
            FieldFit::Exact
        }
        DataType::Date32 | DataType::Date64 | DataType::Timestamp(TimeUnit::Second | TimeUnit::Millisecond, _)
            if matches!(kind, "date" | "date_nanos") =>
        {
            FieldFit::Exact
        }
        DataType::Timestamp(_, _) if kind == "date_nanos" => FieldFit::Exact,
        DataType::Timestamp(_, _) if kind == "date" => FieldFit::Narrow,
        DataType::Struct(_) if kind == "flattened" => FieldFit::Exact,
        // The server says which texts are dates, addresses or versions.
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View
            if !is_numeric(kind) && !matches!(kind, "boolean" | "object" | "nested" | "binary" | "flattened") =>
        {
            FieldFit::Exact
        }
        _ => FieldFit::Not,
    }
}

/// Returns true if a field keeps a column's values and finds them as a field that is made for the column does.
pub(super) fn holds_exactly(data_type: &DataType, mapped: &Value) -> bool {
    let kind = kind_of(mapped);
    let is_number = data_type.is_integer() || data_type.is_floating() || *data_type == DataType::Boolean;
    let is_date = matches!(data_type, DataType::Date32 | DataType::Date64 | DataType::Timestamp(_, _));
    // Texts take all values, and order numbers and dates otherwise.
    let is_its_kind = (!is_number || is_numeric(kind) || kind == "boolean") && (!is_date || kind.starts_with("date"));
    let has_format =
        !is_date || DateFormats::of_field(mapped["format"].as_str()).is_some_and(|formats| formats.has_iso());
    is_its_kind && has_format && fit(data_type, kind) == FieldFit::Exact
}

fn is_float(kind: &str) -> bool {
    matches!(kind, "float" | "double" | "half_float" | "scaled_float")
}

#[cfg(test)]
mod tests;
