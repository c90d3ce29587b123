#![allow(clippy::expect_used, clippy::unwrap_used, reason = "a test may panic")]

use std::path::Path;

use proptest::prelude::*;

use super::super::entry::ConfigFile;
use super::parse;
use crate::{ErrorKind, Result};

fn parsed(text: &str) -> Result<ConfigFile> {
    parse(Path::new("/c.toml"), text)
}

fn error_of(text: &str) -> String {
    let error = parsed(text).expect_err(text);
    assert_eq!(error.kind(), ErrorKind::Usage, "{text}");
    error.to_string()
}

const WHOLE: &str = r#"
[connection.lake]
url = "s3://bucket/prefix"

[connection.lake.storage-options]
AWS_Endpoint_URL = "http://127.0.0.1:9000"
aws_allow_http = true
aws_secret_access_key = "${KEY}"

[connection.shop]
url = "mongodb://ann:secret@host/db"

[defaults]
threads = 2
memory-limit = "1GiB"
extra_bytes_tolerance = 0.5
quiet = true
"#;

#[test]
fn a_whole_file_is_parsed() {
    let config = parsed(WHOLE).unwrap();
    assert_eq!(config.connections.keys().collect::<Vec<_>>(), ["lake", "shop"]);
    let lake = &config.connections["lake"];
    let shown: Vec<_> = lake.shown_options().collect();
    let expected = [
        ("aws_allow_http", "true"),
        ("aws_endpoint_url", "http://127.0.0.1:9000"),
        ("aws_secret_access_key", "${KEY}"),
    ];
    assert_eq!(shown, expected);
    assert_eq!(config.connections["shop"].shown_url(), "mongodb://***@host/db");
    let defaults: Vec<_> = config.defaults.iter().map(|d| (d.option.id, d.value.as_str(), d.line)).collect();
    let expected = [
        ("threads", "2", 14),
        ("memory_limit", "1GiB", 15),
        ("extra_bytes_tolerance", "0.5", 16),
        ("quiet", "true", 17),
    ];
    assert_eq!(defaults, expected);
    assert!(!format!("{config:?}").contains("secret@"));
}

#[test]
fn empty_files_are_valid() {
    for text in ["", "\u{feff}", "# nothing\n", "[connection]\n[defaults]\n"] {
        let config = parsed(text).unwrap();
        assert!(config.connections.is_empty() && config.defaults.is_empty());
    }
}

#[test]
fn mistakes_name_line_and_nearest_name() {
    let cases = [
        (
            "[conection.lake]\nurl = 's3://b'",
            "/c.toml, line 1: unknown section \"conection\" (did you mean connection?)",
        ),
        ("\n[connection.lake]\nulr = 's3://b'", "line 3: unknown key \"ulr\" (did you mean url?)"),
        ("[connection.lake]\naws_region = 'x'", "write it below [connection.lake.storage-options]"),
        ("[connection.lake]\nurl = 3", "line 2: url is a number, not a text"),
        ("[connection]\nlake = 's3://b'", "line 2: lake is a text, not a table"),
        ("connection = 1", "line 1: connection is a number, not a table"),
        ("[connection.lake]", "the connection lake has no url"),
        ("[connection.'a/b']\nurl = 's3://b'", "\"a/b\" is no name of a connection"),
        ("[connection.'']\nurl = 's3://b'", "is no name of a connection"),
        ("[connection.a]\nurl = 's3://b'\nstorage-options = []", "line 3: storage-options is a list, not a table"),
        ("[connection.a]\nurl = 's3://b'\n[connection.a.storage-options]\naws_regoin = 'x'", "line 4"),
        ("[connection.a]\nurl = 's3://b'\n[connection.a.storage-options]\naws_region = []", "aws_region is a list"),
        ("[connection.a]\nurl = 's3://b'\n[connection.a.storage-options]\naws_region = 0x10", "not decimal"),
        ("[connection.a]\nurl = 's3://b'\n[connection.a.storage-options]\nazure_storage_account_name = 'x'", "on S3"),
        ("[connection.a]\nurl = '/x'\n[connection.a.storage-options]\naws_region = 'x'", "not on an object store"),
        ("[connection.a]\nurl = 'data/x'", "line 2: the url of the connection is neither a URL nor a path"),
        ("[connection.a]\nurl = '@b/x'", "neither a URL nor a path"),
        ("[connection.a]\nurl = 'sqlite:x.db'", "neither a URL nor a path"),
        ("[defaults]\nthread = 2", "line 2: unknown option \"thread\" (did you mean threads?)"),
        ("[defaults]\nwhere = 'a > 1'", "where has no default"),
        ("[defaults]\nthreads = [2]", "line 2: threads is a list"),
        ("[defaults]\nquiet = 'yes'", "quiet is a text, not true or false"),
        ("[defaults]\nthreads = 2\nthreads = 3", "line 3: this is not valid TOML"),
        ("[connection.a\nurl = 's3://b'", "line 1: this is not valid TOML"),
    ];
    for (text, expected) in cases {
        let error = error_of(text);
        assert!(error.contains(expected), "{text}\n{error}");
    }
}

#[test]
fn errors_show_no_values() {
    for text in [
        "[connection.a]\nurl = 'hunter2'",
        "[connection.a]\nurl = 's3://b'\n[connection.a.storage-options]\naws_secret_access_key = 'hunter2",
        "[connection.a]\nurl = 's3://b'\n[connection.a.storage-options]\naws_secret_access_key = hunter2",
        "[connection.a]\nurl = 's3://b'\n[connection.a.storage-options]\naws_secret_access_key = \"\\hunter2\"",
        "[connection.a]\nurl = 's3://b'\n[connection.a.storage-options]\naws_secret_access_key = 'hunter2' 'hunter2'",
        "[connection.a]\nurl = 's3://b'\n[connection.a.storage-options]\naws_secret_acces_key = 'hunter2'",
        "[connection.a]\nurl = 'mongodb://u:hunter2@h/d'\npassword = 'hunter2'",
    ] {
        assert!(!error_of(text).contains("hunter2"), "{text}");
    }
}

proptest! {
    #[test]
    fn no_text_panics(text in "(?s).{0,200}") {
        let _ = parsed(&text);
    }

    #[test]
    fn no_damage_panics(at in 0..WHOLE.len(), length in 0..20usize, put in "[\\[\\]{}=\"'.#$\n a1é]{0,4}") {
        let end = (at + length).min(WHOLE.len());
        let _ = parsed(&format!("{}{put}{}", &WHOLE[..at], &WHOLE[end..]));
    }
}
