//! Locations of an index: its name, and the parameters of reads and loads.

use lakerace_io::{Error, Result};
use percent_encoding::percent_decode_str;
use serde_json::{Map, Value};
use url::Url;

/// A location of Elasticsearch or OpenSearch: `elasticsearch[+https]://[user:password@]host[:port]/[prefix/]index[?parameters]`.
#[derive(Clone)]
pub(super) struct SearchLocation {
    /// `http[s]://host:port[/prefix]`, without credentials and without a slash at the end.
    pub base: String,
    /// The index, alias or data stream.
    pub index: String,
    /// The location without credentials and parameters, for messages.
    pub shown: String,
    /// User and password, where the location has them.
    pub user: Option<(String, String)>,
    /// True if the host is this machine.
    pub is_loopback: bool,
    /// The parameters after the question mark.
    pub parameters: LocationParameters,
}

/// Parameters of a location, after its question mark.
#[derive(Clone, Debug, Default)]
pub(super) struct LocationParameters {
    /// `query`: a query in the server's own language; only the documents that it finds are read.
    pub query: Option<Value>,
    /// `body`: settings and mappings of an index that is made; they go over those that the schema gives.
    pub body: Map<String, Value>,
    /// `keyword`: columns of any type that are kept as exact text.
    pub keyword: Vec<String>,
    /// `text`: columns of text that the server analyses, which may be longer than 32,766 bytes.
    pub text: Vec<String>,
    /// `date`: columns of times in µs or ns that are kept as `date`, which holds all years and searches by milliseconds.
    pub date: Vec<String>,
    /// Columns that are kept as `date` because the first rows have times outside of the range of `date_nanos`.
    pub whole_date: Vec<String>,
    /// `lists`: fields of an index without a schema of ours that hold arrays.
    pub lists: Vec<String>,
    /// `json`: fields that are read as JSON texts, also those that the mapping lacks.
    pub json: Vec<String>,
    /// `metadata`: `_id` and `_routing`, where a read is to give them as columns.
    pub metadata: Vec<String>,
    /// `op_type=create`: documents that exist already are rejected.
    pub creates_only: bool,
    /// `gzip`: whether requests are compressed; else they are where the host is another machine.
    pub gzip: Option<bool>,
    /// `retry_seconds`: how long a request is sent again.
    pub retry_seconds: Option<u64>,
}

const KNOWN: &str = "the known parameters are query, body, keyword, text, date, lists, json, metadata, op_type, gzip \
                     and retry_seconds, each at most once";

impl SearchLocation {
    /// Reads a location. Errors never show its credentials.
    pub fn parse(text: &str) -> Result<Self> {
        let (scheme, rest) = text.split_once("://").ok_or_else(|| {
            Error::usage("this is not an Elasticsearch location")
                .at(text.split(':').next().unwrap_or_default())
                .advice("write elasticsearch://host:9200/index")
        })?;
        let transport = if scheme.eq_ignore_ascii_case("elasticsearch+https") { "https" } else { "http" };
        let shown_scheme = scheme.to_ascii_lowercase();
        let unusable = |what: &str| {
            Error::usage(what).at(format!("{shown_scheme}:")).advice(format!("write {shown_scheme}://host:9200/index"))
        };
        let mut url = Url::parse(&format!("{transport}://{rest}"))
            .map_err(|error| unusable(&format!("the URL is not valid: {error}")))?;
        if url.port().is_none() && !has_port(rest) {
            url.set_port(Some(if transport == "https" { 443 } else { 9200 }))
                .map_err(|()| unusable("the URL is not valid"))?;
        }
        let (host, port) = (url.host_str().unwrap_or_default().to_owned(), url.port_or_known_default().unwrap_or(9200));
        let mut segments: Vec<String> = url
            .path_segments()
            .into_iter()
            .flatten()
            .filter(|segment| !segment.is_empty())
            .map(|segment| percent_decode_str(segment).decode_utf8_lossy().into_owned())
            .collect();
        let index = segments.pop().ok_or_else(|| unusable("the location names no index"))?;
        let prefix: String = segments.iter().map(|segment| format!("/{}", escape(segment))).collect();
        let shown = format!("{shown_scheme}://{host}:{port}{prefix}/{index}");
        check_index(&index).map_err(|error| error.at(&shown))?;
        let user = (!url.username().is_empty()).then(|| {
            let plain = |text: &str| percent_decode_str(text).decode_utf8_lossy().into_owned();
            (plain(url.username()), plain(url.password().unwrap_or_default()))
        });
        let parameters = LocationParameters::parse(&url).map_err(|error| error.at(&shown))?;
        let is_loopback = host == "localhost" || host.starts_with("127.") || host == "[::1]";
        Ok(Self { base: format!("{transport}://{host}:{port}{prefix}"), index, shown, user, is_loopback, parameters })
    }

