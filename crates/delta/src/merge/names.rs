//! The names of columns in the expressions of a merge.

use std::cell::RefCell;

use arrow::datatypes::Schema;
use lakerace_format::Expr;
use lakerace_format::suggestions::{column_not_found, column_or_text_not_found};
use lakerace_io::{Error, Result};

/// The rows that an expression of a clause is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ClauseRows {
    /// Pairs of a row of the table and a row of the source.
    Pairs,
    /// Rows of the source.
    Source,
    /// Rows of the table.
    Target,
}

/// The columns of both sides, and the names by which expressions know them.
pub(crate) struct MergeNames<'a> {
    pub target: &'a Schema,
    pub target_alias: &'a str,
    pub source: &'a Schema,
    pub source_alias: &'a str,
}

impl MergeNames<'_> {
    /// An expression with the names of the batches that it is evaluated on. Of rows of the table these are the table's own;
    /// otherwise they are `alias.column`.
    ///
    /// # Errors
    /// `Usage` for a name that both sides have, and for a column of the side that has no row; `NotFound` for one that neither has.
    pub fn resolved(&self, expr: &Expr, rows: ClauseRows) -> Result<Expr> {
        let failed = RefCell::new(None);
        let resolved = expr.with_columns_replaced(&|name| match self.name(name, rows) {
            Ok(name) => Some(Expr::Column(name)),
            Err(error) => {
                failed.borrow_mut().get_or_insert(error);
                None
            }
        });
        match failed.into_inner() {
            None => Ok(resolved),
            Some(error) => Err(error),
        }
    }

    fn name(&self, name: &str, rows: ClauseRows) -> Result<String> {
        let after = |alias: &str| name.strip_prefix(alias)?.strip_prefix('.');
        let (of_source, of_target) = (rows != ClauseRows::Target, rows != ClauseRows::Source);
        if let Some(column) = after(self.source_alias) {
            if !of_source {
                return Err(Error::usage(format!("{name:?}: no row of the source matches these rows")));
            }
            return self.known(self.source, self.source_alias, column).map(|()| self.of_source(column));
        }
        if let Some(column) = after(self.target_alias) {
            if !of_target {
                return Err(Error::usage(format!("{name:?}: no row of the table matches these rows")));
            }
            self.known(self.target, self.target_alias, column)?;
            return Ok(self.of_target(column, rows));
        }
        let in_source = of_source && root_of(self.source, name).is_some();
        let in_target = of_target && root_of(self.target, name).is_some();
        match (in_source, in_target) {
            (true, false) => Ok(self.of_source(name)),
            (false, true) => Ok(self.of_target(name, rows)),
            (true, true) => Err(Error::usage(format!("both the table and the source have a column {name:?}"))
                .advice(format!("write {}.{name} or {}.{name}", self.target_alias, self.source_alias))),
            (false, false) => {
                let names = |schema: &Schema, alias: &str, is_there: bool| -> Vec<String> {
                    let fields = schema.fields().iter().filter(|_| is_there);
                    fields.map(|field| format!("{alias}.{}", field.name())).collect()
                };
                let mut known = names(self.target, self.target_alias, of_target);
                known.extend(names(self.source, self.source_alias, of_source));
                let known = known.iter().map(String::as_str);
                Err(if name.contains('.') {
                    column_not_found(name, known)
                } else {
                    column_or_text_not_found(name, known)
                })
            }
        }
    }

    fn known(&self, schema: &Schema, alias: &str, column: &str) -> Result<()> {
        match root_of(schema, column) {
            Some(_) => Ok(()),
            None => {
                let known: Vec<String> =
                    schema.fields().iter().map(|field| format!("{alias}.{}", field.name())).collect();
                Err(column_not_found(&format!("{alias}.{column}"), known.iter().map(String::as_str)))
            }
        }
    }

    /// The name of a column of the source, or of a field in it.
    pub fn of_source(&self, column: &str) -> String {
        format!("{}.{column}", self.source_alias)
    }

    /// The name of a column of the table, or of a field in it.
    pub fn of_target(&self, column: &str, rows: ClauseRows) -> String {
        match rows {
            ClauseRows::Target => column.to_owned(),
            ClauseRows::Pairs | ClauseRows::Source => format!("{}.{column}", self.target_alias),
        }
    }
}

/// The column of a schema that has this name, or that has the field that its dots lead to.
pub(crate) fn root_of<'a>(schema: &Schema, name: &'a str) -> Option<&'a str> {
    if schema.index_of(name).is_ok() {
        return Some(name);
    }
    let is_struct = |head: &str| schema.field_with_name(head).is_ok_and(|field| field.data_type().is_nested());
    name.rmatch_indices('.').map(|(dot, _)| &name[..dot]).find(|head| is_struct(head))
}

#[cfg(test)]
mod tests;
