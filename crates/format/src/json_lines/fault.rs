//! What is wrong with a line.

use std::borrow::Cow;

use lakerace_io::Error;
use lakerace_io::option::ON_BAD_ROW;

use crate::json::{NoJson, TOO_DEEP};

/// Why a line gives no row.
#[derive(Debug)]
pub(super) enum Fault {
    Json(NoJson),
    Value(Box<Misfit>),
}

/// A value that its column does not take.
#[derive(Debug)]
pub(super) struct Misfit {
    /// The byte of the line, from 0.
    pub at: usize,
    pub message: String,
    pub advice: String,
}

impl From<NoJson> for Fault {
    fn from(error: NoJson) -> Self {
        Self::Json(error)
    }
}

impl Fault {
    /// A value, or a name, at a byte of the line.
    #[cold]
    pub fn value(at: usize, message: String, advice: String) -> Self {
        Self::Value(Box::new(Misfit { at, message, advice }))
    }

    /// The error, with the file, the line and its column.
    pub fn error(self, url: &str, number: u64, line: &[u8]) -> Error {
        match self {
            Self::Json(error) => no_json(url, number, line, error),
            Self::Value(misfit) => {
                Error::invalid(misfit.message).at(place(url, number, line, misfit.at)).advice(misfit.advice)
            }
        }
    }
}

/// A line that holds something else than an object, which begins at this byte.
#[cold]
pub(super) fn no_object(at: usize) -> Fault {
    let message = "a line holds one object, and this one does not begin with {".to_owned();
    Fault::value(at, message, "make each row a line, for example with: jq -c '.[]' FILE".to_owned())
}

/// The error of a line that is no JSON.
pub(super) fn no_json(url: &str, number: u64, line: &[u8], error: NoJson) -> Error {
    if error.why == TOO_DEEP {
        return Error::unsupported("the line is JSON whose values are nested too deep to be read")
            .at(place(url, number, line, error.at))
            .advice(format!("write the inner values as texts, or leave such lines out by {}", ON_BAD_ROW.to("skip")));
    }
    let is_cut = error.at >= line.trim_ascii_end().len();
    let message = match is_cut {
        true => Cow::from("the line ends inside of its object"),
        false => Cow::from(format!("the line is no JSON: {}", error.why)),
    };
    let advice = match is_cut {
        true => "make each row one line, for example with: jq -c . FILE".to_owned(),
        false => format!("mend the line, or leave such lines out by {}", ON_BAD_ROW.to("skip")),
    };
    Error::invalid(message).at(place(url, number, line, error.at)).advice(advice)
}

/// Columns are characters, from 1.
fn place(url: &str, number: u64, line: &[u8], at: usize) -> String {
    let before = String::from_utf8_lossy(&line[..at.min(line.len())]);
    format!("{url}, line {number}, column {}", before.chars().count() + 1)
}

/// A value as it is written, cut where it is long.
pub(super) fn shown(value: &[u8]) -> String {
    const MOST_CHARACTERS: usize = 40;
    let text = String::from_utf8_lossy(value);
    match text.char_indices().nth(MOST_CHARACTERS) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.into_owned(),
    }
}
