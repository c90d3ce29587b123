//! Repairs, each proven by sound files, or requested by the user by name.

use bytes::Bytes;
use lakerace_io::object_store::path::Path;
use lakerace_io::{IfExists, Output, Result};

use super::checkpoint;
use super::lost_entry::LostEntry;
use crate::table::Table;

/// A repair.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum TableRepair {
    /// Removes a file that only saves reading.
    Remove(Path),
    /// Writes the checkpoint of a version again.
    WriteCheckpoint(u64),
    /// Writes an entry by the bytes of a copy.
    RestoreEntry {
        /// The entry.
        entry: Path,
        /// The copy's name.
        copy: String,
        /// The bytes of the copy.
        bytes: Bytes,
        /// The reason for which these are the entry's.
        proof: String,
    },
    /// Gives up the commit of an empty last entry.
    GiveUpEntry(LostEntry),
}

impl TableRepair {
    /// Repairs the damage; returns a description.
    pub fn apply(self, table: &Table) -> Result<String> {
        match self {
            Self::Remove(path) => {
                table.store().delete(&path)?;
                let is_checksum = path.extension() == Some("crc");
                let reason =
                    if is_checksum { "readers take the entry without it" } else { "readers list the log instead" };
                Ok(format!("removed: {reason}"))
            }
            Self::WriteCheckpoint(version) => {
                checkpoint::write_again(table, version)?;
                Ok("rewritten from the entries of the log".to_owned())
            }
            Self::RestoreEntry { entry, copy, bytes, proof } => {
                let mut output = Output::create(table.store(), &entry, IfExists::Replace)?;
                output.write(bytes)?;
                output.finish()?;
                Ok(format!("restored from {copy}: {proof}"))
            }
            Self::GiveUpEntry(entry) => entry.give_up(table),
        }
    }
}
