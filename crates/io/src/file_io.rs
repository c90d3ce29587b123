//! How files of this machine are written, and what became of that where the kernel did not go along.

use std::fmt;
use std::str::FromStr;
use std::sync::{Mutex, MutexGuard};

use lakerace_exec::lock;
use serde::{Deserialize, Serialize};

use crate::{Error, Result};

/// How files of this machine are written. What is written to them is the same.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FileIo {
    /// Reads like [`Self::Sync`]; large files whose bytes come from threads of their own (Parquet) leave the page cache while that costs
    /// more of the processors' time than the disk takes, as it does on virtual machines whose host takes memory back.
    #[default]
    Auto,
    /// By blocking writes into the kernel's page cache.
    Sync,
    /// By io_uring, several writes under way, into the kernel's page cache; where the file system has none that don't block,
    /// like [`Self::Sync`].
    Uring,
    /// By io_uring past the page cache (`O_DIRECT`): for files that are larger than memory, or not read again soon.
    UringDirect,
}

impl FileIo {
    const ALL: [Self; 4] = [Self::Auto, Self::Sync, Self::Uring, Self::UringDirect];

    /// As options name it.
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
        found.ok_or_else(|| Error::usage(format!("{text:?} is none of auto, sync, uring and uring-direct")))
    }
}

/// A job's observations so far.
#[derive(Debug, Default)]
pub(crate) struct FileIoSeen(Mutex<ObservedIo>);

#[derive(Debug, Default)]
pub(crate) struct ObservedIo {
    /// How files are written: as asked for, or what was left of that.
    pub(crate) effective: Option<FileIo>,
    /// The warnings for the user.
    pub(crate) warnings: Vec<String>,
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
        "io_uring is refused here ({error}): files are written without it (see the sysctl kernel.io_uring_disabled, and \
         the system calls that a container allows)"
    )
}
