//! The collection that a load writes to, and its staging collection.

use std::time::Duration;

use arrow::datatypes::SchemaRef;
use bson::{Bson, Document, doc};
use lakerace_format::Sink;
use lakerace_io::option::{KEY, MODE, RESUME};
use lakerace_io::{Error, ErrorKind, Job, Result, runtime};

use super::columns::{self, BsonEncoding};
use super::connection::MongoConnection;
use super::filter::is_plain_name;
use super::journal::MongoJournal;
use super::kept_schema::{self, CollectionInfo, DocumentIds, KeptSchema, collection_info, first_batch};
use super::location::MongoLocation;
use super::publication;
use super::sink::{MongoSink, SinkPlan, write_concern};
use super::state::forget_states;
use super::statement::{IdPlan, WriteStatement};
use crate::WriteMode;
use crate::options::SinkOptions;

/// How long removing a staging collection may take when a load fails.
const DISCARD_TIMEOUT: Duration = Duration::from_secs(10);

/// A collection and, where a load becomes visible as a whole, the staging collection that takes its name.
pub(super) struct MongoTarget {
    pub connection: MongoConnection,
    staging: Option<String>,
    replaces: bool,
    /// The state that stays where rows are replaced.
    job_state: Option<String>,
}

/// Opens a sink for the collection that a location names.
pub(super) fn open(location: &str, schema: SchemaRef, options: &SinkOptions, job: &Job) -> Result<Box<dyn Sink>> {
    let location = MongoLocation::parse(location)?;
    let shown = location.to_string();
    let open = || -> Result<Box<dyn Sink>> {
        let encoding = BsonEncoding { allows_narrowing: options.allow_narrowing, skips_nulls: location.skips_nulls };
        let connection = connected(&location, &schema, job)?;
        let info = collection_info(&connection, &location.collection)?;
        let has_row_ids = options.key.is_empty() && schema.index_of("_id").is_err();
        let earlier = earlier_load(&connection, options)?;
        let earlier = still_there(&connection, earlier, (options.mode, has_row_ids), info.as_ref())?;
        check_mode(options.mode, info.as_ref(), earlier.as_ref())?;
        let token = earlier.as_ref().map_or_else(new_token, |journal| journal.token);
        let opening = OpeningLoad { connection: &connection, schema: &schema, options, info: info.as_ref(), token };
        let (ids, kept) = opening.ids()?;
        let (target, journal) = opening.prepare(earlier, kept.as_ref())?;
        let statement = match options.mode {
            WriteMode::Error | WriteMode::Overwrite | WriteMode::Append => WriteStatement::Insert,
            WriteMode::Upsert => WriteStatement::Upsert,
            WriteMode::Delete => WriteStatement::Delete,
        };
        let plan = SinkPlan { statement, ids, kept, encoding };
        Ok(Box::new(MongoSink::new(target, plan, SchemaRef::clone(&schema), journal, options)?))
    };
    open().map_err(|error| error.at(shown))
}

/// Fails where [`open`] would fail before it writes. Returns true if the collection exists.
pub(super) fn examine(location: &str, schema: SchemaRef, options: &SinkOptions, job: &Job) -> Result<bool> {
    let location = MongoLocation::parse(location)?;
    let shown = location.to_string();
    let examined = (|| {
        let connection = connected(&location, &schema, job)?;
        let info = collection_info(&connection, &location.collection)?;
        let earlier = earlier_load(&connection, options)?;
        check_mode(options.mode, info.as_ref(), earlier.as_ref())?;
        let (schema, info) = (&schema, info.as_ref());
        OpeningLoad { connection: &connection, schema, options, info, token: new_token() }.ids()?;
        if let Some(journal) = &earlier {
            journal.check_schema(&lakerace_format::encode_schema(schema))?;
        }
        Ok(info.is_some())
    })();
    examined.map_err(|error: Error| error.at(shown))
}

/// A connection for rows of a schema that documents can hold.
fn connected(location: &MongoLocation, schema: &SchemaRef, job: &Job) -> Result<MongoConnection> {
    if location.pipeline.is_some() {
        return Err(Error::usage("a pipeline can only be read").advice("omit the pipeline"));
    }
    columns::check_fields(schema.fields(), "")?;
    MongoConnection::open(location.clone(), job)
}

/// 4 bytes of the time in seconds and 3 random ones.
fn new_token() -> [u8; 7] {
    let id = bson::oid::ObjectId::new().bytes();
    let mut token = [0; 7];
    token[..4].copy_from_slice(&id[..4]);
    token[4..].copy_from_slice(&rand::random::<[u8; 3]>());
    token
}

