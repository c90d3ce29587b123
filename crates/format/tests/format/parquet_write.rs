//! What the Parquet sink writes, the `parquet` crate's own reader reads: every type, codec, page size and batch cut.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use arrow::array::types::Float16Type;
use arrow::array::{
    Array, ArrayRef, ArrowPrimitiveType, AsArray, BinaryArray, DictionaryArray, Int64Array, RecordBatch,
    RecordBatchOptions, StringArray, StringViewArray, StructArray, UInt8Array, make_array,
};
use arrow::compute::{cast, concat_batches};
use arrow::datatypes::{DataType, Field, Fields, IntervalUnit, Schema, SchemaRef, TimeUnit, UnionFields, UnionMode};
use lakerace_format::{Codec, Compression, ParquetSink, Sink, WriteOptions, Written};
use lakerace_io::{ErrorKind, IfExists, Job, JobOptions, Location, Output, Result, StorageOptions};
use parquet::arrow::arrow_reader::{ArrowReaderOptions, ParquetRecordBatchReaderBuilder};
use parquet::basic::{ColumnOrder, Encoding, Type};
use parquet::column::page::Page;
use parquet::file::metadata::{PageIndexPolicy, ParquetMetaData, RowGroupMetaData};
use parquet::file::page_index::column_index::ColumnIndexMetaData;
use parquet::file::properties::ReaderProperties;
use parquet::file::reader::{FileReader, RowGroupReader};
use parquet::file::serialized_reader::{ReadOptionsBuilder, SerializedFileReader};
use proptest::prelude::*;
use tempfile::TempDir;

pub mod tables;

fn job(threads: usize) -> Job {
    Job::new(JobOptions { threads, ..JobOptions::default() })
}

fn sink(path: &Path, schema: SchemaRef, options: &WriteOptions, job: &Job) -> Result<Box<dyn Sink>> {
    let location = Location::parse(path.to_str().unwrap())?;
    let (store, path) = location.open(&StorageOptions::default(), job)?;
    ParquetSink::create(Output::create(&store, &path, IfExists::Error)?, schema, options, job)
}

pub fn write(path: &Path, batches: &[RecordBatch], options: &WriteOptions, threads: usize) -> Written {
    let job = job(threads);
    let mut sink = sink(path, batches[0].schema(), options, &job).unwrap();
    batches.iter().for_each(|batch| sink.write(batch.clone()).unwrap());
    let written = sink.finish().unwrap();
    let rows: usize = batches.iter().map(RecordBatch::num_rows).sum();
    assert_eq!(written.rows, rows as u64);
    assert_eq!(written.bytes, std::fs::metadata(path).unwrap().len());
    assert_eq!(written.files, [path.to_str().unwrap()]);
    assert_eq!(job.meter().counts().rows_written, rows as u64);
    written
}

fn read(path: &Path) -> (Arc<ParquetMetaData>, RecordBatch) {
    let options = ArrowReaderOptions::new().with_page_index_policy(PageIndexPolicy::Optional);
    let builder = ParquetRecordBatchReaderBuilder::try_new_with_options(File::open(path).unwrap(), options).unwrap();
    let (metadata, schema) = (Arc::clone(builder.metadata()), Arc::clone(builder.schema()));
    let batches: Vec<_> = builder.build().unwrap().map(|batch| batch.unwrap()).collect();
    (metadata, concat_batches(&schema, &batches).unwrap())
}

/// As it should come back: in the file's units, with the names that Parquet gives to the parts of lists and maps.
fn assert_same(written: &RecordBatch, read: &RecordBatch) {
    assert_eq!(written.num_rows(), read.num_rows());
    assert_eq!(written.num_columns(), read.num_columns());
    for (at, field) in written.schema().fields().iter().enumerate() {
        let found = read.column(at);
        let wanted = cast(written.column(at), found.data_type()).unwrap();
        assert_eq!(read.schema().field(at).name(), field.name());
        assert_eq!(&wanted, found, "column {}: {}", field.name(), field.data_type());
    }
}

