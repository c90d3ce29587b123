#![allow(clippy::unwrap_used)]

use super::super::S3;
use super::foreign_option;
use crate::store::foreign_options::translate;
use crate::{ErrorKind, StorageOptions};

fn options(pairs: &[(&str, &str)]) -> StorageOptions {
    pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

/// Options by name and value.
type Pairs = &'static [(&'static str, &'static str)];

#[test]
fn options_of_other_tools_become_ours() {
    let cases: [(Pairs, Pairs); 10] = [
        (&[("key", "a"), ("secret", "b")], &[("aws_access_key_id", "a"), ("aws_secret_access_key", "b")]),
        (&[("anon", "true")], &[("aws_skip_signature", "true")]),
        (&[("use_ssl", "False")], &[("aws_allow_http", "true")]),
        (&[("use_ssl", "true")], &[]),
        (&[("AWS_S3_ADDRESSING_STYLE", "virtual")], &[("aws_virtual_hosted_style_request", "true")]),
        (&[("max_retries", "0")], &[("retry_time", "0s")]),
        (&[("retry_timeout", "30s")], &[("retry_time", "30s")]),
        (&[("retry_timeout_ms", "1500")], &[("retry_time", "1500ms")]),
        (&[("endpoint_override", "https://h")], &[("aws_endpoint_url", "https://h")]),
        // Ours win, by any of their names.
        (&[("key", "a"), ("access_key_id", "b")], &[("access_key_id", "b")]),
    ];
    for (given, expected) in cases {
        let translated = translate(&S3, &options(given).options).unwrap();
        assert_eq!(translated.options, options(expected).options, "{given:?}");
        assert_eq!(translated.warnings, Vec::<String>::new(), "{given:?}");
    }
    let waits = options(&[("retry_timeout_ms", "1500")]).retry_time().unwrap();
    assert_eq!(waits, Some(std::time::Duration::from_millis(1500)));
    assert_eq!(options(&[("retry_timeout", "soon")]).retry_time().unwrap_err().kind(), ErrorKind::Usage);
}

#[test]
fn options_without_effect_are_one_warning_a_reason() {
    let given = [
        ("AWS_S3_ALLOW_UNSAFE_RENAME", "true"),
        ("aws_s3_locking_provider", "dynamodb"),
        ("DELTA_DYNAMO_TABLE_NAME", "locks"),
        ("max_retries", "5"),
        ("backoff_config.base", "2"),
    ];
    let translated = translate(&S3, &options(&given).options).unwrap();
    assert!(translated.options.is_empty(), "{translated:?}");
    assert_eq!(translated.warnings.len(), 3, "{translated:?}");
    let with = |part: &str| translated.warnings.iter().filter(|warning| warning.contains(part)).count();
    assert_eq!((with("AWS_S3_ALLOW_UNSAFE_RENAME"), with("renames nothing")), (1, 1));
    assert_eq!((with("aws_s3_locking_provider"), with("DELTA_DYNAMO_TABLE_NAME"), with("DynamoDB")), (1, 1, 1));
    assert_eq!((with("max_retries"), with("backoff_config.base"), with("retry_time")), (1, 1, 1));
    options(&given).check_names().unwrap();
}

#[test]
fn options_that_no_tool_has_are_refused_with_the_nearest_name() {
    for name in ["aws_s3_allow_unsafe_renam", "retry_tme", "aws_acess_key_id", "ky"] {
        assert!(foreign_option(name).is_none(), "{name}");
        assert_eq!(options(&[(name, "x")]).check_names().unwrap_err().kind(), ErrorKind::Usage, "{name}");
    }
    let error = options(&[("retry_tme", "x")]).check_names().unwrap_err().to_string();
    assert!(error.contains("did you mean retry_time?"), "{error}");
}

#[test]
fn a_role_of_delta_rs_is_assumed() {
    for (given, role, session) in [
        (vec![("AWS_S3_ASSUME_ROLE_ARN", "old"), ("AWS_S3_ROLE_SESSION_NAME", "me")], Some("old"), Some("me")),
        (vec![("aws_iam_role_arn", "new"), ("aws_s3_assume_role_arn", "old")], Some("new"), None),
        (vec![("aws_iam_role_session_name", "me")], None, Some("me")),
        // Those of web identity are others.
        (vec![("aws_role_arn", "web"), ("aws_role_session_name", "me")], None, None),
    ] {
        let translated = translate(&S3, &options(&given).options).unwrap();
        assert_eq!((translated.role.as_deref(), translated.role_session_name.as_deref()), (role, session), "{given:?}");
        options(&given).check_names().unwrap();
    }
}
