//! The schema of a file, resolved: each name is replaced by its definition.
//!
//! The arrow-avro crate gets the resolved schema, without defaults, aliases, documentation and the names of types. What it would
//! read as something else is refused here, or read as the type below: a logical type that does not fit its type is ignored, as
//! the specification demands.

use std::collections::{HashMap, HashSet};

use arrow::datatypes::{DECIMAL256_MAX_PRECISION, i256};
use lakerace_io::{Error, Result};
use serde_json::{Map, Value, json};

use crate::nesting::{MAX_NESTING, nested_too_deep};

/// Types of a schema at most, each name counted as its definition.
const MAX_TYPES: usize = 100_000;

/// Bytes of a fixed type at most: nulls take as many in memory.
const MAX_FIXED_BYTES: u64 = 16 << 20;

/// Bytes of the logical type duration.
const DURATION_BYTES: usize = 12;

/// A type of a file.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum AvroType {
    Null,
    Boolean,
    Int(Option<&'static str>),
    Long(Option<&'static str>),
    Float,
    Double,
    Bytes,
    Text,
    /// A decimal: its digits, its scale, and its bytes if it is a fixed type.
    Decimal {
        precision: u8,
        scale: u8,
        size: Option<usize>,
    },
    Fixed(usize),
    Duration,
    /// An enum, by its symbols.
    Enum(Vec<String>),
    Array(Box<AvroType>),
    Map(Box<AvroType>),
    Record(Vec<(String, AvroType)>),
    /// A union of null and another type. The flag is true where null is the first.
    Nullable(bool, Box<AvroType>),
    /// A union of other types.
    Union(Vec<AvroType>),
}

/// Logical types of integers that are read as such.
const OF_INT: [&str; 2] = ["date", "time-millis"];
const OF_LONG: [&str; 7] = [
    "time-micros",
    "timestamp-millis",
    "timestamp-micros",
    "timestamp-nanos",
    "local-timestamp-millis",
    "local-timestamp-micros",
    "local-timestamp-nanos",
];

impl AvroType {
    /// The columns of a file, by the text of its schema.
    ///
    /// # Errors
    /// `Corrupt` for a text that is no schema. `Unsupported` for rows that are no records, for types that contain
    /// themselves, and for types that are nested too deep.
    pub fn parse(text: &str) -> Result<Vec<(String, Self)>> {
        let json: Value = serde_json::from_str(text).map_err(|error| {
            // The parser has another bound, whose error has no kind.
            match error.to_string().contains("recursion limit") {
                true => nested_too_deep(),
                false => Error::corrupt(format!("the schema in the header is not JSON: {error}")),
            }
        })?;
        let mut resolver = SchemaResolver { known: HashMap::new(), open: Vec::new(), types: 0, depth: 0 };
        match resolver.resolve(&json, "")? {
            Self::Record(columns) => Ok(columns),
            other => Err(Error::unsupported(format!("its rows are no records but values of type {}", other.name()))
                .advice("write the values as the field of a record")),
        }
    }

    /// The name of the kind of type.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Boolean => "boolean",
            Self::Int(_) => "int",
            Self::Long(_) => "long",
            Self::Float => "float",
            Self::Double => "double",
            Self::Bytes => "bytes",
            Self::Text => "string",
            Self::Decimal { .. } => "decimal",
            Self::Fixed(_) => "fixed",
            Self::Duration => "duration",
            Self::Enum(_) => "enum",
            Self::Array(_) => "array",
            Self::Map(_) => "map",
            Self::Record(_) => "record",
            Self::Nullable(..) | Self::Union(_) => "union",
        }
    }

    /// Returns true if no value has bytes in a file.
    fn has_no_bytes(&self) -> bool {
        match self {
            Self::Null => true,
            Self::Record(fields) => fields.iter().all(|(_, kind)| kind.has_no_bytes()),
            _ => false,
        }
    }

    /// The schema of these columns for the arrow-avro crate.
    pub fn print(columns: &[(String, Self)]) -> String {
        record(columns, &mut 0).to_string()
    }

    fn json(&self, names: &mut usize) -> Value {
        let mut named = |mut value: Value| {
            *names += 1;
            value["name"] = format!("type{names}").into();
            value
        };
        match self {
            Self::Int(logical) | Self::Long(logical) => match logical {
                Some(logical) => json!({ "type": self.name(), "logicalType": logical }),
                None => self.name().into(),
            },
            Self::Null | Self::Boolean | Self::Float | Self::Double | Self::Bytes | Self::Text => self.name().into(),
            Self::Decimal { precision, scale, size: None } => {
                json!({ "type": "bytes", "logicalType": "decimal", "precision": precision, "scale": scale })
            }
            Self::Decimal { precision, scale, size: Some(size) } => named(json!({
                "type": "fixed", "size": size, "logicalType": "decimal", "precision": precision, "scale": scale
            })),
            Self::Fixed(size) => named(json!({ "type": "fixed", "size": size })),
            Self::Duration => named(json!({ "type": "fixed", "size": DURATION_BYTES, "logicalType": "duration" })),
            Self::Enum(symbols) => named(json!({ "type": "enum", "symbols": symbols })),
            Self::Array(item) => json!({ "type": "array", "items": item.json(names) }),
            Self::Map(value) => json!({ "type": "map", "values": value.json(names) }),
            Self::Record(fields) => record(fields, names),
            Self::Nullable(true, value) => json!(["null", value.json(names)]),
            Self::Nullable(false, value) => json!([value.json(names), "null"]),
            Self::Union(branches) => branches.iter().map(|branch| branch.json(names)).collect(),
        }
    }
}

