//! Options of new tables where the table exists.

use std::collections::BTreeMap;

use lakerace_io::option::{ALTER, PARTITION_BY, SET, TABLE_PROPERTY};
use lakerace_io::{Error, Result};

use crate::properties::check_property;
use crate::snapshot::Snapshot;

/// Returns an error where an existing table is partitioned by other columns than `partition_by`, unless that is empty,
/// or has other values of `properties`.
pub fn check_existing(
    snapshot: &Snapshot,
    partition_by: &[String],
    properties: &BTreeMap<String, String>,
) -> Result<()> {
    if !partition_by.is_empty() && partition_by != snapshot.partition_columns() {
        let known = match snapshot.partition_columns().as_slice() {
            [] => "has no partitions".to_owned(),
            known => format!("is partitioned by {}", known.join(", ")),
        };
        let asked = partition_by.join(", ");
        return Err(Error::unsupported(format!("the table {known}, but {PARTITION_BY} names {asked}"))
            .advice("omit it, or write to a new table"));
    }
    for (name, value) in properties {
        check_property(name, value).map_err(|error| error.at(TABLE_PROPERTY.to(format!("{name}={value}"))))?;
    }
    let known = snapshot.properties();
    if let Some((name, value)) = properties.iter().find(|(name, value)| known.get(*name) != Some(value)) {
        return Err(Error::unsupported(format!("the table already exists, but lacks the property {name}={value}"))
            .advice(format!("omit {TABLE_PROPERTY}, or set it: {}", ALTER.with([SET.to("K=V")]))));
    }
    Ok(())
}
