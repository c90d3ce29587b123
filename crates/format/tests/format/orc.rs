//! What the ORC sink writes, the ORC source reads: every type and codec, in stripes of any size, and what it leaves
//! unread is what a filter would drop.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow::array::{ArrayRef, Int32Array, Int64Array, RecordBatch, StringArray};
use arrow::datatypes::SchemaRef;
use lakerace_format::{
    Codec, Compression, Expr, OrcSink, OrcSource, ParquetSink, ParquetSource, ReadRequest, Sink, Source, WriteOptions,
    Written,
};
use lakerace_io::{
    Error, ErrorKind, IfExists, Job, JobOptions, Location, MinSeekSize, Output, RangeOptions, Result, StorageOptions,
};
use lakerace_orc::write::{Writer, WriterOptions};
use proptest::prelude::*;
use tempfile::TempDir;

mod damage;
mod remote;
mod row_groups;
#[path = "../../../orc/tests/orc/write/tables.rs"]
mod tables;
mod timestamps;

use crate::common;
use crate::common::{filter_on, greater, job, numbered, objects, read_in_parts, read_plan, rows_left};

use tables::{Shape, rows_as_text, table};

const SHAPE: Shape = Shape { rows: 3000, distinct: u64::MAX, sorted: false, null_percent: 20 };

fn case() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.orc");
    (folder, path)
}

fn output(path: &Path, job: &Job) -> Output {
    let location = Location::parse(path.to_str().unwrap()).unwrap();
    let (store, path) = location.open(&StorageOptions::default(), job).unwrap();
    Output::create(&store, &path, IfExists::Error).unwrap()
}

fn sink(path: &Path, schema: SchemaRef, options: &WriteOptions, job: &Job) -> Result<Box<dyn Sink>> {
    OrcSink::create(output(path, job), schema, options, job)
}

fn write(path: &Path, batch: &RecordBatch, options: &WriteOptions) -> Written {
    let job = job(2);
    let mut sink = sink(path, batch.schema(), options, &job).unwrap();
    for at in (0..batch.num_rows()).step_by(700) {
        sink.write(batch.slice(at, (batch.num_rows() - at).min(700))).unwrap();
    }
    let written = sink.finish().unwrap();
    assert_eq!(written.rows, batch.num_rows() as u64);
    assert_eq!(written.bytes, std::fs::metadata(path).unwrap().len());
    assert_eq!(job.meter().counts().rows_written, written.rows);
    written
}

/// A file as the ORC crate writes it: with row groups of any size.
pub fn orc_bytes(batch: &RecordBatch, options: WriterOptions) -> Vec<u8> {
    let mut writer = Writer::new(batch.schema(), options).unwrap();
    let mut pieces = writer.write(batch).unwrap();
    pieces.extend(writer.finish().unwrap().pieces);
    pieces.concat()
}

fn write_with(path: &Path, batch: &RecordBatch, options: WriterOptions) {
    std::fs::write(path, orc_bytes(batch, options)).unwrap();
}

fn stripes_of(bytes: u64) -> WriteOptions {
    WriteOptions { row_group_bytes: Some(bytes), ..WriteOptions::default() }
}

fn open(paths: &[&Path], job: &Job) -> Result<OrcSource> {
    OrcSource::open(objects(paths, job)?, job)
}

fn read(path: &Path, request: &ReadRequest, threads: usize) -> Result<RecordBatch> {
    common::read(&open(&[path], &job(threads))?, request)
}

fn assert_same(ours: &RecordBatch, wanted: &RecordBatch, what: &str) {
    let (ours, wanted) = (rows_as_text(std::slice::from_ref(ours)), rows_as_text(std::slice::from_ref(wanted)));
    assert_eq!(ours.len(), wanted.len(), "{what}");
    for ((name, ours), (wanted_name, wanted)) in ours.iter().zip(&wanted) {
        assert_eq!(name, wanted_name, "{what}");
        assert_eq!(ours.len(), wanted.len(), "{what}, column {name}");
        if let Some(row) = ours.iter().zip(wanted).position(|(a, b)| a != b) {
            panic!("{what}, column {name}, row {row}: {} instead of {}", ours[row], wanted[row]);
        }
    }
}

#[test]
fn every_type_comes_back_by_every_codec() {
    let codecs = [None, Some(Codec::None), Some(Codec::Gzip), Some(Codec::Snappy), Some(Codec::Lz4), Some(Codec::Zstd)];
    for (seed, codec) in codecs.into_iter().enumerate() {
        let batch = table(seed as u64, &SHAPE);
        let (_folder, path) = case();
        let compression = codec.map(Compression::new);
        write(&path, &batch, &WriteOptions { compression, row_group_bytes: Some(200_000), ..Default::default() });
        for threads in [1, 3] {
            let ours = read(&path, &ReadRequest { batch_rows: Some(777), ..Default::default() }, threads).unwrap();
            assert_same(&ours, &batch, &format!("{codec:?}, {threads} threads"));
        }
    }
}

