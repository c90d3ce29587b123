//! Options of loading databases.

use std::path::PathBuf;

use clap::Args;

use crate::value::{self, CommaList};

/// Options of loads into databases, and into Delta tables in batches.
#[derive(Debug, Args)]
#[command(next_help_heading = "Loading databases")]
pub(crate) struct LoadArgs {
    /// The key columns, in order: for databases, and with --since for Delta tables, whose default is the property
    /// lakerace.primaryKey. Rows with the same key are replaced or deleted.
    #[arg(long, value_name = "A,B")]
    pub(crate) key: Option<CommaList>,
    /// Databases and Delta tables: resume an interrupted copy after its last acknowledged rows.
    #[arg(long)]
    pub(crate) resume: bool,
    /// Databases: a file of JSON lines that gets each rejected row with its key and the reason; without it, such rows are an error.
    #[arg(long, value_name = "FILE")]
    pub(crate) dead_letter: Option<PathBuf>,
    /// Write at most N rows per second.
    #[arg(long, value_name = "N", value_parser = value::count)]
    pub(crate) max_rate: Option<u64>,
    /// Databases: allow values to lose precision that the target's type lacks, such as microseconds.
    #[arg(long)]
    pub(crate) allow_narrowing: bool,
    /// Read only rows from the watermark of this column on, and store the new watermark with the target. Needs --mode
    /// upsert.
    #[arg(long, value_name = "COLUMN")]
    pub(crate) since: Option<String>,
    /// The distance below the highest value in which rows may still arrive: a number, or a time such as 10m for dates
    /// and timestamps.
    #[arg(long, value_name = "N|TIME", requires = "since")]
    pub(crate) overlap: Option<String>,
    /// Read the target back, and fail unless it has the checksum of the rows that were sent. In Parquet, ORC and Delta,
    /// filters must also find extremes, zeros and nulls of the columns.
    #[arg(long)]
    pub(crate) verify: bool,
}

impl LoadArgs {
    /// Returns true if any of these options is given, so that the report covers them.
    pub(crate) fn is_given(&self) -> bool {
        self.key.is_some() || self.resume || self.dead_letter.is_some() || self.max_rate.is_some() || self.verify
    }
}
