#![allow(clippy::expect_used, clippy::unwrap_used, reason = "a test may panic")]

use std::env::VarError;

use super::{expand, expand_url};
use crate::Result;

fn lookup(name: &str) -> Result<String, VarError> {
    match name {
        "USER" => Ok("ann".to_owned()),
        "PASSWORD" => Ok("p@ss/w:rd?".to_owned()),
        "URL" => Ok("mongodb://a:b@host/db".to_owned()),
        _ => Err(VarError::NotPresent),
    }
}

#[test]
fn variables_are_put_in() {
    let cases = [
        ("plain", "plain"),
        ("${USER}", "ann"),
        ("a${USER}b${USER}", "aannbann"),
        ("$$", "$"),
        ("$${USER}", "${USER}"),
        ("a$b", "a$b"),
        ("$", "$"),
        ("é${USER}é", "éanné"),
    ];
    for (text, expected) in cases {
        assert_eq!(expand(text, &lookup).unwrap(), expected, "{text}");
    }
}

#[test]
fn passwords_of_urls_are_encoded_and_other_parts_are_not() {
    let expanded = |text| expand_url(text, &lookup).unwrap();
    assert_eq!(expanded("mongodb://${USER}:${PASSWORD}@host/db"), "mongodb://ann:p%40ss%2Fw%3Ard%3F@host/db");
    assert_eq!(expanded("${URL}"), "mongodb://a:b@host/db");
    assert_eq!(expanded("s3://bucket/${USER}/x@${PASSWORD}"), "s3://bucket/ann/x@p@ss/w:rd?");
    assert_eq!(expanded("/folder/${USER}"), "/folder/ann");
}

#[test]
fn errors_name_the_variable_and_not_the_text() {
    for (text, expected) in [
        ("secret${MISSING}", "the variable MISSING is not set"),
        ("secret${OPEN", "is not closed"),
        ("secret${}", "does not have the name of a variable"),
        ("${secret value}", "does not have the name of a variable"),
    ] {
        let error = expand(text, &lookup).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
        assert!(!error.contains("secret"), "{error}");
    }
}
