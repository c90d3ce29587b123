//! The target of a load: an existing index, one that the load makes, or one that an alias will stand for.

use arrow::datatypes::{DataType, Schema, SchemaRef};
use lakerace_io::option::{KEY, MODE, RESUME};
use lakerace_io::{Error, ErrorKind, Job, Result};
use serde_json::{Map, Value, json};

use super::catalog::{FoundIndices, IndexCatalog, SearchIndex};
use super::client::SearchClient;
use super::journal::{JournalEntry, LoadJournal};
use super::location::SearchLocation;
use super::mapping::{ID, find, missing, properties};
use super::replaced::{self, check_blocks, replaced};
use super::schema::{keep, keep_key, kept, kept_key};
use super::settings::{SettingsRestore, SwitchableSetting};
use super::state::forget_states;
use crate::WriteMode;
use crate::options::SinkOptions;

/// The target of a load's rows.
pub(super) struct LoadTarget {
    pub catalog: IndexCatalog,
    /// The index that gets the rows.
    pub index: String,
    /// Its own id: another index of the same name has another one.
    pub uuid: String,
    /// The fields of the index.
    pub fields: Map<String, Value>,
    /// Settings that are to be put back.
    pub restore: Option<SettingsRestore>,
    /// True if the index is a staging index, which the alias points to when it is complete.
    pub is_staging: bool,
    /// Rows are on the server's disk when it answers.
    pub is_durable: bool,
    /// Documents with values that are not searched, before the load.
    pub ignored_before: u64,
}

/// A load, and how far an earlier run of it came.
pub(super) struct LoadRun {
    pub entry: JournalEntry,
    pub was_begun: bool,
}

impl LoadRun {
    /// The load of this name, or one without.
    pub fn find(journal: &LoadJournal, location: &SearchLocation, options: &SinkOptions) -> Result<Self> {
        let target = &location.index;
        let load = options.load_name.clone().unwrap_or_default();
        if options.resume && load.is_empty() {
            return Err(Error::usage(
                "a load can only be resumed by its name, and this one has none, because the source has no stable order",
            )
            .at(&location.shown)
            .advice(format!("set the key of the rows with {KEY} and use {}", MODE.to("upsert"))));
        }
        let earlier = if load.is_empty() { None } else { journal.read(target, &load)? };
        if let Some(entry) = earlier.clone().filter(|_| options.resume) {
            return Ok(Self { entry, was_begun: true });
        }
        let entry = JournalEntry {
            target: target.clone(),
            load,
            run: run_name(),
            // The staging index of an earlier run is removed before this one starts.
            staging: earlier.filter(|entry| !entry.is_finished).and_then(|entry| entry.staging),
            acknowledged_rows: 0,
            is_finished: false,
            uuid: None,
            rejected_rows: 0,
        };
        Ok(Self { entry, was_begun: false })
    }

    /// Starts over where the index that the load started with is gone, or another one has its name.
    fn check_index(&mut self, found: &FoundIndices, mode: WriteMode, location: &SearchLocation) -> Result<()> {
        let entry = &mut self.entry;
        let has_name = |index: &&SearchIndex| Some(&index.name) == entry.staging.as_ref() && entry.uuid.is_some();
        // It has its name already, and was stopped before the journal said so.
        entry.is_finished |= self.was_begun
            && found.is_alias
            && found.indices.iter().find(has_name).is_some_and(|index| entry.is_of(index));
        let is_there = found.indices.iter().any(|index| entry.is_of(index) && !index.is_placeholder());
        let makes_index = matches!(mode, WriteMode::Error | WriteMode::Overwrite);
        let goes_on = match makes_index {
            true => entry.staging.is_some() && (is_there || !entry.is_finished),
            false => is_there || (entry.acknowledged_rows == 0 && !entry.is_finished),
        };
        if !self.was_begun || goes_on {
            return Ok(());
        }
        if mode == WriteMode::Append {
            return Err(Error::conflict("the index that the load started with is gone, or another index has its name")
                .at(&location.shown)
                .advice(format!("start the load again, without {RESUME}")));
        }
        // The mode makes an index, or finds rows by their key: all rows may come again.
        self.was_begun = false;
        (entry.run, entry.staging, entry.uuid) = (run_name(), None, None);
        (entry.acknowledged_rows, entry.rejected_rows, entry.is_finished) = (0, 0, false);
        Ok(())
    }
}

