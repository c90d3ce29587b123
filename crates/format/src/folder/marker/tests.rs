#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use lakerace_io::ErrorKind;

use super::*;

fn names(names: &[&str]) -> Vec<String> {
    names.iter().map(|n| (*n).to_owned()).collect()
}

fn marker(name: &str, state: MarkerState, adds: &[&str], removes: &[&str]) -> (String, Vec<u8>) {
    let marker = Marker { state, adds: names(adds), removes: names(removes) };
    (name.to_owned(), serde_json::to_vec(&marker).unwrap())
}

#[test]
fn without_markers_every_file_counts() {
    assert_eq!(visible(names(&["a", "b"]), &[]).unwrap(), ["a", "b"]);
}

#[test]
fn pending_adds_and_committed_removes_do_not_count() {
    let files = || names(&["new", "old", "other"]);
    let pending = marker("m", MarkerState::Pending, &["new"], &["old"]);
    assert_eq!(visible(files(), &[pending]).unwrap(), ["old", "other"]);
    let committed = marker("m", MarkerState::Committed, &["new"], &["old"]);
    assert_eq!(visible(files(), &[committed]).unwrap(), ["new", "other"]);
}

#[test]
fn a_listing_older_than_its_marker_is_not_used() {
    let committed = marker("m", MarkerState::Committed, &["new"], &["old"]);
    assert_eq!(visible(names(&["old"]), &[committed]).unwrap_err().kind(), ErrorKind::Conflict);
}

#[test]
fn a_replaced_marker_says_nothing_any_more() {
    // The first copy's file is gone, its marker could not be removed.
    let first = marker("m1", MarkerState::Committed, &["one"], &[]);
    let second = marker("m2", MarkerState::Committed, &["two"], &["one", "m1"]);
    assert_eq!(visible(names(&["two"]), &[first, second]).unwrap(), ["two"]);
}

#[test]
fn two_copies_at_once() {
    let first = marker("m1", MarkerState::Committed, &["one"], &[]);
    let second = marker("m2", MarkerState::Pending, &["two"], &["base"]);
    assert_eq!(visible(names(&["base", "one", "two"]), &[first, second]).unwrap(), ["base", "one"]);
}

#[test]
fn damaged_markers_are_errors() {
    for bad in ["", "{", "{\"state\":\"done\",\"adds\":[],\"removes\":[]}", "[1]"] {
        let error = visible(names(&["a"]), &[("m".to_owned(), bad.as_bytes().to_vec())]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corrupt, "{bad:?}");
    }
}

#[test]
fn marker_names() {
    assert!(is_marker(&new_name()));
    for other in ["_lakerace_commit-", "a.json", "x/_lakerace_commit-1.json", "_lakerace_commit-1.json.tmp"] {
        assert!(!is_marker(other), "{other}");
    }
}
