//! What a target keeps for jobs that follow a source: how far they have come.

use lakerace_io::{Job, Result};

use crate::{System, elasticsearch, mongodb, sqlite};

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

/// What the collection, index or table that `location` names keeps. It need not exist.
pub fn open_state(system: System, location: &str, job: &Job) -> Result<Box<dyn TargetState>> {
    match system {
        System::MongoDb => mongodb::open_state(location, job),
        System::Elasticsearch => elasticsearch::open_state(location, job),
        System::Sqlite => sqlite::open_state(location, job),
    }
}
