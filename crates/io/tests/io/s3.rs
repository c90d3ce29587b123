//! Against a real S3 server, through the proxy: counts, faults, and what errors say. `make test-rust` starts one, and runs
//! what needs it; by hand, `LAKERACE_TEST_S3_ENDPOINT` (such as `http://127.0.0.1:9000`), `LAKERACE_TEST_S3_BUCKET` and
//! credentials name one.

use std::time::{Duration, Instant};

use lakerace_io::proxy::{Faults, Proxy, ProxyCounts, ProxyOptions};
use lakerace_io::{
    ErrorKind, Fetcher, IfExists, Job, JobOptions, Location, MinSeekSize, Object, Output, RangeOptions, StorageOptions,
    Wanted, plan_requests,
};

fn bucket() -> String {
    std::env::var("LAKERACE_TEST_S3_BUCKET").unwrap_or_else(|_| "lakerace-test".to_owned())
}

/// A proxy in front of the server.
fn proxy(change: impl FnOnce(&mut ProxyOptions)) -> Proxy {
    let endpoint = std::env::var("LAKERACE_TEST_S3_ENDPOINT").expect("make test-rust starts an S3 server");
    let mut options = ProxyOptions::to(endpoint.trim_start_matches("http://").trim_end_matches('/'));
    change(&mut options);
    Proxy::start(options).unwrap()
}

fn options(proxy: &Proxy) -> StorageOptions {
    let endpoint = format!("http://{}", proxy.addr());
    let options = [("aws_endpoint_url".to_owned(), endpoint), ("aws_allow_http".to_owned(), "true".to_owned())];
    StorageOptions::from_iter(options)
}

fn object(proxy: &Proxy, job: &Job, name: &str) -> Object {
    let text = format!("s3://{}/s3-{:016x}/{name}", bucket(), rand::random::<u64>());
    Location::parse(&text).unwrap().object(&options(proxy), job).unwrap()
}

fn pattern(len: usize) -> Vec<u8> {
    (0..len as u64).map(|i| (i.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 40) as u8).collect()
}

fn write(object: &Object, bytes: &[u8], if_exists: IfExists) -> lakerace_io::Result<()> {
    let mut output = Output::create(&object.store, &object.path, if_exists)?;
    for chunk in bytes.chunks(1_000_000) {
        output.write(chunk.to_vec().into())?;
    }
    output.prepare()?;
    output.finish()
}

fn read(object: &Object, len: u64, job: &Job) -> lakerace_io::Result<Vec<u8>> {
    let ranges = RangeOptions { max_request_bytes: Some(1 << 20), ..RangeOptions::default() };
    let plan = plan_requests(&[Wanted { file: 0, range: 0..len }], &ranges, &object.store.profile());
    let fetcher = Fetcher::start(vec![object.clone()], &plan, job)?;
    let mut all = Vec::new();
    while (all.len() as u64) < len {
        let at = all.len() as u64;
        let some = fetcher.bytes_some(0, at..len)?;
        fetcher.release(0, at..at + some.len() as u64);
        all.extend_from_slice(&some);
    }
    Ok(all)
}

