//! A collection, or the result of a pipeline, as a source.

use std::sync::Arc;

use arrow::datatypes::{FieldRef, Schema, SchemaRef};
use bson::{Bson, Document, doc};
use lakerace_format::suggestions::{column_not_found, nearest};
use lakerace_format::{Batches, Expr, FilePlan, Predicate, ReadPlan, ReadRequest, Source, SourceInfo, UnitPlan};
use lakerace_io::{Error, Job, RequestPlan, Result};

use super::connection::MongoConnection;
use super::count::count;
use super::decode::UnknownFields;
use super::filter::{is_plain_name, query};
use super::infer::SchemaInference;
use super::kept_schema::{self, collection_info, first_batch};
use super::location::MongoLocation;
use super::reader::{self, MongoQuery, ReadJob};
use crate::options::SourceOptions;

/// Rows of a batch, where no other number is given.
const BATCH_ROWS: usize = 8192;
/// Documents from which on a collection is read in parts.
const SPLIT_DOCUMENTS: u64 = 50_000;
/// Samples for each part: the more, the more even the parts.
const SAMPLES_EACH: i64 = 20;

/// Documents that are read as rows of a schema.
struct MongoSource {
    connection: MongoConnection,
    pipeline: Option<Vec<Document>>,
    schema: SchemaRef,
    unknown: UnknownFields,
    split_documents: u64,
}

/// Opens a collection or a pipeline.
pub(super) fn open(location: &str, options: &SourceOptions, job: &Job) -> Result<Arc<dyn Source>> {
    let location = MongoLocation::parse(location)?;
    let shown = location.to_string();
    let open = || -> Result<Arc<dyn Source>> {
        let pipeline = location.pipeline.as_deref().map(parse_pipeline).transpose()?;
        let connection = MongoConnection::open(location.clone(), job)?;
        let Some(info) = collection_info(&connection, &location.collection)? else {
            return Err(not_found(&connection)?);
        };
        let kept = match (&options.schema, &pipeline) {
            (None, None) if !location.infers_schema => kept_schema::find(&connection, &location.collection, &info)?,
            _ => None,
        };
        let (schema, unknown) = match (&options.schema, kept, &options.known) {
            (Some(schema), _, _) => (SchemaRef::clone(schema), UnknownFields::Skip),
            (None, Some(kept), _) => (kept.schema, UnknownFields::Refuse),
            (None, None, Some(known)) => (SchemaRef::clone(known), UnknownFields::Refuse),
            (None, None, None) => (infer(&connection, pipeline.as_deref())?.into(), UnknownFields::Refuse),
        };
        let split_documents = options.split_documents.unwrap_or(SPLIT_DOCUMENTS);
        Ok(Arc::new(MongoSource { connection, pipeline, schema, unknown, split_documents }))
    };
    open().map_err(|error| error.at(shown))
}

fn not_found(connection: &MongoConnection) -> Result<Error> {
    let answer = connection.command(doc! { "listCollections": 1, "nameOnly": true })?;
    let found = first_batch(&answer);
    let names: Vec<&str> = found.iter().filter_map(|found| found.get_str("name").ok()).collect();
    let error = Error::not_found("the collection does not exist");
    Ok(match nearest(&connection.location.collection, names) {
        Some(name) => error.advice(format!("did you mean {name}?")),
        None => error,
    })
}

/// A pipeline that reads.
fn parse_pipeline(text: &str) -> Result<Vec<Document>> {
    let wrong = |what: String| {
        Error::usage(what).advice("write an array of stages as extended JSON, with special characters as %XX")
    };
    let value = super::json::parse(text).ok_or_else(|| wrong("the pipeline is not valid extended JSON".to_owned()))?;
    let Bson::Array(stages) = value else { return Err(wrong("the pipeline is not an array".to_owned())) };
    let stages = stages.into_iter().map(|stage| match stage {
        Bson::Document(stage) if stage.len() == 1 => Ok(stage),
        _ => Err(wrong("a stage of the pipeline is not an object with one name".to_owned())),
    });
    let stages = stages.collect::<Result<Vec<_>>>()?;
    if stages.iter().any(|stage| stage.contains_key("$out") || stage.contains_key("$merge")) {
        return Err(Error::usage("a pipeline that writes ($out, $merge) can't be read from").advice("omit this stage"));
    }
    Ok(stages)
}

