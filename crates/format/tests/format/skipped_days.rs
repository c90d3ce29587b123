//! Days that Java's old calendar skips, in what Parquet files tell of their values.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, Date32Array, RecordBatch, StructArray, TimestampMicrosecondArray};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Int64Type, TimeUnit};
use lakerace_format::calendar::days_from_civil;
use lakerace_format::predicate::Value;
use lakerace_format::{ParquetSource, Source, WriteOptions};
use parquet::file::page_index::column_index::ColumnIndexMetaData;
use parquet::file::properties::ReaderProperties;
use parquet::file::reader::{FileReader, RowGroupReader};
use parquet::file::serialized_reader::{ReadOptionsBuilder, SerializedFileReader};
use parquet::file::statistics::Statistics;
use tempfile::TempDir;

use crate::common::{job, objects};
use crate::parquet_write::write;

const DAY_MICROS: i64 = 86_400_000_000;
const HOUR_MICROS: i64 = 3_600_000_000;
/// Ticks of a day: of days, of times in milliseconds and in microseconds.
const TICKS: [i64; 3] = [1, 86_400_000, DAY_MICROS];

fn october(day: i64) -> i64 {
    days_from_civil(1582, 10, day)
}

/// Days, and one o'clock of these days in two units; each as a column and in a struct. A dictionary pays.
fn table(days: &[i64]) -> RecordBatch {
    let days: Vec<i64> = days.iter().copied().cycle().take(300).collect();
    let dates: ArrayRef = Arc::new(Date32Array::from_iter_values(days.iter().map(|day| *day as i32)));
    let micros = days.iter().map(|day| day * DAY_MICROS + HOUR_MICROS);
    let micros: ArrayRef = Arc::new(TimestampMicrosecondArray::from_iter_values(micros).with_timezone("UTC"));
    let millis = cast(&micros, &DataType::Timestamp(TimeUnit::Millisecond, None)).unwrap();
    let columns = [("day", dates), ("ms", millis), ("us", micros)];
    let fields: Vec<_> = RecordBatch::try_from_iter(columns.clone()).unwrap().schema().fields().to_vec();
    let nested = StructArray::new(fields.into(), columns.iter().map(|(_, column)| Arc::clone(column)).collect(), None);
    RecordBatch::try_from_iter([columns.to_vec(), vec![("s", Arc::new(nested) as ArrayRef)]].concat()).unwrap()
}

fn written(path: &Path, days: &[i64]) -> SerializedFileReader<File> {
    let bloom_filter_columns = ["day", "ms", "us", "s"].map(str::to_owned).to_vec();
    write(path, &[table(days)], &WriteOptions { bloom_filter_columns, ..WriteOptions::default() }, 1);
    let properties = ReaderProperties::builder().set_read_bloom_filter(true).build();
    let options = ReadOptionsBuilder::new().with_reader_properties(properties);
    let options = options.with_page_index().build();
    SerializedFileReader::new_with_options(File::open(path).unwrap(), options).unwrap()
}

/// What a chunk tells of its values.
#[derive(Debug, PartialEq)]
struct Told {
    bounds: Option<(i64, i64)>,
    page: (i64, i64),
    has_encodings: bool,
}

fn told(reader: &SerializedFileReader<File>, column: usize) -> Told {
    let chunk = reader.metadata().row_group(0).column(column);
    let statistics = chunk.statistics().unwrap();
    let bounds = match statistics {
        Statistics::Int32(values) => {
            values.min_opt().copied().map(i64::from).zip(values.max_opt().copied().map(i64::from))
        }
        Statistics::Int64(values) => values.min_opt().copied().zip(values.max_opt().copied()),
        other => panic!("{other:?}"),
    };
    let page = match reader.metadata().page_index_for_row_group(0).column_index(column).unwrap() {
        ColumnIndexMetaData::INT32(index) => {
            (i64::from(*index.min_value(0).unwrap()), i64::from(*index.max_value(0).unwrap()))
        }
        ColumnIndexMetaData::INT64(index) => (*index.min_value(0).unwrap(), *index.max_value(0).unwrap()),
        other => panic!("{other:?}"),
    };
    assert_eq!(statistics.null_count_opt(), Some(0));
    Told { bounds, page, has_encodings: chunk.page_encoding_stats_mask().is_some() }
}

