//! File formats as values. Each is defined next to its code, and is used for locations, pipes, options, the command's
//! help and errors.

use std::fmt;
use std::sync::Arc;

use arrow::datatypes::{Schema, SchemaRef};
use lakerace_io::option::{OUTPUT_FORMAT, OptionDefinition};
use lakerace_io::{Error, Job, Object, Output, Result};

use crate::input::InputFile;
use crate::options::{ColumnUnion, CsvOptions, ExcelOptions, OrcOptions, ParquetOptions, WriteOptions};
use crate::sink::Sink;
use crate::source::Source;

/// The options of a read by which files are opened.
#[derive(Debug, Clone, Copy)]
pub struct OpenOptions<'a> {
    /// All files of the table, including those that are not read: text has their columns as well. Empty: the files that
    /// are opened.
    pub all: &'a [Object],
    /// The file that decides whose values a column has that files and their places have, if it is not the first of those
    /// that are opened. It is opened as well; for text, [`Self::all`] decides.
    pub first: Option<&'a Object>,
    /// Options of text.
    pub csv: &'a CsvOptions,
    /// Options of Parquet.
    pub parquet: ParquetOptions,
    /// Options of ORC.
    pub orc: &'a OrcOptions,
    /// Options of Excel.
    pub excel: &'a ExcelOptions,
    /// The files whose columns are united.
    pub union: ColumnUnion,
    /// The columns that are read, those of filters included; `None`: any. A source may have only these.
    pub columns: Option<&'a [String]>,
}

/// Opens files as one source.
pub type OpenFiles = fn(Vec<InputFile>, &OpenOptions<'_>, &Job) -> Result<Arc<dyn Source>>;

/// Starts a file for rows of a schema.
pub type CreateFile = fn(Output, SchemaRef, &WriteOptions, &Job) -> Result<Box<dyn Sink>>;

/// Fails with the reason if a text file with these columns could not be read back.
pub type CheckSchema = fn(&Schema, &CsvOptions) -> Result<()>;

/// A file format. [`Self::new`] returns one with all defaults:
///
/// ```
/// # use lakerace_format::{CreateFile, FileFormat, OpenFiles};
/// # fn example(open: OpenFiles, create: CreateFile) {
/// let toy = FileFormat { endings: &["toy"], marks: &[b"TOY1"], ..FileFormat::new("toy", open, create) };
/// # }
/// ```
pub struct FileFormat {
    /// The name in options and reports, in lower case. Its sources report it as
    /// [`SourceInfo::format`](crate::SourceInfo).
    pub name: &'static str,
    /// The name in texts.
    pub title: &'static str,
    /// A remark for an option's help, where the name does not say it all.
    pub help: Option<&'static str>,
    /// Endings of names, in small letters and without a dot. New files of a folder have the first one.
    pub endings: &'static [&'static str],
    /// The first bytes of files, for text after a byte order mark and blanks.
    pub marks: &'static [&'static [u8]],
    /// True if a file is read from its start, as from a pipe. Otherwise it is read from its end.
    pub is_streamed: bool,
    /// True if files are read and never written.
    pub is_read_only: bool,
    /// True if columns are read in the types of the table that their rows go to. Those of text are in any case.
    pub is_typed_by_target: bool,
    /// True if columns are stored separately, with statistics by which a filtered read skips rows.
    pub is_columnar: bool,
    /// True if writing dictionaries unchanged is faster than writing their values.
    pub keeps_dictionaries: bool,
    /// True if the files are those of TPC's `dbgen`, which writes whole quantities.
    pub is_dbgen: bool,
    /// The schema check of a text format. Text may be compressed with gzip or zstd, is shown on terminals, and has no
    /// schema: it is read back with a given one. `None`: files are binary and contain their schema.
    pub text_check: Option<CheckSchema>,
    /// Options for reading and writing that apply to it.
    pub options: &'static [&'static OptionDefinition],
    /// Opens files as one source.
    pub open: OpenFiles,
    /// Starts a file.
    pub create: CreateFile,
}

impl FileFormat {
    /// A binary format that is read from its end, without options, endings or marks.
    pub const fn new(name: &'static str, open: OpenFiles, create: CreateFile) -> Self {
        Self {
            name,
            title: name,
            help: None,
            endings: &[],
            marks: &[],
            is_streamed: false,
            is_read_only: false,
            is_typed_by_target: false,
            is_columnar: false,
            keeps_dictionaries: false,
            is_dbgen: false,
            text_check: None,
            options: &[],
            open,
            create,
        }
    }

    /// Returns true if files are text.
    pub fn is_text(&self) -> bool {
        self.text_check.is_some()
    }

    /// Fails if files of the format are only read.
    ///
    /// # Errors
    /// `Usage`, with the formats to write instead.
    pub fn check_writable(&self) -> Result<()> {
        if self.is_read_only { Err(self.read_only_error()) } else { Ok(()) }
    }

    /// The error of a write in a format that is only read.
    pub fn read_only_error(&self) -> Error {
        Error::usage(format!("{} files are read, and never written", self.title)).advice(format!(
            "write CSV, which spreadsheet programs open, or Parquet: choose a name that ends in .csv or .parquet, or set the \
             format with {}",
            OUTPUT_FORMAT.to("csv")
        ))
    }

    /// Returns true if an option of reading or writing applies to it.
    pub fn takes(&self, option: &OptionDefinition) -> bool {
        self.options.iter().any(|taken| taken.id == option.id)
    }

    /// Returns true if a file starts with a mark of this format.
    pub(crate) fn has_mark(&self, front: &[u8]) -> bool {
        self.marks.iter().any(|mark| front.starts_with(mark))
    }
}

/// Names are unique.
impl PartialEq for FileFormat {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for FileFormat {}

impl fmt::Debug for FileFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}
