//! Writes of many files to a store: they are sent several at a time, and are gone again where they don't become the table's.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use lakerace_delta::{DeltaSink, Evolve, Table, TableWrite, WriteMode};
use lakerace_format::{Sink, WriteOptions};
use lakerace_io::object_store::memory::InMemory;
use lakerace_io::object_store::path::Path;
use lakerace_io::object_store::{ObjectStore, PutOptions, PutPayload, PutResult};
use lakerace_io::wrap::{Failing, FailingOptions, Operation};
use lakerace_io::{ErrorKind, Result};
use tokio::sync::Barrier;

use super::common::{Answer, HookedStore, StoreHooks, batch, on, read, rows, stored, table};

/// Partitions, of a file each; more than are written at the same time.
const FILES: i64 = 200;
/// Files that a write sends at once at most.
const AT_MOST: usize = 16;

/// Puts of which the first data file is not there before the second one has come, too.
struct InPairs {
    pair: Barrier,
    under_way: AtomicUsize,
    most: AtomicUsize,
}

impl InPairs {
    fn over(inner: &Arc<InMemory>) -> Arc<HookedStore<Self>> {
        let (under_way, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
        HookedStore::new(inner, Self { pair: Barrier::new(2), under_way, most })
    }
}

#[async_trait]
impl StoreHooks for InPairs {
    async fn put(
        &self,
        inner: &InMemory,
        location: &Path,
        payload: PutPayload,
        options: PutOptions,
    ) -> Answer<PutResult> {
        if !location.as_ref().ends_with(".parquet") {
            return inner.put_opts(location, payload, options).await;
        }
        let under_way = self.under_way.fetch_add(1, Ordering::SeqCst) + 1;
        if self.most.fetch_max(under_way, Ordering::SeqCst) < 2
            && tokio::time::timeout(Duration::from_secs(20), self.pair.wait()).await.is_err()
        {
            // No second one comes: the others need not wait for that.
            self.most.store(usize::MAX, Ordering::SeqCst);
        }
        let done = inner.put_opts(location, payload, options).await;
        self.under_way.fetch_sub(1, Ordering::SeqCst);
        done
    }
}

/// A write of a file for each row, all of them taken in.
fn begun(table: &Table) -> Result<Box<dyn Sink>> {
    let rows = batch(&rows(0..FILES, "part"));
    let write = TableWrite {
        mode: WriteMode::Error,
        partition_by: vec!["text".to_owned()],
        properties: BTreeMap::new(),
        evolve: Evolve::default(),
        keep_not_null: false,
        options: WriteOptions::default(),
        load_name: None,
        resumes: false,
        replace_where: None,
    };
    let mut sink = DeltaSink::create(table, &rows.schema(), &write)?;
    sink.write(rows)?;
    Ok(sink)
}

#[test]
fn files_are_sent_several_at_a_time() {
    let inner = Arc::new(InMemory::new());
    let store = InPairs::over(&inner);
    let sink = begun(&on(Arc::clone(&store) as _)).unwrap();
    // What has its rows is not kept in memory until the end.
    assert!(stored(&inner).len() >= 100, "{} files are there", stored(&inner).len());
    assert_eq!(sink.finish().unwrap().files.len(), FILES as usize);
    assert_eq!(read(&table(&inner)).len(), FILES as usize);
    let most = store.hooks.most.load(Ordering::SeqCst);
    assert!((2..=AT_MOST).contains(&most), "{most} at once");
}

#[test]
fn files_of_a_write_that_is_given_up_are_removed() {
    let inner = Arc::new(InMemory::new());
    for cancelled in [false, true] {
        let table = table(&inner);
        let sink = begun(&table).unwrap();
        assert!(!stored(&inner).is_empty());
        if cancelled {
            table.job().cancel();
        }
        drop(sink);
        assert_eq!(stored(&inner), Vec::<String>::new(), "{cancelled}");
    }
}

#[test]
fn a_file_that_does_not_arrive_fails_the_write() {
    for nth in [1, 20, 190] {
        let inner = Arc::new(InMemory::new());
        let options = FailingOptions { fail_from: Some((Operation::Put, nth)), ..FailingOptions::default() };
        let failing = Failing::new(Arc::clone(&inner) as Arc<dyn ObjectStore>, options);
        let outcome = begun(&on(Arc::new(failing))).and_then(|sink| sink.finish());
        assert_eq!(outcome.unwrap_err().kind(), ErrorKind::Unavailable, "{nth}");
        assert_eq!(stored(&inner), Vec::<String>::new(), "{nth}");
    }
}
