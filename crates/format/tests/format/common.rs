//! What the tests of sources share: jobs, objects, small tables, filters with the rows that they leave.

#![allow(dead_code, reason = "each test uses some of it")]

use std::path::Path;
use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, AsArray, Int32Array, Int64Array, RecordBatch, RecordBatchOptions, StringArray,
    TimestampNanosecondArray,
};
use arrow::compute::{cast, concat_batches, filter_record_batch};
use arrow::datatypes::{DataType, Date32Type, Decimal128Type, Field, Float64Type, Int64Type, Schema};
use lakerace_format::{CompareOp, Expr, Literal, Predicate, ReadPlan, ReadRequest, Source};
use lakerace_io::{Job, JobOptions, Location, Object, Result, StorageOptions};

pub fn job(threads: usize) -> Job {
    Job::new(JobOptions { threads, ..JobOptions::default() })
}

pub fn objects(paths: &[&Path], job: &Job) -> Result<Vec<Object>> {
    paths.iter().map(|p| Location::parse(p.to_str().unwrap())?.object(&StorageOptions::default(), job)).collect()
}

/// All rows of a plan, and the promises that its batches keep.
pub fn read_plan(source: &dyn Source, plan: &ReadPlan) -> Result<RecordBatch> {
    let batches = source.read(plan)?;
    let schema = Arc::clone(batches.schema());
    let mut all = Vec::new();
    for batch in batches {
        let batch = batch?;
        assert_eq!(batch.schema(), schema);
        assert!(batch.num_rows() > 0, "no batch is empty");
        assert!(plan.request.batch_rows.is_none_or(|rows| batch.num_rows() <= rows));
        all.push(batch);
    }
    let rows = all.iter().map(RecordBatch::num_rows).sum();
    if schema.fields().is_empty() {
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        return Ok(RecordBatch::try_new_with_options(schema, vec![], &options).unwrap());
    }
    Ok(concat_batches(&schema, &all).unwrap())
}

/// Plans and reads a request.
pub fn read(source: &dyn Source, request: &ReadRequest) -> Result<RecordBatch> {
    read_plan(source, &source.plan(request)?)
}

/// Reads these columns of all rows.
pub fn columns(names: &[&str]) -> ReadRequest {
    ReadRequest { columns: Some(names.iter().map(|name| (*name).to_owned()).collect()), ..ReadRequest::default() }
}

/// A table of ascending numbers, of half of them and of texts with them.
pub fn numbered(rows: i64) -> RecordBatch {
    let schema = Schema::new(vec![
        Field::new("id", DataType::Int64, false),
        Field::new("half", DataType::Int32, true),
        Field::new("text", DataType::Utf8, true),
    ]);
    let columns: Vec<ArrayRef> = vec![
        Arc::new(Int64Array::from_iter_values(0..rows)),
        Arc::new(Int32Array::from_iter((0..rows).map(|i| (i % 5 > 0).then_some((i / 2) as i32)))),
        Arc::new(StringArray::from_iter((0..rows).map(|i| (i % 7 > 0).then(|| format!("text number {i}"))))),
    ];
    RecordBatch::try_new(Arc::new(schema), columns).unwrap()
}

pub fn compare(column: &str, op: CompareOp, literal: Literal) -> Expr {
    let (left, right) = (Box::new(Expr::Column(column.to_owned())), Box::new(Expr::Literal(literal)));
    Expr::Compare { op, left, right }
}

pub fn number(digits: i128) -> Literal {
    Literal::Number { digits, scale: 0 }
}

pub fn greater(column: &str, than: i128) -> Expr {
    compare(column, CompareOp::Greater, number(than))
}

pub fn filtered(filter: Expr) -> ReadRequest {
    ReadRequest { filter: Some(filter), ..ReadRequest::default() }
}

/// Conditions, joined by AND, on columns of these names, each with a value of its own.
pub fn filter_on(table: &RecordBatch, names: &[&str], picks: &[u32]) -> Option<Expr> {
    let mut conditions: Vec<Expr> = picks.iter().filter_map(|pick| condition(table, names, *pick)).collect();
    match conditions.len() {
        0 => None,
        1 => conditions.pop(),
        _ => Some(Expr::And(conditions)),
    }
}

/// A comparison of some column with one of its own values.
fn condition(table: &RecordBatch, names: &[&str], pick: u32) -> Option<Expr> {
    let name = names[pick as usize % names.len()];
    let row = (pick as usize >> 8) % table.num_rows();
    let column = table.column_by_name(name)?;
    if column.is_null(row) {
        return Some(Expr::IsNull(Box::new(Expr::Column(name.to_owned()))));
    }
    let literal = literal(column, row)?;
    if matches!(literal, Literal::Float(float) if float.is_nan()) {
        return None;
    }
    let ops = [CompareOp::Eq, CompareOp::NotEq, CompareOp::Less, CompareOp::LessOrEq, CompareOp::Greater];
    Some(compare(name, ops[(pick as usize >> 4) % ops.len()], literal))
}

fn literal(column: &ArrayRef, row: usize) -> Option<Literal> {
    Some(match column.data_type() {
        DataType::Int32 | DataType::Int64 | DataType::UInt32 | DataType::Int8 => {
            let array = cast(column, &DataType::Int64).unwrap();
            number(array.as_primitive::<Int64Type>().value(row).into())
        }
        DataType::Boolean => Literal::Boolean(column.as_boolean().value(row)),
        DataType::Utf8View => Literal::Text(column.as_string_view().value(row).to_owned()),
        DataType::BinaryView => Literal::Binary(column.as_binary_view().value(row).to_vec()),
        DataType::Date32 => Literal::Date(column.as_primitive::<Date32Type>().value(row)),
        DataType::Decimal128(_, scale) => {
            Literal::Number { digits: column.as_primitive::<Decimal128Type>().value(row), scale: *scale as u8 }
        }
        DataType::Float64 => Literal::Float(column.as_primitive::<Float64Type>().value(row)),
        DataType::Timestamp(_, zone) => {
            let array = column.as_any().downcast_ref::<TimestampNanosecondArray>()?;
            let text = array.value_as_datetime(row)?.format("%Y-%m-%d %H:%M:%S%.9f").to_string();
            Literal::Text(if zone.is_some() { format!("{text}Z") } else { text })
        }
        _ => return None,
    })
}

/// The rows that a request's filter and limit leave of all rows.
pub fn rows_left(all: &RecordBatch, request: &ReadRequest) -> RecordBatch {
    let mut rows = all.clone();
    if let Some(filter) = &request.filter {
        let mask = Predicate::bind(filter, &all.schema()).unwrap().evaluate(all).unwrap();
        rows = filter_record_batch(all, &mask).unwrap();
    }
    match request.limit {
        Some(limit) => rows.slice(0, rows.num_rows().min(limit as usize)),
        None => rows,
    }
}

/// The rows of a plan that was written as JSON and read back, and how many its parts give together when they are read by
/// `elsewhere`.
pub fn read_in_parts(
    source: &dyn Source,
    elsewhere: &dyn Source,
    request: &ReadRequest,
    n: usize,
) -> (RecordBatch, usize) {
    let plan = serde_json::to_string(&source.plan(request).unwrap()).unwrap();
    let plan: ReadPlan = serde_json::from_str(&plan).unwrap();
    let rows = read_plan(source, &plan).unwrap();
    assert!(plan.rows_at_most().unwrap() >= rows.num_rows() as u64);
    let parts = plan.split(n);
    (rows, parts.iter().map(|part| read_plan(elsewhere, part).unwrap().num_rows()).sum())
}
