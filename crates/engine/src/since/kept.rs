//! The state that an incremental unload keeps with its target.

use arrow::datatypes::{Schema, SchemaRef};
use lakerace_format::{schema_from_base64, schema_to_base64};
use lakerace_io::Result;
use serde_json::{Map, Value, json};

use super::mark::WatermarkValue;
use crate::database::KnownTypes;
use crate::lease;

/// A run's knowledge of the one before.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct EarlierRun {
    /// A run has ended and kept its state, also one that has seen no value.
    pub has_ended: bool,
    /// The highest value that was seen. `None`: all rows are read.
    pub mark: Option<WatermarkValue>,
    /// The types of a source which declares none: those that the user has named, and those that were found.
    pub types: KnownTypes,
    /// The hashes of rows that are read again, and that the target has.
    pub rows: Vec<u128>,
    /// The identity of the target, which distinguishes it from another one of the same name.
    pub target: Option<String>,
}

impl EarlierRun {
    /// Parses the kept state, also that of earlier versions, which kept the value alone.
    pub fn parse(text: &str) -> Result<Self> {
        let kept: Map<String, Value> = serde_json::from_str(text).map_err(|_| WatermarkValue::damaged())?;
        let mark = match kept.get("type") {
            // A run has started, and none has ended.
            None if lease::has_no_job_state(text) => None,
            Some(Value::Null) => None,
            _ => Some(WatermarkValue::parse(&kept)?),
        };
        let text_of = |key: &str| kept.get(key).and_then(Value::as_str);
        let schema_of = |key: &str| -> Result<Option<SchemaRef>> {
            let Some(text) = text_of(key) else { return Ok(None) };
            schema_from_base64(text).map(|schema| Some(schema.into())).map_err(|_| WatermarkValue::damaged())
        };
        let rows = kept.get("rows").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        let hash = |row: &Value| row.as_str().and_then(|text| u128::from_str_radix(text, 16).ok());
        Ok(Self {
            has_ended: kept.contains_key("type") || mark.is_some(),
            mark,
            types: KnownTypes { given: schema_of("given_schema")?, found: schema_of("schema")? },
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
        let text_of = |schema: &Option<SchemaRef>| schema.as_deref().map(|schema: &Schema| schema_to_base64(schema));
        let mut kept = json!({
            "type": data_type,
            "value": value,
            "schema": text_of(&self.types.found),
            "rows": rows,
            "target": self.target,
        });
        if let Some(given) = text_of(&self.types.given) {
            kept["given_schema"] = given.into();
        }
        Ok(kept)
    }

    /// The value as a text.
    pub fn text(&self) -> Result<String> {
        self.value().map(|value| value.to_string())
    }
}
