//! What the Parquet source reads is what the `parquet` crate's own reader reads: every type, codec, encoding, page
//! version and cut into steps; and what it leaves unread is what a filter would drop.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow::array::types::Int32Type;
use arrow::array::{Array, ArrayRef, AsArray, Int64Array, IntervalYearMonthArray, RecordBatch, StringArray};
use arrow::compute::{cast, concat_batches};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use lakerace_format::{Expr, Literal, ParquetSource, ReadRequest, Source};
use lakerace_io::{Error, ErrorKind, Job, Result};
use lakerace_testing::corpus;
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::basic::{Compression, Encoding};
use parquet::file::properties::{EnabledStatistics, WriterProperties, WriterVersion};
use proptest::prelude::*;
use tempfile::TempDir;

use crate::common;
use crate::parquet_write::tables;

use crate::common::{filter_on, greater, job, numbered, objects, read_in_parts, read_plan, rows_left};

fn open(paths: &[&Path], job: &Job) -> Result<ParquetSource> {
    ParquetSource::open(objects(paths, job)?, job)
}

fn read(path: &Path, request: &ReadRequest, threads: usize) -> Result<RecordBatch> {
    common::read(&open(&[path], &job(threads))?, request)
}

pub fn read_by_crate(path: &Path) -> parquet::errors::Result<RecordBatch> {
    let builder = ParquetRecordBatchReaderBuilder::try_new(std::fs::File::open(path)?)?;
    let schema = Arc::clone(builder.schema());
    let batches = builder.build()?.collect::<std::result::Result<Vec<_>, _>>()?;
    Ok(concat_batches(&schema, &batches)?)
}

/// The same values; text and bytes may be in another layout.
pub fn assert_same(ours: &RecordBatch, theirs: &RecordBatch, what: &str) {
    assert_eq!(ours.num_rows(), theirs.num_rows(), "{what}");
    assert_eq!(ours.num_columns(), theirs.num_columns(), "{what}");
    for (at, field) in theirs.schema().fields().iter().enumerate() {
        let mine = ours.column(at);
        mine.to_data().validate_full().unwrap_or_else(|e| panic!("{what}: {}: {e}", field.name()));
        let wanted = cast(theirs.column(at), mine.data_type()).unwrap();
        assert!(*mine == wanted, "{what}: column {} ({}) differs", field.name(), field.data_type());
    }
}

/// The columns of a table that the crate's writer takes.
pub fn writable(table: &RecordBatch) -> RecordBatch {
    let takes = |field: &Field| {
        let schema = Arc::new(Schema::new(vec![field.clone()]));
        ArrowWriter::try_new(Vec::new(), schema, None).is_ok()
    };
    let fields = table.schema();
    let kept: Vec<usize> = (0..table.num_columns()).filter(|at| takes(fields.field(*at))).collect();
    table.project(&kept).unwrap()
}

/// How a file is written.
#[derive(Debug, Clone)]
pub struct Layout {
    pub codec: Compression,
    pub version: WriterVersion,
    pub dictionary: bool,
    pub page_rows: usize,
    pub group_rows: usize,
}

pub fn layouts() -> impl Strategy<Value = Layout> {
    let codec = prop::sample::select(vec![
        Compression::UNCOMPRESSED,
        Compression::SNAPPY,
        Compression::GZIP(Default::default()),
        Compression::BROTLI(Default::default()),
        Compression::LZ4,
        Compression::LZ4_RAW,
        Compression::ZSTD(Default::default()),
    ]);
    let version = prop::sample::select(vec![WriterVersion::PARQUET_1_0, WriterVersion::PARQUET_2_0]);
    (codec, version, any::<bool>(), 1usize..900, 200usize..3000).prop_map(
        |(codec, version, dictionary, page_rows, group_rows)| Layout {
            codec,
            version,
            dictionary,
            page_rows,
            group_rows,
        },
    )
}

