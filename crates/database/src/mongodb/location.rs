//! A location: servers, database, collection, and the ways to read and write.

use std::fmt;

use lakerace_io::{Error, Result};
use percent_encoding::percent_decode_str;
use url::form_urlencoded;

/// `mongodb://user:password@host:27017/database/collection?option=value`, taken apart.
#[derive(Clone)]
pub(super) struct MongoLocation {
    /// The address for the driver: servers, credentials and its own options.
    pub uri: String,
    /// The database.
    pub database: String,
    /// The collection.
    pub collection: String,
    /// `?pipeline=`: an aggregation as extended JSON.
    pub pipeline: Option<String>,
    /// `?schema=infer`: a schema that a load has kept is not used.
    pub infers_schema: bool,
    /// `?mixed=json`: values of a field that has several types are read as extended JSON.
    pub mixed_as_json: bool,
    /// `?nulls=missing`: fields that are null are left out of the documents.
    pub skips_nulls: bool,
    /// The write concern of the location, if it names one.
    pub write_concern: WriteConcern,
    shown: String,
}

/// `w`, `journal` and `wtimeoutMS` of a location.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct WriteConcern {
    pub w: Option<String>,
    pub journal: Option<bool>,
    pub timeout_ms: Option<i64>,
}

impl fmt::Display for MongoLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.shown)
    }
}

impl MongoLocation {
    /// Takes a location apart. No message shows credentials.
    pub(super) fn parse(location: &str) -> Result<Self> {
        let malformed = |what: &str| {
            Error::usage(what).advice("write mongodb://HOST:27017/DATABASE/COLLECTION, with special characters as %XX")
        };
        let (scheme, rest) = location.split_once("://").ok_or_else(|| malformed("a MongoDB location needs //"))?;
        let scheme = scheme.to_ascii_lowercase();
        let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
        let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
        let (user_info, hosts) = match authority.rsplit_once('@') {
            Some((user_info, hosts)) => (Some(user_info), hosts),
            None => (None, authority),
        };
        if hosts.is_empty() {
            return Err(malformed("the MongoDB location names no server"));
        }
        let place = format!("{scheme}://{hosts}");
        let (database, collection) = path.split_once('/').unwrap_or((path, ""));
        let decode = |text: &str| percent_decode_str(text).decode_utf8().map(|text| text.into_owned());
        let (Ok(database), Ok(collection)) = (decode(database), decode(collection)) else {
            return Err(malformed("a name is not valid UTF-8").at(place));
        };
        if database.is_empty() || collection.is_empty() {
            return Err(malformed("the database or the collection is missing").at(place));
        }
        if database.contains(['/', '\\', '.', ' ', '"', '$', '\0']) || collection.contains(['$', '\0']) {
            return Err(
                malformed("the name of the database or collection has a character that MongoDB rejects").at(place)
            );
        }
        let shown = format!("{place}/{database}/{collection}");
        let mut parsed = Self {
            uri: String::new(),
            database,
            collection,
            pipeline: None,
            infers_schema: false,
            mixed_as_json: false,
            skips_nulls: false,
            write_concern: WriteConcern::default(),
            shown,
        };
        let driver = parsed.take_options(query)?;
        let user_info = user_info.map(|info| format!("{info}@")).unwrap_or_default();
        parsed.uri = format!("{scheme}://{user_info}{hosts}/?{driver}");
        Ok(parsed)
    }

    /// The location in one spelling: hosts in order, with their ports, and of the options those that rows depend on.
    pub(super) fn canonical(&self) -> String {
        let (scheme, rest) = self.shown.split_once("://").unwrap_or(("mongodb", &self.shown));
        let hosts = rest.split('/').next().unwrap_or_default();
        let has_port = |host: &str| host.rsplit_once(':').is_some_and(|(_, port)| !port.contains(']'));
        let with_port = |host: &str| match scheme == "mongodb+srv" || has_port(host) {
            true => host.to_ascii_lowercase(),
            false => format!("{}:27017", host.to_ascii_lowercase()),
        };
        let mut hosts: Vec<String> = hosts.split(',').map(with_port).collect();
        hosts.sort();
        let pipeline = self.pipeline.as_deref().map(|text| match super::json::parse(text) {
            Some(parsed) => parsed.into_canonical_extjson().to_string(),
            None => text.to_owned(),
        });
        let place = format!("{}/{}/{}", hosts.join(","), self.database, self.collection);
        format!("mongodb://{place} {} {}", self.mixed_as_json, pipeline.unwrap_or_default())
    }

    /// Keeps our own options; gives the driver's.
    fn take_options(&mut self, query: &str) -> Result<String> {
        let mut driver = form_urlencoded::Serializer::new(String::new());
        for (name, value) in form_urlencoded::parse(query.as_bytes()) {
            let wrong = |allowed: &str| {
                Error::usage(format!("the option {name} has an unknown value")).at(&self.shown).advice(allowed)
            };
            match name.to_ascii_lowercase().as_str() {
                "pipeline" => self.pipeline = Some(value.into_owned()),
                "schema" if value == "infer" => self.infers_schema = true,
                "schema" if value == "kept" => self.infers_schema = false,
                "schema" => return Err(wrong("write schema=infer or schema=kept")),
                "mixed" if value == "json" => self.mixed_as_json = true,
                "mixed" if value == "error" => self.mixed_as_json = false,
                "mixed" => return Err(wrong("write mixed=json or mixed=error")),
                "nulls" if value == "missing" => self.skips_nulls = true,
                "nulls" if value == "null" => self.skips_nulls = false,
                "nulls" => return Err(wrong("write nulls=missing or nulls=null")),
                "w" if value == "0" => {
                    return Err(Error::usage("w=0 requests no confirmation, so a load can't know what was written")
                        .at(&self.shown)
                        .advice("omit w, or write w=1"));
                }
                "w" => self.write_concern.w = Some(value.into_owned()),
                "journal" | "j" => self.write_concern.journal = Some(value == "true"),
                "wtimeoutms" => {
                    self.write_concern.timeout_ms =
                        Some(value.parse().map_err(|_| wrong("write a number of milliseconds"))?);
                }
                // Users are looked up in `admin` unless `authSource` says otherwise, as the shell does.
                _ => {
                    driver.append_pair(&name, &value);
                }
            }
        }
        Ok(driver.finish())
    }
}

#[cfg(test)]
mod tests;
