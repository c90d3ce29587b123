//! Columns that are renamed or dropped, and the other references to them in a table.

use std::collections::BTreeMap;

use delta_kernel::expressions::ColumnName;
use lakerace_io::option::{DROP, RENAME, SET, UNSET};
use lakerace_io::{Error, Result};
use serde_json::Value;

use super::AlterOptions;
use super::fields::{name_of, position, set_name};
use crate::commit::MetadataChanges;
use crate::constraint::{CONSTRAINT, TableConstraint, constraint_texts};
use crate::snapshot::{KEY_PROPERTY, Snapshot};
use crate::write::evolve::fields::PHYSICAL_NAME;

/// The property that names the columns with statistics.
const STATISTICS_COLUMNS: &str = "delta.dataSkippingStatsColumns";

/// The parts of a table that name its columns.
pub(super) struct ColumnUses<'a> {
    snapshot: &'a Snapshot,
    partition_columns: Vec<String>,
    key: Vec<String>,
    statistics: Option<Vec<ColumnName>>,
    /// Names in files of the columns that the table is clustered by.
    clustering: Vec<String>,
    /// The columns of constraints, with their names.
    constrained: Vec<(String, String)>,
    /// A constraint whose columns are unknown, and the reason.
    unreadable: Option<(String, String)>,
    has_changed: bool,
}

impl<'a> ColumnUses<'a> {
    pub fn new(snapshot: &'a Snapshot, options: &AlterOptions) -> Result<Self> {
        let is_replaced =
            options.set.contains_key(STATISTICS_COLUMNS) || options.unset.iter().any(|name| name == STATISTICS_COLUMNS);
        let statistics = match snapshot.properties().get(STATISTICS_COLUMNS) {
            Some(list) if !is_replaced => Some(statistics_columns(list)?),
            _ => None,
        };
        let (mut constrained, mut unreadable) = (Vec::new(), None);
        for (name, text) in constraint_texts(snapshot) {
            if options.unset.contains(&format!("{CONSTRAINT}{name}")) {
                continue;
            }
            let constraint = TableConstraint::parse(snapshot.table(), &name, &text);
            match constraint.and_then(|constraint| constraint.columns(snapshot.schema())) {
                Ok(columns) => constrained.extend(columns.into_iter().map(|column| (column, name.clone()))),
                Err(error) => unreadable = Some((name, error.message().to_owned())),
            }
        }
        Ok(Self {
            snapshot,
            partition_columns: snapshot.partition_columns(),
            key: snapshot.key(),
            statistics,
            clustering: Vec::new(),
            constrained,
            unreadable,
            has_changed: false,
        })
    }

