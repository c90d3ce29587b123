//! Arguments of the commands that shells and manuals need.

use std::path::PathBuf;

use clap::Args;
use clap_complete::Shell;

/// Arguments of `completions`.
#[derive(Debug, Args)]
pub(crate) struct CompletionsArgs {
    /// The shell to generate the script for.
    #[arg(value_name = "SHELL")]
    pub(crate) shell: Shell,
}

/// Arguments of `man`.
#[derive(Debug, Args)]
pub(crate) struct ManArgs {
    /// The folder for lakerace.1 and a page for each command. Existing pages are replaced.
    #[arg(value_name = "FOLDER")]
    pub(crate) folder: PathBuf,
}
