//! A log of many commits: cheap to open, and cleaned up behind checkpoints.

use std::sync::Arc;

use futures::executor::block_on;
use lakerace_delta::{DeltaSource, history};
use lakerace_format::{ReadRequest, Source};
use lakerace_io::object_store::memory::InMemory;
use lakerace_io::object_store::path::Path;
use lakerace_io::object_store::{ObjectStore, PutOptions};
use lakerace_io::wrap::Metered;
use lakerace_io::{Job, JobOptions};

use crate::common::{Meanwhile, append, create, entry, names, on, put, read, read_at, rows, table, version};

fn entries(inner: &Arc<InMemory>) -> Vec<u64> {
    let version = |name: String| name.strip_prefix("lake/table/_delta_log/")?.strip_suffix(".json")?.parse().ok();
    names(inner).into_iter().filter_map(version).collect()
}

fn checkpoints(inner: &Arc<InMemory>) -> usize {
    names(inner).iter().filter(|name| name.ends_with(".checkpoint.parquet")).count()
}

#[test]
fn a_table_of_ten_thousand_commits_opens_by_a_checkpoint_and_ten_entries() {
    const COMMITS: u64 = 10_000;
    let inner = Arc::new(InMemory::new());
    let made = table(&inner);
    create(&made, 0..10, &[]);
    // As other writers would have written them, without ever a checkpoint.
    for version in 1..COMMITS {
        let entry = format!(
            "{{\"commitInfo\":{{\"timestamp\":{version},\"operation\":\"WRITE\"}}}}\n{{\"txn\":{{\"appId\":\"app\",\"version\":{version}}}}}\n"
        );
        let path = Path::from(format!("lake/table/_delta_log/{version:020}.json"));
        block_on(inner.put_opts(&path, entry.into(), PutOptions::default())).unwrap();
    }
    // The first writer of ours makes up for it.
    append(&made, 10..20, "a");
    assert_eq!(checkpoints(&inner), 1);
    for behind in 0..12 {
        let job = Job::new(JobOptions::default());
        let metered = Metered::operations(Arc::clone(&inner) as Arc<dyn ObjectStore>, Arc::clone(job.meter()));
        let source = DeltaSource::open(on(Arc::new(metered)).snapshot(None).unwrap()).unwrap();
        assert_eq!(source.snapshot().version(), COMMITS + behind);
        let requests = job.meter().counts().requests;
        // The hint, the checkpoint, and the entries behind it.
        assert_eq!((requests.get, requests.head), (2 + behind % 10, 0), "{behind} behind: {requests:?}");
        assert_eq!(requests.list, 1, "{behind} behind: {requests:?}");
        append(&made, 100 + behind as i64..101 + behind as i64, "more");
    }
    assert_eq!(checkpoints(&inner), 2);
    assert_eq!(read(&made).len(), 32);
}

#[test]
fn a_writer_that_was_outrun_reads_what_is_new() {
    let requests = |is_outrun: bool| {
        let inner = Arc::new(InMemory::new());
        let table = table(&inner);
        create(&table, 0..10, &[("delta.checkpointInterval", "5")]);
        for n in 1..8 {
            put(&table, &rows([n, 100 + n], "a")).unwrap();
        }
        assert_eq!(checkpoints(&inner), 1);
        let other = Arc::clone(&inner);
        let outrun = move || drop(put(&crate::common::table(&other), &rows([200], "other")).unwrap());
        let store = Meanwhile::before(if is_outrun { 8 } else { u64::MAX }, &inner, outrun);
        let job = Job::new(JobOptions::default());
        put(&on(Arc::new(Metered::operations(store, Arc::clone(job.meter())))), &rows([3], "mine")).unwrap();
        assert_eq!(version(&table), if is_outrun { 9 } else { 8 });
        job.meter().counts().requests
    };
    let (alone, outrun) = (requests(false), requests(true));
    // Puts: the entry that came too late, and the vectors for the one behind it. Gets: whose entry it is, the entry, and the
    // vectors that ours are joined with, but nothing of the checkpoint. The file that the other one adds has keys beyond ours.
    assert_eq!((outrun.put, outrun.list), (alone.put + 2, alone.list + 1), "{outrun:?} {alone:?}");
    assert!(outrun.get <= alone.get + 4, "{outrun:?} {alone:?}");
}

#[test]
fn expired_entries_go_after_a_checkpoint() {
    let inner = Arc::new(InMemory::new());
    let table = table(&inner);
    let properties = [("delta.logRetentionDuration", "interval 0 seconds"), ("delta.checkpointInterval", "5")];
    create(&table, 0..10, &properties);
    for n in 1..13 {
        std::thread::sleep(std::time::Duration::from_millis(3));
        put(&table, &rows([n % 10, 100 + n], "a")).unwrap();
    }
    // The checkpoint at 10 came a moment after its version, or within the same millisecond: then that at 5 is needed.
    let first = entries(&inner)[0];
    assert!(first == 5 || first == 10, "{first}");
    assert_eq!(entries(&inner), (first..13).collect::<Vec<u64>>());
    assert_eq!(checkpoints(&inner), if first == 5 { 2 } else { 1 });
    (first..13).for_each(|at| assert_eq!(read_at(&table, Some(at)).unwrap().len(), 10 + at as usize));
    assert!(read_at(&table, Some(first - 1)).is_err());
    assert_eq!(version(&table), 12);
    let told: Vec<u64> = history(&table, None).unwrap().iter().map(|entry| entry.version).collect();
    assert_eq!(told, (first..13).rev().collect::<Vec<u64>>());
}

