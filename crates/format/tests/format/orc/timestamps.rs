//! Timestamps of any year: the unit that they are read in, and what does not fit it.

use std::path::Path;
use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, AsArray, ListArray, RecordBatch, StructArray, TimestampMicrosecondArray,
    TimestampMillisecondArray, TimestampNanosecondArray, TimestampSecondArray,
};
use arrow::buffer::OffsetBuffer;
use arrow::compute::cast;
use arrow::datatypes::{DataType, Field, TimeUnit, TimestampMicrosecondType, TimestampMillisecondType};
use lakerace_format::{
    ColumnUnion, CompareOp, InputFile, Literal, OrcOptions, OrcSource, ReadRequest, Source, TimestampUnit, WriteOptions,
};
use lakerace_io::{Error, ErrorKind, Result};
use lakerace_orc::proto;
use prost::Message;

use super::{case, write};
use crate::common::{self, compare, filtered, job, objects};

/// 0001-01-01, null, 1582-10-04 12:00, 1970-01-01, 9999-12-31 23:59:59.999999.
const FAR: [Option<i64>; 5] =
    [Some(-62_135_596_800_000_000), None, Some(-12_220_200_000_000_000), Some(0), Some(253_402_300_799_999_999)];
const NEAR: [Option<i64>; 5] = [Some(1), Some(-5_000_000_000), None, Some(1_700_000_000_123_456_789), Some(7)];

fn micros(values: &[Option<i64>]) -> ArrayRef {
    Arc::new(TimestampMicrosecondArray::from(values.to_vec()))
}

fn nanos(values: &[Option<i64>]) -> ArrayRef {
    Arc::new(TimestampNanosecondArray::from(values.to_vec()))
}

/// A table with far times, flat, in a struct and in lists, and near ones.
fn table() -> RecordBatch {
    let nested = Arc::new(StructArray::from(vec![
        (Arc::new(Field::new("near", nanos(&NEAR).data_type().clone(), true)), nanos(&NEAR)),
        (Arc::new(Field::new("far", micros(&FAR).data_type().clone(), true)), micros(&FAR)),
    ]));
    let item = Arc::new(Field::new("item", micros(&FAR).data_type().clone(), true));
    let offsets = OffsetBuffer::from_lengths([0, 2, 0, 0, 3]);
    let lists = Arc::new(ListArray::new(item, offsets, micros(&FAR), None));
    let columns: [(&str, ArrayRef); 4] =
        [("far", micros(&FAR)), ("near", nanos(&NEAR)), ("nested", nested), ("lists", lists)];
    RecordBatch::try_from_iter(columns).unwrap()
}

fn open(paths: &[&Path], timestamp_unit: TimestampUnit) -> Result<OrcSource> {
    let job = job(2);
    let files = objects(paths, &job)?.into_iter().map(InputFile::from).collect();
    OrcSource::open_files(files, OrcOptions { timestamp_unit, ..OrcOptions::default() }, ColumnUnion::default(), &job)
}

fn unit(source: &OrcSource, column: &str) -> TimeUnit {
    match source.schema().field_with_name(column).unwrap().data_type() {
        DataType::Timestamp(unit, _) => *unit,
        other => panic!("{other}"),
    }
}

fn error(source: &OrcSource, column: &str) -> Error {
    common::read(source, &common::columns(&[column])).unwrap_err()
}

fn assert_advised(error: &Error, says: &str) {
    assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
    assert!(error.to_string().contains(says), "{error}");
    assert!(error.to_string().contains("`timestamp_unit`"), "{error}");
}

#[test]
fn statistics_choose_the_unit_of_a_column() {
    let (_folder, path) = case();
    write(&path, &table(), &WriteOptions::default());
    let source = open(&[&path], TimestampUnit::Auto).unwrap();
    assert_eq!((unit(&source, "far"), unit(&source, "near")), (TimeUnit::Microsecond, TimeUnit::Nanosecond));
    let rows = common::read(&source, &common::columns(&["far", "near", "lists"])).unwrap();
    assert_eq!(rows, table().project(&[0, 1, 3]).unwrap().with_schema(rows.schema()).unwrap());
    // One struct has one unit, and near's digits don't fit it.
    assert_advised(
        &error(&source, "nested"),
        "row 0: the time 1970-01-01 00:00:00.000000001 has digits below microseconds",
    );
    let source = open(&[&path], TimestampUnit::Microsecond).unwrap();
    let rows = common::read(&source, &ReadRequest::default()).unwrap();
    let nested = rows.column(2).as_struct();
    assert_eq!(nested.column(1), &micros(&FAR));
    let near = nested.column(0).as_primitive::<TimestampMicrosecondType>();
    assert_eq!(near.iter().collect::<Vec<_>>(), NEAR.map(|n| n.map(|n| n.div_euclid(1000))));
}

