#![allow(clippy::unwrap_used)]

use object_store::ObjectStoreExt;

use super::*;
use crate::{ErrorKind, IfExists, Output};

fn open(text: &str) -> (JobStore, Path) {
    Location::parse(text).unwrap().open(&StorageOptions::default(), &Job::default()).unwrap()
}

#[test]
fn paths_and_urls_find_their_stores() {
    let (store, path) = open("/a/b.parquet");
    assert_eq!((store.url(&path).as_str(), store.has_local_files()), ("/a/b.parquet", true));
    let here = std::env::current_dir().unwrap();
    let (store, path) = open("./x/../y//z.csv");
    assert_eq!(store.url(&path), here.join("y/z.csv").to_str().unwrap());
    let (store, path) = open("file:///a%20b/%C3%A4.csv");
    assert_eq!(store.url(&path), "/a b/ä.csv");
    let (store, path) = open("memory://one/k=v/x%20y#1");
    assert_eq!(store.url(&path), "memory://one/k=v/x%20y#1");
    let (store, path) = open("memory://one");
    assert_eq!(store.url(&path), "memory://one/");
}

#[test]
fn odd_names_work_from_end_to_end() {
    let folder = tempfile::tempdir().unwrap();
    let names = ["a b", "100%", "%41", "k=v", "ä€😀", "x#1", "#", "a?b&c", "back\\slash", "q\"uo'te", "tail~"];
    let job = Job::default();
    for name in names {
        let text = folder.path().join("sub").join(name);
        let object = Location::parse(text.to_str().unwrap()).unwrap().object(&StorageOptions::default(), &job).unwrap();
        let mut output = Output::create(&object.store, &object.path, IfExists::Error).unwrap();
        output.write(name.as_bytes().to_vec().into()).unwrap();
        output.finish().unwrap();
        assert_eq!(std::fs::read(&text).unwrap(), name.as_bytes());
        assert_eq!(object.read_tail(1000).unwrap().bytes, name.as_bytes());
        assert_eq!(object.read_range(0..1).unwrap(), name.as_bytes()[..1]);
        assert_eq!(object.url(), text.to_str().unwrap());
    }
    let (store, prefix) = open(folder.path().to_str().unwrap());
    let mut listed: Vec<_> =
        store.list(&prefix).unwrap().iter().map(|o| o.path.filename().unwrap().to_owned()).collect();
    let mut expected = names.map(str::to_owned).to_vec();
    listed.sort();
    expected.sort();
    assert_eq!(listed, expected);
}

#[test]
fn what_is_wrong_is_said_with_advice() {
    let unknown = Location::parse("gopher://x/y").unwrap_err();
    assert_eq!(unknown.kind(), ErrorKind::Usage);
    assert!(unknown.to_string().contains("s3://"), "{unknown}");
    assert_eq!(Location::parse("").unwrap_err().kind(), ErrorKind::Usage);
    assert_eq!(Location::parse("s3:///key").unwrap_err().kind(), ErrorKind::Usage);
    assert_eq!(Location::parse("file://host/x").unwrap_err().kind(), ErrorKind::Usage);
    let secret = Location::parse("s3://AKIA:hunter2@bucket/key").unwrap_err();
    assert!(!secret.to_string().contains("hunter2") && !secret.to_string().contains("AKIA"), "{secret}");
}

#[test]
fn what_signs_a_request_is_not_shown() {
    for text in [
        "http://me:topsecret@host/k",
        "mongodb://host/db/c?password=topsecret",
        "s3://b/k?X-Amz-Date=1&X-Amz-Signature=topsecret",
        "s3://b/k?AWSAccessKeyId=AKIA&Signature=topsecret",
    ] {
        let error = Location::parse(text).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Usage);
        assert!(!error.to_string().contains("topsecret") && !error.to_string().contains("AKIA"), "{error}");
    }
    let presigned = "https://b.s3.amazonaws.com/k?X-Amz-Credential=AKIA&X-Amz-Signature=topsecret";
    let presigned = Location::parse(presigned).unwrap();
    assert_eq!(presigned.as_str(), "https://b.s3.amazonaws.com/k");
    assert!(!format!("{presigned:?}").contains("topsecret"), "{presigned:?}");
    assert_eq!(Location::parse("s3://b/what?.csv").unwrap().as_str(), "s3://b/what?.csv");
}

#[test]
fn plain_http_needs_leave() {
    let endpoint = ("aws_endpoint_url".to_owned(), "http://127.0.0.1:9".to_owned());
    let options = StorageOptions::from_iter([endpoint.clone()]);
    let location = Location::parse("s3://bucket/key").unwrap();
    let error = location.open(&options, &Job::default()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Usage);
    assert!(error.to_string().contains("AWS_ALLOW_HTTP"), "{error}");
    let anonymous = ("aws_skip_signature".to_owned(), "true".to_owned());
    let options = [endpoint, ("aws_allow_http".to_owned(), "true".to_owned()), anonymous];
    let options = StorageOptions::from_iter(options);
    let (store, path) = location.open(&options, &Job::default()).unwrap();
    assert_eq!(store.url(&path), "s3://bucket/key");
    let options = StorageOptions::from_iter([("aws_colour".to_owned(), "red".to_owned())]);
    assert_eq!(location.open(&options, &Job::default()).unwrap_err().kind(), ErrorKind::Usage);
}

#[test]
fn stores_in_memory_are_shared_by_name() {
    let (one, path) = open("memory://shared-by-name/a");
    futures::executor::block_on(one.store.put(&path, "x".into())).unwrap();
    let (two, path) = open("memory://shared-by-name/a");
    assert_eq!(two.object(path).read_tail(5).unwrap().bytes, "x");
    let (other, path) = open("memory://another-name/a");
    assert_eq!(other.object(path).read_tail(5).unwrap_err().kind(), ErrorKind::NotFound);
}

#[test]
fn a_parent_of_a_link_is_that_of_its_target() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(folder.path().join("real/deep")).unwrap();
    std::os::unix::fs::symlink(folder.path().join("real/deep"), folder.path().join("link")).unwrap();
    let (store, path) = open(folder.path().join("link/../x").to_str().unwrap());
    let expected = folder.path().canonicalize().unwrap().join("real/x");
    assert_eq!(store.url(&path), expected.to_str().unwrap());
}