fn record(fields: &[(String, AvroType)], names: &mut usize) -> Value {
    *names += 1;
    let name = format!("type{names}");
    let fields: Value = fields.iter().map(|(name, kind)| json!({ "name": name, "type": kind.json(names) })).collect();
    json!({ "type": "record", "name": name, "fields": fields })
}

/// The largest integer of a decimal with so many digits.
pub(super) fn largest(precision: u8) -> i256 {
    let ten = i256::from_i128(10);
    (0..precision).fold(i256::ONE, |power, _| power.wrapping_mul(ten)).wrapping_sub(i256::ONE)
}

/// Follows the names of a schema.
struct SchemaResolver<'a> {
    /// Named types, by their full names, with the namespace that they are in.
    known: HashMap<String, (&'a Map<String, Value>, String)>,
    /// The records that the current place is in.
    open: Vec<String>,
    types: usize,
    depth: usize,
}

impl<'a> SchemaResolver<'a> {
    fn resolve(&mut self, json: &'a Value, namespace: &str) -> Result<AvroType> {
        self.types += 1;
        self.depth += 1;
        if self.types > MAX_TYPES {
            return Err(Error::unsupported(format!("its schema has more than {MAX_TYPES} types")));
        }
        // A union is a level of JSON, but none of Arrow.
        if self.depth > 2 * MAX_NESTING {
            return Err(nested_too_deep());
        }
        let resolved = match json {
            Value::String(name) => self.named(name, namespace),
            Value::Array(branches) => self.union(branches, namespace),
            Value::Object(object) => self.object(object, namespace),
            other => Err(Error::corrupt(format!("the schema has {other} in place of a type"))),
        };
        self.depth -= 1;
        resolved
    }

    fn named(&mut self, name: &str, namespace: &str) -> Result<AvroType> {
        if let Some(primitive) = primitive(name) {
            return Ok(primitive);
        }
        let full = full_name(name, None, namespace);
        let found = self.known.get(&full).or_else(|| self.known.get(name));
        let Some((definition, within)) = found.map(|(definition, within)| (*definition, within.clone())) else {
            return Err(Error::corrupt(format!("the schema has no type {name:?}")));
        };
        self.definition(definition, &within)
    }

