//! Damage, with its place and the next step.

use lakerace_io::Error;
use lakerace_io::option::{REPAIR, VERIFY_TABLE};
use serde::{Serialize, Serializer};

use super::fix::TableRepair;
use crate::snapshot::files::StatisticsDefect;
use crate::table::Table;

/// The part of a table that is damaged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Subject {
    /// An entry of the log.
    Entry,
    /// A checkpoint, a part of one or a sidecar.
    Checkpoint,
    /// The file `_last_checkpoint`.
    LastCheckpoint,
    /// A checksum file of a version (`.crc`).
    Checksum,
    /// A data file.
    File,
    /// A deletion vector.
    Vector,
    /// The log's statistics of the values in a file.
    Statistics,
    /// A key in several rows.
    Key,
}

impl Subject {
    /// Its name in JSON and in Python.
    pub fn name(self) -> &'static str {
        match self {
            Self::Entry => "entry",
            Self::Checkpoint => "checkpoint",
            Self::LastCheckpoint => "last_checkpoint",
            Self::Checksum => "checksum",
            Self::File => "file",
            Self::Vector => "vector",
            Self::Statistics => "statistics",
            Self::Key => "key",
        }
    }
}

impl Serialize for Subject {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

/// A damage.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// The damaged part.
    pub subject: Subject,
    /// The file, and the place in it.
    pub place: String,
    /// The damage.
    pub problem: String,
    /// The next step.
    pub advice: String,
    /// The repair that was done; `None`: the damage is still there.
    pub repaired: Option<String>,
    /// The repair that can be done.
    #[serde(skip)]
    pub(crate) fix: Option<TableRepair>,
}

/// The advice where a repair fixes the damage.
fn repair_advice(table: &Table) -> String {
    format!("{} mends it", VERIFY_TABLE.on(table.location()).with([REPAIR.given()]))
}

impl Finding {
    pub(super) fn new(subject: Subject, place: String, problem: impl Into<String>, advice: impl Into<String>) -> Self {
        Self { subject, place, problem: problem.into(), advice: advice.into(), repaired: None, fix: None }
    }

    /// Makes a finding that can be repaired.
    pub(super) fn fixable(
        table: &Table,
        subject: Subject,
        place: String,
        problem: impl Into<String>,
        fix: TableRepair,
    ) -> Self {
        Self { fix: Some(fix), ..Self::new(subject, place, problem, repair_advice(table)) }
    }

    /// The damage that an error reports; `place` is used for an error without a location.
    pub(super) fn of_error(subject: Subject, place: String, error: &Error) -> Self {
        let advice = error.advice_text().unwrap_or("restore the file from a backup");
        let place = error.location().map_or(place, str::to_owned);
        Self::new(subject, place, error.message(), advice)
    }

    /// Statistics of a version that are not valid.
    pub(super) fn of_statistics(place: &str, version: u64, defect: &StatisticsDefect) -> Self {
        let StatisticsDefect { path, reason } = defect;
        let problem = format!("the statistics that version {version} has of {path:?} {reason}");
        let advice = "restore it from a backup, or let compact rewrite the file: filters can't prune it";
        Self::new(Subject::Statistics, place.to_owned(), problem, advice)
    }

    /// Lets it be repaired.
    pub(super) fn mend_by(&mut self, table: &Table, fix: TableRepair) {
        self.advice = repair_advice(table);
        self.fix = Some(fix);
    }
}
