//! Statements of SQL that change a table and no rows of it: `ALTER TABLE` and `DROP TABLE`.

use std::collections::BTreeMap;

use arrow::datatypes::Field;
use lakerace::{AlterOptions, Error, Result};

use crate::arrow_type::arrow_schema_of_table;
use crate::settings::SparkSettings;

/// Changes a table, and returns the version that it has made; empty if nothing changed. `changes` is a JSON object with
/// the names `set.PROPERTY`, `unset.PROPERTY`, `comment.COLUMN`, `rename.COLUMN`, `drop.COLUMN`, and `add_columns` and
/// `types`, whose values are Spark schemas.
pub(crate) fn alter(location: &str, options: &str, changes: &str) -> Result<String> {
    let settings = SparkSettings::parse(options)?;
    let changes = alter_options(changes)?;
    check_features(location, &changes, &settings)?;
    let altered = lakerace::alter(location, &changes, &settings.storage(), &settings.job()?)?;
    Ok(altered.version.map(|version| version.to_string()).unwrap_or_default())
}

/// Refuses changes that would demand a feature of the table's readers that no statement has requested, as delta-spark
/// does.
fn check_features(location: &str, changes: &AlterOptions, settings: &SparkSettings) -> Result<()> {
    if changes.rename_columns.is_empty() && changes.drop_columns.is_empty() && changes.column_types.is_empty() {
        return Ok(());
    }
    let trial = AlterOptions { dry_run: true, ..changes.clone() };
    let planned = lakerace::alter(location, &trial, &settings.storage(), &settings.job()?)?;
    let properties =
        [("columnMapping", "delta.columnMapping.mode=name"), ("typeWidening", "delta.enableTypeWidening=true")];
    let missing = properties.iter().find(|(feature, _)| planned.features_added.iter().any(|added| added == feature));
    match missing {
        None => Ok(()),
        Some((feature, property)) => {
            let message = format!("the table's readers would need the feature {feature}, which it does not have");
            Err(Error::unsupported(message).advice(format!(
                "create the table with the property {property}, or change it with `lakerace alter` or \
                 lakerace.Table.alter, which add the feature"
            )))
        }
    }
}

fn alter_options(changes: &str) -> Result<AlterOptions> {
    let named: BTreeMap<String, String> =
        serde_json::from_str(changes).map_err(|e| Error::internal("changes that are not JSON").because(e))?;
    // Spark's catalogs remove properties that do not exist: Spark itself has checked where that is an error.
    let mut options = AlterOptions { ignores_missing: true, ..AlterOptions::default() };
    for (name, value) in named {
        match name.split_once('.') {
            Some(("set", property)) => drop(options.set.insert(property.to_owned(), value)),
            Some(("unset", property)) => options.unset.push(property.to_owned()),
            Some(("comment", column)) => drop(options.comments.insert(column.to_owned(), value)),
            Some(("rename", column)) => drop(options.rename_columns.insert(column.to_owned(), value)),
            Some(("drop", column)) => options.drop_columns.push(column.to_owned()),
            _ if name == "types" => {
                let schema = arrow_schema_of_table(&value)?;
                let types = schema.fields().iter().map(|field| (field.name().clone(), field.data_type().clone()));
                options.column_types = types.collect();
            }
            _ if name == "add_columns" => {
                let schema = arrow_schema_of_table(&value)?;
                options.add_columns = schema.fields().iter().map(|field| Field::clone(field)).collect();
            }
            _ => return Err(Error::internal(format!("a change named {name:?}"))),
        }
    }
    Ok(options)
}

/// Removes a table with its files, and says whether there was one.
pub(crate) fn drop_table(location: &str, options: &str) -> Result<bool> {
    let settings = SparkSettings::parse(options)?;
    lakerace::drop_table(location, &settings.storage(), &settings.job()?)
}
