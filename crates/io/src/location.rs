//! Names of files and folders, and the store behind them.

use std::collections::BTreeMap;

use crate::{Job, JobStore, Object, Result};

/// Settings of a store by name: the `AWS_*` variables of the environment, overridden by `--storage-option k=v`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StorageOptions {
    /// Lower-case keys as `object_store` names them (`aws_access_key_id`, `aws_endpoint_url`, `aws_allow_http`, …).
    pub options: BTreeMap<String, String>,
}

/// A local path or URL of bytes: `/a/b.parquet`, `./x/`, `file:///a`, `s3://bucket/key`, `memory://name/key`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Location {
    text: String,
}

impl Location {
    /// Parses a path or URL. Unknown schemes are an error of kind `Usage` that lists the known ones.
    pub fn parse(text: &str) -> Result<Self> {
        Ok(Self { text: text.to_owned() })
    }

    /// As the user wrote it, without credentials.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The store behind this location, metered by `job`, and the path in it (without trailing slash).
    pub fn open(&self, _options: &StorageOptions, _job: &Job) -> Result<(JobStore, object_store::path::Path)> {
        unimplemented!()
    }

    /// The location as one object of unknown size. No request is sent.
    pub fn object(&self, options: &StorageOptions, job: &Job) -> Result<Object> {
        let (store, path) = self.open(options, job)?;
        Ok(Object { store, path, size_bytes: None, e_tag: None })
    }
}
