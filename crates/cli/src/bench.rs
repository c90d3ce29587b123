//! `lakerace bench`: the bench is Python; the wheel brings it.

use std::ffi::OsString;

use lakerace::{Error, Result};

use crate::Host;

/// What follows `bench`, where that is the command: its options are the bench's own.
pub(crate) fn arguments(args: &[OsString]) -> Option<&[OsString]> {
    let command = args.iter().skip(1).position(|arg| !arg.as_encoded_bytes().starts_with(b"-"))? + 1;
    (args[command] == "bench").then(|| &args[command + 1..])
}

pub(crate) fn run(rest: &[OsString], host: &Host<'_>) -> Result<u8> {
    match host.bench {
        Some(bench) => Ok(bench(rest)),
        None => Err(Error::unsupported("the bench is not in this binary: it comes with the Python package")
            .advice("pip install 'lakerace[bench]', then run its `lakerace bench`")),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may panic")]

    use super::*;

    fn after_bench(line: &str) -> Option<Vec<String>> {
        let args: Vec<OsString> = line.split(' ').map(OsString::from).collect();
        arguments(&args).map(|rest| rest.iter().map(|arg| arg.to_str().unwrap().to_owned()).collect())
    }

    #[test]
    fn options_after_bench_are_its_own() {
        assert_eq!(after_bench("lakerace bench run scan --json").unwrap(), ["run", "scan", "--json"]);
        assert_eq!(after_bench("lakerace bench --help").unwrap(), ["--help"]);
        assert_eq!(after_bench("lakerace -q bench list").unwrap(), ["list"]);
        assert_eq!(after_bench("lakerace scan bench"), None);
        assert_eq!(after_bench("lakerace"), None);
    }

    #[test]
    fn the_host_runs_it_or_it_is_unsupported() {
        let called = |rest: &[OsString]| rest.len() as u8 + 40;
        let rest = [OsString::from("list")];
        assert_eq!(run(&rest, &Host { bench: Some(&called) }).unwrap(), 41);
        assert_eq!(run(&rest, &Host::default()).unwrap_err().kind(), lakerace::ErrorKind::Unsupported);
    }
}