#[test]
fn a_copy_of_a_parquet_file_has_its_rows() {
    let (folder, path) = case();
    let parquet = folder.path().join("a.parquet");
    let batch = table(9, &SHAPE);
    let job = job(2);
    let mut to = ParquetSink::create(output(&parquet, &job), batch.schema(), &WriteOptions::default(), &job).unwrap();
    to.write(batch.clone()).unwrap();
    to.finish().unwrap();
    let source = ParquetSource::open(objects(&[&parquet], &job).unwrap(), &job).unwrap();
    let plan = source.plan(&ReadRequest::default()).unwrap();
    let mut to = sink(&path, source.schema(), &WriteOptions::default(), &job).unwrap();
    source.read(&plan).unwrap().for_each(|batch| to.write(batch.unwrap()).unwrap());
    assert_eq!(to.finish().unwrap().rows, 3000);
    assert_same(&read(&path, &ReadRequest::default(), 2).unwrap(), &batch, "copied");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]

    #[test]
    fn a_filter_drops_the_same_rows_early(
        seed in any::<u64>(), rows in 1usize..3000, stripe in 1000u64..300_000,
        (sorted, distinct) in (any::<bool>(), prop::sample::select(vec![3, 900, u64::MAX])),
        picks in prop::collection::vec(any::<u32>(), 1..4),
        threads in 1usize..3, limit in prop::option::of(0u64..500), batch_rows in prop::option::of(1usize..1000),
        parts in 1usize..4, row_index_stride in prop::sample::select(vec![0, 7, 100, 1000]),
        block_size in prop::sample::select(vec![1 << 10, 16 << 10, 256 << 10]),
    ) {
        let (_folder, path) = case();
        let batch = table(seed, &Shape { rows, distinct, sorted, null_percent: (seed % 3) as u32 * 40 });
        let bloom_filters = if row_index_stride > 0 { vec!["int32".into(), "utf8".into(), "date32".into()] } else { vec![] };
        let options = WriterOptions { stripe_size: stripe as usize, row_index_stride, block_size, bloom_filters, ..Default::default() };
        write_with(&path, &batch, options);
        let all = read(&path, &ReadRequest::default(), 1).unwrap();
        assert_same(&all, &batch, "all");
        let filter = filter_on(&all, &FILTERED, &picks);
        prop_assume!(filter.is_some());
        let request = ReadRequest { filter, limit, batch_rows, ..ReadRequest::default() };
        let wanted = rows_left(&all, &request);
        let (source, elsewhere) = (open(&[&path], &job(threads)).unwrap(), open(&[&path], &job(threads)).unwrap());
        let (ours, of_parts) = read_in_parts(&source, &elsewhere, &request, parts);
        assert_same(&ours, &wanted, &format!("{:?}", request.filter));
        prop_assert_eq!(of_parts, wanted.num_rows());
    }
}

/// The columns that filters are put on.
const FILTERED: [&str; 12] = [
    "int8",
    "int32",
    "int64",
    "utf8",
    "date32",
    "decimal18",
    "decimal38",
    "float64",
    "binary_view",
    "boolean",
    "nanos",
    "micros",
];

#[test]
fn stripes_are_pruned_by_statistics_and_limits() {
    let (_folder, path) = case();
    write(&path, &numbered(20_000), &stripes_of(4000));
    let source = open(&[&path], &job(2)).unwrap();
    let stripes = source.info().units.unwrap();
    assert!(stripes > 10, "{stripes} stripes");
    let kept = |request: &ReadRequest| {
        let plan = source.plan(request).unwrap();
        let units = plan.files[0].units.clone();
        let rows = read_plan(&source, &plan).unwrap().num_rows();
        (units.iter().filter(|u| u.pruned.is_none()).count(), units.into_iter().find_map(|u| u.pruned), rows)
    };
    assert_eq!(kept(&ReadRequest::default()), (stripes as usize, None, 20_000));
    let (count, reason, rows) = kept(&ReadRequest { filter: Some(greater("id", 19_990)), ..Default::default() });
    assert_eq!((count, rows), (1, 9));
    assert!(reason.unwrap().starts_with("stripe statistics: id max "));
    let (count, reason, rows) = kept(&ReadRequest { filter: Some(greater("id", 20_000)), ..Default::default() });
    assert_eq!((count, rows), (0, 0));
    assert_eq!(reason.unwrap(), "file statistics: id max 19999 < 20000");
    let (count, reason, rows) = kept(&ReadRequest { limit: Some(5), ..Default::default() });
    assert_eq!((count, rows), (1, 5));
    assert_eq!(reason.unwrap(), "limit: enough rows before it");
}

