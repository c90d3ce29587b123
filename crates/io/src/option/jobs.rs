//! Jobs that a text advises to run.

use super::OptionValue;

/// A job as all doors know it.
#[derive(Debug, Clone, Copy)]
pub struct JobDefinition {
    /// The command's name.
    pub name: &'static str,
    /// The text after the name in the command before options.
    pub arguments: &'static str,
    /// The call in Python, without its parentheses.
    pub python: &'static str,
}

/// Changes the columns, properties and constraints of a table.
pub static ALTER: JobDefinition = JobDefinition { name: "alter", arguments: "TABLE", python: "Table.alter" };
/// Merges small files of a table.
pub static COMPACT: JobDefinition = JobDefinition { name: "compact", arguments: "TABLE", python: "Table.compact" };
/// Copies a table to a new one.
pub static COPY: JobDefinition = JobDefinition { name: "copy", arguments: "TABLE delta:NEW", python: "copy" };
/// Shows the versions of a table.
pub static HISTORY: JobDefinition = JobDefinition { name: "history", arguments: "TABLE", python: "Table.history" };
/// Computes a query.
pub static SQL: JobDefinition = JobDefinition { name: "sql", arguments: "QUERY", python: "sql" };
/// Generates the tables of TPC-H.
pub static TPCH: JobDefinition = JobDefinition { name: "tpch", arguments: "", python: "tpch" };
/// Inserts rows into a table, or replaces rows with the same key.
pub static UPSERT: JobDefinition = JobDefinition { name: "upsert", arguments: "TABLE SOURCE", python: "Table.upsert" };
/// Checks a table.
pub static VERIFY_TABLE: JobDefinition = JobDefinition { name: "verify", arguments: "TABLE", python: "Table.verify" };

/// All jobs that texts name.
pub static ALL_JOBS: &[&JobDefinition] = &[&ALTER, &COMPACT, &COPY, &HISTORY, &SQL, &TPCH, &UPSERT, &VERIFY_TABLE];

impl JobDefinition {
    /// The job with options: `ALTER.with([UNSET.to("delta.appendOnly")])`.
    pub fn with(&'static self, options: impl IntoIterator<Item = OptionValue>) -> JobCall {
        JobCall { job: self, place: None, options: options.into_iter().collect() }
    }

    /// The job on the table at a place: `VERIFY_TABLE.on("lake/orders").with([REPAIR.given()])`.
    pub fn on(&'static self, place: impl Into<String>) -> JobCall {
        JobCall { job: self, place: Some(place.into()), options: Vec::new() }
    }

    pub(super) fn find(name: &str) -> Option<&'static Self> {
        ALL_JOBS.iter().copied().find(|known| known.name == name)
    }
}

/// A job, and the place and the options for it.
#[derive(Debug, Clone)]
pub struct JobCall {
    pub(super) job: &'static JobDefinition,
    pub(super) place: Option<String>,
    pub(super) options: Vec<OptionValue>,
}

impl JobCall {
    /// The job with these options.
    #[must_use]
    pub fn with(self, options: impl IntoIterator<Item = OptionValue>) -> Self {
        Self { options: options.into_iter().collect(), ..self }
    }
}
