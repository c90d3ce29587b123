//! What merging upserts, upserts with a change data feed, compactions and copies by key take of memory.

use std::sync::PoisonError;

use lakerace_delta::{CompactOptions, DeltaSink, Layout, MergeOperator, UpsertOptions, WriteMode, compact, upsert};
use lakerace_format::WriteOptions;

use crate::{ALONE, batches, copy, most, peak, table_of, table_write};

/// Texts of a row, and rows.
const SIZES: [(usize, i64); 4] = [(1, 20_000), (8, 10_000), (8, 60_000), (40, 4000)];

fn options(limit: u64, merge: &[(&str, MergeOperator)]) -> UpsertOptions {
    UpsertOptions {
        key: vec!["id".to_owned()],
        memory_bytes: limit,
        merge: merge.iter().map(|(name, operator)| ((*name).to_owned(), operator.clone())).collect(),
        ..UpsertOptions::default()
    }
}

#[test]
fn merging_upserts_keep_the_limit() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    for (texts, rows) in SIZES {
        for limit in [1 << 20, 4 << 20] {
            for is_scattered in [false, true] {
                let folder = tempfile::tempdir().unwrap();
                let table = table_of(&folder, batches(rows, texts, is_scattered), &[]);
                let options = options(limit, &[("t0", MergeOperator::Max)]);
                let put = peak(|| {
                    let changed = upsert(&table, batches(rows, texts, is_scattered), &options).unwrap();
                    assert_eq!(changed.written.rows, rows as u64);
                });
                let most = most(limit, texts);
                let case = format!("{texts} texts, {rows} rows, limit {limit}, scattered: {is_scattered}");
                assert!(put <= most, "{case}: {put}, at most {most}");
            }
        }
    }
}

#[test]
fn upserts_with_a_change_data_feed_keep_the_limit() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    for (texts, rows) in SIZES {
        for limit in [1 << 20, 4 << 20] {
            let folder = tempfile::tempdir().unwrap();
            let feed = [("delta.enableChangeDataFeed", "true")];
            let table = table_of(&folder, batches(rows, texts, true), &feed);
            let put = peak(|| {
                let changed = upsert(&table, batches(rows, texts, true), &options(limit, &[])).unwrap();
                assert_eq!(changed.written.rows, rows as u64);
            });
            // Data files and change files are written at the same time.
            let most = most(limit, 2 * texts);
            let case = format!("{texts} texts, {rows} rows, limit {limit}");
            assert!(put <= most, "{case}: {put}, at most {most}");
        }
    }
}

#[test]
fn compactions_keep_the_limit() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let by = |name: &str| vec![name.to_owned()];
    for (texts, rows) in SIZES {
        for limit in [1 << 20, 4 << 20] {
            for layout in [Layout::AsIs, Layout::SortBy(by("t0")), Layout::ZOrder(by("id"))] {
                let folder = tempfile::tempdir().unwrap();
                let table = table_of(&folder, batches(rows / 2, texts, true), &[]);
                copy(&table, batches(rows / 2, texts, true), WriteMode::Append, &[]);
                let options =
                    CompactOptions { memory_bytes: limit, layout: layout.clone(), ..CompactOptions::default() };
                let put = peak(|| {
                    assert_eq!(compact(&table, &options).unwrap().rows, rows as u64);
                });
                let most = most(limit, texts);
                let case = format!("{layout:?}, {texts} texts, {rows} rows, limit {limit}");
                assert!(put <= most, "{case}: {put}, at most {most}");
            }
        }
    }
}

#[test]
fn copies_by_key_keep_the_limit() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    for (texts, rows) in SIZES {
        for limit in [1 << 20, 4 << 20] {
            let folder = tempfile::tempdir().unwrap();
            let key = [("lakerace.primaryKey", "id")];
            let table = table_of(&folder, batches(1000, texts, true), &key);
            let options = WriteOptions { memory_bytes: Some(limit), ..WriteOptions::default() };
            let write = table_write(WriteMode::Append, options);
            let put = peak(|| {
                let source = batches(rows, texts, true);
                let mut sink = DeltaSink::create(&table, source.schema(), &write).unwrap();
                source.for_each(|batch| sink.write(batch.unwrap()).unwrap());
                assert_eq!(sink.finish().unwrap().rows, rows as u64);
            });
            let most = most(limit, texts);
            let case = format!("{texts} texts, {rows} rows, limit {limit}");
            assert!(put <= most, "{case}: {put}, at most {most}");
        }
    }
}
