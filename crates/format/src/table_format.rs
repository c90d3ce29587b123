//! Table formats as values.

use lakerace_io::option::OptionDefinition;

use crate::file_format::FileFormat;

/// A table format: a folder of data files, with a log that says which of them are its rows.
#[derive(Debug, PartialEq, Eq)]
pub struct TableFormat {
    /// The name by which options and reports say it, in small letters.
    pub name: &'static str,
    /// The name in texts.
    pub title: &'static str,
    /// The prefix of a folder's name that marks it as such a table.
    pub scheme: &'static str,
    /// The format of its data files.
    pub files: &'static FileFormat,
    /// Options of reading and writing that apply to it.
    pub options: &'static [&'static OptionDefinition],
}

impl TableFormat {
    /// Returns true if an option of reading or writing applies to it.
    pub fn takes(&self, option: &OptionDefinition) -> bool {
        self.options.iter().any(|taken| taken.id == option.id)
    }
}
