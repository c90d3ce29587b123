//! Tables through real files: written, found, read, filtered, counted, summed.
#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "end_to_end/tpch.rs"]
mod tpch;

use std::path::Path;
use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, AsArray, BooleanArray, Date32Array, Decimal128Array, Float64Array, Int64Array, RecordBatch,
    StringViewArray, StructArray, TimestampMicrosecondArray,
};
use arrow::compute::{concat_batches, filter_record_batch};
use arrow::datatypes::{DataType, Date32Type, Field, Int64Type};
use lakerace::{
    Batches, CSV, ColumnItem, CopyOptions, Error, ErrorKind, FieldPaths, Job, JobOptions, PARQUET, ReadOptions, Result,
    Scan, WriteMode, WriteOptions, checksum, copy, parse_filter, schema, write,
};
use lakerace_format::Predicate;

/// Rows `start..start + rows`, every type that CSV keeps, some nulls.
fn table(start: usize, rows: usize) -> RecordBatch {
    let range = || start..start + rows;
    let some = |i: usize| i % 7 != 3;
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("id", Arc::new(Int64Array::from_iter_values(range().map(|i| i as i64)))),
        ("price", {
            let prices = range().map(|i| some(i).then_some((i as i128 * 37) % 10_000));
            Arc::new(prices.collect::<Decimal128Array>().with_precision_and_scale(15, 2).unwrap())
        }),
        ("weight", Arc::new(range().map(|i| some(i + 1).then_some(i as f64 / 8.0)).collect::<Float64Array>())),
        (
            "name",
            Arc::new(range().map(|i| some(i + 2).then(|| format!("name {}", i % 50))).collect::<StringViewArray>()),
        ),
        ("day", Arc::new(Date32Array::from_iter_values(range().map(|i| 19_000 + (i / 10) as i32)))),
        ("at", Arc::new(TimestampMicrosecondArray::from_iter_values(range().map(|i| i as i64 * 1_000_001)))),
        ("ok", Arc::new(range().map(|i| some(i + 3).then_some(i % 2 == 0)).collect::<BooleanArray>())),
    ];
    RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(n, a)| (n, a, true))).unwrap()
}

fn batches(batch: &RecordBatch) -> Batches {
    Batches::new(batch.schema(), std::iter::once(Ok(batch.clone())))
}

fn row_groups(rows: usize) -> CopyOptions {
    let write = WriteOptions { row_group_rows: Some(rows), ..WriteOptions::default() };
    CopyOptions { write, ..CopyOptions::default() }
}

fn put(batch: &RecordBatch, path: &Path) -> String {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    let path = path.to_str().unwrap();
    write(batches(batch), path, &row_groups(1000), &Job::default()).unwrap();
    path.to_owned()
}

fn options(filter: Option<&str>) -> ReadOptions {
    ReadOptions { filter: filter.map(str::to_owned), ..ReadOptions::default() }
}

fn read(location: &str, options: &ReadOptions) -> Result<RecordBatch> {
    let scan = Scan::open(location, options, &Job::default())?;
    let all = scan.batches()?.collect::<Result<Vec<_>>>()?;
    Ok(concat_batches(&scan.schema(), &all).unwrap())
}

fn sum_of(location: &str) -> u128 {
    Scan::open(location, &ReadOptions::default(), &Job::default()).unwrap().checksum().unwrap().sum
}

fn kind(outcome: Result<impl Sized>) -> (ErrorKind, String) {
    outcome.map_err(|e: Error| (e.kind(), e.to_string())).err().expect("an error")
}