/// An encoding that the type can have, by number; plain and dictionary are what the writer takes by itself.
fn encoding(data_type: &DataType, choice: usize) -> Option<Encoding> {
    let all: &[Encoding] = match data_type {
        DataType::Boolean => &[Encoding::RLE],
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View | DataType::Binary => {
            &[Encoding::DELTA_BYTE_ARRAY, Encoding::DELTA_LENGTH_BYTE_ARRAY]
        }
        DataType::Float32 | DataType::Float64 | DataType::Float16 | DataType::FixedSizeBinary(_) => {
            &[Encoding::BYTE_STREAM_SPLIT]
        }
        DataType::Int32 | DataType::Int64 | DataType::UInt64 | DataType::Timestamp(..) | DataType::Date32 => {
            &[Encoding::DELTA_BINARY_PACKED, Encoding::BYTE_STREAM_SPLIT]
        }
        _ => &[],
    };
    all.get(choice).copied()
}

pub fn write(path: &Path, table: &RecordBatch, layout: &Layout) {
    let mut properties = WriterProperties::builder()
        .set_compression(layout.codec)
        .set_writer_version(layout.version)
        .set_dictionary_enabled(layout.dictionary)
        .set_data_page_row_count_limit(layout.page_rows)
        .set_write_batch_size(layout.page_rows.min(64))
        .set_max_row_group_row_count(Some(layout.group_rows))
        .set_statistics_enabled(EnabledStatistics::Page)
        .set_bloom_filter_enabled(layout.page_rows.is_multiple_of(2));
    if !layout.dictionary {
        for (at, field) in table.schema().fields().iter().enumerate() {
            if let Some(encoding) = encoding(field.data_type(), (at + layout.page_rows) % 3) {
                let column = parquet::schema::types::ColumnPath::from(field.name().as_str());
                properties = properties.set_column_encoding(column, encoding);
            }
        }
    }
    let file = std::fs::File::create(path).unwrap();
    let mut writer = ArrowWriter::try_new(file, table.schema(), Some(properties.build())).unwrap();
    writer.write(table).unwrap();
    writer.close().unwrap();
}

pub fn case() -> (TempDir, PathBuf) {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("table.parquet");
    (folder, path)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]

    #[test]
    fn every_type_comes_back(
        seed in any::<u64>(), rows in 0usize..4000, layout in layouts(),
        batch_rows in prop::option::of(1usize..1000), threads in 1usize..4,
    ) {
        let (_folder, path) = case();
        write(&path, &writable(&tables::every_type(seed, rows)), &layout);
        let request = ReadRequest { batch_rows, ..ReadRequest::default() };
        let ours = read(&path, &request, threads).unwrap();
        assert_same(&ours, &read_by_crate(&path).unwrap(), &format!("{layout:?}"));
    }

    #[test]
    fn a_filter_drops_the_same_rows_early(
        seed in any::<u64>(), rows in 1usize..4000, layout in layouts(), picks in prop::collection::vec(any::<u32>(), 1..4),
        threads in 1usize..3, limit in prop::option::of(0u64..500), batch_rows in prop::option::of(1usize..1000),
        parts in 1usize..4, is_sorted in any::<bool>(),
    ) {
        let (_folder, path) = case();
        let mut table = writable(&tables::every_type(seed, rows));
        if is_sorted {
            table = number_rows(&table, "int64");
        }
        write(&path, &table, &layout);
        let all = read(&path, &ReadRequest::default(), 1).unwrap();
        let names = ["int32", "int64", "uint32", "utf8", "date32", "decimal18", "float64", "binary_view", "int8"];
        let filter = filter_on(&all, &names, &picks);
        prop_assume!(filter.is_some());
        let request = ReadRequest { filter, limit, batch_rows, ..ReadRequest::default() };
        let wanted = rows_left(&all, &request);
        let source = open(&[&path], &job(threads)).unwrap();
        let (ours, of_parts) = read_in_parts(&source, &source, &request, parts);
        assert_same(&ours, &wanted, &format!("{:?} {layout:?}", request.filter));
        prop_assert_eq!(of_parts, wanted.num_rows());
    }
}

/// The table with ascending numbers in place of a column: its page statistics prune nearly every page.
fn number_rows(table: &RecordBatch, name: &str) -> RecordBatch {
    let at = table.schema().index_of(name).unwrap();
    let mut columns = table.columns().to_vec();
    columns[at] = Arc::new(Int64Array::from_iter_values(0..table.num_rows() as i64));
    RecordBatch::try_new(table.schema(), columns).unwrap()
}

pub fn plain_layout() -> Layout {
    Layout {
        codec: Compression::SNAPPY,
        version: WriterVersion::PARQUET_1_0,
        dictionary: true,
        page_rows: 50,
        group_rows: 400,
    }
}

