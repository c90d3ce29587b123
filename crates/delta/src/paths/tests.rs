#![allow(clippy::unwrap_used)]

use lakerace_io::{ALLOW_FOREIGN_PATHS, ErrorKind, Job, Location, StorageOptions};

use super::TablePaths;

fn paths(place: &str, allows: Option<&str>) -> TablePaths {
    let mut storage = StorageOptions::default();
    storage.options.extend(allows.map(|value| (ALLOW_FOREIGN_PATHS.to_owned(), value.to_owned())));
    storage.options.insert("aws_access_key_id".to_owned(), "id".to_owned());
    storage.options.insert("aws_secret_access_key".to_owned(), "key".to_owned());
    let (store, root) = Location::parse(place).unwrap().open(&storage, &Job::default()).unwrap();
    TablePaths { store, root, place: place.to_owned(), storage }
}

fn url(place: &str, name: &str) -> String {
    paths(place, None).object(name).unwrap().url()
}

const LOCAL: &str = "/lake/my table%20";
const S3: &str = "s3://bucket/lake";

#[test]
fn names_of_files_are_decoded_once() {
    for (name, expected) in [
        ("part-0.parquet", "/lake/my table%20/part-0.parquet"),
        ("day=2024-02-29%2000%253A00/p.parquet", "/lake/my table%20/day=2024-02-29 00%3A00/p.parquet"),
        ("at=12:30/p.parquet", "/lake/my table%20/at=12:30/p.parquet"),
        ("x:y.parquet", "/lake/my table%20/x:y.parquet"),
        ("s3:y.parquet", "/lake/my table%20/s3:y.parquet"),
        ("a=s3://b/p.parquet", "/lake/my table%20/a=s3:/b/p.parquet"),
        ("s3%3A//bucket/p.parquet", "/lake/my table%20/s3:/bucket/p.parquet"),
        ("%2Fetc/p.parquet", "/lake/my table%20/etc/p.parquet"),
        ("./p.parquet", "/lake/my table%20/p.parquet"),
        ("a/.//./p.parquet", "/lake/my table%20/a/p.parquet"),
        ("file:/elsewhere/a%20b.parquet", "/elsewhere/a b.parquet"),
        ("FILE:///elsewhere/p.parquet", "/elsewhere/p.parquet"),
        ("file://localhost/elsewhere/p.parquet", "/elsewhere/p.parquet"),
        ("/elsewhere//p.parquet", "/elsewhere/p.parquet"),
        ("/lake/my%20table%2520/./p.parquet", "/lake/my table%20/p.parquet"),
    ] {
        assert_eq!(url(LOCAL, name), expected, "{name}");
    }
}

#[test]
fn names_in_the_same_bucket_are_the_tables() {
    for (name, expected) in [
        ("./a%20b.parquet", "s3://bucket/lake/a b.parquet"),
        ("x:y.parquet", "s3://bucket/lake/x:y.parquet"),
        ("s3://bucket/other/p.parquet", "s3://bucket/other/p.parquet"),
        ("s3a://bucket/other/p.parquet", "s3://bucket/other/p.parquet"),
    ] {
        assert_eq!(url(S3, name), expected, "{name}");
    }
    assert_eq!(url("memory://one/t", "memory://one/u/p.parquet"), "memory://one/u/p.parquet");
}

#[test]
fn names_in_other_stores_are_refused_unless_allowed() {
    for (place, name) in [
        (S3, "/etc/p.parquet"),
        (S3, "//etc/p.parquet"),
        (S3, "file:/etc/p.parquet"),
        (S3, "file:///etc/p.parquet"),
        (S3, "s3://bucket2/lake/p.parquet"),
        (S3, "s3://other/p.parquet"),
        (S3, "memory://bucket/p.parquet"),
        ("memory://one/t", "/etc/p.parquet"),
        ("memory://one/t", "memory://two/p.parquet"),
        (LOCAL, "s3://bucket/p.parquet"),
        (LOCAL, "memory://one/p.parquet"),
        (S3, "https://host/p.parquet"),
        (LOCAL, "gs://bucket/p.parquet"),
    ] {
        for no in [None, Some("false")] {
            let error = paths(place, no).object(name).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Unsupported, "{place} {name}");
            for word in [place, name, "`allow_foreign_paths`"] {
                assert!(error.to_string().contains(word), "{error}");
            }
        }
        assert_eq!(paths(place, None).own_paths(name).unwrap(), []);
        assert!(paths(place, Some("true")).object(name).is_ok(), "{place} {name}");
    }
    let error = paths(S3, Some("true")).object("hdfs://name/p.parquet").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    assert_eq!(paths(S3, Some("maybe")).object("/etc/p").unwrap_err().kind(), ErrorKind::Usage);
}

#[test]
fn names_that_lead_out_of_the_table_are_damage() {
    for name in ["../secret", "a/../../b", "%2e%2e/b", "/lake/../etc/p", "", ".", "/", "a/%ff"] {
        assert_eq!(paths(LOCAL, Some("true")).object(name).unwrap_err().kind(), ErrorKind::Corrupt, "{name}");
    }
}

#[test]
fn a_name_may_stand_for_two_files() {
    let found = paths(S3, None).own_paths("a%20b/./c.parquet").unwrap();
    assert_eq!(found.iter().map(AsRef::as_ref).collect::<Vec<&str>>(), ["lake/a b/c.parquet", "lake/a%20b/c.parquet"]);
}
