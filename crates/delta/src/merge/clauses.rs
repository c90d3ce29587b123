//! The clauses of a merge, bound to the columns of the rows that they are for.

use arrow::array::{BooleanArray, RecordBatch};
use arrow::buffer::BooleanBuffer;
use arrow::datatypes::Schema;
use lakerace_format::Predicate;
use lakerace_io::{Error, Result};

use super::names::{ClauseRows, MergeNames};
use super::{MergeAction, MergeClause};
use crate::new_values::{ColumnAssignment, NewValues, check_assigned};
use crate::snapshot::Snapshot;

/// Clauses in their order: the first one whose condition is true of a row decides.
pub(crate) struct MergeClauses {
    clauses: Vec<BoundClause>,
    /// The location of the table, for errors.
    place: String,
}

/// A clause of rows with certain columns.
pub(crate) struct BoundClause {
    /// `None`: true of every row.
    pub condition: Option<Predicate>,
    /// The condition as SQL, for errors.
    condition_text: String,
    pub action: BoundAction,
}

/// The fate of rows.
pub(crate) enum BoundAction {
    /// They become rows of the table.
    Write(NewValues),
    Delete,
}

impl MergeClauses {
    /// Binds clauses to rows with the columns of `input`.
    ///
    /// # Errors
    /// Those of names, of conditions and of values.
    pub fn bind(
        clauses: &[MergeClause],
        rows: ClauseRows,
        names: &MergeNames<'_>,
        input: &Schema,
        snapshot: &Snapshot,
    ) -> Result<Self> {
        let bound = clauses.iter().map(|clause| -> Result<BoundClause> {
            let condition_text = clause.condition_text.clone().unwrap_or_default();
            let condition = clause.condition.as_ref().map(|condition| {
                let bound = names.resolved(condition, rows).and_then(|condition| Predicate::bind(&condition, input));
                bound.map_err(|error| error.at(format!("{condition_text:?}")))
            });
            let condition = condition.transpose()?;
            let assignments = match &clause.action {
                MergeAction::Delete if rows == ClauseRows::Source => {
                    return Err(Error::usage("a row that the table lacks can't be deleted from it"));
                }
                MergeAction::Delete => {
                    return Ok(BoundClause { condition, condition_text, action: BoundAction::Delete });
                }
                MergeAction::Set(assignments) => assignments.clone(),
                MergeAction::SetAll { except } => all_columns(names, except)?,
            };
            if rows == ClauseRows::Source {
                check_assigned(&assignments, snapshot)?;
            }
            let resolved = |assignment: &ColumnAssignment| -> Result<ColumnAssignment> {
                let value = names.resolved(&assignment.value, rows).map_err(|e| e.at(assignment.text.clone()))?;
                Ok(ColumnAssignment { value, ..assignment.clone() })
            };
            let assignments = assignments.iter().map(resolved).collect::<Result<Vec<_>>>()?;
            let kept = |column: &str| (rows != ClauseRows::Source).then(|| names.of_target(column, rows));
            let target = (snapshot.schema(), snapshot.table().location());
            let values = NewValues::bind(&assignments, input, target, &kept)?;
            Ok(BoundClause { condition, condition_text, action: BoundAction::Write(values) })
        });
        Ok(Self { clauses: bound.collect::<Result<_>>()?, place: snapshot.table().location().to_owned() })
    }

    pub fn is_empty(&self) -> bool {
        self.clauses.is_empty()
    }

    pub fn iter(&self) -> impl Iterator<Item = &BoundClause> {
        self.clauses.iter()
    }

    /// Returns true if each row is deleted, so that it does not matter how many rows match it.
    pub fn delete_all(&self) -> bool {
        matches!(self.clauses.as_slice(), [BoundClause { condition: None, action: BoundAction::Delete, .. }])
    }

    /// For each clause, those of the `open` rows that it decides on. A condition is not asked of rows that are decided.
    pub fn hits(&self, rows: &RecordBatch, mut open: BooleanBuffer) -> Result<Vec<BooleanArray>> {
        let mut all = Vec::with_capacity(self.clauses.len());
        for clause in &self.clauses {
            let hits = match &clause.condition {
                None => open.clone(),
                Some(condition) => {
                    let hits = condition.true_among(rows, &open);
                    hits.map_err(|error| error.at(format!("{:?}", clause.condition_text)).at(&self.place))?
                }
            };
            open = &open & &!&hits;
            all.push(BooleanArray::new(hits, None));
        }
        Ok(all)
    }

    /// The columns of the rows that conditions and values use.
    pub fn needed(&self, input: &Schema) -> Vec<String> {
        let mut needed: Vec<String> = self.condition_columns(input);
        for clause in &self.clauses {
            if let BoundAction::Write(values) = &clause.action {
                needed.extend(values.needed().iter().cloned());
            }
        }
        needed
    }

    /// The columns of the rows that conditions use.
    pub fn condition_columns(&self, input: &Schema) -> Vec<String> {
        let conditions = self.clauses.iter().filter_map(|clause| clause.condition.as_ref());
        let columns = conditions.flat_map(Predicate::columns).map(|at| input.field(*at).name().clone());
        let mut columns: Vec<String> = columns.collect();
        columns.sort_unstable();
        columns.dedup();
        columns
    }
}

/// Each column of the source but some, for the column of the table with its name.
fn all_columns(names: &MergeNames<'_>, except: &[String]) -> Result<Vec<ColumnAssignment>> {
    for name in except {
        if names.source.index_of(name).is_err() {
            let known = names.source.fields().iter().map(|field| field.name().as_str());
            return Err(lakerace_format::suggestions::column_not_found(name, known).at("the columns left out"));
        }
    }
    let columns = names.source.fields().iter().filter(|field| !except.contains(field.name()));
    let assignment = |column: &String| {
        let value = names.of_source(column);
        ColumnAssignment {
            column: column.clone(),
            text: format!("{:?}", format!("{column} = {value}")),
            value: lakerace_format::Expr::Column(value),
        }
    };
    Ok(columns.map(|field| assignment(field.name())).collect())
}
