//! Rows that a deletion vector hides: whatever the columns, the filter, the limit and the steps, the rows that are read
//! are those that filtering them out afterwards leaves.

use std::path::Path;
use std::sync::Arc;

use arrow::array::builder::{Int32Builder, ListBuilder};
use arrow::array::types::{Int32Type, Int64Type};
use arrow::array::{
    ArrayRef, AsArray, BinaryViewArray, BooleanArray, Int32Array, Int64Array, RecordBatch, StringArray,
};
use arrow::compute::{cast, concat_batches, filter_record_batch};
use arrow::datatypes::DataType;
use lakerace_format::{
    Codec, ColumnUnion, CompareOp, Compression, DeletedRows, Expr, InputFile, Literal, ParquetOptions, ParquetSink,
    ParquetSource, ReadPlan, ReadRequest, Source, WriteOptions,
};
use lakerace_io::{ErrorKind, IfExists, Job, JobOptions, Location, Output, Result, StorageOptions};
use parquet::arrow::ArrowWriter;
use parquet::file::properties::WriterProperties;
use parquet::file::reader::FileReader;
use parquet::file::serialized_reader::SerializedFileReader;
use proptest::prelude::*;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use tempfile::TempDir;

use crate::common::{self, columns, filter_on};
use crate::parquet_read::{case, layouts, read_by_crate, writable, write};
use crate::parquet_write::tables;

const ROWS: u64 = 20_000;

/// Sorted ids, few groups, texts, some nulls, lists.
fn table() -> RecordBatch {
    let mut lists = ListBuilder::new(Int32Builder::new());
    for row in 0..ROWS as i32 {
        (0..row % 4).for_each(|item| lists.values().append_value(item + row));
        lists.append(row % 5 != 0);
    }
    let texts = (0..ROWS).map(|row| (row % 7 != 0).then(|| format!("text {}", row * row % 1013)));
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("id", Arc::new(Int64Array::from_iter_values(0..ROWS as i64))),
        ("group", Arc::new(Int32Array::from_iter((0..ROWS as i32).map(|row| (row % 11 != 0).then_some(row % 10))))),
        ("text", Arc::new(StringArray::from_iter(texts))),
        ("list", Arc::new(lists.finish())),
    ];
    RecordBatch::try_from_iter(columns).unwrap()
}

fn written(folder: &TempDir) -> std::path::PathBuf {
    let path = folder.path().join("rows.parquet");
    let properties = WriterProperties::builder()
        .set_max_row_group_row_count(Some(6000))
        .set_data_page_row_count_limit(500)
        .set_write_batch_size(100)
        .build();
    let table = table();
    let file = std::fs::File::create(&path).unwrap();
    let mut writer = ArrowWriter::try_new(file, table.schema(), Some(properties)).unwrap();
    writer.write(&table).unwrap();
    writer.close().unwrap();
    path
}

fn open(path: &Path, hidden: &[u64], threads: usize) -> Result<ParquetSource> {
    let job = Job::new(JobOptions { threads, ..JobOptions::default() });
    let object = Location::parse(path.to_str().unwrap())?.object(&StorageOptions::default(), &job)?;
    let hidden = DeletedRows::new(hidden.iter().copied(), hidden.last().copied(), u64::MAX >> 1)?;
    ParquetSource::open_files(
        vec![InputFile { hidden: Some(Arc::new(hidden)), ..InputFile::from(object) }],
        ParquetOptions::default(),
        ColumnUnion::default(),
        &job,
    )
}

fn read_plan(source: &ParquetSource, plan: &ReadPlan) -> (Option<RecordBatch>, u64) {
    let batches = source.read(plan).unwrap();
    let schema = Arc::clone(batches.schema());
    let all: Vec<RecordBatch> = batches.map(|batch| batch.unwrap()).collect();
    let rows = all.iter().map(|batch| batch.num_rows() as u64).sum();
    ((!schema.fields().is_empty()).then(|| concat_batches(&schema, &all).unwrap()), rows)
}

