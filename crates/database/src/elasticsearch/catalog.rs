//! Indices and aliases: looked up, made, changed, removed.

use bytes::Bytes;
use lakerace_format::json::NoJson;
use lakerace_io::option::{MODE, RESUME};
use lakerace_io::{Error, Job, Result};
use serde_json::{Map, Value, json};

use super::aliases::alias_actions;
use super::client::{SearchClient, SearchRequest};
use super::json_tree::JsonTree;
use super::location::escape;
use super::schema::OURS;

/// The key in our `_meta` of an index that a load is filling, with the alias that it will be reached by.
const STAGING_FOR: &str = "staging_for";
/// The key of the load that fills it.
const LOAD: &str = "load";
/// The key of an empty index that holds a name until the alias takes its place.
const PLACEHOLDER: &str = "placeholder";

/// An index.
#[derive(Debug, Clone)]
pub(super) struct SearchIndex {
    pub name: String,
    pub properties: Map<String, Value>,
    /// The whole mapping, with `properties` and `_meta`.
    pub mappings: Map<String, Value>,
    pub meta: Map<String, Value>,
    /// Its settings by their whole names, `index.refresh_interval`.
    pub settings: Map<String, Value>,
    /// The names of all its aliases.
    pub aliases: Vec<String>,
    /// True if documents are kept whole.
    pub has_source: bool,
}

/// The indices of a name.
#[derive(Debug, Clone, Default)]
pub(super) struct FoundIndices {
    pub indices: Vec<SearchIndex>,
    /// The name is an alias, or a data stream.
    pub is_alias: bool,
}

impl SearchIndex {
    /// A value of ours in `_meta`.
    pub fn ours(&self, key: &str) -> Option<&Value> {
        self.meta.get(OURS)?.get(key)
    }

    /// Returns true if it has been filled for this alias by a load, so that another load may remove it.
    pub fn was_made_for(&self, alias: &str) -> bool {
        self.ours(STAGING_FOR).and_then(Value::as_str) == Some(alias)
    }

    /// Returns true if it only holds its name.
    pub fn is_placeholder(&self) -> bool {
        self.ours(PLACEHOLDER).is_some()
    }

    /// A setting, `None` where the server's own holds.
    pub fn setting(&self, name: &str) -> Option<&str> {
        self.settings.get(name)?.as_str()
    }
}

impl FoundIndices {
    /// Fails where the alias `name` would move away from an index that stays and that has other aliases: these would
    /// continue to show the old rows.
    pub fn check_moved(&self, name: &str) -> Result<()> {
        let stays = |index: &&SearchIndex| self.is_alias && !index.was_made_for(name);
        for index in self.indices.iter().filter(stays) {
            let others: Vec<&str> = index.aliases.iter().map(String::as_str).filter(|alias| *alias != name).collect();
            if !others.is_empty() {
                let (index, others) = (&index.name, others.join(", "));
                return Err(Error::conflict(format!(
                    "the index {index:?} would remain, and its other aliases would still show the old rows: {others}"
                ))
                .advice(format!(
                    "overwrite {index:?} itself, which moves all of its aliases, or remove the alias {name:?} first"
                )));
            }
        }
        Ok(())
    }
}

/// The indices of one server.
#[derive(Clone)]
pub(super) struct IndexCatalog {
    client: SearchClient,
    job: Job,
}

impl IndexCatalog {
    pub fn new(client: &SearchClient, job: &Job) -> Self {
        Self { client: client.clone(), job: job.clone() }
    }

    /// Finds the indices of a name; none where there is no such index.
    pub fn find(&self, name: &str) -> Result<FoundIndices> {
        let path = format!("/{}?flat_settings=true", escape(name));
        let Some(answer) = self.client.found(&self.job, SearchRequest::bare("GET", path))? else {
            return Ok(FoundIndices::default());
        };
        let object = |value: &Value| value.as_object().cloned().unwrap_or_default();
        let answer = object(&answer);
        let is_alias = !answer.contains_key(name);
        let indices = answer.iter().map(|(name, index)| SearchIndex {
            name: name.clone(),
            properties: object(&index["mappings"]["properties"]),
            mappings: object(&index["mappings"]),
            meta: object(&index["mappings"]["_meta"]),
            settings: object(&index["settings"]),
            aliases: object(&index["aliases"]).into_iter().map(|(alias, _)| alias).collect(),
            has_source: has_source(&index["mappings"]["_source"]),
        });
        Ok(FoundIndices { indices: indices.collect(), is_alias })
    }