#[test]
fn dictionary_arrays_become_the_bytes_of_plain_ones() {
    let word = |at: usize| ["a word that no view holds", "b", "", "d", "another word of some length", "b"][at % 7 % 6];
    let words: StringViewArray = (0..6).map(|at| Some(word(at))).collect();
    let keys: UInt8Array = (0..120_000_usize).map(|row| (row * row % 7 % 6) as u8).collect();
    let dictionary: ArrayRef = Arc::new(DictionaryArray::new(keys, Arc::new(words)));
    let plain = cast(&dictionary, &DataType::Utf8View).unwrap();
    let folder = TempDir::new().unwrap();
    // Pages, filters and indexes, and statistics. The schema tells of dictionaries.
    let written = |name: &str, column: &ArrayRef, options: &WriteOptions, rows: usize| {
        let path = folder.path().join(name);
        let table = RecordBatch::try_from_iter([("w", Arc::clone(column))]).unwrap();
        write(&path, &cut(&table, &[rows]), options, 2);
        let mut bytes = std::fs::read(&path).unwrap();
        let (metadata, _) = read(&path);
        let statistics = |group: &RowGroupMetaData| group.column(0).statistics().unwrap().clone();
        let statistics: Vec<_> = metadata.row_groups().iter().map(statistics).collect();
        std::fs::remove_file(&path).unwrap();
        let footer = u32::from_le_bytes(*bytes[..bytes.len() - 4].last_chunk().unwrap()) as usize;
        bytes.truncate(bytes.len() - 8 - footer);
        (bytes, statistics)
    };
    for (row_group_rows, rows, bloom) in
        [(None, 8192, false), (Some(10_000), 3001, true), (Some(77_000), 120_000, false)]
    {
        let bloom_filter_columns = if bloom { vec!["w".to_owned()] } else { Vec::new() };
        let options = WriteOptions { row_group_rows, bloom_filter_columns, ..WriteOptions::default() };
        let wanted = written("plain", &plain, &options, rows);
        assert!(written("dictionary", &dictionary, &options, rows) == wanted, "{options:?}");
    }
}

/// Cuts a table into batches of these lengths, over and over.
fn cut(table: &RecordBatch, lengths: &[usize]) -> Vec<RecordBatch> {
    let mut batches = Vec::new();
    let (mut at, mut lengths) = (0, lengths.iter().cycle());
    while at < table.num_rows() {
        let rows = (*lengths.next().unwrap()).min(table.num_rows() - at);
        batches.push(table.slice(at, rows));
        at += rows;
    }
    if batches.is_empty() { vec![table.clone()] } else { batches }
}

fn codecs() -> impl Strategy<Value = Compression> {
    let with = |codec, level| Compression { codec, level };
    prop::sample::select(vec![
        with(Codec::None, None),
        with(Codec::Snappy, None),
        with(Codec::Lz4, None),
        with(Codec::Zstd, None),
        with(Codec::Zstd, Some(9)),
        with(Codec::Gzip, Some(1)),
        with(Codec::Brotli, Some(3)),
    ])
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn every_type_comes_back(
        seed in any::<u64>(),
        rows in prop_oneof![0usize..40, 1000usize..6000],
        compression in codecs(),
        dictionary in any::<bool>(),
        differences in any::<bool>(),
        statistics in any::<bool>(),
        group_rows in prop_oneof![Just(None), (1usize..3000).prop_map(Some)],
        page_bytes in prop_oneof![Just(None), (1usize..20_000).prop_map(Some)],
        lengths in prop::collection::vec(1usize..1500, 1..4),
        threads in 1usize..4,
    ) {
        let table = tables::every_type(seed, rows);
        let options = WriteOptions {
            compression: Some(compression),
            dictionary,
            differences,
            statistics,
            row_group_rows: group_rows.map(|r| r.max(rows / 8)),
            page_bytes: page_bytes.map(|b| b.max(rows / 8)),
            ..WriteOptions::default()
        };
        let folder = TempDir::new().unwrap();
        let path = folder.path().join("t.parquet");
        write(&path, &cut(&table, &lengths), &options, threads);
        let (metadata, found) = read(&path);
        assert_same(&table, &found);
        let groups = options.row_group_rows.map_or(usize::from(rows > 0), |r| rows.div_ceil(r));
        prop_assert_eq!(metadata.num_row_groups(), groups);
    }

    #[test]
    fn bounds_hold(seed in any::<u64>(), rows in 1usize..4000, page_bytes in 100usize..10_000) {
        let table = tables::every_type(seed, rows);
        let folder = TempDir::new().unwrap();
        let path = folder.path().join("t.parquet");
        let row_group_rows = Some(rows / 2 + 1);
        let options = WriteOptions { page_bytes: Some(page_bytes), row_group_rows, ..WriteOptions::default() };
        write(&path, std::slice::from_ref(&table), &options, 1);
        let (metadata, found) = read(&path);
        tables::check_bounds(&metadata, &found);
    }
}