#[test]
fn columns_come_in_the_order_asked_for() {
    let (_folder, path) = case();
    write(&path, &numbered(1000), &plain_layout());
    let request = ReadRequest { columns: Some(vec!["text".into(), "id".into(), "text".into()]), ..Default::default() };
    let batch = read(&path, &request, 2).unwrap();
    assert_same(&batch, &numbered(1000).project(&[2, 0, 2]).unwrap(), "projected");
    let request = ReadRequest { columns: Some(vec!["tekst".into()]), ..Default::default() };
    let error = read(&path, &request, 1).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
    assert!(error.to_string().contains("\"text\""), "{error}");
}

#[test]
fn no_columns_still_have_rows() {
    let (_folder, path) = case();
    write(&path, &numbered(1000), &plain_layout());
    let job = job(2);
    let source = open(&[&path], &job).unwrap();
    let plan = source.plan(&ReadRequest { columns: Some(vec![]), ..Default::default() }).unwrap();
    assert_eq!(plan.requests.requests.len(), 0);
    assert_eq!(read_plan(&source, &plan).unwrap().num_rows(), 1000);
    assert_eq!(job.meter().counts().requests.get, 1, "the tail read alone");
    let filtered = ReadRequest { columns: Some(vec![]), filter: Some(greater("id", 900)), ..Default::default() };
    assert_eq!(read(&path, &filtered, 1).unwrap().num_rows(), 99);
}

#[test]
fn statistics_prune_row_groups_and_pages() {
    let (_folder, path) = case();
    write(&path, &numbered(1000), &plain_layout());
    let job = job(1);
    let source = open(&[&path], &job).unwrap();
    let request = ReadRequest { filter: Some(greater("id", 750)), ..Default::default() };
    let plan = source.plan(&request).unwrap();
    let units = &plan.files[0].units;
    assert_eq!(units.len(), 3);
    assert!(units[0].pruned.as_ref().unwrap().contains("id max 399"), "{:?}", units[0].pruned);
    assert_eq!(units[1].rows_after_pages, Some(50), "the last page of 400..800");
    assert!(units[2].pruned.is_none() && units[2].rows_after_pages.is_none());
    let whole = source.plan(&ReadRequest::default()).unwrap();
    assert!(plan.requests.wanted_bytes < whole.requests.wanted_bytes / 2);
    assert_same(&read_plan(&source, &plan).unwrap(), &numbered(1000).slice(751, 249), "filtered");
}

#[test]
fn pages_are_pruned_beside_columns_that_the_crate_decodes() {
    let (_folder, path) = case();
    let id: ArrayRef = Arc::new(Int64Array::from_iter_values(0..1000));
    let months: ArrayRef = Arc::new(IntervalYearMonthArray::from_iter_values(0..1000));
    let table = RecordBatch::try_from_iter([("months", months), ("id", id)]).unwrap();
    write(&path, &table, &Layout { dictionary: false, ..plain_layout() });
    let request = ReadRequest { filter: Some(greater("id", 750)), ..Default::default() };
    assert_same(&read(&path, &request, 1).unwrap(), &table.slice(751, 249), "filtered");
}

#[test]
fn bloom_filters_prune_where_statistics_can_not() {
    let (_folder, path) = case();
    let even: ArrayRef = Arc::new(Int64Array::from_iter_values((0..1000).map(|i| i * 2)));
    let table = RecordBatch::try_from_iter([("even", even)]).unwrap();
    write(&path, &table, &Layout { page_rows: 1000, ..plain_layout() });
    let equal = |n| Expr::In {
        expr: Box::new(Expr::Column("even".into())),
        list: vec![Literal::Number { digits: n, scale: 0 }],
    };
    let source = open(&[&path], &job(1)).unwrap();
    let plan = |n| source.plan(&ReadRequest { filter: Some(equal(n)), ..Default::default() }).unwrap();
    let reasons: Vec<_> = plan(501).files[0].units.iter().map(|unit| unit.pruned.clone().unwrap_or_default()).collect();
    assert!(reasons[0].starts_with("bloom filter"), "{reasons:?}");
    assert_eq!(read_plan(&source, &plan(501)).unwrap().num_rows(), 0);
    assert_eq!(read_plan(&source, &plan(500)).unwrap().num_rows(), 1);
}