/// The load that continues.
fn earlier_load(connection: &MongoConnection, options: &SinkOptions) -> Result<Option<MongoJournal>> {
    match (&options.load_name, options.resume) {
        (Some(load), true) => MongoJournal::find(connection, &connection.location.collection, load),
        (None, true) if options.key.is_empty() => {
            Err(Error::usage("a load of rows without a key and without a stable order can't be resumed")
                .advice(format!("set the key with {KEY}")))
        }
        _ => Ok(None),
    }
}

/// The load, unless its collection is gone or another one has its name.
fn still_there(
    connection: &MongoConnection,
    earlier: Option<MongoJournal>,
    (mode, has_row_ids): (WriteMode, bool),
    info: Option<&CollectionInfo>,
) -> Result<Option<MongoJournal>> {
    let Some(mut journal) = earlier else { return Ok(None) };
    let is_there = journal.is_of(info);
    match mode {
        WriteMode::Error | WriteMode::Overwrite => {
            let Some(staging) = journal.staging.clone() else { return Ok(None) };
            if !journal.is_finished && publication::has_name(connection, &journal, &staging, info, has_row_ids)? {
                // The load was stopped before the journal said so.
                publication::complete_earlier(connection, &mut journal, &staging)?;
                return Ok(Some(journal));
            }
            let is_gone = journal.is_finished && !is_there;
            Ok((!is_gone).then_some(journal))
        }
        _ if is_there || !(journal.is_finished || journal.acknowledged_rows > 0) => Ok(Some(journal)),
        WriteMode::Append => Err(Error::conflict(
            "the collection that the load started with is gone, or another collection has its name",
        )
        .advice(format!("start the load again, without {RESUME}"))),
        // Rows that are found by their key may all come again.
        WriteMode::Upsert | WriteMode::Delete => Ok(None),
    }
}

fn check_mode(mode: WriteMode, info: Option<&CollectionInfo>, earlier: Option<&MongoJournal>) -> Result<()> {
    if info.is_some_and(|info| info.is_view) {
        return Err(Error::unsupported("it is a view, which can't be written to").advice("name a collection"));
    }
    match (mode, info) {
        (WriteMode::Error, Some(_)) if !earlier.is_some_and(|journal| journal.is_finished) => Err(Error::conflict(
            "the collection already exists",
        )
        .advice(format!("use {}, {} or {}", MODE.to("append"), MODE.to("overwrite"), MODE.to("upsert")))),
        (WriteMode::Delete, None) => Err(Error::not_found("the collection does not exist")),
        (WriteMode::Overwrite, Some(info)) if info.options.contains_key("timeseries") => {
            Err(Error::unsupported("a time series collection can't be renamed, so it can't be replaced")
                .advice(format!("drop it first, or use {}", MODE.to("append"))))
        }
        (WriteMode::Overwrite, Some(info)) if info.options.get_bool("capped").unwrap_or(false) => {
            Err(Error::unsupported("a capped collection drops documents by itself, so lost rows could not be detected")
                .advice(format!("drop it first, or use {}", MODE.to("append"))))
        }
        _ => Ok(()),
    }
}

struct OpeningLoad<'a> {
    connection: &'a MongoConnection,
    schema: &'a SchemaRef,
    options: &'a SinkOptions,
    info: Option<&'a CollectionInfo>,
    token: [u8; 7],
}