/// The counts, once they tell of so many bytes: what has passed is counted behind it.
fn counts_of(proxy: &Proxy, bytes_to_client: u64) -> ProxyCounts {
    let begun = Instant::now();
    loop {
        let counts = proxy.counts();
        if counts.bytes_to_client >= bytes_to_client || begun.elapsed() > Duration::from_secs(10) {
            return counts;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[test]
#[ignore = "needs an S3 server: make test-rust"]
fn the_meter_counts_what_the_proxy_sees() {
    let proxy = proxy(|_| {});
    let job = Job::default();
    let object = object(&proxy, &job, "k=v/a b%#.bin");
    let bytes = pattern(20_000_000);
    write(&object, &bytes, IfExists::Error).unwrap();
    assert!(read(&object, bytes.len() as u64, &job).unwrap() == bytes);
    let tail = object.read_tail(1000).unwrap();
    assert!(tail.bytes == bytes[bytes.len() - 1000..] && tail.size_bytes == bytes.len() as u64);
    let folder = object.path.parent().unwrap();
    let listed = object.store.list(&folder).unwrap();
    assert_eq!((listed.len(), &listed[0].path, &listed[0].e_tag), (1, &object.path, &tail.e_tag));
    object.store.delete(&object.path).unwrap();
    let (meter, seen) = (job.meter().counts(), proxy.counts());
    // HEAD, begin, three parts, complete; 20 pieces and a tail; one listing; one removal.
    assert_eq!((seen.head, seen.put, seen.post, seen.get, seen.list), (1, 3, 2 + 1, 21, 1), "{seen:?}");
    assert_eq!(meter.requests.get, seen.get);
    assert_eq!(meter.requests.head, seen.head);
    assert_eq!(meter.requests.list, seen.list);
    assert_eq!(meter.requests.put + meter.requests.delete, seen.put + seen.post + seen.delete);
    assert_eq!(meter.bytes_read, bytes.len() as u64 + 1000);
    assert_eq!(meter.bytes_written, bytes.len() as u64);
}

#[test]
#[ignore = "needs an S3 server: make test-rust"]
fn small_objects_are_one_request_and_empty_ones_work() {
    let proxy = proxy(|_| {});
    let job = Job::default();
    for len in [0, 1, 8 << 20] {
        let object = object(&proxy, &job, "x");
        proxy.reset();
        write(&object, &pattern(len), IfExists::Replace).unwrap();
        assert_eq!((proxy.counts().put, proxy.counts().requests), (1, 1));
        let tail = object.read_tail(64 << 10).unwrap();
        assert_eq!((tail.size_bytes, tail.bytes.len()), (len as u64, len.min(64 << 10)));
        // Some servers make the end of an empty object known only to a HEAD.
        assert!(proxy.counts().requests == 2 || len == 0, "{:?}", proxy.counts());
        assert_eq!(write(&object, b"again", IfExists::Error).unwrap_err().kind(), ErrorKind::Conflict);
    }
}

#[test]
#[ignore = "needs an S3 server: make test-rust"]
fn faults_on_the_way_change_no_byte() {
    let bytes = pattern(12_000_000);
    for faults in [
        Faults { error_every: Some(5), ..Faults::default() },
        Faults { reset_every: Some(3), ..Faults::default() },
        Faults { error_every: Some(4), reset_every: Some(5), ..Faults::default() },
    ] {
        let proxy = proxy(|o| o.faults = faults);
        let job = Job::default();
        let object = object(&proxy, &job, "x");
        write(&object, &bytes, IfExists::Replace).unwrap();
        assert!(read(&object, bytes.len() as u64, &job).unwrap() == bytes, "{faults:?}");
        assert!(proxy.counts().faults > 2, "{:?}", proxy.counts());
        // Every attempt is billed.
        let seen = proxy.counts();
        assert_eq!(job.meter().counts().requests.get, seen.get, "{seen:?}");
    }
}

#[test]
#[ignore = "needs an S3 server: make test-rust"]
fn a_server_that_always_fails_is_unavailable() {
    for faults in
        [Faults { error_every: Some(1), ..Faults::default() }, Faults { reset_every: Some(1), ..Faults::default() }]
    {
        let plain = proxy(|_| {});
        let job = Job::default();
        let target = object(&plain, &job, "x");
        write(&target, &pattern(1000), IfExists::Replace).unwrap();
        let failing = proxy(|o| o.faults = faults);
        let text = target.url();
        let mut options = options(&failing);
        options.options.insert("retry_time".to_owned(), "2s".to_owned());
        let same = Location::parse(&text).unwrap().object(&options, &job).unwrap();
        match same.read_range(0..1000) {
            // Resumed from where it broke off, a body of which half comes each time does end.
            Ok(bytes) => assert!(faults.reset_every.is_some() && bytes == pattern(1000)),
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
                assert!(error.to_string().starts_with(&text), "{error}");
            }
        }
    }
}

#[test]
#[ignore = "needs an S3 server: make test-rust"]
fn errors_say_what_to_do() {
    let proxy = proxy(|_| {});
    let job = Job::default();
    let missing = object(&proxy, &job, "missing").read_tail(10).unwrap_err();
    assert_eq!(missing.kind(), ErrorKind::NotFound, "{missing}");
    let said = missing.to_string();
    assert!(said.contains("missing: does not exist (check its name") && said.contains("bucket"), "{said}");
    let at = |text: &str, options: StorageOptions| Location::parse(text).unwrap().object(&options, &job).unwrap();
    let bucket_ = at("s3://no-such-bucket-here/x", options(&proxy));
    for error in [
        bucket_.read_tail(10).unwrap_err(),
        bucket_.store.list(&bucket_.path).unwrap_err(),
        write(&bucket_, b"x", IfExists::Replace).unwrap_err(),
    ] {
        assert_eq!(error.kind(), ErrorKind::NotFound, "{error}");
        assert!(error.to_string().contains("bucket does not exist"), "{error}");
    }
    for (key, name) in [("aws_secret_access_key", "AWS_SECRET_ACCESS_KEY"), ("aws_access_key_id", "AWS_ACCESS_KEY_ID")]
    {
        let mut wrong = options(&proxy);
        wrong.options.insert(key.to_owned(), "WRONGSECRET".to_owned());
        let object = at(&format!("s3://{}/x", bucket()), wrong);
        for error in [object.read_tail(10).unwrap_err(), object.store.list(&object.path).unwrap_err()] {
            assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
            assert!(error.to_string().contains(name) && !error.to_string().contains("WRONGSECRET"), "{error}");
        }
    }
}

#[test]
#[ignore = "needs an S3 server: make test-rust"]
fn an_object_replaced_during_a_scan_is_a_conflict() {
    let proxy = proxy(|_| {});
    let job = Job::new(JobOptions {
        ranges: RangeOptions { prefetch_bytes: 1 << 20, ..RangeOptions::default() },
        ..JobOptions::default()
    });
    let object = object(&proxy, &job, "x");
    write(&object, &pattern(10_000_000), IfExists::Replace).unwrap();
    let ranges = RangeOptions { max_request_bytes: Some(1 << 20), ..RangeOptions::default() };
    let plan = plan_requests(&[Wanted { file: 0, range: 0..10_000_000 }], &ranges, &object.store.profile());
    let fetcher = Fetcher::start(vec![object.clone()], &plan, &job).unwrap();
    fetcher.bytes(0, 0..1000).unwrap();
    write(&object, &vec![0; 10_000_000], IfExists::Replace).unwrap();
    let error = fetcher.bytes(0, 9_000_000..9_000_100).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Conflict, "{error}");
}

#[test]
#[ignore = "needs an S3 server: make test-rust"]
fn an_upload_given_up_leaves_nothing() {
    let proxy = proxy(|_| {});
    let job = Job::default();
    let object = object(&proxy, &job, "x");
    let mut output = Output::create(&object.store, &object.path, IfExists::Replace).unwrap();
    for _ in 0..30 {
        output.write(vec![1; 1 << 20].into()).unwrap();
    }
    job.cancel();
    drop(output);
    assert_eq!(proxy.counts().delete, 1, "{:?}", proxy.counts());
    let job = Job::default();
    let folder = object.path.parent().unwrap();
    let again = Location::parse(&object.url()).unwrap().object(&options(&proxy), &job).unwrap();
    assert!(again.store.list(&folder).unwrap().is_empty());
}

#[test]
#[ignore = "needs an S3 server: make test-rust"]
fn latency_and_bandwidth_are_observed() {
    let proxy = proxy(|o| {
        o.latency = Duration::from_millis(5);
        o.bytes_per_second = Some(50e6);
    });
    let job = Job::default();
    let object = object(&proxy, &job, "x");
    write(&object, &pattern(4_000_000), IfExists::Replace).unwrap();
    let before = object.store.profile();
    for _ in 0..10 {
        object.read_range(0..100).unwrap();
        object.read_range(0..4_000_000).unwrap();
    }
    let after = object.store.profile();
    assert!(after.latency_ms != before.latency_ms);
    assert!(after.connection_bytes_per_second < before.connection_bytes_per_second);
}

#[test]
#[ignore = "needs an S3 server: make test-rust"]
fn gaps_are_read_through_or_not_as_asked() {
    let proxy = proxy(|_| {});
    let job = Job::default();
    let object = object(&proxy, &job, "x");
    let bytes = pattern(2_000_000);
    write(&object, &bytes, IfExists::Replace).unwrap();
    let wanted: Vec<_> = (0..10u64).map(|i| Wanted { file: 0, range: i * 200_000..i * 200_000 + 100_000 }).collect();
    for (gap, requests) in [(0, 10), (100_001, 1)] {
        let ranges = RangeOptions { min_seek_size: MinSeekSize::Bytes(gap), ..RangeOptions::default() };
        let plan = plan_requests(&wanted, &ranges, &object.store.profile());
        proxy.reset();
        let fetcher = Fetcher::start(vec![object.clone()], &plan, &job).unwrap();
        for w in &wanted {
            let got = fetcher.bytes(0, w.range.clone()).unwrap();
            assert!(got == bytes[w.range.start as usize..w.range.end as usize]);
        }
        assert_eq!(proxy.counts().get, requests);
        let read_through = if gap == 0 { 0 } else { 900_000 };
        let passed = 1_000_000 + read_through;
        assert_eq!(counts_of(&proxy, passed).bytes_to_client, passed);
    }
}
