//! Canonical extended JSON, with the fields of documents in their order.

use std::fmt;

use bson::{Bson, Document};
use lakerace_io::Result;
use serde::de::{Deserialize, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};

use super::elements::{ARRAY, DOCUMENT, Elements, Value, damaged};

/// Writes a value, such as `{"$oid": "…"}`.
pub(super) fn write(out: &mut String, value: Value<'_>) -> Result<()> {
    let is_document = value.kind == DOCUMENT;
    if !is_document && value.kind != ARRAY {
        out.push_str(&leaf(value)?);
        return Ok(());
    }
    out.push(if is_document { '{' } else { '[' });
    let mut elements = Elements::new(value.bytes)?;
    let mut is_first = true;
    while let Some((name, value)) = elements.next_element(&[])? {
        if !std::mem::take(&mut is_first) {
            out.push(',');
        }
        if is_document {
            out.push_str(&serde_json::Value::from(String::from_utf8_lossy(name)).to_string());
            out.push(':');
        }
        write(out, value)?;
    }
    out.push(if is_document { '}' } else { ']' });
    Ok(())
}

fn leaf(value: Value<'_>) -> Result<String> {
    let length = i32::try_from(value.bytes.len() + 8).map_err(|_| damaged())?;
    let mut document = length.to_le_bytes().to_vec();
    document.extend([value.kind, b'v', 0]);
    document.extend(value.bytes);
    document.push(0);
    let mut parsed = Document::from_reader(document.as_slice()).map_err(|_| damaged())?;
    let value = parsed.remove("v").ok_or_else(damaged)?;
    Ok(value.into_canonical_extjson().to_string())
}

/// Reads a value; `None` where the text is no extended JSON.
pub(super) fn parse(text: &str) -> Option<Bson> {
    serde_json::from_str::<Ordered>(text).ok().map(|value| value.0)
}

struct Ordered(Bson);

impl<'de> Deserialize<'de> for Ordered {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        deserializer.deserialize_any(OrderedVisitor).map(Self)
    }
}

struct OrderedVisitor;

impl<'de> Visitor<'de> for OrderedVisitor {
    type Value = Bson;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("extended JSON")
    }

    fn visit_unit<E>(self) -> std::result::Result<Bson, E> {
        Ok(Bson::Null)
    }

    fn visit_bool<E>(self, value: bool) -> std::result::Result<Bson, E> {
        Ok(value.into())
    }

    fn visit_i64<E>(self, value: i64) -> std::result::Result<Bson, E> {
        Ok(i32::try_from(value).map_or(Bson::Int64(value), Bson::Int32))
    }

    fn visit_u64<E: serde::de::Error>(self, value: u64) -> std::result::Result<Bson, E> {
        i64::try_from(value).map_err(|_| E::custom("a number beyond int64")).and_then(|value| self.visit_i64(value))
    }

    fn visit_f64<E>(self, value: f64) -> std::result::Result<Bson, E> {
        Ok(value.into())
    }

    fn visit_str<E>(self, value: &str) -> std::result::Result<Bson, E> {
        Ok(value.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut values: A) -> std::result::Result<Bson, A::Error> {
        let mut array = Vec::new();
        while let Some(value) = values.next_element::<Ordered>()? {
            array.push(value.0);
        }
        Ok(Bson::Array(array))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> std::result::Result<Bson, A::Error> {
        let mut document = Document::new();
        while let Some(name) = fields.next_key::<String>()? {
            // A dollar stands in front of the name of a type.
            if document.is_empty() && name.starts_with('$') {
                let mut typed = serde_json::Map::new();
                typed.insert(name, fields.next_value()?);
                while let Some((name, value)) = fields.next_entry()? {
                    typed.insert(name, value);
                }
                return Bson::try_from(serde_json::Value::Object(typed)).map_err(A::Error::custom);
            }
            document.insert(name, fields.next_value::<Ordered>()?.0);
        }
        Ok(Bson::Document(document))
    }
}
