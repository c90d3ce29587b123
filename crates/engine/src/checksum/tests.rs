#![allow(clippy::unwrap_used)]
use std::sync::Arc;

use arrow::array::types::*;
use arrow::array::*;
use arrow::datatypes::{DataType, Field, Fields, Schema, i256};
use lakerace_io::{ErrorKind, JobOptions};
use proptest::prelude::*;

use super::*;

fn sum(columns: Vec<ArrayRef>) -> Checksum {
    let named = columns.into_iter().enumerate().map(|(i, a)| (format!("c{i}"), a, true));
    of_batch(&RecordBatch::try_from_iter_with_nullable(named).unwrap()).unwrap()
}

fn one(array: impl Array + 'static) -> u128 {
    sum(vec![Arc::new(array)]).sum
}

fn decimal(values: Vec<i128>, scale: i8) -> Decimal128Array {
    Decimal128Array::from(values).with_precision_and_scale(38, scale).unwrap()
}

#[test]
fn integers_decimals_and_floats_of_equal_value_are_equal() {
    let expected = one(Int64Array::from(vec![5, -120, 0]));
    assert_eq!(one(Int8Array::from(vec![5, -120, 0])), expected);
    assert_eq!(one(Int32Array::from(vec![5, -120, 0])), expected);
    assert_eq!(one(Float32Array::from(vec![5.0, -120.0, -0.0])), expected);
    assert_eq!(one(Float64Array::from(vec![5.0, -120.0, 0.0])), expected);
    assert_eq!(one(decimal(vec![500, -12_000, 0], 2)), expected);
    assert_eq!(one(decimal(vec![5, -120, 0], 0)), expected);
    let wide: Vec<i256> = [5000, -120_000, 0].map(i256::from_i128).to_vec();
    assert_eq!(one(Decimal256Array::from(wide).with_precision_and_scale(76, 3).unwrap()), expected);
    assert_eq!(one(UInt8Array::from(vec![5])), one(UInt64Array::from(vec![5])));
    assert_eq!(one(decimal(vec![12], -1)), one(Int32Array::from(vec![120])));
    assert_ne!(one(Int64Array::from(vec![6, -120, 0])), expected);
}

#[test]
fn fractions_and_large_numbers() {
    assert_eq!(one(Float64Array::from(vec![12.34])), one(decimal(vec![12_340], 3)));
    assert_eq!(one(Float32Array::from(vec![0.1])), one(decimal(vec![1], 1)));
    assert_eq!(one(Float32Array::from(vec![0.1])), one(Float64Array::from(vec![0.1])));
    assert_eq!(one(Float64Array::from(vec![1e-7])), one(decimal(vec![1], 7)));
    assert_eq!(one(Float64Array::from(vec![123_456_789.125_4])), one(decimal(vec![1_234_567_891_254], 4)));
    assert_eq!(one(Float64Array::from(vec![1e18])), one(Int64Array::from(vec![1_000_000_000_000_000_000])));
    assert_eq!(one(Float64Array::from(vec![1e30])), one(decimal(vec![1], -30)));
    assert_eq!(one(Float64Array::from(vec![1e30])), one(decimal(vec![10i128.pow(32)], 2)));
    assert_eq!(one(UInt64Array::from(vec![u64::MAX])), one(decimal(vec![i128::from(u64::MAX) * 100], 2)));
    assert_eq!(one(Int64Array::from(vec![i64::MIN])), one(decimal(vec![i128::from(i64::MIN) * 10], 1)));
    let wide = i256::from_i128(10).wrapping_pow(40);
    let wide = Decimal256Array::from(vec![wide]).with_precision_and_scale(76, 0).unwrap();
    assert_eq!(one(wide), one(Float64Array::from(vec![1e40])));
    assert_ne!(one(Float64Array::from(vec![0.1])), one(Float64Array::from(vec![0.1 + f64::EPSILON])));
    assert_eq!(one(Float64Array::from(vec![f64::NAN])), one(Float32Array::from(vec![-f32::NAN])));
    assert_ne!(one(Float64Array::from(vec![f64::INFINITY])), one(Float64Array::from(vec![f64::NEG_INFINITY])));
    assert_eq!(
        one(Float64Array::from(vec![1_152_921_504_606_846_976.0])),
        one(Int64Array::from(vec![1_152_921_504_606_847_000]))
    );
}

