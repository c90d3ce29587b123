//! Changing the columns, properties and constraints of a table that exists.
//!
//! One entry of the log has the new properties and columns and, where they demand more of readers or writers than the
//! table does, the protocol with the features that they need. No file of the table changes.

mod columns;
mod fields;
mod names;

use std::collections::{BTreeMap, BTreeSet};

use arrow::array::RecordBatch;
use arrow::datatypes::{DataType, Field, Schema};
use delta_kernel::table_features::TableFeature;
use delta_kernel::transaction::{Transaction, UpdateTable, UpdateTableOperation};
use lakerace_format::schema_text::print_type;
use lakerace_format::suggestions::nearest;
use lakerace_io::option::{CONSTRAINT as CONSTRAINT_OPTION, RENAME, SET, UNSET};
use lakerace_io::{Error, Result};
use serde_json::json;

use self::columns::{AlteredColumns, altered_columns, altered_schema};
use crate::changes::is_feed_column;
use crate::commit::{CommitAction, MetadataChanges, PendingCommit, WriteBase, metadata_action};
use crate::constraint::{CONSTRAINT, TableConstraint};
use crate::properties::{
    CHANGE_FEED, COLUMN_MAPPING, FEATURE, OF_FILES, OF_NEW_TABLES, TYPE_WIDENING, check_columns, check_property,
    features_of_properties, of_new_tables,
};
use crate::protocol::{DELETION_VECTORS, adds, configured, of_readers, protocol_action, with_features};
use crate::snapshot::Snapshot;
use crate::table::Table;

/// Changes to a table.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AlterOptions {
    /// Properties and their new values. `delta.feature.NAME=supported` adds a feature to the protocol and is no property.
    pub set: BTreeMap<String, String>,
    /// Properties that go.
    pub unset: Vec<String>,
    /// Removing a property that does not exist is no error.
    pub ignores_missing: bool,
    /// Columns that are added after the others, null in existing rows. Their metadata, such as a comment, is kept.
    pub add_columns: Vec<Field>,
    /// Comments of columns, by column name; an empty comment removes the old one. The names are those after all other
    /// changes.
    pub comments: BTreeMap<String, String>,
    /// Columns and their new names. Files keep the old ones: the table's columns are mapped from then on.
    pub rename_columns: BTreeMap<String, String>,
    /// Columns that go. Files keep them, and no one reads them there.
    pub drop_columns: Vec<String>,
    /// Columns and their wider types. Files keep the narrower ones, and readers widen them.
    pub column_types: BTreeMap<String, DataType>,
    /// Constraints by name: conditions that are true of all rows, those that the table has included.
    pub constraints: BTreeMap<String, String>,
    /// Nothing is written: [`Altered`] describes the changes.
    pub dry_run: bool,
}

impl AlterOptions {
    fn is_empty(&self) -> bool {
        *self == Self { dry_run: self.dry_run, ignores_missing: self.ignores_missing, ..Self::default() }
    }
}

/// The changes that were made.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Altered {
    /// The version that was made; `None`: the table was so already.
    pub version: Option<u64>,
    /// All properties that the table has now; in a dry run, those that it would have.
    pub properties: BTreeMap<String, String>,
    /// Features that its protocol has got: writers have to support them.
    pub features_added: Vec<String>,
    /// The added features that readers have to support, too.
    pub reader_features_added: Vec<String>,
}

/// Sets and unsets properties of a table, and upgrades its protocol where they demand it; adds, renames, drops and widens columns;
/// adds comments and constraints. All of it is one version.
///
/// The first rename or drop maps the columns (`delta.columnMapping.mode=name`): readers have to support that.
///
/// Errors: `Invalid` where a row of the table violates a constraint; `Usage` for a property that does not exist and for
/// a malformed value; `NotFound` for a column that the table lacks and for a property to be unset that it does not
/// have; `Unsupported` for a property that only new tables get, or that lakerace does not honour; `Conflict` where
/// another writer changes schema, properties or protocol in the meantime.
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
    alter_announced(table, options, &mut |_| {})
}

/// Changes a table like [`alter`]. `announce` gets the changes immediately before they are committed, without a version,
/// and again if a retry after another writer's commit makes other changes.
///
/// Errors: those of [`alter`].
pub fn alter_announced(
    table: &Table,
    options: &AlterOptions,
    announce: &mut (dyn FnMut(&Altered) + Send),
) -> Result<Altered> {
    let named = |error: Error| error.at(table.location());
    if options.is_empty() {
        let advice = format!("give a change, such as {} or {}", SET.to("NAME=VALUE"), RENAME.to("OLD=NEW"));
        return Err(named(Error::usage("no change is given").advice(advice)));
    }
    if let Some(name) = options.unset.iter().find(|name| options.set.contains_key(*name)) {
        return Err(named(Error::usage(format!("the property {name} is both set and unset"))));
    }
    let current = table.snapshot(None)?;
    let action = AlterCommit { options: options.clone(), announce, more: Vec::new(), changes: Altered::default() };
    let mut commit =
        PendingCommit::new(table.clone(), WriteBase::Existing(Box::new(current)), action).map_err(named)?;
    let version = commit.run(&[]).map_err(|(error, _)| named(error))?;
    Ok(Altered { version, ..std::mem::take(&mut commit.action().changes) })
}

