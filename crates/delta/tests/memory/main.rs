//! What upserts, deletes and sorts take of memory under a limit, by what they allocate.

#![allow(clippy::unwrap_used)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use arrow::array::{ArrayRef, Int64Array, RecordBatch, StringViewArray};
use lakerace_delta::{
    CompactOptions, DeltaSink, Evolve, Table, TableWrite, UpsertOptions, WriteMode, compact, delete_keys, upsert,
};
use lakerace_format::{Batches, WriteOptions};
use lakerace_io::internals::find_page_cache_slow;
use lakerace_io::{ErrorKind, Job, JobOptions, Location, StorageOptions};

mod changes;
mod jobs;
mod large_rows;
mod loads;

struct Counting;

static LIVE: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

fn grow(bytes: usize) {
    let live = LIVE.fetch_add(bytes, Ordering::Relaxed) + bytes;
    PEAK.fetch_max(live, Ordering::Relaxed);
}

// SAFETY: all is left to the system's allocator; counting neither allocates nor unwinds.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        grow(layout.size());
        // SAFETY: the caller's promise.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        grow(layout.size());
        // SAFETY: the caller's promise.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        grow(size);
        LIVE.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller's promise.
        unsafe { System.realloc(pointer, layout, size) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        LIVE.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Tests of this file count the same allocations.
static ALONE: Mutex<()> = Mutex::new(());

/// What is taken beside the limit: by the table's log, by the batches of a source, and by files that are being read and written,
/// of which each column has its own buffers.
const BESIDE_BYTES: usize = 6 << 20;
const BESIDE_COLUMN_BYTES: usize = 384 << 10;
/// Row groups of the tables, of which some are read at a time.
const ROW_GROUP_BYTES: usize = 1 << 20;
const BATCH_ROWS: i64 = 1000;

/// Rows of a key and so many texts of 20 bytes, whose keys are scattered or in order.
fn batch(first: i64, texts: usize, is_scattered: bool) -> RecordBatch {
    let key = |row: i64| if is_scattered { (row * 7919) % 1_000_003 } else { row };
    let keys: ArrayRef = Arc::new(Int64Array::from_iter_values((first..first + BATCH_ROWS).map(key)));
    let text = |column: usize| {
        let texts = (first..first + BATCH_ROWS).map(|row| format!("{column:06} of {row:010}"));
        Arc::new(StringViewArray::from_iter_values(texts)) as ArrayRef
    };
    let names = (0..texts).map(|column| (format!("t{column}"), text(column), true));
    RecordBatch::try_from_iter_with_nullable([("id".to_owned(), keys, true)].into_iter().chain(names)).unwrap()
}

fn batches(rows: i64, texts: usize, is_scattered: bool) -> Batches {
    let schema = batch(0, texts, is_scattered).schema();
    let firsts = (0..rows).step_by(BATCH_ROWS as usize);
    Batches::new(schema, firsts.map(move |first| Ok(batch(first, texts, is_scattered))))
}

fn table(folder: &tempfile::TempDir, texts: usize) -> Table {
    table_of(folder, batches(BATCH_ROWS, texts, false), &[])
}

/// A table of these rows, with properties. Further files are written past the page cache, each through a buffer of its own: the way
/// that takes more memory, and that jobs choose by themselves only where the page cache is slow.
fn table_of(folder: &tempfile::TempDir, rows: Batches, properties: &[(&str, &str)]) -> Table {
    let job = Job::new(JobOptions { threads: 2, ..JobOptions::default() });
    let location = Location::parse(folder.path().join("table").to_str().unwrap()).unwrap();
    let table = Table::at(&location, &StorageOptions::default(), &job).unwrap();
    copy(&table, rows, WriteMode::Error, properties);
    find_page_cache_slow(&job);
    table
}

/// Writes rows into a table, with properties where it is new.
fn copy(table: &Table, rows: Batches, mode: WriteMode, properties: &[(&str, &str)]) {
    let properties = properties.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    let options = WriteOptions { row_group_bytes: Some(ROW_GROUP_BYTES as u64), ..WriteOptions::default() };
    let write = TableWrite { properties, ..table_write(mode, options) };
    let mut sink = DeltaSink::create(table, rows.schema(), &write).unwrap();
    rows.for_each(|batch| sink.write(batch.unwrap()).unwrap());
    sink.finish().unwrap();
}

/// A write without further options.
fn table_write(mode: WriteMode, options: WriteOptions) -> TableWrite {
    TableWrite {
        mode,
        partition_by: Vec::new(),
        properties: BTreeMap::new(),
        evolve: Evolve::default(),
        keep_not_null: false,
        options,
        load_name: None,
        resumes: false,
        replace_where: None,
    }
}

/// The most that may be taken of rows of so many texts.
fn most(limit: u64, texts: usize) -> usize {
    limit as usize + BESIDE_BYTES + (texts + 1) * BESIDE_COLUMN_BYTES
}

/// The most that is taken while this is done, beside what was taken before.
fn peak(work: impl FnOnce()) -> usize {
    let before = LIVE.load(Ordering::Relaxed);
    PEAK.store(before, Ordering::Relaxed);
    work();
    PEAK.load(Ordering::Relaxed) - before
}

#[test]
fn upserts_and_deletes_keep_the_limit_whatever_the_rows() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    for (texts, rows) in [(1, 20_000), (8, 10_000), (8, 30_000), (40, 4000)] {
        for limit in [1 << 20, 4 << 20] {
            for is_scattered in [false, true] {
                let folder = tempfile::tempdir().unwrap();
                let table = table(&folder, texts);
                let options =
                    UpsertOptions { key: vec!["id".to_owned()], memory_bytes: limit, ..UpsertOptions::default() };
                let put = peak(|| {
                    let changed = upsert(&table, batches(rows, texts, is_scattered), &options).unwrap();
                    assert_eq!(changed.written.rows, rows as u64);
                });
                let removed = peak(|| {
                    delete_keys(&table, batches(rows, texts, is_scattered), &options).unwrap();
                });
                let case = format!("{texts} texts, {rows} rows, limit {limit}, scattered: {is_scattered}");
                let most = most(limit, texts);
                assert!(put <= most && removed <= most, "{case}: upsert {put}, delete {removed}, at most {most}");
            }
        }
    }
}

