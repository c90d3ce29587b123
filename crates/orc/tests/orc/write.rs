//! What the writer wrote, the reader reads: tables of every type, by every codec, in stripes and row groups of any size.

mod memory;
mod tables;

use std::sync::Arc;

use arrow::array::*;
use arrow::datatypes::*;
use bytes::Bytes;
use lakerace_orc::read::{Bounds, Projection, ReadOptions};
use lakerace_orc::write::{Writer, WriterOptions};
use lakerace_orc::{Codec, ErrorKind, Result, StreamKind};

use tables::{Shape, rows_as_text, table};

use crate::common;

const SHAPE: Shape = Shape { rows: 3000, distinct: u64::MAX, sorted: false, null_percent: 20 };

fn write(batch: &RecordBatch, options: &WriterOptions, rows: usize) -> Result<Bytes> {
    let mut writer = Writer::new(batch.schema(), options.clone())?;
    let mut pieces = Vec::new();
    for at in (0..batch.num_rows()).step_by(rows) {
        pieces.extend(writer.write(&batch.slice(at, rows.min(batch.num_rows() - at)))?);
    }
    let finished = writer.finish()?;
    pieces.extend(finished.pieces);
    let file = Bytes::from(pieces.concat());
    assert_eq!((finished.rows, finished.bytes), (batch.num_rows() as u64, file.len() as u64));
    assert_eq!(common::tail(&file)?.stripes().len(), finished.stripes);
    Ok(file)
}

fn assert_reads_back(batch: &RecordBatch, file: &Bytes, hint: &str) {
    let got = rows_as_text(&common::read(file, &ReadOptions::default()).unwrap());
    if batch.num_rows() == 0 {
        assert!(got.iter().all(|(_, rows)| rows.is_empty()), "{hint}");
        return;
    }
    let expected = rows_as_text(std::slice::from_ref(batch));
    assert_eq!(got.len(), expected.len(), "{hint}");
    for ((name, got), (_, expected)) in got.iter().zip(&expected) {
        let differs = got.iter().zip(expected).position(|(a, b)| a != b);
        if let Some(row) = differs {
            panic!("{hint}, column {name}, row {row}: {} instead of {}", got[row], expected[row]);
        }
        assert_eq!(got.len(), expected.len(), "{hint}, column {name}");
    }
}

#[test]
fn every_type_comes_back_by_every_codec() {
    for (seed, codec) in [Codec::None, Codec::Zlib, Codec::Snappy, Codec::Lz4, Codec::Zstd].into_iter().enumerate() {
        for (sorted, distinct, null_percent) in
            [(false, u64::MAX, 20), (true, 900, 0), (false, 5, 90), (true, 1 << 40, 1)]
        {
            let batch = table(seed as u64, &Shape { distinct, sorted, null_percent, ..SHAPE });
            let options = WriterOptions { codec, row_index_stride: 1000, block_size: 4096, ..Default::default() };
            let file = write(&batch, &options, 700).unwrap();
            assert_reads_back(&batch, &file, &format!("{codec:?}, {distinct} distinct"));
        }
    }
}

#[test]
fn tables_of_any_size_come_back() {
    for rows in [0, 1, 2, 7, 8, 9, 511, 513] {
        for null_percent in [0, 50, 100] {
            let batch = table(rows as u64, &Shape { rows, null_percent, ..SHAPE });
            for row_index_stride in [0, 1, 8, 10_000] {
                let options = WriterOptions { row_index_stride, codec: Codec::Snappy, ..Default::default() };
                let file = write(&batch, &options, 100).unwrap();
                assert_reads_back(&batch, &file, &format!("{rows} rows, {null_percent} % null, {row_index_stride}"));
            }
        }
    }
}

#[test]
fn stripes_end_at_their_size() {
    let batch = table(1, &SHAPE);
    let mut stripes = Vec::new();
    for stripe_size in [1, 50_000, 1 << 20, 64 << 20] {
        let options = WriterOptions { stripe_size, row_index_stride: 200, ..Default::default() };
        let file = write(&batch, &options, 1000).unwrap();
        assert_reads_back(&batch, &file, &format!("stripes of {stripe_size}"));
        stripes.push(common::tail(&file).unwrap().stripes().len());
    }
    assert!(stripes[0] >= 15 && stripes[0] > stripes[1] && stripes[1] > stripes[2] && stripes[3] == 1, "{stripes:?}");
}

