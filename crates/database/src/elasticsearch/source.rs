//! An index as a source.

use std::collections::BTreeSet;
use std::sync::Arc;

use arrow::datatypes::{Schema, SchemaRef};
use lakerace_format::suggestions::column_not_found;
use lakerace_format::{Batches, FilePlan, Predicate, ReadPlan, ReadRequest, Source, SourceInfo, UnitPlan};
use lakerace_io::{Error, Job, RequestPlan, Result};
use serde_json::{Map, Value, json};

use super::catalog::IndexCatalog;
use super::client::SearchClient;
use super::filter::query_of;
use super::location::SearchLocation;
use super::mapping::is_in_document;
use super::reader::IndexScan;
use super::schema::{add_runtime, kept, schema_of};
use crate::options::SourceOptions;

/// Documents of a page at most, unless the index says otherwise.
const WINDOW: usize = 10_000;

/// The documents of one index, alias or data stream.
pub(super) struct ElasticsearchSource {
    client: SearchClient,
    job: Job,
    schema: SchemaRef,
    properties: Map<String, Value>,
    /// Columns whose types are given or kept.
    known: Option<SchemaRef>,
    /// All columns are the mapping's and a load's: no one has named them.
    has_all_columns: bool,
    /// Names of fields that the server computes, and no document has.
    computed: BTreeSet<String>,
    /// Documents that the location's query finds.
    documents: u64,
    window: usize,
}

impl ElasticsearchSource {
    /// Opens the index of a location: reads its mapping, and counts its documents.
    pub fn open(location: SearchLocation, options: &SourceOptions, job: &Job) -> Result<Self> {
        let location = Arc::new(location);
        let at = |error: Error| if error.location().is_some() { error } else { error.at(&location.shown) };
        let client = SearchClient::new(&location, job).map_err(at)?;
        let catalog = IndexCatalog::new(&client, job);
        let found = catalog.find(&location.index)?;
        let [first, others @ ..] = found.indices.as_slice() else {
            return Err(Error::not_found("the index does not exist").at(&location.shown));
        };
        if found.indices.iter().any(|index| !index.has_source) {
            return Err(Error::unsupported("the index does not store whole documents (_source is off)")
                .at(&location.shown)
                .advice("load from an index with _source"));
        }
        let (mut properties, mut computed) = (first.properties.clone(), BTreeSet::new());
        for other in others {
            join(&mut properties, &other.properties).map_err(at)?;
        }
        for index in &found.indices {
            computed.extend(add_runtime(&mut properties, index.mappings.get("runtime")));
        }
        let kept = match &options.schema {
            Some(given) => Some(Arc::clone(given)),
            None => kept(&first.meta).map_err(at)?,
        };
        let schema = match &options.schema {
            Some(given) => Arc::clone(given),
            None => schema_of(&properties, kept.as_deref(), &location.parameters)?,
        };
        let has_all_columns = options.schema.is_none();
        let window =
            found.indices.iter().filter_map(|index| index.setting("index.max_result_window")?.parse().ok()).min();
        let documents = catalog.count(&location.index, location.parameters.query.as_ref())?;
        let job = job.clone();
        let window = window.unwrap_or(WINDOW).clamp(1, WINDOW);
        Ok(Self { client, job, schema, properties, known: kept, has_all_columns, computed, documents, window })
    }

    fn selected(&self, request: &ReadRequest) -> Result<Vec<usize>> {
        let Some(names) = &request.columns else { return Ok((0..self.schema.fields().len()).collect()) };
        let known = || self.schema.fields().iter().map(|field| field.name().as_str());
        let at = |name: &String| {
            self.schema.index_of(name).map_err(|_| column_not_found(name, known()).at(&self.client.location().shown))
        };
        names.iter().map(at).collect()
    }

