//! What to do about a folder that exists.

/// What to do about a folder that exists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FolderMode {
    /// Fail with `Conflict` where it holds anything.
    Error,
    /// Replace its files when the new ones are complete.
    Overwrite,
    /// Add files to it.
    Append,
}