impl OpeningLoad<'_> {
    /// The origin of `_id`s, and the schema to keep, where all documents will have one.
    fn ids(&self) -> Result<(IdPlan, Option<KeptSchema>)> {
        let key = self.key()?;
        let id_column = self.schema.index_of("_id").ok();
        let replaces = matches!(self.options.mode, WriteMode::Error | WriteMode::Overwrite);
        let (before, is_made) = match self.info {
            Some(info) if !replaces => self.kept(info, &key)?,
            _ => (None, false),
        };
        let is_new = replaces || self.info.is_none() || is_made;
        let needs_key = matches!(self.options.mode, WriteMode::Upsert | WriteMode::Delete);
        if needs_key && key.is_empty() {
            return Err(Error::usage("rows are found by a key, and no key is given")
                .advice(format!("set its columns with {KEY}")));
        }
        let has_ids =
            is_new || before.as_ref().is_some_and(|kept| kept.ids == DocumentIds::Key(self.options.key.clone()));
        let (plan, ids) = match id_column {
            Some(index) if key.is_empty() || key == [index] => (IdPlan::Column(index), DocumentIds::Column),
            None if !key.is_empty() && has_ids => (IdPlan::Key(key), DocumentIds::Key(self.options.key.clone())),
            Some(_) if is_new => {
                return Err(Error::usage("the rows have a column _id, but another key is given")
                    .advice(format!("say {}", KEY.to("_id"))));
            }
            Some(index) if !needs_key => {
                self.require_unique_index()?;
                (IdPlan::Column(index), DocumentIds::Column)
            }
            _ if needs_key => {
                (self.by_unique_index(key)?, before.as_ref().map_or(DocumentIds::Row, |kept| kept.ids.clone()))
            }
            _ => {
                if !key.is_empty() {
                    // Without the index, rows whose key exists would be added again.
                    self.require_unique_index()?;
                }
                (IdPlan::Row(self.token), DocumentIds::Row)
            }
        };
        if self.options.mode == WriteMode::Delete {
            return Ok((plan, None));
        }
        let kept = match before {
            Some(before) => {
                let schema = kept_schema::merged(&before.schema, self.schema)?;
                let ids = if before.ids == ids { ids } else { DocumentIds::Row };
                Some(KeptSchema { schema: schema.into(), ids })
            }
            None if is_new => Some(KeptSchema { schema: SchemaRef::clone(self.schema), ids }),
            None => None,
        };
        Ok((plan, kept))
    }

    /// The state that an earlier load keeps of the collection, and whether another load is making it right now: then it is empty, and
    /// nothing is kept yet. An upsert or append into it keeps the same.
    fn kept(&self, info: &CollectionInfo, key: &[usize]) -> Result<(Option<KeptSchema>, bool)> {
        let name = &self.connection.location.collection;
        let kept = kept_schema::find(self.connection, name, info)?;
        if kept.is_some() || key.is_empty() || !matches!(self.options.mode, WriteMode::Upsert | WriteMode::Append) {
            return Ok((kept, false));
        }
        let first = self.connection.command(doc! { "find": name, "projection": { "_id": 1 }, "limit": 1 })?;
        if !first_batch(&first).is_empty() {
            // Loads keep the schema before they send rows.
            return Ok((kept_schema::find(self.connection, name, info)?, false));
        }
        match self.require_unique_index() {
            Err(error) if error.kind() == ErrorKind::Unsupported => Ok((None, true)),
            outcome => outcome.map(|()| (None, false)),
        }
    }

    fn key(&self) -> Result<Vec<usize>> {
        let names = || self.schema.fields().iter().map(|field| field.name().as_str());
        self.options
            .key
            .iter()
            .map(|name| {
                let index = self.schema.index_of(name);
                let index = index.map_err(|_| lakerace_format::suggestions::column_not_found(name, names()))?;
                if self.schema.field(index).data_type().is_nested() {
                    return Err(Error::unsupported("lists and structs can't be keys").at(name));
                }
                Ok(index)
            })
            .collect()
    }

    /// Documents of another origin are found by their key's fields: a unique index makes that quick and exact.
    fn by_unique_index(&self, key: Vec<usize>) -> Result<IdPlan> {
        if let Some(field) = self.schema.fields().iter().find(|field| field.name().starts_with('$')) {
            return Err(Error::unsupported("a name that starts with a dollar sign is an operator in an update")
                .at(field.name()));
        }
        if let Some(odd) = self.options.key.iter().find(|name| !is_plain_name(name)) {
            return Err(Error::unsupported("a key whose name has dots or dollar signs can't be searched").at(odd));
        }
        self.require_unique_index().map(|()| IdPlan::Server(key))
    }

    /// Fails where the collection has no unique index on the key.
    fn require_unique_index(&self) -> Result<()> {
        let name = &self.connection.location.collection;
        let answer = self.connection.command(doc! { "listIndexes": name })?;
        let is_of_key = |index: &Document| {
            let is_unique = index.get_bool("unique").unwrap_or(false) && !index.contains_key("partialFilterExpression");
            let fields =
                index.get_document("key").map(|key| key.keys().cloned().collect::<Vec<_>>()).unwrap_or_default();
            is_unique
                && fields.len() == self.options.key.len()
                && self.options.key.iter().all(|name| fields.contains(name))
        };
        if first_batch(&answer).iter().any(is_of_key) {
            return Ok(());
        }
        let columns: Vec<String> = self.options.key.iter().map(|name| format!("{name:?}: 1")).collect();
        Err(Error::unsupported("the collection's _id is not built from this key, and no unique index covers it")
            .advice(format!(
                "create one, db.{name}.createIndex({{{}}}, {{unique: true}}), or load the collection with {KEY} first",
                columns.join(", ")
            )))
    }

    /// Makes the collection that is written, and the document of the load.
    fn prepare(
        &self,
        earlier: Option<MongoJournal>,
        kept: Option<&KeptSchema>,
    ) -> Result<(MongoTarget, Option<MongoJournal>)> {
        let is_staged = matches!(self.options.mode, WriteMode::Error | WriteMode::Overwrite);
        let encoded = lakerace_format::encode_schema(self.schema);
        let mut target = MongoTarget {
            connection: self.connection.clone(),
            staging: None,
            replaces: self.options.mode == WriteMode::Overwrite,
            job_state: self.options.job_state.clone(),
        };
        if let Some(journal) = &earlier {
            journal.check_schema(&encoded)?;
            let is_there = match &journal.staging {
                Some(_) if journal.is_finished => true,
                Some(staging) => journal.is_of(collection_info(self.connection, staging)?.as_ref()),
                None => !is_staged,
            };
            if journal.is_finished || (is_there && journal.acknowledged_rows > 0) {
                target.staging = journal.staging.clone();
                return Ok((target, earlier));
            }
        }
        self.discard_earlier()?;
        let collection = &self.connection.location.collection;
        if is_staged {
            let hex: String =
                self.token.iter().chain(&rand::random::<[u8; 3]>()).map(|byte| format!("{byte:02x}")).collect();
            target.staging = Some(format!("{collection}.loading-{hex}"));
        }
        target.create(self.info)?;
        let uuid = match kept {
            Some(kept) => kept_schema::keep(self.connection, target.loading(), kept)?,
            None => self.info.and_then(|info| info.uuid.clone()),
        };
        let journal = match &self.options.load_name {
            Some(load) => {
                let loaded = (target.staging.clone(), uuid);
                Some(MongoJournal::begin(self.connection, collection, load, self.token, loaded, encoded)?)
            }
            None => None,
        };
        Ok((target, journal))
    }

    /// Removes the staging collection that an earlier run of the same load has left.
    fn discard_earlier(&self) -> Result<()> {
        let Some(load) = &self.options.load_name else { return Ok(()) };
        let earlier = MongoJournal::find(self.connection, &self.connection.location.collection, load)?;
        match earlier.and_then(|journal| journal.staging) {
            Some(staging) => drop_collection(self.connection, &staging),
            None => Ok(()),
        }
    }
}

