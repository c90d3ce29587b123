//! A line of the log.

use std::fmt::{self, Write};
use std::time::SystemTime;

use lakerace_io::option::Door;
use lakerace_io::{printable, redacted};
use serde_json::{Value, json};
use tracing::Event;
use tracing::field::{Field, Visit};

use crate::args::LogFormat;

/// The fields of an event, all of them without credentials.
#[derive(Default)]
struct EventFields {
    message: String,
    others: Vec<(&'static str, Value)>,
}

/// The line of an event, with its end.
pub(super) fn line(event: &Event<'_>, format: LogFormat) -> String {
    let mut fields = EventFields::default();
    event.record(&mut fields);
    let time = humantime::format_rfc3339_micros(SystemTime::now()).to_string();
    let (level, target) = (event.metadata().level(), event.metadata().target());
    let process = std::process::id();
    let mut line = String::new();
    // Writing to a string does not fail.
    let _ = match format {
        LogFormat::Text => {
            let level = level.as_str();
            text(&mut line, &fields, format_args!("{time} {level:5} [{process}] {target}: "))
        }
        LogFormat::Json => {
            let head = json!({ "time": time, "level": level.as_str(), "process": process, "target": target });
            object(&mut line, fields, head)
        }
    };
    line
}

fn text(line: &mut String, fields: &EventFields, head: fmt::Arguments<'_>) -> fmt::Result {
    write!(line, "{head}{}", printable(&fields.message).replace('\n', " "))?;
    for (name, value) in &fields.others {
        match value {
            Value::String(text) if is_word(text) => write!(line, " {name}={text}")?,
            value => write!(line, " {name}={}", printable(&value.to_string()))?,
        }
    }
    line.write_char('\n')
}

/// Returns true for a text that needs no quotes.
fn is_word(text: &str) -> bool {
    !text.is_empty() && !text.contains(|c: char| c.is_whitespace() || c.is_control() || matches!(c, '"' | '=' | '\\'))
}

fn object(line: &mut String, fields: EventFields, mut head: Value) -> fmt::Result {
    if let Value::Object(object) = &mut head {
        object.insert("message".to_owned(), Value::String(fields.message));
        object.extend(fields.others.into_iter().map(|(name, value)| (name.to_owned(), value)));
    }
    writeln!(line, "{head}")
}

impl EventFields {
    fn push(&mut self, field: &Field, value: Value) {
        self.others.push((field.name(), value));
    }
}

impl Visit for EventFields {
    fn record_f64(&mut self, field: &Field, value: f64) {
        self.push(field, json!(value));
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.push(field, json!(value));
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.push(field, json!(value));
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.push(field, json!(value));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        let text = redacted(&Door::CommandLine.show(value)).into_owned();
        match field.name() {
            "message" => self.message = text,
            _ => self.push(field, Value::String(text)),
        }
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.record_str(field, &format!("{value:?}"));
    }
}