fn less(column: &str, value: i128) -> Expr {
    Expr::Compare {
        op: CompareOp::Less,
        left: Box::new(Expr::Column(column.to_owned())),
        right: Box::new(Expr::Literal(Literal::Number { digits: value, scale: 0 })),
    }
}

/// What is left of the table, by the slow way.
fn expected(hidden: &[u64], below: Option<(&str, i128)>, limit: usize) -> RecordBatch {
    let table = table();
    let ids = table.column(0).as_primitive::<Int64Type>().values().to_vec();
    let groups = table.column(1).as_primitive::<Int32Type>().clone();
    let keep: BooleanArray = ids
        .iter()
        .zip(groups.iter())
        .map(|(id, group)| {
            let wanted = match below {
                None => true,
                Some(("id", value)) => i128::from(*id) < value,
                Some((_, value)) => group.is_some_and(|group| i128::from(group) < value),
            };
            Some(wanted && hidden.binary_search(&(*id as u64)).is_err())
        })
        .collect();
    let kept = filter_record_batch(&table, &keep).unwrap();
    kept.slice(0, limit.min(kept.num_rows()))
}

fn assert_same(ours: &RecordBatch, expected: &RecordBatch) {
    assert_eq!(ours.num_rows(), expected.num_rows());
    for column in ours.schema().fields() {
        let ours = ours.column_by_name(column.name()).unwrap();
        let theirs = cast(expected.column_by_name(column.name()).unwrap(), ours.data_type()).unwrap();
        assert!(*ours == theirs, "column {} differs", column.name());
    }
}

#[derive(Debug, Clone)]
enum Hidden {
    /// One of so many, pseudo-randomly.
    OneOf(u64),
    /// A run.
    Run(u64, u64),
    /// All but one of so many.
    AllBut(u64),
}

impl Hidden {
    fn rows(&self) -> Vec<u64> {
        let scattered = |row: u64| row.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40;
        (0..ROWS)
            .filter(|row| match self {
                Self::OneOf(n) => scattered(*row) % n == 0,
                Self::Run(start, length) => (*start..start + length).contains(row),
                Self::AllBut(n) => scattered(*row) % n != 0,
            })
            .collect()
    }
}

fn hidden() -> impl Strategy<Value = Hidden> {
    prop_oneof![
        (1u64..2000).prop_map(Hidden::OneOf),
        (0..ROWS, 1..ROWS).prop_map(|(start, length)| Hidden::Run(start, length)),
        (2u64..500).prop_map(Hidden::AllBut),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]

    #[test]
    fn reads_what_is_left(
        hidden in hidden(),
        filter in prop::option::of((prop::sample::select(vec!["id", "group"]), 0i128..22_000)),
        columns in prop::sample::select(vec![None, Some(vec![]), Some(vec!["text"]), Some(vec!["list", "id"])]),
        limit in prop::option::of(0u64..12_000),
        batch_rows in prop::option::of(1usize..5000),
        threads in 1usize..4,
    ) {
        let folder = TempDir::new().unwrap();
        let path = written(&folder);
        let rows = hidden.rows();
        let filter = filter.map(|(column, value)| (column, if column == "group" { value % 10 } else { value }));
        let source = open(&path, &rows, threads).unwrap();
        let request = ReadRequest {
            columns: columns.map(|names| names.into_iter().map(str::to_owned).collect()),
            filter: filter.map(|(column, value)| less(column, value)),
            limit,
            batch_rows,
            ..ReadRequest::default()
        };
        let expected = expected(&rows, filter, limit.map_or(usize::MAX, |limit| limit as usize));
        let plan = source.plan(&request).unwrap();
        let (batch, count) = read_plan(&source, &plan);
        prop_assert_eq!(count, expected.num_rows() as u64);
        if let Some(batch) = batch {
            assert_same(&batch, &expected);
        }
        if filter.is_none() && limit.is_none() {
            prop_assert_eq!(plan.rows_at_most(), Some(expected.num_rows() as u64));
        }
        // Parts of the plan give the same rows.
        if limit.is_none() {
            let parts = plan.split(3);
            let counts: u64 = parts.iter().map(|part| read_plan(&source, part).1).sum();
            prop_assert_eq!(counts, expected.num_rows() as u64);
        }
    }
}

