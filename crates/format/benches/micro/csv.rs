//! A CSV file of half a million rows by one thread: our reader, and that of the crate `arrow`.

use std::fs::File;
use std::path::PathBuf;
use std::sync::Arc;

use divan::Bencher;
use lakerace_format::csv::{CsvSource, Dialect};
use lakerace_format::{CsvOptions, ReadRequest, Source};
use lakerace_io::{Job, JobOptions, Location, StorageOptions};

use crate::sample;

const ROWS: usize = 500_000;

fn file(folder: &tempfile::TempDir) -> PathBuf {
    let path = folder.path().join("table.csv");
    let mut writer = arrow::csv::WriterBuilder::new().with_header(true).build(File::create(&path).unwrap());
    writer.write(&sample::table(ROWS)).unwrap();
    path
}

#[divan::bench(sample_count = 10, sample_size = 1)]
fn ours(bencher: Bencher) {
    let folder = tempfile::tempdir().unwrap();
    let path = file(&folder);
    let schema = "key int64, part int64, price decimal(15,2), weight float64, day date32, mode utf8, comment utf8";
    let options = CsvOptions { schema: Some(schema.to_owned()), ..CsvOptions::default() };
    bencher.bench_local(|| {
        let job = Job::new(JobOptions { threads: 1, ..JobOptions::default() });
        let object = Location::parse(path.to_str().unwrap()).unwrap().object(&StorageOptions::default(), &job).unwrap();
        let source = CsvSource::open(vec![object], Dialect::Csv, &options, &job).unwrap();
        let plan = source.plan(&ReadRequest::default()).unwrap();
        source.read(&plan).unwrap().map(|batch| batch.unwrap().num_rows()).sum::<usize>()
    });
}

#[divan::bench(sample_count = 10, sample_size = 1)]
fn plain(bencher: Bencher) {
    let folder = tempfile::tempdir().unwrap();
    let path = file(&folder);
    let schema = Arc::new(sample::table(1).schema().as_ref().clone());
    bencher.bench_local(|| {
        let reader = arrow::csv::ReaderBuilder::new(Arc::clone(&schema)).with_header(true).with_batch_size(64 << 10);
        let reader = reader.build(File::open(&path).unwrap()).unwrap();
        reader.map(|batch| batch.unwrap().num_rows()).sum::<usize>()
    });
}
