#![allow(clippy::unwrap_used)]

use std::sync::atomic::{AtomicUsize, Ordering};

use super::*;
use crate::{Error, ErrorKind, Job, Location, StorageOptions};

static ASKED: AtomicUsize = AtomicUsize::new(0);

struct Refusing(&'static str);

impl CredentialSource for Refusing {
    fn name(&self) -> &str {
        self.0
    }

    fn credential(&self) -> Result<Credential> {
        ASKED.fetch_add(1, Ordering::Relaxed);
        Err(Error::usage("nobody is logged in").advice("log in"))
    }
}

#[test]
fn what_a_source_says_reaches_the_caller_at_once() {
    let settings =
        [("aws_endpoint_url", "http://127.0.0.1:9"), ("aws_allow_http", "true"), ("aws_region", "eu-west-1")];
    let options = StorageOptions {
        options: settings.map(|(name, value)| (name.to_owned(), value.to_owned())).into(),
        credentials: Some(Credentials::new(Refusing("secret of the test"))),
    };
    let object = Location::parse("s3://bucket/x").unwrap().object(&options, &Job::default()).unwrap();
    let error = object.read_tail(10).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Usage);
    assert_eq!(error.to_string(), "s3://bucket/x: nobody is logged in (log in)");
    assert_eq!(ASKED.load(Ordering::Relaxed), 1);
    assert!(!format!("{options:?}").contains("secret of the test"));
}

#[test]
fn sources_are_told_apart_by_name() {
    let [one, same, other] = ["a", "a", "b"].map(|name| Credentials::new(Refusing(name)));
    assert_eq!(one, same);
    assert_ne!(one, other);
}