#[test]
fn every_format_has_the_same_rows() {
    let folder = tempfile::tempdir().unwrap();
    let batch = table(0, 5000);
    let expected = checksum(batches(&batch), &Job::default()).unwrap();
    assert_eq!(expected.rows, 5000);
    let parquet = put(&batch, &folder.path().join("a.parquet"));
    assert_eq!(read(&parquet, &ReadOptions::default()).unwrap(), batch);
    assert_eq!(sum_of(&parquet), expected.sum);
    for name in ["a.csv", "b.csv.gz", "c.csv.zst", "d.parquet", "e.pq"] {
        let target = folder.path().join(name).to_str().unwrap().to_owned();
        let written = copy(&parquet, &target, &CopyOptions::default(), &Job::default()).unwrap();
        assert_eq!((written.rows, written.files.as_slice()), (5000, [target.clone()].as_slice()), "{name}");
        assert_eq!(written.bytes, std::fs::metadata(&target).unwrap().len(), "{name}");
        assert_eq!(sum_of(&target), expected.sum, "{name}");
    }
    // Back from CSV to Parquet, with the types that were inferred.
    let back = folder.path().join("back.parquet").to_str().unwrap().to_owned();
    copy(folder.path().join("a.csv").to_str().unwrap(), &back, &CopyOptions::default(), &Job::default()).unwrap();
    assert_eq!(sum_of(&back), expected.sum);
    // TBL has no header: its columns are named by number.
    let tbl = folder.path().join("t.tbl").to_str().unwrap().to_owned();
    copy(&parquet, &tbl, &CopyOptions::default(), &Job::default()).unwrap();
    assert_eq!(sum_of(&tbl), expected.sum);
}

const FILTERS: [&str; 14] = [
    "id >= 100 AND id < 1200",
    "id = 4321",
    "price > 50.005",
    "price IS NULL",
    "name LIKE 'name 1%' AND ok",
    "NOT (weight < 100.5 OR name = 'name 7')",
    "day BETWEEN DATE '2022-03-01' AND '2022-03-20'",
    "at >= TIMESTAMP '1970-01-01 01:00:00'",
    "name IN ('name 1', 'name 2', 'name 3', 'name 4', 'name 5', 'none')",
    "id + 1 = price * 2 OR id % 100 = 0",
    "ok IS NOT TRUE",
    "id < 0",
    "1 = 1",
    "weight <> weight OR price = weight",
];

#[test]
fn filters_keep_what_they_should() {
    let folder = tempfile::tempdir().unwrap();
    let batch = table(0, 5000);
    let parquet = put(&batch, &folder.path().join("a.parquet"));
    let csv = folder.path().join("a.csv").to_str().unwrap().to_owned();
    copy(&parquet, &csv, &CopyOptions::default(), &Job::default()).unwrap();
    for filter in FILTERS {
        let predicate = Predicate::bind(&parse_filter(filter).unwrap(), &batch.schema()).unwrap();
        let expected = filter_record_batch(&batch, &predicate.evaluate(&batch).unwrap()).unwrap();
        assert_eq!(read(&parquet, &options(Some(filter))).unwrap(), expected, "{filter}");
        for location in [&parquet, &csv] {
            for threads in [1, 3] {
                let job = Job::new(JobOptions { threads, ..JobOptions::default() });
                let scan = Scan::open(location, &options(Some(filter)), &job).unwrap();
                assert_eq!(scan.count().unwrap(), expected.num_rows() as u64, "{filter} in {location}");
                let some = ReadOptions { columns: Some(vec!["ok".into(), "id".into()]), ..options(Some(filter)) };
                let scan = Scan::open(location, &some, &job).unwrap();
                let found = scan.checksum().unwrap();
                let wanted = checksum(batches(&expected.project(&[6, 0]).unwrap()), &job).unwrap();
                assert_eq!(found, wanted, "{filter} in {location}");
            }
        }
    }
}

