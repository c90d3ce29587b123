//! The properties of a table: which there are, and the values that they take.
//!
//! A misspelt property is stored and never heard of again, and a malformed value counts as none. Both are errors here.

use std::collections::BTreeMap;

use arrow::datatypes::{DataType, Fields, Schema};
use delta_kernel::expressions::ColumnName;
use delta_kernel::table_features::TableFeature;
use lakerace_format::suggestions::{column_not_found, nearest};
use lakerace_io::option::{ALTER, CONSTRAINT as CONSTRAINT_OPTION, SET, TABLE_PROPERTY};
use lakerace_io::{Error, Result};

use crate::constraint::CONSTRAINT;
use crate::key::KeyColumns;
use crate::protocol::{DELETION_VECTORS, VECTORS_ON_DEMAND};
use crate::snapshot::{KEY_PROPERTY, key_names};

/// The kind of a property's value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PropertyKind {
    /// `true` or `false`.
    Flag,
    /// An integer of at least this.
    AtLeast(i64),
    /// `interval 7 days`.
    Interval,
    /// A word of these.
    OneOf(&'static [&'static str]),
    /// Numbers with dots between: `2.12.0`.
    Version,
    /// Columns, separated by commas.
    Columns,
    /// The columns of a key, separated by commas.
    Key,
    /// Delta knows it, and lakerace does not set it.
    NotSet,
}

/// The property that says how columns are named in files.
pub(crate) const COLUMN_MAPPING: &str = "delta.columnMapping.mode";
/// The property that lets each change of a row be recorded.
pub(crate) const CHANGE_FEED: &str = "delta.enableChangeDataFeed";
/// The property that lets types become wider.
pub(crate) const TYPE_WIDENING: &str = "delta.enableTypeWidening";
/// Properties that describe the existing files, so that only a new table can get them. The advice of the error says
/// how.
pub(crate) const OF_NEW_TABLES: [&str; 6] = [
    COLUMN_MAPPING,
    "delta.enableRowTracking",
    "delta.enableInCommitTimestamps",
    "delta.enableIcebergCompatV1",
    "delta.enableIcebergCompatV2",
    "delta.enableIcebergCompatV3",
];

/// The starts of names of properties that belong to the files of a table and to their log.
pub(crate) const OF_FILES: [&str; 3] =
    ["delta.columnMapping.", "delta.rowTracking.", "delta.inCommitTimestampEnablement"];

/// The prefix of the name of a property that lists a feature.
pub(crate) const FEATURE: &str = "delta.feature.";
/// The prefix of names that keep the progress of incremental unloads.
pub(crate) const SINCE: &str = "lakerace.since.";
/// Prefixes of names that Delta and lakerace keep for themselves.
const RESERVED: [&str; 2] = ["delta.", "lakerace."];

/// All properties that Delta and lakerace know.
/// Source: <https://docs.delta.io/latest/table-properties.html> and the Delta protocol.
const PROPERTIES: &[(&str, PropertyKind)] = &[
    (KEY_PROPERTY, PropertyKind::Key),
    (VECTORS_ON_DEMAND.0, PropertyKind::OneOf(&[VECTORS_ON_DEMAND.1])),
    ("delta.appendOnly", PropertyKind::Flag),
    ("delta.autoOptimize", PropertyKind::NotSet),
    ("delta.autoOptimize.autoCompact", PropertyKind::NotSet),
    ("delta.autoOptimize.optimizeWrite", PropertyKind::NotSet),
    ("delta.checkpoint.writeStatsAsJson", PropertyKind::Flag),
    ("delta.checkpoint.writeStatsAsStruct", PropertyKind::Flag),
    ("delta.checkpointInterval", PropertyKind::AtLeast(1)),
    ("delta.checkpointPolicy", PropertyKind::OneOf(&["classic", "v2"])),
    ("delta.columnMapping.maxColumnId", PropertyKind::NotSet),
    (COLUMN_MAPPING, PropertyKind::OneOf(&["none", "name", "id"])),
    ("delta.compatibility.symlinkFormatManifest.enabled", PropertyKind::NotSet),
    ("delta.dataSkippingNumIndexedCols", PropertyKind::AtLeast(-1)),
    ("delta.dataSkippingStatsColumns", PropertyKind::Columns),
    ("delta.deletedFileRetentionDuration", PropertyKind::Interval),
    ("delta.enableChangeDataFeed", PropertyKind::Flag),
    ("delta.enableDeletionVectors", PropertyKind::Flag),
    ("delta.enableExpiredLogCleanup", PropertyKind::Flag),
    ("delta.enableIcebergCompatV1", PropertyKind::NotSet),
    ("delta.enableIcebergCompatV2", PropertyKind::Flag),
    ("delta.enableIcebergCompatV3", PropertyKind::Flag),
    ("delta.enableInCommitTimestamps", PropertyKind::Flag),
    ("delta.enableRowTracking", PropertyKind::Flag),
    ("delta.enableTypeWidening", PropertyKind::Flag),
    ("delta.inCommitTimestampEnablementTimestamp", PropertyKind::NotSet),
    ("delta.inCommitTimestampEnablementVersion", PropertyKind::NotSet),
    ("delta.isolationLevel", PropertyKind::NotSet),
    ("delta.logRetentionDuration", PropertyKind::Interval),
    ("delta.minReaderVersion", PropertyKind::NotSet),
    ("delta.minWriterVersion", PropertyKind::NotSet),
    ("delta.parquet.compression.codec", PropertyKind::NotSet),
    ("delta.parquet.format.version", PropertyKind::Version),
    ("delta.randomPrefixLength", PropertyKind::NotSet),
    ("delta.randomizeFilePrefixes", PropertyKind::NotSet),
    ("delta.rowTracking.materializedRowCommitVersionColumnName", PropertyKind::NotSet),
    ("delta.rowTracking.materializedRowIdColumnName", PropertyKind::NotSet),
    ("delta.rowTrackingSuspended", PropertyKind::NotSet),
    ("delta.setTransactionRetentionDuration", PropertyKind::Interval),
    ("delta.targetFileSize", PropertyKind::NotSet),
    ("delta.tuneFileSizesForRewrites", PropertyKind::NotSet),
    ("delta.universalFormat.enabledFormats", PropertyKind::NotSet),
];

