#![allow(clippy::expect_used, clippy::unwrap_used, reason = "a test may panic")]

use std::collections::BTreeMap;
use std::env::VarError;
use std::path::Path;

use super::super::parse::parse;
use super::resolve;
use crate::store::kind::StoreKind;
use crate::{Result, StorageOptions};

const FILE: &str = r#"
connection.lake.url = "s3://bucket/prefix/"
connection.lake.storage-options = { aws_region = "eu-west-1", aws_access_key_id = "A", aws_secret_access_key = "${KEY}" }
connection.root.url = "s3://bucket"
connection.shop.url = "mongodb://ann:${KEY}@host/db?replicaSet=x"
connection.web.url = "https://host/a?token=x"
connection.here.url = "/folder"
connection.small.url = "sqlite:///folder/small.db"
connection.table.url = "sqlite:///folder/small.db#t"
connection.unset.url = "s3://${MISSING}"
connection.any.url = "${RELATIVE}"
"#;

fn lookup(name: &str) -> Result<String, VarError> {
    match name {
        "KEY" => Ok("k@y".to_owned()),
        "RELATIVE" => Ok("here/x".to_owned()),
        _ => Err(VarError::NotPresent),
    }
}

fn resolved(text: &str) -> Result<super::ResolvedLocation> {
    resolve(text, Some(&parse(Path::new("/c.toml"), FILE).unwrap()), &lookup)
}

#[test]
fn the_rest_follows_the_url() {
    let cases = [
        ("lake", "s3://bucket/prefix/"),
        ("lake/", "s3://bucket/prefix/"),
        ("lake/a/*.parquet", "s3://bucket/prefix/a/*.parquet"),
        ("lake//a", "s3://bucket/prefix/a"),
        ("root/a", "s3://bucket/a"),
        ("shop/orders", "mongodb://ann:k%40y@host/db/orders?replicaSet=x"),
        ("web/b.csv", "https://host/a/b.csv?token=x"),
        ("here/b.csv", "/folder/b.csv"),
        ("small/orders", "sqlite:///folder/small.db#orders"),
        ("small#orders", "sqlite:///folder/small.db#orders"),
        ("table", "sqlite:///folder/small.db#t"),
    ];
    for (text, expected) in cases {
        assert_eq!(resolved(text).unwrap().url, expected, "{text}");
    }
}

#[test]
fn mistakes_are_usage_errors_without_secrets() {
    let cases = [
        ("lak/a", "did you mean @lake? /c.toml has @any, @here, @lake"),
        ("lak/a", "a local file of this name is ./@lak/a"),
        ("", "\"\" is no name of a connection"),
        ("odd.csv", "\"odd.csv\" is no name of a connection (a local file of this name is ./@odd.csv; other locations"),
        ("folder x/odd.csv", "./@folder x/odd.csv; other locations that begin with @ are below a connection"),
        ("table/x", "already names a table"),
        ("lake#x", "# names a table of SQLite"),
        ("unset/x", "/c.toml, line 10, url of unset: the variable MISSING is not set"),
        ("any/x", "neither a URL nor a path from the root"),
    ];
    for (text, expected) in cases {
        let error = resolved(text).err().unwrap().to_string();
        assert!(error.contains(expected), "{text}: {error}");
        assert!(!error.contains("k@y"), "{error}");
    }
    assert!(!format!("{:?}", resolved("lake").unwrap().connection).contains("k@y"));
}

fn merged(given: &[(&str, &str)]) -> BTreeMap<String, String> {
    let given: StorageOptions = given.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    let kind = StoreKind::of_scheme("s3").unwrap();
    resolved("lake").unwrap().connection.options_of(kind, &given).unwrap().options
}

#[test]
fn given_options_replace_those_of_the_connection() {
    let text = |options: BTreeMap<String, String>| {
        options.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(text(merged(&[])), "aws_access_key_id=A aws_region=eu-west-1 aws_secret_access_key=k@y");
    // By any name of the setting.
    assert_eq!(text(merged(&[("region", "x")])), "aws_access_key_id=A aws_secret_access_key=k@y region=x");
    // Keys belong together, and so do a profile and its keys.
    assert_eq!(text(merged(&[("aws_access_key_id", "B")])), "aws_access_key_id=B aws_region=eu-west-1");
    assert_eq!(text(merged(&[("aws_profile", "p")])), "aws_profile=p aws_region=eu-west-1");
}