    /// The index of this name, which must be there.
    pub fn index(&self, name: &str) -> Result<SearchIndex> {
        self.find(name)?.indices.into_iter().next().ok_or_else(|| self.gone(name))
    }

    fn gone(&self, name: &str) -> Error {
        Error::conflict(format!("the index {name:?} was removed during the load")).at(&self.client.location().shown)
    }

    /// Makes an index.
    ///
    /// # Errors
    /// `Conflict` where there is one of this name, or an alias.
    pub fn create(&self, name: &str, body: &Value) -> Result<()> {
        let answer = self.client.call(&self.job, SearchRequest::json("PUT", format!("/{}", escape(name)), body))?;
        if answer.status < 300 {
            return Ok(());
        }
        let said = super::client::ServerFailure::from_body(&answer.body);
        if matches!(said.kind(), "resource_already_exists_exception" | "invalid_index_name_exception")
            && said.reason().contains("already exists")
        {
            // A request of a killed run may have been under way.
            return Err(Error::conflict("the index has just been created, by an earlier run or another client")
                .at(&self.client.location().shown)
                .advice(format!(
                    "run it again: {RESUME} continues a load that was killed, {} adds the rows, and {} replaces others",
                    MODE.to("append"),
                    MODE.to("overwrite")
                )));
        }
        Err(self.client.refusal(&answer))
    }

    /// Changes a mapping: fields are added, `_meta` is replaced.
    pub fn put_mapping(&self, name: &str, mapping: &Value) -> Result<()> {
        let path = format!("/{}/_mapping", escape(name));
        self.client.object(&self.job, SearchRequest::json("PUT", path, mapping)).map(drop)
    }

    /// Changes settings.
    pub fn put_settings(&self, name: &str, settings: &Value) -> Result<()> {
        let path = format!("/{}/_settings", escape(name));
        self.client.object(&self.job, SearchRequest::json("PUT", path, settings)).map(drop)
    }

    /// Removes an index if it exists.
    pub fn remove(&self, name: &str) -> Result<()> {
        self.client.found(&self.job, SearchRequest::bare("DELETE", format!("/{}", escape(name)))).map(drop)
    }

    /// Makes written rows visible to searches.
    pub fn refresh(&self, name: &str) -> Result<()> {
        let path = format!("/{}/_refresh", escape(name));
        let answer = self.client.object(&self.job, SearchRequest::bare("POST", path))?;
        match answer["_shards"]["failed"].as_u64() {
            Some(0) => Ok(()),
            _ => Err(Error::unavailable("a shard could not refresh to make the rows visible")
                .at(&self.client.location().shown)),
        }
    }

    /// How many documents match; all, without a query.
    pub fn count(&self, name: &str, query: Option<&Value>) -> Result<u64> {
        let path = format!("/{}/_count", escape(name));
        let request = match query {
            Some(query) => SearchRequest::json("POST", path, &json!({ "query": query })),
            None => SearchRequest::bare("GET", path),
        };
        let answer = self.client.object(&self.job, request)?;
        match (answer["count"].as_u64(), answer["_shards"]["failed"].as_u64()) {
            (Some(count), Some(0)) => Ok(count),
            _ => Err(Error::unavailable("a shard could not count its documents").at(&self.client.location().shown)),
        }
    }

    /// The number of documents with values in these columns that the index keeps but does not search. Other fields are
    /// not counted.
    pub fn ignored(&self, name: &str, columns: &[&str]) -> Result<u64> {
        let mut ignored = 0;
        for some in columns.chunks(1024) {
            ignored += self.count(name, Some(&json!({ "terms": { "_ignored": some } })))?;
        }
        Ok(ignored)
    }

    /// The body of an index that a load fills, to be reached by `alias` later.
    pub fn staging_body(mut body: Value, alias: &str, load: &str) -> Value {
        let ours = &mut body["mappings"]["_meta"][OURS];
        ours[STAGING_FOR] = json!(alias);
        ours[LOAD] = json!(load);
        body
    }

    /// Removes the index that a killed load of this name has left.
    pub fn remove_left_over(&self, alias: &str, load: &str, name: &str) -> Result<()> {
        let Some(index) = self.find(name)?.indices.into_iter().find(|index| index.name == name) else { return Ok(()) };
        if !index.was_made_for(alias) || index.ours(LOAD).and_then(Value::as_str) != Some(load) {
            return Ok(());
        }
        let is_live = self.find(alias)?.indices.iter().any(|index| index.name == name);
        if is_live { Ok(()) } else { self.remove(name) }
    }

