use std::ffi::OsString;

use super::shown;

#[test]
fn arguments_have_no_credentials() {
    for (words, expected) in [
        (&["scan", "mongodb://me:pw@h/d/c"][..], "scan mongodb://***@h/d/c"),
        (&["--storage-option", "aws_region=eu", "x"], "--storage-option aws_region=*** x"),
        (&["--storage-option", "odd"], "--storage-option ***"),
        (&["--storage-option=k=v=w"], "--storage-option=k=***"),
        (&["--storage-option", "--storage-option", "x"], "--storage-option *** x"),
        (&["--where", "a > 'b'"], r"--where 'a > '\''b'\'''"),
        (&["https://h/x?sig=1"], "'https://h/x?***'"),
    ] {
        let line: Vec<OsString> = ["lakerace"].iter().chain(words).map(OsString::from).collect();
        assert_eq!(shown(&line), expected);
    }
}
