//! Checks of a location: its credentials, the place of the store, the allowed operations, and the speed.

use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;
use futures::{StreamExt, TryStreamExt};
use object_store::path::Path;
use object_store::{Error as StoreError, GetOptions, GetRange, ObjectStore, PutMode, PutOptions};
use serde::Serialize;

use crate::error::{Error, ErrorKind, Result};
use crate::job::Job;
use crate::location::Location;
use crate::store::error::store_error;
use crate::store::kind::RegionSource;
use crate::store::object::JobStore;
use crate::store::options::StorageOptions;

/// Bytes that are written and read to measure bandwidth.
const PROBE_BYTES: usize = 4 << 20;

/// Requests whose fastest answer gives the latency.
const LATENCY_REQUESTS: usize = 5;

/// From this clock difference on, Amazon refuses requests.
const MOST_SKEW_SECONDS: i64 = 15 * 60;

/// A clock difference that is reported: certificates and tokens depend on the time as well.
const WORTH_TELLING_SECONDS: i64 = 60;

/// The findings of a check of a location.
#[derive(Debug, Clone, Serialize)]
pub struct LocationCheck {
    /// The location, without credentials.
    pub location: String,
    /// The kind of store: `S3`, `Azure`, `local files` and so on.
    pub store: String,
    /// The source of the credentials; `None` where the store takes none.
    pub credentials: Option<String>,
    /// The region of the bucket.
    pub region: Option<String>,
    /// The source of that region.
    pub region_source: Option<RegionSource>,
    /// The server, if it is not the provider's own.
    pub endpoint: Option<String>,
    /// Seconds by which this machine's clock is ahead of the server's.
    pub clock_skew_seconds: Option<i64>,
    /// The rights that the store grants: `list`, `read`, `write`, `put_if_absent` and `delete`.
    pub rights: Vec<RightCheck>,
    /// Milliseconds to the fastest of a few answers.
    pub latency_ms: Option<f64>,
    /// Bytes a second that one request writes.
    pub write_bytes_per_second: Option<f64>,
    /// Bytes a second that one request reads.
    pub read_bytes_per_second: Option<f64>,
    /// Settings and steps to take.
    pub advice: Vec<String>,
}

/// The check of a right.
#[derive(Debug, Clone, Serialize)]
pub struct RightCheck {
    /// The right that was tried.
    pub right: &'static str,
    /// The outcome.
    pub outcome: RightOutcome,
    /// The error, if there was one.
    pub message: Option<String>,
    #[serde(skip)]
    error: Option<Error>,
}

/// The outcome of a trial.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RightOutcome {
    /// It is allowed.
    Allowed,
    /// The store denies it.
    Denied,
    /// The store can't do it.
    Unsupported,
    /// It failed for another reason.
    Failed,
    /// It was not tried: something that it needs is not allowed.
    NotTried,
}

impl LocationCheck {
    /// The first error, where nothing at all is allowed. Operations that the store can't do say less than others.
    pub fn failure(&self) -> Option<&Error> {
        let works = self.rights.iter().any(|right| right.outcome == RightOutcome::Allowed);
        if works {
            return None;
        }
        let errors = || self.rights.iter().filter_map(|right| right.error.as_ref());
        errors().find(|error| error.kind() != ErrorKind::Unsupported).or_else(|| errors().next())
    }
}

/// Tries the operations at a location. For objects of a folder, and those next to an object, it uses a hidden object of
/// 4 MiB, which is removed again.
///
/// # Errors
/// Only if the location can't be opened: refusals of the store are part of the result.
pub fn check_location(location: &str, options: &StorageOptions, job: &Job) -> Result<LocationCheck> {
    let parsed = Location::parse(location)?;
    let (store, path) = parsed.open(options, job)?;
    let remote = store.remote.clone();
    let identity = remote.as_ref().map(|remote| &remote.identity);
    let region = identity.and_then(|identity| identity.region.as_ref());
    let mut check = LocationCheck {
        location: parsed.as_str().to_owned(),
        store: match &remote {
            Some(remote) => remote.kind.name.to_owned(),
            None if store.has_local_files() => "local files".to_owned(),
            None => "memory".to_owned(),
        },
        credentials: identity.map(|identity| identity.credentials.clone()),
        region: region.map(|region| region.name.clone()),
        region_source: region.map(|region| region.source),
        endpoint: identity.and_then(|identity| identity.endpoint.clone()),
        clock_skew_seconds: None,
        rights: Vec::new(),
        latency_ms: None,
        write_bytes_per_second: None,
        read_bytes_per_second: None,
        advice: Vec::new(),
    };
    let is_folder = location.ends_with('/') || path.is_root();
    let missing = parsed.local_path().map(|path| missing_folders(&path)).unwrap_or_default();
    let tried = CheckTrial { store, path, is_folder, is_removed: false, object_error: None, check: &mut check }.run();
    for folder in missing {
        // Folders are made with the object. A folder with other contents by now stays.
        let _ = std::fs::remove_dir(folder);
    }
    tried?;
    check.add_advice(remote.as_ref().is_some_and(|remote| remote.kind.can_put_if_absent));
    Ok(check)
}

