//! Statements of SQL that change a table and no rows of it: `ALTER TABLE` and `DROP TABLE`.

use std::collections::BTreeMap;

use arrow::datatypes::Field;
use lakerace::{AlterOptions, Error, Result};

use crate::arrow_type::arrow_schema_of_table;
use crate::settings::Settings;

/// Changes a table, and says which version that has made; empty where the table was so already. `changes` is an object of JSON whose names
/// are `set.PROPERTY`, `unset.PROPERTY`, `comment.COLUMN` and `add_columns`, a schema of Spark's.
pub(crate) fn alter(location: &str, options: &str, changes: &str) -> Result<String> {
    let settings = Settings::parse(options)?;
    let altered = lakerace::alter(location, &alter_options(changes)?, &settings.storage(), &settings.job()?)?;
    Ok(altered.version.map(|version| version.to_string()).unwrap_or_default())
}

fn alter_options(changes: &str) -> Result<AlterOptions> {
    let named: BTreeMap<String, String> =
        serde_json::from_str(changes).map_err(|e| Error::internal(format!("changes that are no JSON: {e}")))?;
    // Spark's catalogs take a property away that is not there: it has looked itself where that is an error.
    let mut options = AlterOptions { ignores_missing: true, ..AlterOptions::default() };
    for (name, value) in named {
        match name.split_once('.') {
            Some(("set", property)) => drop(options.set.insert(property.to_owned(), value)),
            Some(("unset", property)) => options.unset.push(property.to_owned()),
            Some(("comment", column)) => drop(options.comments.insert(column.to_owned(), value)),
            _ if name == "add_columns" => {
                let schema = arrow_schema_of_table(&value)?;
                options.add_columns = schema.fields().iter().map(|field| Field::clone(field)).collect();
            }
            _ => return Err(Error::internal(format!("a change of the name {name:?}"))),
        }
    }
    Ok(options)
}

/// Removes a table with its files, and says whether there was one.
pub(crate) fn drop_table(location: &str, options: &str) -> Result<bool> {
    let settings = Settings::parse(options)?;
    lakerace::drop_table(location, &settings.storage(), &settings.job()?)
}