    fn object(&mut self, object: &'a Map<String, Value>, namespace: &str) -> Result<AvroType> {
        match object.get("type") {
            Some(Value::String(kind)) => match kind.as_str() {
                "record" | "error" | "enum" | "fixed" => self.definition(object, namespace),
                "array" | "map" => {
                    let (key, is_array) = if kind == "array" { ("items", true) } else { ("values", false) };
                    let item = object.get(key).ok_or_else(|| Error::corrupt(format!("a type {kind} has no {key}")))?;
                    let item = Box::new(with_bytes(not_null(self.resolve(item, namespace)?)?)?);
                    Ok(if is_array { AvroType::Array(item) } else { AvroType::Map(item) })
                }
                name => Ok(with_logical_type(self.named(name, namespace)?, object)),
            },
            Some(inner) => self.resolve(inner, namespace),
            None => Err(Error::corrupt("a type of the schema has no \"type\"")),
        }
    }

    fn definition(&mut self, object: &'a Map<String, Value>, namespace: &str) -> Result<AvroType> {
        let text = |key: &str| object.get(key).and_then(Value::as_str);
        let name = text("name").ok_or_else(|| Error::corrupt("a record, enum or fixed type has no name"))?;
        let full = full_name(name, text("namespace"), namespace);
        self.known.insert(full.clone(), (object, namespace.to_owned()));
        match text("type") {
            Some("enum") => {
                let symbols = object.get("symbols").and_then(Value::as_array);
                let symbols = symbols.and_then(|all| {
                    all.iter().map(|symbol| symbol.as_str().map(str::to_owned)).collect::<Option<Vec<_>>>()
                });
                let symbols = symbols.ok_or_else(|| Error::corrupt(format!("the enum {full:?} has no symbols")))?;
                Ok(AvroType::Enum(symbols))
            }
            Some("fixed") => {
                let size = object.get("size").and_then(Value::as_u64);
                let size = size.ok_or_else(|| Error::corrupt(format!("the fixed type {full:?} has no size")))?;
                if size == 0 || size > MAX_FIXED_BYTES {
                    return Err(Error::unsupported(format!("the fixed type {full:?} has {size} bytes"))
                        .advice(format!("write it as bytes, or with 1 to {MAX_FIXED_BYTES} bytes")));
                }
                Ok(with_logical_type(AvroType::Fixed(size as usize), object))
            }
            _ => self.record(object, full),
        }
    }

    fn record(&mut self, object: &'a Map<String, Value>, full: String) -> Result<AvroType> {
        if self.open.contains(&full) {
            return Err(Error::unsupported(format!(
                "the type {full:?} contains itself, and no column has such a type"
            ))
            .advice("write the inner values as JSON text, or to a file of their own"));
        }
        let fields = object.get("fields").and_then(Value::as_array);
        let fields = fields.ok_or_else(|| Error::corrupt(format!("the record {full:?} has no fields")))?;
        let namespace = full.rsplit_once('.').map_or("", |(namespace, _)| namespace).to_owned();
        let is_top = self.open.is_empty();
        self.open.push(full);
        let mut resolved: Vec<(String, AvroType)> = Vec::with_capacity(fields.len());
        let mut names = HashSet::with_capacity(fields.len());
        for field in fields {
            let name = field.get("name").and_then(Value::as_str);
            let name = name.ok_or_else(|| Error::corrupt("a field of a record has no name"))?;
            let what = if is_top { "column" } else { "field" };
            if !names.insert(name) {
                return Err(Error::unsupported(format!("two {what}s are named {name:?}"))
                    .advice("rename one of them in the program that writes the file"));
            }
            let kind = field.get("type").ok_or_else(|| Error::corrupt(format!("the {what} {name:?} has no type")))?;
            let kind = self.resolve(kind, &namespace).and_then(|kind| if is_top { Ok(kind) } else { not_null(kind) });
            let kind = kind.map_err(|error| error.at(format!("{what} {name:?}")))?;
            resolved.push((name.to_owned(), kind));
        }
        self.open.pop();
        Ok(AvroType::Record(resolved))
    }

