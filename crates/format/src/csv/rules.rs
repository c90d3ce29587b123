//! How text becomes fields: a dialect with every default filled in.

use lakerace_io::option::{DELIMITER, ESCAPE, QUOTE};
use lakerace_io::{Error, Result};

use crate::CsvOptions;

/// The two families of text tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dialect {
    /// Comma-separated, quoted where needed, with a header (RFC 4180).
    Csv,
    /// TPC's: every field ends with `|`, no quotes, no header.
    Tbl,
}

impl Dialect {
    /// The format's lower-case name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Csv => "csv",
            Self::Tbl => "tbl",
        }
    }
}

/// A dialect with every option resolved.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Rules {
    /// The first record names the columns.
    pub header: bool,
    pub delimiter: u8,
    pub quote: Option<u8>,
    /// Takes the next byte literally inside quotes. Never the quote itself: a doubled quote always stands for one.
    pub escape: Option<u8>,
    /// A delimiter follows the last field, too.
    pub terminated: bool,
    pub nulls: Nulls,
}

/// Which unquoted texts mean null.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Nulls {
    texts: Vec<Vec<u8>>,
    /// The empty text is the only one: no field has to be compared before it is parsed.
    pub only_empty: bool,
}

impl Rules {
    pub fn new(dialect: Dialect, options: &CsvOptions) -> Result<Self> {
        let csv = dialect == Dialect::Csv;
        let quote = options.quote.unwrap_or(if csv { Some(b'"') } else { None });
        let rules = Self {
            header: options.header.unwrap_or(csv),
            delimiter: options.delimiter.unwrap_or(if csv { b',' } else { b'|' }),
            quote,
            escape: if quote.is_some() { options.escape.filter(|e| Some(*e) != quote) } else { None },
            terminated: !csv,
            nulls: Nulls::new(options.null_strings.as_deref()),
        };
        rules.check().map(|()| rules)
    }

    fn check(&self) -> Result<()> {
        let mut seen = vec![b'\n', b'\r'];
        for (what, byte) in [("delimiter", Some(self.delimiter)), ("quote", self.quote), ("escape", self.escape)] {
            let Some(byte) = byte else { continue };
            if !byte.is_ascii() {
                return Err(Error::usage(format!("the {what} must be one ASCII character")));
            }
            if seen.contains(&byte) {
                let shown = char::from(byte);
                return Err(Error::usage(format!("the {what} {shown:?} already has a meaning")).advice(format!(
                    "give {DELIMITER}, {QUOTE} and {ESCAPE} three different characters, none of them a line end"
                )));
            }
            seen.push(byte);
        }
        Ok(())
    }
}

impl Nulls {
    fn new(texts: Option<&[String]>) -> Self {
        let texts: Vec<Vec<u8>> = match texts {
            None => vec![Vec::new()],
            Some(texts) => texts.iter().map(|t| t.as_bytes().to_vec()).collect(),
        };
        Self { only_empty: texts.iter().all(Vec::is_empty) && !texts.is_empty(), texts }
    }

    /// Whether an unquoted field is null.
    pub fn contains(&self, field: &[u8]) -> bool {
        self.texts.iter().any(|t| t == field)
    }

    /// What a writer puts for null.
    pub fn first(&self) -> &[u8] {
        self.texts.first().map_or(&[], Vec::as_slice)
    }
}
