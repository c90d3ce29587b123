//! The columns that a merge reads, and its clauses bound to them.

use std::sync::Arc;

use arrow::array::{RecordBatch, RecordBatchOptions};
use arrow::datatypes::{DataType, Field, FieldRef, Schema, SchemaRef};
use lakerace_format::suggestions::column_not_found;
use lakerace_format::{Batches, Expr};
use lakerace_io::{Error, Job, Result};

use super::clauses::MergeClauses;
use super::names::{ClauseRows, MergeNames, root_of};
use super::{MergeAction, MergeClause, MergeOptions, MergeStatement};
use crate::key::KeyColumns;
use crate::new_values::nullable;
use crate::snapshot::Snapshot;
use crate::upsert::{EqualKeys, KeyWindows, MergeOperators, WindowGathering};
use crate::write::types::table_type;
use crate::write::{BatchFit, TargetColumn};

/// Memory of a merge that is left to readers and writers, at most.
const BUFFER_BYTES: u64 = 128 << 20;

/// A merge bound to the columns of a table and of a source.
pub(crate) struct MergePlan {
    /// The columns of the table that rows are joined by.
    pub columns: KeyColumns,
    /// The columns of the source that they are equal to.
    pub key_sources: Vec<String>,
    /// From the source's columns to those of windows: the key's columns first, then all others that are used.
    pub fit: BatchFit,
    /// The columns of windows, by the names that expressions have for them.
    source: Vec<FieldRef>,
    /// The table's columns, all nullable.
    pub table: SchemaRef,
    target_alias: String,
    pub matched: MergeClauses,
    pub not_matched: MergeClauses,
    pub by_source: MergeClauses,
    /// The columns of the table that clauses of pairs need.
    matched_columns: Vec<String>,
}

impl MergePlan {
    /// Binds a merge to a version, and to a source of which these columns are used. Of the source's schemas, the first one has all
    /// columns, and the second one those that are read.
    pub fn new(
        snapshot: &Snapshot,
        (source, read): (&Schema, &Schema),
        used: &[String],
        statement: &MergeStatement,
    ) -> Result<Self> {
        let table = nullable(snapshot.schema());
        let names = names(snapshot, source, statement);
        let key: Vec<&String> = statement.on.iter().map(|(target, _)| target).collect();
        let columns = KeyColumns::new(snapshot.schema(), &key)?;
        let key_sources: Vec<String> = statement.on.iter().map(|(_, source)| source.clone()).collect();
        let mut targets = Vec::new();
        for (target, column) in &statement.on {
            let own = table.field_with_name(target).map_err(Error::unexpected)?;
            targets.push(column_of(column, target, own.data_type().clone()));
        }
        for column in used.iter().filter(|column| !key_sources.contains(column)) {
            let field = source.field_with_name(column).map_err(Error::unexpected)?;
            let known = table.field_with_name(column).ok().map(|field| field.data_type());
            let data_type =
                table_type(field.data_type(), known).map_err(|error| error.at(format!("column {column:?}")))?;
            targets.push(column_of(column, &names.of_source(column), data_type));
        }
        let fit = BatchFit::exact(read, &targets)?;
        let named = |target: &TargetColumn| {
            let name = names.of_source(target.logical.name());
            Arc::new(target.stored.as_ref().clone().with_name(name))
        };
        let source: Vec<FieldRef> = targets.iter().map(named).collect();
        let of_target = |field: &FieldRef| {
            Arc::new(field.as_ref().clone().with_name(names.of_target(field.name(), ClauseRows::Pairs)))
        };
        let pairs = Schema::new(table.fields().iter().map(of_target).chain(source.iter().cloned()).collect::<Vec<_>>());
        let inserted = Schema::new(source.clone());
        let matched = MergeClauses::bind(&statement.matched, ClauseRows::Pairs, &names, &pairs, snapshot)?;
        let not_matched = MergeClauses::bind(&statement.not_matched, ClauseRows::Source, &names, &inserted, snapshot)?;
        let by_source =
            MergeClauses::bind(&statement.not_matched_by_source, ClauseRows::Target, &names, &table, snapshot)?;
        let needed = matched.needed(&pairs);
        let is_needed = |field: &&FieldRef| needed.contains(&names.of_target(field.name(), ClauseRows::Pairs));
        let matched_columns = table.fields().iter().filter(is_needed).map(|field| field.name().clone()).collect();
        let target_alias = statement.target_alias.clone();
        Ok(Self {
            columns,
            key_sources,
            fit,
            source,
            table,
            target_alias,
            matched,
            not_matched,
            by_source,
            matched_columns,
        })
    }

