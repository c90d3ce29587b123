#![allow(clippy::panic, clippy::unwrap_used, reason = "a test may panic")]

use super::*;
use crate::args::command_line;

fn code(line: &str, host: &Host<'_>) -> u8 {
    run(line.split(' ').map(OsString::from), host)
}

#[test]
fn a_panic_is_an_internal_error() {
    let broken = |_: &[OsString]| -> u8 { panic!("on purpose") };
    assert_eq!(code("lakerace bench list", &Host { bench: Some(&broken), sql: None }), 1);
}

#[test]
fn exit_codes_name_what_to_do() {
    let host = Host::default();
    assert_eq!(code("lakerace --version", &host), 0);
    assert_eq!(code("lakerace nonsense", &host), 2);
    assert_eq!(code("lakerace scan /no/such/file.parquet", &host), 3);
    assert_eq!(code("lakerace bench list", &host), 6);
}

#[test]
fn a_storage_option_that_is_none_is_not_repeated() {
    let mut error =
        Cli::parse_with(command_line(), &["lakerace", "scan", "x", "--storage-option", "topsecret"].map(Into::into))
            .unwrap_err();
    hide_secrets(&mut error);
    let text = error.render().to_string();
    assert!(text.contains("--storage-option") && !text.contains("topsecret"), "{text}");
}