struct AlterCommit<'a> {
    options: AlterOptions,
    /// Gets the changes before they are committed.
    announce: &'a mut (dyn FnMut(&Altered) + Send),
    more: Vec<RecordBatch>,
    /// The changes that were announced last.
    changes: Altered,
}

impl AlterCommit<'_> {
    /// The properties to be set, checked against the columns as they will be, without those that the version has
    /// already. `follow`: those that follow the changed columns. A value that is set has precedence over them.
    fn properties(
        &self,
        snapshot: &Snapshot,
        schema: &Schema,
        follow: &BTreeMap<String, String>,
    ) -> Result<BTreeMap<String, String>> {
        let known = snapshot.properties();
        let mut changed = follow.clone();
        for (name, value) in &self.options.set {
            let named = |error: Error| error.at(SET.to(format!("{name}={value}")));
            check_property(name, value).map_err(named)?;
            let follows = follow.get(name);
            if [COLUMN_MAPPING, TYPE_WIDENING].contains(&name.as_str())
                && let Some(needed) = follows.filter(|needed| *needed != value)
            {
                let message = format!("the changes of columns need {name}={needed}");
                return Err(named(Error::usage(message).advice("omit the property, or change the columns later")));
            }
            if name.starts_with(FEATURE) || (follows.is_none() && known.get(name) == Some(value)) {
                continue;
            }
            let is_default = !known.contains_key(name) && matches!(value.as_str(), "false" | "none");
            if OF_NEW_TABLES.contains(&name.as_str()) && !is_default {
                return Err(named(of_new_tables(name)));
            }
            check_columns(name, value, schema).map_err(named)?;
            changed.insert(name.clone(), value.clone());
        }
        Ok(changed)
    }

    /// The properties that are new constraints, of which all rows of a version are true.
    fn constraints(&self, snapshot: &Snapshot) -> Result<BTreeMap<String, String>> {
        let (known, mut added) = (snapshot.properties(), BTreeMap::<String, String>::new());
        for (name, text) in &self.options.constraints {
            let named = |error: Error| error.at(CONSTRAINT_OPTION.to(format!("{name}={text}")));
            if self.options.constraints.keys().any(|other| other != name && other.to_lowercase() == name.to_lowercase())
            {
                let message = "two constraints have names that differ in their case alone";
                return Err(named(Error::usage(message).advice("choose another name for one of them")));
            }
            if name.is_empty() || name.contains(char::is_whitespace) {
                return Err(named(Error::usage("the name of a constraint can't contain blanks")));
            }
            if !self.options.rename_columns.is_empty() || !self.options.drop_columns.is_empty() {
                return Err(named(
                    Error::usage("a constraint can't be added while columns are renamed or dropped")
                        .advice("change the columns first, then add it"),
                ));
            }
            let property = format!("{CONSTRAINT}{name}");
            match known.iter().find(|(known, _)| known.to_lowercase() == property.to_lowercase()) {
                Some((_, same)) if same == text => continue,
                Some((property, other)) => {
                    return Err(named(
                        Error::usage(format!("the table already has a constraint with this name: {other}")).advice(
                            format!("choose another name, or remove that one first: {}", UNSET.to(property.clone())),
                        ),
                    ));
                }
                None => {}
            }
            let constraint = TableConstraint::parse(snapshot.table(), name, text).map_err(named)?;
            let constraint = constraint.with_spark_meaning(snapshot).map_err(named)?;
            constraint.check_version(snapshot).map_err(named)?;
            added.insert(property, text.clone());
        }
        Ok(added)
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
                    None => error.advice("`lakerace schema` shows the properties that it has"),
                });
            };
            let is_default = matches!(value.as_str(), "false" | "none");
            if OF_FILES.iter().any(|prefix| name.starts_with(prefix))
                || (OF_NEW_TABLES.contains(&name.as_str()) && !is_default)
            {
                return Err(named(of_new_tables(name)));
            }
            removed.insert(name.clone());
        }
        Ok(removed)
    }
}

