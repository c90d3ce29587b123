//! Azure and Google Cloud Storage, on the servers that `make test-rust` starts: the conformance suite, uploads of several parts that
//! must not replace, and what errors say.

use std::sync::{Mutex, MutexGuard, PoisonError};

use lakerace_io::conformance::check_all;
use lakerace_io::{ErrorKind, IfExists, Job, Location, Object, Output, StorageOptions, runtime};

/// Bytes of an object of three parts.
const SEVERAL_PARTS: usize = 20 << 20;

/// One test at a time works on a server: both are small programs, and each test sends many requests side by side.
static AZURE: Mutex<()> = Mutex::new(());
static GOOGLE: Mutex<()> = Mutex::new(());

/// A store that a test writes to.
struct Cloud {
    _alone: MutexGuard<'static, ()>,
    /// The URL of a folder of the test's own.
    folder: String,
    options: Vec<(&'static str, String)>,
    /// Options with which the store denies access.
    denied: (&'static str, &'static str),
}

fn azure() -> Cloud {
    let server = std::env::var("LAKERACE_TEST_AZURE").expect("make test-rust starts Azurite");
    let (endpoint, container) = server.split_once(' ').unwrap();
    // The key of every Azurite, which Microsoft has published.
    let key = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==";
    Cloud {
        _alone: AZURE.lock().unwrap_or_else(PoisonError::into_inner),
        folder: format!("az://{container}/test-{:016x}", rand::random::<u64>()),
        options: vec![
            ("azure_storage_account_name", "devstoreaccount1".to_owned()),
            ("azure_storage_account_key", key.to_owned()),
            ("azure_storage_endpoint", endpoint.to_owned()),
            ("azure_allow_http", "true".to_owned()),
        ],
        denied: ("azure_storage_account_key", "bm8="),
    }
}

fn google() -> Cloud {
    let endpoint = std::env::var("LAKERACE_TEST_GOOGLE_ENDPOINT").expect("make test-rust starts a server");
    Cloud {
        _alone: GOOGLE.lock().unwrap_or_else(PoisonError::into_inner),
        folder: format!("gs://lakerace-test/test-{:016x}", rand::random::<u64>()),
        options: vec![
            ("google_base_url", endpoint),
            ("google_allow_http", "true".to_owned()),
            ("google_bearer_token", "the-token".to_owned()),
        ],
        denied: ("google_bearer_token", "the-token-of-somebody-else"),
    }
}

impl Cloud {
    fn options(&self, more: &[(&'static str, &'static str)]) -> StorageOptions {
        let more = more.iter().map(|(name, value)| (*name, (*value).to_owned()));
        let all = self.options.iter().cloned().chain(more);
        all.map(|(name, value)| (name.to_owned(), value)).collect()
    }

