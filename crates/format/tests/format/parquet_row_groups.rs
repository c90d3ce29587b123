//! Row groups read one by one: rows know their number in the file, and pages are left out by their statistics alone.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use arrow::array::types::Int64Type;
use arrow::array::{ArrayRef, AsArray, Int64Array, RecordBatch, StringArray};
use lakerace_format::predicate::{ColumnStatistics, Value};
use lakerace_format::{Expr, ParquetSource, Predicate, ReadRequest, RowGroup, Source};
use lakerace_io::object_store::ObjectStoreExt;
use lakerace_io::object_store::memory::InMemory;
use lakerace_io::profile::Observations;
use lakerace_io::wrap::Metered;
use lakerace_io::{Job, JobStore};
use proptest::prelude::*;

use crate::common::{greater, job, numbered, objects};
use crate::parquet_read::{Layout, case, layouts, plain_layout, write};

fn open(paths: &[&Path]) -> ParquetSource {
    let job = job(2);
    ParquetSource::open(objects(paths, &job).unwrap(), &job).unwrap()
}

/// Whether one of some numbers may be in a column with these statistics.
fn may_have<'a>(ids: &'a BTreeSet<i64>, name: &'a str) -> impl Fn(&dyn ColumnStatistics) -> bool + 'a {
    move |statistics| {
        let list = ids.iter().map(|id| crate::common::number(i128::from(*id))).collect();
        let filter = Expr::In { expr: Box::new(Expr::Column(name.to_owned())), list };
        let schema = numbered(0).schema();
        ids.is_empty() || Predicate::bind(&filter, &schema).unwrap().can_match(statistics).is_ok()
    }
}

fn ids(source: &ParquetSource, group: &RowGroup) -> Vec<(u64, Option<i64>)> {
    let mut all = Vec::new();
    for batch in source.read_row_group(group, &["id".to_owned()]).unwrap() {
        let (first_row, batch) = batch.unwrap();
        let ids = batch.column(0).as_primitive::<Int64Type>();
        all.extend(ids.iter().enumerate().map(|(row, id)| (first_row + row as u64, id)));
    }
    all
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]

    #[test]
    fn rows_keep_their_numbers(
        rows in 1usize..3000, step in 1usize..3000, nulls in 0usize..9, layout in layouts(),
        sought in prop::collection::btree_set(0i64..3000, 0..6),
    ) {
        let (_folder, path) = case();
        // In order with a step of 1, else here and there.
        let id = |row: usize| (nulls == 0 || row % 9 >= nulls).then_some((row * step % rows.max(2)) as i64);
        let column: ArrayRef = Arc::new(Int64Array::from_iter((0..rows).map(id)));
        let text: ArrayRef = Arc::new(StringArray::from_iter_values((0..rows).map(|row| format!("{row}"))));
        let table = RecordBatch::try_from_iter_with_nullable([("text", text, true), ("id", column, true)]).unwrap();
        write(&path, &table, &layout);
        let source = open(&[&path, &path]);
        let groups = source.row_groups();
        let (keeps, columns) = (may_have(&sought, "id"), ["id".to_owned()]);
        for file in 0..2 {
            let mut wanted: BTreeSet<usize> = (0..rows).collect();
            let mut whole = Vec::new();
            for group in groups.iter().filter(|group| group.file == file) {
                whole.extend(ids(&source, group));
                let pages = source.narrow(group, &columns, &keeps).unwrap();
                let read = ids(&source, &pages);
                prop_assert_eq!(read.len() as u64, pages.rows());
                for (row, id_read) in read {
                    prop_assert_eq!(id_read, id(row as usize));
                    wanted.remove(&(row as usize));
                }
            }
            prop_assert_eq!(whole, (0..rows).map(|row| (row as u64, id(row))).collect::<Vec<_>>());
            // Whatever was left out is not looked for.
            for row in wanted {
                prop_assert!(id(row).is_none_or(|id| !sought.contains(&id)), "row {} is lost", row);
            }
        }
    }
}