#[test]
fn memory_is_bounded_by_the_stripe() {
    let batch = table(2, &Shape { rows: 2000, ..SHAPE });
    let options = WriterOptions { stripe_size: 200_000, row_index_stride: 500, block_size: 4096, ..Default::default() };
    let mut writer = Writer::new(batch.schema(), options).unwrap();
    let mut most = Vec::new();
    for _ in 0..8 {
        let pieces = writer.write(&batch).unwrap();
        assert!(!pieces.is_empty(), "a batch is larger than a stripe");
        most.push(writer.memory_bytes());
    }
    assert!(most[7] < most[0] * 2, "{most:?}");
    assert!(most[7] < 20_000_000, "{most:?}");
}

#[test]
fn bytes_depend_on_neither_threads_nor_batches() {
    let batch = table(3, &SHAPE);
    let all: Vec<usize> = (0..batch.num_columns()).collect();
    // Columns one by one first, so that a failure names one.
    for columns in all.chunks(1).chain([&all[..]]) {
        let name = batch.schema().field(columns[0]).name().clone();
        let batch = batch.project(columns).unwrap();
        for codec in [Codec::None, Codec::Lz4, Codec::Zstd] {
            let options = WriterOptions { codec, row_index_stride: 700, block_size: 2048, ..Default::default() };
            let one = write(&batch, &options, SHAPE.rows).unwrap();
            for (threads, rows) in [(1, 64), (2, SHAPE.rows), (7, 701)] {
                let other = write(&batch, &WriterOptions { threads, ..options.clone() }, rows).unwrap();
                assert!(one == other, "{name}, {codec:?}, {threads} threads, batches of {rows}");
            }
        }
    }
}

#[test]
fn stripes_do_not_depend_on_batches() {
    let batch = table(6, &SHAPE);
    let options = WriterOptions { stripe_size: 200_000, row_index_stride: 50, ..Default::default() };
    let one = write(&batch, &options, SHAPE.rows).unwrap();
    assert!(common::tail(&one).unwrap().stripes().len() > 3);
    for rows in [33, 250] {
        assert!(one == write(&batch, &options, rows).unwrap(), "batches of {rows}");
    }
}

#[test]
fn each_row_group_can_be_read_alone() {
    for (codec, null_percent) in [(Codec::None, 20), (Codec::Zlib, 20), (Codec::Zstd, 0)] {
        let batch = table(4, &Shape { null_percent, distinct: 1 << 20, ..SHAPE });
        let options = WriterOptions { codec, row_index_stride: 333, block_size: 1024, ..Default::default() };
        let file = write(&batch, &options, 1000).unwrap();
        let tail = common::tail(&file).unwrap();
        let projection = Projection::all(tail.root());
        let mut stripe = common::stripe(&file, &tail, 0, &projection).unwrap();
        for range in stripe.index_ranges(&projection.columns(), false) {
            let bytes = common::part(&file, (range.offset, range.length));
            stripe.set_index(&range, &bytes).unwrap();
        }
        assert_eq!(stripe.row_groups(), 10);
        for group in 0..10 {
            let selected: Vec<bool> = (0..10).map(|n| n == group).collect();
            let read = stripe.read_groups(&selected).unwrap();
            let got = rows_as_text(&common::batches(&file, read, &ReadOptions::default()).unwrap());
            let rows = 333.min(SHAPE.rows - group * 333);
            let expected = rows_as_text(&[batch.slice(group * 333, rows)]);
            for (got, expected) in got.iter().zip(&expected) {
                assert_eq!(got, expected, "{codec:?}, row group {group}");
            }
        }
    }
}

