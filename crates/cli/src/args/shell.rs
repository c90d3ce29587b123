//! Arguments of the commands that shells and manuals need.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use clap_complete::Shell;

/// Arguments of `completions`.
#[derive(Debug, Args)]
pub(crate) struct CompletionsArgs {
    /// The shell that completes.
    #[arg(value_name = "SHELL")]
    pub(crate) shell: CompletingShell,
}

/// Shells with completions.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum CompletingShell {
    Bash,
    Zsh,
    Fish,
}

impl From<CompletingShell> for Shell {
    fn from(shell: CompletingShell) -> Self {
        match shell {
            CompletingShell::Bash => Self::Bash,
            CompletingShell::Zsh => Self::Zsh,
            CompletingShell::Fish => Self::Fish,
        }
    }
}

/// Arguments of `man`.
#[derive(Debug, Args)]
pub(crate) struct ManArgs {
    /// The folder that gets lakerace.1 and a page of each command. Pages that are there are replaced.
    #[arg(value_name = "FOLDER")]
    pub(crate) folder: PathBuf,
}