#[test]
fn threads_make_no_difference_to_the_file() {
    let table = tables::every_type(7, 20_000);
    let folder = TempDir::new().unwrap();
    let options =
        WriteOptions { row_group_rows: Some(9000), row_group_bytes: Some(1 << 20), ..WriteOptions::default() };
    let mut first = None;
    for threads in [1, 2, 3, 5] {
        let path = folder.path().join(format!("{threads}.parquet"));
        write(&path, &cut(&table, &[3000]), &options, threads);
        let bytes = std::fs::read(path).unwrap();
        assert!(*first.get_or_insert(bytes.clone()) == bytes, "{threads} threads");
    }
}

#[test]
fn a_row_group_ends_at_its_bytes() {
    let schema = Arc::new(Schema::new(vec![Field::new("blob", DataType::Binary, false)]));
    let mut seed = 1u64;
    let mut random = || {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) as u8
    };
    let blobs: Vec<Vec<u8>> = (0..64).map(|_| (0..100_000).map(|_| random()).collect()).collect();
    let array: ArrayRef = Arc::new(arrow::array::BinaryArray::from_iter_values(&blobs));
    let table = RecordBatch::try_new(schema, vec![array]).unwrap();
    let folder = TempDir::new().unwrap();
    for threads in [1, 2] {
        let path = folder.path().join(format!("{threads}.parquet"));
        let options = WriteOptions { row_group_bytes: Some(1_000_000), ..WriteOptions::default() };
        write(&path, &cut(&table, &[5]), &options, threads);
        let (metadata, found) = read(&path);
        assert_same(&table, &found);
        assert_eq!(metadata.num_row_groups(), 7);
        assert!(metadata.row_groups().iter().all(|group| group.compressed_size() < 1_600_000));
    }
}

#[test]
fn no_rows_and_no_columns() {
    let folder = TempDir::new().unwrap();
    let empty = tables::every_type(1, 0);
    let path = folder.path().join("rows.parquet");
    write(&path, std::slice::from_ref(&empty), &WriteOptions::default(), 2);
    let (metadata, found) = read(&path);
    assert_eq!((metadata.num_row_groups(), found.num_rows()), (0, 0));
    assert_eq!(found.num_columns(), empty.num_columns());

    let options = RecordBatchOptions::new().with_row_count(Some(5));
    let table = RecordBatch::try_new_with_options(Arc::new(Schema::empty()), vec![], &options).unwrap();
    let path = folder.path().join("columns.parquet");
    write(&path, &[table], &WriteOptions::default(), 2);
    let (metadata, _) = read(&path);
    assert_eq!(metadata.file_metadata().num_rows(), 5);
}