/// The farthest seconds that ORC's milliseconds hold, and those around the ends of 64 bits of microseconds.
const SECONDS: [i64; 7] = [
    -9_223_372_036_854_774,
    -9_223_372_036_855,
    -9_223_372_036_854,
    0,
    9_223_372_036_854,
    9_223_372_036_855,
    9_223_372_036_854_774,
];

#[test]
fn times_of_millions_of_years_are_read_as_they_were_written() {
    for seconds in SECONDS {
        let times: [ArrayRef; 2] = [
            Arc::new(TimestampSecondArray::from(vec![Some(seconds), None])),
            Arc::new(TimestampMillisecondArray::from(vec![Some(seconds * 1000), None]).with_timezone("UTC")),
        ];
        for times in times {
            let (_folder, path) = case();
            let item = Arc::new(Field::new("item", times.data_type().clone(), true));
            let lists: ArrayRef =
                Arc::new(ListArray::new(item, OffsetBuffer::from_lengths([2, 0]), Arc::clone(&times), None));
            write(&path, &RecordBatch::try_from_iter([("t", times), ("l", lists)]).unwrap(), &WriteOptions::default());
            let source = open(&[&path], TimestampUnit::Auto).unwrap();
            let expected = match seconds {
                0 => TimeUnit::Nanosecond,
                -9_223_372_036_854..=9_223_372_036_854 => TimeUnit::Microsecond,
                _ => TimeUnit::Millisecond,
            };
            assert_eq!(unit(&source, "t"), expected, "{seconds}");
            let rows = common::read(&source, &ReadRequest::default()).unwrap();
            let millis = |array: &ArrayRef| {
                let zone = DataType::Timestamp(TimeUnit::Millisecond, None);
                let array = cast(array, &zone).unwrap();
                array.as_primitive::<TimestampMillisecondType>().iter().collect::<Vec<_>>()
            };
            assert_eq!(millis(rows.column(0)), [Some(seconds * 1000), None], "{seconds}");
            assert_eq!(millis(rows.column(1).as_list::<i32>().values()), [Some(seconds * 1000), None], "{seconds}");
        }
    }
    // Of two files, the farther one says the unit.
    let (folder, path) = case();
    let other = folder.path().join("b.orc");
    let far: ArrayRef = Arc::new(TimestampSecondArray::from(vec![Some(SECONDS[6]), None]));
    write(&path, &RecordBatch::try_from_iter([("t", far)]).unwrap(), &WriteOptions::default());
    write(&other, &RecordBatch::try_from_iter([("t", micros(&[Some(1_000)]))]).unwrap(), &WriteOptions::default());
    let source = open(&[&other, &path], TimestampUnit::Auto).unwrap();
    assert_eq!(unit(&source, "t"), TimeUnit::Millisecond);
    let rows = common::read(&source, &common::columns(&["t"])).unwrap();
    let found: Vec<_> = rows.column(0).as_primitive::<TimestampMillisecondType>().iter().collect();
    assert_eq!(found, [Some(1), Some(SECONDS[6] * 1000), None]);
}

#[test]
fn far_times_are_filtered_by_statistics() {
    let (folder, path) = case();
    let other = folder.path().join("b.orc");
    let part = |from: usize, length| RecordBatch::try_from_iter([("t", micros(&FAR).slice(from, length))]).unwrap();
    write(&path, &part(0, 3), &WriteOptions::default());
    write(&other, &part(3, 2), &WriteOptions::default());
    let source = open(&[&path, &other], TimestampUnit::Auto).unwrap();
    let kept = |op, text: &str| {
        let plan = source.plan(&filtered(compare("t", op, Literal::Text(text.to_owned())))).unwrap();
        let rows = common::read_plan(&source, &plan).unwrap().num_rows();
        (plan.files.iter().map(|file| file.units[0].pruned.is_none()).collect::<Vec<_>>(), rows)
    };
    assert_eq!(kept(CompareOp::Eq, "0001-01-01 00:00:00"), (vec![true, false], 1));
    assert_eq!(kept(CompareOp::Less, "1600-01-01 00:00:00"), (vec![true, false], 2));
    assert_eq!(kept(CompareOp::GreaterOrEq, "9999-12-31 23:59:59.999999"), (vec![false, true], 1));
    assert_eq!(kept(CompareOp::Eq, "9999-12-31 23:59:59.999998").1, 0);
}

