//! Row groups: any selection of them gives the rows that it names, and statistics and bloom filters are true of these.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, RecordBatch};
use arrow::compute::concat_batches;
use arrow::datatypes::{
    DataType, Date32Type, Decimal128Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type,
    TimestampNanosecondType,
};
use bytes::Bytes;
use lakerace_orc::ErrorKind;
use lakerace_orc::read::{BloomFilter, Bounds, ColumnStats, FileTail, Projection, ReadOptions, Stripe};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use lakerace_testing::{corpus, corpus_entry};

use crate::common;

fn options() -> ReadOptions {
    ReadOptions { batch_rows: 700, ..Default::default() }
}

fn whole(file: &Bytes, stripe: &Stripe) -> RecordBatch {
    let batches = common::batches(file, stripe.read_all().unwrap(), &options()).unwrap();
    concat_batches(&batches[0].schema(), &batches).unwrap()
}

/// A stripe with its row indexes and bloom filters.
fn indexed(file: &Bytes, tail: &Arc<FileTail>, number: usize, projection: &Projection) -> Stripe {
    let mut stripe = common::stripe(file, tail, number, projection).unwrap();
    for range in stripe.index_ranges(&projection.columns(), true) {
        let bytes = common::part(file, (range.offset, range.length));
        stripe.set_index(&range, &bytes).unwrap();
    }
    stripe
}

#[test]
fn any_selection_gives_its_rows() {
    select_groups(common::files(&common::fixtures()));
}

#[test]
fn any_selection_gives_its_rows_of_the_corpus() {
    corpus("orc", |folder| select_groups(common::files(folder)));
}

fn select_groups(files: Vec<(String, Bytes)>) {
    let mut random = StdRng::seed_from_u64(3);
    let mut selections = 0;
    for (name, file) in files {
        let Ok(tail) = common::tail(&file) else { continue };
        if tail.row_group_rows().is_none() {
            continue;
        }
        let projection = Projection::all(tail.root());
        for number in 0..tail.stripes().len().min(3) {
            let stripe = indexed(&file, &tail, number, &projection);
            if stripe.row_groups() < 2 {
                continue;
            }
            let rows = whole(&file, &stripe);
            for _ in 0..4 {
                let selected: Vec<bool> = (0..stripe.row_groups()).map(|_| random.random_bool(0.4)).collect();
                let wanted: Vec<RecordBatch> = (0..selected.len())
                    .filter(|group| selected[*group])
                    .map(|group| stripe.row_group(group))
                    .map(|(first, count)| rows.slice(first as usize, count as usize))
                    .collect();
                let wanted = concat_batches(&rows.schema(), &wanted).unwrap();
                let read = stripe.read_groups(&selected).unwrap_or_else(|e| panic!("{name}: {e}"));
                assert_eq!(read.rows(), wanted.num_rows() as u64);
                let got = common::batches(&file, read, &options()).unwrap_or_else(|e| panic!("{name}: {e}"));
                assert_eq!(
                    concat_batches(&rows.schema(), &got).unwrap(),
                    wanted,
                    "{name} stripe {number} {selected:?}"
                );
                selections += 1;
            }
        }
    }
    assert!(selections >= 4, "only {selections}");
}

#[test]
fn fewer_groups_are_fewer_bytes() {
    corpus_entry("orc/TestOrcFile.columnProjection.orc", |path| {
        let file = Bytes::from(std::fs::read(path).unwrap());
        let tail = common::tail(&file).unwrap();
        let projection = Projection::names(tail.root(), &["string1"]).unwrap();
        let stripe = indexed(&file, &tail, 0, &projection);
        let bytes = |selected: &[bool]| -> u64 {
            stripe.read_groups(selected).unwrap().ranges().iter().map(|range| range.length).sum()
        };
        let groups = stripe.row_groups();
        let one: Vec<bool> = (0..groups).map(|group| group == groups / 2).collect();
        assert_eq!(bytes(&vec![false; groups]), 0);
        assert!(bytes(&one) * 2 < bytes(&vec![true; groups]));
        assert_eq!(stripe.read_groups(&one[1..]).unwrap_err().kind(), ErrorKind::Invalid);
        let bare = common::stripe(&file, &tail, 0, &projection).unwrap();
        assert_eq!(bare.read_groups(&one).unwrap_err().kind(), ErrorKind::Invalid);
    });
}

