//! The fields of a schema in the log, at every level, as they follow a source.

use arrow::datatypes::{DataType, Field, Fields};
use delta_kernel::engine::arrow_conversion::TryIntoKernel;
use delta_kernel::schema::StructField;
use delta_kernel::table_features::{ColumnMappingMode, TableFeature};
use lakerace_io::option::{ALTER, SET};
use lakerace_io::{Error, ErrorKind, Result};
use serde_json::{Value, json};

use super::{Evolve, MAX_COLUMN_ID};
use crate::snapshot::Snapshot;
use crate::write::new_table::check_name;
use crate::write::strict::{pair, refuse_duplicates};
use crate::write::types::{DESCRIBING, table_type};
use crate::write::wider_type::wider;

/// The metadata of a field that has its id, and its name in files.
pub(crate) const COLUMN_ID: &str = "delta.columnMapping.id";
pub(crate) const PHYSICAL_NAME: &str = "delta.columnMapping.physicalName";
/// The metadata of a field that has the types it had before.
const TYPE_CHANGES: &str = "delta.typeChanges";

/// A schema on its way from a table's to one that takes a source.
pub(crate) struct EvolvingSchema<'a> {
    snapshot: &'a Snapshot,
    allowed: Evolve,
    /// True if the table allows types to be widened.
    pub allows_widening: bool,
    /// The highest id of a column, where the table maps its columns.
    pub highest: Option<i64>,
    /// True if anything is new.
    pub has_changed: bool,
    /// True if the entry adds the features that new columns need, which are an error otherwise.
    pub adds_features: bool,
}

impl<'a> EvolvingSchema<'a> {
    pub fn new(snapshot: &'a Snapshot, allowed: Evolve) -> Result<Self> {
        let configuration = snapshot.kernel().table_configuration();
        let mut highest = None;
        if configuration.column_mapping_mode() != ColumnMappingMode::None {
            let text = configuration.metadata().configuration().get(MAX_COLUMN_ID);
            let id = text.and_then(|id| id.parse::<i64>().ok());
            highest = Some(id.ok_or_else(|| Error::corrupt(format!("the table lacks {MAX_COLUMN_ID}")))?);
        }
        let allows_widening = allows_widening(snapshot);
        Ok(Self { snapshot, allowed, allows_widening, highest, has_changed: false, adds_features: false })
    }

    /// Evolves a field of the table: its type becomes one that also holds the source's. The type of a fixed field, of
    /// the key or of the partitions, stays.
    pub fn field(&mut self, field: &mut Value, known: &Field, source: &DataType, is_fixed: bool) -> Result<()> {
        let source = table_type(source, Some(known.data_type()))?;
        let mut changes = Vec::new();
        let data_type =
            field.get_mut("type").ok_or_else(|| Error::corrupt("a field of the table's schema has no type"))?;
        self.data_type(data_type, known.data_type(), &source, &mut Vec::new(), &mut changes)?;
        if changes.is_empty() {
            return Ok(());
        }
        if is_fixed {
            return Err(
                Error::unsupported("widening a column of the table's key or partitions").advice("cast the rows")
            );
        }
        let metadata = metadata_of_field(field)?;
        let noted = metadata.entry(TYPE_CHANGES).or_insert_with(|| json!([]));
        let noted = noted.as_array_mut().ok_or_else(|| Error::corrupt("the type changes of a field are not a list"))?;
        noted.extend(changes);
        Ok(())
    }

    /// A field that the table lacks, as its schema gets it next to these.
    pub fn added(&mut self, field: &Field, beside: &Fields) -> Result<Value> {
        if let Some(known) = beside.iter().find(|known| known.name().eq_ignore_ascii_case(field.name())) {
            return Err(Error::invalid(format!("the table already has a column {:?}", known.name()))
                .advice("names that differ only in case are the same for some readers: rename one"));
        }
        check_name(field, self.highest.is_some())?;
        let data_type = table_type(field.data_type(), None)?;
        if !self.adds_features {
            check_added(self.snapshot, &data_type)?;
        }
        let mut added = json_field(field.name(), &data_type)?;
        let described = field.metadata().iter().filter(|(key, _)| DESCRIBING.contains(&key.as_str()));
        let described = described.map(|(key, value)| (key.clone(), json!(value)));
        metadata_of_field(&mut added)?.extend(described);
        if let Some(highest) = &mut self.highest {
            assign(&mut added, highest)?;
        }
        self.has_changed = true;
        Ok(added)
    }

