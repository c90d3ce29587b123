//! The `lakerace` command. The cargo binary and the script of the Python wheel call [`run`].

pub mod allocator;
mod args;
mod bench;
mod check;
mod config;
mod copy;
mod defaults;
mod demo;
mod diff;
mod failure;
mod files;
mod human;
mod interrupt;
mod limits;
mod log;
mod maintain;
mod orders;
mod places;
mod progress;
mod proxy;
mod refresh;
mod rows;
mod scan;
mod schema;
mod session;
mod shell;
mod shown;
mod sql;
mod stderr;
mod stdout;
mod sync;
mod table;
mod terminal;
mod tpch;
mod upsert;
mod value;
mod verify;

use std::ffi::OsString;
use std::panic::{AssertUnwindSafe, catch_unwind};

use clap::error::{ContextKind, ContextValue, ErrorKind as ClapErrorKind};
use lakerace::{Error, ErrorKind, Result};
use lakerace_io::printable;

use args::{Cli, Command};
use defaults::ParseFailure;
use session::Session;

pub use sql::{SqlAnswer, SqlEngine, SqlQuery};

/// Services of the process that runs the command.
#[derive(Default)]
pub struct Host<'a> {
    /// Runs `bench` with the arguments after it and returns the exit code. The wheel provides it, the bare binary does
    /// not.
    pub bench: Option<&'a Bench<'a>>,
    /// Answers `sql`. The wheel provides it, the bare binary does not.
    pub sql: Option<&'a dyn SqlEngine>,
}

/// Takes the arguments after `bench` and returns the exit code.
pub type Bench<'a> = dyn Fn(&[OsString]) -> u8 + 'a;

/// Runs the command with `args` (the first is the program's name) and returns the process's exit code: data goes to
/// stdout, everything else to stderr.
pub fn run(args: impl IntoIterator<Item = OsString>, host: &Host<'_>) -> u8 {
    let args: Vec<OsString> = args.into_iter().collect();
    // Before parsing: a panic inside is answered in JSON, too, where JSON was asked for.
    let wants_json = args.iter().any(|arg| arg == "--json");
    failure::quiet_panics();
    limits::prepare();
    match catch_unwind(AssertUnwindSafe(|| parse_and_run(&args, host, wants_json))) {
        Ok(code) => code,
        Err(_) => failure::report(&failure::panicked(), wants_json),
    }
}

fn parse_and_run(args: &[OsString], host: &Host<'_>, wants_json: bool) -> u8 {
    if let Some(rest) = bench::arguments(args) {
        return bench::run(rest, host).unwrap_or_else(|error| failure::report(&error, wants_json));
    }
    let (cli, defaults) = match defaults::parse(args) {
        Ok(parsed) => parsed,
        Err(ParseFailure::Arguments(error)) => return usage(error, args, wants_json),
        Err(ParseFailure::Configuration(error)) => return failure::report(&error, wants_json),
    };
    let log_file = cli.global.log.log_file.as_deref();
    let checked = log_file.map_or(Ok(()), |file| places::check_log_file(&cli.command, file));
    let log = match checked.and_then(|()| log::start(&cli.global.log, args)) {
        Ok(log) => log,
        Err(error) => return failure::report(&defaults::with_origins(error, &defaults), wants_json),
    };
    let code = match dispatch(cli, host) {
        Ok(code) => code,
        // Whoever read our output has seen enough: `lakerace scan x | head`.
        Err(_) if stdout::is_closed() => 0,
        Err(error) => {
            let error = defaults::with_origins(error, &defaults);
            log::error(&error);
            failure::report(&error, wants_json)
        }
    };
    log.end(code);
    code
}

