//! The demands of a table on its writers, and their growth.
//!
//! A protocol lists features that the table allows, and old writer versions imply several of them. A writer has to
//! honour those that are in use: a constraint that is defined, a column that is generated. The kernel refuses by the
//! list alone, so that it gets a view of the version whose protocol only has the features in use. The log keeps the
//! true one.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch, StringArray};
use arrow::datatypes::Schema;
use delta_kernel::actions::{LOG_PROTOCOL_SCHEMA, Metadata, Protocol};
use delta_kernel::engine::arrow_data::{ArrowEngineData, EngineDataArrowExt};
use delta_kernel::table_configuration::TableConfiguration;
use delta_kernel::table_features::TableFeature;
use delta_kernel::{Engine, Snapshot as KernelSnapshot, SnapshotRef};
use lakerace_io::option::ENABLE_DELETION_VECTORS;
use lakerace_io::{Error, Result};
use serde_json::{Value, json};

use crate::commit::MetadataChanges;
use crate::constraint::CONSTRAINT;
use crate::kernel::error::guarded;

use crate::snapshot::Snapshot;
use crate::table::Table;

/// The property of tables that lakerace made: they get deletion vectors with the first change that needs them.
pub(crate) const VECTORS_ON_DEMAND: (&str, &str) = ("lakerace.deletionVectors", "onDemand");

/// The features of old protocols, with the first writer version that implies each.
const LEGACY: [(TableFeature, i32); 7] = [
    (TableFeature::AppendOnly, 2),
    (TableFeature::Invariants, 2),
    (TableFeature::CheckConstraints, 3),
    (TableFeature::ChangeDataFeed, 4),
    (TableFeature::GeneratedColumns, 4),
    (TableFeature::ColumnMapping, 5),
    (TableFeature::IdentityColumns, 6),
];
/// The features added by lakerace that readers have to support, too.
const OF_READERS: [TableFeature; 6] = [
    TableFeature::ColumnMapping,
    TableFeature::DeletionVectors,
    TableFeature::TimestampWithoutTimezone,
    TableFeature::TypeWidening,
    TableFeature::V2Checkpoint,
    TableFeature::VacuumProtocolCheck,
];
/// The versions from which a protocol lists its features.
const LISTING_READER: i32 = 3;
const LISTING_WRITER: i32 = 7;
/// The metadata of a column that has the value of rows without it.
const DEFAULT: &str = "CURRENT_DEFAULT";

/// The way in which rows may be removed from a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum VectorSupport {
    /// By deletion vectors, which the table has.
    Enabled,
    /// By deletion vectors, which the first entry with one enables: the table's protocol grows, and the property that
    /// enables them is set.
    Upgrade,
    /// By rewriting their files: the table belongs to another tool, or its properties exclude vectors.
    Rewrite,
}

/// The way in which rows may be removed from this version. `asked`: the caller allows that the table gets deletion
/// vectors.
pub(crate) fn vectors(snapshot: &Snapshot, asked: bool) -> Result<VectorSupport> {
    let configuration = snapshot.kernel().table_configuration();
    if configuration.is_feature_enabled(&TableFeature::DeletionVectors) {
        return Ok(VectorSupport::Enabled);
    }
    let properties = snapshot.kernel().metadata_configuration();
    let compat = ["delta.enableIcebergCompatV1", "delta.enableIcebergCompatV2"];
    if let Some(name) = compat.iter().find(|name| properties.get(**name).is_some_and(|value| value == "true")) {
        if asked {
            return Err(Error::unsupported(format!("deletion vectors in a table with {name}"))
                .advice(format!("omit {ENABLE_DELETION_VECTORS}: files are then rewritten")));
        }
        return Ok(VectorSupport::Rewrite);
    }
    let (mark, on_demand) = VECTORS_ON_DEMAND;
    let is_ours = properties.get(mark).is_some_and(|value| value == on_demand)
        && properties.get(DELETION_VECTORS).is_none_or(|value| value == "true");
    Ok(if asked || is_ours { VectorSupport::Upgrade } else { VectorSupport::Rewrite })
}

/// A version as the kernel may write after it.
pub(crate) struct WritableVersion {
    pub kernel: SnapshotRef,
    /// The kernel's idea of the protocol is not the table's.
    pub is_view: bool,
}

