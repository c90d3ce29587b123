//! One object (or local file) of a metered store, with blocking reads.

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use object_store::ObjectStore;

use crate::{Job, PathProfile, Result};

/// A store as a job uses it: wrapped by retries and the job's meter.
#[derive(Debug, Clone)]
pub struct JobStore {
    /// The wrapped store. Every request that goes through it is counted.
    pub store: Arc<dyn ObjectStore>,
    /// What to put in front of an object's path to make the URL that a user knows: `s3://bucket/` or `/`.
    pub url_prefix: String,
    /// Whether files are read by blocking calls on the thread that needs them (local disk, memory).
    pub is_local: bool,
    /// Latencies and bandwidths seen so far on this store, by every job of the process.
    pub observed: Arc<crate::profile::Observations>,
    /// The job that pays.
    pub job: Job,
}

/// One object: where it is, and what was known of it when it was first seen.
#[derive(Debug, Clone)]
pub struct Object {
    /// The store it is in.
    pub store: JobStore,
    /// Its path there.
    pub path: object_store::path::Path,
    /// Its size in bytes, once known.
    pub size_bytes: Option<u64>,
    /// Its tag, once known: every later read demands the same one, so a replaced object is an error.
    pub e_tag: Option<String>,
}

/// The last bytes of an object, and what the store said of it.
#[derive(Debug, Clone)]
pub struct Tail {
    /// The bytes, which end where the object ends.
    pub bytes: Bytes,
    /// The object's size.
    pub size_bytes: u64,
    /// The object's tag.
    pub e_tag: Option<String>,
}

impl JobStore {
    /// What the path to this store costs: observed where there are observations, typical values until then.
    pub fn profile(&self) -> PathProfile {
        self.observed.profile()
    }
}

impl Object {
    /// The name that a user knows: a local path or a URL. Without credentials.
    pub fn url(&self) -> String {
        format!("{}{}", self.store.url_prefix, self.path)
    }

    /// One request for the last `n` bytes (all of them where the object is shorter). Blocks.
    pub fn read_tail(&self, _n: u64) -> Result<Tail> {
        unimplemented!()
    }

    /// One request for one range. Blocks. An object that is shorter, or was replaced since `e_tag` was
    /// learnt, is an error (`Corrupt`, `Conflict`).
    pub fn read_range(&self, _range: Range<u64>) -> Result<Bytes> {
        unimplemented!()
    }
}