#[test]
fn text_in_every_layout_is_equal() {
    let values = vec![Some("a"), None, Some(""), Some("a longer text that is not inline"), Some("a")];
    let expected = one(StringArray::from(values.clone()));
    assert_eq!(one(LargeStringArray::from(values.clone())), expected);
    assert_eq!(one(StringViewArray::from(values.clone())), expected);
    assert_eq!(one(values.clone().into_iter().collect::<DictionaryArray<Int8Type>>()), expected);
    let nothing = [None::<&str>; 3];
    assert_eq!(
        one(nothing.into_iter().collect::<DictionaryArray<Int8Type>>()),
        one(StringArray::from(nothing.to_vec()))
    );
    let large: Vec<Option<&[u8]>> = values.iter().map(|v| v.map(str::as_bytes)).collect();
    assert_eq!(one(BinaryArray::from(large)), expected);
    assert_ne!(one(StringArray::from(vec![Some("")])), one(StringArray::from(vec![None::<&str>])));
}

#[test]
fn dates_and_times_by_instant() {
    let days = one(Date32Array::from(vec![19_782, -1]));
    assert_eq!(one(Date64Array::from(vec![19_782 * 86_400_000, -86_400_000])), days);
    let seconds = one(TimestampSecondArray::from(vec![1_700_000_000, -5]));
    assert_eq!(one(TimestampNanosecondArray::from(vec![1_700_000_000_000_000_000, -5_000_000_000])), seconds);
    assert_eq!(
        one(TimestampMicrosecondArray::from(vec![1_700_000_000_000_000, -5_000_000]).with_timezone("+01:00")),
        seconds
    );
    assert_eq!(one(Time32SecondArray::from(vec![3600])), one(Time64NanosecondArray::from(vec![3_600_000_000_000])));
    // Different kinds are different, although their numbers are the same.
    let zeros = [
        one(Int64Array::from(vec![0])),
        one(Date32Array::from(vec![0])),
        one(TimestampSecondArray::from(vec![0])),
        one(Time32SecondArray::from(vec![0])),
        one(DurationSecondArray::from(vec![0])),
        one(BooleanArray::from(vec![false])),
        one(StringArray::from(vec!["0"])),
        one(NullArray::new(1)),
    ];
    let distinct: std::collections::HashSet<u128> = zeros.into_iter().collect();
    assert_eq!(distinct.len(), zeros.len());
}

#[test]
fn nested_values() {
    let lists = |values: Vec<Option<Vec<Option<i32>>>>| ListArray::from_iter_primitive::<Int32Type, _, _>(values);
    let a = lists(vec![Some(vec![Some(1), None]), Some(vec![]), None]);
    let expected = one(a.clone());
    let large =
        LargeListArray::from_iter_primitive::<Int64Type, _, _>(vec![Some(vec![Some(1), None]), Some(vec![]), None]);
    assert_eq!(one(large), expected);
    assert_ne!(one(lists(vec![Some(vec![Some(1)]), Some(vec![None]), None])), expected);
    assert_ne!(one(lists(vec![Some(vec![Some(1), None]), None, None])), expected);
    // A slice in the middle of its values.
    assert_eq!(one(a.slice(1, 1)), one(lists(vec![Some(vec![])])));
    let fixed = FixedSizeListArray::from_iter_primitive::<Int32Type, _, _>(vec![Some(vec![Some(1), None])], 2);
    assert_eq!(one(fixed), one(lists(vec![Some(vec![Some(1), None])])));
    let fields = |name: &str, t: DataType| Fields::from(vec![Field::new(name, t, true)]);
    let ints: ArrayRef = Arc::new(Int32Array::from(vec![Some(1), None, Some(3)]));
    let longs: ArrayRef = Arc::new(Int64Array::from(vec![Some(1), None, Some(3)]));
    let nulls = Some(vec![true, true, false].into());
    let a = StructArray::new(fields("x", DataType::Int32), vec![ints], nulls.clone());
    let b = StructArray::new(fields("other", DataType::Int64), vec![Arc::clone(&longs)], nulls);
    assert_eq!(one(a.clone()), one(b));
    assert_ne!(one(a), one(StructArray::new(fields("x", DataType::Int64), vec![longs], None)));
}

fn mixed(rows: usize) -> RecordBatch {
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("i", Arc::new(Int64Array::from_iter((0..rows).map(|i| (i % 7 != 0).then_some(i as i64))))),
        ("f", Arc::new(Float64Array::from_iter_values((0..rows).map(|i| i as f64 / 3.0)))),
        ("s", Arc::new(StringViewArray::from_iter_values((0..rows).map(|i| format!("row {}", i % 100))))),
    ];
    RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(n, a)| (n, a, true))).unwrap()
}

fn of_parts(batch: &RecordBatch, rows: usize, threads: usize) -> Checksum {
    let parts: Vec<Result<RecordBatch>> = (0..batch.num_rows())
        .step_by(rows)
        .map(|start| Ok(batch.slice(start, rows.min(batch.num_rows() - start))))
        .collect();
    let job = Job::new(JobOptions { threads, ..JobOptions::default() });
    checksum(Batches::new(batch.schema(), parts.into_iter()), &job).unwrap()
}