/// A name that no other load has: the time, and this process.
fn run_name() -> String {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    format!("{:x}-{:x}", now.as_nanos(), std::process::id())
}

impl LoadTarget {
    /// Finds or makes the index of a load.
    pub fn open(
        client: &SearchClient,
        schema: &SchemaRef,
        options: &SinkOptions,
        run: &mut LoadRun,
        journal: &LoadJournal,
        job: &Job,
    ) -> Result<Self> {
        let (catalog, location) = (IndexCatalog::new(client, job), client.location());
        let mapped = properties(schema, &location.parameters)?;
        let found = catalog.find(&location.index)?;
        match receiver(&found, options, run, location)? {
            RowReceiver::Existing => Self::existing(catalog, found, schema, &mapped, options, location),
            RowReceiver::Staged => {
                let old = replaced(&found, &location.index);
                let body = body(schema, &mapped, old, &id_key(schema, options), location);
                Self::staging(catalog, (schema, body, old), run, journal, location)
            }
            RowReceiver::Created => {
                // The states belong to a removed index of the same name.
                forget_states(client, job, options.job_state.as_deref())?;
                let body = body(schema, &mapped, None, &id_key(schema, options), location);
                let made = match catalog.create(&location.index, &body) {
                    // Another load has created it in the meantime: the rows are added to it.
                    Err(error) if error.kind() == ErrorKind::Conflict => false,
                    outcome => outcome.map(|()| true)?,
                };
                let mut target = Self::existing(catalog, FoundIndices::default(), schema, &mapped, options, location)?;
                if made {
                    target.quiet(SwitchableSetting::New)?;
                }
                Ok(target)
            }
        }
    }

    /// Fails where [`Self::open`] would fail before it writes. Returns whether the index exists, and the fields that it would
    /// have.
    pub fn examine(
        client: &SearchClient,
        schema: &SchemaRef,
        options: &SinkOptions,
        run: &mut LoadRun,
        job: &Job,
    ) -> Result<(bool, Map<String, Value>)> {
        let location = client.location();
        let mapped = properties(schema, &location.parameters)?;
        let found = IndexCatalog::new(client, job).find(&location.index)?;
        let receiver = receiver(&found, options, run, location)?;
        let exists = exists(&found);
        match receiver {
            RowReceiver::Created => return Ok((exists, mapped)),
            RowReceiver::Staged => {
                replaced(&found, &location.index).map_or(Ok(()), check_blocks)?;
                return Ok((exists, mapped));
            }
            RowReceiver::Existing => {}
        }
        let (index, _) = receiving(found, location)?;
        let mut fields = index.properties.clone();
        fields.extend(lacking(schema, &index, &mapped, options, location)?);
        Ok((exists, fields))
    }

    /// The new index that a run fills next to an existing one.
    fn staging(
        catalog: IndexCatalog,
        (schema, body, old): (&SchemaRef, Value, Option<&SearchIndex>),
        run: &mut LoadRun,
        journal: &LoadJournal,
        location: &SearchLocation,
    ) -> Result<Self> {
        old.map_or(Ok(()), check_blocks)?;
        let entry = &mut run.entry;
        if let Some(name) = entry.staging.clone() {
            let there = catalog.find(&name)?.indices.into_iter().next();
            if let Some(index) = there.filter(|index| run.was_begun && entry.is_of(index)) {
                check_schema(schema, &index, location)?;
                return Self::from_index(catalog, index, true);
            }
            if !run.was_begun {
                catalog.remove_left_over(&location.index, &entry.load, &name)?;
            }
            // Without its index, the load starts at its first row.
            (entry.acknowledged_rows, entry.rejected_rows, entry.uuid) = (0, 0, None);
            entry.run = run_name();
            run.was_begun = false;
        }
        let name = format!("{}-{}", location.index, entry.run);
        let body = IndexCatalog::staging_body(body, &location.index, &entry.load);
        entry.staging = Some(name.clone());
        if !entry.load.is_empty() {
            // The next run removes the index, whenever this one is killed.
            journal.create()?;
            journal.write(entry)?;
        }
        catalog.create(&name, &body)?;
        let index = catalog.index(&name)?;
        let mut target = Self::from_index(catalog, index, true)?;
        target.quiet(SwitchableSetting::New)?;
        Ok(target)
    }

