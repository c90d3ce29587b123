//! The stores of this process, made once per configuration: connections and observations are shared by all jobs.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex};
use std::time::Duration;

use lakerace_exec::lock;
use object_store::aws::{AmazonS3Builder, AmazonS3ConfigKey};
use object_store::memory::InMemory;
use object_store::{BackoffConfig, ClientOptions, ObjectStore, RetryConfig};

use self::error::no_credentials;
use self::foreign_options::translate;
use self::local::LocalStore;
use self::wrap::{AttemptConnector, Metered, RetryPolicy, Retrying};
use crate::option::STORAGE_OPTION;
use crate::profile::Observations;
use crate::{Error, Job, JobStore, Result, StorageOptions, StoreKind};

mod aws_profile;
pub(crate) mod credentials;
pub(crate) mod error;
mod foreign_options;
pub(crate) mod local;
pub(crate) mod local_links;
pub(crate) mod object;
pub(crate) mod object_info;
pub(crate) mod options;
mod settings;
pub mod wrap;

use self::settings::{Settings, protects_bodies};

/// A store and what was observed on it.
#[derive(Debug, Clone)]
struct Shared {
    store: Arc<dyn ObjectStore>,
    observed: Arc<Observations>,
}

/// The time within which attempts of a request are repeated, by default. A store that throttles or restarts is back within it.
const RETRY_TIME: Duration = Duration::from_secs(60);

/// The longest wait between two attempts, where the server asks for none.
const LONGEST_BACKOFF: Duration = Duration::from_secs(5);

const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// Idle connections kept for reuse: as many as a scan has requests in flight.
const IDLE_CONNECTIONS: usize = 64;

/// Files of this machine.
pub(crate) fn local(job: &Job) -> JobStore {
    static OBSERVED: LazyLock<Arc<Observations>> =
        LazyLock::new(|| Arc::new(Observations::new(Observations::local_disk())));
    let store = Metered::operations(Arc::new(LocalStore { job: job.clone() }), Arc::clone(job.meter()));
    JobStore {
        store: Arc::new(store),
        url_prefix: "/".to_owned(),
        kind: StoreKind::LocalFiles,
        observed: Arc::clone(&OBSERVED),
        pipe: None,
        job: job.clone(),
    }
}

/// The in-memory store of this name: made empty on first use, kept until the process ends.
pub(crate) fn memory(name: &str, job: &Job) -> JobStore {
    static STORES: LazyLock<Mutex<HashMap<String, Shared>>> = LazyLock::new(Mutex::default);
    let mut stores = lock(&STORES);
    let shared = stores.entry(name.to_owned()).or_insert_with(|| Shared {
        store: Arc::new(InMemory::new()),
        observed: Arc::new(Observations::new(Observations::local_disk())),
    });
    JobStore {
        store: Arc::new(Metered::operations(Arc::clone(&shared.store), Arc::clone(job.meter()))),
        url_prefix: format!("memory://{name}/"),
        kind: StoreKind::Memory,
        observed: Arc::clone(&shared.observed),
        pipe: None,
        job: job.clone(),
    }
}

/// A bucket, by the environment's `AWS_*` variables and `options`, which win.
pub(crate) fn s3(bucket: &str, options: &StorageOptions, job: &Job) -> Result<JobStore> {
    /// A bucket and its settings.
    type Key = (String, Settings);
    static STORES: LazyLock<Mutex<HashMap<Key, Shared>>> = LazyLock::new(Mutex::default);
    let settings = Settings::gather(options)?;
    translate(&options.options)?.warnings.iter().for_each(|warning| job.warn(warning));
    let retry_time = settings.retry_time().unwrap_or(RETRY_TIME);
    let mut stores = lock(&STORES);
    let key = (bucket.to_owned(), settings);
    let shared = match stores.get(&key) {
        Some(shared) => shared.clone(),
        None => {
            let made =
                Shared { store: build_s3(bucket, &key.1)?, observed: Arc::new(Observations::new(Observations::s3())) };
            stores.entry(key).or_insert(made).clone()
        }
    };
    let metered = Metered::attempts(shared.store, Arc::clone(job.meter()));
    Ok(JobStore {
        store: Arc::new(Retrying::new(Arc::new(metered), RetryPolicy::bodies_only(retry_time))),
        url_prefix: format!("s3://{bucket}/"),
        kind: StoreKind::Remote,
        observed: shared.observed,
        pipe: None,
        job: job.clone(),
    })
}

fn build_s3(bucket: &str, settings: &Settings) -> Result<Arc<dyn ObjectStore>> {
    let value = |name: &str| settings.value(name);
    let (endpoint, retry_time) = (settings.endpoint()?, settings.retry_time().unwrap_or(RETRY_TIME));
    // Without an endpoint, it may be one of Amazon's machines, which tells its credentials.
    let sources = [
        "aws_access_key_id",
        "aws_secret_access_key",
        "aws_web_identity_token_file",
        "aws_container_credentials_relative_uri",
        "aws_container_credentials_full_uri",
        "aws_metadata_endpoint",
        "aws_skip_signature",
    ];
    if settings.credentials().is_none() && endpoint.is_some() && sources.iter().all(|name| value(name).is_none()) {
        return Err(no_credentials());
    }
    let client = ClientOptions::new()
        // A large, slow and healthy read must not be cut off: stalls are watched for instead.
        .with_timeout_disabled()
        .with_connect_timeout(CONNECT_TIMEOUT)
        .with_pool_max_idle_per_host(IDLE_CONNECTIONS);
    let mut builder = AmazonS3Builder::new()
        .with_bucket_name(bucket)
        .with_client_options(client)
        .with_http_connector(AttemptConnector::new(retry_time))
        .with_retry(RetryConfig {
            backoff: BackoffConfig { max_backoff: LONGEST_BACKOFF, ..BackoffConfig::default() },
            max_retries: if retry_time.is_zero() { 0 } else { usize::MAX },
            retry_timeout: retry_time,
        });
    // Hashing a body for its signature costs both sides a pass over all bytes.
    builder = builder.with_unsigned_payload(protects_bodies(endpoint.as_ref()));
    for (key, value) in settings.all() {
        builder = builder.with_config(key, value);
    }
    if let Some(credentials) = settings.credentials() {
        builder = builder.with_credentials(Arc::new(credentials.clone()));
    }
    let store = builder.build().map_err(|_| refused_setting(bucket, settings))?;
    Ok(Arc::new(store))
}

/// The error that names the setting which no client can be made with. Its value is not shown: it may be a secret.
fn refused_setting(bucket: &str, settings: &Settings) -> Error {
    let is_refused = |key: AmazonS3ConfigKey, value: &str| {
        let others = AmazonS3Builder::new().with_bucket_name(bucket).with_region("us-east-1").with_allow_http(true);
        let others = others.with_access_key_id("any").with_secret_access_key("any");
        let connector = AttemptConnector::new(Duration::ZERO);
        others.with_http_connector(connector).with_config(key, value).build().is_err()
    };
    match settings.all().find(|(key, value)| is_refused(*key, value)) {
        Some((key, _)) => Error::usage(format!("the value of the S3 setting {} is not valid", key.as_ref())),
        None => Error::usage("the S3 settings contradict each other"),
    }
    .advice(format!("check {STORAGE_OPTION} and the variables AWS_*"))
}

#[cfg(test)]
mod tests;
