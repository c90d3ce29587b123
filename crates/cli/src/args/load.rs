//! Options of loading databases.

use std::path::PathBuf;

use clap::Args;

use crate::value::{self, CommaList};

/// How rows go to databases, and to Delta tables in batches.
#[derive(Debug, Args)]
#[command(next_help_heading = "Loading databases")]
pub(crate) struct LoadArgs {
    /// Databases: the columns of the primary key, in order; by them rows are replaced and deleted.
    #[arg(long, value_name = "A,B")]
    pub(crate) key: Option<CommaList>,
    /// Databases and Delta tables: continue after the rows that were acknowledged to an earlier run of the same copy.
    #[arg(long)]
    pub(crate) resume: bool,
    /// Databases: a file of JSON lines that gets each rejected row with its key and the reason; without it, such rows are an error.
    #[arg(long, value_name = "FILE")]
    pub(crate) dead_letter: Option<PathBuf>,
    /// Write at most N rows a second.
    #[arg(long, value_name = "N", value_parser = value::count)]
    pub(crate) max_rate: Option<u64>,
    /// Databases: let values lose what the target's type can't hold, such as microseconds.
    #[arg(long)]
    pub(crate) allow_narrowing: bool,
    /// Read from the highest value of this column on that the target has seen, and keep the new one with the target. Needs --mode upsert.
    #[arg(long, value_name = "COLUMN")]
    pub(crate) since: Option<String>,
    /// How far below the highest value rows may still come: a number, or a time such as 10m for dates and timestamps.
    #[arg(long, value_name = "N|TIME", requires = "since")]
    pub(crate) overlap: Option<String>,
    /// Read the target back, and fail unless it has the checksum of what was sent. In Parquet, ORC and Delta, filters must find
    /// extremes, zeros and nulls of the columns, too.
    #[arg(long)]
    pub(crate) verify: bool,
}

impl LoadArgs {
    /// Returns true if any of these options is given, so that the report covers them.
    pub(crate) fn is_given(&self) -> bool {
        self.key.is_some() || self.resume || self.dead_letter.is_some() || self.max_rate.is_some() || self.verify
    }
}