    /// An existing index: its fields are respected, and those that it lacks are added.
    fn existing(
        catalog: IndexCatalog,
        found: FoundIndices,
        schema: &SchemaRef,
        mapped: &Map<String, Value>,
        options: &SinkOptions,
        location: &SearchLocation,
    ) -> Result<Self> {
        let found = if found.indices.is_empty() { catalog.find(&location.index)? } else { found };
        let (mut index, is_stream) = receiving(found, location)?;
        let lacks = lacking(schema, &index, mapped, options, location)?;
        if options.mode != WriteMode::Delete {
            let merged = merged(schema, kept(&index.meta)?.as_deref());
            let is_kept = kept(&index.meta)?.is_some() || index.properties.is_empty();
            let key = id_key(schema, options);
            let ends_key = kept_key(&index.meta).is_some_and(|kept| kept != key);
            if !lacks.is_empty() || ends_key || is_kept && kept(&index.meta)?.as_deref() != Some(&merged) {
                if is_kept {
                    keep(&mut index.meta, &merged);
                }
                if ends_key {
                    keep_key(&mut index.meta, &key);
                }
                catalog.put_mapping(&index.name, &json!({ "properties": lacks, "_meta": index.meta }))?;
                let name = index.name.clone();
                index = catalog.index(&name)?;
            }
        }
        let mut target = Self::from_index(catalog, index, false)?;
        if is_stream {
            // Rows go to the stream, which chooses its index.
            target.index.clone_from(&location.index);
        }
        let names: Vec<&str> = schema.fields().iter().map(|field| field.name().as_str()).collect();
        target.ignored_before = target.catalog.ignored(&target.index, &names)?;
        Ok(target)
    }

    fn from_index(catalog: IndexCatalog, index: SearchIndex, is_staging: bool) -> Result<Self> {
        Ok(Self {
            restore: SettingsRestore::noted(&index),
            is_durable: index.setting("index.translog.durability") != Some("async"),
            uuid: index.setting("index.uuid").unwrap_or_default().to_owned(),
            fields: index.properties,
            index: index.name,
            ignored_before: 0,
            is_staging,
            catalog,
        })
    }

    /// Switches off settings that slow a load down, unless they are off.
    pub fn quiet(&mut self, quiet: SwitchableSetting) -> Result<()> {
        if self.restore.is_none() {
            self.restore = Some(SettingsRestore::quiet(&self.catalog, &self.index, quiet)?);
        }
        Ok(())
    }

    /// Puts the settings back.
    pub fn put_back(&mut self) -> Result<()> {
        match self.restore.take() {
            Some(restore) => restore.put_back(&self.catalog, &self.index),
            None => Ok(()),
        }
    }

    /// Checks that the index is the one that the load started with.
    pub fn check_same(&self, location: &SearchLocation) -> Result<()> {
        let found = self.catalog.find(&self.index)?;
        let is_there =
            found.is_alias || found.indices.iter().any(|index| index.setting("index.uuid") == Some(&self.uuid));
        if is_there {
            return Ok(());
        }
        Err(Error::conflict("the index was removed or replaced during the load")
            .at(&location.shown)
            .advice(format!("run it again without {RESUME}")))
    }
}

/// Returns true if there is an index of the name, and not only one that waits for a load.
fn exists(found: &FoundIndices) -> bool {
    !found.indices.iter().all(|index| !found.is_alias && index.is_placeholder())
}

/// The index that gets the rows of a load.
enum RowReceiver {
    /// An index that exists.
    Existing,
    /// A new one next to that which it replaces.
    Staged,
    /// A new one under the name of the location.
    Created,
}

