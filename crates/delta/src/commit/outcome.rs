//! Whether a commit that failed is the table's.

/// Whether an entry that could not be written is in the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EntryOutcome {
    /// It is not.
    Absent,
    /// The store did not say.
    Unknown,
}
