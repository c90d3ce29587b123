//! What a target keeps for jobs that follow a source: how far they have come.

use lakerace_io::Result;

/// Short texts by name, kept beside a collection, an index or a table.
pub trait TargetState: Send {
    /// The text of a name; `None` where there is none.
    ///
    /// # Errors
    /// `Unavailable` where the system can't be reached, `Corrupt` where what is kept can't be read.
    fn read(&self, name: &str) -> Result<Option<String>>;

    /// Keeps a text: it is there, durable, when this returns.
    ///
    /// # Errors
    /// Like [`Self::read`].
    fn write(&self, name: &str, text: &str) -> Result<()>;
}
