//! The schema that documents have, from all of them.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::datatypes::{DataType, Field, FieldRef, Fields, Schema, TimeUnit};
use lakerace_io::{Error, Result};

use super::decimal::{self, BsonDecimal};
use super::elements::{self as kind, BsonValue, ElementIterator, shown_id, type_name};
use super::tag::{self, TextTag};

/// Names of fields at most, nested ones included: documents whose names are data are no table.
const FIELDS: usize = 10_000;
/// Integers up to this are doubles exactly.
const EXACT_DOUBLE: u64 = 1 << 53;

/// Gathers the types of all fields of documents.
#[derive(Debug, Default)]
pub(super) struct SchemaInference {
    documents: FieldShapes,
    count: usize,
}

/// The fields of documents, in the order in which they were first seen.
#[derive(Debug, Default)]
struct FieldShapes {
    names: Vec<Vec<u8>>,
    by_name: HashMap<Vec<u8>, usize>,
    shapes: Vec<FieldShape>,
}

/// The observed values of a field.
#[derive(Debug, Default)]
struct FieldShape {
    /// A bit for each type that was seen, null left out.
    kinds: u32,
    /// For each new combination of types, which it was and the document that had it.
    first: Vec<(u8, String)>,
    /// Digits before and after the point of decimals and integers.
    whole: u32,
    fraction: u32,
    has_special_decimal: bool,
    has_large_integer: bool,
    subtypes: Vec<u8>,
    item: Option<Box<FieldShape>>,
    fields: Option<Box<FieldShapes>>,
}

impl SchemaInference {
    /// Looks at a document.
    pub(super) fn look(&mut self, document: &[u8]) -> Result<()> {
        self.documents.look(document, document, &mut self.count)
    }

    /// The schema that holds all values, or the fields of which none can.
    pub(super) fn schema(&self, mixed_as_json: bool) -> Result<Schema> {
        Ok(Schema::new(self.documents.fields("", mixed_as_json)?))
    }
}

impl FieldShapes {
    fn look(&mut self, document: &[u8], root: &[u8], count: &mut usize) -> Result<()> {
        let mut elements = ElementIterator::new(document)?;
        let mut next = 0;
        loop {
            let expected = self.names.get(next).map_or(&[][..], Vec::as_slice);
            let Some((name, value)) = elements.next_element(expected)? else { return Ok(()) };
            let index = if next < self.names.len() && self.names[next] == name {
                next
            } else if let Some(index) = self.by_name.get(name) {
                *index
            } else {
                self.add(name, root, count)?
            };
            next = index + 1;
            self.shapes[index].look(value, root, count)?;
        }
    }

    fn add(&mut self, name: &[u8], root: &[u8], count: &mut usize) -> Result<usize> {
        if std::str::from_utf8(name).is_err() {
            return Err(Error::corrupt("a field name is not valid UTF-8").at(shown_id(root)));
        }
        *count += 1;
        if *count > FIELDS {
            return Err(Error::unsupported(format!("the documents have more than {FIELDS} fields"))
                .at(shown_id(root))
                .advice(
                    "the field names seem to be data: give a schema, or restructure the documents with ?pipeline=",
                ));
        }
        self.names.push(name.to_vec());
        self.shapes.push(FieldShape::default());
        self.by_name.insert(name.to_vec(), self.names.len() - 1);
        Ok(self.names.len() - 1)
    }

    fn fields(&self, path: &str, mixed_as_json: bool) -> Result<Fields> {
        let field = |(name, shape): (&Vec<u8>, &FieldShape)| {
            let name = String::from_utf8_lossy(name);
            let path = if path.is_empty() { name.to_string() } else { format!("{path}.{name}") };
            shape.field(&name, &path, mixed_as_json)
        };
        self.names.iter().zip(&self.shapes).map(field).collect()
    }
}

/// The bit of a type.
fn bit(kind: u8) -> u32 {
    match kind {
        0..=0x1d => 1 << kind,
        0xff => 1 << 0x1e,
        _ => 1 << 0x1f,
    }
}

const INTEGERS: u32 = 1 << kind::INT32 | 1 << kind::INT64;
const NUMBERS: u32 = INTEGERS | 1 << kind::DOUBLE;
const DECIMALS: u32 = INTEGERS | 1 << kind::DECIMAL128;

