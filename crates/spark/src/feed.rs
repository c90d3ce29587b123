//! Reading the change data feed of a Delta table, with Delta's options `readChangeFeed`, `startingVersion` and
//! `endingVersion`.

use std::sync::Arc;

use arrow::array::{RecordBatch, RecordBatchOptions, new_null_array};
use arrow::compute::cast;
use arrow::datatypes::{FieldRef, Schema, SchemaRef};
use lakerace::{Error, ErrorKind, Job, ReadOptions, ReadPlan, Result, Scan, StorageOptions, change_ranges, changes};
use serde::{Deserialize, Serialize};

use crate::call::UNIT_OF_NAMES;
use crate::fit::fitted_schema;
use crate::settings::{SparkSettings, flag};
use crate::spark_type::{filtering, spark_schema};

/// The versions whose changes are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FeedVersions {
    from: u64,
    /// The last version where it is not said.
    to: Option<u64>,
}

/// A task that reads changes.
#[derive(Serialize, Deserialize)]
pub(crate) struct FeedTask {
    /// Its versions, both included.
    pub from: u64,
    pub to: u64,
    /// The columns that are read. It has no files.
    pub plan: ReadPlan,
}

impl FeedVersions {
    /// The feed that the options ask for; `None` where that is the rows of a version.
    pub(crate) fn from_settings(settings: &SparkSettings) -> Result<Option<Self>> {
        if !settings.parsed("readchangefeed", flag)?.unwrap_or(false) {
            return Ok(None);
        }
        if let Some(name) =
            ["startingtimestamp", "endingtimestamp"].into_iter().find(|name| settings.get(name).is_some())
        {
            return Err(Error::unsupported("changes are read by version, not by time")
                .at(format!("option {name:?}"))
                .advice(
                    "give startingVersion and endingVersion: `lakerace history TABLE` shows the time of each version",
                ));
        }
        if let Some(name) = ["at", "where"].into_iter().find(|name| settings.get(name).is_some()) {
            return Err(Error::usage("the change data feed has no version of its own, and no filter of lakerace's")
                .at(format!("option {name:?}"))
                .advice("omit it, and filter the rows in Spark"));
        }
        let from = settings.parsed("startingversion", version)?.ok_or_else(|| {
            Error::usage("the change data feed needs a first version").advice("give option(\"startingVersion\", 0)")
        })?;
        Ok(Some(Self { from, to: settings.parsed("endingversion", version)? }))
    }

    /// The records of a plan: the version is the last one of the feed.
    pub(crate) fn plan(self, location: &str, settings: &SparkSettings) -> Result<Vec<String>> {
        let (storage, job) = (settings.storage(), settings.job_of_driver()?);
        let (ranges, schema) = change_ranges(location, self.from, self.to, &storage, &job)?;
        let schema = selected(&schema, settings)?;
        let to = ranges.last().map_or(self.from, |range| range.1);
        let mut records = vec![
            spark_schema(&fitted_schema(&schema))?.to_string(),
            filtering(&schema),
            to.to_string(),
            String::new(),
            String::new(),
            format!("changes of versions {} to {to}", self.from),
            String::new(),
            String::new(),
            String::new(),
            String::new(),
        ];
        if settings.get("query.tasks").is_some() {
            let read = ReadOptions { at: Some(to.to_string()), limit: Some(0), storage, ..ReadOptions::default() };
            let plan = ReadPlan { schema, files: Vec::new(), ..Scan::open(location, &read, &job)?.plan().clone() };
            let text = |(from, to)| serde_json::to_string(&FeedTask { from, to, plan: plan.clone() });
            let tasks = ranges.into_iter().map(text).collect::<Result<Vec<_>, _>>();
            records.extend(tasks.map_err(Error::unexpected)?);
        }
        Ok(records)
    }
}

/// The columns that a query reads.
fn selected(schema: &SchemaRef, settings: &SparkSettings) -> Result<SchemaRef> {
    let names: Vec<String> = match settings.get("query.columns") {
        Some(columns) => columns.split(UNIT_OF_NAMES).filter(|name| !name.is_empty()).map(str::to_owned).collect(),
        None if settings.get("columns").is_some() => settings.names("columns"),
        None => return Ok(Arc::clone(schema)),
    };
    let field = |name: &String| {
        let found = schema.field_with_name(name).cloned();
        found.map_err(|_| Error::not_found(format!("the change data feed has no column {name:?}")))
    };
    Ok(Arc::new(Schema::new(names.iter().map(field).collect::<Result<Vec<_>>>()?)))
}

/// The changes of a task, with its columns.
pub(crate) fn read(
    location: &str,
    versions: (u64, u64),
    schema: &SchemaRef,
    storage: &StorageOptions,
    job: &Job,
) -> Result<impl Iterator<Item = Result<RecordBatch>> + use<>> {
    let batches = changes(location, versions.0, Some(versions.1), storage, job)?;
    let (found, schema) = (Arc::clone(batches.schema()), Arc::clone(schema));
    Ok(batches.map(move |batch| with_columns(&batch?, &found, &schema)))
}

/// The columns of a query. Of an earlier schema some are null, and some have narrower types.
fn with_columns(batch: &RecordBatch, found: &SchemaRef, schema: &SchemaRef) -> Result<RecordBatch> {
    let column = |field: &FieldRef| match found.index_of(field.name()) {
        Err(_) => Ok(new_null_array(field.data_type(), batch.num_rows())),
        Ok(at) if batch.column(at).data_type() == field.data_type() => Ok(Arc::clone(batch.column(at))),
        Ok(at) => cast(batch.column(at), field.data_type())
            .map_err(|e| Error::from_source(ErrorKind::Unsupported, e).at(format!("column {:?}", field.name()))),
    };
    let columns = schema.fields().iter().map(column).collect::<Result<Vec<_>>>()?;
    let nullable = schema.fields().iter().map(|field| field.as_ref().clone().with_nullable(true));
    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    let schema = Arc::new(Schema::new(nullable.collect::<Vec<_>>()));
    RecordBatch::try_new_with_options(schema, columns, &options).map_err(Error::unexpected)
}

fn version(text: &str) -> Result<u64> {
    text.parse().map_err(|_| Error::usage(format!("{text:?} is not a version: write a non-negative integer")))
}

#[cfg(test)]
mod tests;