#[test]
fn columns_come_in_the_order_asked_for() {
    let (_folder, path) = case();
    write(&path, &numbered(1000), &WriteOptions::default());
    let request = ReadRequest { columns: Some(vec!["text".into(), "id".into(), "text".into()]), ..Default::default() };
    let batch = read(&path, &request, 2).unwrap();
    assert_same(&batch, &numbered(1000).project(&[2, 0, 2]).unwrap(), "projected");
    let error = read(&path, &ReadRequest { columns: Some(vec!["tekst".into()]), ..Default::default() }, 1).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
    assert!(error.to_string().contains("\"text\""), "{error}");
}

#[test]
fn a_small_file_takes_a_request_for_its_tail_and_one_for_its_data() {
    let (_folder, path) = case();
    write(&path, &numbered(1000), &WriteOptions::default());
    // What touches is read at once.
    let ranges = RangeOptions { min_seek_size: MinSeekSize::Bytes(1), ..RangeOptions::default() };
    let job = Job::new(JobOptions { threads: 2, ranges, ..JobOptions::default() });
    let source = open(&[&path], &job).unwrap();
    let plan = source.plan(&ReadRequest { columns: Some(vec![]), ..Default::default() }).unwrap();
    assert_eq!(plan.requests.requests.len(), 0);
    assert_eq!(read_plan(&source, &plan).unwrap().num_rows(), 1000);
    assert_eq!(job.meter().counts().requests.get, 1, "the tail read alone");
    let plan = source.plan(&ReadRequest::default()).unwrap();
    assert_eq!(plan.requests.requests.len(), 1);
    assert_eq!(job.meter().counts().requests.get, 1, "the stripe's footer is in the tail");
    let filtered = ReadRequest { columns: Some(vec![]), filter: Some(greater("id", 900)), ..Default::default() };
    assert_eq!(read(&path, &filtered, 1).unwrap().num_rows(), 99);
}

#[test]
fn requests_follow_the_gap_that_is_asked_for() {
    let (_folder, path) = case();
    write(&path, &table(4, &Shape { null_percent: 0, ..SHAPE }), &stripes_of(100_000));
    let plan = |gap: u64| {
        let ranges = RangeOptions { min_seek_size: MinSeekSize::Bytes(gap), ..RangeOptions::default() };
        let job = Job::new(JobOptions { threads: 2, ranges, ..JobOptions::default() });
        let source = open(&[&path], &job).unwrap();
        let columns = Some(vec!["int64".into(), "utf8".into(), "binary_view".into()]);
        let plan = source.plan(&ReadRequest { columns, ..Default::default() }).unwrap();
        assert_eq!(read_plan(&source, &plan).unwrap().num_rows(), 3000);
        let (wanted, _) = source.wanted(&plan).unwrap().unwrap();
        assert_eq!(wanted.iter().map(|w| w.range.end - w.range.start).sum::<u64>(), plan.requests.wanted_bytes);
        (source.info().units.unwrap() as usize, wanted.len(), plan.requests)
    };
    let (stripes, ranges, apart) = plan(0);
    // The streams of a column touch: its lengths and its characters are one range.
    assert!(stripes > 3 && ranges == 3 * stripes, "{stripes} stripes, {ranges} ranges");
    assert_eq!((apart.requests.len(), apart.read_through_bytes), (ranges, 0));
    let (_, _, joined) = plan(64 << 20);
    assert_eq!(joined.requests.len(), 1);
    assert!(joined.read_through_bytes > 0);
    assert_eq!(joined.wanted_bytes, apart.wanted_bytes);
}

#[test]
fn tables_without_rows_and_of_one_row_come_back() {
    for rows in [0, 1] {
        let batch = table(5, &Shape { rows, ..SHAPE });
        let (_folder, path) = case();
        write(&path, &batch, &WriteOptions::default());
        let ours = read(&path, &ReadRequest::default(), 2).unwrap();
        assert_eq!((ours.num_rows(), ours.num_columns()), (rows, batch.num_columns()));
        assert_same(&ours, &batch, "small");
    }
}