#[test]
fn a_limit_reads_no_further() {
    let (_folder, path) = case();
    write(&path, &numbered(4000), &plain_layout());
    let source = open(&[&path], &job(1)).unwrap();
    let plan = source.plan(&ReadRequest { limit: Some(450), ..Default::default() }).unwrap();
    assert_eq!(plan.files[0].units.iter().filter(|unit| unit.pruned.is_none()).count(), 2);
    assert_same(&read_plan(&source, &plan).unwrap(), &numbered(450), "limited");
}

#[test]
fn files_are_matched_by_column_name() {
    let folder = TempDir::new().unwrap();
    let paths: Vec<PathBuf> = (0..3).map(|n| folder.path().join(format!("{n}.parquet"))).collect();
    let table = numbered(10);
    write(&paths[0], &table.project(&[1, 2]).unwrap(), &plain_layout());
    write(&paths[1], &table.project(&[2, 0]).unwrap(), &plain_layout());
    let wide: ArrayRef = Arc::new(Int64Array::from_iter_values(0..10));
    write(&paths[2], &RecordBatch::try_from_iter([("half", wide)]).unwrap(), &plain_layout());
    let job = job(2);
    let source = open(&paths.iter().map(PathBuf::as_path).collect::<Vec<_>>(), &job).unwrap();
    let types: Vec<_> = source.schema().fields().iter().map(|f| (f.name().clone(), f.data_type().clone())).collect();
    assert_eq!(
        types,
        [("half".into(), DataType::Int64), ("text".into(), DataType::Utf8View), ("id".into(), DataType::Int64)]
    );
    assert!(source.schema().fields().iter().all(|field| field.is_nullable()));
    let batch = read_plan(&source, &source.plan(&ReadRequest::default()).unwrap()).unwrap();
    assert_eq!(batch.num_rows(), 30);
    assert_eq!(batch.column(0).null_count(), 2 + 10);
    assert_eq!(batch.column(2).null_count(), 20);

    let text: ArrayRef = Arc::new(StringArray::from(vec!["x"]));
    write(&paths[1], &RecordBatch::try_from_iter([("half", text)]).unwrap(), &plain_layout());
    let error = open(&paths.iter().map(PathBuf::as_path).collect::<Vec<_>>(), &job).err().unwrap();
    assert_eq!(error.kind(), ErrorKind::Invalid);
    let message = error.to_string();
    assert!(
        message.contains("0.parquet") && message.contains("1.parquet") && message.contains("\"half\""),
        "{message}"
    );
}

#[test]
fn a_dropped_read_stops_and_a_cancelled_one_says_so() {
    let (_folder, path) = case();
    write(&path, &numbered(5000), &plain_layout());
    let job = job(3);
    let source = open(&[&path], &job).unwrap();
    let plan = source.plan(&ReadRequest { batch_rows: Some(10), ..Default::default() }).unwrap();
    let mut batches = source.read(&plan).unwrap();
    batches.next().unwrap().unwrap();
    drop(batches);
    let mut batches = source.read(&plan).unwrap();
    batches.next().unwrap().unwrap();
    job.cancel();
    let error = batches.find_map(Result::err).unwrap();
    assert_eq!(error.kind(), ErrorKind::Cancelled);
    assert!(batches.next().is_none());
}

/// Whatever the bytes are: rows or an error, and an error that blames the file.
fn survives(path: &Path, bytes: &[u8]) -> Option<Error> {
    std::fs::write(path, bytes).unwrap();
    let outcome = read(path, &ReadRequest::default(), 1);
    let filter = Some(greater("id", 300));
    let filtered = read(path, &ReadRequest { filter, ..Default::default() }, 1);
    for error in [outcome.as_ref().err(), filtered.as_ref().err()].into_iter().flatten() {
        assert_ne!(error.kind(), ErrorKind::Internal, "{error}");
    }
    outcome.err()
}

fn small_file(folder: &Path, layout: &Layout) -> Vec<u8> {
    let path = folder.join("whole.parquet");
    write(&path, &writable(&tables::every_type(7, 60)), layout);
    let mut bytes = std::fs::read(&path).unwrap();
    write(&path, &numbered(700), layout);
    if layout.dictionary {
        bytes = std::fs::read(&path).unwrap();
    }
    bytes
}