/// Rows that are hidden one by one, each with this probability, and in runs.
fn scattered(seed: u64, rows: usize, density: f64, runs: usize) -> Vec<u64> {
    let mut random = StdRng::seed_from_u64(seed);
    let mut hidden: Vec<bool> = (0..rows).map(|_| random.random_bool(density)).collect();
    for _ in 0..runs {
        let start = random.random_range(0..rows);
        let end = rows.min(start + random.random_range(1..rows.min(300) + 1));
        hidden[start..end].fill(random.random_bool(0.7));
    }
    (0..rows as u64).filter(|row| hidden[*row as usize]).collect()
}

fn densities() -> impl Strategy<Value = f64> {
    prop::sample::select(vec![0.0001, 0.01, 0.1, 0.3, 0.5, 0.7, 0.9, 0.99, 0.999])
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]

    #[test]
    fn every_type_comes_back_without_hidden_rows(
        seed in any::<u64>(), rows in 1usize..4000, layout in layouts(), density in densities(), runs in 0usize..6,
        filter in prop::option::of(any::<u32>()), batch_rows in prop::option::of(1usize..3000), threads in 1usize..4,
    ) {
        let (_folder, path) = case();
        write(&path, &writable(&tables::every_type(seed, rows)), &layout);
        let hidden = scattered(seed, rows, density, runs);
        let all = read_by_crate(&path).unwrap();
        let visible: BooleanArray =
            (0..rows as u64).map(|row| Some(hidden.binary_search(&row).is_err())).collect();
        let source = open(&path, &hidden, threads).unwrap();
        // The columns in the types that the source gives them, by the slow way.
        let schema = source.schema();
        let cast_to = |field: &arrow::datatypes::FieldRef| {
            cast(all.column_by_name(field.name()).unwrap(), field.data_type()).unwrap()
        };
        let wanted = RecordBatch::try_new(Arc::clone(&schema), schema.fields().iter().map(cast_to).collect()).unwrap();
        let wanted = filter_record_batch(&wanted, &visible).unwrap();
        let names = ["int32", "int64", "utf8", "date32", "decimal18", "float64", "binary_view", "int8"];
        let filter = filter.filter(|_| wanted.num_rows() > 0).and_then(|pick| filter_on(&wanted, &names, &[pick]));
        let request = ReadRequest { filter, batch_rows, ..ReadRequest::default() };
        let wanted = common::rows_left(&wanted, &request);
        let ours = common::read(&source, &request).unwrap();
        let what = format!("{density} {:?} {layout:?}", request.filter);
        crate::parquet_read::assert_same(&ours, &wanted, &what);
        let few = common::read(&source, &ReadRequest { batch_rows, ..columns(&["utf8", "boolean", "struct"]) }).unwrap();
        prop_assert_eq!(few.num_rows(), rows - hidden.len());
    }
}

