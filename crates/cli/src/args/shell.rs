//! Arguments of the commands that shells and manuals need.

use std::path::PathBuf;

use clap::Args;
use clap_complete::Shell;

/// Arguments of `completions`.
#[derive(Debug, Args)]
pub(crate) struct CompletionsArgs {
    /// The shell that completes.
    #[arg(value_name = "SHELL")]
    pub(crate) shell: Shell,
}

/// Arguments of `man`.
#[derive(Debug, Args)]
pub(crate) struct ManArgs {
    /// The folder that gets lakerace.1 and a page of each command. Pages that are there are replaced.
    #[arg(value_name = "FOLDER")]
    pub(crate) folder: PathBuf,
}
