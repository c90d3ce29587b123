//! Files in which Spark counted days and times by the calendar that changed in 1582.

use std::path::Path;
use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, AsArray, Date32Array, ListArray, RecordBatch, StructArray, TimestampMicrosecondArray,
};
use arrow::datatypes::{DataType, Date32Type, Field, Int32Type, TimeUnit, TimestampMicrosecondType};
use lakerace_format::calendar::days_from_civil;
use lakerace_format::predicate::Value;
use lakerace_format::{ColumnUnion, CompareOp, InputFile, Literal, ParquetOptions, ParquetSource, Source};
use lakerace_io::{ErrorKind, Result};
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_writer::ArrowWriterOptions;
use parquet::data_type::{Int96, Int96Type};
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{WriterProperties, WriterPropertiesBuilder};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use tempfile::TempDir;

use crate::common::{columns, compare, filtered, job, objects, read};

const DAY_MICROS: i64 = 86_400_000_000;
/// What a footer of Spark says of the old calendar.
const BOTH: &[(&str, &str)] =
    &[("version", "4.1.0"), ("legacyDateTime", ""), ("legacyINT96", ""), ("timeZone", "Asia/Shanghai")];

fn properties(marks: &[(&str, &str)]) -> WriterPropertiesBuilder {
    let pair = |(key, value): &(&str, &str)| KeyValue::new(format!("org.apache.spark.{key}"), (*value).to_owned());
    WriterProperties::builder().set_key_value_metadata(Some(marks.iter().map(pair).collect()))
}

/// Writes columns with what lets readers skip rows, in pages of one row.
fn put(path: &Path, table: &[(&str, ArrayRef)], marks: &[(&str, &str)]) {
    let table = RecordBatch::try_from_iter(table.iter().map(|(name, array)| (*name, Arc::clone(array)))).unwrap();
    let properties = properties(marks).set_bloom_filter_enabled(true).set_data_page_row_count_limit(1);
    let properties = properties.set_write_batch_size(1).set_dictionary_enabled(false).build();
    let options = ArrowWriterOptions::new().with_properties(properties).with_skip_arrow_metadata(true);
    let mut writer =
        ArrowWriter::try_new_with_options(std::fs::File::create(path).unwrap(), table.schema(), options).unwrap();
    writer.write(&table).unwrap();
    writer.close().unwrap();
}

fn open(path: &Path, int96_is_instant: bool) -> Result<ParquetSource> {
    let job = job(1);
    let files = objects(&[path], &job)?.into_iter().map(InputFile::from).collect();
    ParquetSource::open_files(
        files,
        ParquetOptions { int96_is_instant, ..ParquetOptions::default() },
        ColumnUnion::default(),
        &job,
    )
}

fn day(year: i64, month: i64, day: i64) -> i32 {
    i32::try_from(days_from_civil(year, month, day)).unwrap()
}

fn days(values: &[Option<i32>]) -> ArrayRef {
    Arc::new(Date32Array::from(values.to_vec()))
}

fn instants(values: &[i64]) -> ArrayRef {
    Arc::new(TimestampMicrosecondArray::from(values.to_vec()).with_timezone("UTC"))
}

/// Days as they are stored, and as they are read.
fn dates() -> ([Option<i32>; 4], [Option<i32>; 4]) {
    let (old, new) = (day(1500, 1, 1), day(1582, 10, 15));
    ([Some(old + 9), None, Some(new - 1), Some(new)], [Some(old), None, Some(day(1582, 10, 4)), Some(new)])
}

#[test]
fn days_keep_their_names() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("t.parquet");
    let (stored, named) = dates();
    let read_days = |marks| {
        put(&path, &[("d", days(&stored))], marks);
        let rows = read(&open(&path, false).unwrap(), &columns(&["d"])).unwrap();
        rows.column(0).as_primitive::<Date32Type>().iter().collect::<Vec<_>>()
    };
    assert_eq!(read_days(&[("version", "3.5.0"), ("legacyDateTime", "")]), named);
    assert_eq!(read_days(&[("version", "2.4.8")]), named);
    for other in [&[("version", "3.5.0"), ("legacyINT96", "")][..], &[("version", "3.0.0")], &[("legacyDateTime", "")]]
    {
        assert_eq!(read_days(other), stored, "{other:?}");
    }
}