#[test]
fn ten_thousand_columns() {
    let fields: Vec<Field> = (0..10_000).map(|i| Field::new(format!("c{i}"), DataType::Int32, i % 2 == 0)).collect();
    let column: ArrayRef = Arc::new(arrow::array::Int32Array::from_iter_values(0..50));
    let columns = vec![column; fields.len()];
    let table = RecordBatch::try_new(Arc::new(Schema::new(fields)), columns).unwrap();
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("wide.parquet");
    write(&path, &cut(&table, &[20]), &WriteOptions::default(), 2);
    let (_, found) = read(&path);
    assert_same(&table, &found);
}

/// A column of 100,000 rows whose values are made from their numbers.
fn strings(value: impl Fn(usize) -> String) -> RecordBatch {
    let schema = Arc::new(Schema::new(vec![Field::new("s", DataType::Utf8View, true)]));
    let array: StringViewArray = (0..100_000).map(|i| Some(value(i))).collect();
    RecordBatch::try_new(schema, vec![Arc::new(array)]).unwrap()
}

fn encodings(table: &RecordBatch, options: &WriteOptions) -> Vec<Encoding> {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("t.parquet");
    write(&path, &cut(table, &[7000]), options, 1);
    let (metadata, found) = read(&path);
    assert_same(table, &found);
    let mut encodings: Vec<_> = metadata.row_group(0).column(0).encodings().filter(|e| *e != Encoding::RLE).collect();
    encodings.sort();
    encodings
}

#[test]
fn dictionaries_where_they_pay() {
    let options = WriteOptions::default();
    let few = strings(|i| format!("value {}", i % 100));
    let plain = [Encoding::PLAIN];
    let dictionary = [Encoding::PLAIN, Encoding::RLE_DICTIONARY];
    assert_eq!(encodings(&few, &options), dictionary);
    assert_eq!(encodings(&few, &WriteOptions { dictionary: false, ..options.clone() }), plain);
    let all_different = strings(|i| format!("value {}", i * 7919));
    assert_eq!(encodings(&all_different, &options), plain);
    // First few, then ever new: the dictionary fills up and the rest goes without.
    let turning = strings(|i| if i < 40_000 { format!("{}", i % 10) } else { format!("{i:060}") });
    assert_eq!(encodings(&turning, &options), dictionary);
}

/// A column of 100,000 numbers that are made from those of their rows; every `null_step`-th is null.
fn numbers(data_type: &DataType, null_step: usize, value: impl Fn(i64) -> i64) -> RecordBatch {
    let values: Int64Array = (0..100_000).map(|i| (i % null_step != 0).then(|| value(i as i64))).collect();
    let array = cast(&values, data_type).unwrap();
    RecordBatch::try_new(Arc::new(Schema::new(vec![Field::new("n", data_type.clone(), true)])), vec![array]).unwrap()
}

#[test]
fn integers_in_order_as_differences_on_request() {
    let options = WriteOptions { differences: true, ..WriteOptions::default() };
    let (plain, differences) = ([Encoding::PLAIN], [Encoding::DELTA_BINARY_PACKED]);
    let days = DataType::Timestamp(TimeUnit::Microsecond, None);
    for data_type in [DataType::Int32, DataType::Int64, DataType::UInt32, DataType::Date32, days] {
        for null_step in [usize::MAX, 7] {
            let rising = numbers(&data_type, null_step, |i| i * 16_000 + i % 977);
            assert_eq!(encodings(&rising, &options), differences, "{data_type} {null_step}");
            assert_eq!(encodings(&rising, &WriteOptions::default()), plain, "{data_type} {null_step}");
            let falling = numbers(&data_type, null_step, |i| 1_700_000_000 - i * 16_000 - i % 977);
            assert_eq!(encodings(&falling, &options), plain, "{data_type} {null_step}");
        }
    }
    assert_eq!(encodings(&numbers(&DataType::Float64, 9, |i| i * 3), &options), plain);
    // What holds for a page need not hold for the next one.
    let turning = numbers(&DataType::Int64, 9, |i| if i < 50_000 { i * 16_000 } else { -i });
    assert_eq!(encodings(&turning, &options), [Encoding::PLAIN, Encoding::DELTA_BINARY_PACKED]);
}

