//! Durability of written files.

use clap::Args;
use lakerace::DurabilityLevel;

/// The durability of commands that write.
#[derive(Debug, Args)]
pub(crate) struct DurabilityArgs {
    /// Durability of local files after the command: full survives a power loss (files and folders are synced); normal
    /// survives the end of the process (the system writes them later).
    #[arg(long, value_name = "LEVEL", default_value_t = DurabilityLevel::default())]
    pub(crate) durability: DurabilityLevel,
}