#[test]
fn counts_without_reading() {
    let folder = tempfile::tempdir().unwrap();
    let parquet = put(&table(0, 5000), &folder.path().join("a.parquet"));
    let job = Job::default();
    let scan = Scan::open(&parquet, &ReadOptions::default(), &job).unwrap();
    let before = job.meter().counts();
    assert_eq!(scan.count().unwrap(), 5000);
    assert_eq!(job.meter().counts(), before);
    let limited = ReadOptions { limit: Some(7), ..ReadOptions::default() };
    assert_eq!(Scan::open(&parquet, &limited, &job).unwrap().count().unwrap(), 7);
    let limited = ReadOptions { limit: Some(7), ..options(Some("id >= 4000")) };
    let scan = Scan::open(&parquet, &limited, &job).unwrap();
    assert_eq!(scan.count().unwrap(), 7);
    let first: Vec<i64> = read(&parquet, &limited).unwrap().column(0).as_primitive::<Int64Type>().values().to_vec();
    assert_eq!(first, (4000..4007).collect::<Vec<_>>());
    let csv = folder.path().join("a.csv").to_str().unwrap().to_owned();
    copy(&parquet, &csv, &CopyOptions::default(), &Job::default()).unwrap();
    assert_eq!(Scan::open(&csv, &ReadOptions::default(), &job).unwrap().count().unwrap(), 5000);
}

#[test]
fn batches_have_the_rows_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let parquet = put(&table(0, 2500), &folder.path().join("a.parquet"));
    for (rows, sizes) in [(1000, vec![1000, 1000, 500]), (usize::MAX, vec![2500]), (2400, vec![2400, 100])] {
        let options = ReadOptions { batch_rows: Some(rows), ..ReadOptions::default() };
        let scan = Scan::open(&parquet, &options, &Job::default()).unwrap();
        let found: Vec<usize> = scan.batches().unwrap().map(|b| b.unwrap().num_rows()).collect();
        assert_eq!(found, sizes);
    }
}

#[test]
fn plans_can_be_split_and_read_elsewhere() {
    let folder = tempfile::tempdir().unwrap();
    for part in 0..3 {
        put(&table(part * 2000, 2000), &folder.path().join(format!("t/day=2024-01-0{}/a.parquet", part + 1)));
    }
    let location = folder.path().join("t").to_str().unwrap().to_owned();
    for filter in [None, Some("id >= 1500"), Some("day >= DATE '2024-01-02' AND id < 5000")] {
        // The files have a column `day` of their own: it wins over the folder's.
        let columns = Some(ColumnItem::named(["id", "price"]));
        let options = ReadOptions { columns, ..options(filter.filter(|f| !f.contains("day"))) };
        let scan = Scan::open(&location, &options, &Job::default()).unwrap();
        let expected = scan.checksum().unwrap();
        for n in [1, 2, 5, 100] {
            let mut rows = 0;
            let mut sum = 0u128;
            for part in scan.plan().split(n) {
                let text = serde_json::to_string(&part).unwrap();
                let part = serde_json::from_str(&text).unwrap();
                let part = Scan::with_plan(&location, &options, part, &Job::default()).unwrap();
                let found = part.checksum().unwrap();
                assert_eq!(part.count().unwrap(), found.rows);
                rows += found.rows;
                sum = sum.wrapping_add(found.sum);
            }
            assert_eq!((rows, sum), (expected.rows, expected.sum), "{n} parts, {filter:?}");
        }
    }
}

#[test]
fn folders_and_patterns() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().to_str().unwrap();
    for (number, name) in ["a.parquet", "b.parquet", "sub/c.parquet", "sub/deep/d.parquet"].iter().enumerate() {
        put(&table(number * 10, 10), &folder.path().join("t").join(name));
    }
    std::fs::write(folder.path().join("t/_SUCCESS"), "").unwrap();
    std::fs::write(folder.path().join("t/.hidden.parquet"), "no parquet").unwrap();
    std::fs::create_dir(folder.path().join("t/_temporary")).unwrap();
    std::fs::write(folder.path().join("t/_temporary/x.parquet"), "no parquet").unwrap();
    let ids = |pattern: &str| -> Vec<i64> {
        let batch = read(&format!("{root}/{pattern}"), &ReadOptions::default()).unwrap();
        let ids = batch.column_by_name("id").unwrap().as_primitive::<Int64Type>().values().to_vec();
        assert_eq!(ids.len() % 10, 0);
        ids.into_iter().step_by(10).map(|id| id / 10).collect()
    };
    assert_eq!(ids("t"), [0, 1, 2, 3]);
    assert_eq!(ids("t/"), [0, 1, 2, 3]);
    assert_eq!(ids("t/*.parquet"), [0, 1]);
    assert_eq!(ids("t/**/*.parquet"), [0, 1, 2, 3]);
    assert_eq!(ids("t/{b,sub/c}.parquet"), [1, 2]);
    assert_eq!(ids("t/?.parquet"), [0, 1]);
    assert_eq!(ids("t/s*"), [2, 3]);
    assert_eq!(ids("*/sub/deep"), [3]);
    // A file whose name has such characters is that file.
    put(&table(70, 10), &folder.path().join("t/[x].parquet"));
    assert_eq!(ids("t/[x].parquet"), [7]);
    let (kind, text) = kind(read(&format!("{root}/t/*.nothing"), &ReadOptions::default()));
    assert_eq!(kind, ErrorKind::NotFound);
    assert!(text.contains("no file matches") && text.contains("*.nothing"), "{text}");
}