fn infer(connection: &MongoConnection, pipeline: Option<&[Document]>) -> Result<Schema> {
    let query = MongoQuery { pipeline: pipeline.map(<[_]>::to_vec), ..MongoQuery::default() };
    let mut inference = SchemaInference::default();
    reader::each_batch(connection, &query, |documents| {
        for document in documents {
            inference.look(document)?;
        }
        Ok(true)
    })?;
    inference.schema(connection.location.mixed_as_json)
}

impl MongoSource {
    fn index_of(&self, name: &str) -> Result<usize> {
        let names = self.schema.fields().iter().map(|field| field.name().as_str());
        self.schema.index_of(name).map_err(|_| column_not_found(name, names).at(&self.connection.location))
    }

    fn selected(&self, request: &ReadRequest) -> Result<Vec<usize>> {
        match &request.columns {
            None => Ok((0..self.schema.fields().len()).collect()),
            Some(names) => names.iter().map(|name| self.index_of(name)).collect(),
        }
    }

    fn bind(&self, filter: &Expr) -> Result<Predicate> {
        Predicate::bind(filter, &self.schema).map_err(|error| error.at(&self.connection.location))
    }

    /// The columns that are decoded: those asked for, and those that only the filter needs.
    fn read_fields(&self, request: &ReadRequest, selected: &[usize]) -> Result<Vec<FieldRef>> {
        let mut indices: Vec<usize> = Vec::new();
        let filter = request.filter.as_ref().map(|filter| self.bind(filter)).transpose()?;
        let roots = filter.as_ref().map(|filter| filter.columns().to_vec()).unwrap_or_default();
        for index in selected.iter().copied().chain(roots) {
            if !indices.contains(&index) {
                indices.push(index);
            }
        }
        Ok(indices.into_iter().map(|index| Arc::clone(&self.schema.fields()[index])).collect())
    }

    /// Makes the query of the server.
    fn query(&self, request: &ReadRequest, fields: &[FieldRef]) -> MongoQuery {
        let filter = request.filter.as_ref().and_then(|filter| query(filter, &self.schema));
        let reads_all = fields.len() == self.schema.fields().len();
        // A read of all columns has no projection unless unknown fields are skipped: otherwise they are an error, and
        // must be read to be found.
        let projects = (!reads_all || self.unknown == UnknownFields::Skip)
            && fields.iter().all(|field| is_plain_name(field.name()));
        let projection = projects.then(|| {
            let mut projection: Document = fields.iter().map(|field| (field.name().clone(), Bson::Int32(1))).collect();
            if fields.is_empty() {
                projection.insert("_id", 1);
            } else if !projection.contains_key("_id") {
                projection.insert("_id", 0);
            }
            projection
        });
        // A limit is the server's only where its filter is the whole filter.
        let limit = request.limit.filter(|_| request.filter.is_none());
        MongoQuery { pipeline: self.pipeline.clone(), filter, projection, limit }
    }

    /// Parts of the collection by ranges of `_id`, that together are all of it.
    fn parts(&self, request: &ReadRequest, query: MongoQuery) -> Result<Vec<MongoQuery>> {
        let threads = self.connection.job.options().threads;
        if threads < 2 || request.limit.is_some() || self.pipeline.is_some() || self.documents()? < self.split_documents
        {
            return Ok(vec![query]);
        }
        let cuts = self.cuts(threads)?;
        let mut parts = Vec::with_capacity(cuts.len() + 1);
        for index in 0..=cuts.len() {
            let mut range = Document::new();
            if index > 0 {
                range.insert("$gte", cuts[index - 1].clone());
            }
            if let Some(cut) = cuts.get(index) {
                range.insert("$lt", cut.clone());
            }
            let mut part = query.clone();
            if !range.is_empty() {
                let range = doc! { "_id": range };
                part.filter = Some(match part.filter.take() {
                    Some(filter) => doc! { "$and": [range, filter] },
                    None => range,
                });
            }
            parts.push(part);
        }
        Ok(parts)
    }