/// The folders of a path on this machine that do not exist, the innermost one first.
fn missing_folders(path: &std::path::Path) -> Vec<std::path::PathBuf> {
    path.ancestors().take_while(|folder| !folder.exists()).map(std::path::Path::to_path_buf).collect()
}

/// A check under way.
struct CheckTrial<'a> {
    store: JobStore,
    path: Path,
    is_folder: bool,
    /// True if no written object can be left.
    is_removed: bool,
    /// The error of the request for the object that the location names.
    object_error: Option<Error>,
    check: &'a mut LocationCheck,
}

/// The rights in the order of their trials.
const RIGHTS: [&str; 5] = ["list", "write", "read", "put_if_absent", "delete"];

impl CheckTrial<'_> {
    fn run(mut self) -> Result<()> {
        let object = self.object()?;
        if let Some(error) = self.object_error.take_if(|error| error.kind() == ErrorKind::Unavailable) {
            self.give_up("read", error);
            return Ok(());
        }
        let folder = match (&object, self.is_folder) {
            (Some(object), false) => object.parent().unwrap_or_default(),
            _ => self.path.clone(),
        };
        let listed = match self.list(&folder)? {
            Err(error) if error.kind() == ErrorKind::Unavailable => {
                self.give_up("list", error);
                return Ok(());
            }
            Err(error) => {
                self.note("list", Err(error));
                None
            }
            Ok(first) => {
                self.note("list", Ok(()));
                first
            }
        };
        let probe = folder.join(format!(".lakerace-check-{:016x}", rand::random::<u64>()).as_str());
        let tried = self.try_with(&probe, object.or(listed));
        if !self.is_removed {
            // The object may exist even if its write failed or was cancelled.
            self.store.delete_best_effort(vec![probe]);
        }
        self.check.clock_skew_seconds = self.store.observed.clock_skew_seconds();
        tried
    }

    /// Ends the check: a store that does not answer a first request would let each of the others wait as long.
    fn give_up(&mut self, tried: &'static str, error: Error) {
        let mut error = Some(error);
        for right in RIGHTS {
            match error.take_if(|_| right == tried) {
                Some(error) => self.note(right, Err(error)),
                None => self.skip(right, "the store does not answer"),
            }
        }
    }

    /// Writes, reads and removes an object; reads another one where nothing can be written.
    fn try_with(&mut self, probe: &Path, other: Option<Path>) -> Result<()> {
        let is_written = self.write(probe)?;
        let readable = is_written.then(|| probe.clone()).or(other);
        self.read(readable.as_ref())?;
        self.put_if_absent(probe, is_written)?;
        self.delete(probe, is_written)
    }

    /// The object that the location names, unless it ends in a slash. A store that denies the check gives none; its error
    /// is kept.
    fn object(&mut self) -> Result<Option<Path>> {
        if self.is_folder {
            return Ok(None);
        }
        let path = self.path.clone();
        match outcome(self.store.stat(&path))? {
            Ok(found) => Ok(found.map(|_| path)),
            Err(error) => {
                self.object_error = Some(error);
                Ok(None)
            }
        }
    }

    /// Lists, and gives the first object that it finds.
    fn list(&self, folder: &Path) -> Result<Result<Option<Path>>> {
        let (store, prefix, url) = (Arc::clone(&self.store.store), folder.clone(), self.store.url(folder));
        let listed = outcome(self.store.wait(async move {
            let mut names = store.list(Some(&prefix)).take(1);
            names.try_next().await.map_err(|e| store_error(e, &url))
        }))?;
        Ok(listed.map(|first| first.map(|info| info.location)))
    }

    fn write(&mut self, probe: &Path) -> Result<bool> {
        if let Err(error) = self.store.check_writable(probe) {
            self.is_removed = true;
            self.note("write", Err(error));
            return Ok(false);
        }
        let begun = Instant::now();
        let written =
            self.put(probe, PROBE_BYTES, PutMode::Overwrite)?.map_err(|e| store_error(e, &self.store.url(probe)));
        let is_written = written.is_ok();
        if is_written {
            self.check.write_bytes_per_second = Some(PROBE_BYTES as f64 / begun.elapsed().as_secs_f64());
        }
        self.note("write", written);
        Ok(is_written)
    }

    fn read(&mut self, object: Option<&Path>) -> Result<()> {
        let Some(path) = object else {
            match self.object_error.take() {
                Some(error) => self.note("read", Err(error)),
                None => self.skip("read", "there is no object to read"),
            }
            return Ok(());
        };
        let mut fastest = f64::INFINITY;
        for _ in 0..LATENCY_REQUESTS {
            let begun = Instant::now();
            match outcome(self.store.stat(path))? {
                Ok(_) => fastest = fastest.min(begun.elapsed().as_secs_f64() * 1000.0),
                Err(_) => break,
            }
        }
        self.check.latency_ms = fastest.is_finite().then_some(fastest);
        let begun = Instant::now();
        let (store, at, url) = (Arc::clone(&self.store.store), path.clone(), self.store.url(path));
        let read = outcome(self.store.wait(async move {
            let range = Some(GetRange::Bounded(0..PROBE_BYTES as u64));
            let answer = store.get_opts(&at, GetOptions { range, ..GetOptions::default() }).await;
            let bytes = async { answer?.bytes().await }.await;
            bytes.map(|bytes| bytes.len()).map_err(|e| store_error(e, &url))
        }))?;
        if let Ok(bytes) = &read {
            self.check.read_bytes_per_second = Some(*bytes as f64 / begun.elapsed().as_secs_f64());
        }
        self.note("read", read.map(drop));
        Ok(())
    }

    /// Puts an object whose name is taken, which must fail.
    fn put_if_absent(&mut self, probe: &Path, is_written: bool) -> Result<()> {
        if !is_written {
            self.skip("put_if_absent", "nothing could be written");
            return Ok(());
        }
        let url = self.store.url(probe);
        let tried = match self.put(probe, 1, PutMode::Create)? {
            Err(StoreError::AlreadyExists { .. } | StoreError::Precondition { .. }) => Ok(()),
            Err(error) => Err(store_error(error, &url)),
            Ok(()) => Err(Error::unsupported("the store replaces an object although the request forbids it")
                .at(url)
                .advice("let only one job at a time write to a Delta table there")),
        };
        self.note("put_if_absent", tried);
        Ok(())
    }

    fn delete(&mut self, probe: &Path, is_written: bool) -> Result<()> {
        if !is_written {
            self.skip("delete", "nothing could be written");
            return Ok(());
        }
        let removed = outcome(self.store.delete(probe))?;
        self.is_removed = removed.is_ok();
        let removed = removed.map_err(|error| match error.advice_text() {
            Some(_) => error,
            None => error.advice(format!("remove {} by hand", self.store.url(probe))),
        });
        self.note("delete", removed);
        Ok(())
    }

    /// Puts an object of this many bytes; only the cancellation of the job is an outer error.
    fn put(&self, path: &Path, bytes: usize, mode: PutMode) -> Result<object_store::Result<()>> {
        let (store, path) = (Arc::clone(&self.store.store), path.clone());
        // No store packs it.
        let mut state = 1_u64;
        let mut noise = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 56) as u8
        };
        let payload = Bytes::from((0..bytes).map(|_| noise()).collect::<Vec<u8>>());
        self.store.wait(async move {
            let options = PutOptions { mode, ..PutOptions::default() };
            Ok(store.put_opts(&path, payload.into(), options).await.map(drop))
        })
    }

    fn note(&mut self, right: &'static str, tried: Result<()>) {
        let outcome = match tried.as_ref().map_err(Error::kind) {
            Ok(()) => RightOutcome::Allowed,
            Err(ErrorKind::Unsupported) => RightOutcome::Unsupported,
            Err(ErrorKind::Invalid) => RightOutcome::Denied,
            Err(_) => RightOutcome::Failed,
        };
        let error = tried.err();
        let message = error.as_ref().map(|error| error.message().to_owned());
        self.check.rights.push(RightCheck { right, outcome, message, error });
    }

    fn skip(&mut self, right: &'static str, reason: &str) {
        let message = Some(reason.to_owned());
        self.check.rights.push(RightCheck { right, outcome: RightOutcome::NotTried, message, error: None });
    }
}