fn hive(folder: &Path) -> String {
    let days = ["2024-01-01", "2024-01-02", "__HIVE_DEFAULT_PARTITION__"];
    for (number, day) in days.iter().enumerate() {
        for country in ["no", "D%C3%A4nemark"] {
            let batch = table(number * 10, 10).project(&[0, 1]).unwrap();
            put(&batch, &folder.join(format!("t/date={day}/n={number}/land={country}/a.parquet")));
        }
    }
    folder.join("t").to_str().unwrap().to_owned()
}

#[test]
fn hive_partitions_are_columns() {
    let folder = tempfile::tempdir().unwrap();
    let location = hive(folder.path());
    let all = read(&location, &ReadOptions::default()).unwrap();
    let types: Vec<(String, DataType)> =
        all.schema().fields().iter().map(|f| (f.name().clone(), f.data_type().clone())).collect();
    assert_eq!(
        types[2..],
        [
            ("date".to_owned(), DataType::Date32),
            ("n".to_owned(), DataType::Int64),
            ("land".to_owned(), DataType::Utf8View),
        ]
    );
    assert_eq!(all.num_rows(), 60);
    let dates = all.column(2).as_primitive::<Date32Type>();
    assert_eq!((dates.value(0), dates.null_count(), dates.is_null(59)), (19_723, 20, true));
    let lands = all.column(4).as_string_view();
    assert_eq!((lands.value(0), lands.value(10)), ("Dänemark", "no"));
    // Types and order are those of CSV files, too.
    let csv = folder.path().join("c");
    for day in ["2024-01-01", "2024-01-02"] {
        std::fs::create_dir_all(csv.join(format!("date={day}"))).unwrap();
        std::fs::write(csv.join(format!("date={day}/x.csv")), format!("a,b\n1,{day}\n2,\n")).unwrap();
    }
    let options = ReadOptions {
        columns: Some(vec!["date".into(), "a".into()]),
        ..options(Some("date > '2024-01-01' AND b IS NOT NULL"))
    };
    let found = read(csv.to_str().unwrap(), &options).unwrap();
    assert_eq!(found.num_rows(), 1);
    assert_eq!(found.column(0).as_primitive::<Date32Type>().values(), &[19_724]);
    assert_eq!(found.column(1).as_primitive::<Int64Type>().values(), &[1]);
}

#[test]
fn partitions_that_are_codes_stay_texts() {
    for (values, is_number) in [
        (&["1", "20", "-3", "0"][..], true),
        (&["01234", "20001"], false),
        (&["+49", "1"], false),
        (&["-0"], false),
        (&["00"], false),
        (&["9223372036854775808"], false),
    ] {
        let folder = tempfile::tempdir().unwrap();
        for value in values {
            put(&table(0, 1).project(&[0]).unwrap(), &folder.path().join(format!("t/zip={value}/a.parquet")));
        }
        let location = folder.path().join("t").to_str().unwrap().to_owned();
        let all = read(&location, &ReadOptions::default()).unwrap();
        let column = all.column_by_name("zip").unwrap();
        assert_eq!(*column.data_type() == DataType::Int64, is_number, "{values:?}");
        let mut found: Vec<String> = match column.as_string_view_opt() {
            Some(texts) => texts.iter().flatten().map(str::to_owned).collect(),
            None => column.as_primitive::<Int64Type>().values().iter().map(i64::to_string).collect(),
        };
        let mut expected: Vec<String> = values.iter().map(|value| (*value).to_owned()).collect();
        found.sort();
        expected.sort();
        assert_eq!(found, expected);
    }
}