#[test]
fn nothing_is_skipped_by_days_as_stored() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("t.parquet");
    let (stored, named) = dates();
    put(&path, &[("d", days(&stored))], BOTH);
    let source = open(&path, false).unwrap();
    for date in named.iter().flatten() {
        for op in [CompareOp::Eq, CompareOp::LessOrEq, CompareOp::Less, CompareOp::GreaterOrEq] {
            let rows = read(&source, &filtered(compare("d", op, Literal::Date(*date)))).unwrap();
            let fits = |day: &&i32| match op {
                CompareOp::Eq => *day == date,
                CompareOp::LessOrEq => *day <= date,
                CompareOp::Less => *day < date,
                _ => *day >= date,
            };
            assert_eq!(rows.num_rows(), named.iter().flatten().filter(fits).count(), "{date} {op:?}");
        }
    }
    assert_eq!(source.extremes("d").unwrap(), None);

    let recent = [Some(day(1582, 10, 15)), Some(day(2024, 2, 29))];
    put(&path, &[("d", days(&recent)), ("t", instants(&[0, 5]))], BOTH);
    let source = open(&path, false).unwrap();
    let plan = source.plan(&filtered(compare("d", CompareOp::Less, Literal::Date(day(1500, 1, 1))))).unwrap();
    assert!(plan.files[0].units[0].pruned.is_some(), "days that all agree on are skipped");
    let number = |number: i128| Some(Value::Integer(arrow::datatypes::i256::from_i128(number)));
    let extremes = source.extremes("d").unwrap().unwrap();
    assert_eq!((extremes.min, extremes.max), (number(-141_427), number(i128::from(day(2024, 2, 29)))));
    assert_eq!(source.extremes("t").unwrap().unwrap().max, number(5));
}

/// Instants as they are stored, and as they are read: 1500-01-01 and 1850-01-01 in Shanghai, 1900-01-01 and 2024-01-01 in UTC.
fn times() -> ([i64; 4], [i64; 4]) {
    let at = |year, seconds: i64| days_from_civil(year, 1, 1) * DAY_MICROS + seconds * 1_000_000 + 7;
    (
        [at(1500, 9 * 86_400 - 28_800), at(1850, -28_800), at(1900, 0), at(2024, 0)],
        [at(1500, -29_143), at(1850, -29_143), at(1900, 0), at(2024, 0)],
    )
}

#[test]
fn instants_are_read_by_the_clock_of_their_writer() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("t.parquet");
    let (stored, right) = times();
    let clock_times: ArrayRef = Arc::new(TimestampMicrosecondArray::from(stored.to_vec()));
    put(&path, &[("t", instants(&stored)), ("clock", clock_times)], BOTH);
    let source = open(&path, false).unwrap();
    let rows = read(&source, &columns(&["t", "clock"])).unwrap();
    assert_eq!(rows.column(0).as_primitive::<TimestampMicrosecondType>().values(), &right);
    assert_eq!(
        rows.column(1).as_primitive::<TimestampMicrosecondType>().values(),
        &stored,
        "they have no old calendar"
    );
    assert_eq!(rows.schema().field(0).data_type(), &DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into())));
    let first = Literal::Text("1499-12-31 15:54:17.000007Z".to_owned());
    assert_eq!(read(&source, &filtered(compare("t", CompareOp::Eq, first))).unwrap().num_rows(), 1);
    assert_eq!(source.extremes("t").unwrap(), None);
}

#[test]
fn without_the_zone_of_the_writer_old_instants_are_refused() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("t.parquet");
    let (stored, right) = times();
    for marks in [&[("version", "2.4.8")][..], &[("version", "2.4.8"), ("timeZone", "Asia/Manila")]] {
        put(&path, &[("t", instants(&stored)), ("d", days(&dates().0))], marks);
        let source = open(&path, false).unwrap();
        let error = read(&source, &columns(&["t"])).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported);
        let text = error.to_string();
        assert!(text.contains("t.parquet: row group 0, column \"t\"") && text.contains("a time before 1900"), "{text}");
        assert_eq!(read(&source, &columns(&["d"])).unwrap().num_rows(), 4);
        put(&path, &[("t", instants(&stored[2..]))], marks);
        let rows = read(&open(&path, false).unwrap(), &columns(&["t"])).unwrap();
        assert_eq!(rows.column(0).as_primitive::<TimestampMicrosecondType>().values(), &right[2..]);
    }
}

