//! The outcome of a commit that failed.

/// Says whether an entry that could not be written is in the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EntryOutcome {
    /// It is not.
    Absent,
    /// The store did not say.
    Unknown,
}
