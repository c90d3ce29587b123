//! The treatment of a target that exists.

use serde::{Deserialize, Serialize};

use crate::option::Choice;

/// The treatment of a target that exists.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum WriteMode {
    /// Fail with `Conflict`; for a folder, if it contains anything.
    #[default]
    Error,
    /// Replace it when the new one is complete. A Delta table keeps its schema, properties and history. The positions
    /// of incremental unloads are removed with the rows.
    Overwrite,
    /// Add to it (folders, tables, databases).
    Append,
    /// Insert rows, or replace those that have their key (databases).
    Upsert,
    /// Remove the rows that have the keys of these (databases).
    Delete,
}

impl Choice for WriteMode {
    const CHOICES: &'static [(&'static str, Self)] = &[
        ("append", Self::Append),
        ("overwrite", Self::Overwrite),
        ("error", Self::Error),
        ("upsert", Self::Upsert),
        ("delete", Self::Delete),
    ];
}
