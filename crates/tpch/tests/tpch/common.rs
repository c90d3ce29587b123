//! Reading tables whole.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, RecordBatch};
use arrow::compute::{cast, concat_batches};
use arrow::datatypes::{DataType, Field, Schema};
use lakerace_format::{ReadRequest, Source};
use lakerace_io::{Job, JobOptions, Result};
use lakerace_tpch::TpchSource;

pub fn job(threads: usize) -> Job {
    Job::new(JobOptions { threads, ..JobOptions::default() })
}

pub fn source(name: &str) -> TpchSource {
    TpchSource::new(name.parse().unwrap(), &job(2))
}

pub fn columns(names: &[&str]) -> ReadRequest {
    ReadRequest { columns: Some(names.iter().map(|name| (*name).to_owned()).collect()), ..ReadRequest::default() }
}

pub fn read_with(source: &TpchSource, request: &ReadRequest) -> RecordBatch {
    let plan = source.plan(request).unwrap();
    let batches = source.read(&plan).unwrap().collect::<Result<Vec<_>>>().unwrap();
    concat_batches(&plan.schema, &batches).unwrap()
}

/// All rows, dictionaries as their values.
pub fn read(name: &str) -> RecordBatch {
    plain(&read_with(&source(name), &ReadRequest::default()))
}

pub fn plain(batch: &RecordBatch) -> RecordBatch {
    let columns: Vec<ArrayRef> = batch.columns().iter().map(plain_column).collect();
    let schema = batch.schema();
    let fields = schema.fields().iter().zip(&columns);
    let fields: Vec<Field> =
        fields.map(|(field, column)| field.as_ref().clone().with_data_type(column.data_type().clone())).collect();
    RecordBatch::try_new(Arc::new(Schema::new(fields)), columns).unwrap()
}

fn plain_column(column: &ArrayRef) -> ArrayRef {
    match column.data_type() {
        DataType::Dictionary(_, values) => cast(column, values).unwrap(),
        _ => Arc::clone(column),
    }
}
