#![allow(clippy::unwrap_used, clippy::panic)]

use arrow::ffi::from_ffi;

use super::*;
use crate::call::RECORD;
use crate::plan::plan;

const NATION: &str = "tpch:nation?sf=0.01";

/// The tasks of a location.
fn tasks(location: &str, options: &[(&str, &str)]) -> (String, Vec<String>) {
    let all = [options, &[("query.tasks", "2")]].concat();
    let options = serde_json::to_string(&all.into_iter().collect::<std::collections::BTreeMap<_, _>>()).unwrap();
    let records = plan(location, &options).unwrap();
    (options, records.split(RECORD).skip(10).map(str::to_owned).collect())
}

fn rows(reader: &TaskReader) -> usize {
    let mut rows = 0;
    loop {
        match reader.next(100).unwrap() {
            NO_MORE => return rows,
            NOT_YET => {}
            address => {
                // SAFETY: the address is that of a batch, which is moved out and released once.
                let array = unsafe { FFI_ArrowArray::from_raw(address as *mut FFI_ArrowArray) };
                // SAFETY: the schema is the reader's, which outlives the borrow.
                let schema = unsafe { &*(reader.schema() as *const FFI_ArrowSchema) };
                // SAFETY: both are of one batch.
                let data = unsafe { from_ffi(array, schema) }.unwrap();
                rows += data.len();
                drop(data);
                // SAFETY: the address came from this reader, and is given back once.
                unsafe { release(address) };
            }
        }
    }
}

#[test]
fn tasks_give_all_rows_once() {
    let (options, tasks) = tasks(NATION, &[("query.columns", "n_name\u{1d}n_nationkey")]);
    let readers = tasks.iter().map(|task| TaskReader::open(NATION.to_owned(), &options, task).unwrap());
    assert_eq!(readers.map(|reader| rows(&reader)).sum::<usize>(), 25);
}

#[test]
fn a_filter_is_pushed_and_no_columns_are_rows() {
    let (options, tasks) = tasks(NATION, &[("query.columns", ""), ("query.where", "n_nationkey < 7")]);
    let readers = tasks.iter().map(|task| TaskReader::open(NATION.to_owned(), &options, task).unwrap());
    assert_eq!(readers.map(|reader| rows(&reader)).sum::<usize>(), 7);
}

#[test]
fn an_error_comes_with_the_next_batch() {
    let (options, tasks) = tasks(NATION, &[]);
    let reader = TaskReader::open("/nowhere/at.parquet".to_owned(), &options, &tasks[0]).unwrap();
    let error = loop {
        match reader.next(100) {
            Ok(NOT_YET) => {}
            Ok(other) => panic!("{other}"),
            Err(error) => break error,
        }
    };
    assert!(error.to_string().contains("/nowhere/at.parquet"), "{error}");
}
