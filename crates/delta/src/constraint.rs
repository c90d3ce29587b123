//! CHECK constraints of a table: conditions that are true of every row that is written.
//!
//! The log has them as SQL, which a parser of the table's opener parses ([`crate::Table::with_condition_parser`]). A
//! constraint that can't be evaluated as Spark does is an error of every write, and of no other change. Format:
//! <https://github.com/delta-io/delta/blob/master/PROTOCOL.md#check-constraints>.

mod spark_meaning;

use arrow::array::{Array, RecordBatch};
use arrow::datatypes::{DataType, Fields, Schema};
use lakerace_format::{Expr, Predicate, ReadRequest, Source};
use lakerace_io::option::{ALTER, UNSET, WHERE};
use lakerace_io::{Error, ErrorKind, Result};

use crate::snapshot::Snapshot;
use crate::source::DeltaSource;
use crate::table::Table;
use crate::write::fit::{BatchFit, TargetColumn, TargetColumns};

/// The start of a property's name that makes it a constraint.
pub(crate) const CONSTRAINT: &str = "delta.constraints.";

/// A condition that is true of every row of a table.
#[derive(Debug, Clone)]
pub(crate) struct TableConstraint {
    name: String,
    text: String,
    condition: Expr,
}

impl TableConstraint {
    /// Parses the text of a constraint.
    pub fn parse(table: &Table, name: &str, text: &str) -> Result<Self> {
        let Some(parse) = table.condition_parser() else {
            return Err(Error::unsupported("constraints of a table that is opened without a parser for conditions"));
        };
        // Spark reads a text in them, other engines a column.
        if text.contains('"') {
            return Err(Error::unsupported("a constraint with double quotes, which engines interpret differently")
                .advice("write strings as 'text' and columns as `column`"));
        }
        Ok(Self { name: name.to_owned(), text: text.to_owned(), condition: parse(text)? })
    }

    /// The constraint with Spark's value for every row of a version; an error where lakerace knows of none.
    pub fn with_spark_meaning(self, snapshot: &Snapshot) -> Result<Self> {
        // Conditions that can't be bound have clearer errors there.
        self.bind(snapshot.schema())?;
        let padded = has_padded_texts(snapshot.schema_text());
        let condition = spark_meaning::as_in_spark(&self.condition, snapshot.schema(), padded)?;
        Ok(Self { condition, ..self })
    }

    /// Binds the condition to columns; its value is a boolean.
    fn bind(&self, schema: &Schema) -> Result<Predicate> {
        Predicate::bind(&self.condition, schema)
    }

    /// The columns that it uses.
    pub fn columns(&self, schema: &Schema) -> Result<Vec<String>> {
        let predicate = self.bind(schema)?;
        Ok(predicate.columns().iter().map(|at| schema.field(*at).name().clone()).collect())
    }

    /// An error where a row of a version violates it.
    pub fn check_version(&self, snapshot: &Snapshot) -> Result<()> {
        let predicate = self.bind(snapshot.schema())?;
        let condition = || Box::new(self.condition.clone());
        let violated = Expr::Or(vec![Expr::IsNull(condition()), Expr::Not(condition())]);
        let source = DeltaSource::open(snapshot.clone())?;
        let request = ReadRequest { filter: Some(violated), limit: Some(1), ..ReadRequest::default() };
        let plan = source.plan(&request)?;
        for batch in source.read(&plan)? {
            let batch = batch?;
            if batch.num_rows() > 0 {
                let row = shown(&batch, 0, predicate.columns().iter().map(|at| snapshot.schema().field(*at).name()))?;
                return Err(Error::invalid(format!(
                    "a row of the table violates the constraint {} ({}): {row}",
                    self.name, self.text
                ))
                .advice("change or delete such rows first"));
            }
        }
        Ok(())
    }
}

/// True of a schema of the log where some text is padded (`CHAR`), or compared by a collation.
fn has_padded_texts(schema: &str) -> bool {
    let is_char = schema.contains("__CHAR_VARCHAR_TYPE_STRING") && schema.replace("varchar(", "").contains("char(");
    is_char || schema.contains("__COLLATIONS")
}

/// The names and texts of a version's constraints.
pub(crate) fn constraint_texts(snapshot: &Snapshot) -> Vec<(String, String)> {
    let properties = snapshot.properties().into_iter();
    properties.filter_map(|(name, text)| Some((name.strip_prefix(CONSTRAINT)?.to_owned(), text))).collect()
}