fn has(group: &dyn RowGroupReader, column: usize, value: i64) -> bool {
    let filter = group.get_column_bloom_filter(column).unwrap();
    if column.is_multiple_of(3) { filter.check(&(value as i32)) } else { filter.check(&value) }
}

/// A day at one o'clock in the ticks of a column.
fn at(day: i64, column: usize) -> i64 {
    let ticks = TICKS[column % 3];
    day * ticks + ticks / 24
}

#[test]
fn bounds_include_what_readers_look_for() {
    let folder = TempDir::new().unwrap();
    let cases = [
        ("skipped", vec![october(7), october(12)], true),
        ("first", vec![october(15)], true),
        ("spanning", vec![days_from_civil(1, 1, 1), october(14)], true),
        ("late", vec![october(24)], true),
        ("before", vec![october(2), october(3)], false),
        ("after", vec![october(26), days_from_civil(9999, 12, 31)], false),
    ];
    for (name, days, is_moved) in cases {
        let reader = written(&folder.path().join(name), &days);
        for column in 0..6 {
            let zone = i64::from(column % 3 > 0);
            let end = (october(25) + zone) * TICKS[column % 3];
            let greatest = if is_moved { end } else { at(days[days.len() - 1], column) };
            let page = (at(days[0], column), greatest);
            // Readers say by the bounds of a chunk which value is the greatest: these are left out.
            let expected = Told { bounds: (!is_moved).then_some(page), page, has_encodings: !is_moved };
            assert_eq!(told(&reader, column), expected, "{name}, column {column}");
        }
    }
}

#[test]
fn dictionaries_of_other_days_can_be_relied_on() {
    let folder = TempDir::new().unwrap();
    let reader = written(&folder.path().join("t"), &[days_from_civil(1, 1, 1), days_from_civil(2024, 2, 29)]);
    // Of nested columns only bounds are known.
    assert_eq!([0, 1, 2].map(|column| told(&reader, column).has_encodings), [true; 3]);
    assert_eq!([3, 4, 5].map(|column| told(&reader, column).has_encodings), [false; 3]);
}

#[test]
fn bloom_filters_have_the_days_that_readers_look_for() {
    let folder = TempDir::new().unwrap();
    let reader = written(&folder.path().join("t"), &[october(7), days_from_civil(2024, 2, 29)]);
    let group = reader.get_row_group(0).unwrap();
    for column in 0..6 {
        let sought = [october(7), october(15), october(17)].map(|day| at(day, column));
        assert!(sought.into_iter().all(|value| has(group.as_ref(), column, value)), "column {column}");
        let none = (1600..1700).filter(|year| has(group.as_ref(), column, at(days_from_civil(*year, 10, 15), column)));
        assert!(none.count() < 20, "column {column}");
    }
    let plain = written(&folder.path().join("u"), &[october(3), october(16)]);
    let group = plain.get_row_group(0).unwrap();
    assert!((0..6).all(|column| !has(group.as_ref(), column, at(october(26), column))));
}

#[test]
fn rows_stay_and_the_greatest_is_not_guessed() {
    let folder = TempDir::new().unwrap();
    for (name, days, is_known) in [("moved", [october(4), october(12)], false), ("plain", [october(4), 7], true)] {
        let path = folder.path().join(name);
        let reader = written(&path, &days);
        let rows = parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder::try_new(File::open(&path).unwrap());
        let found = rows.unwrap().build().unwrap().next().unwrap().unwrap();
        assert_eq!(found.num_rows(), 300);
        assert_eq!(reader.metadata().num_row_groups(), 1);
        let micros = cast(found.column(2), &DataType::Int64).unwrap();
        assert_eq!(micros.as_primitive::<Int64Type>().value(1), at(days[1], 2));
        let job = job(1);
        let source = ParquetSource::open(objects(&[&path], &job).unwrap(), &job).unwrap();
        for (column, column_name) in ["day", "ms", "us"].into_iter().enumerate() {
            let greatest = source.extremes(column_name).unwrap().map(|extremes| extremes.max.unwrap());
            let value = Value::Integer(arrow::datatypes::i256::from_i128(at(days[1], column).into()));
            assert_eq!(greatest, is_known.then_some(value), "{name}: {column_name}");
        }
    }
}