impl FieldShape {
    #[inline]
    fn look(&mut self, value: BsonValue<'_>, root: &[u8], count: &mut usize) -> Result<()> {
        if value.is_null() {
            return Ok(());
        }
        let bit = bit(value.kind);
        if self.kinds & bit == 0 {
            self.kinds |= bit;
            self.first.push((value.kind, shown_id(root)));
        }
        match value.kind {
            kind::INT64 => {
                let int = value.i64()?;
                self.has_large_integer |= int.unsigned_abs() > EXACT_DOUBLE && (int as f64 as i128) != i128::from(int);
            }
            kind::DECIMAL128 => match decimal::decode(value.array()?) {
                BsonDecimal::Special => self.has_special_decimal = true,
                BsonDecimal::Finite { coefficient, exponent } => {
                    let (whole, fraction) = decimal::digits(coefficient, exponent);
                    self.whole = self.whole.max(whole);
                    self.fraction = self.fraction.max(fraction);
                }
            },
            kind::BINARY => {
                let (subtype, bytes) = value.binary()?;
                // A UUID has 16 bytes; others of its subtype are no UUIDs.
                let subtype = if subtype == 4 && bytes.len() != 16 { 0xfe } else { subtype };
                if !self.subtypes.contains(&subtype) {
                    self.subtypes.push(subtype);
                }
            }
            kind::ARRAY => {
                let item = self.item.get_or_insert_default();
                let mut elements = ElementIterator::new(value.bytes)?;
                while let Some((_, element)) = elements.next_element(&[])? {
                    item.look(element, root, count)?;
                }
            }
            kind::DOCUMENT => self.fields.get_or_insert_default().look(value.bytes, root, count)?,
            _ => {}
        }
        Ok(())
    }

    fn field(&self, name: &str, path: &str, mixed_as_json: bool) -> Result<FieldRef> {
        let plain = |data_type| Field::new(name, data_type, true);
        let tagged = |tag: TextTag| plain(DataType::Utf8).with_metadata(tag.metadata());
        let only = |kinds: u32| self.kinds & !kinds == 0;
        Ok(Arc::new(match self.kinds {
            0 => plain(DataType::Null),
            kinds if kinds == bit(kind::BOOLEAN) => plain(DataType::Boolean),
            kinds if kinds == bit(kind::INT32) => plain(DataType::Int32),
            kinds if kinds == bit(kind::OBJECT_ID) => tagged(TextTag::ObjectId),
            kinds if kinds == bit(kind::DATE) => plain(DataType::Timestamp(TimeUnit::Millisecond, Some("UTC".into()))),
            _ if only(bit(kind::STRING) | bit(0x0e)) => plain(DataType::Utf8),
            _ if only(INTEGERS) => plain(DataType::Int64),
            _ if only(NUMBERS) && !self.has_large_integer => plain(DataType::Float64),
            _ if only(DECIMALS) => self.decimal(name),
            kinds if kinds == bit(kind::BINARY) && self.subtypes.len() == 1 => self.binary(name),
            kinds if kinds == bit(kind::ARRAY) => {
                let item = self.item.as_ref().map(|item| item.field("item", &format!("{path}[]"), mixed_as_json));
                let item = item.unwrap_or_else(|| Ok(Arc::new(Field::new("item", DataType::Null, true))))?;
                plain(DataType::List(item))
            }
            kinds if kinds == bit(kind::DOCUMENT) => {
                let fields = self.fields.as_ref().map(|fields| fields.fields(path, mixed_as_json));
                plain(DataType::Struct(fields.unwrap_or_else(|| Ok(Fields::empty()))?))
            }
            // Types that Arrow has no like of.
            kinds if kinds.count_ones() == 1 && kinds != bit(kind::BINARY) => tagged(TextTag::Json),
            _ if mixed_as_json => tagged(TextTag::Json),
            _ => return Err(self.conflict(path)),
        }))
    }

    fn decimal(&self, name: &str) -> Field {
        // An int64 has 19 digits.
        let whole = if self.kinds & INTEGERS == 0 { self.whole } else { self.whole.max(19) };
        let precision = (whole + self.fraction).max(1);
        let data_type = match (u8::try_from(precision), i8::try_from(self.fraction)) {
            (Ok(precision @ ..=38), Ok(scale)) if !self.has_special_decimal => DataType::Decimal128(precision, scale),
            (Ok(precision @ ..=76), Ok(scale)) if !self.has_special_decimal => DataType::Decimal256(precision, scale),
            _ => return Field::new(name, DataType::Utf8, true).with_metadata(TextTag::Decimal.metadata()),
        };
        Field::new(name, data_type, true)
    }

    fn binary(&self, name: &str) -> Field {
        let subtype = self.subtypes.first().copied().unwrap_or(0);
        match subtype {
            4 => Field::new(name, DataType::FixedSizeBinary(16), true).with_metadata(tag::binary_metadata(4)),
            0xfe => Field::new(name, DataType::Utf8, true).with_metadata(TextTag::Json.metadata()),
            other => Field::new(name, DataType::Binary, true).with_metadata(tag::binary_metadata(other)),
        }
    }

    fn conflict(&self, path: &str) -> Error {
        let what = if self.kinds == bit(kind::BINARY) {
            format!("bytes of the subtypes {:?}", self.subtypes)
        } else if self.kinds & !NUMBERS == 0 {
            let seen: Vec<String> =
                self.first.iter().map(|(kind, id)| format!("{} ({id})", type_name(*kind))).collect();
            format!("{}, and integers that a double can't represent exactly", seen.join(", "))
        } else {
            let seen: Vec<String> =
                self.first.iter().map(|(kind, id)| format!("{} ({id})", type_name(*kind))).collect();
            seen.join(", ")
        };
        Error::invalid(format!("the field has values of several types: {what}"))
            .at(path)
            .advice("read it as extended JSON with ?mixed=json, give a schema, or convert it with ?pipeline=")
    }
}

#[cfg(test)]
mod tests;