/// Prepares a version for a write that follows it; with `upgrades`, for one that enables deletion vectors. An error
/// where a feature is in use that can't be honoured. Constraints are not checked here.
pub(crate) fn writable(snapshot: &Snapshot, upgrades: bool) -> Result<WritableVersion> {
    let kernel = snapshot.kernel();
    let configuration = kernel.table_configuration();
    let protocol = configuration.protocol();
    let unused = unused(snapshot)?;
    if unused.is_empty() && !upgrades {
        return Ok(WritableVersion { kernel: Arc::clone(kernel), is_view: false });
    }
    let (protocol, metadata) = match upgrades {
        true => (with_vectors(protocol)?, with_property(configuration.metadata())),
        false => (protocol.clone(), configuration.metadata().clone()),
    };
    let metadata = without_constraints(&metadata);
    let (readers, mut writers) = features(&protocol);
    writers.retain(|feature| !unused.contains(feature));
    let readers = (protocol.min_reader_version() == LISTING_READER).then_some(readers);
    let view = guarded(|| {
        let view = Protocol::try_new(protocol.min_reader_version(), LISTING_WRITER, readers, Some(writers))?;
        let root = configuration.table_root().clone();
        let view = TableConfiguration::try_new(metadata, view, root, configuration.version())?;
        KernelSnapshot::new(kernel.log_segment().clone(), view)
    })?;
    Ok(WritableVersion { kernel: Arc::new(view), is_view: true })
}

/// The protocol with deletion vectors, as an action, and the property that enables them.
pub(crate) fn upgrade(snapshot: &Snapshot) -> Result<(RecordBatch, BTreeMap<String, String>)> {
    let protocol = with_vectors(snapshot.kernel().table_configuration().protocol())?;
    let properties = BTreeMap::from([(DELETION_VECTORS.to_owned(), "true".to_owned())]);
    Ok((protocol_action(snapshot.table(), &protocol)?, properties))
}

/// Returns true if a version differs from an earlier one by this at most: it has deletion vectors now.
pub(crate) fn is_same_but_vectors(before: &TableConfiguration, after: &TableConfiguration) -> bool {
    if before.protocol() == after.protocol() && before.metadata() == after.metadata() {
        return true;
    }
    let gained = !before.is_feature_enabled(&TableFeature::DeletionVectors);
    let upgraded = with_vectors(before.protocol());
    gained
        && upgraded.is_ok_and(|upgraded| same_protocol(&upgraded, after.protocol()))
        && with_property(before.metadata()) == *after.metadata()
}

fn same_protocol(one: &Protocol, other: &Protocol) -> bool {
    let sorted = |protocol: &Protocol| {
        let names = |features: Vec<TableFeature>| {
            let mut names: Vec<String> = features.iter().map(ToString::to_string).collect();
            names.sort();
            names
        };
        let (readers, writers) = features(protocol);
        (protocol.min_reader_version(), protocol.min_writer_version(), names(readers), names(writers))
    };
    sorted(one) == sorted(other)
}

/// An error where rows without some columns are written, though those have defaults: lakerace can't work them out.
pub(crate) fn check_defaults(snapshot: &Snapshot, source: &Schema) -> Result<()> {
    let configuration = snapshot.kernel().table_configuration();
    if !configuration.is_feature_supported(&TableFeature::AllowColumnDefaults) {
        return Ok(());
    }
    let schema = parsed_schema(configuration)?;
    let fields = schema["fields"].as_array().map(Vec::as_slice).unwrap_or_default();
    let lacks = |field: &&Value| {
        let name = field["name"].as_str().unwrap_or_default();
        field["metadata"].get(DEFAULT).is_some() && source.field_with_name(name).is_err()
    };
    match fields.iter().find(lacks).and_then(|field| field["name"].as_str()) {
        None => Ok(()),
        Some(name) => Err(Error::unsupported(format!(
            "rows without the column {name:?}, which has a default (the table's feature allowColumnDefaults)"
        ))
        .advice("write rows with all columns")),
    }
}

