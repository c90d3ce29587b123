//! The columns that a read names: those of its source, and values that are computed from them.

use lakerace_format::Expr;
use lakerace_io::option::COLUMNS;
use lakerace_io::{Error, Result};
use serde::Serialize;

use crate::filter::{RunTime, has_alias, parse_column};

/// A column of a read.
///
/// Serialised, it is its text: the stored state of loads belongs to these columns.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum ColumnItem {
    /// A column of the source by its name; dots lead into structs if no column has the whole name.
    Name(String),
    /// A value for each row, with a name.
    Computed(ComputedColumn),
}

/// A column that is computed from those of the source.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ComputedColumn {
    /// Its name.
    pub name: String,
    /// Its value.
    #[serde(skip)]
    pub value: Expr,
    /// The value and the name as they were written: `price * 1.2 as gross`.
    pub text: String,
}

impl ColumnItem {
    /// Parses a text: one that ends with `as` and a name is a value of the filter language, any other one is a name.
    ///
    /// ```
    /// use lakerace::ColumnItem;
    /// assert_eq!(ColumnItem::parse("unit price")?, ColumnItem::Name("unit price".to_owned()));
    /// assert!(matches!(ColumnItem::parse("price * 1.2 as gross")?, ColumnItem::Computed(column) if column.name == "gross"));
    /// # Ok::<(), lakerace::Error>(())
    /// ```
    ///
    /// # Errors
    /// `Usage` for a value that can't be parsed, `Unsupported` for one that the language lacks.
    pub fn parse(text: &str) -> Result<Self> {
        if !has_alias(text) {
            return Ok(Self::Name(text.to_owned()));
        }
        let (value, name) = parse_column(text, RunTime::now())?;
        Ok(Self::Computed(ComputedColumn { name, value, text: text.trim().to_owned() }))
    }

    /// The column with the time of a run in place of that of its parsing.
    ///
    /// # Errors
    /// Those of [`Self::parse`].
    pub(crate) fn at_time(&self, time: RunTime) -> Result<Self> {
        match self {
            Self::Computed(column) if column.text.to_ascii_lowercase().contains("now") => {
                let (value, name) = parse_column(&column.text, time)?;
                Ok(Self::Computed(ComputedColumn { name, value, text: column.text.clone() }))
            }
            other => Ok(other.clone()),
        }
    }

    /// Columns of the source by their names.
    pub fn named(names: impl IntoIterator<Item = impl Into<Self>>) -> Vec<Self> {
        names.into_iter().map(Into::into).collect()
    }

    /// The text as it was written.
    pub fn text(&self) -> &str {
        match self {
            Self::Name(name) => name,
            Self::Computed(column) => &column.text,
        }
    }

    /// The computed column that it is.
    pub(crate) fn as_computed(&self) -> Option<&ComputedColumn> {
        match self {
            Self::Name(_) => None,
            Self::Computed(column) => Some(column),
        }
    }
}

impl From<String> for ColumnItem {
    /// A column of the source by its name.
    fn from(name: String) -> Self {
        Self::Name(name)
    }
}

impl From<&String> for ColumnItem {
    fn from(name: &String) -> Self {
        Self::Name(name.clone())
    }
}

impl From<&str> for ColumnItem {
    fn from(name: &str) -> Self {
        Self::Name(name.to_owned())
    }
}

impl ComputedColumn {
    /// The column of the source that it renames; dots lead into structs. `None` of other values.
    pub(crate) fn renamed(&self) -> Option<&str> {
        match &self.value {
            Expr::Column(name) => Some(name),
            _ => None,
        }
    }
}

/// The names of columns for a read that computes none.
///
/// # Errors
/// `Usage` for a computed column.
pub(crate) fn plain_names(items: Option<&[ColumnItem]>) -> Result<Option<Vec<String>>> {
    let name = |item: &ColumnItem| match item {
        ColumnItem::Name(name) => Ok(name.clone()),
        ColumnItem::Computed(column) => {
            let message =
                format!("{COLUMNS}: {:?} is computed, but only columns of the table are read here", column.text);
            Err(Error::usage(message).advice("name the columns that it needs, and compute it from them"))
        }
    };
    items.map(|items| items.iter().map(name).collect()).transpose()
}

#[cfg(test)]
mod tests;
