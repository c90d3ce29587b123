//! A job that was checked and not run.

use std::fmt;

use lakerace_format::FilePlan;
use lakerace_io::Pipe;
use serde::Serialize;

use crate::scan::Scan;

/// The changes that a job would make, as far as they are known before it writes.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct DryRun {
    /// The action, in words: `would append to delta:lake/orders`.
    pub would: String,
    /// The version of the Delta table that it would start from; `None` where there is none.
    pub from_version: Option<u64>,
    /// Rows that it would read, or change; `None` where only the data tells.
    pub rows: Option<u64>,
    /// Files that it would read; `None` where the source has none, and for a pipe.
    pub files: Option<u64>,
    /// Bytes of them that it would read.
    pub bytes: Option<u64>,
}

impl DryRun {
    /// A job that would do this, with the rows and files of a scan.
    pub(crate) fn of_scan(would: String, from_version: Option<u64>, scan: &Scan) -> Self {
        let plan = scan.plan();
        // The size of a pipe is known at its end alone.
        let is_pipe = |file: &FilePlan| file.size_bytes == 0 && Pipe::is_named(&file.url);
        let has_files = !plan.files.is_empty() && !plan.files.iter().any(is_pipe);
        let bytes = plan.requests.wanted_bytes + plan.requests.read_through_bytes;
        // Text is read whole, and its plan has no ranges.
        let whole = plan.files.iter().map(|file| file.size_bytes).sum();
        Self {
            would,
            from_version,
            rows: scan.known_rows(),
            files: has_files.then_some(plan.files.len() as u64),
            bytes: has_files.then_some(if bytes == 0 { whole } else { bytes }),
        }
    }

    /// A job that would do this, and of which nothing else is known.
    pub(crate) fn new(would: String, from_version: Option<u64>) -> Self {
        Self { would, from_version, ..Self::default() }
    }
}

impl fmt::Display for DryRun {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.would)?;
        if let Some(version) = self.from_version {
            write!(f, "; starts from version {version}")?;
        }
        let counts = [(self.rows, "row"), (self.files, "file"), (self.bytes, "byte")];
        let counts: Vec<String> =
            counts.into_iter().filter_map(|(count, noun)| count.map(|count| plural(count, noun))).collect();
        if counts.is_empty() { Ok(()) } else { write!(f, "; {}", counts.join(", ")) }
    }
}

/// A number with its noun.
pub(crate) fn plural(count: u64, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests;