#[test]
fn partitions_are_not_opened_where_the_filter_excludes_them() {
    let folder = tempfile::tempdir().unwrap();
    let location = hive(folder.path());
    let requests = |filter: &str| {
        let job = Job::default();
        let scan = Scan::open(&location, &options(Some(filter)), &job).unwrap();
        (job.meter().counts().requests.get, scan)
    };
    let (none, _) = requests("id >= 0");
    // A footer and a page index each.
    assert_eq!(none, 12);
    // The first file says whose values count.
    let (some, scan) = requests("date = '2024-01-02' AND id > 15");
    assert_eq!(some, 5);
    assert_eq!(scan.count().unwrap(), 8);
    let text = scan.explain().to_string();
    assert!(text.contains("partition: date max 2024-01-01 < 2024-01-02"), "{text}");
    assert!(text.contains("partition: date has only nulls"), "{text}");
    let (some, scan) = requests("date = '2024-01-02' AND land = 'no'");
    assert_eq!((some, scan.count().unwrap()), (2, 10));
    // All are excluded: one is opened for the schema.
    let (one, scan) = requests("n = 99");
    assert_eq!((one, scan.count().unwrap(), scan.schema().fields().len()), (1, 0, 5));
    let (kind, text) = kind(Scan::open(&location, &options(Some("date = 5")), &Job::default()).map(|_| ()));
    assert_eq!(kind, ErrorKind::Invalid, "{text}");
}