#[test]
fn young_entries_stay_and_so_do_all_where_the_table_says_so() {
    for properties in [
        vec![("delta.checkpointInterval", "2")],
        vec![
            ("delta.checkpointInterval", "2"),
            ("delta.logRetentionDuration", "interval 0 seconds"),
            ("delta.enableExpiredLogCleanup", "false"),
        ],
    ] {
        let inner = Arc::new(InMemory::new());
        let table = table(&inner);
        create(&table, 0..10, &properties);
        (1..9).for_each(|n| append(&table, n * 10..n * 10 + 10, "a"));
        assert_eq!(entries(&inner), (0..9).collect::<Vec<u64>>());
        (0..9)
            .for_each(|version| assert_eq!(read_at(&table, Some(version)).unwrap().len(), 10 * version as usize + 10));
    }
}

#[test]
fn history_tells_what_each_version_did() {
    let inner = Arc::new(InMemory::new());
    let table = table(&inner);
    create(&table, 0..10, &[]);
    append(&table, 10..20, "a");
    put(&table, &rows([1, 99], "b")).unwrap();
    let told = history(&table, None).unwrap();
    let what: Vec<_> = told.iter().map(|e| (e.version, e.operation.as_deref().unwrap_or_default())).collect();
    assert_eq!(what, [(2, "MERGE"), (1, "WRITE"), (0, "CREATE TABLE")]);
    let files: Vec<_> = told.iter().map(|e| (e.files_added, e.files_removed, e.vectors)).collect();
    assert_eq!(files, [(1, 0, 1), (1, 0, 0), (1, 0, 0)]);
    assert!(told.iter().all(|entry| entry.bytes_added > 0 && entry.timestamp > 1_700_000_000_000));
    assert_eq!(told[1].parameters["mode"], "Append");
    assert!(told[0].engine.as_ref().unwrap().starts_with("lakerace/"));
    assert_eq!(history(&table, Some(2)).unwrap(), told[..2]);
    let nothing = on(Arc::new(InMemory::new()));
    assert_eq!(history(&nothing, None).unwrap_err().kind(), lakerace_io::ErrorKind::NotFound);
}

/// A table that Spark has made, whose checkpoint has parts in files of their own.
fn with_sidecars() -> Arc<InMemory> {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/python/delta_golden/tables");
    let inner = Arc::new(InMemory::new());
    let mut folders = vec![folder.join("checkpoint-sidecars")];
    while let Some(next) = folders.pop() {
        for entry in std::fs::read_dir(next).unwrap().map(|entry| entry.unwrap().path()) {
            if entry.is_dir() {
                folders.push(entry);
                continue;
            }
            let below = entry.strip_prefix(folder.join("checkpoint-sidecars")).unwrap().to_str().unwrap().to_owned();
            let bytes = std::fs::read(entry).unwrap();
            let path = Path::from(format!("lake/table/{below}"));
            block_on(inner.put_opts(&path, bytes.into(), PutOptions::default())).unwrap();
        }
    }
    inner
}

#[test]
fn parts_of_checkpoints_go_when_no_checkpoint_names_them() {
    let inner = with_sidecars();
    let table = table(&inner);
    let of_spark = |name: &String| name.contains("/_sidecars/");
    let parts: Vec<String> = names(&inner).into_iter().filter(of_spark).collect();
    let checkpoint = names(&inner).into_iter().find(|name| name.contains(".checkpoint.")).unwrap();
    assert!(!parts.is_empty());
    let (at, count) = (version(&table), row_count(&table).unwrap());
    // Its history does not stay any more.
    let metadata =
        (0..=at).rev().flat_map(|version| entry(&inner, version)).find(|line| line.get("metaData").is_some());
    let mut metadata = metadata.unwrap();
    metadata["metaData"]["configuration"]["delta.logRetentionDuration"] = "interval 0 seconds".into();
    metadata["metaData"]["configuration"]["delta.checkpointInterval"] = "1".into();
    let path = Path::from(format!("lake/table/_delta_log/{:020}.json", at + 1));
    block_on(inner.put_opts(&path, format!("{metadata}\n").into(), PutOptions::default())).unwrap();
    let schema = table.snapshot(None).unwrap().schema().clone();
    for round in 0..4 {
        std::thread::sleep(std::time::Duration::from_millis(3));
        let row = schema.fields().iter().map(|field| arrow::array::new_null_array(field.data_type(), 1)).collect();
        let row = arrow::array::RecordBatch::try_new(schema.clone(), row).unwrap();
        crate::common::write(&table, lakerace_delta::WriteMode::Append, row, &[], &[]);
        let now = names(&inner);
        if now.contains(&checkpoint) {
            assert!(parts.iter().all(|part| now.contains(part)), "round {round}: a checkpoint without its parts");
        }
        assert_eq!(row_count(&table).unwrap(), count + round + 1);
    }
    let now = names(&inner);
    assert!(!now.contains(&checkpoint) && parts.iter().all(|part| !now.contains(part)), "{now:?}");
}

/// The rows of a table.
fn row_count(table: &lakerace_delta::Table) -> lakerace_io::Result<usize> {
    let source = DeltaSource::open(table.snapshot(None)?)?;
    let plan = source.plan(&ReadRequest::default())?;
    source.read(&plan)?.map(|batch| batch.map(|batch| batch.num_rows())).sum()
}
