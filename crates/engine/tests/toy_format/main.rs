//! A file format that lakerace does not have: one folder, and one line that registers it.
#![allow(missing_docs, clippy::unwrap_used)]

mod format;

use std::path::Path;
use std::sync::{Arc, Once};

use arrow::array::{ArrayRef, Int64Array, RecordBatch};
use lakerace::{
    Batches, Checksum, Codec, Compression, CopyOptions, ErrorKind, FileFormat, Job, ReadOptions, Scan, TpchFormat,
    WriteOptions, copy, schema, write,
};

use self::format::TOY;

const ROWS: usize = 10_000;

/// Adds the format, once for all tests of this process.
fn register() {
    static DONE: Once = Once::new();
    DONE.call_once(|| FileFormat::register(&TOY).unwrap());
}

/// Whole numbers, some of them null.
fn rows() -> RecordBatch {
    let ids: ArrayRef = Arc::new(Int64Array::from_iter_values(0..ROWS as i64));
    let amounts: ArrayRef =
        Arc::new((0..ROWS as i64).map(|i| (i % 7 != 3).then_some(i * i - 5)).collect::<Int64Array>());
    RecordBatch::try_from_iter([("id", ids), ("amount", amounts)]).unwrap()
}

/// Those rows in a Parquet file.
fn parquet(folder: &Path) -> String {
    let path = folder.join("rows.parquet").to_str().unwrap().to_owned();
    let batch = rows();
    let batches = Batches::new(batch.schema(), std::iter::once(Ok(batch)));
    write(batches, &path, &CopyOptions::default(), &Job::default()).unwrap();
    path
}

fn open(location: &str, options: &ReadOptions) -> Scan {
    Scan::open(location, options, &Job::default()).unwrap()
}

fn sum_of(location: &str) -> Checksum {
    open(location, &ReadOptions::default()).checksum().unwrap()
}

#[test]
fn rows_go_from_parquet_to_the_format_and_back() {
    register();
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let source = parquet(folder.path());
    let written = copy(&source, &at("rows.toy"), &CopyOptions::default(), &Job::default()).unwrap();
    // A mark, the bytes of a header, a header, and 9 bytes for each of two values.
    let bytes = (4 + 4 + "id,amount".len() + 2 * 9 * ROWS) as u64;
    assert_eq!((written.rows, written.bytes), (ROWS as u64, bytes));
    assert_eq!(std::fs::metadata(at("rows.toy")).unwrap().len(), bytes);
    let back = copy(&at("rows.toy"), &at("back.parquet"), &CopyOptions::default(), &Job::default()).unwrap();
    assert_eq!(back.rows, ROWS as u64);
    let sums = [&source, &at("rows.toy"), &at("back.parquet")].map(|location| sum_of(location).to_string());
    assert_eq!(sums[0], sums[1]);
    assert_eq!(sums[0], sums[2]);
    // Not only equal to one another: the rows are those that were made.
    let read: Vec<RecordBatch> =
        open(&at("back.parquet"), &ReadOptions::default()).batches().unwrap().collect::<Result<_, _>>().unwrap();
    assert_eq!(arrow::compute::concat_batches(&read[0].schema(), &read).unwrap().columns(), rows().columns());
}

#[test]
fn folders_contents_and_options_know_the_format() {
    register();
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let source = parquet(folder.path());
    let options = CopyOptions { format: Some("toy".parse().unwrap()), ..CopyOptions::default() };
    let written = copy(&source, &at("out/"), &options, &Job::default()).unwrap();
    assert!(written.files.iter().all(|file| file.ends_with(".toy")), "{:?}", written.files);
    assert_eq!(sum_of(&at("out/")).to_string(), sum_of(&source).to_string());
    // The mark says the format where the name says none.
    copy(&source, &at("unnamed"), &options, &Job::default()).unwrap();
    let read = ReadOptions {
        columns: Some(vec!["amount".into()]),
        filter: Some("id >= 9000 AND amount IS NOT NULL".to_owned()),
        ..ReadOptions::default()
    };
    let scan = open(&at("unnamed"), &read);
    let expected = (9000..ROWS).filter(|i| i % 7 != 3).count() as u64;
    assert_eq!((scan.count().unwrap(), scan.schema().fields().len()), (expected, 1));
    let told = schema(&at("unnamed"), &ReadOptions::default(), &Job::default()).unwrap().info;
    assert_eq!((told.format.as_str(), told.bytes), ("toy", std::fs::metadata(at("unnamed")).unwrap().len()));
    assert_eq!(open(&at("unnamed"), &ReadOptions { limit: Some(7), ..ReadOptions::default() }).count().unwrap(), 7);
    assert!(TpchFormat::names().any(|name| name == "toy"));
}

#[test]
fn errors_know_the_format() {
    register();
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let source = parquet(folder.path());
    let refused = |target: &str, write: WriteOptions| {
        let error = copy(&source, &at(target), &CopyOptions { write, ..CopyOptions::default() }, &Job::default());
        let error = error.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Usage, "{error}");
        assert!(!Path::new(&at(target)).exists());
        error.to_string()
    };
    let compression = Some(Compression::new(Codec::Zstd));
    let compressed = refused("x.toy", WriteOptions { compression, ..WriteOptions::default() });
    assert!(compressed.contains("`compression` does not apply: this is a file in format toy"), "{compressed}");
    assert!(
        compressed
            .contains("it applies to Parquet, ORC, CSV, TSV, TBL, Arrow IPC, Avro, JSON lines, JSON and Delta tables"),
        "{compressed}"
    );
    let unknown = refused("x.unknown", WriteOptions::default());
    assert!(unknown.contains(".avro and .toy, and .csv"), "{unknown}");
    let twice = FileFormat::register(&TOY).unwrap_err();
    assert_eq!(twice.kind(), ErrorKind::Usage, "{twice}");
}