    fn documents(&self) -> Result<u64> {
        let answer = self.connection.command(doc! { "count": &self.connection.location.collection })?;
        count(&answer, "n")?.ok_or_else(|| Error::internal("the server returned no count of the documents"))
    }

    /// Values of `_id` that cut the collection into even parts. A range finds values of one type only, so there are none
    /// unless the first and the last `_id` have the same type: the order of all values goes by types first.
    fn cuts(&self, parts: usize) -> Result<Vec<Bson>> {
        let (Some(first), Some(last)) = (self.end(1)?, self.end(-1)?) else { return Ok(Vec::new()) };
        let same = std::mem::discriminant(&first) == std::mem::discriminant(&last);
        if !same
            || !matches!(
                first,
                Bson::ObjectId(_) | Bson::Int32(_) | Bson::Int64(_) | Bson::String(_) | Bson::DateTime(_)
            )
        {
            return Ok(Vec::new());
        }
        let pipeline = vec![
            doc! { "$sample": { "size": SAMPLES_EACH * parts as i64 } },
            doc! { "$project": { "_id": 1 } },
            doc! { "$sort": { "_id": 1 } },
        ];
        let collection = &self.connection.location.collection;
        let command = doc! { "aggregate": collection, "pipeline": pipeline, "cursor": {} };
        // A server without samples reads in one part.
        let Ok(answer) = self.connection.command(command) else { return Ok(Vec::new()) };
        let samples: Vec<Bson> = first_batch(&answer).into_iter().filter_map(|mut found| found.remove("_id")).collect();
        let mut cuts: Vec<Bson> =
            (1..parts).filter_map(|part| samples.get(part * samples.len() / parts).cloned()).collect();
        cuts.dedup();
        Ok(cuts)
    }

    fn end(&self, direction: i32) -> Result<Option<Bson>> {
        let answer = self.connection.command(doc! {
            "find": &self.connection.location.collection,
            "projection": { "_id": 1 },
            "sort": { "_id": direction },
            "limit": 1,
        })?;
        Ok(first_batch(&answer).into_iter().next().and_then(|mut found| found.remove("_id")))
    }
}

impl Source for MongoSource {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn info(&self) -> SourceInfo {
        SourceInfo { format: "mongodb".to_owned(), ..SourceInfo::default() }
    }

    fn plan(&self, request: &ReadRequest) -> Result<ReadPlan> {
        let selected = self.selected(request)?;
        request.check_batch_rows()?;
        self.read_fields(request, &selected)?;
        let schema = self.schema.project(&selected).map_err(Error::unexpected)?;
        let file = FilePlan {
            url: self.connection.location.to_string(),
            size_bytes: 0,
            e_tag: None,
            units: vec![UnitPlan::default()],
        };
        Ok(ReadPlan {
            request: request.clone(),
            schema: schema.into(),
            files: vec![file],
            requests: RequestPlan::none(),
        })
    }

    fn read(&self, plan: &ReadPlan) -> Result<Batches> {
        let request = &plan.request;
        let selected = self.selected(request)?;
        let fields = self.read_fields(request, &selected)?;
        let query = self.query(request, &fields);
        let is_all = query.projection.is_none()
            && self.unknown == UnknownFields::Refuse
            && fields.len() == self.schema.fields().len();
        let read_schema = Arc::new(Schema::new(fields));
        let filter = request.filter.as_ref().map(|filter| Predicate::bind(filter, &read_schema)).transpose()?;
        let job = ReadJob {
            connection: self.connection.clone(),
            read_schema,
            schema: Arc::clone(&plan.schema),
            unknown: if is_all { UnknownFields::Refuse } else { UnknownFields::Skip },
            filter,
            limit: request.limit,
            batch_rows: request.batch_rows.unwrap_or(BATCH_ROWS).clamp(1, 1 << 20),
        };
        reader::read(job, self.parts(request, query).map_err(|error| error.at(&self.connection.location))?)
    }
}