#[test]
fn lengths_of_texts_apart_on_request() {
    let options = WriteOptions { differences: true, ..WriteOptions::default() };
    let (plain, apart) = ([Encoding::PLAIN], [Encoding::DELTA_LENGTH_BYTE_ARRAY]);
    let words = |i: usize| format!("{}{}", "é".repeat(i % 41), i.wrapping_mul(0x9E37_79B9_7F4A_7C15));
    let texts = strings(words);
    let schema = |data_type| Arc::new(Schema::new(vec![Field::new("s", data_type, true)]));
    let gaps: StringArray = (0..50_000).map(|i| (i % 3 > 0).then(|| words(i))).collect();
    let gaps = RecordBatch::try_new(schema(DataType::Utf8), vec![Arc::new(gaps)]).unwrap();
    let bytes: BinaryArray =
        (0..50_000usize).map(|i| Some(i.wrapping_mul(0xB7E1_5162_8AED_2A6B).to_le_bytes())).collect();
    let bytes = RecordBatch::try_new(schema(DataType::Binary), vec![Arc::new(bytes)]).unwrap();
    for table in [&texts, &gaps, &bytes] {
        assert_eq!(encodings(table, &options), apart);
        assert_eq!(encodings(table, &WriteOptions::default()), plain);
        let without = WriteOptions { dictionary: false, ..options.clone() };
        assert_eq!(encodings(&table.slice(0, 100), &without), apart);
    }
    // What is begun with a dictionary which then pays no more.
    assert_eq!(encodings(&strings(|i| format!("value {i}")).slice(0, 20), &options), apart);
    let nothing = StringArray::from(vec![None::<&str>; 1000]);
    let nothing = RecordBatch::try_new(schema(DataType::Utf8), vec![Arc::new(nothing)]).unwrap();
    let without = WriteOptions { dictionary: false, ..options.clone() };
    assert_eq!(encodings(&nothing, &without), apart);
    // A text that is longer than all pages.
    let long = strings(|i| if i == 7 { "long ".repeat(1_000_000) } else { words(i) });
    assert_eq!(encodings(&long, &options), apart);
}

#[test]
fn bloom_filters_hold_every_value() {
    let table = tables::every_type(3, 3000);
    let schema = table.schema();
    // The crate's rows know no intervals, and no unsigned numbers beyond a few widths.
    let named = |name: &str| ["int64", "utf8", "float64", "decimal38", "list", "int64_few", "utf8view"].contains(&name);
    let shown: Vec<usize> = (0..schema.fields().len()).filter(|at| named(schema.field(*at).name())).collect();
    let table = table.project(&shown).unwrap();
    let folder = TempDir::new().unwrap();
    for dictionary in [true, false] {
        let path = folder.path().join(format!("{dictionary}.parquet"));
        let names = ["int64", "utf8", "utf8view", "float64", "decimal38", "list", "int64_few"];
        let bloom_filter_columns = names.map(str::to_owned).to_vec();
        let options = WriteOptions { dictionary, bloom_filter_columns, ..WriteOptions::default() };
        write(&path, &cut(&table, &[700]), &options, 2);
        tables::check_bloom_filters(&path);
    }
}

fn error_of(schema: Schema, options: &WriteOptions) -> lakerace_io::Error {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("t.parquet");
    let error = sink(&path, Arc::new(schema), options, &job(1)).err().expect("an error");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "something was left behind");
    error
}

#[test]
fn types_that_can_not_be_written() {
    let child = |data_type| Arc::new(Field::new("inner", data_type, true));
    let union = DataType::Union(UnionFields::empty(), UnionMode::Sparse);
    for (data_type, place) in [
        (union.clone(), "column \"x\""),
        (DataType::List(child(DataType::Interval(IntervalUnit::MonthDayNano))), "column \"x.inner\""),
        (DataType::Struct(vec![child(union.clone())].into()), "column \"x.inner\""),
        (DataType::List(child(union)), "column \"x.inner\""),
        (DataType::Struct(Fields::empty()), "column \"x\""),
    ] {
        let error = error_of(Schema::new(vec![Field::new("x", data_type, true)]), &WriteOptions::default());
        assert_eq!(error.kind(), ErrorKind::Unsupported);
        assert!(error.to_string().contains(place), "{error}");
    }
}

