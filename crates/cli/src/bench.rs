//! `lakerace bench`: the bench is a separate Python package, which the host runs if it is installed.

use std::ffi::OsString;

use lakerace::{Error, Result};

use crate::Host;

/// Returns the arguments after `bench` where that is the command: its options are the bench's own.
pub(crate) fn arguments(args: &[OsString]) -> Option<&[OsString]> {
    let command = args.iter().skip(1).position(|arg| !arg.as_encoded_bytes().starts_with(b"-"))? + 1;
    (args[command] == "bench").then(|| &args[command + 1..])
}

pub(crate) fn run(rest: &[OsString], host: &Host<'_>) -> Result<u8> {
    match host.bench {
        Some(bench) => Ok(bench(rest)),
        None => Err(Error::unsupported("the Python package lakerace-bench is not installed")
            .advice("run `pip install . ./bench` in the source code, then the `lakerace bench` of that environment")),
    }
}

#[cfg(test)]
mod tests;
