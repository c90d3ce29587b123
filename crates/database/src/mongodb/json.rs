//! Canonical extended JSON, with the fields of documents in their order.

use bson::{Bson, Document};
use lakerace_format::json::{Json, JsonKind};
use lakerace_format::keeps_digits;
use lakerace_io::Result;

use super::elements::{ARRAY, BsonValue, DOCUMENT, ElementIterator, damaged};

/// Writes a value, such as `{"$oid": "…"}`.
pub(super) fn write(out: &mut String, value: BsonValue<'_>) -> Result<()> {
    let is_document = value.kind == DOCUMENT;
    if !is_document && value.kind != ARRAY {
        out.push_str(&leaf(value)?);
        return Ok(());
    }
    out.push(if is_document { '{' } else { '[' });
    let mut elements = ElementIterator::new(value.bytes)?;
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

fn leaf(value: BsonValue<'_>) -> Result<String> {
    let length = i32::try_from(value.bytes.len() + 8).map_err(|_| damaged())?;
    let mut document = length.to_le_bytes().to_vec();
    document.extend([value.kind, b'v', 0]);
    document.extend(value.bytes);
    document.push(0);
    let mut parsed = Document::from_reader(document.as_slice()).map_err(|_| damaged())?;
    let value = parsed.remove("v").ok_or_else(damaged)?;
    Ok(value.into_canonical_extjson().to_string())
}

/// Values nested deeper than this are refused, as the stack is finite.
const MAX_DEPTH: usize = 512;

/// The first names of typed values. Other names with a dollar, such as those of a pipeline, are names of fields.
const TYPES: [&str; 17] = [
    "$oid",
    "$symbol",
    "$numberInt",
    "$numberLong",
    "$numberDouble",
    "$numberDecimal",
    "$binary",
    "$uuid",
    "$code",
    "$scope",
    "$timestamp",
    "$regularExpression",
    "$dbPointer",
    "$date",
    "$minKey",
    "$maxKey",
    "$undefined",
];

/// Reads a value; `None` where the text is no extended JSON, or has a number of which a double would lose digits.
pub(super) fn parse(text: &str) -> Option<Bson> {
    let mut json = Json::new(text.as_bytes());
    let value = read(&mut json, 0)?;
    json.is_at_end().then_some(value)
}

fn read(json: &mut Json<'_>, depth: usize) -> Option<Bson> {
    if depth > MAX_DEPTH {
        return None;
    }
    let mut is_first = true;
    Some(match json.kind().ok()? {
        JsonKind::Null => json.null().ok().map(|()| Bson::Null)?,
        JsonKind::Boolean => json.boolean().ok()?.into(),
        JsonKind::Text => json.text().ok()?.as_ref().into(),
        JsonKind::Number => number(json.number().ok()?)?,
        JsonKind::Array => {
            let mut array = Vec::new();
            json.open_array().ok()?;
            while json.next(&mut is_first).ok()? {
                array.push(read(json, depth + 1)?);
            }
            Bson::Array(array)
        }
        JsonKind::Object => {
            let mut document = Document::new();
            let mut whole = json.clone();
            json.open_object().ok()?;
            while let Some(name) = json.key(&mut is_first).ok()? {
                if document.is_empty() && TYPES.contains(&name.as_ref()) {
                    let typed = serde_json::from_slice(whole.skip().ok()?).ok()?;
                    *json = whole;
                    return Bson::try_from(serde_json::Value::Object(typed)).ok();
                }
                document.insert(name.as_ref(), read(json, depth + 1)?);
            }
            Bson::Document(document)
        }
    })
}

/// An integer where the text has digits alone, else a double.
fn number(text: &str) -> Option<Bson> {
    if let Ok(integer) = text.parse::<i64>() {
        return Some(i32::try_from(integer).map_or(Bson::Int64(integer), Bson::Int32));
    }
    let has_fraction = text.contains(['.', 'e', 'E']);
    let float: f64 = text.parse().ok().filter(|float: &f64| has_fraction && float.is_finite())?;
    keeps_digits(text.trim_start_matches('-').as_bytes(), float.abs()).then_some(Bson::Double(float))
}
