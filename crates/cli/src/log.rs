//! The log of a command: events of all crates as lines on stderr or in a file.

mod arguments;
mod directives;
mod file;
mod line;
mod subscriber;

use std::ffi::OsString;
use std::time::Instant;

use lakerace::{Error, ErrorKind, Report, Result};
use lakerace_io::option::Door;
use lakerace_io::printable;

use self::subscriber::{LogSink, LogTarget};
use crate::args::{LogArgs, LogFormat};
use crate::stderr;

/// The target of the events of the command itself.
const COMMAND: &str = "lakerace_cli::command";

/// The log of a running command: it ends when this is dropped.
pub(crate) struct CommandLog {
    started: Instant,
    exit_code: u8,
    /// This command has set the log. Another one of the process may have set it otherwise.
    has_sink: bool,
}

/// Starts the log where an option or the variable asks for one, before the command does anything.
pub(crate) fn start(args: &LogArgs, command_line: &[OsString]) -> Result<CommandLog> {
    let from_variable = directives::from_variable()?;
    let levels = match args.verbose {
        0 => from_variable.or_else(|| args.log_file.is_some().then(|| directives::from_verbosity(1))),
        times => Some(directives::from_verbosity(times)),
    };
    let has_sink = levels.is_some();
    if args.log_format.is_some() && !has_sink {
        return Err(Error::usage("--log-format: nothing is logged")
            .advice("add -v or --log-file FILE, or set LAKERACE_LOG to a level such as info"));
    }
    if let Some(levels) = levels {
        if directives::are_off(&levels)
            && let Some(path) = &args.log_file
        {
            let text = format!("warning: LAKERACE_LOG switches the log off: {} is not written", path.display());
            stderr::line(&printable(&text));
            return Ok(CommandLog { started: Instant::now(), exit_code: 0, has_sink: false });
        }
        let mut targets = Vec::new();
        if args.verbose > 0 || args.log_file.is_none() {
            targets.push(LogTarget::Stderr);
        }
        if let Some(path) = &args.log_file {
            targets.push(LogTarget::File(file::opened(path)?, path.clone()));
        }
        subscriber::set(Some(LogSink::new(levels, args.log_format.unwrap_or(LogFormat::Text), targets)));
        let (program_version, arguments) = (env!("CARGO_PKG_VERSION"), arguments::shown(command_line));
        tracing::info!(target: COMMAND, program_version, arguments, "start");
    }
    // The code of a panic, which ends the log without [`CommandLog::end`].
    Ok(CommandLog { started: Instant::now(), exit_code: ErrorKind::Internal.exit_code(), has_sink })
}

/// Logs the error that ends the command.
pub(crate) fn error(error: &Error) {
    let kind = error.kind().name();
    tracing::error!(target: COMMAND, kind, "{}", error.text(Door::CommandLine));
}

/// Logs the cost of the command.
pub(crate) fn report(report: &Report) {
    let requests = &report.requests;
    tracing::info!(
        target: COMMAND,
        rows = report.rows,
        get = requests.get,
        put = requests.put,
        list = requests.list,
        head = requests.head,
        delete = requests.delete,
        bytes_read = report.bytes_read,
        bytes_written = report.bytes_written,
        "report"
    );
}

impl CommandLog {
    /// Ends the log with the command's exit code.
    pub(crate) fn end(mut self, exit_code: u8) {
        self.exit_code = exit_code;
    }
}

impl Drop for CommandLog {
    fn drop(&mut self) {
        if !self.has_sink {
            return;
        }
        let (exit_code, ms) = (self.exit_code, self.started.elapsed().as_millis() as u64);
        tracing::info!(target: COMMAND, exit_code, ms, "end");
        subscriber::set(None);
    }
}
