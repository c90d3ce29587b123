//! The levels of the log.

use lakerace::{Error, Result};
use lakerace_format::suggestions::nearest;
use tracing::level_filters::LevelFilter;
use tracing_subscriber::filter::Targets;

/// The variable that has them.
const VARIABLE: &str = "LAKERACE_LOG";

/// The beginning of all targets. Events of other libraries may contain anything, such as signed URLs: they are not logged.
const ALL: &str = "lakerace";

/// The targets of all events.
const TARGETS: [&str; 6] = [
    "lakerace_cli::command",
    "lakerace::plans",
    "lakerace_io::requests",
    "lakerace_io::retries",
    "lakerace_io::warnings",
    "lakerace_delta::commits",
];

const LEVELS: [(&str, LevelFilter); 6] = [
    ("off", LevelFilter::OFF),
    ("error", LevelFilter::ERROR),
    ("warn", LevelFilter::WARN),
    ("info", LevelFilter::INFO),
    ("debug", LevelFilter::DEBUG),
    ("trace", LevelFilter::TRACE),
];

/// The levels of `-v`, given this many times.
pub(super) fn from_verbosity(times: u8) -> Targets {
    let level = match times {
        0 | 1 => LevelFilter::INFO,
        2 => LevelFilter::DEBUG,
        _ => LevelFilter::TRACE,
    };
    Targets::new().with_target(ALL, level)
}

/// The levels of the variable, where it is set.
pub(super) fn from_variable() -> Result<Option<Targets>> {
    match std::env::var_os(VARIABLE).filter(|text| !text.is_empty()) {
        Some(text) => parse(&text.to_string_lossy()).map(Some),
        None => Ok(None),
    }
}

/// Returns true for levels that switch the log off.
pub(super) fn are_off(levels: &Targets) -> bool {
    levels.iter().all(|(_, level)| level == LevelFilter::OFF)
}

/// Parses `LEVEL` and `TARGET=LEVEL`, separated by commas. The longest target that is a prefix of the event's target applies.
fn parse(text: &str) -> Result<Targets> {
    let mut targets = Targets::new();
    for directive in text.split(',').map(str::trim).filter(|directive| !directive.is_empty()) {
        let (target, name) = directive.split_once('=').unwrap_or((ALL, directive));
        let target = target.trim();
        let level = LEVELS.iter().find(|(known, _)| known.eq_ignore_ascii_case(name.trim()));
        let Some((_, level)) = level.filter(|_| !target.is_empty()) else { return Err(no_directive(directive)) };
        if !target.starts_with(ALL) || !TARGETS.iter().any(|known| known.starts_with(target)) {
            return Err(unknown_target(directive, target));
        }
        targets = targets.with_target(target, *level);
    }
    // Text without any directive, such as a comma, is no answer.
    if targets.iter().next().is_none() { Err(no_directive(text)) } else { Ok(targets) }
}

/// The error of text that is no directive.
fn no_directive(text: &str) -> Error {
    let levels = LEVELS.map(|(name, _)| name).join(", ");
    let advice = format!("write LEVEL or TARGET=LEVEL, such as info or lakerace_io=debug; levels are {levels}");
    Error::usage(format!("{VARIABLE}: {text:?} is not a valid log directive")).advice(advice)
}

/// The error of a target that no event has.
fn unknown_target(directive: &str, target: &str) -> Error {
    let crates = TARGETS.iter().filter_map(|known| known.split("::").next());
    let near = nearest(target, TARGETS.into_iter().chain(crates));
    let near = near.map(|near| format!("did you mean {near}? ")).unwrap_or_default();
    let message = format!("{VARIABLE}: {directive:?}: no event has the target {target}");
    Error::usage(message).advice(format!("{near}targets are {}", TARGETS.join(", ")))
}

#[cfg(test)]
mod tests;
