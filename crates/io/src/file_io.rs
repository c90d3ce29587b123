//! How files of this machine are written, and what became of that where the kernel did not go along.

use std::fmt;
use std::str::FromStr;
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};

use crate::{Error, Job, Result};

/// How files of this machine are written. What is written to them is the same.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FileIo {
    /// Like [`Self::Sync`]; large files whose bytes come from threads of their own (Parquet) leave the page cache while that costs
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

/// What a job has seen of it so far.
#[derive(Debug, Default)]
pub(crate) struct FileIoSeen(Mutex<Seen>);

#[derive(Debug, Default)]
struct Seen {
    effective: Option<FileIo>,
    warnings: Vec<String>,
}

impl FileIoSeen {
    fn lock(&self) -> MutexGuard<'_, Seen> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Job {
    /// How this job's files on this machine are written: as asked for, or what was left of that. `None` until it writes one.
    pub fn file_io(&self) -> Option<FileIo> {
        self.file_io_seen().lock().effective
    }

    /// Bytes of this job that were written past the page cache.
    pub fn bytes_past_cache(&self) -> u64 {
        self.page_cache().bytes_past()
    }

    /// What its user should know although nothing failed: that it goes on another way than was asked for, and why.
    pub fn warnings(&self) -> Vec<String> {
        self.file_io_seen().lock().warnings.clone()
    }

    /// How a new file is to be written. For the first one, `probe` asks the kernel what is left of the wanted way here, and
    /// why.
    pub(crate) fn begin_file(&self, probe: impl FnOnce(FileIo) -> (FileIo, Option<String>)) -> FileIo {
        let mut seen = self.file_io_seen().lock();
        if let Some(effective) = seen.effective {
            return effective;
        }
        let (effective, warning) = match self.options().file_io {
            io @ (FileIo::Auto | FileIo::Sync) => (io, None),
            wanted => probe(wanted),
        };
        seen.effective = Some(effective);
        seen.warnings.extend(warning);
        effective
    }

    /// From here on, files are written this way; the user is told once.
    #[cfg_attr(not(target_os = "linux"), allow(dead_code, reason = "io_uring alone falls back"))]
    pub(crate) fn fall_back(&self, to: FileIo, warning: String) {
        let mut seen = self.file_io_seen().lock();
        if seen.effective != Some(to) {
            seen.effective = Some(to);
            seen.warnings.push(warning);
        }
    }

    /// Tells the user something, once.
    #[cfg_attr(not(target_os = "linux"), allow(dead_code, reason = "io_uring alone falls back"))]
    pub fn warn(&self, warning: &str) {
        let mut seen = self.file_io_seen().lock();
        if seen.warnings.iter().all(|known| known != warning) {
            seen.warnings.push(warning.to_owned());
        }
    }
}

/// Why files are written by blocking writes after all.
pub(crate) fn refused(error: &std::io::Error) -> String {
    format!(
        "io_uring is refused here ({error}): files are written without it (see the sysctl kernel.io_uring_disabled, and \
         the system calls that a container allows)"
    )
}