fn dispatch(cli: Cli, host: &Host<'_>) -> Result<u8> {
    limits::check(&cli.command)?;
    places::check(&cli.command)?;
    match cli.command {
        Command::Copy(args) => copy::run(
            &args,
            &Session::start_copy(cli.global, &args.input.store).with_durability(args.durability.durability),
        ),
        Command::Scan(args) => {
            scan::run(&args, &Session::start(cli.global, &args.input.store).with_durability(args.rows.durability))
        }
        Command::Diff(args) => {
            return diff::run(
                &args,
                &Session::start(cli.global, &args.input.store).with_durability(args.rows.durability),
            );
        }
        Command::Sql(args) => {
            sql::run(&args, &Session::start(cli.global, &args.store).with_durability(args.rows.durability), host)
        }
        Command::Upsert(args) => upsert::run(
            &args,
            &Session::start_copy(cli.global, &args.input.store).with_durability(args.durability.durability),
        ),
        Command::Delete(args) => {
            upsert::delete(&args, &Session::start(cli.global, &args.store).with_durability(args.durability.durability))
        }
        Command::Update(args) => upsert::update(
            &args,
            &Session::start_copy(cli.global, &args.store).with_durability(args.durability.durability),
        ),
        Command::Alter(args) => {
            maintain::alter(&args, &Session::start(cli.global, &args.store).with_durability(args.durability.durability))
        }
        Command::Compact(args) => maintain::compact(
            &args,
            &Session::start_copy(cli.global, &args.store).with_durability(args.durability.durability),
        ),
        Command::Vacuum(args) => maintain::vacuum(
            &args,
            &Session::start(cli.global, &args.store).with_durability(args.durability.durability),
        ),
        Command::Verify(args) => return verify::run(&args, &Session::start(cli.global, &args.store)),
        Command::History(args) => maintain::history(&args, &Session::start(cli.global, &args.store)),
        Command::Restore(args) => maintain::restore(
            &args,
            &Session::start(cli.global, &args.store).with_durability(args.durability.durability),
        ),
        Command::Changes(args) => {
            maintain::changes(&args, &Session::start(cli.global, &args.store).with_durability(args.rows.durability))
        }
        Command::Sync(args) => {
            sync::run(&args, &Session::start_copy(cli.global, &args.store).with_durability(args.durability.durability))
        }
        Command::Tpch(args) => {
            tpch::run(&args, &Session::start_copy(cli.global, &args.store).with_durability(args.durability.durability))
        }
        Command::Schema(args) => schema::run(&args, &Session::start(cli.global, &args.store)),
        Command::Check(args) => return check::run(&args, &Session::start(cli.global, &args.store)),
        Command::Demo(args) => demo::run(&args, &Session::start(cli.global, &args.store)),
        Command::Config => config::run(&cli.global),
        Command::Completions(args) => shell::completions(&args, &cli.global),
        Command::Man(args) => shell::man(&args, &cli.global),
        Command::Proxy(args) => proxy::run(&args),
        Command::Files(args) => return files::run(&args, cli.global),
        Command::Bench { rest } => return bench::run(&rest, host),
    }?;
    Ok(0)
}

/// Help and version go to stdout with 0; a wrong command line goes to stderr with 2.
fn usage(mut error: clap::Error, args: &[OsString], wants_json: bool) -> u8 {
    let is_asked_for = matches!(error.kind(), ClapErrorKind::DisplayHelp | ClapErrorKind::DisplayVersion);
    if is_asked_for {
        // A reader that went away has seen enough of the help.
        let _ = error.print();
        return 0;
    }
    hide_secrets(&mut error);
    if wants_json {
        let text = error.render().to_string();
        // The paragraphs after the first one are tips and usage for people.
        let first = text.split("\n\n").next().unwrap_or_default();
        return failure::report(&Error::usage(failure::one_line(first)).advice("see --help"), true);
    }
    // Control characters in an argument must not reach the terminal. In the rendered error they can't be distinguished
    // from those of colours, so that all of them are escaped.
    match args.iter().any(|arg| arg.to_string_lossy().chars().any(char::is_control)) {
        true => stderr::text(&printable(&error.render().to_string())),
        false => drop(error.print()),
    }
    ErrorKind::Usage.exit_code()
}

/// The value of a storage option may be a secret, wherever its author put it.
fn hide_secrets(error: &mut clap::Error) {
    let argument = error.get(ContextKind::InvalidArg).map(ToString::to_string).unwrap_or_default();
    if argument.starts_with("--storage-option") {
        error.insert(ContextKind::InvalidValue, ContextValue::String("***".to_owned()));
    }
}

#[cfg(test)]
mod tests;