    fn union(&mut self, branches: &'a [Value], namespace: &str) -> Result<AvroType> {
        let mut resolved = branches.iter().map(|branch| self.resolve(branch, namespace)).collect::<Result<Vec<_>>>()?;
        if resolved.iter().any(|branch| matches!(branch, AvroType::Nullable(..) | AvroType::Union(_))) {
            return Err(Error::corrupt("a union contains a union"));
        }
        if resolved.is_empty() || resolved.len() > i8::MAX as usize {
            let message = format!("a union has {} types", resolved.len());
            return Err(Error::unsupported(message).advice("write one to 127 types"));
        }
        let null_at = resolved.iter().position(|branch| *branch == AvroType::Null);
        match (resolved.len(), null_at) {
            (2, Some(at)) if resolved[1 - at] != AvroType::Null => {
                Ok(AvroType::Nullable(at == 0, Box::new(resolved.swap_remove(1 - at))))
            }
            _ => Ok(AvroType::Union(resolved)),
        }
    }
}

/// A type within another one, which Arrow has no values for if it is null alone.
fn not_null(kind: AvroType) -> Result<AvroType> {
    match kind {
        AvroType::Null => Err(Error::unsupported("a field, array or map has the type null, which has no values")
            .advice("write it with the type of its values, or omit it")),
        kind => Ok(kind),
    }
}

/// An item of an array or a map: an item without bytes would give a few bytes any number of items.
fn with_bytes(kind: AvroType) -> Result<AvroType> {
    if kind.has_no_bytes() {
        return Err(Error::unsupported("an array or map has items without fields, which have no values")
            .advice("write it with the type of its values, or omit it"));
    }
    Ok(kind)
}

fn primitive(name: &str) -> Option<AvroType> {
    Some(match name {
        "null" => AvroType::Null,
        "boolean" => AvroType::Boolean,
        "int" => AvroType::Int(None),
        "long" => AvroType::Long(None),
        "float" => AvroType::Float,
        "double" => AvroType::Double,
        "bytes" => AvroType::Bytes,
        "string" => AvroType::Text,
        _ => return None,
    })
}

/// The name with its namespace: its own, the given one, or that of the place.
fn full_name(name: &str, namespace: Option<&str>, place: &str) -> String {
    match namespace.unwrap_or(place) {
        _ if name.contains('.') => name.to_owned(),
        "" => name.to_owned(),
        namespace => format!("{namespace}.{name}"),
    }
}

/// The type with the logical type that its definition states, if that fits.
fn with_logical_type(plain: AvroType, definition: &Map<String, Value>) -> AvroType {
    let Some(logical) = definition.get("logicalType").and_then(Value::as_str) else { return plain };
    let known = |names: &[&'static str]| names.iter().find(|name| **name == logical).copied();
    match plain {
        AvroType::Int(_) => AvroType::Int(known(&OF_INT)),
        AvroType::Long(_) => AvroType::Long(known(&OF_LONG)),
        AvroType::Bytes if logical == "decimal" => decimal(definition, None).unwrap_or(plain),
        AvroType::Fixed(size) if logical == "decimal" => decimal(definition, Some(size)).unwrap_or(plain),
        AvroType::Fixed(DURATION_BYTES) if logical == "duration" => AvroType::Duration,
        _ => plain,
    }
}

/// The decimal that a definition states, if it is a valid one.
fn decimal(definition: &Map<String, Value>, size: Option<usize>) -> Option<AvroType> {
    let precision = definition.get("precision").and_then(Value::as_u64)?;
    let scale = definition.get("scale").map_or(Some(0), Value::as_u64)?;
    let precision = u8::try_from(precision).ok().filter(|digits| (1..=DECIMAL256_MAX_PRECISION).contains(digits))?;
    let scale = u8::try_from(scale).ok().filter(|scale| *scale <= precision)?;
    // A decimal of Arrow has 32 bytes.
    if size.is_some_and(|size| size > 32 || !fits(precision, size)) {
        return None;
    }
    Some(AvroType::Decimal { precision, scale, size })
}

/// Returns true if all integers of so many digits have a place in so many bytes, 32 at most.
fn fits(precision: u8, bytes: usize) -> bool {
    // The largest integer of so many bytes: 7f ff …, after zeros.
    let mut most = [0; 32];
    most[32 - bytes..].fill(0xff);
    most[32 - bytes] = 0x7f;
    largest(precision) <= i256::from_be_bytes(most)
}

#[cfg(test)]
mod tests;
