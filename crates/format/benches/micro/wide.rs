//! A Parquet file of 10,000 columns: five of them, with the footer decoded for these and as a whole, and all.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow::array::{ArrayRef, Int32Array, RecordBatch};
use divan::Bencher;
use lakerace_format::{ColumnUnion, InputFile, ParquetOptions, ParquetSource, ReadRequest, Source};
use lakerace_io::{Job, JobOptions, Location, StorageOptions};
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;

const COLUMNS: usize = 10_000;
const ROWS: i32 = 500;

fn file(folder: &tempfile::TempDir) -> PathBuf {
    let path = folder.path().join("wide.parquet");
    let array = |column: i32| Arc::new(Int32Array::from_iter_values((0..ROWS).map(|row| row * column))) as ArrayRef;
    let columns = (0..COLUMNS).map(|column| (format!("c{column}"), array(column as i32)));
    let table = RecordBatch::try_from_iter(columns).unwrap();
    let mut writer = ArrowWriter::try_new(File::create(&path).unwrap(), table.schema(), None).unwrap();
    writer.write(&table).unwrap();
    writer.close().unwrap();
    path
}

fn five() -> Vec<String> {
    (0..5).map(|n| format!("c{}", n * COLUMNS / 5)).collect()
}

/// Reads some columns; the source knows those alone that are `known`, or all.
fn read(path: &Path, columns: Option<Vec<String>>, known: Option<&[String]>) -> usize {
    let job = Job::new(JobOptions { threads: 1, ..JobOptions::default() });
    let object = Location::parse(path.to_str().unwrap()).unwrap().object(&StorageOptions::default(), &job).unwrap();
    let (files, options) = (vec![InputFile::from(object)], ParquetOptions::default());
    let source = ParquetSource::open_columns(files, None, options, ColumnUnion::default(), known, &job).unwrap();
    let plan = source.plan(&ReadRequest { columns, ..ReadRequest::default() }).unwrap();
    source.read(&plan).unwrap().map(|batch| batch.unwrap().num_rows()).sum()
}

#[divan::bench(sample_count = 20, sample_size = 1)]
fn five_columns_ours(bencher: Bencher) {
    let folder = tempfile::tempdir().unwrap();
    let path = file(&folder);
    bencher.bench_local(|| read(&path, Some(five()), Some(&five())));
}

#[divan::bench(sample_count = 20, sample_size = 1)]
fn five_columns_plain(bencher: Bencher) {
    let folder = tempfile::tempdir().unwrap();
    let path = file(&folder);
    bencher.bench_local(|| read(&path, Some(five()), None));
}

#[divan::bench(sample_count = 5, sample_size = 1)]
fn all_columns_ours(bencher: Bencher) {
    let folder = tempfile::tempdir().unwrap();
    let path = file(&folder);
    bencher.bench_local(|| read(&path, None, None));
}

#[divan::bench(sample_count = 5, sample_size = 1)]
fn all_columns_plain(bencher: Bencher) {
    let folder = tempfile::tempdir().unwrap();
    let path = file(&folder);
    bencher.bench_local(|| {
        let builder = ParquetRecordBatchReaderBuilder::try_new(File::open(&path).unwrap()).unwrap();
        builder.build().unwrap().map(|batch| batch.unwrap().num_rows()).sum::<usize>()
    });
}
