//! The stores of this process, made once per configuration: connections and observations are shared by all jobs.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use arc_swap::ArcSwapOption;
use lakerace_exec::{ProcessLocal, lock};
use object_store::memory::InMemory;
use object_store::{BackoffConfig, ClientOptions, ObjectStore, RetryConfig};

use self::http::SpoolingStore;
use self::kind::{BuiltStore, RemoteStore, StoreAddress, StoreClient, StoreIdentity, StoreKind};
use self::local::LocalStore;
use self::object::StoreAccess;
use self::settings::StoreSettings;
use self::wrap::{AttemptConnector, Metered, RetryPolicy, Retrying};
use crate::error::Result;
use crate::job::Job;
use crate::profile::Observations;
use crate::store::object::JobStore;
use crate::store::options::StorageOptions;

mod azure;
pub(crate) mod credentials;
pub(crate) mod error;
pub(crate) mod foreign_options;
mod google;
mod http;
pub(crate) mod kind;
pub(crate) mod local;
pub(crate) mod local_links;
pub(crate) mod object;
pub(crate) mod object_info;
pub(crate) mod options;
mod s3;
pub(crate) mod settings;
pub mod wrap;

/// A store and the observations on it.
#[derive(Debug, Clone)]
struct ObservedStore {
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

pub(crate) use self::kind::is_signed;

/// Files of this machine.
pub(crate) fn local(job: &Job) -> JobStore {
    static OBSERVED: ProcessLocal<Arc<Observations>> =
        ProcessLocal::new(|| Arc::new(Observations::new(Observations::local_disk())));
    let store = Metered::operations(Arc::new(LocalStore { job: job.clone() }), Arc::clone(job.meter()));
    JobStore {
        store: Arc::new(store),
        url_prefix: "/".to_owned(),
        access: StoreAccess::LocalFiles,
        remote: None,
        observed: Arc::clone(&OBSERVED),
        pipe: None,
        job: job.clone(),
    }
}

/// The in-memory store of this name: made empty on first use, kept until the process ends.
pub(crate) fn memory(name: &str, job: &Job) -> JobStore {
    let shared = shared_memory(name);
    JobStore {
        store: Arc::new(Metered::operations(Arc::clone(&shared.store), Arc::clone(job.meter()))),
        url_prefix: format!("memory://{name}/"),
        access: StoreAccess::Memory,
        remote: None,
        observed: shared.observed,
        pipe: None,
        job: job.clone(),
    }
}

fn shared_memory(name: &str) -> ObservedStore {
    /// Without a lock, which a fork could leave locked: a forked process has the stores of its parent.
    static STORES: ArcSwapOption<HashMap<String, ObservedStore>> = ArcSwapOption::const_empty();
    loop {
        let known = STORES.load_full();
        if let Some(store) = known.as_ref().and_then(|stores| stores.get(name)) {
            return store.clone();
        }
        let mut stores = known.as_deref().cloned().unwrap_or_default();
        let observed = Arc::new(Observations::new(Observations::local_disk()));
        stores.insert(name.to_owned(), ObservedStore { store: Arc::new(InMemory::new()), observed });
        // Where another thread was faster, its stores are the ones.
        STORES.compare_and_swap(&known, Some(Arc::new(stores)));
    }
}

/// A remote store, by the variables of the environment and by `options`, which win.
pub(crate) fn remote(address: &StoreAddress, options: &StorageOptions, job: &Job) -> Result<JobStore> {
    /// A bucket, a container or a server, and its settings.
    type Key = (StoreAddress, StoreSettings);
    static STORES: ProcessLocal<Mutex<HashMap<Key, (ObservedStore, StoreIdentity)>>> =
        ProcessLocal::new(Mutex::default);
    let kind = address.kind;
    let settings = StoreSettings::gather(kind, options)?;
    settings.warnings().iter().for_each(|warning| job.warn(warning));
    let retry_time = settings.retry_time().unwrap_or(RETRY_TIME);
    let key = (address.clone(), settings);
    let known = lock(&STORES).get(&key).cloned();
    let (shared, identity) = match known {
        Some(known) => known,
        None => {
            let typical = if kind.is_billed { Observations::s3() } else { Observations::web_server() };
            let observed = Arc::new(Observations::new(typical));
            let client = StoreClient::new(kind, retry_time, &observed);
            let BuiltStore { store, identity } = (kind.build)(address, &key.1, client)?;
            lock(&STORES).entry(key).or_insert((ObservedStore { store, observed }, identity)).clone()
        }
    };
    let metered = Arc::new(Metered::attempts(shared.store, Arc::clone(job.meter())));
    let store = match kind.can_write {
        true => Retrying::new(metered, RetryPolicy::bodies_only(retry_time)),
        // Its client repeats nothing, and a download may take as long as it takes.
        false => Retrying::new(Arc::new(SpoolingStore::new(metered)), RetryPolicy::downloads(retry_time)),
    };
    Ok(JobStore {
        store: Arc::new(store),
        url_prefix: address.url_prefix.clone(),
        access: StoreAccess::Remote,
        remote: Some(Arc::new(RemoteStore { kind, identity })),
        observed: shared.observed,
        pipe: None,
        job: job.clone(),
    })
}

impl StoreClient {
    fn new(kind: &'static StoreKind, retry_time: Duration, observed: &Arc<Observations>) -> Self {
        let options = ClientOptions::new()
            // A large, slow and healthy read must not be cut off: stalls are watched for instead.
            .with_timeout_disabled()
            .with_connect_timeout(CONNECT_TIMEOUT)
            .with_pool_max_idle_per_host(IDLE_CONNECTIONS);
        let retry = RetryConfig {
            backoff: BackoffConfig { max_backoff: LONGEST_BACKOFF, ..BackoffConfig::default() },
            max_retries: if retry_time.is_zero() { 0 } else { usize::MAX },
            retry_timeout: retry_time,
        };
        Self { options, retry, connector: AttemptConnector::new(kind, retry_time, observed) }
    }

    /// Makes a copy: builders take it.
    pub(crate) fn again(&self) -> Self {
        Self { options: self.options.clone(), retry: self.retry.clone(), connector: self.connector.clone() }
    }
}