/// Checks properties for a table with these columns; each error names its property.
///
/// Errors: `Usage` for one that does not exist and for a malformed value, `Unsupported` for one that lakerace does not
/// set and for a key of a type that no upsert supports, `NotFound` for a column that the table lacks.
pub(crate) fn check_properties(properties: &BTreeMap<String, String>, schema: &Schema) -> Result<()> {
    for (name, value) in properties {
        let named = |error: Error| error.at(TABLE_PROPERTY.to(format!("{name}={value}")));
        check_property(name, value).and_then(|()| check_columns(name, value, schema)).map_err(named)?;
    }
    Ok(())
}

/// Checks the name of a property and the form of its value. A name that is neither Delta's nor lakerace's is the user's own.
pub(crate) fn check_property(name: &str, value: &str) -> Result<()> {
    if let Some(feature) = name.strip_prefix(FEATURE) {
        return check_feature(feature, value);
    }
    if name.starts_with(CONSTRAINT) {
        let constraint = CONSTRAINT_OPTION.to(format!("{}=CONDITION", name.trim_start_matches(CONSTRAINT)));
        return Err(Error::unsupported("a constraint is checked against the rows before it is added to a table")
            .advice(format!("add it to an existing table: {}", ALTER.with([constraint]))));
    }
    if name.starts_with(SINCE) {
        return Ok(());
    }
    let Some((_, kind)) = PROPERTIES.iter().find(|(known, _)| *known == name) else {
        let lower = name.to_lowercase();
        let is_reserved = RESERVED.iter().any(|prefix| lower.starts_with(prefix));
        return if is_reserved { Err(unknown(name)) } else { Ok(()) };
    };
    let says = |form: &str| Err(Error::usage(format!("the value {value:?} is {form}")));
    match kind {
        PropertyKind::Flag if !matches!(value, "true" | "false") => says("neither true nor false"),
        PropertyKind::AtLeast(least) if !value.parse::<i64>().is_ok_and(|number| number >= *least) => {
            says(&format!("not an integer of {least} or more"))
        }
        PropertyKind::Interval if !is_interval(value) => {
            says("not an interval").map_err(|error: Error| error.advice("write it as: interval 7 days"))
        }
        PropertyKind::OneOf(words) if !words.contains(&value) => says(&format!("none of {}", words.join(", "))),
        PropertyKind::Version if !value.split('.').all(|part| part.parse::<u32>().is_ok()) => {
            says("not a version such as 2.12.0")
        }
        PropertyKind::Columns if !is_column_list(value) => says("not a list of columns such as a,b.c"),
        PropertyKind::NotSet => Err(Error::unsupported("lakerace can't set this property of Delta")
            .advice("omit it, or set it with an engine that supports it")),
        _ => Ok(()),
    }
}