#[test]
fn every_truncation_is_an_error() {
    let (folder, path) = case();
    let bytes = small_file(folder.path(), &plain_layout());
    for length in 0..bytes.len() {
        let error = survives(&path, &bytes[..length]).unwrap_or_else(|| panic!("{length} bytes are read"));
        assert_eq!(error.kind(), ErrorKind::Corrupt, "{length}: {error}");
        assert!(error.to_string().contains("table.parquet"), "{error}");
    }
    assert!(survives(&path, &bytes).is_none());
}

#[test]
fn flipped_bytes_do_no_harm() {
    let (folder, path) = case();
    let mut state = 0x9e37_79b9_7f4a_7c15u64;
    let mut random = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    let uncompressed = Layout { codec: Compression::UNCOMPRESSED, ..plain_layout() };
    let v2 = Layout { version: WriterVersion::PARQUET_2_0, dictionary: false, ..plain_layout() };
    for layout in [plain_layout(), uncompressed, v2] {
        let bytes = small_file(folder.path(), &layout);
        for _ in 0..700 {
            let mut damaged = bytes.clone();
            let at = random() as usize % damaged.len();
            damaged[at] ^= (random() % 255 + 1) as u8;
            survives(&path, &damaged);
        }
    }
}

#[test]
fn what_is_not_parquet_says_so() {
    let (_folder, path) = case();
    for (bytes, words) in [
        (&b""[..], "empty"),
        (b"PAR1", "too few"),
        (b"id,name\n1,a\n2,b\n", "PAR1"),
        (b"PAR1\xff\xff\xff\x7fPAR1", "the footer claims"),
        (b"PAR1\x00\x00\x00\x00PARE", "encrypted"),
    ] {
        std::fs::write(&path, bytes).unwrap();
        let error = read(&path, &ReadRequest::default(), 1).unwrap_err();
        assert!(error.to_string().contains(words), "{error}");
    }
    let schema: SchemaRef = Arc::new(Schema::empty());
    let none = RecordBatch::new_empty(Arc::new(Schema::new(vec![Field::new("a", DataType::Int32, true)])));
    write(&path, &none, &plain_layout());
    let batch = read(&path, &ReadRequest::default(), 2).unwrap();
    assert_eq!((batch.num_rows(), batch.num_columns()), (0, 1));
    assert_eq!(schema.fields().len(), 0);
}

/// The Parquet files of a folder.
fn parquet_files(folder: &Path) -> Vec<PathBuf> {
    let paths = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    paths.filter(|path| path.extension().is_some_and(|ending| ending == "parquet")).collect()
}

#[test]
fn files_of_other_writers_come_back() {
    corpus("parquet", |folder| {
        let paths = parquet_files(folder);
        assert!(paths.len() > 30, "only {} files", paths.len());
        for path in paths {
            let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
            let ours = read(&path, &ReadRequest { batch_rows: Some(7), ..Default::default() }, 2);
            match name.as_str() {
                "datapage_v1-corrupt-checksum" => assert_eq!(ours.unwrap_err().kind(), ErrorKind::Corrupt),
                // Its footer has a field that is not of the format, which the crate does not skip.
                "dict-page-offset-zero" => {
                    let ours = ours.unwrap();
                    assert_eq!((ours.num_rows(), ours.num_columns()), (39, 1));
                    let values = ours.column(0).as_primitive::<Int32Type>();
                    assert!(values.iter().all(|value| value == Some(1552)));
                }
                // Its footer counts no rows, its row groups do.
                "repeated_no_annotation" => assert_eq!(ours.unwrap().num_rows(), 6),
                // Its dictionary is longer than its footer says, which the crate does not allow for.
                "nation.dict-malformed" => assert_eq!(ours.unwrap().num_rows(), 25),
                _ => assert_same(&ours.unwrap_or_else(|e| panic!("{e}")), &read_by_crate(&path).unwrap(), &name),
            }
        }
    });
}

#[test]
fn damaged_files_of_other_writers_are_errors() {
    corpus("parquet-bad", |folder| {
        let paths = parquet_files(folder);
        for path in paths {
            let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
            match (name.as_str(), read(&path, &ReadRequest::default(), 1)) {
                // A width of zero leaves one index, as every reader takes it.
                ("ARROW-GH-43605", outcome) => assert_eq!(outcome.unwrap().num_rows(), 21_186),
                (_, outcome) => assert_eq!(outcome.unwrap_err().kind(), ErrorKind::Corrupt, "{name}"),
            }
        }
    });
}