fn drop_collection(connection: &MongoConnection, name: &str) -> Result<()> {
    match connection.command(doc! { "drop": name }) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
        _ => kept_schema::forget(connection, name),
    }
}

impl MongoTarget {
    /// The collection that gets the rows.
    pub(super) fn loading(&self) -> &str {
        self.staging.as_deref().unwrap_or(&self.connection.location.collection)
    }

    /// Returns true if the collection takes its name when the load ends.
    pub(super) fn is_aside(&self) -> bool {
        self.staging.is_some()
    }

    pub(super) fn write_concern(&self) -> Document {
        write_concern(&self.connection.location)
    }

    /// Makes the collection that is loaded, with the options of the one that it replaces.
    fn create(&self, info: Option<&CollectionInfo>) -> Result<()> {
        if self.staging.is_none() && info.is_some() {
            return Ok(());
        }
        let mut command = doc! { "create": self.loading() };
        match &self.staging {
            Some(staging) => {
                let options = info.map(|info| info.options.clone()).unwrap_or_default();
                self.check_rename(staging, &options)?;
                command.extend(options);
            }
            // The states belong to a dropped collection of the same name.
            None => forget_states(&self.connection, self.job_state.as_deref())?,
        }
        match self.connection.command(command) {
            // Another load has made it in the meantime.
            Err(error) if error.kind() == ErrorKind::Conflict && self.staging.is_none() => Ok(()),
            outcome => outcome.map(|_| ()),
        }
    }

    /// The collection that the loaded one replaces.
    pub(super) fn replaced(&self) -> Result<Option<CollectionInfo>> {
        Ok(collection_info(&self.connection, &self.connection.location.collection)?.filter(|_| self.replaces))
    }