/// Returns an error where a property names columns that do not exist, or that it does not support.
pub(crate) fn check_columns(name: &str, value: &str, schema: &Schema) -> Result<()> {
    match PROPERTIES.iter().find(|(known, _)| *known == name).map(|(_, kind)| kind) {
        Some(PropertyKind::Key) => KeyColumns::new(schema, &key_names(value)).map(drop),
        Some(PropertyKind::Columns) => {
            let columns = ColumnName::parse_column_name_list(value).unwrap_or_default();
            columns.iter().try_for_each(|column| find(column.path(), schema.fields()))
        }
        _ => Ok(()),
    }
}

fn find(path: &[String], fields: &Fields) -> Result<()> {
    let [first, rest @ ..] = path else { return Ok(()) };
    let Some(field) = fields.iter().find(|field| field.name().eq_ignore_ascii_case(first)) else {
        return Err(column_not_found(first, fields.iter().map(|field| field.name().as_str())));
    };
    match field.data_type() {
        DataType::Struct(below) => find(rest, below),
        _ if rest.is_empty() => Ok(()),
        _ => Err(Error::not_found(format!("the column {first:?} has no fields"))),
    }
}

fn check_feature(feature: &str, value: &str) -> Result<()> {
    if let Ok(TableFeature::Unknown(_)) | Err(_) = feature.parse::<TableFeature>() {
        return Err(Error::usage(format!("Delta has no feature {feature:?} that lakerace knows")));
    }
    if value != "supported" {
        return Err(Error::usage(format!("the value {value:?} of a feature is not \"supported\"")));
    }
    Ok(())
}

fn unknown(name: &str) -> Error {
    let error = Error::usage("this property does not exist");
    match nearest(name, PROPERTIES.iter().map(|(known, _)| *known)) {
        Some(near) => error.advice(format!("did you mean {near}?")),
        None => error.advice(
            "names that start with delta. or lakerace. are reserved; choose another name for a custom property",
        ),
    }
}

/// Returns true if a text is a list of columns, none of them without a name; the empty text has none.
fn is_column_list(text: &str) -> bool {
    let has_names =
        |column: &ColumnName| !column.path().is_empty() && column.path().iter().all(|name| !name.is_empty());
    ColumnName::parse_column_name_list(text).is_ok_and(|columns| columns.iter().all(has_names))
}

/// Returns true if a text is an interval as Delta has them: of fixed length, and none that overflows.
fn is_interval(text: &str) -> bool {
    let mut words = text.split_whitespace();
    let (interval, number, unit, end) = (words.next(), words.next(), words.next(), words.next());
    let nanoseconds = match unit.map(|unit| unit.strip_suffix('s').unwrap_or(unit)) {
        Some("nanosecond") => 1,
        Some("microsecond") => 1_000,
        Some("millisecond") => 1_000_000,
        Some("second") => 1_000_000_000,
        Some("minute") => 60 * 1_000_000_000,
        Some("hour") => 3_600 * 1_000_000_000,
        Some("day") => 86_400 * 1_000_000_000,
        Some("week") => 7 * 86_400 * 1_000_000_000,
        _ => return false,
    };
    // Longer ones than 292 years overflow in some readers.
    let fits = |number: i64| number >= 0 && number.checked_mul(nanoseconds).is_some();
    interval == Some("interval") && end.is_none() && number.and_then(|n| n.parse().ok()).is_some_and(fits)
}

/// The features that properties demand.
pub(crate) fn features_of_properties(properties: &BTreeMap<String, String>) -> Result<Vec<TableFeature>> {
    let mut features = Vec::new();
    for (name, value) in properties {
        let feature = match (name.as_str(), value.as_str()) {
            (DELETION_VECTORS, "true") => TableFeature::DeletionVectors,
            (CHANGE_FEED, "true") => TableFeature::ChangeDataFeed,
            ("delta.appendOnly", "true") => TableFeature::AppendOnly,
            (TYPE_WIDENING, "true") => TableFeature::TypeWidening,
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
        .map_err(|_| Error::usage("Delta has no feature with this name").at(SET.to(format!("{name}=supported"))))?;
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
        other => Err(Error::unsupported(format!("adding the feature {other} to an existing table"))
            .at(SET.to(format!("{name}=supported")))
            .advice("add it with an engine that supports it, or write to a new table")),
    }
}

/// The error of a property that an existing table can't get.
pub(crate) fn of_new_tables(name: &str) -> Error {
    Error::unsupported(format!("{name} can't be changed in an existing table"))
        .advice(format!("copy the table to a new one that has it from the start, with {TABLE_PROPERTY}"))
}

#[cfg(test)]
mod tests;
