//! Locations of SQLite tables and queries.

use std::path::{Path, PathBuf};

use lakerace_io::{Error, Result};
use percent_encoding::percent_decode_str;

/// Tables on their way to replace others have this in front of their names.
pub(super) const ASIDE: &str = "_lakerace_new_";

/// The relation of a database that is meant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum TableRelation {
    /// A table or a view.
    Table(String),
    /// The rows of a SELECT.
    Query(String),
}

/// A database file and a table or query in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct DatabasePlace {
    pub path: PathBuf,
    pub relation: TableRelation,
}

/// How locations are written.
const FORMS: &str = "write sqlite:///folder/file.db#table, sqlite:file.db#table, or sqlite:file.db?query=SELECT …";

impl DatabasePlace {
    /// Parses `sqlite:///absolute/file.db#table`, `sqlite:relative.db#table` or either with `?query=SELECT …`. In the
    /// form with slashes, `%xx` is decoded to a byte; the other form is used verbatim.
    pub fn parse(location: &str) -> Result<Self> {
        let rest = location.split_once(':').map_or(location, |(_, rest)| rest);
        let (rest, is_url) = match rest.strip_prefix("//") {
            Some(path) if path.starts_with('/') => (path, true),
            Some(_) => {
                return Err(Error::usage("the location names a host, but SQLite databases are files")
                    .at(location)
                    .advice(FORMS));
            }
            None => (rest, false),
        };
        let (path, relation) = match rest.split_once("?query=") {
            Some((path, query)) => {
                (path, TableRelation::Query(if is_url { decoded(query)? } else { query.to_owned() }))
            }
            None => match rest.rsplit_once('#') {
                Some((path, table)) if !table.is_empty() => {
                    (path, TableRelation::Table(if is_url { decoded(table)? } else { table.to_owned() }))
                }
                _ => return Err(Error::usage("the location names no table").at(location).advice(FORMS)),
            },
        };
        if path.is_empty() {
            return Err(Error::usage("the location names no file").at(location).advice(FORMS));
        }
        let path = if is_url { PathBuf::from(decoded(path)?) } else { PathBuf::from(path) };
        Ok(Self { path, relation })
    }

    /// The table that rows are written to.
    pub fn table(&self) -> Result<String> {
        match &self.relation {
            TableRelation::Table(table) => Ok(table.clone()),
            TableRelation::Query(_) => {
                Err(Error::usage("rows can't be written to a query").at(self.shown()).advice("name a table: #table"))
            }
        }
    }

    /// As messages name it.
    pub fn shown(&self) -> String {
        match &self.relation {
            TableRelation::Table(table) => format!("{}#{table}", self.path.display()),
            TableRelation::Query(_) => format!("{}?query", self.path.display()),
        }
    }

    /// The place in one spelling: the file's path from the root, without links.
    pub fn canonical(&self) -> String {
        let path = lakerace_io::canonical_path(&self.path);
        match &self.relation {
            TableRelation::Table(table) => format!("sqlite:{}#{}", path.display(), table.to_ascii_lowercase()),
            TableRelation::Query(query) => format!("sqlite:{}?{}", path.display(), query.trim().trim_end_matches(';')),
        }
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

fn decoded(text: &str) -> Result<String> {
    let decoded = percent_decode_str(text).decode_utf8();
    decoded
        .map(|text| text.into_owned())
        .map_err(|_| Error::usage("a %xx sequence of the location is not valid UTF-8").at(text))
}

/// A name as SQL writes it.
pub(super) fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

#[cfg(test)]
mod tests;
