//! Columns between commas: names, and values with names.

use std::str::FromStr;

use lakerace::{ColumnItem, Error, Result};

use super::{CommaList, next_name};

/// Columns between commas; blanks around them are dropped. Commas within quotes, parentheses and brackets belong to a
/// value: `day, coalesce(price, 0) as price`. A name with a comma is written in double quotes, as in a [`CommaList`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ColumnList(Vec<ListedColumn>);

/// A column as it was written.
#[derive(Debug, Clone, PartialEq, Eq)]
enum ListedColumn {
    /// A name that was written in double quotes.
    Quoted(String),
    /// A name, or a value with a name.
    Text(String),
}

impl ColumnList {
    /// The columns of a read.
    ///
    /// # Errors
    /// `Usage` and `Unsupported` for values that can't be parsed.
    pub(crate) fn items(&self) -> Result<Vec<ColumnItem>> {
        self.0.iter().map(ListedColumn::item).collect()
    }
}

impl ListedColumn {
    fn item(&self) -> Result<ColumnItem> {
        match self {
            Self::Quoted(name) => Ok(ColumnItem::Name(name.clone())),
            Self::Text(text) => match ColumnItem::parse(text)? {
                // More follows a quoted name, and is no new name for it.
                ColumnItem::Name(name) if name.starts_with('"') => {
                    name.parse::<CommaList>().map(|_| ColumnItem::Name(name))
                }
                item => Ok(item),
            },
        }
    }
}

impl FromStr for ColumnList {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let Some(parts) = parts(text) else {
            // A quote or a parenthesis that is not closed belongs to a name.
            let names: CommaList = text.parse()?;
            return Ok(Self(names.0.into_iter().map(ListedColumn::Text).collect()));
        };
        let listed = |part: &str| match part.starts_with('"').then(|| next_name(part, text)).transpose()? {
            Some((name, rest)) if rest.trim().is_empty() && !name.is_empty() => Ok(ListedColumn::Quoted(name)),
            _ if part.is_empty() || part == "\"\"" => {
                Err(Error::usage(format!("a name is missing in {text:?}")).advice("write names as a,b,c"))
            }
            _ => Ok(ListedColumn::Text(part.to_owned())),
        };
        parts.into_iter().map(|part| listed(part.trim())).collect::<Result<_>>().map(Self)
    }
}

/// The parts of a text between commas outside of quotes, parentheses and brackets; `None` where one of these is not
/// closed.
fn parts(text: &str) -> Option<Vec<&str>> {
    let (mut parts, mut start, mut depth, mut quote) = (Vec::new(), 0, 0usize, None);
    for (at, c) in text.char_indices() {
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (Some(_), _) => {}
            (None, '"' | '\'' | '`') => quote = Some(c),
            (None, '(' | '[') => depth += 1,
            (None, ')' | ']') => depth = depth.checked_sub(1)?,
            (None, ',') if depth == 0 => {
                parts.push(&text[start..at]);
                start = at + 1;
            }
            (None, _) => {}
        }
    }
    parts.push(&text[start..]);
    (depth == 0 && quote.is_none()).then_some(parts)
}

#[cfg(test)]
mod tests;