#[test]
fn days_and_instants_within_other_columns() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("t.parquet");
    let ((dates, names), (stored, right)) = (dates(), times());
    let numbers = Arc::new(arrow::array::Int32Array::from(vec![1, 2, 3, 4])) as ArrayRef;
    let parts: [(&str, ArrayRef); 3] = [("n", numbers), ("d", days(&dates)), ("t", instants(&stored))];
    let fields = parts.iter().map(|(name, part)| Arc::new(Field::new(*name, part.data_type().clone(), true)));
    let parts = StructArray::new(fields.collect(), parts.iter().map(|(_, part)| Arc::clone(part)).collect(), None);
    let lists = ListArray::from_iter_primitive::<Date32Type, _, _>([
        Some(vec![dates[0], None]),
        None,
        Some(vec![]),
        Some(vec![dates[2]]),
    ]);
    put(&path, &[("s", Arc::new(parts)), ("l", Arc::new(lists))], BOTH);
    let source = open(&path, false).unwrap();
    let rows = read(&source, &columns(&["s", "l"])).unwrap();
    let parts = rows.column(0).as_struct();
    assert_eq!(parts.column(0).as_primitive::<Int32Type>().values(), &[1, 2, 3, 4]);
    assert_eq!(parts.column(1).as_primitive::<Date32Type>().iter().collect::<Vec<_>>(), names);
    assert_eq!(parts.column(2).as_primitive::<TimestampMicrosecondType>().values(), &right);
    let lists = rows.column(1).as_list::<i32>();
    assert_eq!((lists.null_count(), lists.value(0).as_primitive::<Date32Type>().value(0)), (1, names[0].unwrap()));
    assert_eq!(lists.value(3).as_primitive::<Date32Type>().value(0), names[2].unwrap());
    let part = read(&source, &columns(&["s.t"])).unwrap();
    assert_eq!(part.column(0).as_struct().column(0).as_primitive::<TimestampMicrosecondType>().values(), &right);
}

fn put_int96(path: &Path, values: &[i64], marks: &[(&str, &str)]) {
    let message = "message m { required int96 t; required group s { required int96 t; } }";
    let schema = Arc::new(parse_message_type(message).unwrap());
    let file = std::fs::File::create(path).unwrap();
    let mut writer = SerializedFileWriter::new(file, schema, Arc::new(properties(marks).build())).unwrap();
    let stored = |micros: &i64| {
        let nanoseconds = micros.rem_euclid(DAY_MICROS) as u64 * 1000;
        let mut value = Int96::new();
        let day = micros.div_euclid(DAY_MICROS) + 2_440_588;
        value.set_data(nanoseconds as u32, (nanoseconds >> 32) as u32, day as u32);
        value
    };
    let stored: Vec<Int96> = values.iter().map(stored).collect();
    let mut group = writer.next_row_group().unwrap();
    while let Some(mut column) = group.next_column().unwrap() {
        column.typed::<Int96Type>().write_batch(&stored, None, None).unwrap();
        column.close().unwrap();
    }
    group.close().unwrap();
    writer.close().unwrap();
}

#[test]
fn instants_of_96_bits() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("t.parquet");
    let (stored, right) = times();
    let zone = ("timeZone", "Asia/Shanghai");
    for (marks, wanted) in [
        (BOTH, right),
        (&[("version", "3.0.3"), zone], right),
        (&[("version", "3.5.0"), ("legacyDateTime", ""), zone], stored),
        (&[("version", "3.1.0"), zone], stored),
    ] {
        put_int96(&path, &stored, marks);
        let rows = read(&open(&path, true).unwrap(), &columns(&["t", "s"])).unwrap();
        for array in [rows.column(0), rows.column(1).as_struct().column(0)] {
            assert_eq!(array.as_primitive::<TimestampMicrosecondType>().values(), &wanted, "{marks:?}");
        }
    }
}

#[test]
fn timestamps_of_96_bits_are_instants_for_those_who_ask() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("t.parquet");
    for (marks, unit) in [(&[("version", "4.1.0")][..], TimeUnit::Microsecond), (&[], TimeUnit::Nanosecond)] {
        put_int96(&path, &[1_000_000], marks);
        for (is_instant, zone) in [(true, Some("UTC")), (false, None)] {
            let wanted = DataType::Timestamp(unit, zone.map(Into::into));
            let rows = read(&open(&path, is_instant).unwrap(), &columns(&["t", "s"])).unwrap();
            assert_eq!(rows.column(0).data_type(), &wanted);
            assert_eq!(rows.column(1).as_struct().column(0).data_type(), &wanted);
        }
    }
}