impl CommitAction for AlterCommit<'_> {
    fn operation(&self) -> (UpdateTableOperation, Vec<(&'static str, String)>) {
        let options = &self.options;
        let names: Vec<&str> = options.add_columns.iter().map(|field| field.name().as_str()).collect();
        let types: BTreeMap<&String, String> =
            options.column_types.iter().map(|(name, data_type)| (name, print_type(data_type))).collect();
        // The first of these is the name of the operation, as Spark calls it.
        let parts: [(&str, &'static str, bool, String); 8] = [
            ("ADD COLUMNS", "columns", names.is_empty(), json!(names).to_string()),
            ("RENAME COLUMN", "renamed", options.rename_columns.is_empty(), json!(options.rename_columns).to_string()),
            ("DROP COLUMNS", "dropped", options.drop_columns.is_empty(), json!(options.drop_columns).to_string()),
            ("CHANGE COLUMN", "types", types.is_empty(), json!(types).to_string()),
            ("CHANGE COLUMN", "comments", options.comments.is_empty(), json!(options.comments).to_string()),
            ("ADD CONSTRAINT", "constraints", options.constraints.is_empty(), json!(options.constraints).to_string()),
            ("SET TBLPROPERTIES", "properties", options.set.is_empty(), json!(options.set).to_string()),
            ("UNSET TBLPROPERTIES", "unset", options.unset.is_empty(), json!(options.unset).to_string()),
        ];
        let given = || parts.iter().filter(|(_, _, is_empty, _)| !is_empty);
        let name = given().next().map_or("UNSET TBLPROPERTIES", |(name, ..)| *name);
        let parameters = given().map(|(_, parameter, _, value)| (*parameter, value.clone())).collect();
        (UpdateTableOperation::Custom(name.to_owned()), parameters)
    }

    fn changes_data(&self) -> bool {
        false
    }

    fn needs_constraints(&self) -> bool {
        false
    }

    fn more_actions(&mut self) -> Result<Vec<RecordBatch>> {
        Ok(std::mem::take(&mut self.more))
    }

    fn stage(&mut self, snapshot: &Snapshot, _update: &mut Transaction<UpdateTable>) -> Result<bool> {
        let AlteredColumns { changes: columns, mut features } = altered_columns(snapshot, &self.options)?;
        let schema = altered_schema(snapshot, &columns)?;
        let mut properties = self.properties(snapshot, &schema, &columns.properties)?;
        let constraints = self.constraints(snapshot)?;
        if !constraints.is_empty() {
            features.push(TableFeature::CheckConstraints);
        }
        properties.extend(constraints);
        let changes = MetadataChanges { properties, removed: self.removed(snapshot)?, ..columns };
        let configuration = snapshot.kernel().table_configuration();
        features.extend(features_of_properties(&self.options.set)?);
        let mut added: Vec<TableFeature> = Vec::new();
        for feature in adds(configuration.protocol(), &features) {
            if !added.contains(&feature) {
                added.push(feature);
            }
        }
        check_together(snapshot, &schema, &changes, &added)?;
        let protocol = with_features(configuration.protocol(), &added)?;
        // A configuration that the kernel could not read afterwards is an error now.
        let after = configured(configuration, &protocol, &changes)?;
        let planned = Altered {
            version: None,
            properties: after.metadata().configuration().clone().into_iter().collect(),
            features_added: added.iter().map(ToString::to_string).collect(),
            reader_features_added: of_readers(&added).map(ToString::to_string).collect(),
        };
        self.more.clear();
        if !added.is_empty() {
            self.more.push(protocol_action(snapshot.table(), &protocol)?);
        }
        if changes.schema.is_some() || !changes.properties.is_empty() || !changes.removed.is_empty() {
            self.more.push(metadata_action(snapshot.table(), configuration.metadata(), &changes)?);
        }
        if self.options.dry_run {
            self.more.clear();
        }
        if !self.more.is_empty() && self.changes != planned {
            (self.announce)(&planned);
        }
        self.changes = planned;
        Ok(!self.more.is_empty())
    }
}

/// Returns an error where a property is incompatible with the table.
fn check_together(
    snapshot: &Snapshot,
    schema: &Schema,
    changes: &MetadataChanges,
    added: &[TableFeature],
) -> Result<()> {
    let configuration = snapshot.kernel().table_configuration();
    let is_set = |name: &str| changes.properties.get(name).is_some_and(|value| value == "true");
    let known = configuration.metadata().configuration();
    if added.contains(&TableFeature::DeletionVectors) || is_set(DELETION_VECTORS) {
        let compat = ["delta.enableIcebergCompatV1", "delta.enableIcebergCompatV2"];
        if let Some(name) = compat.iter().find(|name| known.get(**name).is_some_and(|value| value == "true")) {
            return Err(Error::unsupported(format!("deletion vectors in a table with {name}"))
                .at(SET.to(format!("{DELETION_VECTORS}=true")))
                .advice("omit it: files are then rewritten"));
        }
    }
    let is_off =
        changes.removed.contains(CHANGE_FEED) || changes.properties.get(CHANGE_FEED).is_some_and(|v| v != "true");
    let is_new = |name: &String| snapshot.schema().field_with_name(name).is_err();
    let mut reserved = schema.fields().iter().map(|field| field.name()).filter(|name| is_feed_column(name));
    if is_set(CHANGE_FEED)
        && let Some(name) = reserved.next()
    {
        return Err(Error::unsupported(format!("a table with a column {name:?} can't have a change data feed"))
            .at(SET.to(format!("{CHANGE_FEED}=true")))
            .advice("give the column another name first"));
    }
    match reserved.find(|name| is_new(name)) {
        Some(name) if snapshot.has_change_feed() && !is_off => {
            Err(Error::unsupported(format!("a table with a change data feed can't have a column {name:?}"))
                .advice("choose another name"))
        }
        _ => Ok(()),
    }
}