/// Values that no codec makes smaller: numbers, texts of letters of one to four bytes, with and without nulls.
fn noise(seed: u64, rows: usize) -> RecordBatch {
    let mut random = StdRng::seed_from_u64(seed);
    let letters: Vec<char> = (' '..='~').chain('à'..='ÿ').chain('一'..='丠').chain('😀'..='😠').collect();
    let mut text = |longest: usize| -> String {
        let length = random.random_range(0..longest);
        (0..length).map(|_| letters[random.random_range(0..letters.len())]).collect()
    };
    let (short, long): (Vec<String>, Vec<String>) = (0..rows).map(|_| (text(20), text(70))).unzip();
    let mut number = || random.random::<i64>();
    let ids: Int64Array = (0..rows).map(|_| Some(number())).collect();
    let sparse: Int64Array = (0..rows).map(|_| Some(number()).filter(|number| number % 10 != 0)).collect();
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("id", Arc::new(ids)),
        ("sparse", Arc::new(sparse.clone())),
        ("bytes", Arc::new(short.iter().rev().map(|text| Some(text.as_bytes())).collect::<BinaryViewArray>())),
        (
            "short",
            Arc::new(short.iter().zip(&sparse).map(|(text, number)| number.map(|_| text)).collect::<StringArray>()),
        ),
        ("long", Arc::new(StringArray::from(long))),
    ];
    RecordBatch::try_from_iter(columns).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    /// Pages of literals, of which little is decompressed.
    #[test]
    fn pages_of_noise_come_back_without_hidden_rows(
        seed in any::<u64>(), codec in prop::sample::select(vec![Codec::Snappy, Codec::Lz4, Codec::None, Codec::Zstd]),
        page_bytes in 70_000usize..400_000, density in densities(), runs in 0usize..6, threads in 1usize..4,
        few in prop::option::of(0.0f64..1.0), batch_rows in prop::option::of(500usize..9000),
    ) {
        const ROWS: usize = 12_000;
        let (_folder, path) = case();
        let all = noise(seed, ROWS);
        let options = WriteOptions {
            compression: Some(Compression::new(codec)), page_bytes: Some(page_bytes), ..WriteOptions::default()
        };
        let job = common::job(1);
        let (store, to) = Location::parse(path.to_str().unwrap()).unwrap().open(&StorageOptions::default(), &job).unwrap();
        let output = Output::create(&store, &to, IfExists::Error).unwrap();
        let mut sink = ParquetSink::create(output, all.schema(), &options, &job).unwrap();
        sink.write(all.clone()).unwrap();
        sink.finish().unwrap();
        let file = SerializedFileReader::new(std::fs::File::open(&path).unwrap()).unwrap();
        let id = file.metadata().row_group(0).column(0).clone();
        prop_assert!(codec == Codec::Zstd || id.compressed_size() >= id.uncompressed_size(), "not literals");

        let hidden = scattered(seed, ROWS, density, runs);
        let below = few.map(|share| (share * i64::MAX as f64) as i64);
        let ids = all.column(0).as_primitive::<Int64Type>().values();
        let is_left = |row: usize| hidden.binary_search(&(row as u64)).is_err() && below.is_none_or(|below| ids[row] < below);
        let left: BooleanArray = (0..ROWS).map(|row| Some(is_left(row))).collect();
        let wanted = filter_record_batch(&all, &left).unwrap();
        let filter = below.map(|below| less("id", i128::from(below)));
        let request = ReadRequest { filter, batch_rows, ..ReadRequest::default() };
        let ours = common::read(&open(&path, &hidden, threads).unwrap(), &request).unwrap();
        crate::parquet_read::assert_same(&ours, &wanted, &format!("{codec:?} {density}"));
    }
}

#[test]
fn row_groups_without_a_visible_row_are_not_read() {
    let folder = TempDir::new().unwrap();
    let path = written(&folder);
    let source = open(&path, &(0..7000).collect::<Vec<_>>(), 1).unwrap();
    let plan = source.plan(&ReadRequest::default()).unwrap();
    let reason = plan.files[0].units[0].pruned.as_deref().unwrap();
    assert!(reason.contains("deletion vector"), "{reason}");
    assert_eq!(plan.files[0].units[1].rows_after_pages, Some(5000));
    assert_eq!(source.info().rows, Some(13_000));
    let text = source.schema().field_with_name("text").unwrap().data_type().clone();
    assert_eq!(text, DataType::Utf8View);
}

#[test]
fn rows_after_the_end_are_damage() {
    let folder = TempDir::new().unwrap();
    let path = written(&folder);
    let error = open(&path, &[3, ROWS], 1).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corrupt);
    assert!(error.to_string().contains("rows.parquet"), "{error}");
}
