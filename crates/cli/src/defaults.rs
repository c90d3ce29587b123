//! Defaults of options, from variables of the environment and the configuration file.
//!
//! A default applies where a command takes its option, and is left out where the same option, given in the command line,
//! would be refused for the places of the command.

use std::cmp::Ordering;
use std::ffi::OsString;

use clap::parser::ValueSource;
use clap::{Arg, ArgMatches};
use lakerace::{Error, Result};
use lakerace_io::config::{self, CONFIG_VARIABLE, ConfigFile, WITH_DEFAULTS};
use lakerace_io::nearest::nearest;
use lakerace_io::option::{
    LOG_FILE, LOG_FORMAT, MEMORY_LIMIT, Mention, OptionDefinition, QUIET, THREADS, VERBOSE, mentions,
};

use crate::args::{Cli, Command, command_line, io_help};
use crate::{failure, places};

/// The front of a variable that gives a default, before the option's id in capitals.
const VARIABLE: &str = "LAKERACE_";

/// The variable with the levels of the log.
const LOG_VARIABLE: &str = "LAKERACE_LOG";

/// The default of an option.
#[derive(Debug, Clone)]
pub(crate) struct OptionDefault {
    pub(crate) option: &'static OptionDefinition,
    pub(crate) value: String,
    /// The variable, or the file and its line.
    pub(crate) origin: String,
}

/// A command line that can't be run.
pub(crate) enum ParseFailure {
    /// Help, or a mistake in the arguments.
    Arguments(clap::Error),
    /// A mistake in the configuration.
    Configuration(Error),
}

impl From<clap::Error> for ParseFailure {
    fn from(error: clap::Error) -> Self {
        Self::Arguments(error)
    }
}

impl From<Error> for ParseFailure {
    fn from(error: Error) -> Self {
        Self::Configuration(error)
    }
}

/// Parses arguments, the first of which is the program's name, and adds the defaults that apply, which it returns.
pub(crate) fn parse(args: &[OsString]) -> Result<(Cli, Vec<OptionDefault>), ParseFailure> {
    let (matches, cli) = Cli::parse_with(io_help::for_arguments(command_line(), args), args)?;
    config::use_file(cli.global.config.clone())?;
    // They help where a configuration is wrong.
    if matches!(cli.command, Command::Completions(_) | Command::Man(_) | Command::Bench { .. } | Command::Proxy(_)) {
        return Ok((cli, Vec::new()));
    }
    let active = config::active()?;
    let mut defaults = all(active.as_deref())?;
    let leaf = leaf_of(&matches);
    leave_out_opposites(&mut defaults, leaf);
    defaults.retain(|default| applies(default.option, &cli.command, leaf));
    if defaults.is_empty() {
        return Ok((cli, defaults));
    }
    let tree = command_line();
    check_of_command(&defaults, leaf_command_of(&tree, &matches))?;
    loop {
        let command = with_defaults(tree.clone(), &defaults);
        let (_, cli) = Cli::parse_with(command, args)?;
        let has_log = cli.global.log.verbose > 0
            || cli.global.log.log_file.is_some()
            || std::env::var_os(LOG_VARIABLE).is_some_and(|levels| !levels.is_empty());
        let left_out = match places::unused_option(&cli.command) {
            Some(option) => Some(option),
            None => (!has_log).then_some(&LOG_FORMAT),
        };
        let known = defaults.len();
        defaults.retain(|default| left_out.is_none_or(|option| default.option.id != option.id));
        if defaults.len() == known {
            return Ok((cli, defaults));
        }
    }
}

/// Adds to an error the origins of the defaults whose options it names: they are not in the command line.
pub(crate) fn with_origins(error: Error, defaults: &[OptionDefault]) -> Error {
    let advice = error.advice_text().unwrap_or_default();
    let named: Vec<&str> = [error.message(), advice]
        .into_iter()
        .flat_map(mentions)
        .filter_map(|mention| match mention {
            Mention::Option(option) => Some(option.definition.id),
            Mention::Job(..) => None,
        })
        .collect();
    let origins = defaults.iter().filter(|default| named.contains(&default.option.id)).map(|default| {
        let OptionDefault { option, value, origin } = default;
        format!("the default {value:?} of {option} comes from {origin}")
    });
    let advice = Some(advice.to_owned()).filter(|advice| !advice.is_empty());
    let lines: Vec<String> = advice.into_iter().chain(origins).collect();
    if lines.is_empty() { error } else { error.advice(lines.join("; ")) }
}

