//! Changing the properties and columns of a table that exists.
//!
//! One entry of the log has the new properties and columns and, where they demand more of readers or writers than the table does, the protocol
//! with the features that they need. No file of the table changes.

mod columns;

use std::collections::{BTreeMap, BTreeSet};

use arrow::array::RecordBatch;
use arrow::datatypes::Field;
use delta_kernel::table_configuration::TableConfiguration;
use delta_kernel::table_features::TableFeature;
use delta_kernel::transaction::{Transaction, UpdateTable, UpdateTableOperation};
use lakerace_format::suggestions::nearest;
use lakerace_io::option::{SET, TABLE_PROPERTY, UNSET};
use lakerace_io::{Error, Result};
use serde_json::json;

use self::columns::altered_columns;
use crate::changes::FEED_COLUMNS;
use crate::commit::{Changes, Commit, CommitAction, WriteBase, metadata_action};
use crate::properties::{COLUMN_MAPPING, FEATURE, check_columns, check_property};
use crate::protocol::DELETION_VECTORS;
use crate::protocol::{adds, configured, protocol_action, with_features};
use crate::{Snapshot, Table};

/// What is to change.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AlterOptions {
    /// Properties and their new values. `delta.feature.NAME=supported` adds a feature to the protocol and is no property.
    pub set: BTreeMap<String, String>,
    /// Properties that go.
    pub unset: Vec<String>,
    /// A property that goes and is not there is no error.
    pub ignores_missing: bool,
    /// Columns that come after the others, null in the rows that are there. Their metadata, such as a comment, is kept.
    pub add_columns: Vec<Field>,
    /// Comments of columns, by the names of these; an empty one goes.
    pub comments: BTreeMap<String, String>,
}

impl AlterOptions {
    fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// What was changed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Altered {
    /// The version that was made; `None`: the table was so already.
    pub version: Option<u64>,
    /// All properties that the table has now.
    pub properties: BTreeMap<String, String>,
    /// Features that its protocol has got.
    pub features_added: Vec<String>,
}

/// Properties whose change says something of files that are there already. The advice tells how a table gets them.
const OF_NEW_TABLES: [&str; 6] = [
    COLUMN_MAPPING,
    "delta.enableRowTracking",
    "delta.enableInCommitTimestamps",
    "delta.enableIcebergCompatV1",
    "delta.enableIcebergCompatV2",
    "delta.enableIcebergCompatV3",
];

/// Sets and unsets properties of a table, and upgrades its protocol where they demand it; adds columns and comments.
///
/// Errors: `Usage` for a property that does not exist and for a malformed value; `NotFound` for a column that the table lacks and for
/// a property to be unset that it does not have; `Unsupported` for a property that only new tables get, or that lakerace does not
/// follow; `Conflict` where another writer changes schema, properties or protocol meanwhile.
///
/// ```no_run
/// # fn main() -> lakerace_io::Result<()> {
/// # let table: lakerace_delta::Table = unimplemented!();
/// use lakerace_delta::{AlterOptions, alter};
/// let set = [("delta.enableChangeDataFeed".to_owned(), "true".to_owned())].into();
/// let altered = alter(&table, &AlterOptions { set, ..AlterOptions::default() })?;
/// println!("{:?}", altered.features_added);
/// # Ok(())
/// # }
/// ```
pub fn alter(table: &Table, options: &AlterOptions) -> Result<Altered> {
    let named = |error: Error| error.at(table.place());
    if options.is_empty() {
        let advice = format!("give {} or {}", SET.to("NAME=VALUE"), UNSET.to("NAME"));
        return Err(named(Error::usage("there is nothing to change").advice(advice)));
    }
    if let Some(name) = options.unset.iter().find(|name| options.set.contains_key(*name)) {
        return Err(named(Error::usage(format!("the property {name} is both set and unset"))));
    }
    let current = table.snapshot(None)?;
    let stage = Alter { options: options.clone(), more: Vec::new(), features_added: Vec::new() };
    let mut commit = Commit::new(table.clone(), WriteBase::Existing(Box::new(current)), stage).map_err(named)?;
    let version = commit.run(&[]).map_err(|(error, _)| named(error))?;
    let features_added = std::mem::take(&mut commit.stage().features_added);
    let properties = match table.made()? {
        Some(made) => made.properties(),
        None => table.snapshot(None)?.properties(),
    };
    Ok(Altered { version, properties, features_added })
}

