//! The state that an incremental unload keeps with its target.

use arrow::datatypes::{Schema, SchemaRef};
use lakerace_format::{schema_from_base64, schema_to_base64};
use lakerace_io::Result;
use serde_json::{Map, Value, json};

use super::mark::Mark;

/// A run's knowledge of the one before.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Kept {
    /// The highest value that was seen. `None`: all rows are read.
    pub mark: Option<Mark>,
    /// The types that were found in a source which declares none.
    pub schema: Option<SchemaRef>,
    /// The hashes of rows that are read again, and that the target has.
    pub rows: Vec<u128>,
    /// The identity of the target, which tells it from another one of its name.
    pub target: Option<String>,
}

impl Kept {
    /// Reads what is kept, also by earlier versions, which kept the value alone.
    pub fn parse(text: &str) -> Result<Self> {
        let kept: Map<String, Value> = serde_json::from_str(text).map_err(|_| Mark::damaged())?;
        let mark = match (kept.get("type"), kept.contains_key("runs")) {
            // A run has begun, and none has ended.
            (None, true) => None,
            (Some(Value::Null), _) => None,
            _ => Some(Mark::parse(&kept)?),
        };
        let text_of = |key: &str| kept.get(key).and_then(Value::as_str);
        let schema = text_of("schema").map(|text| schema_from_base64(text).map_err(|_| Mark::damaged())).transpose()?;
        let rows = kept.get("rows").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        let hash = |row: &Value| row.as_str().and_then(|text| u128::from_str_radix(text, 16).ok());
        Ok(Self {
            mark,
            schema: schema.map(Into::into),
            rows: rows.iter().filter_map(hash).collect(),
            target: text_of("target").map(str::to_owned),
        })
    }

    /// The text that is kept.
    pub fn value(&self) -> Result<Value> {
        let (data_type, value) = match &self.mark {
            Some(mark) => mark.print()?,
            None => (Value::Null, Value::Null),
        };
        let rows: Vec<String> = self.rows.iter().map(|row| format!("{row:032x}")).collect();
        let schema = self.schema.as_deref().map(|schema: &Schema| schema_to_base64(schema));
        Ok(json!({ "type": data_type, "value": value, "schema": schema, "rows": rows, "target": self.target }))
    }

    /// The value as a text.
    pub fn text(&self) -> Result<String> {
        self.value().map(|value| value.to_string())
    }
}
