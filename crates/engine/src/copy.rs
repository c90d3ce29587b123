//! Copying any source to any sink.

use lakerace_format::{Batches, Format, WriteOptions, Written};
use lakerace_io::{Job, Result};
use serde::{Deserialize, Serialize};

use crate::ReadOptions;

/// What to do about a target that exists.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CopyMode {
    /// Fail with `Conflict`.
    #[default]
    Error,
    /// Replace it, when the new one is complete.
    Overwrite,
    /// Add to it (folders).
    Append,
}

/// How to copy.
#[derive(Debug, Clone, Default)]
pub struct CopyOptions {
    /// What to read.
    pub read: ReadOptions,
    /// How to write.
    pub write: WriteOptions,
    /// The target's format, where its name does not say it.
    pub format: Option<Format>,
    /// A target that exists.
    pub mode: CopyMode,
}

/// Copies `source` to `target`: all of it appears there, or nothing.
pub fn copy(_source: &str, _target: &str, _options: &CopyOptions, _job: &Job) -> Result<Written> {
    unimplemented!()
}

/// Like [`copy`], from batches that the caller makes (a data frame, another library's stream).
pub fn write(_batches: Batches, _target: &str, _options: &CopyOptions, _job: &Job) -> Result<Written> {
    unimplemented!()
}