    /// Sorts the rows of the source into windows.
    pub fn gather(&self, batches: Batches, options: &MergeOptions, job: &Job) -> Result<KeyWindows> {
        let buffers = BUFFER_BYTES.min(options.memory_bytes / 2);
        let gather = WindowGathering {
            columns: &self.columns,
            fit: &self.fit,
            equal_keys: EqualKeys::All,
            operators: &MergeOperators::default(),
            // Rows that are read, and those that are sorted again, take the other half.
            memory_bytes: usize::try_from((options.memory_bytes - buffers) / 2).unwrap_or(usize::MAX),
            job,
        };
        gather.gather(batches)
    }

    /// The columns of the table that are read for pairs; `all` if change files get the rows.
    pub fn target_columns(&self, all: bool) -> Vec<String> {
        match all {
            true => self.table.fields().iter().map(|field| field.name().clone()).collect(),
            false => self.matched_columns.clone(),
        }
    }

    /// Rows of a window by the names that expressions have for their columns.
    pub fn source_rows(&self, window: &RecordBatch) -> Result<RecordBatch> {
        batch(self.source.clone(), window.columns().to_vec(), window.num_rows())
    }

    /// Pairs of rows of the table and of a window.
    pub fn pairs(&self, target: &RecordBatch, window: &RecordBatch) -> Result<RecordBatch> {
        let of_target = |field: &FieldRef| {
            Arc::new(field.as_ref().clone().with_name(format!("{}.{}", self.target_alias, field.name())))
        };
        let fields = target.schema_ref().fields().iter().map(of_target).chain(self.source.iter().cloned()).collect();
        let columns = target.columns().iter().chain(window.columns()).cloned().collect();
        batch(fields, columns, window.num_rows())
    }

    /// The rows of the table in pairs of which all columns of the table were read.
    pub fn old_rows(&self, pairs: &RecordBatch) -> Result<RecordBatch> {
        let columns = pairs.columns()[..self.table.fields().len()].to_vec();
        batch(self.table.fields().to_vec(), columns, pairs.num_rows())
    }
}

/// The columns of the source that a merge uses, those that it joins by included.
///
/// # Errors
/// `NotFound` for a column that the source lacks, and those of names.
pub(crate) fn used_columns(snapshot: &Snapshot, source: &Schema, statement: &MergeStatement) -> Result<Vec<String>> {
    let names = names(snapshot, source, statement);
    let mut used: Vec<String> = Vec::new();
    for (_, column) in &statement.on {
        if source.index_of(column).is_err() {
            let known = source.fields().iter().map(|field| field.name().as_str());
            return Err(column_not_found(column, known).at("the source"));
        }
        if used.contains(column) {
            return Err(Error::usage(format!("the merge joins by the source's column {column:?} twice")));
        }
        used.push(column.clone());
    }
    let mut add = |column: &str| {
        if !used.iter().any(|known| known == column) {
            used.push(column.to_owned());
        }
    };
    let all = [(&statement.matched, ClauseRows::Pairs), (&statement.not_matched, ClauseRows::Source)];
    for (clause, rows) in all.into_iter().flat_map(|(clauses, rows)| clauses.iter().map(move |clause| (clause, rows))) {
        for expr in expressions(clause) {
            names.resolved(expr, rows)?.visit_columns(&mut |name| {
                let column = name.strip_prefix(names.source_alias).and_then(|name| name.strip_prefix('.'));
                if let Some(column) = column.and_then(|column| root_of(source, column)) {
                    add(column);
                }
            });
        }
        if let MergeAction::SetAll { except } = &clause.action {
            source.fields().iter().filter(|field| !except.contains(field.name())).for_each(|field| add(field.name()));
        }
    }
    Ok(used)
}

/// The expressions of a clause.
fn expressions(clause: &MergeClause) -> impl Iterator<Item = &Expr> {
    let assignments = match &clause.action {
        MergeAction::Set(assignments) => assignments.as_slice(),
        MergeAction::SetAll { .. } | MergeAction::Delete => &[],
    };
    clause.condition.iter().chain(assignments.iter().map(|assignment| &assignment.value))
}

fn names<'a>(snapshot: &'a Snapshot, source: &'a Schema, statement: &'a MergeStatement) -> MergeNames<'a> {
    MergeNames {
        target: snapshot.schema(),
        target_alias: &statement.target_alias,
        source,
        source_alias: &statement.source_alias,
    }
}

/// A column of the source under another name and in another type.
fn column_of(source: &str, name: &str, data_type: DataType) -> TargetColumn {
    let logical = Arc::new(Field::new(source, data_type.clone(), true));
    TargetColumn { logical, stored: Arc::new(Field::new(name, data_type, true)) }
}

fn batch(fields: Vec<FieldRef>, columns: Vec<arrow::array::ArrayRef>, rows: usize) -> Result<RecordBatch> {
    let options = RecordBatchOptions::new().with_row_count(Some(rows));
    RecordBatch::try_new_with_options(Arc::new(Schema::new(fields)), columns, &options)
        .map_err(|error| Error::internal("rows of a merge don't fit their columns").because(error))
}