#[test]
fn bloom_filters_miss_nothing_and_little_else() {
    let numbers: Vec<i64> = (0..5000).map(|n| n * 7 - 300).collect();
    let texts: Vec<String> = numbers.iter().map(|n| format!("text {n}")).collect();
    let keyed: DictionaryArray<Int32Type> = texts.iter().map(|t| Some(t.as_str())).collect();
    let columns: [(&str, ArrayRef); 4] = [
        ("n", Arc::new(Int64Array::from(numbers.clone()))),
        ("t", Arc::new(StringArray::from(texts.clone()))),
        ("k", Arc::new(keyed)),
        ("f", Arc::new(Float64Array::from(numbers.iter().map(|&n| n as f64 / 3.0).collect::<Vec<_>>()))),
    ];
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    let names = ["n", "t", "k", "f"].map(str::to_owned);
    let options = WriterOptions { bloom_filters: names.into(), row_index_stride: 1000, ..Default::default() };
    let file = write(&batch, &options, 5000).unwrap();
    let tail = common::tail(&file).unwrap();
    let mut stripe = common::stripe(&file, &tail, 0, &Projection::all(tail.root())).unwrap();
    let ranges = stripe.index_ranges(&[1, 2, 3, 4], true);
    assert_eq!(ranges.iter().filter(|range| range.kind == StreamKind::BloomFilterUtf8).count(), 4);
    for range in ranges {
        stripe.set_index(&range, &common::part(&file, (range.offset, range.length))).unwrap();
    }
    let mut wrong = [0; 4];
    for group in 0..5 {
        let filters = [1, 2, 3, 4].map(|column| stripe.bloom_filter(column, group).unwrap());
        for (row, &n) in numbers.iter().enumerate() {
            let found = [
                filters[0].may_contain_integer(n),
                filters[1].may_contain_bytes(texts[row].as_bytes()),
                filters[2].may_contain_bytes(texts[row].as_bytes()),
                filters[3].may_contain_double(n as f64 / 3.0),
            ];
            if row / 1000 == group {
                assert_eq!(found, [true; 4], "row {row}");
            } else {
                (0..4).for_each(|filter| wrong[filter] += u32::from(found[filter]));
            }
        }
    }
    // Of 20,000 questions about values of other row groups, one in a hundred may be answered wrongly.
    assert!(wrong.iter().all(|&count| count < 400), "{wrong:?}");
}

#[test]
fn statistics_are_told_of_file_stripe_and_row_group() {
    let numbers = Int32Array::from_iter((0..1000).map(|n| (n % 10 != 3).then_some(n)));
    let texts = StringArray::from_iter_values((0..1000).map(|n| format!("{n:04}")));
    let columns: [(&str, ArrayRef); 2] = [("n", Arc::new(numbers)), ("t", Arc::new(texts))];
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    let options = WriterOptions { row_index_stride: 100, stripe_size: 1, ..Default::default() };
    // Each batch of 100 rows is a stripe.
    let file = write(&batch, &options, 100).unwrap();
    let tail = common::tail(&file).unwrap();
    let text = |from: usize, to: usize| Bounds::Text(format!("{from:04}").into(), Some(format!("{to:04}").into()));
    let of_file = [1, 2].map(|column| tail.statistics(column).unwrap());
    assert_eq!((&of_file[0].bounds, &of_file[1].bounds), (&Bounds::Integer(0, 999), &text(0, 999)));
    assert_eq!((of_file[0].values, of_file[0].has_null), (Some(900), true));
    assert_eq!((of_file[1].values, of_file[1].has_null), (Some(1000), false));
    let mut first = 0;
    for (number, info) in tail.stripes().iter().enumerate() {
        let end = first + info.rows as usize;
        let statistics = tail.stripe_statistics(number).unwrap().unwrap();
        assert_eq!(statistics[2].bounds, text(first, end - 1));
        assert!(statistics[2].bytes_on_disk.is_some_and(|bytes| bytes > 0));
        let mut stripe = common::stripe(&file, &tail, number, &Projection::all(tail.root())).unwrap();
        for range in stripe.index_ranges(&[0, 1, 2], false) {
            stripe.set_index(&range, &common::part(&file, (range.offset, range.length))).unwrap();
        }
        assert_eq!(stripe.group_statistics(2, 0).unwrap().bounds, statistics[2].bounds);
        assert_eq!(stripe.group_statistics(0, 0).unwrap().values, Some(info.rows));
        first = end;
    }
    assert_eq!(first, 1000);
}

#[test]
fn the_footer_tells_who_wrote_what() {
    let batch = table(5, &Shape { rows: 3, ..SHAPE });
    let options = WriterOptions { metadata: vec![("key".into(), vec![0, 255])], ..Default::default() };
    let tail = common::tail(&write(&batch, &options, 3).unwrap()).unwrap();
    assert_eq!(tail.user_metadata().collect::<Vec<_>>(), [("key", &[0, 255][..])]);
    assert_eq!(tail.version(), (0, 12));
    assert!(tail.software_version().unwrap().starts_with("lakerace-orc "));
    assert_eq!((tail.codec(), tail.rows()), (Codec::Zstd, 3));
}

fn refused(array: ArrayRef, options: WriterOptions) -> lakerace_orc::Error {
    let batch = RecordBatch::try_from_iter([("c", array)]).unwrap();
    write(&batch, &options, 100).expect_err("it was written")
}