/// Finds the index that gets the rows.
///
/// # Errors
/// `Conflict` for an index that the mode does not replace, `NotFound` for one that a delete needs.
fn receiver(
    found: &FoundIndices,
    options: &SinkOptions,
    run: &mut LoadRun,
    location: &SearchLocation,
) -> Result<RowReceiver> {
    run.check_index(found, options.mode, location)?;
    let exists = exists(found);
    match options.mode {
        _ if run.was_begun && run.entry.is_finished => Ok(RowReceiver::Existing),
        WriteMode::Error if exists => Err(Error::conflict("it already exists").at(&location.shown).advice(format!(
            "choose another index, or use {}, {} or {}",
            MODE.to("overwrite"),
            MODE.to("append"),
            MODE.to("upsert")
        ))),
        WriteMode::Error | WriteMode::Overwrite => found.check_moved(&location.index).map(|()| RowReceiver::Staged),
        WriteMode::Delete if !exists => Err(Error::not_found("the index does not exist").at(&location.shown)),
        WriteMode::Append | WriteMode::Upsert if found.indices.is_empty() => Ok(RowReceiver::Created),
        _ => Ok(RowReceiver::Existing),
    }
}

/// The index that gets rows, and whether a stream has it.
fn receiving(found: FoundIndices, location: &SearchLocation) -> Result<(SearchIndex, bool)> {
    let at = |error: Error| error.at(&location.shown);
    let is_stream = found.is_alias && found.indices.iter().all(|index| index.name.starts_with(".ds-"));
    if found.indices.len() > 1 && !is_stream {
        return Err(at(Error::unsupported(format!("the alias has {} indices", found.indices.len()))
            .advice("name the index that is to receive the rows")));
    }
    match found.indices.into_iter().max_by(|a, b| a.name.cmp(&b.name)) {
        Some(index) => Ok((index, is_stream)),
        None => Err(at(Error::conflict("the index has just been removed").advice("run it again"))),
    }
}

/// The fields that an index lacks for these rows, which fit those that it has.
fn lacking(
    schema: &SchemaRef,
    index: &SearchIndex,
    mapped: &Map<String, Value>,
    options: &SinkOptions,
    location: &SearchLocation,
) -> Result<Map<String, Value>> {
    let at = |error: Error| error.at(&location.shown);
    check_key(schema, index, options).map_err(at)?;
    if options.mode == WriteMode::Delete {
        return Ok(Map::new());
    }
    check_schema(schema, index, location)?;
    let before = kept(&index.meta)?;
    // A load has chosen a date for such times: the encoder checks whether each value fits.
    let is_ours = |name: &str| {
        let field = before.as_ref().and_then(|before| before.field_with_name(name).ok());
        field.is_some_and(|field| matches!(field.data_type(), DataType::Timestamp(_, _)))
    };
    let allows_narrowing = |name: &str| options.allow_narrowing || is_ours(name);
    missing(mapped, schema, &index.properties, allows_narrowing).map_err(at)
}

/// The body of an index for these rows: the settings that stay of a replaced one, and the location's `body` on top.
fn body(
    schema: &Schema,
    mapped: &Map<String, Value>,
    old: Option<&SearchIndex>,
    key: &[&str],
    location: &SearchLocation,
) -> Value {
    let mut body = match old {
        Some(old) => replaced::body(old, schema, mapped.clone(), &location.parameters),
        None => json!({ "mappings": { "dynamic": "strict", "properties": mapped } }),
    };
    let mut meta = body["mappings"]["_meta"].as_object().cloned().unwrap_or_default();
    keep(&mut meta, schema);
    keep_key(&mut meta, key);
    body["mappings"]["_meta"] = meta.into();
    for (key, value) in &location.parameters.body {
        over(&mut body[key], value);
    }
    body
}

/// Puts a value over another one, object by object; a field with a type replaces the whole field.
fn over(under: &mut Value, value: &Value) {
    match (under, value) {
        (Value::Object(under), Value::Object(value)) if !value.contains_key("type") => {
            for (key, value) in value {
                over(under.entry(key).or_insert(Value::Null), value);
            }
        }
        (under, value) => *under = value.clone(),
    }
}