#[test]
fn pages_without_what_is_sought_are_not_read() {
    let (_folder, path) = case();
    write(&path, &numbered(1000), &Layout { dictionary: false, ..plain_layout() });
    let source = open(&[&path]);
    let (sought, columns) = (BTreeSet::from([120, 399, 777]), ["id".to_owned()]);
    let keeps = may_have(&sought, "id");
    let narrowed: Vec<RowGroup> =
        source.row_groups().iter().map(|group| source.narrow(group, &columns, &keeps).unwrap()).collect();
    assert_eq!(narrowed.iter().map(RowGroup::rows).collect::<Vec<_>>(), [100, 50, 0]);
    let read = ids(&source, &narrowed[0]);
    assert_eq!((read[0], read[50], read.len()), ((100, Some(100)), (350, Some(350)), 100));
    let (bytes, _) = source.cost(&narrowed[0], &columns).unwrap();
    let (all, requests) = source.cost(&source.row_groups()[0], &columns).unwrap();
    assert!(bytes * 3 < all && requests == 1, "{bytes} of {all}, {requests}");
    // A column that nobody wrote is null everywhere, and has no pages.
    let nothing = |statistics: &dyn ColumnStatistics| statistics.row_count() == Some(1);
    assert_eq!(source.narrow(&narrowed[1], &["nope".to_owned()], &nothing).unwrap().rows(), 50);
    assert_eq!(source.narrow(&narrowed[1], &columns, &nothing).unwrap().rows(), 0);
}

#[test]
fn statistics_are_those_of_the_row_group() {
    let (_folder, path) = case();
    write(&path, &numbered(1000), &plain_layout());
    let source = open(&[&path]);
    let column = |name: &str| {
        let root = source.schema().index_of(name).unwrap();
        let data_type = source.schema().field(root).data_type().clone();
        lakerace_format::predicate::ColumnRef { root, path: vec![name.to_owned()], data_type }
    };
    for (at, group) in source.row_groups().iter().enumerate() {
        let (first, rows) = (at as i64 * 400, 400.min(1000 - at as u64 * 400));
        source.with_statistics(group, |statistics| {
            let bounds = statistics.bounds(&column("id"));
            assert_eq!((statistics.row_count(), bounds.null_count), (Some(rows), Some(0)));
            let number = |value: Option<Value>| match value {
                Some(Value::Integer(number)) => number.to_i128(),
                _ => None,
            };
            assert_eq!(number(bounds.min), Some(i128::from(first)));
            assert_eq!(number(bounds.max), Some(i128::from(first + rows as i64 - 1)));
        });
    }
}

/// A file in a remote store that counts requests.
fn remote(bytes: Vec<u8>) -> (ParquetSource, Job) {
    let (files, job) = (Arc::new(InMemory::new()), job(2));
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(files.put(&"a.parquet".into(), bytes.into())).unwrap();
    let counted = Metered::operations(files, Arc::clone(job.meter()));
    let store = JobStore::wrapping(Arc::new(counted), "test://", Observations::s3(), &job);
    (ParquetSource::open(vec![store.object("a.parquet".into())], &job).unwrap(), job)
}

#[test]
fn page_indexes_come_with_the_footer_or_by_one_request() {
    let (_folder, path) = case();
    for (rows, page_rows, index_requests) in [(60_000, 2000, 0), (60_000, 50, 1)] {
        write(&path, &numbered(rows), &Layout { page_rows, group_rows: 20_000, ..plain_layout() });
        let bytes = std::fs::read(&path).unwrap();
        assert!(bytes.len() > 128 << 10, "{} bytes come with the footer", bytes.len());
        let (source, job) = remote(bytes);
        assert_eq!(job.meter().counts().requests.get, 1);
        let plan = source.plan(&ReadRequest { filter: Some(greater("id", 59_990)), ..Default::default() }).unwrap();
        assert!(plan.files[0].units[2].rows_after_pages.is_some_and(|rows| rows <= page_rows as u64));
        assert_eq!(job.meter().counts().requests.get, 1 + index_requests, "pages of {page_rows} rows");
    }
}
