//! The conformance suite over every store and every wrapper, and what retries make of a failing store.

use std::sync::Arc;
use std::time::Duration;

use lakerace_io::conformance::check_all;
use lakerace_io::object_store::memory::InMemory;
use lakerace_io::object_store::path::Path;
use lakerace_io::object_store::{ObjectStore, ObjectStoreExt};
use lakerace_io::profile::Observations;
use lakerace_io::wrap::{
    Failing, FailingOptions, Metered, Operation, RetryPolicy, Retrying, ThrottleOptions, Throttled,
};
use lakerace_io::{
    ErrorKind, Fetcher, IfExists, Job, JobStore, Location, Meter, MinSeekSize, Output, RangeOptions, StorageOptions,
    Wanted, plan_requests, runtime,
};
use tokio::time::Instant;

type StoreAndFolder = (Arc<dyn ObjectStore>, Path);

/// A local folder and memory.
fn stores() -> (Vec<StoreAndFolder>, tempfile::TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let locations =
        [folder.path().to_str().unwrap().to_owned(), format!("memory://conformance-{}/x", rand::random::<u64>())];
    (locations.iter().map(|text| open(text, &StorageOptions::default())).collect(), folder)
}

fn open(text: &str, options: &StorageOptions) -> StoreAndFolder {
    let (store, path) = Location::parse(text).unwrap().open(options, &Job::default()).unwrap();
    (store.store, path)
}

/// S3, on the server that `make test-rust` starts.
fn s3() -> StoreAndFolder {
    let endpoint = std::env::var("LAKERACE_TEST_S3_ENDPOINT").expect("make test-rust starts an S3 server");
    let bucket = std::env::var("LAKERACE_TEST_S3_BUCKET").unwrap_or_else(|_| "lakerace-test".to_owned());
    let options = [("aws_endpoint_url".to_owned(), endpoint), ("aws_allow_http".to_owned(), "true".to_owned())];
    let name = format!("s3://{bucket}/test-{:016x}", rand::random::<u64>());
    open(&name, &StorageOptions::from_iter(options))
}

/// Quick, and so patient that no seed reaches its end: a body of which one byte is missing makes no progress in six of
/// ten requests of the worst store here, and which request meets which fault depends on how threads take turns.
fn quick() -> RetryPolicy {
    RetryPolicy {
        retries: 60,
        first_backoff: Duration::from_millis(1),
        longest_backoff: Duration::from_millis(4),
        stall: Duration::from_secs(20),
        ..RetryPolicy::default()
    }
}

#[tokio::test]
async fn every_store_conforms() {
    let (stores, _folder) = stores();
    for (store, folder) in stores {
        check_all(store.as_ref(), &folder.join("plain")).await.unwrap();
    }
}

#[test]
#[ignore = "needs an S3 server: make test-rust"]
fn s3_conforms() {
    let (store, folder) = s3();
    // A connection is a task of the runtime that opened it, and later tests use it again.
    runtime().unwrap().block_on(check_all(store.as_ref(), &folder.join("plain"))).unwrap();
}

#[tokio::test]
async fn every_wrapper_conforms() {
    let (stores, _folder) = stores();
    for (store, folder) in stores {
        wrappers_conform(store, folder).await;
    }
}

#[test]
#[ignore = "needs an S3 server: make test-rust"]
fn every_wrapper_of_s3_conforms() {
    let (store, folder) = s3();
    // A server may end a connection that was kept open: that is no fault of a wrapper.
    runtime().unwrap().block_on(wrappers_conform(Arc::new(Retrying::new(store, quick())), folder));
}

async fn wrappers_conform(store: Arc<dyn ObjectStore>, folder: Path) {
    type Wrap = fn(Arc<dyn ObjectStore>) -> Arc<dyn ObjectStore>;
    let wrappers: [(&str, Wrap); 5] = [
        ("metered", |s| Arc::new(Metered::operations(s, Arc::new(Meter::default())))),
        ("retrying", |s| Arc::new(Retrying::new(s, quick()))),
        ("throttled", |s| {
            let fast = ThrottleOptions {
                latency: Duration::from_micros(10),
                connection_bytes_per_second: Some(1e10),
                total_bytes_per_second: Some(1e10),
            };
            Arc::new(Throttled::new(s, fast))
        }),
        ("failing, never", |s| Arc::new(Failing::new(s, FailingOptions::default()))),
        ("all", |s| {
            let meter = Arc::new(Meter::default());
            Arc::new(Retrying::new(Arc::new(Metered::operations(s, meter)), quick()))
        }),
    ];
    for (name, wrap) in wrappers {
        check_all(wrap(Arc::clone(&store)).as_ref(), &folder.clone().join(name)).await.unwrap();
    }
}

fn pattern(len: usize) -> Vec<u8> {
    (0..len as u64).map(|i| (i.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 40) as u8).collect()
}

