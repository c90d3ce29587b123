//! `--help-io`: the options of requests and local writes, which `--help` leaves out.

use std::ffi::OsString;

use clap::{Arg, ArgAction, Command};

const FLAG: &str = "help-io";
/// The heading of options of stores.
const HEADING: &str = "Stores and requests";
/// Options of that heading that many users need: `--help` has them.
const COMMON: [&str; 3] = ["threads", "allow_foreign_paths", "storage_option"];

/// Moves these options of each command from its `--help` to a `--help-io`. Completions and manual pages keep them.
pub(super) fn with_io_help(command: Command) -> Command {
    let command = command.mut_subcommands(with_io_help);
    if !command.get_arguments().any(is_io) {
        return command;
    }
    let flag = Arg::new(FLAG)
        .long(FLAG)
        .action(ArgAction::HelpLong)
        .help_heading(None::<&str>)
        .help("Print the options of requests and local writes, which are seldom needed");
    command.mut_args(|arg| if is_io(&arg) { hidden(arg, true) } else { arg }).arg(flag)
}

/// The command line with the options of `--help-io` as the only ones of each help, if one of these arguments asks for it.
pub(crate) fn for_arguments(command: Command, args: &[OsString]) -> Command {
    let flag = format!("--{FLAG}");
    let is_asked = args.iter().take_while(|arg| *arg != "--").any(|arg| *arg == *flag);
    // Its own options are those of all commands.
    if is_asked { io_alone(command).mut_args(|arg| hidden(arg, true)) } else { command }
}

fn io_alone(command: Command) -> Command {
    let command = command.mut_subcommands(io_alone);
    if !command.get_arguments().any(is_io) {
        return command;
    }
    command.after_help("").mut_args(|arg| {
        let is_other = !is_io(&arg);
        hidden(arg, is_other)
    })
}

fn is_io(arg: &Arg) -> bool {
    arg.get_help_heading() == Some(HEADING) && !COMMON.contains(&arg.get_id().as_str())
}

fn hidden(arg: Arg, is_hidden: bool) -> Arg {
    arg.hide_short_help(is_hidden).hide_long_help(is_hidden)
}
