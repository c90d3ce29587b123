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
    assert_eq!(run(&rest, &Host { bench: Some(&called), sql: None }).unwrap(), 41);
    assert_eq!(run(&rest, &Host::default()).unwrap_err().kind(), lakerace::ErrorKind::Unsupported);
}
