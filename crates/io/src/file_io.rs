//! Ways to write files of this machine, and the way that is used if the kernel does not support the requested one.

use std::fmt;
use std::str::FromStr;
use std::sync::{Mutex, MutexGuard};

use lakerace_exec::lock;
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};

/// The way to write files of this machine. The written bytes are the same.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FileIo {
    /// Reads like [`Self::Sync`]; large files whose bytes come from separate threads (Parquet) are written past the
    /// page cache while that costs more processor time than the disk takes, as on virtual machines whose host takes
    /// memory back.
    #[default]
    Auto,
    /// By blocking writes into the kernel's page cache.
    Sync,
    /// By io_uring, with several writes under way, into the kernel's page cache; like [`Self::Sync`] if the file system
    /// has no writes that don't block.
    Uring,
    /// By io_uring past the page cache (`O_DIRECT`): for files that are larger than memory, or not read again soon.
    UringDirect,
}

impl FileIo {
    const ALL: [Self; 4] = [Self::Auto, Self::Sync, Self::Uring, Self::UringDirect];

    /// The name in options.
    pub fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Sync => "sync",
            Self::Uring => "uring",
            Self::UringDirect => "uring-direct",
        }
    }
}

impl fmt::Display for FileIo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for FileIo {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let found = Self::ALL.into_iter().find(|io| io.name() == text);
        found.ok_or_else(|| Error::usage(format!("{text:?} is not one of auto, sync, uring and uring-direct")))
    }
}

/// A job's observations so far.
#[derive(Debug, Default)]
pub(crate) struct FileIoSeen(Mutex<ObservedIo>);

#[derive(Debug, Default)]
pub(crate) struct ObservedIo {
    /// The way that is used: the requested one, or its replacement.
    pub(crate) effective: Option<FileIo>,
    /// The warnings for the user.
    pub(crate) warnings: Vec<String>,
    /// The number of warnings that `Job::take_warnings` has returned.
    pub(crate) reported: usize,
}

impl FileIoSeen {
    /// Locks the observations.
    pub(crate) fn lock(&self) -> MutexGuard<'_, ObservedIo> {
        lock(&self.0)
    }
}

/// Why files are written by blocking writes after all.
pub(crate) fn refused(error: &std::io::Error) -> String {
    format!(
        "io_uring is not available here ({error}), so files are written without it (see the sysctl \
         kernel.io_uring_disabled, and the system calls that a container allows)"
    )
}
