#![allow(clippy::unwrap_used)]
use super::{is_logged, opened};

const TEXT: &str = "2026-11-28T15:04:59.163263Z INFO  [21880] lakerace_cli::command: start program_version=0.1.0\n";
const JSON: &str = r#"{"level":"INFO","message":"start","process":2,"target":"lakerace_cli::command","time":"2026-11-28T15:04:59.235333Z"}"#;

#[test]
fn the_lines_of_both_formats_are_those_of_a_log() {
    for line in
        [TEXT, JSON, &TEXT.replace("INFO ", "DEBUG"), &TEXT.replace("lakerace_cli::command", "lakerace_io::retries")]
    {
        assert!(is_logged(line.as_bytes()), "{line}");
    }
}

#[test]
fn other_lines_are_not() {
    let others = [
        "PAR1\n",
        "\n",
        "id,name\n",
        "2026-11-28T15:04:59.163263Z,1\n",
        "2026-11-28T15:04:59.163263Z INFO  [1] other::target: start\n",
        r#"{"commitInfo":{"timestamp":1}}"#,
        r#"{"time":"2026-11-28T15:04:59Z","level":"INFO","message":"x"}"#,
        &JSON.replace("lakerace_cli", "other"),
    ];
    for line in others {
        assert!(!is_logged(line.as_bytes()), "{line}");
    }
}

#[test]
fn a_refused_file_stays_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.csv");
    std::fs::write(&path, "a,b\n1,2\n").unwrap();
    let error = opened(&path).unwrap_err();
    assert_eq!(error.kind().exit_code(), 2);
    assert_eq!(std::fs::read(&path).unwrap(), b"a,b\n1,2\n");
    for content in ["", TEXT, JSON] {
        std::fs::write(&path, content).unwrap();
        assert!(opened(&path).is_ok(), "{content}");
    }
}