    /// Atomically makes `alias` point to `index` instead of its previous indices.
    ///
    /// # Errors
    /// `Conflict` where `must_be_new` and the alias exists, where another load was faster, or where an index that stays
    /// has more aliases.
    pub fn switch(&self, alias: &str, index: &str, must_be_new: bool) -> Result<()> {
        let before = self.find(alias)?;
        let is_free = before.indices.iter().all(|index| !before.is_alias && index.is_placeholder());
        if must_be_new && !is_free {
            return Err(Error::conflict("another load created it during this one")
                .at(&self.client.location().shown)
                .advice(format!("run it again with {} or {}", MODE.to("overwrite"), MODE.to("append"))));
        }
        before.check_moved(alias).map_err(|error| error.at(&self.client.location().shown))?;
        if before.indices.is_empty() {
            // A name can be taken once only: of two loads, the later one fails here.
            let mut body = json!({ "settings": { "number_of_shards": 1, "number_of_replicas": 0 } });
            body["mappings"]["_meta"][OURS][PLACEHOLDER] = json!(true);
            self.create(alias, &body)?;
            return self.replace(alias, index, &[json!({ "remove_index": { "index": alias } })], &[]);
        }
        let is_removed = |old: &SearchIndex| !before.is_alias || old.was_made_for(alias);
        let others: Vec<&SearchIndex> = before.indices.iter().filter(|old| old.name != index).collect();
        let removals: Vec<Value> = others
            .iter()
            .map(|old| match is_removed(old) {
                true => json!({ "remove_index": { "index": old.name } }),
                false => json!({ "remove": { "index": old.name, "alias": alias } }),
            })
            .collect();
        // An index that stays keeps all of its other aliases.
        let names = others.iter().map(|old| match is_removed(old) {
            true => self.aliases(&old.name, None),
            false => self.aliases(&old.name, Some(alias)),
        });
        let answers = names.collect::<Result<Vec<Bytes>>>()?;
        self.replace(alias, index, &removals, &answers)
    }

    /// The answer that lists the aliases of an index: all, or one.
    fn aliases(&self, index: &str, alias: Option<&str>) -> Result<Bytes> {
        let alias = alias.map(|alias| format!("/{}", escape(alias))).unwrap_or_default();
        let answer =
            self.client.call(&self.job, SearchRequest::bare("GET", format!("/{}/_alias{alias}", escape(index))))?;
        match answer.status {
            200..=299 => Ok(answer.body),
            404 => Ok(Bytes::from_static(b"{}")),
            _ => Err(self.client.refusal(&answer)),
        }
    }

    fn replace(&self, alias: &str, index: &str, removals: &[Value], aliases: &[Bytes]) -> Result<()> {
        let unclear =
            |_| Error::unavailable("the aliases of the index could not be read").at(&self.client.location().shown);
        let texts: Vec<String> = removals.iter().map(Value::to_string).collect();
        let removal_trees: std::result::Result<Vec<JsonTree<'_>>, NoJson> =
            texts.iter().map(|text| JsonTree::parse(text.as_bytes())).collect();
        let answers: std::result::Result<Vec<JsonTree<'_>>, NoJson> =
            aliases.iter().map(|answer| JsonTree::parse(answer)).collect();
        let (removal_trees, answers) = (removal_trees.map_err(unclear)?, answers.map_err(unclear)?);
        let mut body = Vec::new();
        alias_actions(&answers, alias, index, removal_trees).write(&mut body);
        let request =
            SearchRequest { method: "POST", path: "/_aliases".to_owned(), body: Bytes::from(body), is_lines: false };
        let answer = self.client.call(&self.job, request)?;
        let replaced = || {
            Error::conflict("another load has just replaced it")
                .at(&self.client.location().shown)
                .advice("run it again")
        };
        match answer.status {
            200..=299 => Ok(()),
            404 => Err(replaced()),
            // An index of this name has become the alias of another load.
            400 if removals.iter().any(|removal| removal["remove_index"]["index"] == alias)
                && self.find(alias)?.is_alias =>
            {
                Err(replaced())
            }
            _ => Err(self.client.refusal(&answer)),
        }
    }
}

fn has_source(source: &Value) -> bool {
    let is_filtered = |key: &str| source[key].as_array().is_some_and(|names| !names.is_empty());
    source["enabled"] != false && !is_filtered("excludes") && !is_filtered("includes")
}