/// Checks statistics against the values that they are of, and says whether they had bounds.
fn check(stats: &ColumnStats, values: &ArrayRef, place: &str) -> bool {
    let Some(count) = stats.values else {
        assert_eq!((stats.has_null, &stats.bounds), (true, &Bounds::Unknown), "{place}");
        return false;
    };
    assert_eq!(count, (values.len() - values.null_count()) as u64, "{place}");
    assert!(stats.has_null || values.null_count() == 0, "{place}");
    macro_rules! within {
        ($type:ty, $min:expr, $max:expr) => {
            values.as_primitive::<$type>().iter().flatten().all(|value| ($min..=$max).contains(&value.into()))
        };
    }
    let good = match (&stats.bounds, values.data_type()) {
        (Bounds::Unknown, _) => return false,
        (Bounds::Integer(min, max), DataType::Int8) => within!(Int8Type, *min, *max),
        (Bounds::Integer(min, max), DataType::Int16) => within!(Int16Type, *min, *max),
        (Bounds::Integer(min, max), DataType::Int32) => within!(Int32Type, *min, *max),
        (Bounds::Integer(min, max), DataType::Int64) => within!(Int64Type, *min, *max),
        (Bounds::Double(min, max), DataType::Float32) => within!(Float32Type, *min, *max),
        (Bounds::Double(min, max), DataType::Float64) => within!(Float64Type, *min, *max),
        (Bounds::Decimal(min, max), DataType::Decimal128(..)) => within!(Decimal128Type, *min, *max),
        (Bounds::Date(min, max), DataType::Date32) => within!(Date32Type, *min, *max),
        (Bounds::Timestamp(min, max), DataType::Timestamp(..)) => within!(TimestampNanosecondType, *min, *max),
        (Bounds::Text(min, max), DataType::Utf8View) => values.as_string_view().iter().flatten().all(|value| {
            min.as_slice() <= value.as_bytes() && max.as_ref().is_none_or(|max| max.as_slice() >= value.as_bytes())
        }),
        (Bounds::True(count), DataType::Boolean) => *count == values.as_boolean().true_count() as u64,
        (bounds, other) => panic!("{place}: {bounds:?} for {other}"),
    };
    assert!(good, "{place}: {:?}", stats.bounds);
    true
}

/// Every value that is there may be there.
fn check_bloom(filter: &BloomFilter, values: &ArrayRef, place: &str) -> u32 {
    macro_rules! integers {
        ($type:ty) => {
            values.as_primitive::<$type>().iter().flatten().all(|value| filter.may_contain_integer(value.into()))
        };
    }
    let good = match values.data_type() {
        DataType::Int8 => integers!(Int8Type),
        DataType::Int16 => integers!(Int16Type),
        DataType::Int32 => integers!(Int32Type),
        DataType::Int64 => integers!(Int64Type),
        DataType::Date32 => integers!(Date32Type),
        DataType::Float32 => {
            values.as_primitive::<Float32Type>().iter().flatten().all(|value| filter.may_contain_double(value.into()))
        }
        DataType::Float64 => {
            values.as_primitive::<Float64Type>().iter().flatten().all(|value| filter.may_contain_double(value))
        }
        DataType::Utf8View => {
            values.as_string_view().iter().flatten().all(|value| filter.may_contain_bytes(value.as_bytes()))
        }
        DataType::BinaryView => values.as_binary_view().iter().flatten().all(|value| filter.may_contain_bytes(value)),
        other => panic!("{place}: a bloom filter for {other}"),
    };
    assert!(good, "{place}: the bloom filter denies a value");
    let denied = (0..1000).filter(|nth| !filter.may_contain_integer(1_000_000_007 * nth));
    denied.count() as u32
}

#[test]
fn statistics_and_bloom_filters_are_true() {
    let (bounded, filters) = true_statistics(common::files(&common::fixtures()));
    assert!(bounded >= 12, "only {bounded} bounds");
    assert!(filters >= 4, "only {filters} bloom filters that deny anything");
}

#[test]
fn statistics_and_bloom_filters_are_true_of_the_corpus() {
    corpus("orc", |folder| {
        let (bounded, _) = true_statistics(common::files(folder));
        assert!(bounded >= 12, "only {bounded} bounds");
    });
}

/// Checks all statistics and bloom filters of files, and counts those that have bounds and those that deny anything.
fn true_statistics(files: Vec<(String, Bytes)>) -> (u32, u32) {
    let (mut bounded, mut filters) = (0, 0);
    for (name, file) in files {
        let Ok(tail) = common::tail(&file) else { continue };
        let projection = Projection::all(tail.root());
        for number in 0..tail.stripes().len().min(3) {
            let stripe = indexed(&file, &tail, number, &projection);
            if stripe.rows() == 0 || tail.root().children().next().is_none() {
                continue;
            }
            let rows = whole(&file, &stripe);
            let of_stripe = tail.stripe_statistics(number).unwrap();
            for (child, values) in tail.root().children().zip(rows.columns()) {
                let id = child.id;
                if let Some(stats) = of_stripe.as_ref().and_then(|all| all.get(id as usize)) {
                    bounded += u32::from(check(stats, values, &format!("{name} stripe {number} column {id}")));
                }
                for group in 0..stripe.row_groups() {
                    let (first, count) = stripe.row_group(group);
                    let values = values.slice(first as usize, count as usize);
                    let place = format!("{name} stripe {number} column {id} group {group}");
                    if let Some(stats) = stripe.group_statistics(id, group) {
                        bounded += u32::from(check(&stats, &values, &place));
                    }
                    if let Some(filter) = stripe.bloom_filter(id, group) {
                        filters += u32::from(check_bloom(filter, &values, &place) > 500);
                    }
                }
            }
        }
    }
    (bounded, filters)
}

#[test]
fn filters_of_bad_writers_are_passed_over() {
    corpus_entry("orc/bad_bloom_filter_1.6.0.orc", |path| {
        let file = Bytes::from(std::fs::read(path).unwrap());
        let tail = common::tail(&file).unwrap();
        let stripe = common::stripe(&file, &tail, 0, &Projection::all(tail.root())).unwrap();
        let ranges = stripe.index_ranges(&[1, 2], true);
        assert_eq!(ranges.len(), 2, "{ranges:?}");
    });
}
