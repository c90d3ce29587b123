//! Texts of the engine in the words of the command.

use std::borrow::Cow;

use lakerace_io::option::Door;
use lakerace_io::printable;
use serde_json::Value;

/// A text with its options as flags, and control characters escaped.
pub(crate) fn text(text: &str) -> Cow<'_, str> {
    match Door::CommandLine.show(text) {
        Cow::Borrowed(text) => printable(text),
        Cow::Owned(text) => Cow::Owned(printable(&text).into_owned()),
    }
}

/// A value of JSON whose texts have their options as flags.
pub(crate) fn json(value: Value) -> Value {
    match value {
        Value::String(text) => Value::String(Door::CommandLine.show(&text).into_owned()),
        Value::Array(items) => Value::Array(items.into_iter().map(json).collect()),
        Value::Object(fields) => Value::Object(fields.into_iter().map(|(name, value)| (name, json(value))).collect()),
        other => other,
    }
}
