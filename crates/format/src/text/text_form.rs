//! Conversion of a file's bytes to lines of UTF-8, if they are not such lines already.

use std::io::Read;

use super::json_values::JsonValues;
use super::text_encoding::{TextEncoding, Utf8Reader};

/// The conversion of files' text to lines of UTF-8. By default, the text already has this form.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct TextForm {
    /// The encoding; `None` is UTF-8.
    pub encoding: Option<TextEncoding>,
    /// The text is a JSON array, or JSON objects one after the other: each becomes a line.
    pub is_json: bool,
    /// The name of the format that the files are read as; empty if it does not matter.
    pub format: &'static str,
}

impl TextForm {
    /// Returns true if the bytes are read unchanged.
    pub fn is_plain(self) -> bool {
        self.encoding.is_none() && !self.is_json
    }

    /// The lines of a text.
    pub fn lines_of(self, text: Box<dyn Read + Send>) -> Box<dyn Read + Send> {
        let text = match self.encoding {
            Some(encoding) => Box::new(Utf8Reader::new(text, encoding)),
            None => text,
        };
        if self.is_json { Box::new(JsonValues::new(text)) } else { text }
    }
}