#[test]
fn errors_name_the_place_and_have_the_right_kind() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().to_str().unwrap();
    put(&table(0, 10), &folder.path().join("t/a.parquet"));
    let open = |location: &str, options: &ReadOptions| {
        let (kind, text) = kind(Scan::open(location, options, &Job::default()).map(|_| ()));
        (kind, text.replace(root, "ROOT"))
    };
    let plain = ReadOptions::default();
    let check = |location: &str, options: &ReadOptions, expected: ErrorKind, part: &str| {
        let location = location.replace("ROOT", root);
        let (kind, text) = open(&location, options);
        assert_eq!(kind, expected, "{location}: {text}");
        assert!(text.contains(part), "{location}: {text}");
    };
    check("ROOT/none.parquet", &plain, ErrorKind::NotFound, "ROOT/none.parquet: no such file or folder exists");
    check("ROOT/none/", &plain, ErrorKind::NotFound, "ROOT/none/: no such file or folder exists");
    std::fs::create_dir(folder.path().join("empty")).unwrap();
    check("ROOT/empty", &plain, ErrorKind::NotFound, "ROOT/empty: the folder contains no data files");
    std::fs::write(folder.path().join("x.dat"), "a\n1\n").unwrap();
    check("ROOT/x.dat", &plain, ErrorKind::Usage, "ROOT/x.dat: the name does not give the format");
    let csv = ReadOptions { format: Some(&CSV), ..ReadOptions::default() };
    assert_eq!(read(&format!("{root}/x.dat"), &csv).unwrap().num_rows(), 1);
    let columns = ReadOptions { columns: Some(vec!["prise".into()]), ..ReadOptions::default() };
    check("ROOT/t", &columns, ErrorKind::NotFound, "there is no column \"prise\" (did you mean \"price\"?)");
    check("ROOT/t", &options(Some("prise > 1")), ErrorKind::NotFound, "did you mean \"price\", or the text 'prise'?");
    check("ROOT/t", &options(Some("price = 'x'")), ErrorKind::Invalid, "decimal(15,2)");
    check("ROOT/t", &options(Some("price >")), ErrorKind::Usage, "filter:");
    check("ROOT/t", &options(Some("sqrt(price) > 1")), ErrorKind::Unsupported, "the function sqrt");
    std::fs::write(folder.path().join("t/b.csv"), "a\n1\n").unwrap();
    check("ROOT/t", &plain, ErrorKind::Invalid, "files of different formats: ROOT/t/a.parquet and ROOT/t/b.csv");
    std::fs::rename(folder.path().join("t/b.csv"), folder.path().join("t/README")).unwrap();
    check("ROOT/t", &plain, ErrorKind::Usage, "ROOT/t/README");
    std::fs::remove_file(folder.path().join("t/README")).unwrap();
    std::fs::write(folder.path().join("t/b.parquet"), "").unwrap();
    check("ROOT/t", &plain, ErrorKind::Corrupt, "ROOT/t/b.parquet: the file is empty");
    let other: ArrayRef = Arc::new(StringViewArray::from(vec!["x"]));
    let other = RecordBatch::try_from_iter([("id", other)]).unwrap();
    std::fs::remove_file(folder.path().join("t/b.parquet")).unwrap();
    put(&other, &folder.path().join("t/b.parquet"));
    check("ROOT/t", &plain, ErrorKind::Invalid, "column \"id\" is utf8_view here, but int64 in ROOT/t/a.parquet");
    std::fs::create_dir(folder.path().join("t/_delta_log")).unwrap();
    std::fs::write(folder.path().join("t/_delta_log/00000000000000000000.json"), "{}").unwrap();
    check("ROOT/t", &plain, ErrorKind::Corrupt, "it has no action");
    check("delta:ROOT/x", &plain, ErrorKind::NotFound, "no Delta table");
    check("sqlite:ROOT/none.db#t", &plain, ErrorKind::NotFound, "ROOT/none.db");
    check("tpch:linitem?sf=1", &plain, ErrorKind::NotFound, "did you mean lineitem?");
    check("tpch:orders?sf=0", &plain, ErrorKind::Usage, "choose 0.001 to 10000");
    check("tpch:orders?sf=1", &options(Some("o_custky > 1")), ErrorKind::NotFound, "o_custkey");
    let version = ReadOptions { at: Some("1".to_owned()), ..ReadOptions::default() };
    check("tpch:orders?sf=1", &version, ErrorKind::Unsupported, "only Delta tables have versions");
    check("gopher://x/y", &plain, ErrorKind::Usage, "unknown scheme");
    check("", &plain, ErrorKind::Usage, "the location is empty");
}

#[test]
fn copies_appear_whole_or_not_at_all() {
    let folder = tempfile::tempdir().unwrap();
    let source = put(&table(0, 3000), &folder.path().join("a.parquet"));
    let target = folder.path().join("b.parquet").to_str().unwrap().to_owned();
    let try_copy =
        |from: &str, to: &str, mode| copy(from, to, &CopyOptions { mode, ..CopyOptions::default() }, &Job::default());
    try_copy(&source, &target, WriteMode::Error).unwrap();
    let (conflict, text) = kind(try_copy(&source, &target, WriteMode::Error));
    assert_eq!(conflict, ErrorKind::Conflict, "{text}");
    assert!(text.contains("b.parquet: it already exists"), "{text}");
    let (usage, text) = kind(try_copy(&source, &source, WriteMode::Overwrite));
    assert_eq!(usage, ErrorKind::Usage, "{text}");
    std::os::unix::fs::symlink(&source, folder.path().join("link.parquet")).unwrap();
    let link = folder.path().join("link.parquet").to_str().unwrap().to_owned();
    assert_eq!(kind(try_copy(&link, &source, WriteMode::Overwrite)).0, ErrorKind::Usage);
    assert_eq!(kind(try_copy(&source, &target, WriteMode::Append)).0, ErrorKind::Unsupported);
    // A damaged source leaves the old target as it is, and nothing else.
    let mut bytes = std::fs::read(&source).unwrap();
    let middle = bytes.len() / 3;
    bytes[4..middle].fill(0xff);
    std::fs::write(folder.path().join("bad.parquet"), bytes).unwrap();
    let before = sum_of(&target);
    let bad = folder.path().join("bad.parquet").to_str().unwrap().to_owned();
    assert_eq!(kind(try_copy(&bad, &target, WriteMode::Overwrite)).0, ErrorKind::Corrupt);
    assert_eq!(sum_of(&target), before);
    assert_eq!(kind(try_copy(&bad, &format!("{target}.csv"), WriteMode::Error)).0, ErrorKind::Corrupt);
    let mut names: Vec<String> =
        std::fs::read_dir(folder.path()).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    assert_eq!(names, ["a.parquet", "b.parquet", "bad.parquet", "link.parquet"]);
}