    /// The version whose columns these are.
    pub fn snapshot(&self) -> &'a Snapshot {
        self.snapshot
    }

    /// Removes columns from a schema of the log.
    pub fn drop_columns(&mut self, fields: &mut Vec<Value>, columns: &[String]) -> Result<()> {
        if columns.is_empty() {
            return Ok(());
        }
        let physical = self
            .snapshot
            .table()
            .kernel(|engine| self.snapshot.kernel().get_physical_clustering_columns(engine))?
            .unwrap_or_default();
        self.clustering = physical.iter().filter_map(|column| column.path().first().cloned()).collect();
        for column in columns {
            let named = |error: Error| error.at(DROP.to(column.clone()));
            let at = position(fields, column).map_err(named)?;
            self.check_drop(column, &fields[at]).map_err(named)?;
            fields.remove(at);
            if let Some(statistics) = &mut self.statistics {
                statistics.retain(|known| known.path().first() != Some(column));
            }
        }
        if fields.iter().all(|field| self.partition_columns.contains(&name_of(field))) {
            return Err(Error::unsupported("dropping all columns except the partition columns")
                .at(DROP.to(columns.join(",")))
                .advice("keep one"));
        }
        self.has_changed = true;
        Ok(())
    }

    fn check_drop(&self, column: &String, field: &Value) -> Result<()> {
        let refuse = |what: String, advice: String| Err(Error::unsupported(what).advice(advice));
        if self.partition_columns.contains(column) {
            let advice = "copy the table to a new one that is partitioned by other columns".to_owned();
            return refuse("the table is partitioned by the column".to_owned(), advice);
        }
        if self.key.contains(column) {
            let advice = format!("give the table another key first: {}", SET.to(format!("{KEY_PROPERTY}=…")));
            return refuse(format!("the column is part of the table's key ({KEY_PROPERTY})"), advice);
        }
        let stored = field["metadata"][PHYSICAL_NAME].as_str().unwrap_or(column);
        if self.clustering.iter().any(|known| known == stored) {
            let advice = "cluster the table by other columns first, with an engine that supports it".to_owned();
            return refuse("the table is clustered by the column".to_owned(), advice);
        }
        self.check_constraints(column)
    }

    /// An error where a constraint uses a column, or may use it.
    pub fn check_constraints(&self, column: &String) -> Result<()> {
        if let Some((constraint, reason)) = &self.unreadable {
            let message = format!("the constraint {constraint} may use the column: {reason}");
            return Err(Error::unsupported(message)
                .advice(format!("remove it first: {}", UNSET.to(format!("{CONSTRAINT}{constraint}")))));
        }
        match self.constrained.iter().find(|(known, _)| known == column) {
            None => Ok(()),
            Some((_, constraint)) => Err(Error::unsupported(format!("the constraint {constraint} uses the column"))
                .advice(format!("remove it first: {}", UNSET.to(format!("{CONSTRAINT}{constraint}"))))),
        }
    }

    /// Renames columns of a schema of the log. Two may swap their names.
    pub fn rename(&mut self, fields: &mut [Value], renames: &BTreeMap<String, String>) -> Result<()> {
        let change = |old: &String, new: &String| RENAME.to(format!("{old}={new}"));
        let mut places = Vec::new();
        for (old, new) in renames {
            let named = |error: Error| error.at(change(old, new));
            places.push((position(fields, old).map_err(named)?, old, new));
            self.check_constraints(old).map_err(named)?;
            if new.contains(',') && self.key.contains(old) {
                let message = "the name of a key column can't contain a comma";
                return Err(named(Error::unsupported(message).advice("choose another name")));
            }
        }
        // Names that no column can have, so that two may change places.
        for (number, (at, ..)) in places.iter().enumerate() {
            fields[*at]["name"] = Value::String(format!("\0{number}"));
        }
        for (at, old, new) in places {
            set_name(fields, at, new).map_err(|error| error.at(change(old, new)))?;
        }
        let renamed = |name: &String| renames.get(name).unwrap_or(name).clone();
        self.partition_columns = self.partition_columns.iter().map(renamed).collect();
        self.key = self.key.iter().map(renamed).collect();
        for column in self.statistics.iter_mut().flatten() {
            if let [first, rest @ ..] = column.path() {
                let path = std::iter::once(renamed(first)).chain(rest.iter().cloned());
                *column = ColumnName::new(path.collect::<Vec<_>>());
            }
        }
        self.has_changed |= !renames.is_empty();
        Ok(())
    }

    /// Adds the changes outside of the schema.
    pub fn finish(self, changes: &mut MetadataChanges) {
        if !self.has_changed {
            return;
        }
        if self.partition_columns != self.snapshot.partition_columns() {
            changes.partition_columns = Some(self.partition_columns);
        }
        if self.key != self.snapshot.key() {
            changes.properties.insert(KEY_PROPERTY.to_owned(), self.key.join(","));
        }
        if let Some(statistics) = self.statistics {
            let text = statistics.iter().map(ToString::to_string).collect::<Vec<_>>().join(",");
            if self.snapshot.properties().get(STATISTICS_COLUMNS) != Some(&text) {
                changes.properties.insert(STATISTICS_COLUMNS.to_owned(), text);
            }
        }
    }
}

/// The columns with statistics, which a property lists.
fn statistics_columns(list: &str) -> Result<Vec<ColumnName>> {
    ColumnName::parse_column_name_list(list).map_err(|_| {
        Error::corrupt(format!("the table's property {STATISTICS_COLUMNS} is no list of columns: {list:?}"))
            .advice(format!("set it to a list such as a,b.c, or remove it: {}", UNSET.to(STATISTICS_COLUMNS)))
    })
}