    /// Gives the loaded collection its name, with the indexes and options of the one that it replaces. Gives its id.
    pub(super) fn publish(
        &mut self,
        kept: Option<&KeptSchema>,
        replaced: Option<CollectionInfo>,
    ) -> Result<Option<Bson>> {
        let Some(staging) = self.staging.clone() else { return Ok(None) };
        let name = self.connection.location.collection.clone();
        if collection_info(&self.connection, &staging)?.is_none() {
            return Err(Error::conflict(format!("the collection {staging} was removed during the load"))
                .advice(format!("start the load again, without {RESUME}")));
        }
        if replaced.is_some() {
            self.copy_indexes(&name, &staging)?;
        }
        // A load that is stopped after this leaves jobs that start over.
        forget_states(&self.connection, self.job_state.as_deref())?;
        let database = &self.connection.location.database;
        let rename = doc! {
            "renameCollection": format!("{database}.{staging}"),
            "to": format!("{database}.{name}"),
            "dropTarget": self.replaces,
            "writeConcern": { "w": "majority" },
        };
        match self.connection.command_on("admin", rename) {
            // Sent again after a lost answer, it finds nothing to rename.
            Err(error) if error.kind() == ErrorKind::NotFound && self.has_another(&name, replaced.as_ref())? => {}
            outcome => drop(outcome?),
        }
        self.staging = None;
        let options = replaced.map(|info| info.options).unwrap_or_default();
        publication::complete(&self.connection, &staging, options, kept)
    }

    /// Returns true if a name now has a collection other than the replaced one, as far as the server distinguishes
    /// them.
    fn has_another(&self, name: &str, replaced: Option<&CollectionInfo>) -> Result<bool> {
        let Some(now) = collection_info(&self.connection, name)? else { return Ok(false) };
        Ok(replaced.is_none_or(|replaced| replaced.uuid.is_none() || replaced.uuid != now.uuid))
    }

    /// An error where the server forgets options when it renames a collection, and they can't be set again.
    fn check_rename(&self, staging: &str, options: &Document) -> Result<()> {
        let is_fixed = |(name, _): &(&String, &Bson)| !publication::CHANGEABLE_OPTIONS.contains(&name.as_str());
        let fixed: Document =
            options.iter().filter(is_fixed).map(|(name, value)| (name.clone(), value.clone())).collect();
        if fixed.is_empty() {
            return Ok(());
        }
        let (probe, renamed) = (format!("{staging}-probe"), format!("{staging}-renamed"));
        let database = &self.connection.location.database;
        let tried = (|| {
            let mut command = doc! { "create": &probe };
            command.extend(fixed.clone());
            self.connection.command(command)?;
            let names = doc! {
                "renameCollection": format!("{database}.{probe}"),
                "to": format!("{database}.{renamed}"),
            };
            self.connection.command_on("admin", names)?;
            collection_info(&self.connection, &renamed)
        })();
        for name in [&probe, &renamed] {
            drop_collection(&self.connection, name)?;
        }
        let kept = tried?.map(|info| info.options).unwrap_or_default();
        let lost: Vec<&str> = fixed.keys().map(String::as_str).filter(|name| !kept.contains_key(*name)).collect();
        if lost.is_empty() {
            return Ok(());
        }
        let message = format!("the server drops options of a collection when it renames it: {}", lost.join(", "));
        Err(Error::unsupported(message).advice(format!("drop the collection first, or use {}", MODE.to("upsert"))))
    }

    fn copy_indexes(&self, from: &str, to: &str) -> Result<()> {
        let answer = match self.connection.command(doc! { "listIndexes": from }) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
            outcome => outcome?,
        };
        let mut indexes = first_batch(&answer);
        // The index of `_id` comes with the collection; a clustered one may have any name.
        let comes_along = |index: &Document| {
            index.get_str("name").is_ok_and(|name| name == "_id_") || index.get_bool("clustered").unwrap_or(false)
        };
        indexes.retain(|index| !comes_along(index));
        for index in &mut indexes {
            index.remove("ns");
            index.remove("v");
        }
        if indexes.is_empty() {
            return Ok(());
        }
        self.connection.command(doc! { "createIndexes": to, "indexes": indexes }).map(|_| ()).map_err(|error| {
            error.advice(
                "the rows do not fit an index of the collection that they replace: fix the rows, or drop the index",
            )
        })
    }

    /// Removes the staging collection of a load that has failed, in ten seconds at most: the job may be cancelled.
    pub(super) fn discard(&mut self) {
        let (Some(staging), Ok(runtime)) = (self.staging.take(), runtime()) else { return };
        let connection = self.connection.clone();
        let (sender, receiver) = std::sync::mpsc::sync_channel(1);
        runtime.spawn(async move {
            let database = connection.client.database(&connection.location.database);
            let _ = database.run_command(doc! { "drop": &staging }).await;
            let forget = doc! { "delete": kept_schema::SCHEMAS, "deletes": [{ "q": { "_id": &staging }, "limit": 1 }] };
            let _ = database.run_command(forget).await;
            let _ = sender.send(());
        });
        let _ = receiver.recv_timeout(DISCARD_TIMEOUT);
    }
}
