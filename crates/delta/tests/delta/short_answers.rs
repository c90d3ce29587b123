//! Entries of the log without bytes, or with fewer than they have: in the store, and in answers of the store alone.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use bytes::Bytes;
use futures::StreamExt;
use futures::executor::block_on;
use futures::stream;
use lakerace_delta::{history, vacuum};
use lakerace_io::ErrorKind;
use lakerace_io::object_store::memory::InMemory;
use lakerace_io::object_store::path::Path;
use lakerace_io::object_store::{GetOptions, GetResult, GetResultPayload, ObjectStore, ObjectStoreExt, PutPayload};

use crate::common::{Answer, HookedStore, StoreHooks, append, create, names, on, put, read, read_at, rows, table};

/// Answers to the first requests for an entry with its first bytes alone.
struct ShortAnswers {
    version: u64,
    keeps: usize,
    left: AtomicUsize,
}

impl ShortAnswers {
    fn wrap(inner: &Arc<InMemory>, version: u64, keeps: usize, answers: usize) -> Arc<HookedStore<Self>> {
        HookedStore::new(inner, Self { version, keeps, left: AtomicUsize::new(answers) })
    }
}

#[async_trait]
impl StoreHooks for ShortAnswers {
    async fn get(&self, inner: &InMemory, location: &Path, options: GetOptions) -> Answer<GetResult> {
        let is_entry = location.as_ref().ends_with(&format!("_delta_log/{:020}.json", self.version));
        let head = options.head;
        let result = inner.get_opts(location, options).await?;
        let take = |left: usize| left.checked_sub(1);
        if head || !is_entry || self.left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, take).is_err() {
            return Ok(result);
        }
        // As from a server that sends another length: the client takes the size of the object from the answer.
        let (mut meta, attributes, extensions) =
            (result.meta.clone(), result.attributes.clone(), result.extensions.clone());
        let bytes: Bytes = result.bytes().await?;
        let bytes = bytes.slice(..self.keeps.min(bytes.len()));
        meta.size = bytes.len() as u64;
        let range = 0..meta.size;
        let payload = GetResultPayload::Stream(stream::iter([Ok(bytes)]).boxed());
        Ok(GetResult { payload, meta, range, attributes, extensions })
    }
}

/// A table of nine versions without a checkpoint.
fn made() -> Arc<InMemory> {
    let inner = Arc::new(InMemory::new());
    create(&table(&inner), 0..10, &[]);
    (1..8).for_each(|n| append(&table(&inner), n * 10..n * 10 + 10, "more"));
    put(&table(&inner), &rows([3, 33], "put")).unwrap();
    inner
}

fn path(version: u64) -> Path {
    Path::from(format!("lake/table/_delta_log/{version:020}.json"))
}

fn bytes(inner: &InMemory, path: &Path) -> Bytes {
    block_on(async { inner.get(path).await.unwrap().bytes().await.unwrap() })
}

#[test]
fn a_short_answer_is_asked_for_again() {
    let inner = made();
    let expected = read(&table(&inner));
    let whole = bytes(&inner, &path(5));
    let line_end = whole.iter().position(|byte| *byte == b'\n').unwrap() + 1;
    for keeps in [0, 40, line_end] {
        assert_eq!(read(&on(ShortAnswers::wrap(&inner, 5, keeps, 2))), expected, "{keeps} bytes");
    }
}

#[test]
fn answers_that_stay_short_are_no_table_and_make_no_checkpoint() {
    let inner = made();
    let expected = read(&table(&inner));
    for keeps in [0, 40] {
        let short = on(ShortAnswers::wrap(&inner, 5, keeps, usize::MAX));
        let error = read_at(&short, None).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
        assert!(error.to_string().contains("00000000000000000005.json"), "{error}");
        let short = on(ShortAnswers::wrap(&inner, 5, keeps, usize::MAX));
        assert!(put(&short, &rows([1], "never")).is_err());
    }
    assert!(!names(&inner).iter().any(|name| name.contains("checkpoint")));
    assert_eq!(read(&table(&inner)), expected);
    // The checkpoint that is due now is made of all entries.
    put(&table(&inner), &rows([1], "later")).unwrap();
    put(&table(&inner), &rows([1], "later")).unwrap();
    assert!(names(&inner).iter().any(|name| name.contains("checkpoint")));
    (0..9).for_each(|version| block_on(inner.delete(&path(version))).unwrap());
    assert_eq!(read(&table(&inner)).len(), expected.len());
}

#[test]
fn an_entry_that_is_cut_at_any_line_is_damaged() {
    let inner = made();
    let expected = read(&table(&inner));
    for version in [0, 5, 8] {
        let whole = bytes(&inner, &path(version));
        let ends: Vec<usize> = (0..whole.len()).filter(|at| whole[*at] == b'\n').map(|at| at + 1).collect();
        let mut cuts: Vec<Bytes> = [0].iter().chain(&ends[..ends.len() - 1]).map(|end| whole.slice(..*end)).collect();
        // Without its first line, and only blanks.
        cuts.push(whole.slice(ends[0]..));
        cuts.push(Bytes::from_static(b"\n \n"));
        for cut in cuts {
            block_on(inner.put(&path(version), PutPayload::from(cut.clone()))).unwrap();
            let error = table(&inner).snapshot(None).and_then(|snapshot| snapshot.row_count()).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Corrupt, "version {version}, {} bytes: {error}", cut.len());
            assert!(error.to_string().contains(&format!("{version:020}.json")), "{error}");
            assert!(put(&table(&inner), &rows([1], "never")).is_err());
            assert_eq!(history(&table(&inner), None).unwrap_err().kind(), ErrorKind::Corrupt);
            assert!(vacuum(&table(&inner), &Default::default()).is_err());
        }
        block_on(inner.put(&path(version), PutPayload::from(whole))).unwrap();
        assert_eq!(read(&table(&inner)), expected);
    }
}