    fn object(&self, name: &str, job: &Job) -> Object {
        let text = format!("{}/{name}", self.folder);
        Location::parse(&text).unwrap().object(&self.options(&[]), job).unwrap()
    }
}

fn write(object: &Object, bytes: &[u8], if_exists: IfExists) -> lakerace_io::Result<()> {
    let mut output = Output::create(&object.store, &object.path, if_exists)?;
    output.write(bytes.to_vec().into())?;
    output.prepare()?;
    output.finish()
}

fn conforms(cloud: &Cloud) {
    let options = cloud.options(&[]);
    let (store, path) = Location::parse(&cloud.folder).unwrap().open(&options, &Job::default()).unwrap();
    // A connection is a task of the runtime that opened it, and later tests use it again.
    runtime().unwrap().block_on(check_all(store.store.as_ref(), &path)).unwrap();
}

#[test]
#[ignore = "needs a server of Azure: make test-rust"]
fn azure_conforms() {
    conforms(&azure());
}

#[test]
#[ignore = "needs a server of Google: make test-rust"]
fn google_conforms() {
    conforms(&google());
}

#[test]
#[ignore = "needs servers of Azure and Google: make test-rust"]
fn objects_of_several_parts_replace_nothing_that_must_stay() {
    let large = vec![7; SEVERAL_PARTS];
    for cloud in [azure(), google()] {
        let job = Job::default();
        let object = cloud.object("large", &job);
        write(&object, &large, IfExists::Error).unwrap();
        assert_eq!(object.read_tail(1 << 30).unwrap().bytes, large);
        // One that comes between the look for the name and the end of the upload.
        let late = cloud.object("late", &job);
        let mut output = Output::create(&late.store, &late.path, IfExists::Error).unwrap();
        output.write(large.clone().into()).unwrap();
        output.prepare().unwrap();
        write(&late, b"first", IfExists::Replace).unwrap();
        assert_eq!(output.finish().unwrap_err().kind(), ErrorKind::Conflict, "{}", cloud.folder);
        assert_eq!(late.read_tail(100).unwrap().bytes, "first");
        let folder = late.path.parent().unwrap();
        let listed = late.store.list(&folder).unwrap();
        assert_eq!(listed.iter().map(|info| info.path.filename().unwrap()).collect::<Vec<_>>(), ["large", "late"]);
        write(&late, &large, IfExists::Replace).unwrap();
        assert_eq!(late.read_tail(1 << 30).unwrap().bytes, large);
    }
}

#[test]
#[ignore = "needs servers of Azure and Google: make test-rust"]
fn requests_are_counted_by_their_kinds() {
    for cloud in [azure(), google()] {
        let job = Job::default();
        let object = cloud.object("counted", &job);
        write(&object, b"bytes", IfExists::Replace).unwrap();
        assert_eq!(object.read_range(1..3).unwrap(), "yt");
        object.store.stat(&object.path).unwrap().unwrap();
        object.store.list(&object.path.parent().unwrap()).unwrap();
        object.store.delete_all(vec![object.path.clone()]).unwrap();
        let requests = job.meter().counts().requests;
        let counts = (requests.put, requests.get, requests.head, requests.list, requests.delete);
        assert_eq!(counts, (1, 1, 1, 1, 1), "{}", cloud.folder);
    }
}

#[test]
#[ignore = "needs servers of Azure and Google: make test-rust"]
fn errors_say_what_to_do() {
    for cloud in [azure(), google()] {
        let job = Job::default();
        let missing = cloud.object("missing", &job).read_range(0..1).unwrap_err();
        assert_eq!(missing.kind(), ErrorKind::NotFound, "{missing}");
        let scheme = cloud.folder.split_once("://").unwrap().0;
        let elsewhere = Location::parse(&format!("{scheme}://no-such-place/x")).unwrap();
        let elsewhere = elsewhere.object(&cloud.options(&[]), &job).unwrap().read_range(0..1).unwrap_err();
        assert_eq!(elsewhere.kind(), ErrorKind::NotFound, "{elsewhere}");
        assert!(elsewhere.to_string().contains("does not exist (check the name"), "{elsewhere}");
        let denied = Location::parse(&format!("{}/x", cloud.folder)).unwrap();
        let denied = denied.object(&cloud.options(&[cloud.denied]), &job).unwrap().read_range(0..1).unwrap_err();
        assert_eq!(denied.kind(), ErrorKind::Invalid, "{denied}");
        let text = denied.to_string();
        assert!(text.contains("denies access") && text.contains(&cloud.folder), "{text}");
        assert!(!text.contains("AWS_") && !text.contains(cloud.denied.1), "{text}");
        let endpoint = cloud.options.iter().find(|(_, value)| value.starts_with("http://")).unwrap().0;
        let options = cloud.options(&[(endpoint, "http://127.0.0.1:1"), ("retry_time", "0s")]);
        let gone = Location::parse(&format!("{}/x", cloud.folder)).unwrap().object(&options, &job).unwrap();
        assert_eq!(gone.read_range(0..1).unwrap_err().kind(), ErrorKind::Unavailable);
    }
}