/// The table's features that the kernel refuses or supports in part, if lakerace honours every use of them in this
/// table; otherwise an error.
fn unused(snapshot: &Snapshot) -> Result<Vec<TableFeature>> {
    let configuration = snapshot.kernel().table_configuration();
    let (_, writers) = features(configuration.protocol());
    let known = |feature: &&TableFeature| -> bool {
        matches!(
            feature,
            TableFeature::CheckConstraints
                | TableFeature::GeneratedColumns
                | TableFeature::IdentityColumns
                | TableFeature::AllowColumnDefaults
                | TableFeature::IcebergCompatV1
        )
    };
    let unused: Vec<TableFeature> = writers.iter().filter(known).cloned().collect();
    let has_invariants = writers.contains(&TableFeature::Invariants);
    if unused.is_empty() && !has_invariants {
        return Ok(unused);
    }
    let properties = configuration.metadata().configuration();
    let text = configuration.metadata().schema_string();
    for (mark, what, feature) in [
        ("delta.generationExpression", "a generated column", "generatedColumns"),
        ("delta.identity.", "an identity column", "identityColumns"),
        ("delta.invariants", "an invariant of a column", "invariants"),
    ] {
        // Most schemas have no such text at all.
        if text.contains(mark) && uses(&parsed_schema(configuration)?, mark) {
            return Err(refused(what, feature));
        }
    }
    if properties.get("delta.enableIcebergCompatV1").is_some_and(|value| value == "true") {
        return Err(refused("the property delta.enableIcebergCompatV1", "icebergCompatV1"));
    }
    Ok(unused)
}

fn refused(what: &str, feature: &str) -> Error {
    Error::unsupported(format!("writing to a table with {what} (the feature {feature})"))
        .advice("write with an engine that supports it, or drop it with that engine")
}

fn parsed_schema(configuration: &TableConfiguration) -> Result<Value> {
    serde_json::from_str(configuration.metadata().schema_string())
        .map_err(|e| Error::corrupt("the table's schema can't be read").because(e))
}

/// Returns true if the metadata of a field, at any depth, has a key that starts with `mark`.
fn uses(schema: &Value, mark: &str) -> bool {
    match schema {
        Value::Object(parts) => parts.iter().any(|(name, part)| match part {
            Value::Object(metadata) if name == "metadata" => metadata.keys().any(|key| key.starts_with(mark)),
            part => uses(part, mark),
        }),
        Value::Array(parts) => parts.iter().any(|part| uses(part, mark)),
        _ => false,
    }
}

/// The features of a protocol's readers and of its writers, those that old versions stand for included.
fn features(protocol: &Protocol) -> (Vec<TableFeature>, Vec<TableFeature>) {
    let (reader, writer) = (protocol.min_reader_version(), protocol.min_writer_version());
    let maps = reader >= 2;
    let readers = match protocol.reader_features() {
        Some(listed) => listed.to_vec(),
        None if maps => vec![TableFeature::ColumnMapping],
        None => Vec::new(),
    };
    let writers = match protocol.writer_features() {
        Some(listed) => listed.to_vec(),
        None => {
            let stood_for = LEGACY.iter().filter(|(feature, first)| {
                // Columns are mapped where readers know of it, too.
                *first <= writer && (*feature != TableFeature::ColumnMapping || maps)
            });
            stood_for.map(|(feature, _)| feature.clone()).collect()
        }
    };
    (readers, writers)
}

/// The protocol with deletion vectors.
fn with_vectors(protocol: &Protocol) -> Result<Protocol> {
    with_features(protocol, &[TableFeature::DeletionVectors])
}

/// The features among some that a protocol does not have.
pub(crate) fn adds(protocol: &Protocol, wanted: &[TableFeature]) -> Vec<TableFeature> {
    let (_, writers) = features(protocol);
    wanted.iter().filter(|feature| !writers.contains(feature)).cloned().collect()
}

/// The features among some that readers have to support, too.
pub(crate) fn of_readers(features: &[TableFeature]) -> impl Iterator<Item = &TableFeature> {
    features.iter().filter(|feature| OF_READERS.contains(feature))
}

/// The lowest protocol that has these features next to its own. It lists all of them.
pub(crate) fn with_features(protocol: &Protocol, added: &[TableFeature]) -> Result<Protocol> {
    let (mut readers, mut writers) = features(protocol);
    readers.retain(|feature| writers.contains(feature));
    for feature in added {
        for (features, takes_it) in [(&mut readers, OF_READERS.contains(feature)), (&mut writers, true)] {
            if takes_it && !features.contains(feature) {
                features.push(feature.clone());
            }
        }
    }
    let old_reader = protocol.min_reader_version();
    let is_old = |feature: &TableFeature| *feature == TableFeature::ColumnMapping;
    // Readers of version 2 map columns, those of version 1 know nothing.
    let is_told_by_version = readers.is_empty() || (old_reader >= 2 && readers.iter().all(is_old));
    if old_reader < LISTING_READER && is_told_by_version {
        let none: Option<Vec<TableFeature>> = None;
        return guarded(|| Protocol::try_new(old_reader, LISTING_WRITER, none, Some(writers)));
    }
    guarded(|| Protocol::try_new(LISTING_READER, LISTING_WRITER, Some(readers), Some(writers)))
}