#[test]
fn options_that_can_not_be_used() {
    let fields = vec![Field::new("price", DataType::Int32, true), Field::new("flag", DataType::Boolean, true)];
    let schema = || Schema::new(fields.clone());
    let bloom = |name: &str| WriteOptions { bloom_filter_columns: vec![name.to_owned()], ..WriteOptions::default() };
    let error = error_of(schema(), &bloom("prize"));
    assert_eq!(error.kind(), ErrorKind::NotFound);
    assert!(error.to_string().contains("\"price\""), "{error}");
    assert_eq!(error_of(schema(), &bloom("flag")).kind(), ErrorKind::Usage);
    let level = Compression { codec: Codec::Zstd, level: Some(99) };
    for bad in [
        WriteOptions { row_group_rows: Some(0), ..WriteOptions::default() },
        WriteOptions { page_bytes: Some(0), ..WriteOptions::default() },
        WriteOptions { compression: Some(level), ..WriteOptions::default() },
    ] {
        assert_eq!(error_of(schema(), &bad).kind(), ErrorKind::Usage);
    }
}

#[test]
fn batches_that_do_not_fit() {
    let schema = Arc::new(Schema::new(vec![Field::new("n", DataType::Int32, false)]));
    let folder = TempDir::new().unwrap();
    for threads in [1, 2] {
        let path = folder.path().join("t.parquet");
        let mut other = sink(&path, Arc::clone(&schema), &WriteOptions::default(), &job(threads)).unwrap();
        let strings = Arc::new(Schema::new(vec![Field::new("n", DataType::Utf8, false)]));
        let error = other.write(RecordBatch::new_empty(strings)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid);
        assert!(error.to_string().contains("column \"n\""), "{error}");
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn a_decimal_beyond_its_precision_is_an_error_that_names_the_column() {
    let field = Field::new("d", DataType::Decimal128(9, 2), true);
    let array = arrow::array::Decimal128Array::from(vec![1, i128::from(i32::MAX) + 1]);
    // Arrow does not compare values with the precision here, as many producers don't.
    let data = array.into_data().into_builder().data_type(field.data_type().clone());
    let array = make_array(data.build().unwrap());
    let table = RecordBatch::try_new(Arc::new(Schema::new(vec![field])), vec![array]).unwrap();
    for threads in [1, 2] {
        let folder = TempDir::new().unwrap();
        let path = folder.path().join("t.parquet");
        let mut sink = sink(&path, table.schema(), &WriteOptions::default(), &job(threads)).unwrap();
        let error = sink.write(table.clone()).and_then(|()| sink.finish().map(drop)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid);
        assert!(error.to_string().contains("column \"d\""), "{error}");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}

#[test]
fn a_cancelled_write_leaves_nothing() {
    let table = tables::every_type(5, 1000);
    for threads in [1, 2] {
        let folder = TempDir::new().unwrap();
        let job = job(threads);
        let path = folder.path().join("t.parquet");
        let mut sink = sink(&path, table.schema(), &WriteOptions::default(), &job).unwrap();
        sink.write(table.clone()).unwrap();
        job.cancel();
        assert_eq!(sink.write(table.clone()).unwrap_err().kind(), ErrorKind::Cancelled);
        drop(sink);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}

#[test]
fn sorted_pages_say_so() {
    let schema = Arc::new(Schema::new(vec![Field::new("n", DataType::Int64, true)]));
    for (step, order) in [(1i64, "ASCENDING"), (-1, "DESCENDING")] {
        let array: ArrayRef = Arc::new(arrow::array::Int64Array::from_iter_values((0..50_000).map(|i| i * step)));
        let table = RecordBatch::try_new(Arc::clone(&schema), vec![array]).unwrap();
        let folder = TempDir::new().unwrap();
        let path = folder.path().join("t.parquet");
        let options = WriteOptions { page_bytes: Some(8000), ..WriteOptions::default() };
        write(&path, &[table], &options, 1);
        let (metadata, _) = read(&path);
        let index = metadata.page_index_for_row_group(0);
        let found = index.column_index(0).unwrap();
        assert_eq!(format!("{:?}", found.get_boundary_order().unwrap()), order);
        assert_eq!(found.num_pages(), 50);
    }
}

type Half = <Float16Type as ArrowPrimitiveType>::Native;

/// A table of floats alone, flat and nested, of these values.
fn floats(values: &[f64]) -> RecordBatch {
    let doubles: ArrayRef = Arc::new(arrow::array::Float64Array::from(values.to_vec()));
    let singles = cast(&doubles, &DataType::Float32).unwrap();
    let halves = cast(&doubles, &DataType::Float16).unwrap();
    let inner = |array: &ArrayRef| (Arc::new(Field::new("x", array.data_type().clone(), true)), Arc::clone(array));
    let nested = |array| Arc::new(StructArray::from(vec![inner(array)])) as ArrayRef;
    let columns = [&doubles, &singles, &halves]
        .into_iter()
        .flat_map(|array| [Arc::clone(array), nested(array)])
        .enumerate()
        .map(|(number, array)| (format!("c{number}"), array));
    RecordBatch::try_from_iter(columns).unwrap()
}

#[test]
fn floats_have_the_order_and_the_bounds_that_every_reader_knows() {
    let one_page = |values: &[f64]| {
        let folder = TempDir::new().unwrap();
        let path = folder.path().join("t.parquet");
        let table = floats(values);
        write(&path, std::slice::from_ref(&table), &WriteOptions::default(), 1);
        let (metadata, found) = read(&path);
        assert_same(&table, &found);
        metadata
    };
    // The bits of every bound as a double, so that the sign of a zero shows.
    let wide = |column: usize, bytes: &[u8]| -> u64 {
        let value = match column / 2 {
            0 => f64::from_le_bytes(bytes.try_into().unwrap()),
            1 => f64::from(f32::from_le_bytes(bytes.try_into().unwrap())),
            _ => f64::from(Half::from_le_bytes(bytes.try_into().unwrap())),
        };
        value.to_bits()
    };
    for (values, nans, bounds) in [
        (&[0.0, 2.5][..], 0, Some((-0.0, 2.5))),
        (&[-1.5, -0.0], 0, Some((-1.5, 0.0))),
        (&[0.0, f64::NAN, 2.5, -f64::NAN], 2, None),
        (&[f64::NEG_INFINITY, f64::INFINITY], 0, Some((f64::NEG_INFINITY, f64::INFINITY))),
        (&[f64::NAN, f64::NAN], 2, None),
    ] {
        let metadata = one_page(values);
        for column in 0..6 {
            let order = metadata.file_metadata().column_order(column);
            assert!(matches!(order, ColumnOrder::TYPE_DEFINED_ORDER(_)), "column {column}: {order:?}");
            let statistics = metadata.row_group(0).column(column).statistics().unwrap();
            assert_eq!((statistics.null_count_opt(), statistics.nan_count_opt()), (Some(0), Some(nans)));
            let found = statistics.min_bytes_opt().zip(statistics.max_bytes_opt());
            let wanted = bounds.map(|(min, max): (f64, f64)| (min.to_bits(), max.to_bits()));
            assert_eq!(found.map(|(min, max)| (wide(column, min), wide(column, max))), wanted, "column {column}");
            let index = metadata.page_index_for_row_group(0);
            let Some(index) = index.column_index(column) else {
                assert_eq!(bounds, None, "column {column} has no column index");
                continue;
            };
            let page = match index {
                ColumnIndexMetaData::DOUBLE(pages) => pages.min_value(0).zip(pages.max_value(0)).map(|(a, b)| (*a, *b)),
                ColumnIndexMetaData::FLOAT(pages) => {
                    pages.min_value(0).zip(pages.max_value(0)).map(|(a, b)| (f64::from(*a), f64::from(*b)))
                }
                ColumnIndexMetaData::FIXED_LEN_BYTE_ARRAY(pages) => pages
                    .min_value(0)
                    .zip(pages.max_value(0))
                    .map(|(a, b)| (f64::from_bits(wide(column, a)), f64::from_bits(wide(column, b)))),
                other => panic!("{other:?}"),
            };
            assert_eq!(page.map(|(min, max)| (min.to_bits(), max.to_bits())), wanted, "column {column}");
            assert_eq!(index.nan_count(0), Some(nans as i64));
        }
    }
}

/// The bits of the dictionary of a column of numbers, in its order, and whether the pages' encodings are told.
fn number_dictionary(group: &dyn RowGroupReader, column: usize) -> (Vec<u64>, bool) {
    let page = group.get_column_page_reader(column).unwrap().get_next_page().unwrap().unwrap();
    let Page::DictionaryPage { buf, .. } = page else { panic!("column {column} has no dictionary") };
    let chunk = group.metadata().column(column);
    let width = if chunk.column_type() == Type::FLOAT { 4 } else { 8 };
    let bits = |value: &[u8]| value.iter().rev().fold(0, |bits, byte| bits << 8 | u64::from(*byte));
    (buf.chunks(width).map(bits).collect(), chunk.page_encoding_stats_mask().is_some())
}

#[test]
fn readers_find_each_zero_and_nan_in_dictionaries_and_bloom_filters() {
    let folder = TempDir::new().unwrap();
    let odd = f64::from_bits(0xfff8_0000_0000_0007);
    for (name, repeated) in [("negative", -0.0), ("positive", 0.0), ("nan", odd), ("other", 7.5)] {
        let path = folder.path().join(name);
        let table = floats(&[repeated; 500]).project(&[0, 1, 2, 3]).unwrap();
        let bloom_filter_columns = ["c0", "c1", "c2", "c3"].map(str::to_owned).to_vec();
        write(
            &path,
            std::slice::from_ref(&table),
            &WriteOptions { bloom_filter_columns, ..WriteOptions::default() },
            1,
        );
        let (_, found) = read(&path);
        assert_same(&table, &found);
        let doubles = found.column(0).as_primitive::<arrow::datatypes::Float64Type>();
        assert!(doubles.values().iter().all(|value| value.to_bits() == repeated.to_bits()), "{name}");
        let properties = ReaderProperties::builder().set_read_bloom_filter(true).build();
        let options = ReadOptionsBuilder::new().with_reader_properties(properties).build();
        let reader = SerializedFileReader::new_with_options(File::open(&path).unwrap(), options).unwrap();
        let group = reader.get_row_group(0).unwrap();
        let sought: &[f64] = match name {
            "nan" => &[odd, f64::NAN],
            "other" => &[7.5],
            _ => &[repeated, -repeated],
        };
        let bits: Vec<u64> = sought.iter().map(|value| value.to_bits()).collect();
        assert_eq!(number_dictionary(group.as_ref(), 0), (bits, true));
        let singles = sought.iter().map(|value| u64::from((*value as f32).to_bits())).collect();
        assert_eq!(number_dictionary(group.as_ref(), 2), (singles, true));
        // The writer of nested columns can't add to a dictionary: without the encodings readers do not rely on it.
        assert!([1, 3].into_iter().all(|nested| !number_dictionary(group.as_ref(), nested).1));
        for value in sought {
            let filters = [0, 1, 2, 3].map(|column| group.get_column_bloom_filter(column).unwrap());
            assert!(filters[..2].iter().all(|filter| filter.check(value)), "{name}: {value}");
            assert!(filters[2..].iter().all(|filter| filter.check(&(*value as f32))), "{name}: {value}");
        }
    }
}