/// The outcome of a request; the cancellation of the job is an outer error.
fn outcome<T>(tried: Result<T>) -> Result<Result<T>> {
    match tried {
        Err(error) if error.kind() == ErrorKind::Cancelled => Err(error),
        tried => Ok(tried),
    }
}

impl LocationCheck {
    fn add_advice(&mut self, should_put_if_absent: bool) {
        let mut advice = Vec::new();
        if let Some(seconds) = self.clock_skew_seconds.filter(|seconds| seconds.abs() >= WORTH_TELLING_SECONDS) {
            let (size, side) = (seconds.abs(), if seconds > 0 { "ahead of" } else { "behind" });
            let refused = if size >= MOST_SKEW_SECONDS { ", which makes the store reject requests" } else { "" };
            advice.push(format!("set this machine's clock: it is {size} s {side} the server's{refused}"));
        }
        let is_wanted = |right: &&RightCheck| {
            right.outcome != RightOutcome::Unsupported || right.right == "put_if_absent" && should_put_if_absent
        };
        let of_errors = self.rights.iter().filter(is_wanted).filter_map(|right| right.error.as_ref()?.advice_text());
        advice.extend(of_errors.map(str::to_owned));
        if let (Some(region), Some(RegionSource::Amazon)) = (&self.region, self.region_source) {
            advice.push(format!("set AWS_REGION={region}: otherwise, each process has to look it up"));
        }
        for text in advice {
            if !self.advice.contains(&text) {
                self.advice.push(text);
            }
        }
    }
}

#[cfg(test)]
mod tests;