struct Alter {
    options: AlterOptions,
    more: Vec<RecordBatch>,
    features_added: Vec<String>,
}

impl Alter {
    /// The properties to be set, checked against a version, without those that it has already.
    fn properties(&self, snapshot: &Snapshot) -> Result<BTreeMap<String, String>> {
        let known = snapshot.properties();
        let mut changed = BTreeMap::new();
        for (name, value) in &self.options.set {
            let named = |error: Error| error.at(SET.to(format!("{name}={value}")));
            check_property(name, value).map_err(named)?;
            if name.starts_with(FEATURE) || known.get(name) == Some(value) {
                continue;
            }
            let is_default = !known.contains_key(name) && matches!(value.as_str(), "false" | "none");
            if OF_NEW_TABLES.contains(&name.as_str()) && !is_default {
                return Err(named(of_new_tables(name)));
            }
            check_columns(name, value, snapshot.schema()).map_err(named)?;
            changed.insert(name.clone(), value.clone());
        }
        Ok(changed)
    }

    /// The properties to be unset.
    fn removed(&self, snapshot: &Snapshot) -> Result<BTreeSet<String>> {
        let (known, mut removed) = (snapshot.properties(), BTreeSet::new());
        for name in &self.options.unset {
            let named = |error: Error| error.at(UNSET.to(name.to_string()));
            let Some(value) = known.get(name) else {
                if self.options.ignores_missing {
                    continue;
                }
                let error = named(Error::not_found("the table has no such property"));
                return Err(match nearest(name, known.keys().map(String::as_str)) {
                    Some(near) => error.advice(format!("did you mean {near}?")),
                    None => error.advice("lakerace schema shows those that it has"),
                });
            };
            let is_default = matches!(value.as_str(), "false" | "none");
            let belongs_to_files = ["delta.columnMapping.", "delta.rowTracking.", "delta.inCommitTimestampEnablement"];
            if belongs_to_files.iter().any(|prefix| name.starts_with(prefix))
                || (OF_NEW_TABLES.contains(&name.as_str()) && !is_default)
            {
                return Err(named(of_new_tables(name)));
            }
            removed.insert(name.clone());
        }
        Ok(removed)
    }
}

