//! The server of the tests, and what they ask it besides.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use arrow::array::{ArrayRef, Int64Array, StringArray};
use arrow::compute::{SortColumn, concat_batches, lexsort_to_indices, take_record_batch};
use arrow::record_batch::RecordBatch;
use lakerace_database::{ELASTICSEARCH, SinkOptions, SourceOptions, WriteMode, open_sink, open_source};
use lakerace_format::{ReadRequest, Sink, Written};
use lakerace_io::{Job, Result, runtime};
use serde_json::Value;

/// `http://host:port` of the server that the tests are given.
pub fn endpoint() -> String {
    std::env::var("LAKERACE_TEST_ELASTICSEARCH").expect("tests/rust.py starts a server and names it")
}

/// The location of an index on an endpoint.
pub fn at(endpoint: &str, index: &str) -> String {
    endpoint.replacen("http://", "elasticsearch://", 1) + "/" + index
}

/// A name that no other test has.
pub fn index(name: &str) -> String {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_nanos();
    format!("{name}-{now:x}-{}", NEXT.fetch_add(1, Ordering::Relaxed))
}

/// Asks the server itself.
pub fn ask(method: &str, path: &str, body: &Value) -> (u16, Value) {
    let url = format!("{}{path}", endpoint());
    let (method, body) = (method.parse().unwrap(), body.to_string());
    runtime().unwrap().block_on(async move {
        let request = reqwest::Client::new().request(method, url).header("content-type", "application/json");
        let answer = if body == "null" { request.send().await } else { request.body(body).send().await }.unwrap();
        (answer.status().as_u16(), serde_json::from_slice(&answer.bytes().await.unwrap()).unwrap_or_default())
    })
}

/// Asks for something that must succeed.
pub fn ok(method: &str, path: &str, body: &Value) -> Value {
    let (status, answer) = ask(method, path, body);
    assert!(status < 300, "{method} {path}: {status} {answer}");
    answer
}

/// Documents of an index, all made visible first.
pub fn count(index: &str) -> u64 {
    ok("POST", &format!("/{index}/_refresh"), &Value::Null);
    ok("GET", &format!("/{index}/_count"), &Value::Null)["count"].as_u64().unwrap()
}

/// Options of a load.
pub fn options(mode: WriteMode) -> SinkOptions {
    SinkOptions { mode, ..SinkOptions::default() }
}

/// The same with a key.
pub fn keyed(mode: WriteMode, key: &[&str]) -> SinkOptions {
    SinkOptions { mode, key: key.iter().map(|name| (*name).to_owned()).collect(), ..SinkOptions::default() }
}

/// Begins a load.
pub fn sink(location: &str, batch: &RecordBatch, options: &SinkOptions) -> Result<Box<dyn Sink>> {
    open_sink(&ELASTICSEARCH, location, batch.schema(), options, &Job::default())
}

/// Loads a batch.
pub fn load(location: &str, batch: &RecordBatch, options: &SinkOptions) -> Result<Written> {
    let mut sink = sink(location, batch, options)?;
    sink.write(batch.clone())?;
    sink.finish()
}

/// Reads an index in the order of its first column.
pub fn read(location: &str, request: &ReadRequest) -> Result<RecordBatch> {
    let source = open_source(&ELASTICSEARCH, location, &SourceOptions::default(), &Job::default())?;
    let plan = source.plan(request)?;
    let batches: Vec<RecordBatch> = source.read(&plan)?.collect::<Result<_>>()?;
    let all = concat_batches(&plan.schema, &batches).unwrap();
    if all.num_columns() == 0 || all.num_rows() == 0 {
        return Ok(all);
    }
    let order = lexsort_to_indices(&[SortColumn { values: Arc::clone(all.column(0)), options: None }], None).unwrap();
    Ok(take_record_batch(&all, &order).unwrap())
}

/// Reads all of an index.
pub fn read_all(location: &str) -> Result<RecordBatch> {
    read(location, &ReadRequest::default())
}

/// Rows `from..to` with a number and a text.
pub fn rows(from: i64, to: i64, text: &str) -> RecordBatch {
    let numbers: ArrayRef = Arc::new(Int64Array::from_iter_values(from..to));
    let texts: ArrayRef = Arc::new(StringArray::from_iter_values((from..to).map(|n| format!("{text} {n}"))));
    RecordBatch::try_from_iter_with_nullable([("n", numbers, true), ("t", texts, true)]).unwrap()
}