    /// The location in one spelling: of the parameters those that rows depend on.
    pub fn canonical(&self) -> String {
        let place = self.base.split_once("://").map_or(self.base.as_str(), |(_, place)| place);
        let LocationParameters { query, lists, metadata, .. } = &self.parameters;
        let sorted = |names: &[String]| {
            let mut names = names.to_vec();
            names.sort();
            names.join(",")
        };
        let query = query.as_ref().map(Value::to_string).unwrap_or_default();
        format!("elasticsearch://{place}/{} {query} {} {}", self.index, sorted(lists), sorted(metadata))
    }
}

/// A name as a segment of a path.
pub(super) fn escape(name: &str) -> String {
    percent_encoding::utf8_percent_encode(name, percent_encoding::NON_ALPHANUMERIC).to_string()
}

fn has_port(rest: &str) -> bool {
    let authority = rest.split(['/', '?']).next().unwrap_or_default();
    let host = authority.rsplit('@').next().unwrap_or_default();
    host.rsplit_once(':').is_some_and(|(_, port)| !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Names that would reach more than one index, or none.
fn check_index(index: &str) -> Result<()> {
    let forbidden = ['\\', '/', '*', '?', '"', '<', '>', '|', ' ', ',', '#', ':'];
    if let Some(found) = index.chars().find(|c| forbidden.contains(c)) {
        return Err(Error::usage(format!("the name of an index can't contain {found:?}")).advice("name a single index"));
    }
    if index.chars().any(char::is_uppercase) || index.starts_with(['_', '-', '+']) || index.len() > 255 {
        return Err(Error::usage(
            "the name of an index must have lowercase letters only and at most 255 bytes, and must not start with _, - \
             or +",
        ));
    }
    Ok(())
}

impl LocationParameters {
    fn parse(url: &Url) -> Result<Self> {
        let mut parameters = Self::default();
        let mut seen = Vec::new();
        for (name, value) in url.query_pairs() {
            if seen.contains(&name) {
                return Err(Error::usage(format!("the parameter {name:?} is given twice")).advice(KNOWN));
            }
            let names = || value.split(',').filter(|name| !name.is_empty()).map(str::to_owned).collect();
            match name.as_ref() {
                "query" => parameters.query = Some(json("query", &value)?.into()),
                "body" => parameters.body = json("body", &value)?,
                "keyword" => parameters.keyword = names(),
                "text" => parameters.text = names(),
                "date" => parameters.date = names(),
                "lists" => parameters.lists = names(),
                "json" => parameters.json = names(),
                "metadata" => parameters.metadata = metadata(names())?,
                "op_type" => parameters.creates_only = op_type(&value)?,
                "gzip" => parameters.gzip = Some(flag(&value)?),
                "retry_seconds" => {
                    let seconds = value.parse().map_err(|_| Error::usage("retry_seconds must be an integer"))?;
                    parameters.retry_seconds = Some(seconds);
                }
                other => return Err(Error::usage(format!("unknown parameter {other:?}")).advice(KNOWN)),
            }
            seen.push(name);
        }
        Ok(parameters)
    }
}

impl LocationParameters {
    /// Returns true if a column of times, or a field in one, is kept as `date`.
    pub fn is_date(&self, path: &str) -> bool {
        self.date.iter().chain(&self.whole_date).any(|name| name == path)
    }
}

/// An object, written there or in the file that is named.
fn json(name: &str, value: &str) -> Result<Map<String, Value>> {
    let read;
    let text = if value.trim_start().starts_with('{') {
        value
    } else {
        read = std::fs::read_to_string(value).map_err(|error| {
            Error::from(error)
                .at(value)
                .advice(format!("{name} must be a JSON object, or the name of a file that holds one"))
        })?;
        &read
    };
    serde_json::from_str(text).map_err(|error| Error::invalid(format!("{name} is not a JSON object")).because(error))
}

fn metadata(names: Vec<String>) -> Result<Vec<String>> {
    match names.iter().find(|name| *name != "_id" && *name != "_routing") {
        Some(other) => Err(Error::usage(format!("unknown metadata {other:?}")).advice("choose _id or _routing")),
        None => Ok(names),
    }
}

fn op_type(value: &str) -> Result<bool> {
    match value {
        "index" => Ok(false),
        "create" => Ok(true),
        other => Err(Error::usage(format!("unknown op_type {other:?}")).advice("choose index or create")),
    }
}

fn flag(value: &str) -> Result<bool> {
    match value {
        "true" => Ok(true),
        "false" => Ok(false),
        other => Err(Error::usage(format!("unknown value {other:?}")).advice("write true or false")),
    }
}

#[cfg(test)]
mod tests;
