//! Problems of a line.

use std::borrow::Cow;
use std::fmt;

use lakerace_io::Error;
use lakerace_io::option::{INPUT_FORMAT, ON_BAD_ROW};

use crate::json::{NoJson, TOO_DEEP};

/// The name of the unit that holds a row, for errors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RowUnit {
    /// A line of the file.
    Line,
    /// An element of an array, or an object over several lines.
    Row,
}

impl fmt::Display for RowUnit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Line => "line",
            Self::Row => "row",
        })
    }
}

/// Why a line gives no row.
#[derive(Debug)]
pub(super) enum LineFault {
    Json(NoJson),
    Value(Box<ValueMisfit>),
    /// The file's place has a value that a column does not take: no line of the file is at fault.
    Place(Box<Error>),
}

/// A value that its column does not take.
#[derive(Debug)]
pub(super) struct ValueMisfit {
    /// The byte of the line, from 0.
    pub at: usize,
    pub message: String,
    pub advice: String,
}

impl From<NoJson> for LineFault {
    fn from(error: NoJson) -> Self {
        Self::Json(error)
    }
}

impl LineFault {
    /// A value, or a name, at a byte of the line.
    #[cold]
    pub fn value(at: usize, message: String, advice: String) -> Self {
        Self::Value(Box::new(ValueMisfit { at, message, advice }))
    }

    /// The error, with the file, the line and its column.
    pub fn error(self, url: &str, unit: RowUnit, number: u64, line: &[u8]) -> Error {
        match self {
            Self::Json(error) => no_json(url, unit, number, line, error),
            Self::Place(error) => *error,
            Self::Value(misfit) => Error::invalid(misfit.message)
                .at(fault_location(url, unit, number, line, misfit.at))
                .advice(misfit.advice),
        }
    }
}

/// The fault of a line whose content is not an object, at this byte.
#[cold]
pub(super) fn no_object(unit: RowUnit, at: usize) -> LineFault {
    let message = format!("a {unit} must hold one object, but this one does not start with {{");
    let advice = match unit {
        RowUnit::Line => {
            format!("write each row on its own line, or use {} if the file is one array", INPUT_FORMAT.to("json"))
        }
        RowUnit::Row => format!("exclude such rows with {}", ON_BAD_ROW.to("skip")),
    };
    LineFault::value(at, message, advice)
}

/// The error of a line that is not JSON.
pub(super) fn no_json(url: &str, unit: RowUnit, number: u64, line: &[u8], error: NoJson) -> Error {
    if error.why == TOO_DEEP {
        return Error::unsupported(format!("the values of the {unit} are nested too deeply to be read"))
            .at(fault_location(url, unit, number, line, error.at))
            .advice(format!("write the inner values as text, or exclude such {unit}s with {}", ON_BAD_ROW.to("skip")));
    }
    let is_cut = error.at >= line.trim_ascii_end().len();
    let message = match is_cut {
        true => Cow::from(format!("the {unit} ends inside of its object")),
        false => Cow::from(format!("the {unit} is not valid JSON: {}", error.why)),
    };
    let advice = match is_cut {
        true => "write each row on one line, for example with: jq -c . FILE".to_owned(),
        false => format!("fix the {unit}, or exclude such {unit}s with {}", ON_BAD_ROW.to("skip")),
    };
    Error::invalid(message).at(fault_location(url, unit, number, line, error.at)).advice(advice)
}

/// Columns are characters, from 1.
fn fault_location(url: &str, unit: RowUnit, number: u64, line: &[u8], at: usize) -> String {
    let before = String::from_utf8_lossy(&line[..at.min(line.len())]);
    format!("{url}, {unit} {number}, column {}", before.chars().count() + 1)
}

/// The text of a value, truncated if it is long.
pub(super) fn shown(value: &[u8]) -> String {
    const MOST_CHARACTERS: usize = 40;
    let text = String::from_utf8_lossy(value);
    match text.char_indices().nth(MOST_CHARACTERS) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.into_owned(),
    }
}