#[test]
fn batches_and_threads_do_not_matter() {
    let batch = mixed(30_000);
    let expected = of_batch(&batch).unwrap();
    assert_eq!(expected.rows, 30_000);
    for (rows, threads) in [(30_000, 1), (1000, 1), (777, 3), (1, 2), (29_999, 4)] {
        assert_eq!(of_parts(&batch, rows, threads), expected, "{rows} rows, {threads} threads");
    }
    let mut reversed: Vec<RecordBatch> = (0..30).map(|i| batch.slice(i * 1000, 1000)).collect();
    reversed.reverse();
    let reversed = Batches::new(batch.schema(), reversed.into_iter().map(Ok));
    assert_eq!(checksum(reversed, &Job::default()).unwrap(), expected);
}

#[test]
fn changes_are_seen() {
    let batch = mixed(1000);
    let expected = of_batch(&batch).unwrap();
    let swapped = batch.project(&[1, 0, 2]).unwrap();
    assert_ne!(of_batch(&swapped).unwrap().sum, expected.sum);
    let fewer = batch.slice(0, 999);
    assert_ne!(of_batch(&fewer).unwrap().sum, expected.sum);
    let twice = of_batch(&batch.slice(0, 1)).unwrap().and(expected);
    assert_ne!(twice.sum, expected.sum);
    // Two rows with their values exchanged in one column.
    let a = sum(vec![Arc::new(Int64Array::from(vec![1, 2])), Arc::new(Int64Array::from(vec![3, 4]))]);
    let b = sum(vec![Arc::new(Int64Array::from(vec![2, 1])), Arc::new(Int64Array::from(vec![3, 4]))]);
    assert_ne!(a.sum, b.sum);
    assert_eq!(expected.to_string().len(), 32);
}

#[test]
fn stays_what_it_is() {
    // Written down in files and reports: it must not change from version to version.
    let batch = mixed(100);
    assert_eq!(of_batch(&batch).unwrap().to_string(), "db3ea04e1e7f8673db868f01136fc223");
    let empty = RecordBatch::try_new_with_options(
        Arc::new(Schema::empty()),
        vec![],
        &RecordBatchOptions::new().with_row_count(Some(3)),
    );
    assert_eq!(of_batch(&empty.unwrap()).unwrap().sum, xxh3_128(&[]).wrapping_mul(3));
}

#[test]
fn errors_and_cancellation() {
    let schema = mixed(1).schema();
    let failing = Batches::new(Arc::clone(&schema), vec![Ok(mixed(5)), Err(Error::corrupt("bad"))].into_iter());
    assert_eq!(checksum(failing, &Job::default()).unwrap_err().kind(), ErrorKind::Corrupt);
    let job = Job::default();
    job.cancel();
    let error = checksum(Batches::new(schema, std::iter::repeat_with(|| Ok(mixed(5)))), &job).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Cancelled);
}

/// Whether the exact value lies in the middle of `digits` and the number before it, both x 10^-`scale`.
fn is_tie(value: f64, digits: i128, scale: i32) -> bool {
    let exact = format!("{:.1100}", value.abs());
    let halfway = digits.abs() * 10 - 5;
    let whole = format!("{halfway}e{}", -(scale + 1));
    // Compared as decimals: the exact text without its zeros against the shifted digits.
    let strip = |t: &str| t.replace('.', "").trim_start_matches('0').trim_end_matches('0').to_owned();
    strip(&exact) == strip(whole.split('e').next().unwrap())
}

proptest! {
    #[test]
    fn doubles_are_their_shortest_decimal(bits in any::<u64>(), cents in -10_000_000_000i64..10_000_000_000) {
        let value = f64::from_bits(bits);
        prop_assume!(value.is_finite());
        for value in [value, cents as f64 / 100.0, cents as f64 / 10_000.0, cents as f64 / 4096.0] {
            let text = format!("{value:e}");
            let (mantissa, exponent) = text.split_once('e').unwrap();
            let scale = mantissa.split_once('.').map_or(0, |(_, f)| f.len() as i32) - exponent.parse::<i32>().unwrap();
            let digits: i128 = mantissa.replace('.', "").parse().unwrap();
            // Where two shortest decimals are as near, the standard library takes the other one.
            let even = digits - digits.signum();
            let reads_back = format!("{even}e{}", -scale).parse::<f64>() == Ok(value);
            let expected = if reads_back && digits % 2 != 0 && is_tie(value, digits, scale) { even } else { digits };
            prop_assert_eq!(numbers::double(value), numbers::decimal(expected, scale), "{}", value);
        }
    }
}