    fn scan(&self, plan: &ReadPlan) -> Result<IndexScan> {
        let request = &plan.request;
        let selected = self.selected(request)?;
        let filter = request.filter.as_ref().map(|filter| Predicate::bind(filter, &self.schema)).transpose()?;
        let mut decoded = selected.clone();
        decoded.extend(filter.iter().flat_map(|filter| filter.columns().to_vec()));
        decoded.sort_unstable();
        decoded.dedup();
        let place = |column: &usize| decoded.iter().position(|other| other == column);
        let projection: Option<Vec<usize>> = selected.iter().map(place).collect();
        let schema = self.schema.project(&decoded).map_err(Error::unexpected)?;
        let pushed = request.filter.as_ref().and_then(|filter| query_of(filter, &self.schema, &self.properties));
        let parts: Vec<Value> = self.client.location().parameters.query.iter().cloned().chain(pushed).collect();
        Ok(IndexScan {
            client: self.client.clone(),
            job: self.job.clone(),
            source: self.wanted_fields(&schema, request.columns.is_some()),
            schema: Arc::new(schema),
            projection: projection.ok_or_else(|| Error::internal("a column was not decoded"))?,
            filter,
            query: (!parts.is_empty()).then(|| json!({ "bool": { "filter": parts } })),
            limit: request.limit,
            batch_rows: request.batch_rows.unwrap_or(usize::MAX),
            window: self.window,
            documents: self.documents,
            properties: self.properties.clone(),
            known: self.known.clone(),
            tells_unmapped: self.has_all_columns && request.columns.is_none(),
        })
    }

    /// The fields of the documents that are sent: all, or the wanted ones. A star in a name would stand for others.
    fn wanted_fields(&self, schema: &Schema, is_part: bool) -> Value {
        let names: Vec<&String> =
            schema.fields().iter().filter(|field| is_in_document(field)).map(|field| field.name()).collect();
        match names.as_slice() {
            _ if !is_part || names.iter().any(|name| name.contains('*')) => json!(true),
            [] => json!(false),
            names => json!(names),
        }
    }
}

impl Source for ElasticsearchSource {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn info(&self) -> SourceInfo {
        SourceInfo { format: "elasticsearch".to_owned(), rows: Some(self.documents), ..SourceInfo::default() }
    }

    /// Plans one unit: the server finds the documents. Pages are cut by the size of the documents.
    fn plan(&self, request: &ReadRequest) -> Result<ReadPlan> {
        let selected = self.selected(request)?;
        if let Some(filter) = &request.filter {
            Predicate::bind(filter, &self.schema).map_err(|error| error.at(&self.client.location().shown))?;
        }
        request.check_batch_rows()?;
        let unit = UnitPlan { rows: Some(self.documents), ..UnitPlan::default() };
        let url = self.client.location().shown.clone();
        let schema = self.schema.project(&selected).map_err(Error::unexpected)?;
        Ok(ReadPlan {
            request: request.clone(),
            schema: Arc::new(schema),
            files: vec![FilePlan { url, size_bytes: 0, e_tag: None, units: vec![unit] }],
            requests: RequestPlan::none(),
        })
    }

    fn read(&self, plan: &ReadPlan) -> Result<Batches> {
        let schema = Arc::clone(&plan.schema);
        let is_read = plan.files.iter().flat_map(|file| &file.units).any(|unit| unit.pruned.is_none());
        if !is_read || plan.request.limit == Some(0) {
            return Ok(Batches::new(schema, std::iter::empty()));
        }
        let scan = self.scan(plan)?;
        if scan.tells_unmapped && !self.computed.is_empty() {
            let names: Vec<String> = self.computed.iter().map(|name| format!("{name:?}")).collect();
            self.job.warn(&format!("runtime fields, which the server computes, are left out: {}", names.join(", ")));
        }
        let reading = scan.start(&self.client.location().index)?;
        let shown = self.client.location().shown.clone();
        let batches = reading.map(move |batch| batch.map_err(|error| error.at(&shown)));
        Ok(Batches::new(schema, batches))
    }
}

/// The fields of several indices: one that two have has one type.
fn join(fields: &mut Map<String, Value>, others: &Map<String, Value>) -> Result<()> {
    for (name, other) in others {
        match fields.get_mut(name) {
            None => drop(fields.insert(name.clone(), other.clone())),
            Some(field) => match (field["properties"].as_object().cloned(), other["properties"].as_object()) {
                (Some(mut inner), Some(more)) => {
                    join(&mut inner, more)?;
                    field["properties"] = Value::Object(inner);
                }
                _ if field["type"] == other["type"] => {}
                _ => {
                    let message = format!("field {name:?} has two types, {} and {}", field["type"], other["type"]);
                    return Err(Error::invalid(message).advice("read the indices one by one, or give a schema"));
                }
            },
        }
    }
    Ok(())
}
