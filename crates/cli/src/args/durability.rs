//! Durability of written files.

use clap::Args;
use lakerace::DurabilityLevel;

/// The durability of commands that write.
#[derive(Debug, Args)]
pub(crate) struct DurabilityArgs {
    /// Durability of files of this machine when the command has ended: they survive a loss of power (full: files and folders are synced),
    /// or the end of the process (normal: the system writes them in its own time).
    #[arg(long, value_name = "WHAT", default_value_t = DurabilityLevel::default())]
    pub(crate) durability: DurabilityLevel,
}
