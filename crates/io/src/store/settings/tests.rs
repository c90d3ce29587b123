#![allow(clippy::unwrap_used)]

use url::Url;

use super::{StoreSettings, protects_bodies};
use crate::store::s3::S3;
use crate::{ErrorKind, Result, StorageOptions};

fn settings(name: &str, value: &str) -> Result<StoreSettings> {
    let options = [(name.to_owned(), value.to_owned()), ("aws_allow_http".to_owned(), "true".to_owned())];
    StoreSettings::gather(&S3, &StorageOptions::from_iter(options))
}

#[test]
fn bodies_need_no_signature_over_tls_or_within_this_machine() {
    assert!(protects_bodies(None));
    let protected = [
        "https://s3.example.org",
        "HTTPS://10.0.0.7:9000/",
        "http://localhost:9000",
        "http://LOCALHOST",
        "http://127.0.0.1:9000/path",
        "http://127.8.7.6",
        "http://[::1]:9000",
    ];
    for endpoint in protected {
        assert!(protects_bodies(Some(&Url::parse(endpoint).unwrap())), "{endpoint}");
    }
    for endpoint in ["http://minio:9000", "http://10.0.0.7", "http://localhost.example.org", "http://[fe80::1]"] {
        assert!(!protects_bodies(Some(&Url::parse(endpoint).unwrap())), "{endpoint}");
    }
}

#[test]
fn addresses_that_are_none_are_named_and_not_shown() {
    let wrong = [
        ("localhost:9000", "http://"),
        ("", "empty"),
        ("http://", "not an address"),
        ("file:///etc/passwd", "http://"),
        ("minio", "not an address"),
        ("http://me:topsecret@host:9000", "credentials"),
        ("http://host:9000/?X-Amz-Signature=topsecret", "query"),
        ("http://host:99999", "not an address"),
        ("http://ho st", "not an address"),
    ];
    for (value, says) in wrong {
        let error = settings("aws_endpoint_url", value).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Usage, "{value}");
        let text = error.to_string();
        assert!(text.contains("aws_endpoint_url") && text.contains(says), "{value}: {text}");
        assert!(!text.contains("topsecret") && !text.contains("passwd"), "{text}");
    }
    for value in ["http://host:9000", "https://s3.example.org/", "HTTP://[::1]:9000", "http://10.0.0.7/below"] {
        let settings = settings("endpoint", value).unwrap();
        assert!(settings.endpoint("aws_endpoint", "aws_allow_http").unwrap().is_some(), "{value}");
    }
}

#[test]
fn values_that_no_header_can_carry_are_named_and_not_shown() {
    let names = ["aws_access_key_id", "aws_secret_access_key", "aws_session_token", "aws_region", "user_agent"];
    for name in names {
        for (value, says) in [
            ("topsecret\r", "line break"),
            ("top\nsecret", "line break"),
            ("topsecret\u{0}", "control character"),
            ("topsecr\u{e9}t", "not ASCII"),
        ] {
            let error = settings(name, value).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Usage);
            let text = error.to_string();
            assert!(text.contains(name) && text.contains(says) && !text.contains("secret\r"), "{text}");
            assert!(!text.contains("topsecr") && !text.contains("secret\n"), "{text}");
        }
    }
}

#[test]
fn options_win_over_the_environment_and_unknown_ones_are_refused() {
    let error = settings("aws_acess_key_id", "x").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Usage);
    assert_eq!(settings("region", "eu-west-1").unwrap().value("AWS_REGION"), Some("eu-west-1"));
}