/// Retries over a failing store give right bytes whatever the seed; each attempt is counted.
#[test]
fn seeded_faults_do_not_change_what_is_read() {
    let bytes = pattern(400_000);
    let mut injected = 0;
    for seed in 0..30 {
        let memory = Arc::new(InMemory::new());
        let path = Path::from("x");
        futures::executor::block_on(memory.put(&path, bytes.clone().into())).unwrap();
        let options = FailingOptions { seed, error_rate: 0.2, reset_rate: 0.2, short_rate: 0.2, ..Default::default() };
        let failing = Arc::new(Failing::new(memory, options));
        let job = Job::default();
        let metered = Arc::new(Metered::operations(Arc::clone(&failing) as _, Arc::clone(job.meter())));
        let store = Arc::new(Retrying::new(metered, quick()));
        let object = JobStore::wrapping(store, "test://", Observations::s3(), &job).object(path);
        let wanted: Vec<_> = (0..20u64).map(|i| Wanted { file: 0, range: i * 20_000..i * 20_000 + 15_000 }).collect();
        let ranges = RangeOptions {
            min_seek_size: MinSeekSize::Bytes(0),
            max_request_bytes: Some(10_000),
            ..RangeOptions::default()
        };
        let plan = plan_requests(&wanted, &ranges, &Observations::s3());
        let fetcher = Fetcher::start(vec![object.clone()], &plan, &job).unwrap();
        for w in &wanted {
            let got = fetcher.bytes(0, w.range.clone()).unwrap();
            assert!(got == bytes[w.range.start as usize..w.range.end as usize], "seed {seed}");
        }
        assert!(object.read_tail(5000).unwrap().bytes == bytes[395_000..]);
        let faults = failing.injected();
        assert!(job.meter().counts().requests.get >= 41, "{:?}", job.meter().counts());
        injected += faults;
    }
    assert!(injected > 300, "only {injected} faults were injected");
}

#[test]
fn seeded_faults_do_not_change_what_is_written_or_listed() {
    for seed in 0..20 {
        let memory = Arc::new(InMemory::new());
        let options = FailingOptions { seed, error_rate: 0.3, reset_rate: 0.1, ..Default::default() };
        let store = Arc::new(Retrying::new(Arc::new(Failing::new(Arc::clone(&memory) as _, options)), quick()));
        let job = Job::default();
        let store = JobStore::wrapping(store, "test://", Observations::s3(), &job);
        for i in 0..15u8 {
            let mut output = Output::create(&store, &Path::from(format!("f/{i}")), IfExists::Replace).unwrap();
            output.write(vec![i; 1000].into()).unwrap();
            output.finish().unwrap();
        }
        let listed = store.list(&Path::from("f")).unwrap();
        assert_eq!(listed.len(), 15);
        for info in listed {
            store.delete(&info.path).unwrap();
        }
        assert!(store.list(&Path::from("f")).unwrap().is_empty());
    }
}

