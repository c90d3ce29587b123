//! Readers of a table that another writer makes.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures::StreamExt;
use futures::executor::block_on;
use futures::stream::{self, BoxStream};
use lakerace_io::ErrorKind;
use lakerace_io::object_store::memory::InMemory;
use lakerace_io::object_store::path::Path;
use lakerace_io::object_store::{ObjectMeta, ObjectStore, ObjectStoreExt};

use crate::common::{Answer, HookedStore, StoreHooks, create, on, read, rows, table, version};

/// Answers to the first requests for a listing as before the table was made.
struct LateTable {
    early: usize,
    listings: AtomicUsize,
}

impl StoreHooks for LateTable {
    fn list(&self, inner: &InMemory, prefix: Option<&Path>) -> BoxStream<'static, Answer<ObjectMeta>> {
        match self.listings.fetch_add(1, Ordering::SeqCst) < self.early {
            true => stream::empty().boxed(),
            false => inner.list(prefix),
        }
    }
}

#[test]
fn a_table_that_is_made_while_its_log_is_listed_is_read() {
    let inner = Arc::new(InMemory::new());
    create(&table(&inner), 0..10, &[]);
    for early in 1..3 {
        let late = on(HookedStore::new(&inner, LateTable { early, listings: AtomicUsize::new(0) }));
        assert_eq!(version(&late), 0, "{early} listings");
        assert_eq!(read(&late), rows(0..10, "base").into_iter().collect());
    }
}

#[test]
fn an_entry_under_a_hidden_name_is_no_table() {
    let inner = Arc::new(InMemory::new());
    let hidden = Path::from("lake/table/_delta_log/.00000000000000000000.json.1f.lakerace-part");
    block_on(inner.put(&hidden, "{".into())).unwrap();
    let table = table(&inner);
    let error = table.snapshot(None).map(drop).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound, "{error}");
    create(&table, 0..10, &[]);
    assert_eq!(read(&table).len(), 10);
}
