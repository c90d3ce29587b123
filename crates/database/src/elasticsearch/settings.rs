//! Settings of an index that are off during a load, and their return, also by the next load after a kill.

use lakerace_io::Result;
use serde_json::{Map, Value, json};

use super::catalog::{IndexCatalog, SearchIndex};
use super::schema::OURS;

const REFRESH: &str = "index.refresh_interval";
const REPLICAS: &str = "index.number_of_replicas";
/// The key in our `_meta` of the settings that are to be put back.
const RESTORE: &str = "restore";

/// Settings that are to be put back; null is the server's own.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct SettingsRestore(Map<String, Value>);

/// A setting that a load may switch off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SwitchableSetting {
    /// Copies of shards and searches' view: no one uses the index yet.
    New,
    /// Only the view: existing copies stay where they are.
    InUse,
}

impl SettingsRestore {
    /// The settings that an earlier load has noted and not put back.
    pub fn noted(index: &SearchIndex) -> Option<Self> {
        index.ours(RESTORE)?.as_object().cloned().map(Self)
    }

    /// Switches off settings that slow a load down, after noting their values.
    pub fn quiet(catalog: &IndexCatalog, name: &str, quiet: SwitchableSetting) -> Result<Self> {
        let index = stable(catalog, name)?;
        let (restore, is_noted) = match Self::noted(&index) {
            Some(noted) => (noted, true),
            None => (Self::from_index(&index, quiet), false),
        };
        if !is_noted {
            let mut meta = index.meta;
            change_ours(&mut meta, |ours| drop(ours.insert(RESTORE.to_owned(), Value::Object(restore.0.clone()))));
            catalog.put_mapping(name, &json!({ "_meta": meta }))?;
        }
        let mut off = Map::from_iter([(REFRESH.to_owned(), json!("-1"))]);
        if restore.0.contains_key(REPLICAS) {
            off.insert(REPLICAS.to_owned(), json!("0"));
        }
        catalog.put_settings(name, &Value::Object(off))?;
        Ok(restore)
    }

    /// Puts the noted values into settings of an index.
    pub fn apply(&self, settings: &mut Map<String, Value>) {
        settings.extend(self.0.clone());
    }

    fn from_index(index: &SearchIndex, quiet: SwitchableSetting) -> Self {
        let now = |name: &str| (name.to_owned(), index.settings.get(name).cloned().unwrap_or_default());
        match quiet {
            SwitchableSetting::New => Self(Map::from_iter([now(REFRESH), now(REPLICAS)])),
            SwitchableSetting::InUse => Self(Map::from_iter([now(REFRESH)])),
        }
    }

    /// Puts the settings back, and then takes the note away.
    pub fn put_back(&self, catalog: &IndexCatalog, name: &str) -> Result<()> {
        catalog.put_settings(name, &Value::Object(self.0.clone()))?;
        let index = catalog.index(name)?;
        if Self::noted(&index).is_some() {
            let mut meta = index.meta;
            change_ours(&mut meta, |ours| drop(ours.remove(RESTORE)));
            catalog.put_mapping(name, &json!({ "_meta": meta }))?;
        }
        Ok(())
    }
}

/// An index whose note belongs to its settings: another load may be between the two.
fn stable(catalog: &IndexCatalog, name: &str) -> Result<SearchIndex> {
    let mut index = catalog.index(name)?;
    for _ in 0..10 {
        let again = catalog.index(name)?;
        if again.setting(REFRESH) == index.setting(REFRESH)
            && SettingsRestore::noted(&again) == SettingsRestore::noted(&index)
        {
            return Ok(again);
        }
        index = again;
    }
    Ok(index)
}

/// Changes lakerace's object in `_meta`.
fn change_ours(meta: &mut Map<String, Value>, change: impl FnOnce(&mut Map<String, Value>)) {
    let mut ours = match meta.remove(OURS) {
        Some(Value::Object(ours)) => ours,
        _ => Map::new(),
    };
    change(&mut ours);
    meta.insert(OURS.to_owned(), Value::Object(ours));
}