#[test]
fn what_orc_can_not_hold_is_refused_with_advice() {
    let default = WriterOptions::default;
    let unsupported: [(ArrayRef, &str); 5] = [
        (Arc::new(UInt64Array::from(vec![1])), "decimal(20,0)"),
        (Arc::new(NullArray::new(1)), "cast it"),
        (Arc::new(Time32SecondArray::from(vec![1])), "int64"),
        (Arc::new(DurationSecondArray::from(vec![1])), "int64"),
        (Arc::new(Decimal256Array::from(vec![i256::ONE])), "cast it to a decimal"),
    ];
    for (array, advice) in unsupported {
        let error = refused(array, default());
        assert_eq!(error.kind(), ErrorKind::Unsupported);
        assert!(error.to_string().starts_with("column \"c\": ") && error.message().contains(advice), "{error}");
    }
    let items = ListArray::from_iter_primitive::<UInt64Type, _, _>([Some([Some(1)])]);
    assert!(refused(Arc::new(items), default()).to_string().starts_with("column \"c._elem\": "));
    let invalid: [ArrayRef; 4] = [
        // The last second before 1970, and years that milliseconds do not reach.
        Arc::new(TimestampMillisecondArray::from(vec![0, -1])),
        Arc::new(TimestampSecondArray::from(vec![i64::MAX])),
        Arc::new(Decimal128Array::from(vec![100_000]).with_precision_and_scale(5, 2).unwrap()),
        Arc::new(Date64Array::from(vec![i64::MAX])),
    ];
    for array in invalid {
        let error = refused(array, default());
        assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
        assert!(error.to_string().starts_with("column c: "), "{error}");
    }
}

#[test]
fn options_out_of_range_are_refused() {
    let default = WriterOptions::default;
    let bad = [
        WriterOptions { block_size: 0, ..default() },
        WriterOptions { block_size: 1 << 23, ..default() },
        WriterOptions { stripe_size: 0, ..default() },
        WriterOptions { threads: 0, ..default() },
        WriterOptions { level: Some(99), ..default() },
        WriterOptions { dictionary_threshold: f64::NAN, ..default() },
        WriterOptions { bloom_fpp: 0.0, ..default() },
        WriterOptions { bloom_filters: vec!["x".into()], ..default() },
        WriterOptions { bloom_filters: vec!["c".into()], row_index_stride: 0, ..default() },
    ];
    for options in bad {
        let error = refused(Arc::new(Int64Array::from(vec![1])), options.clone());
        assert_eq!(error.kind(), ErrorKind::Invalid, "{options:?}: {error}");
    }
    let batch = RecordBatch::try_from_iter([("c", Arc::new(Int64Array::from(vec![1])) as ArrayRef)]).unwrap();
    let other = RecordBatch::try_from_iter([("c", Arc::new(Int32Array::from(vec![1])) as ArrayRef)]).unwrap();
    let error = Writer::new(batch.schema(), default()).unwrap().write(&other).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid);
}

#[test]
fn narrow_and_wide_types_become_what_orc_has() {
    let columns: [(&str, ArrayRef); 3] = [
        ("h", Arc::new(Float16Array::from(vec![half(0x3c00), half(0xc100)]))),
        ("d", Arc::new(Date64Array::from(vec![86_400_000, -86_400_000]))),
        ("u", Arc::new(UInt32Array::from(vec![u32::MAX, 0]))),
    ];
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    let got = common::read(&write(&batch, &WriterOptions::default(), 2).unwrap(), &ReadOptions::default()).unwrap();
    assert_eq!(*got[0].column(0).as_primitive::<Float32Type>(), Float32Array::from(vec![1.0, -2.5]));
    assert_eq!(*got[0].column(1).as_primitive::<Date32Type>(), Date32Array::from(vec![1, -1]));
    assert_eq!(*got[0].column(2).as_primitive::<Int64Type>(), Int64Array::from(vec![u32::MAX.into(), 0]));
    // A date has no hour.
    for odd in [1, -1, 86_399_999] {
        let error = refused(Arc::new(Date64Array::from(vec![0, odd])), WriterOptions::default());
        assert!(error.kind() == ErrorKind::Invalid && error.to_string().contains("not a whole day"), "{error}");
    }
}

fn half(bits: u16) -> <Float16Type as ArrowPrimitiveType>::Native {
    <Float16Type as ArrowPrimitiveType>::Native::from_bits(bits)
}
