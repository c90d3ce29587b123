//! The place of rows in a JSON file.

use super::fault::RowUnit;
use super::{JSON, JSON_LINES};
use crate::file_format::FileFormat;
use crate::text::TextForm;

/// The place of rows in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum JsonLayout {
    /// An object a line.
    Lines,
    /// An array of objects, or objects one after the other, over any number of lines.
    Array,
}

impl JsonLayout {
    /// The format of such files.
    pub fn format(self) -> &'static FileFormat {
        match self {
            Self::Lines => &JSON_LINES,
            Self::Array => &JSON,
        }
    }

    /// The conversion of the text of such files to lines.
    pub fn form(self) -> TextForm {
        TextForm { is_json: self == Self::Array, format: self.format().name, ..TextForm::default() }
    }

    /// The unit that holds a row.
    pub fn unit(self) -> RowUnit {
        match self {
            Self::Lines => RowUnit::Line,
            Self::Array => RowUnit::Row,
        }
    }
}