#[test]
fn a_cancelled_copy_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("b.parquet").to_str().unwrap().to_owned();
    let job = Job::default();
    let canceller = job.clone();
    let endless = (0..).map(move |n| {
        if n == 20 {
            canceller.cancel();
        }
        Ok(table(n * 1000, 1000))
    });
    let endless = Batches::new(table(0, 1).schema(), endless);
    assert_eq!(kind(write(endless, &target, &CopyOptions::default(), &job)).0, ErrorKind::Cancelled);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn memory_stores_work_alike() {
    let batch = table(0, 3000);
    let location = "memory://end-to-end/t/a.parquet";
    write(batches(&batch), location, &row_groups(1000), &Job::default()).unwrap();
    write(batches(&table(3000, 10)), "memory://end-to-end/t/x=1/b.parquet", &row_groups(1000), &Job::default())
        .unwrap();
    assert_eq!(read(location, &ReadOptions::default()).unwrap(), batch);
    let count = |location: &str| Scan::open(location, &ReadOptions::default(), &Job::default())?.count();
    assert_eq!(count("memory://end-to-end/t").unwrap(), 3010);
    assert_eq!(count("memory://end-to-end/t/*.parquet").unwrap(), 3000);
    assert_eq!(kind(count("memory://end-to-end/none.parquet")).0, ErrorKind::NotFound);
    assert_eq!(kind(count("memory://end-to-end/none/")).0, ErrorKind::NotFound);
    assert_eq!(kind(count("memory://end-to-end/none")).0, ErrorKind::NotFound);
    let report = schema("memory://end-to-end/t/", &ReadOptions::default(), &Job::default()).unwrap();
    assert_eq!((report.info.rows, report.info.files, report.info.units), (Some(3010), 2, Some(4)));
    let types: Vec<&str> = report.columns.iter().map(|c| c.r#type.as_str()).collect();
    assert_eq!(types[..2], ["Int64", "Decimal128(15, 2)"]);
    assert_eq!(report.columns.last().unwrap().name, "x");
}

#[test]
fn explains_without_reading() {
    let folder = tempfile::tempdir().unwrap();
    let parquet = put(&table(0, 5000), &folder.path().join("a.parquet"));
    let job = Job::default();
    let options = ReadOptions { columns: Some(vec!["price".into()]), ..options(Some("id < 1500")) };
    let scan = Scan::open(&parquet, &options, &job).unwrap();
    let before = job.meter().counts();
    let explain = scan.explain();
    assert_eq!(job.meter().counts(), before);
    let text = explain.to_string();
    assert!(text.contains("2 of 5 parts are read"), "{text}");
    assert!(text.contains("not read: statistics: id min 2000 > 1500"), "{text}");
    assert_eq!(explain.alternatives.len(), 3);
    let wanted: Vec<u64> = explain.alternatives.iter().map(|a| a.wanted_bytes).collect();
    assert!(wanted[0] > 0 && wanted.iter().all(|w| *w == wanted[0]), "{wanted:?}");
    // What is read is what was planned.
    let planned = explain.plan.requests.wanted_bytes + explain.plan.requests.read_through_bytes;
    for batch in scan.batches().unwrap() {
        batch.unwrap();
    }
    assert_eq!(job.meter().counts().bytes_read - before.bytes_read, planned);
}

#[test]
fn folders_are_written_whole() {
    let folder = tempfile::tempdir().unwrap();
    let source = put(&table(0, 3000), &folder.path().join("a.parquet"));
    let local = folder.path().join("out").to_str().unwrap().to_owned();
    for target in [format!("{local}/"), "memory://folder-target/out/".to_owned()] {
        let try_copy = |mode, format| {
            let row_group_rows = (format == Some(&PARQUET)).then_some(500);
            let write = WriteOptions { row_group_rows, file_bytes: Some(1), ..WriteOptions::default() };
            let read = ReadOptions { batch_rows: Some(1000), ..ReadOptions::default() };
            copy(
                &source,
                &target,
                &CopyOptions { read, mode, format, write, ..CopyOptions::default() },
                &Job::default(),
            )
        };
        let written = try_copy(WriteMode::Error, Some(&PARQUET)).unwrap();
        assert_eq!((written.rows, written.files.len()), (3000, 3), "{:?}", written.files);
        assert_eq!(sum_of(&target), sum_of(&source));
        assert_eq!(kind(try_copy(WriteMode::Error, Some(&PARQUET))).0, ErrorKind::Conflict);
        try_copy(WriteMode::Append, Some(&PARQUET)).unwrap();
        assert_eq!(sum_of(&target), sum_of(&source).wrapping_mul(2));
        try_copy(WriteMode::Overwrite, Some(&CSV)).unwrap();
        let info = schema(&target, &ReadOptions::default(), &Job::default()).unwrap().info;
        // The Parquet files are gone.
        assert_eq!(info.format, "csv");
        assert_eq!(sum_of(&target), sum_of(&source));
        // Into the folder that is read.
        let again = CopyOptions { mode: WriteMode::Overwrite, format: Some(&CSV), ..CopyOptions::default() };
        assert_eq!(kind(copy(&target, &target, &again, &Job::default())).0, ErrorKind::Usage);
        let again = CopyOptions { mode: WriteMode::Append, ..again };
        copy(&target, &target, &again, &Job::default()).unwrap();
        assert_eq!(sum_of(&target), sum_of(&source).wrapping_mul(2));
    }
}

#[test]
fn parts_of_a_plan_for_some_fields_open_no_file_that_their_filter_excludes() {
    let folder = tempfile::tempdir().unwrap();
    let ids: ArrayRef = Arc::new(Int64Array::from_iter_values(0..10));
    let names: ArrayRef = Arc::new(StringViewArray::from_iter_values((0..10).map(|n| format!("name {n}"))));
    let fields = [("a", &ids), ("b", &names)].map(|(name, array)| Field::new(name, array.data_type().clone(), true));
    let s: ArrayRef = Arc::new(StructArray::new(fields.to_vec().into(), vec![Arc::clone(&ids), names], None));
    let batch = RecordBatch::try_from_iter([("id", ids), ("s", s)]).unwrap();
    // The first file of a folder decides whether a column of folders is in the files. It is read even if it is excluded.
    let [_, excluded] = [1, 2].map(|day| put(&batch, &folder.path().join(format!("t/day={day}/a.parquet"))));
    let (location, read) = (folder.path().join("t").to_str().unwrap().to_owned(), options(Some("day = 1")));
    let paths = FieldPaths::from([("s".to_owned(), vec![vec!["a".to_owned()]])]);
    let scan = Scan::open_for_fields(&location, &read, paths, &Job::default()).unwrap();
    let bytes = |scan: &Scan| scan.plan().requests.wanted_bytes;
    assert!(bytes(&scan) < bytes(&Scan::open(&location, &read, &Job::default()).unwrap()));
    std::fs::write(excluded, "no Parquet").unwrap();
    let [part] = scan.plan().split(1).try_into().unwrap();
    let scan = Scan::with_plan(&location, &read, part, &Job::default()).unwrap();
    let rows = scan.batches().unwrap().collect::<Result<Vec<_>>>().unwrap();
    assert_eq!((rows[0].num_rows(), rows[0].column_by_name("s").unwrap().as_struct().num_columns()), (10, 1));
    assert_eq!(scan.count().unwrap(), 10);
}