#[test]
fn a_limit_that_is_too_small_is_refused_with_the_least_one() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let folder = tempfile::tempdir().unwrap();
    let table = table(&folder, 8);
    let with = |memory_bytes| UpsertOptions { key: vec!["id".to_owned()], memory_bytes, ..UpsertOptions::default() };
    for limit in [0, 1, 180_223] {
        let error = upsert(&table, batches(1000, 8, true), &with(limit)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Usage);
        assert!(error.to_string().contains("180224"), "{error}");
    }
    assert_eq!(upsert(&table, batches(1000, 8, true), &with(180_224)).unwrap().written.rows, 1000);
}

#[test]
fn copies_and_compactions_refuse_such_limits_too() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let folder = tempfile::tempdir().unwrap();
    let table = table_of(&folder, batches(BATCH_ROWS, 8, false), &[("lakerace.primaryKey", "id")]);
    let error = compact(&table, &CompactOptions { memory_bytes: 1, ..CompactOptions::default() }).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Usage);
    assert!(error.to_string().contains("180224"), "{error}");
    let rows = batches(BATCH_ROWS, 8, true);
    let write = table_write(WriteMode::Append, WriteOptions { memory_bytes: Some(1), ..WriteOptions::default() });
    let error = DeltaSink::create(&table, rows.schema(), &write).err().unwrap();
    assert_eq!(error.kind(), ErrorKind::Usage);
    assert!(error.to_string().contains("180224"), "{error}");
}
