//! The way from a file's bytes to lines of UTF-8, where it is not straight.

use std::io::Read;

use super::json_values::JsonValues;
use super::text_encoding::{TextEncoding, Utf8Reader};

/// How the text of files is made into lines of UTF-8. By default it is lines of UTF-8 already.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct TextForm {
    /// The encoding; `None` is UTF-8.
    pub encoding: Option<TextEncoding>,
    /// The text is a JSON array, or JSON objects one after the other: each becomes a line.
    pub is_json: bool,
}

impl TextForm {
    /// Returns true if the bytes are read unchanged.
    pub fn is_plain(self) -> bool {
        self == Self::default()
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
