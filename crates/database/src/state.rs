//! The state that a target keeps for jobs that follow a source: their progress.

use lakerace_io::Result;

/// Short texts by name, kept next to a collection, an index or a table.
pub trait TargetState: Send + Sync {
    /// The text of a name; `None` where there is none.
    ///
    /// # Errors
    /// `Unavailable` where the system can't be reached, `Corrupt` where the stored text can't be read.
    fn read(&self, name: &str) -> Result<Option<String>>;

    /// Replaces the text that was read by another one, which is durable when this returns true. Returns `false` if
    /// another run has written since; then nothing is changed.
    ///
    /// Texts must differ from one another, as a request that is sent again recognises its own text.
    ///
    /// # Errors
    /// Like [`Self::read`].
    fn replace(&self, name: &str, before: Option<&str>, text: &str) -> Result<bool>;

    /// Removes any text of a name.
    ///
    /// # Errors
    /// `Unavailable` where the system can't be reached.
    fn forget(&self, name: &str) -> Result<()>;

    /// A text that distinguishes the collection, index or table from another one of its name; `None` if it doesn't
    /// exist.
    ///
    /// # Errors
    /// Like [`Self::read`].
    fn identity(&self) -> Result<Option<String>>;

    /// Returns true if the collection, index or table is still the one that had this identity.
    ///
    /// # Errors
    /// Like [`Self::read`].
    fn is_same(&self, identity: &str) -> Result<bool> {
        Ok(self.identity()?.as_deref() == Some(identity))
    }
}