/// All defaults. Those of the environment replace those of the file.
///
/// # Errors
/// `Usage`, with the variable or the line of the file, for a value that its option does not take.
pub(crate) fn all(config: Option<&ConfigFile>) -> Result<Vec<OptionDefault>> {
    let mut defaults = Vec::new();
    for option in WITH_DEFAULTS {
        let variable = variable_of(option);
        if let Some(value) = std::env::var_os(&variable).filter(|value| !value.is_empty()) {
            let value =
                value.into_string().map_err(|_| Error::usage(format!("the variable {variable} is not valid UTF-8")))?;
            defaults.push(OptionDefault { option, value: times_given(option, value), origin: variable });
            continue;
        }
        // That variable also says how much is logged.
        if option.id == VERBOSE.id && std::env::var_os(LOG_VARIABLE).is_some() {
            continue;
        }
        let of_file = config.and_then(|config| Some((config, config.default_of(option)?)));
        if let Some((config, entry)) = of_file {
            let (value, origin) = (times_given(option, entry.value.clone()), config.place_of(entry.line));
            defaults.push(OptionDefault { option, value, origin });
        }
    }
    if !defaults.is_empty() {
        let command = command_line();
        defaults.iter().try_for_each(|default| check(default, &arguments_of(default.option, &command)))?;
    }
    Ok(defaults)
}

/// Warnings of variables that look as if they gave a default, and give none.
pub(crate) fn warnings_of_variables() -> Vec<String> {
    let names = std::env::vars_os().filter_map(|(name, _)| name.into_string().ok());
    let mut names: Vec<String> = names.filter(|name| name.starts_with(VARIABLE)).collect();
    names.sort();
    names.iter().filter_map(|name| warning_of_variable(name)).collect()
}

fn warning_of_variable(variable: &str) -> Option<String> {
    let id = variable.strip_prefix(VARIABLE)?.to_ascii_lowercase();
    if [LOG_VARIABLE, CONFIG_VARIABLE].contains(&variable) || WITH_DEFAULTS.iter().any(|option| option.id == id) {
        return None;
    }
    if OptionDefinition::find(&id).is_some() {
        let flag = id.replace('_', "-");
        return Some(format!("{variable} has no effect: variables give no default of --{flag}"));
    }
    let near = nearest(&id, WITH_DEFAULTS.iter().map(|option| option.id))?;
    Some(format!("{variable} has no effect: did you mean {VARIABLE}{}?", near.to_ascii_uppercase()))
}

/// The variable that gives the default of an option.
fn variable_of(option: &OptionDefinition) -> String {
    format!("{VARIABLE}{}", option.id.to_ascii_uppercase())
}

/// The value of an option of the command line, of which some count how often they are given: true is once.
fn times_given(option: &OptionDefinition, value: String) -> String {
    match value.as_str() {
        "true" if option.id == VERBOSE.id => "1".to_owned(),
        "false" if option.id == VERBOSE.id => "0".to_owned(),
        _ => value,
    }
}

/// Refuses a value that none of these arguments takes.
fn check(default: &OptionDefault, arguments: &[&Arg]) -> Result<()> {
    let mut first_error = None;
    for argument in arguments {
        match check_alone(default, argument) {
            Ok(()) => return Ok(()),
            Err(error) => _ = first_error.get_or_insert(error),
        }
    }
    first_error.map_or(Ok(()), Err)
}

/// Refuses a value that an argument would not take in the command line. Its relations to other arguments do not count.
fn check_alone(default: &OptionDefault, argument: &Arg) -> Result<()> {
    let name = argument.get_long().unwrap_or(default.option.id).to_owned();
    let alone = Arg::new(name.clone()).long(name).action(argument.get_action().clone());
    let alone = alone.value_parser(argument.get_value_parser().clone()).default_value(default.value.clone());
    let parsed = clap::Command::new("lakerace").arg(alone).try_get_matches_from(["lakerace"]);
    parsed.map(drop).map_err(|error| {
        let text = error.render().to_string();
        Error::usage(failure::one_line(text.split("\n\n").next().unwrap_or_default())).at(&default.origin)
    })
}

