//! The arguments of a comparison.

use clap::Args;

use super::durability::OutputDurabilityArgs;
use super::{InputArgs, RowFormat};
use crate::value::{self, CommaList};

#[derive(Debug, Args)]
pub(crate) struct DiffArgs {
    /// The first side: a file, a folder, a glob, a Delta table or a database.
    #[arg(value_name = "A")]
    pub(crate) first: String,
    /// The second side, which is read as the first one is.
    #[arg(value_name = "B")]
    pub(crate) second: String,
    /// The columns that identify a row. Default: the key of A, if it is a Delta table (lakerace.primaryKey).
    #[arg(long, value_name = "A,B")]
    pub(crate) key: Option<CommaList>,
    /// Read this version of B, where --at says that of A.
    #[arg(long, value_name = "VERSION|TIMESTAMP")]
    pub(crate) second_at: Option<String>,
    /// Count the rows and columns that differ, and print no row.
    #[arg(long, conflicts_with_all = ["format", "output", "limit"])]
    pub(crate) summary: bool,
    /// Print N rows that differ at most. All are counted.
    #[arg(long, value_name = "N")]
    pub(crate) limit: Option<u64>,
    /// Memory for hashes, keys and rows; more go to the local disk. Default: 512 MiB.
    #[arg(long, value_name = "SIZE", value_parser = value::positive_bytes)]
    pub(crate) memory_limit: Option<u64>,
    /// Format of the rows. Default: by the ending of FILE (.csv, .jsonl, .arrow), else an aligned table.
    #[arg(long, value_enum)]
    pub(crate) format: Option<RowFormat>,
    /// Write rows to this path or URL instead of stdout; it appears when it is complete.
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<String>,
    #[command(flatten)]
    pub(crate) durability: OutputDurabilityArgs,
    #[command(flatten)]
    pub(crate) input: InputArgs,
}
