//! Options of the log.

use std::path::PathBuf;

use clap::{ArgAction, Args, ValueEnum};

/// Options of the log, which every command takes.
#[derive(Debug, Clone, Args)]
pub(crate) struct LogArgs {
    /// Log to stderr: start and end, warnings, plans, retries and commits; with -vv each request, too. Default: what
    /// LAKERACE_LOG says, such as info or lakerace_io=debug.
    #[arg(short, long, global = true, action = ArgAction::Count)]
    pub(crate) verbose: u8,
    /// Append the log to a file, at the level of -v or LAKERACE_LOG, else info.
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) log_file: Option<PathBuf>,
    /// The format of the log: lines of text (the default), or one JSON object a line. It needs a log: -v, --log-file or
    /// LAKERACE_LOG.
    #[arg(long, global = true, value_enum)]
    pub(crate) log_format: Option<LogFormat>,
}

/// The format of a line of the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogFormat {
    /// Time, level, process, target, message, and fields as `name=value`.
    Text,
    /// One object.
    Json,
}