#[test]
fn a_store_that_is_gone_is_unavailable_and_its_upload_is_given_up() {
    for (options, written) in [
        (FailingOptions { stop_after: Some(3), ..Default::default() }, 100 << 20),
        (FailingOptions { fail_from: Some((Operation::Complete, 1)), ..Default::default() }, 20 << 20),
        (FailingOptions { fail_from: Some((Operation::Part, 2)), ..Default::default() }, 50 << 20),
        (FailingOptions { fail_from: Some((Operation::Put, 1)), ..Default::default() }, 100),
    ] {
        let memory = Arc::new(InMemory::new());
        let policy = RetryPolicy { retries: 2, ..quick() };
        let store = Arc::new(Retrying::new(Arc::new(Failing::new(Arc::clone(&memory) as _, options)), policy));
        let store = JobStore::wrapping(store, "test://", Observations::s3(), &Job::default());
        let mut output = Output::create(&store, &Path::from("x"), IfExists::Replace).unwrap();
        let chunk = bytes::Bytes::from(vec![1; 1 << 20]);
        let mut outcome = Ok(());
        let mut left: usize = written;
        while left > 0 && outcome.is_ok() {
            let n = left.min(chunk.len());
            outcome = output.write(chunk.slice(..n));
            left -= n;
        }
        let error = outcome.and_then(|()| output.finish()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
        assert!(error.to_string().starts_with("test://x: "), "{error}");
        assert!(futures::executor::block_on(memory.head(&Path::from("x"))).is_err());
    }
}

async fn throttled_memory(bytes: usize, rate: f64) -> Arc<dyn ObjectStore> {
    let memory = InMemory::new();
    memory.put(&Path::from("x"), pattern(bytes).into()).await.unwrap();
    let options = ThrottleOptions {
        latency: Duration::from_millis(30),
        connection_bytes_per_second: Some(rate),
        total_bytes_per_second: None,
    };
    Arc::new(Throttled::new(Arc::new(memory), options))
}

#[tokio::test(start_paused = true)]
async fn a_slow_but_healthy_read_is_not_killed() {
    // 10 MB at 20 kB/s: more than eight minutes, in virtual time.
    let meter = Arc::new(Meter::default());
    let slow = throttled_memory(10_000_000, 20_000.0).await;
    let store = Retrying::new(Arc::new(Metered::operations(slow, Arc::clone(&meter))), RetryPolicy::default());
    let start = Instant::now();
    let got = store.get(&Path::from("x")).await.unwrap().bytes().await.unwrap();
    assert!(got == pattern(10_000_000));
    assert!(start.elapsed() >= Duration::from_secs(499));
    assert_eq!(meter.counts().requests.get, 1);
}

#[tokio::test(start_paused = true)]
async fn a_read_that_stands_still_is_asked_for_again_or_given_up() {
    let bytes = pattern(1_000_000);
    let memory = Arc::new(InMemory::new());
    memory.put(&Path::from("x"), bytes.clone().into()).await.unwrap();
    for seed in 0..20 {
        let options = FailingOptions { seed, stall_rate: 0.4, ..Default::default() };
        let failing = Failing::new(Arc::clone(&memory) as _, options);
        let store = Retrying::new(Arc::new(failing), RetryPolicy { retries: 30, ..RetryPolicy::default() });
        let got = store.get(&Path::from("x")).await.unwrap().bytes().await.unwrap();
        assert!(got == bytes, "seed {seed}");
    }
    let dead = Failing::new(memory, FailingOptions { stall_rate: 1.0, ..Default::default() });
    let store = Retrying::new(Arc::new(dead), RetryPolicy { retries: 3, ..RetryPolicy::default() });
    let start = Instant::now();
    let outcome = async { store.get(&Path::from("x")).await?.bytes().await }.await;
    assert!(outcome.is_err());
    // Progress may have been made before it stood still, but not for ever.
    assert!(start.elapsed() < Duration::from_secs(3600), "{:?}", start.elapsed());
}

#[tokio::test(start_paused = true)]
async fn bandwidth_is_shared_by_all_requests() {
    let memory = InMemory::new();
    memory.put(&Path::from("x"), pattern(1_000_000).into()).await.unwrap();
    let options = ThrottleOptions {
        latency: Duration::from_millis(100),
        connection_bytes_per_second: Some(1e6),
        total_bytes_per_second: Some(2e6),
    };
    let store = Throttled::new(Arc::new(memory), options);
    let read = || async { store.get(&Path::from("x")).await.unwrap().bytes().await.unwrap().len() };
    let start = Instant::now();
    read().await;
    // One alone takes a second and a tenth.
    assert!((1.09..1.12).contains(&start.elapsed().as_secs_f64()), "{:?}", start.elapsed());
    let start = Instant::now();
    futures::future::join_all((0..8).map(|_| read())).await;
    // Eight together are bound by the whole.
    assert!((3.9..4.3).contains(&start.elapsed().as_secs_f64()), "{:?}", start.elapsed());
}

#[test]
fn a_cancelled_job_does_not_wait_for_a_dead_store() {
    let memory = Arc::new(InMemory::new());
    futures::executor::block_on(memory.put(&Path::from("x"), pattern(1000).into())).unwrap();
    let dead = Arc::new(Failing::new(memory, FailingOptions { stall_rate: 1.0, ..Default::default() }));
    let job = Job::default();
    let object = JobStore::wrapping(dead, "test://", Observations::s3(), &job).object(Path::from("x"));
    let wanted = [Wanted { file: 0, range: 0..1000 }];
    let plan = plan_requests(&wanted, &RangeOptions::default(), &Observations::s3());
    let fetcher = Fetcher::start(vec![object.clone()], &plan, &job).unwrap();
    let canceller = job.clone();
    let cancel = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(50));
        canceller.cancel();
    });
    assert_eq!(fetcher.bytes(0, 0..1000).unwrap_err().kind(), ErrorKind::Cancelled);
    assert_eq!(object.read_range(0..10).unwrap_err().kind(), ErrorKind::Cancelled);
    cancel.join().unwrap();
}

#[tokio::test(start_paused = true)]
async fn attempts_of_a_silent_store_begin_within_the_retry_time() {
    // Each attempt is given up after 20 s without progress.
    for (retry_time, attempts) in [(0, 1), (5, 1), (20, 1), (30, 2), (60, 3), (90, 5), (1000, 6)] {
        let meter = Arc::new(Meter::default());
        let silent = Failing::new(Arc::new(InMemory::new()), FailingOptions { stall_rate: 1.0, ..Default::default() });
        let policy = RetryPolicy { retry_time: Duration::from_secs(retry_time), ..RetryPolicy::default() };
        let store = Retrying::new(Arc::new(Metered::operations(Arc::new(silent), Arc::clone(&meter))), policy);
        assert!(store.put(&Path::from("x"), "x".into()).await.is_err(), "{retry_time}");
        assert_eq!(meter.counts().requests.put, attempts, "{retry_time}");
    }
}
