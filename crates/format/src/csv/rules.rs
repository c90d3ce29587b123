//! The rules by which text is split into fields: a dialect with every default filled in.

use lakerace_io::option::{COMMENT, DELIMITER, ESCAPE, QUOTE};
use lakerace_io::{Error, Result};

use super::value_texts::ValueTexts;
use crate::options::CsvOptions;
use crate::text::{TextEncoding, TextForm};

/// The longest beginning of comments, in bytes.
const MAX_COMMENT_BYTES: usize = 16;

/// The two families of text tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dialect {
    /// Comma-separated, quoted where needed, with a header (RFC 4180).
    Csv,
    /// The same with tabs between fields.
    Tsv,
    /// TPC's: every field ends with `|`, no quotes, no header.
    Tbl,
}

impl Dialect {
    /// The delimiter of the dialect, unless an option sets it.
    const fn delimiter(self) -> u8 {
        match self {
            Self::Csv => b',',
            Self::Tsv => b'\t',
            Self::Tbl => b'|',
        }
    }

    /// The format's lower-case name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Csv => "csv",
            Self::Tsv => "tsv",
            Self::Tbl => "tbl",
        }
    }
}

/// A dialect with every option resolved.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct DialectRules {
    /// The first record names the columns.
    pub header: bool,
    pub delimiter: u8,
    pub quote: Option<u8>,
    /// Makes the next byte literal inside quotes. It is never the quote itself: a doubled quote always means one quote.
    pub escape: Option<u8>,
    /// A delimiter also follows the last field.
    pub terminated: bool,
    pub nulls: NullTexts,
    /// Lines at the front of a file that are skipped.
    pub skip_rows: usize,
    /// Lines that start with this text are not rows.
    pub comment: Option<Vec<u8>>,
    /// The format of values.
    pub values: ValueTexts,
    /// The conversion of files to lines of UTF-8.
    pub form: TextForm,
}

/// The unquoted texts that mean null.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct NullTexts {
    texts: Vec<Vec<u8>>,
    /// The empty text is the only one: no field has to be compared before it is parsed.
    pub only_empty: bool,
}

impl DialectRules {
    pub fn new(dialect: Dialect, options: &CsvOptions) -> Result<Self> {
        let csv = dialect != Dialect::Tbl;
        let quote = options.quote.unwrap_or(if csv { Some(b'"') } else { None });
        let rules = Self {
            header: options.header.unwrap_or(csv),
            delimiter: options.delimiter.unwrap_or(dialect.delimiter()),
            quote,
            escape: if quote.is_some() { options.escape.filter(|e| Some(*e) != quote) } else { None },
            terminated: !csv,
            nulls: NullTexts::new(options.null_strings.as_deref()),
            skip_rows: options.skip_rows,
            comment: options.comment.as_ref().map(|text| text.as_bytes().to_vec()),
            values: ValueTexts::new(options)?,
            form: TextForm { encoding: encoding(options)?, format: dialect.name(), ..TextForm::default() },
        };
        rules.check().map(|()| rules)
    }

    fn check(&self) -> Result<()> {
        if let Some(comment) = &self.comment {
            let specials = [Some(self.delimiter), self.quote, Some(b'\n'), Some(b'\r')];
            if comment.is_empty() || specials.iter().flatten().any(|special| comment.contains(special)) {
                return Err(Error::usage(format!(
                    "{COMMENT}: {:?} can't start a comment",
                    String::from_utf8_lossy(comment)
                ))
                .advice("give one or more characters, none of them a delimiter, a quote or a line end"));
            }
            if comment.len() > MAX_COMMENT_BYTES {
                let message = format!("{COMMENT}: the text is longer than {MAX_COMMENT_BYTES} bytes");
                return Err(Error::usage(message).advice("give the first characters of the comments, such as #"));
            }
        }
        let mut seen = vec![b'\n', b'\r'];
        for (what, byte) in [("delimiter", Some(self.delimiter)), ("quote", self.quote), ("escape", self.escape)] {
            let Some(byte) = byte else { continue };
            if !byte.is_ascii() {
                return Err(Error::usage(format!("the {what} must be a single ASCII character"))
                    .advice(format!("give {DELIMITER}, {QUOTE} and {ESCAPE} one ASCII character each, such as ;")));
            }
            if seen.contains(&byte) {
                let shown = char::from(byte);
                return Err(Error::usage(format!("the {what} {shown:?} already has another meaning")).advice(format!(
                    "give {DELIMITER}, {QUOTE} and {ESCAPE} three different characters, none of them a line end"
                )));
            }
            seen.push(byte);
        }
        Ok(())
    }
}

/// Fields with nothing around them but quotes.
impl Default for DialectRules {
    fn default() -> Self {
        Self {
            header: false,
            delimiter: b',',
            quote: Some(b'"'),
            escape: None,
            terminated: false,
            nulls: NullTexts::new(None),
            skip_rows: 0,
            comment: None,
            values: ValueTexts::default(),
            form: TextForm::default(),
        }
    }
}

impl DialectRules {
    /// Returns true if a record, or the text from its start, is a comment.
    #[inline]
    pub fn is_comment(&self, record: &[u8]) -> bool {
        self.comment.as_deref().is_some_and(|comment| record.starts_with(comment))
    }
}

/// The encoding of files that are not in UTF-8.
fn encoding(options: &CsvOptions) -> Result<Option<TextEncoding>> {
    let encoding = options.encoding.as_deref().map(str::parse::<TextEncoding>).transpose()?;
    Ok(encoding.filter(|encoding| !encoding.is_utf8()))
}

impl NullTexts {
    fn new(texts: Option<&[String]>) -> Self {
        let texts: Vec<Vec<u8>> = match texts {
            None => vec![Vec::new()],
            Some(texts) => texts.iter().map(|t| t.as_bytes().to_vec()).collect(),
        };
        Self { only_empty: texts.iter().all(Vec::is_empty) && !texts.is_empty(), texts }
    }

    /// Returns true if an unquoted field is null.
    pub fn contains(&self, field: &[u8]) -> bool {
        self.texts.iter().any(|t| t == field)
    }

    /// The text that a writer puts for null.
    pub fn first(&self) -> &[u8] {
        self.texts.first().map_or(&[], Vec::as_slice)
    }
}
