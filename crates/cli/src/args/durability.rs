//! What written files survive.

use clap::Args;
use lakerace::DurabilityLevel;

/// Of commands that write.
#[derive(Debug, Args)]
pub(crate) struct DurabilityArgs {
    /// What files of this machine survive when the command has ended: full (a loss of power: files and folders are synced) or normal
    /// (the end of the process: the system writes them in its own time).
    #[arg(long, value_name = "WHAT", default_value_t = DurabilityLevel::default())]
    pub(crate) durability: DurabilityLevel,
}

/// Of commands that write rows where `--output` is given.
#[derive(Debug, Args)]
pub(crate) struct OutputDurabilityArgs {
    /// What FILE survives when the command has ended: full (a loss of power: it is synced) or normal (the end of the process).
    #[arg(long, value_name = "WHAT", default_value_t = DurabilityLevel::default(), requires = "output")]
    pub(crate) durability: DurabilityLevel,
}