/// The metadata with the property that enables deletion vectors.
fn with_property(metadata: &Metadata) -> Metadata {
    let properties = BTreeMap::from([(DELETION_VECTORS.to_owned(), "true".to_owned())]);
    with_changes(metadata, &MetadataChanges { properties, ..MetadataChanges::default() })
}

/// A version with another protocol and other properties: an error where the kernel can't read such a table.
pub(crate) fn configured(
    configuration: &TableConfiguration,
    protocol: &Protocol,
    changes: &MetadataChanges,
) -> Result<TableConfiguration> {
    let metadata = with_changes(configuration.metadata(), changes);
    let root = configuration.table_root().clone();
    guarded(|| TableConfiguration::try_new(metadata, protocol.clone(), root, configuration.version()))
}

/// The metadata without constraints, which the kernel takes for a use of their feature.
fn without_constraints(metadata: &Metadata) -> Metadata {
    let removed = metadata.configuration().keys().filter(|name| name.starts_with(CONSTRAINT)).cloned().collect();
    with_changes(metadata, &MetadataChanges { removed, ..MetadataChanges::default() })
}

/// The metadata with these changes.
fn with_changes(metadata: &Metadata, changes: &MetadataChanges) -> Metadata {
    let mut configuration: HashMap<String, String> = metadata.configuration().clone();
    configuration.extend(changes.properties.clone());
    configuration.retain(|name, _| !changes.removed.contains(name));
    Metadata::from_parts(
        metadata.id().to_owned(),
        metadata.name().map(str::to_owned),
        metadata.description().map(str::to_owned),
        metadata.format_provider().to_owned(),
        metadata.format_options().clone(),
        changes.schema.as_ref().unwrap_or(metadata.schema_string()).clone(),
        changes.partition_columns.clone().unwrap_or_else(|| metadata.partition_columns().to_vec()),
        metadata.created_time(),
        configuration,
    )
}

/// The lowest protocol that has the features of a new table.
pub(crate) fn lowest(readers: &[TableFeature], writers: &[TableFeature]) -> Result<Protocol> {
    let is_old = |feature: &TableFeature| matches!(feature, TableFeature::AppendOnly | TableFeature::Invariants);
    let none: Option<Vec<TableFeature>> = None;
    guarded(|| {
        if !readers.is_empty() {
            Protocol::try_new(LISTING_READER, LISTING_WRITER, Some(readers.to_vec()), Some(writers.to_vec()))
        } else if writers.iter().all(is_old) {
            Protocol::try_new(1, 2, none.clone(), none)
        } else {
            Protocol::try_new(1, LISTING_WRITER, none, Some(writers.to_vec()))
        }
    })
}

/// A protocol as an action.
pub(crate) fn protocol_action(table: &Table, protocol: &Protocol) -> Result<RecordBatch> {
    let names = |features: Option<&[TableFeature]>| -> Option<Vec<String>> {
        features.map(|features| features.iter().map(ToString::to_string).collect())
    };
    let line = json!({ "protocol": {
        "minReaderVersion": protocol.min_reader_version(),
        "minWriterVersion": protocol.min_writer_version(),
        "readerFeatures": names(protocol.reader_features()),
        "writerFeatures": names(protocol.writer_features()),
    }});
    let lines: ArrayRef = Arc::new(StringArray::from(vec![line.to_string()]));
    let batch = RecordBatch::try_from_iter([("line", lines)]).map_err(Error::unexpected)?;
    table.kernel(|engine| {
        let data = Box::new(ArrowEngineData::new(batch));
        engine.json_handler().parse_json(data, LOG_PROTOCOL_SCHEMA.clone())?.try_into_record_batch()
    })
}

/// The property that lets rows be deleted without rewriting files.
pub(crate) const DELETION_VECTORS: &str = "delta.enableDeletionVectors";