    /// Changes a type within the field at `path`, which consists of `element`, `key` and `value`. Records widened
    /// types.
    fn data_type(
        &mut self,
        json: &mut Value,
        known: &DataType,
        source: &DataType,
        path: &mut Vec<&'static str>,
        changes: &mut Vec<Value>,
    ) -> Result<()> {
        match (known, source) {
            (DataType::Struct(known), DataType::Struct(source)) => self.fields(json, known, source),
            (DataType::List(known), DataType::List(source)) => {
                let (known, source) = (known.data_type(), source.data_type());
                self.below(json, ("elementType", "element"), (known, source), path, changes)
            }
            (DataType::Map(known, _), DataType::Map(source, _)) => {
                let (Some([key, value]), Some([source_key, source_value])) = (pair(known), pair(source)) else {
                    return Err(Error::invalid("a map whose entries are not pairs"));
                };
                let keys = (key.data_type(), source_key.data_type());
                self.below(json, ("keyType", "key"), keys, path, changes)?;
                let values = (value.data_type(), source_value.data_type());
                self.below(json, ("valueType", "value"), values, path, changes)
            }
            _ if self.allowed.widen => {
                let Some(wider) = wider(known, source) else { return Ok(()) };
                self.check_widening()?;
                let to = json_field("x", &wider)?.get("type").cloned().unwrap_or_default();
                let mut change = json!({ "fromType": json, "toType": to });
                if !path.is_empty() {
                    change["fieldPath"] = json!(path.join("."));
                }
                changes.push(change);
                *json = to;
                self.has_changed = true;
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn below(
        &mut self,
        json: &mut Value,
        (name, step): (&str, &'static str),
        (known, source): (&DataType, &DataType),
        path: &mut Vec<&'static str>,
        changes: &mut Vec<Value>,
    ) -> Result<()> {
        let json = json.get_mut(name).ok_or_else(|| Error::corrupt("a type of the table's schema has no elements"))?;
        path.push(step);
        self.data_type(json, known, source, path, changes).map_err(|error| error.at(step))?;
        path.pop();
        Ok(())
    }

    fn fields(&mut self, json: &mut Value, known: &Fields, source: &Fields) -> Result<()> {
        refuse_duplicates(source)?;
        let fields = json.get_mut("fields").and_then(Value::as_array_mut);
        // A variant is a struct to Arrow, and one type to Delta.
        let Some(fields) = fields else { return Ok(()) };
        for field in source {
            let named = |error: Error| error.at(format!("field {:?}", field.name()));
            match known.find(field.name()) {
                Some((at, known)) => {
                    let json = fields.get_mut(at).ok_or_else(|| Error::corrupt("a struct lacks a field"))?;
                    self.field(json, known, field.data_type(), false).map_err(named)?;
                }
                None if self.allowed.add => fields.push(self.added(field, known).map_err(named)?),
                None => {}
            }
        }
        Ok(())
    }

    fn check_widening(&self) -> Result<()> {
        if self.allows_widening {
            return Ok(());
        }
        Err(Error::unsupported("the table does not allow its types to be widened (delta.enableTypeWidening)")
            .advice(format!("enable it: {}, or cast the rows", ALTER.with([SET.to("delta.enableTypeWidening=true")]))))
    }
}

/// True of a table whose columns may get wider types.
pub(crate) fn allows_widening(snapshot: &Snapshot) -> bool {
    let configuration = snapshot.kernel().table_configuration();
    let features = [TableFeature::TypeWidening, TableFeature::TypeWideningPreview];
    features.iter().any(|feature| configuration.is_feature_enabled(feature))
}

/// An error where a type needs a feature that the table lacks.
fn check_added(snapshot: &Snapshot, data_type: &DataType) -> Result<()> {
    let without_zone = matches!(data_type, DataType::Timestamp(_, None));
    let configuration = snapshot.kernel().table_configuration();
    if without_zone && !configuration.is_feature_supported(&TableFeature::TimestampWithoutTimezone) {
        return Err(Error::unsupported(
            "a timestamp without a time zone in a table that lacks the feature timestampNtz",
        )
        .advice("give the timestamps a time zone, or add the feature timestampNtz with an engine that supports it"));
    }
    match data_type {
        DataType::List(item) => check_added(snapshot, item.data_type()),
        DataType::Map(entries, _) => check_added(snapshot, entries.data_type()),
        DataType::Struct(fields) => fields.iter().try_for_each(|field| check_added(snapshot, field.data_type())),
        _ => Ok(()),
    }
}

/// A nullable field as schemas in the log have it.
pub(crate) fn json_field(name: &str, data_type: &DataType) -> Result<Value> {
    let field = Field::new(name, data_type.clone(), true);
    let kernel: StructField = (&field).try_into_kernel().map_err(|e| Error::from_source(ErrorKind::Unsupported, e))?;
    serde_json::to_value(kernel).map_err(Error::unexpected)
}

/// Assigns ids and stored names to a field, and to those below it.
pub(crate) fn assign(field: &mut Value, highest: &mut i64) -> Result<()> {
    *highest += 1;
    let metadata = metadata_of_field(field)?;
    metadata.insert(COLUMN_ID.to_owned(), json!(*highest));
    metadata.insert(PHYSICAL_NAME.to_owned(), json!(format!("col-{:032x}", rand::random::<u128>())));
    field.get_mut("type").map_or(Ok(()), |data_type| assign_below(data_type, highest))
}

fn assign_below(data_type: &mut Value, highest: &mut i64) -> Result<()> {
    let Some(data_type) = data_type.as_object_mut() else { return Ok(()) };
    if let Some(fields) = data_type.get_mut("fields").and_then(Value::as_array_mut) {
        fields.iter_mut().try_for_each(|field| assign(field, highest))?;
    }
    for name in ["elementType", "keyType", "valueType"] {
        data_type.get_mut(name).map_or(Ok(()), |below| assign_below(below, highest))?;
    }
    Ok(())
}

/// The metadata of a field in a schema of the log, which are made where there are none.
pub(crate) fn metadata_of_field(field: &mut Value) -> Result<&mut serde_json::Map<String, Value>> {
    let field =
        field.as_object_mut().ok_or_else(|| Error::corrupt("a field of the table's schema is not an object"))?;
    let metadata = field.entry("metadata").or_insert_with(|| json!({}));
    metadata.as_object_mut().ok_or_else(|| Error::corrupt("the metadata of a field is not an object"))
}