#[test]
fn all_files_of_a_scan_have_one_unit() {
    let (folder, path) = case();
    let other = folder.path().join("b.orc");
    let whole = [Some(1_000), Some(-86_400_000_000_000)];
    write(&path, &RecordBatch::try_from_iter([("t", nanos(&whole))]).unwrap(), &WriteOptions::default());
    write(&other, &RecordBatch::try_from_iter([("t", micros(&FAR))]).unwrap(), &WriteOptions::default());
    assert_eq!(unit(&open(&[&path], TimestampUnit::Auto).unwrap(), "t"), TimeUnit::Nanosecond);
    let source = open(&[&path, &other], TimestampUnit::Auto).unwrap();
    let rows = common::read(&source, &ReadRequest::default()).unwrap();
    let wanted: Vec<Option<i64>> = [Some(1), Some(-86_400_000_000)].into_iter().chain(FAR).collect();
    assert_eq!(rows.column(0), &micros(&wanted));
}

#[test]
fn what_does_not_fit_names_column_and_row() {
    let (_folder, path) = case();
    write(&path, &table(), &WriteOptions::default());
    let source = open(&[&path], TimestampUnit::Nanosecond).unwrap();
    let found = error(&source, "far");
    assert_advised(&found, "the time 0001-01-01 00:00:00 doesn't fit 64 bits of nanoseconds");
    assert!(found.to_string().contains("a.orc: column \"far\": stripe 0, column 1, row 0"), "{found}");
    assert_advised(&error(&source, "lists"), "column \"lists\": stripe 0, column 7: the time 0001");
    assert_eq!(common::read(&source, &common::columns(&["near"])).unwrap().column(0), &nanos(&NEAR));
    for unit in [TimestampUnit::Second, TimestampUnit::Millisecond] {
        let rows = common::read(&open(&[&path], unit).unwrap(), &ReadRequest::default()).unwrap();
        assert_eq!(rows.num_rows(), 5);
    }
}

/// The bytes of an uncompressed file, without the file's statistics.
fn without_statistics(file: &[u8]) -> Vec<u8> {
    let (&length, rest) = file.split_last().unwrap();
    let (rest, postscript) = rest.split_at(rest.len() - usize::from(length));
    let mut postscript = proto::PostScript::decode(postscript).unwrap();
    let (rest, footer) = rest.split_at(rest.len() - postscript.footer_length() as usize);
    let mut footer = proto::Footer::decode(footer).unwrap();
    footer.statistics.clear();
    let footer = footer.encode_to_vec();
    postscript.footer_length = Some(footer.len() as u64);
    let postscript = postscript.encode_to_vec();
    [rest, &footer, &postscript, &[postscript.len() as u8]].concat()
}

#[test]
fn without_statistics_a_far_time_is_an_error_that_says_what_reads_it() {
    let (_folder, path) = case();
    let options = WriteOptions { compression: Some("none".parse().unwrap()), ..WriteOptions::default() };
    write(&path, &RecordBatch::try_from_iter([("t", micros(&FAR))]).unwrap(), &options);
    let cut = without_statistics(&std::fs::read(&path).unwrap());
    std::fs::write(&path, cut).unwrap();
    let source = open(&[&path], TimestampUnit::Auto).unwrap();
    assert_eq!(unit(&source, "t"), TimeUnit::Nanosecond);
    assert_advised(&error(&source, "t"), "row 0: the time 0001-01-01 00:00:00 doesn't fit");
    let source = open(&[&path], TimestampUnit::Microsecond).unwrap();
    assert_eq!(common::read(&source, &ReadRequest::default()).unwrap().column(0), &micros(&FAR));
}
