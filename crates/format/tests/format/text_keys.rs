//! Texts that are read as keys of dictionaries are those that the `parquet` crate's own reader reads.

use std::fs::File;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, Int64Array, RecordBatch, StringArray};
use arrow::compute::{cast, concat, concat_batches};
use arrow::datatypes::{DataType, Int32Type};
use lakerace_format::{ParquetSource, ReadRequest, Source, text_key_type};
use parquet::arrow::ArrowWriter;
use parquet::file::properties::{WriterProperties, WriterVersion};
use proptest::prelude::*;

use crate::common::{self, greater, job, objects};
use crate::parquet_read::read_by_crate;

/// The texts of a column: a share of nulls, and repeated values up to a row, after which all are different.
fn texts(rows: usize, values: usize, null_every: usize, unique_from: usize) -> ArrayRef {
    Arc::new(StringArray::from_iter((0..rows).map(|row| {
        let value = if row < unique_from { row * 7919 % values } else { row };
        (null_every == 0 || row % null_every > 0).then(|| format!("text {value} {}", "é".repeat(value % 20)))
    })))
}

pub(crate) fn table(columns: Vec<(&str, ArrayRef)>) -> RecordBatch {
    let rows = columns[0].1.len() as i64;
    let id: ArrayRef = Arc::new(Int64Array::from_iter_values(0..rows));
    RecordBatch::try_from_iter(columns.into_iter().chain([("id", id)])).unwrap()
}

fn properties(
    version: WriterVersion,
    dictionary_bytes: usize,
    page_rows: usize,
    group_rows: usize,
) -> WriterProperties {
    WriterProperties::builder()
        .set_writer_version(version)
        .set_dictionary_page_size_limit(dictionary_bytes)
        .set_data_page_row_count_limit(page_rows)
        .set_write_batch_size(64)
        .set_max_row_group_row_count(Some(group_rows))
        .build()
}

/// Reads all columns, the texts as keys, and compares them with what the crate reads.
pub(crate) fn check(paths: &[&std::path::Path], request: &ReadRequest, threads: usize) -> Vec<RecordBatch> {
    let job = job(threads);
    let source = ParquetSource::open(objects(paths, &job).unwrap(), &job).unwrap();
    let plan = source.plan(request).unwrap();
    let names: Vec<String> = source.schema().fields().iter().map(|field| field.name().clone()).collect();
    let batches = source.read_compact(&plan, &names).unwrap();
    let schema = Arc::clone(batches.schema());
    let batches: Vec<RecordBatch> = batches.map(Result::unwrap).collect();
    let expected = common::read_plan(&source, &plan).unwrap();
    for (at, field) in expected.schema().fields().iter().enumerate() {
        let mut parts = Vec::new();
        for batch in &batches {
            assert_eq!(batch.schema(), schema);
            let column = batch.column(at);
            column.to_data().validate_full().unwrap();
            // Nulls, too, have a key with a value: readers look it up.
            if let Some(keys) = column.as_dictionary_opt::<Int32Type>() {
                assert!(keys.keys().values().iter().all(|key| (*key as usize) < keys.values().len()));
            }
            parts.push(cast(column, field.data_type()).unwrap());
        }
        let parts: Vec<&dyn Array> = parts.iter().map(AsRef::as_ref).collect();
        assert!(&concat(&parts).unwrap() == expected.column(at), "column {} differs", field.name());
    }
    batches
}