/// The columns that an index has now: those of earlier loads, and new ones after them.
fn merged(schema: &Schema, kept: Option<&Schema>) -> Schema {
    let Some(kept) = kept else { return schema.clone() };
    let mut fields = kept.fields().to_vec();
    let is_new = |name: &str| kept.field_with_name(name).is_err();
    // Earlier rows lack the new columns.
    let new = schema.fields().iter().filter(|field| is_new(field.name()));
    fields.extend(new.map(|field| std::sync::Arc::new(field.as_ref().clone().with_nullable(true))));
    // The new rows may lack earlier columns.
    for field in &mut fields {
        let now = schema.field_with_name(field.name());
        if !field.is_nullable() && now.map_or(true, |now| now.is_nullable()) {
            *field = std::sync::Arc::new(field.as_ref().clone().with_nullable(true));
        }
    }
    Schema::new_with_metadata(fields, kept.metadata().clone())
}

/// The columns that the `_id`s of these rows are made from; none where the server makes them.
fn id_key<'a>(schema: &Schema, options: &'a SinkOptions) -> Vec<&'a str> {
    match options.key.is_empty() && schema.index_of(ID).is_ok() {
        true => vec![ID],
        false => options.key.iter().map(String::as_str).collect(),
    }
}

/// Rows are found by their `_id`, which must be made from the same key as those of the index.
fn check_key(schema: &Schema, index: &SearchIndex, options: &SinkOptions) -> Result<()> {
    let key = id_key(schema, options);
    let Some(kept) = kept_key(&index.meta).filter(|kept| *kept != key) else { return Ok(()) };
    // Rows without a key are always new documents.
    if key.is_empty() && options.mode == WriteMode::Append {
        return Ok(());
    }
    let made_from = match kept.is_empty() {
        true => "the server generated the _ids of this index".to_owned(),
        false => format!("the _ids of this index are built from ({})", kept.join(", ")),
    };
    Err(Error::unsupported(format!(
        "{made_from}, not from ({}): documents of these keys would not be found",
        key.join(", ")
    ))
    .advice(format!(
        "load the index again with this key ({} and {KEY}), or use the key that it was loaded with",
        MODE.to("overwrite")
    )))
}

/// Columns of an index keep their types.
fn check_schema(schema: &Schema, index: &SearchIndex, location: &SearchLocation) -> Result<()> {
    let Some(kept) = kept(&index.meta).map_err(|error| error.at(&location.shown))? else { return Ok(()) };
    for field in schema.fields() {
        let Ok(before) = kept.field_with_name(field.name()) else { continue };
        let is_gone = find(&index.properties, field.name()).is_none();
        if is_gone || plain(before.data_type()) == plain(field.data_type()) {
            continue;
        }
        return Err(Error::invalid(format!(
            "column {:?} is of type {}, but the index stores it as {}",
            field.name(),
            field.data_type(),
            before.data_type()
        ))
        .at(&location.shown)
        .advice(format!("convert the column first, or use {}", MODE.to("overwrite"))));
    }
    Ok(())
}

/// A type without its layout.
fn plain(data_type: &arrow::datatypes::DataType) -> arrow::datatypes::DataType {
    use arrow::datatypes::{DataType, Field};
    let item = |field: &Field| std::sync::Arc::new(Field::new("item", plain(field.data_type()), true));
    match data_type {
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => DataType::Utf8,
        DataType::Binary | DataType::LargeBinary | DataType::BinaryView | DataType::FixedSizeBinary(_) => {
            DataType::Binary
        }
        DataType::Dictionary(_, values) => plain(values),
        DataType::List(field) | DataType::LargeList(field) | DataType::FixedSizeList(field, _) => {
            DataType::List(item(field))
        }
        DataType::Map(field, _) => DataType::List(item(field)),
        DataType::Struct(fields) => DataType::Struct(
            fields.iter().map(|field| Field::new(field.name(), plain(field.data_type()), true)).collect(),
        ),
        other => other.clone(),
    }
}