#[test]
fn files_are_joined_by_the_names_of_their_columns() {
    let folder = tempfile::tempdir().unwrap();
    let (a, b) = (folder.path().join("a.orc"), folder.path().join("b.orc"));
    let one: ArrayRef = Arc::new(Int32Array::from(vec![1, 2]));
    let two: ArrayRef = Arc::new(Int64Array::from(vec![1 << 40, 4]));
    let text: ArrayRef = Arc::new(StringArray::from(vec!["x", "y"]));
    write(&a, &RecordBatch::try_from_iter([("n", one)]).unwrap(), &WriteOptions::default());
    write(&b, &RecordBatch::try_from_iter([("t", text.clone()), ("n", two)]).unwrap(), &WriteOptions::default());
    let job = job(2);
    let source = open(&[&a, &b], &job).unwrap();
    let all = read_plan(&source, &source.plan(&ReadRequest::default()).unwrap()).unwrap();
    let lines = rows_as_text(&[all]);
    assert_eq!(lines[0], ("n".to_owned(), ["1", "2", "1099511627776", "4"].map(str::to_owned).to_vec()));
    assert_eq!(lines[1], ("t".to_owned(), ["null", "null", "x", "y"].map(str::to_owned).to_vec()));
    let request = ReadRequest { filter: Some(greater("n", 2)), ..Default::default() };
    let plan = source.plan(&request).unwrap();
    assert_eq!(plan.files[0].units[0].pruned.as_deref(), Some("file statistics: n max 2 = 2"));
    assert_eq!(read_plan(&source, &plan).unwrap().num_rows(), 2);
    let nulls = Expr::IsNull(Box::new(Expr::Column("t".to_owned())));
    let plan = source.plan(&ReadRequest { filter: Some(nulls), ..Default::default() }).unwrap();
    assert!(plan.files[1].units[0].pruned.is_some());
    assert_eq!(read_plan(&source, &plan).unwrap().num_rows(), 2);
    let c = folder.path().join("c.orc");
    write(&c, &RecordBatch::try_from_iter([("n", text)]).unwrap(), &WriteOptions::default());
    let error = open(&[&a, &c], &job).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid);
    assert!(error.to_string().contains("c.orc: column \"n\" is utf8_view here, but int32 in"), "{error}");
}

#[test]
fn damaged_files_are_errors_that_name_them() {
    let (folder, path) = case();
    write(&path, &numbered(200), &stripes_of(1000));
    let whole = std::fs::read(&path).unwrap();
    let bad = folder.path().join("bad.orc");
    let check = |bytes: &[u8]| -> Option<Error> {
        std::fs::write(&bad, bytes).unwrap();
        let error = read(&bad, &ReadRequest::default(), 1).err()?;
        assert!(matches!(error.kind(), ErrorKind::Corrupt | ErrorKind::Unsupported | ErrorKind::Invalid), "{error}");
        let text = error.to_string();
        assert_eq!(text.matches("bad.orc").count(), 1, "{text}");
        Some(error)
    };
    for length in 0..whole.len() {
        let error = check(&whole[..length]).unwrap_or_else(|| panic!("read when cut at {length}"));
        assert_eq!(error.kind(), ErrorKind::Corrupt, "{error}");
    }
    let mut failed = 0;
    for at in 0..whole.len() {
        let mut flipped = whole.clone();
        flipped[at] ^= 0x55;
        failed += usize::from(check(&flipped).is_some());
    }
    assert!(failed > whole.len() / 4, "{failed} of {}", whole.len());
}

#[test]
fn what_orc_lacks_is_refused_before_anything_is_written() {
    let (folder, path) = case();
    let refused = |options: WriteOptions, kind: ErrorKind, says: &str| {
        let error = sink(&path, numbered(1).schema(), &options, &job(1)).err().expect(says);
        assert_eq!(error.kind(), kind, "{error}");
        assert!(error.to_string().contains(says) && error.to_string().contains("a.orc"), "{error}");
    };
    let brotli = Some(Compression::new(Codec::Brotli));
    refused(WriteOptions { compression: brotli, ..Default::default() }, ErrorKind::Usage, "zstd");
    refused(WriteOptions { row_group_rows: Some(10), ..Default::default() }, ErrorKind::Usage, "row_group_bytes");
    refused(stripes_of(0), ErrorKind::Usage, "bytes of a stripe");
    let bloom = vec!["iid".to_owned()];
    refused(WriteOptions { bloom_filter_columns: bloom, ..Default::default() }, ErrorKind::NotFound, "\"id\"");
    let time: ArrayRef = Arc::new(arrow::array::Time64MicrosecondArray::from(vec![1]));
    let schema = RecordBatch::try_from_iter([("t", time)]).unwrap().schema();
    let error = sink(&path, schema, &WriteOptions::default(), &job(1)).err().unwrap();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    assert!(error.to_string().contains("column \"t\""), "{error}");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn a_dropped_sink_leaves_nothing_behind() {
    let (folder, path) = case();
    let mut to = sink(&path, numbered(1).schema(), &stripes_of(1000), &job(1)).unwrap();
    to.write(numbered(5000)).unwrap();
    drop(to);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}