fn is_keys(batches: &[RecordBatch], column: &str) -> bool {
    *batches[0].column_by_name(column).unwrap().data_type() == text_key_type()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]

    #[test]
    fn texts_are_those_of_the_crates_reader(
        version in prop::sample::select(vec![WriterVersion::PARQUET_1_0, WriterVersion::PARQUET_2_0]),
        values in 1usize..600,
        null_every in 0usize..5,
        unique_from in prop::sample::select(vec![0usize, 700, 1500, 9999]),
        dictionary_bytes in prop::sample::select(vec![1usize, 2_000, 1 << 20]),
        page_rows in 1usize..900,
        group_rows in 200usize..3000,
        batch_rows in prop::option::of(1usize..1500),
        limit in prop::option::of(0u64..2500),
        threads in 1usize..3,
    ) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("texts.parquet");
        let rows = table(vec![
            ("text", texts(2_000, values, null_every, unique_from)),
            ("valid", texts(2_000, values, 0, unique_from)),
            ("nothing", texts(2_000, values, 1, unique_from)),
        ]);
        let properties = properties(version, dictionary_bytes, page_rows, group_rows);
        let mut writer = ArrowWriter::try_new(File::create(&path).unwrap(), rows.schema(), Some(properties)).unwrap();
        writer.write(&rows).unwrap();
        writer.close().unwrap();
        let request = ReadRequest { batch_rows, limit, ..ReadRequest::default() };
        let batches = check(&[&path], &request, threads);
        if limit.is_none() {
            assert!(is_keys(&batches, "text") && is_keys(&batches, "valid") && is_keys(&batches, "nothing"));
            let all = concat_batches(&batches[0].schema(), &batches).unwrap();
            let theirs = read_by_crate(&path).unwrap();
            assert!(&cast(all.column(0), &DataType::Utf8).unwrap() == theirs.column(0));
        }
    }
}

#[test]
fn batches_of_a_chunk_share_the_values_of_its_dictionary() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("texts.parquet");
    let rows = table(vec![("text", texts(20_000, 50, 3, 20_000))]);
    let properties = properties(WriterVersion::PARQUET_1_0, 1 << 20, 5_000, 20_000);
    let mut writer = ArrowWriter::try_new(File::create(&path).unwrap(), rows.schema(), Some(properties)).unwrap();
    writer.write(&rows).unwrap();
    writer.close().unwrap();
    let batches = check(&[&path], &ReadRequest { batch_rows: Some(2_000), ..ReadRequest::default() }, 1);
    assert_eq!(batches.len(), 10);
    let values = |batch: &RecordBatch| Arc::clone(batch.column(0).as_dictionary::<Int32Type>().values());
    assert!(batches.iter().all(|batch| Arc::ptr_eq(&values(batch), &values(&batches[0]))));
    assert_eq!(values(&batches[0]).len(), 50);
}

#[test]
fn filters_and_columns_of_other_types_have_no_keys() {
    let folder = tempfile::tempdir().unwrap();
    let (one, two) = (folder.path().join("one.parquet"), folder.path().join("two.parquet"));
    let text = texts(1_000, 10, 0, 1_000);
    let of_bytes = table(vec![("text", cast(&text, &DataType::Binary).unwrap())]);
    for (path, rows) in [(&one, table(vec![("text", text)])), (&two, of_bytes)] {
        let mut writer = ArrowWriter::try_new(File::create(path).unwrap(), rows.schema(), None).unwrap();
        writer.write(&rows).unwrap();
        writer.close().unwrap();
    }
    let filtered = ReadRequest { filter: Some(greater("id", 500)), ..ReadRequest::default() };
    assert!(!is_keys(&check(&[&one], &filtered, 1), "text"));
    assert!(!is_keys(&check(&[&two], &ReadRequest::default(), 1), "text"));
    assert!(is_keys(&check(&[&one], &ReadRequest::default(), 1), "text"));
}

#[test]
fn a_file_without_the_column_has_nulls() {
    let folder = tempfile::tempdir().unwrap();
    let (one, two) = (folder.path().join("one.parquet"), folder.path().join("two.parquet"));
    let with = table(vec![("text", texts(1_000, 10, 4, 1_000))]);
    let without = with.project(&[1]).unwrap();
    for (path, rows) in [(&one, with), (&two, without)] {
        let mut writer = ArrowWriter::try_new(File::create(path).unwrap(), rows.schema(), None).unwrap();
        writer.write(&rows).unwrap();
        writer.close().unwrap();
    }
    assert!(!is_keys(&check(&[&one, &two], &ReadRequest::default(), 2), "text"));
}
