#![allow(clippy::unwrap_used)]
use std::collections::{BTreeMap, BTreeSet};

use clap::{Arg, Command, CommandFactory};
use lakerace_io::option::{self, OptionDefinition};

use super::Cli;

/// Commands without options of jobs: the bench hands all on, the proxy is for tests, and the others are for shells and people.
const OTHERS: [&str; 6] = ["bench", "proxy", "completions", "config", "man", "help"];

/// Each command that runs a job, by its name, with its options.
fn commands() -> Vec<(String, Vec<Arg>)> {
    let mut root = Cli::command();
    root.build();
    let mut found = Vec::new();
    collect(&root, "", &mut found);
    found
}

fn collect(command: &Command, prefix: &str, found: &mut Vec<(String, Vec<Arg>)>) {
    for child in command.get_subcommands().filter(|child| !OTHERS.contains(&child.get_name())) {
        let name = format!("{prefix}{}", child.get_name());
        if child.has_subcommands() {
            collect(child, &format!("{name}-"), found);
            continue;
        }
        let is_ours = |arg: &&Arg| arg.get_long().is_some_and(|long| !matches!(long, "help" | "version"));
        found.push((name, child.get_arguments().filter(is_ours).cloned().collect()));
    }
}

fn flag(definition: &OptionDefinition) -> Option<String> {
    definition.flag.map(|name| name.replace('_', "-"))
}

#[test]
fn the_command_has_the_options_that_are_defined() {
    let commands = commands();
    assert_eq!(commands.len(), 30);
    let found = commands.iter().flat_map(|(job, args)| {
        args.iter().map(move |arg| (job.clone(), arg.get_long().unwrap_or_default().to_owned()))
    });
    let defined = option::ALL.iter().flat_map(|definition| {
        let jobs = definition.jobs.split(' ').map(str::to_owned);
        jobs.filter_map(|job| flag(definition).map(|flag| (job, flag)))
    });
    let (found, defined): (BTreeSet<_>, BTreeSet<_>) = (found.collect(), defined.collect());
    assert_eq!(found.difference(&defined).collect::<Vec<_>>(), Vec::<&(String, String)>::new());
    assert_eq!(defined.difference(&found).collect::<Vec<_>>(), Vec::<&(String, String)>::new());
}

#[test]
fn the_command_has_the_defaults_that_are_defined() {
    let commands: BTreeMap<_, _> = commands().into_iter().collect();
    let mut seen = 0;
    for definition in option::ALL {
        let name = flag(definition).unwrap();
        let defaults = definition.jobs.split(' ').map(|job| {
            let arg = commands[job].iter().find(|arg| arg.get_long() == Some(&name)).unwrap();
            assert!(arg.get_help().is_some(), "{job} --{name}");
            let values: Vec<_> = arg.get_default_values().iter().map(|value| value.to_string_lossy()).collect();
            // Clap gives flags a default of its own.
            (arg.get_action().takes_values() && !values.is_empty()).then(|| values.join(","))
        });
        let defaults: BTreeSet<_> = defaults.collect();
        match definition.default {
            Some(default) => assert_eq!(defaults, BTreeSet::from([Some(default.to_owned())]), "--{name}"),
            // One that all commands agree on is the option's.
            None => assert!(defaults.len() > 1 || defaults == BTreeSet::from([None]), "--{name}: {defaults:?}"),
        }
        seen += usize::from(definition.default.is_some());
    }
    assert_eq!(seen, 10);
}