/// The constraints of a version. An error of kind `Unsupported` where one can't be checked.
pub(crate) fn constraints(snapshot: &Snapshot) -> Result<Vec<TableConstraint>> {
    let parsed = constraint_texts(snapshot).into_iter().map(|(name, text)| {
        let refused = |error: &Error| {
            let what = format!(
                "writing to a table with the constraint {name} ({text}; the feature checkConstraints): {}",
                error.message()
            );
            let unset = ALTER.with([UNSET.to(format!("{CONSTRAINT}{name}"))]);
            Error::unsupported(what)
                .advice(format!("write with an engine that checks it, or drop it with that engine or with {unset}"))
        };
        let constraint = TableConstraint::parse(snapshot.table(), &name, &text);
        constraint.and_then(|constraint| constraint.with_spark_meaning(snapshot)).map_err(|error| refused(&error))
    });
    parsed.collect()
}

/// The constraints of a table, bound to the batches of a write.
pub(crate) struct RowChecks {
    fit: BatchFit,
    checks: Vec<(TableConstraint, Predicate)>,
}

impl RowChecks {
    /// The checks of a version for batches of this schema; `None` where it has no constraint.
    pub fn new(snapshot: &Snapshot, source: &Schema, targets: &TargetColumns) -> Result<Option<Self>> {
        let constraints = constraints(snapshot)?;
        if constraints.is_empty() {
            return Ok(None);
        }
        let mut used = Vec::new();
        for constraint in &constraints {
            used.extend(constraint.columns(snapshot.schema())?);
        }
        let all = targets.data.iter().chain(&targets.partitions);
        // Under the table's names, at every level.
        let logical =
            |target: &TargetColumn| TargetColumn { stored: target.logical.clone(), logical: target.logical.clone() };
        let mut chosen: Vec<TargetColumn> = Vec::new();
        for target in all.filter(|target| used.contains(target.logical.name())) {
            if !chosen.iter().any(|known| known.logical.name() == target.logical.name()) {
                chosen.push(logical(target));
            }
        }
        let fit = BatchFit::new(source, &chosen)?;
        let bind = |constraint: TableConstraint| Ok((constraint.clone(), constraint.bind(fit.schema())?));
        let checks = constraints.into_iter().map(bind).collect::<Result<_>>()?;
        Ok(Some(Self { fit, checks }))
    }

    /// An error where a row violates one: its condition is false or null.
    pub fn check(&self, batch: &RecordBatch) -> Result<()> {
        let rows = self.fit.fit(batch)?;
        for (constraint, predicate) in &self.checks {
            let kept = predicate.evaluate(&rows)?;
            let is_kept = |row: usize| kept.is_valid(row) && kept.value(row);
            if let Some(row) = (0..rows.num_rows()).find(|row| !is_kept(*row)) {
                let columns = predicate.columns().iter().map(|at| self.fit.schema().field(*at).name());
                let row = shown(&rows, row, columns)?;
                let TableConstraint { name, text, .. } = constraint;
                return Err(Error::invalid(format!("a row violates the table's constraint {name} ({text}): {row}"))
                    .advice(format!("exclude such rows with {WHERE}, or change their values")));
            }
        }
        Ok(())
    }
}

/// The values of some columns of a row, as a message has them: `c = -1, d = null`.
fn shown<'a>(batch: &RecordBatch, row: usize, columns: impl Iterator<Item = &'a String>) -> Result<String> {
    let mut parts = Vec::new();
    for name in columns {
        let column = batch.column_by_name(name).ok_or_else(|| Error::internal("a row lacks a column"))?;
        let value = match column.is_null(row) {
            true => "null".to_owned(),
            false => {
                lakerace_format::value_text(column, row).map_err(|e| Error::from_source(ErrorKind::Internal, e))?
            }
        };
        let cut: String = value.chars().take(40).collect();
        parts.push(format!("{name} = {}", if cut.len() < value.len() { format!("{cut}…") } else { value }));
    }
    Ok(parts.join(", "))
}

/// Columns of these names, for rules that only depend on names.
pub(crate) fn named_fields(names: impl Iterator<Item = String>) -> Fields {
    names.map(|name| arrow::datatypes::Field::new(name, DataType::Null, true)).collect()
}