/// The arguments of an option in a command and in all below it. Commands differ in the values that they take.
fn arguments_of<'a>(option: &OptionDefinition, command: &'a clap::Command) -> Vec<&'a Arg> {
    let own = command.get_arguments().filter(|arg| is_of(arg, option));
    own.chain(command.get_subcommands().flat_map(|inner| arguments_of(option, inner))).collect()
}

fn is_of(arg: &Arg, option: &OptionDefinition) -> bool {
    arg.get_long().is_some_and(|long| option.flag == Some(long.replace('-', "_").as_str()))
}

/// Refuses a value that other commands take, and this one does not.
fn check_of_command(defaults: &[OptionDefault], command: &clap::Command) -> Result<()> {
    defaults.iter().try_for_each(|default| {
        let arguments: Vec<&Arg> = command.get_arguments().filter(|arg| is_of(arg, default.option)).collect();
        check(default, &arguments)
    })
}

/// The innermost command that these matches are of.
fn leaf_command_of<'a>(command: &'a clap::Command, matches: &ArgMatches) -> &'a clap::Command {
    let inner = matches.subcommand().and_then(|(name, inner)| Some((command.find_subcommand(name)?, inner)));
    inner.map_or(command, |(command, inner)| leaf_command_of(command, inner))
}

/// The matches of the innermost command.
fn leaf_of(matches: &ArgMatches) -> &ArgMatches {
    matches.subcommand().map_or(matches, |(_, inner)| leaf_of(inner))
}

/// Returns true if an argument is in the command line.
fn is_in_command_line(leaf: &ArgMatches, id: &str) -> bool {
    let is_known = leaf.ids().any(|known| known.as_str() == id);
    is_known && leaf.value_source(id) == Some(ValueSource::CommandLine)
}

/// Leaves out the default of quiet where verbose is set with precedence, and the reverse.
fn leave_out_opposites(defaults: &mut Vec<OptionDefault>, leaf: &ArgMatches) {
    let precedence = |option: &OptionDefinition| {
        if is_in_command_line(leaf, option.flag.unwrap_or(option.id)) {
            return Some(2);
        }
        let is_set = |default: &&OptionDefault| {
            default.option.id == option.id && !matches!(default.value.as_str(), "0" | "false")
        };
        defaults.iter().find(is_set).map(|default| u8::from(default.origin == variable_of(option)))
    };
    let (Some(quiet), Some(verbose)) = (precedence(&QUIET), precedence(&VERBOSE)) else { return };
    let weaker = match quiet.cmp(&verbose) {
        Ordering::Less => &QUIET,
        Ordering::Equal => return,
        Ordering::Greater => &VERBOSE,
    };
    defaults.retain(|default| default.option.id != weaker.id);
}

/// Returns true if a default may apply to a command: its option is not given, and means something there.
fn applies(option: &OptionDefinition, command: &Command, leaf: &ArgMatches) -> bool {
    let is_given = |id: &str| is_in_command_line(leaf, id);
    if is_given(option.flag.unwrap_or(option.id)) {
        return false;
    }
    let is_memory = option.id == MEMORY_LIMIT.id;
    match command {
        // Its places are in the query, so that no option can be compared with them.
        Command::Sql(_) => [&THREADS, &MEMORY_LIMIT, &QUIET, &VERBOSE, &LOG_FILE, &LOG_FORMAT]
            .iter()
            .any(|known| known.id == option.id),
        // Otherwise no rows or keys are kept.
        Command::Scan(_) | Command::Copy(_) => !is_memory || is_given("order_by"),
        Command::Delete(_) => !is_memory || is_given("keys"),
        _ => true,
    }
}

/// The command line with these defaults, in all commands that have the options.
fn with_defaults(command: clap::Command, defaults: &[OptionDefault]) -> clap::Command {
    let command = command.mut_args(|arg| match defaults.iter().find(|default| is_of(&arg, default.option)) {
        Some(default) => arg.default_value(default.value.clone()),
        None => arg,
    });
    command.mut_subcommands(|inner| with_defaults(inner, defaults))
}
