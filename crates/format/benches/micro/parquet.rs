//! A Parquet file of a million rows by one thread: our reader and writer, and those of the crate `parquet`.

use std::fs::File;
use std::path::{Path, PathBuf};

use arrow::array::RecordBatch;
use divan::Bencher;
use lakerace_format::{Codec, Compression, ParquetSink, ParquetSource, ReadRequest, Source, WriteOptions};
use lakerace_io::{IfExists, Job, JobOptions, Location, Output, StorageOptions};
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::file::properties::WriterProperties;

use crate::sample;

const ROWS: usize = 1_000_000;
const BATCH_ROWS: usize = 64 << 10;

fn job() -> Job {
    Job::new(JobOptions { threads: 1, ..JobOptions::default() })
}

fn write_ours(path: &Path, table: &RecordBatch) {
    let job = job();
    let object = Location::parse(path.to_str().unwrap()).unwrap().object(&StorageOptions::default(), &job).unwrap();
    let output = Output::create(&object.store, &object.path, IfExists::Replace).unwrap();
    let options = WriteOptions {
        compression: Some(Compression { codec: Codec::Snappy, level: None }),
        ..WriteOptions::default()
    };
    let mut sink = ParquetSink::create(output, table.schema(), &options, &job).unwrap();
    for first in (0..ROWS).step_by(BATCH_ROWS) {
        sink.write(table.slice(first, BATCH_ROWS.min(ROWS - first))).unwrap();
    }
    sink.finish().unwrap();
}

fn write_plain(path: &Path, table: &RecordBatch) {
    let properties = WriterProperties::builder().set_compression(parquet::basic::Compression::SNAPPY).build();
    let mut writer = ArrowWriter::try_new(File::create(path).unwrap(), table.schema(), Some(properties)).unwrap();
    for first in (0..ROWS).step_by(BATCH_ROWS) {
        writer.write(&table.slice(first, BATCH_ROWS.min(ROWS - first))).unwrap();
    }
    writer.close().unwrap();
}

fn file(folder: &tempfile::TempDir) -> PathBuf {
    let path = folder.path().join("table.parquet");
    write_plain(&path, &sample::table(ROWS));
    path
}

#[divan::bench(sample_count = 10, sample_size = 1)]
fn read_file_ours(bencher: Bencher) {
    let folder = tempfile::tempdir().unwrap();
    let path = file(&folder);
    bencher.bench_local(|| {
        let job = job();
        let object = Location::parse(path.to_str().unwrap()).unwrap().object(&StorageOptions::default(), &job).unwrap();
        let source = ParquetSource::open(vec![object], &job).unwrap();
        let plan = source.plan(&ReadRequest::default()).unwrap();
        source.read(&plan).unwrap().map(|batch| batch.unwrap().num_rows()).sum::<usize>()
    });
}

#[divan::bench(sample_count = 10, sample_size = 1)]
fn read_file_plain(bencher: Bencher) {
    let folder = tempfile::tempdir().unwrap();
    let path = file(&folder);
    bencher.bench_local(|| {
        let builder = ParquetRecordBatchReaderBuilder::try_new(File::open(&path).unwrap()).unwrap();
        let batches = builder.with_batch_size(BATCH_ROWS).build().unwrap();
        batches.map(|batch| batch.unwrap().num_rows()).sum::<usize>()
    });
}

#[divan::bench(sample_count = 5, sample_size = 1)]
fn write_file_ours(bencher: Bencher) {
    let (folder, table) = (tempfile::tempdir().unwrap(), sample::table(ROWS));
    bencher.bench_local(|| write_ours(&folder.path().join("a.parquet"), &table));
}

#[divan::bench(sample_count = 5, sample_size = 1)]
fn write_file_plain(bencher: Bencher) {
    let (folder, table) = (tempfile::tempdir().unwrap(), sample::table(ROWS));
    bencher.bench_local(|| write_plain(&folder.path().join("a.parquet"), &table));
}
