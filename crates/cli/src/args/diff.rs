//! The arguments of a comparison.

use clap::Args;

use super::{InputArgs, RowOutputArgs};
use crate::value::{self, CommaList};

#[derive(Debug, Args)]
pub(crate) struct DiffArgs {
    /// The first side: a file, a folder, a glob, a Delta table or a database.
    #[arg(value_name = "A")]
    pub(crate) first: String,
    /// The second side; options for reading apply to both.
    #[arg(value_name = "B")]
    pub(crate) second: String,
    /// The columns that identify a row. Default: the key of A, if it is a Delta table (lakerace.primaryKey).
    #[arg(long, value_name = "A,B")]
    pub(crate) key: Option<CommaList>,
    /// Read this version of B; --at is the version of A.
    #[arg(long, value_name = "VERSION|TIMESTAMP")]
    pub(crate) second_at: Option<String>,
    /// Count the rows and columns that differ, and print no row.
    #[arg(long, conflicts_with_all = ["format", "output", "durability", "limit"])]
    pub(crate) summary: bool,
    /// Print at most N differences. All are counted.
    #[arg(long, value_name = "N")]
    pub(crate) limit: Option<u64>,
    /// Memory for hashes, keys and rows; the rest is written to temporary files on the local disk. Default: 512 MiB.
    #[arg(long, value_name = "SIZE", value_parser = value::positive_bytes)]
    pub(crate) memory_limit: Option<u64>,
    #[command(flatten)]
    pub(crate) rows: RowOutputArgs,
    #[command(flatten)]
    pub(crate) input: InputArgs,
}