impl CommitAction for Alter {
    fn operation(&self) -> (UpdateTableOperation, Vec<(&'static str, String)>) {
        let options = &self.options;
        let name = match (options.add_columns.is_empty(), options.comments.is_empty(), options.set.is_empty()) {
            (false, ..) => "ADD COLUMNS",
            (true, false, _) => "CHANGE COLUMN",
            (true, true, false) => "SET TBLPROPERTIES",
            (true, true, true) => "UNSET TBLPROPERTIES",
        };
        let mut parameters = Vec::new();
        if !options.add_columns.is_empty() {
            let names: Vec<&str> = options.add_columns.iter().map(|field| field.name().as_str()).collect();
            parameters.push(("columns", json!(names).to_string()));
        }
        if !options.comments.is_empty() {
            parameters.push(("comments", json!(options.comments).to_string()));
        }
        if !self.options.set.is_empty() {
            parameters.push(("properties", json!(self.options.set).to_string()));
        }
        if !self.options.unset.is_empty() {
            parameters.push(("unset", json!(self.options.unset).to_string()));
        }
        (UpdateTableOperation::Custom(name.to_owned()), parameters)
    }

    fn changes_data(&self) -> bool {
        false
    }

    fn more_actions(&mut self) -> Result<Vec<RecordBatch>> {
        Ok(std::mem::take(&mut self.more))
    }

    fn stage(&mut self, snapshot: &Snapshot, _update: &mut Transaction<UpdateTable>) -> Result<bool> {
        let columns = altered_columns(snapshot, &self.options.add_columns, &self.options.comments)?;
        let mut properties = self.properties(snapshot)?;
        properties.extend(columns.properties);
        let changes = Changes { schema: columns.schema, properties, removed: self.removed(snapshot)? };
        let configuration = snapshot.kernel().table_configuration();
        let features = wanted(&self.options.set)?;
        let added = adds(configuration.protocol(), &features);
        check_together(snapshot, configuration, &changes, &added)?;
        let protocol = with_features(configuration.protocol(), &added)?;
        // What the kernel could not read afterwards is an error now.
        configured(configuration, &protocol, &changes)?;
        self.features_added = added.iter().map(ToString::to_string).collect();
        self.more.clear();
        if !added.is_empty() {
            self.more.push(protocol_action(snapshot.table(), &protocol)?);
        }
        if changes.schema.is_some() || !changes.properties.is_empty() || !changes.removed.is_empty() {
            self.more.push(metadata_action(snapshot.table(), configuration.metadata(), &changes)?);
        }
        Ok(!self.more.is_empty())
    }
}

/// The features that properties demand.
fn wanted(properties: &BTreeMap<String, String>) -> Result<Vec<TableFeature>> {
    let mut features = Vec::new();
    for (name, value) in properties {
        let feature = match (name.as_str(), value.as_str()) {
            (DELETION_VECTORS, "true") => TableFeature::DeletionVectors,
            ("delta.enableChangeDataFeed", "true") => TableFeature::ChangeDataFeed,
            ("delta.appendOnly", "true") => TableFeature::AppendOnly,
            ("delta.enableTypeWidening", "true") => TableFeature::TypeWidening,
            ("delta.checkpointPolicy", "v2") => TableFeature::V2Checkpoint,
            (name, _) if name.starts_with(FEATURE) => listed(name)?,
            _ => continue,
        };
        if !features.contains(&feature) {
            features.push(feature);
        }
    }
    Ok(features)
}

/// A feature that is asked for by its name. Only those that mean nothing for files that are there can be added so.
fn listed(name: &str) -> Result<TableFeature> {
    use TableFeature as F;
    let feature: F = name
        .trim_start_matches(FEATURE)
        .parse()
        .map_err(|_| Error::usage("Delta has no such feature").at(SET.to(format!("{name}=supported"))))?;
    match feature {
        F::AppendOnly
        | F::Invariants
        | F::ChangeDataFeed
        | F::DeletionVectors
        | F::DomainMetadata
        | F::TimestampWithoutTimezone
        | F::TypeWidening
        | F::V2Checkpoint
        | F::VacuumProtocolCheck => Ok(feature),
        other => Err(Error::unsupported(format!("adding the feature {other} to a table that exists"))
            .at(SET.to(format!("{name}=supported")))
            .advice("add it with an engine that follows it, or write to a new table")),
    }
}

/// Errors where a property does not go with what the table is.
fn check_together(
    snapshot: &Snapshot,
    configuration: &TableConfiguration,
    changes: &Changes,
    added: &[TableFeature],
) -> Result<()> {
    let is_set = |name: &str| changes.properties.get(name).is_some_and(|value| value == "true");
    let known = configuration.metadata().configuration();
    if added.contains(&TableFeature::DeletionVectors) || is_set(DELETION_VECTORS) {
        let compat = ["delta.enableIcebergCompatV1", "delta.enableIcebergCompatV2"];
        if let Some(name) = compat.iter().find(|name| known.get(**name).is_some_and(|value| value == "true")) {
            return Err(Error::unsupported(format!("deletion vectors in a table with {name}"))
                .at(SET.to(format!("{DELETION_VECTORS}=true")))
                .advice("leave it out: files are written anew"));
        }
    }
    if is_set("delta.enableChangeDataFeed")
        && let Some(name) = FEED_COLUMNS.iter().find(|name| snapshot.schema().field_with_name(name).is_ok())
    {
        return Err(Error::unsupported(format!("a table with a column {name:?} can't have a change data feed"))
            .at(SET.to("delta.enableChangeDataFeed=true"))
            .advice("write the table anew with another name for the column"));
    }
    Ok(())
}

fn of_new_tables(name: &str) -> Error {
    Error::unsupported(format!("{name} can't be changed in a table that exists"))
        .advice(format!("copy the table to a new one that has it from the start ({TABLE_PROPERTY})"))
}
