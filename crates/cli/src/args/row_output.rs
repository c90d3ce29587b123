//! The destination of rows.

use clap::Args;
use lakerace::DurabilityLevel;

use super::RowFormat;

/// The target of rows of commands that print them.
#[derive(Debug, Args)]
pub(crate) struct RowOutputArgs {
    /// Format of the rows. Default: by the ending of FILE (.csv, .jsonl, .arrow), else an aligned table.
    #[arg(long, value_enum)]
    pub(crate) format: Option<RowFormat>,
    /// Write rows to this path or URL instead of stdout. The file becomes visible when it is complete.
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<String>,
    /// Durability of FILE after the command: full survives a power loss (it is synced); normal survives the end of the
    /// process.
    #[arg(long, value_name = "LEVEL", default_value_t = DurabilityLevel::default(), requires = "output")]
    pub(crate) durability: DurabilityLevel,
}
