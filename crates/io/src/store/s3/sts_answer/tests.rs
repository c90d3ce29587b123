#![allow(clippy::unwrap_used)]

use super::{credentials, refusal};
use crate::ErrorKind;

/// An answer of the service, with this expiration.
fn answer(expiration: &str) -> String {
    format!(
        "<AssumeRoleResponse xmlns=\"https://sts.amazonaws.com/doc/2011-06-15/\"><AssumeRoleResult><AssumedRoleUser>\
         <AssumedRoleId>A:s</AssumedRoleId><Arn>arn</Arn></AssumedRoleUser><Credentials>\
         <AccessKeyId>ASIA</AccessKeyId><SecretAccessKey>a&#x2F;b&amp;c</SecretAccessKey>\
         <SessionToken><![CDATA[t+1=]]></SessionToken><Expiration>{expiration}</Expiration></Credentials>\
         </AssumeRoleResult><ResponseMetadata><RequestId>1</RequestId></ResponseMetadata></AssumeRoleResponse>"
    )
}

#[test]
fn credentials_are_read() {
    let (credential, expires) = credentials(answer("2999-01-01T00:00:00Z").as_bytes()).unwrap();
    let parts = (credential.key_id.as_str(), credential.secret_key.as_str(), credential.token.as_deref());
    assert_eq!(parts, ("ASIA", "a/b&c", Some("t+1=")));
    let seconds = expires.unwrap().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs();
    assert_eq!(seconds, 32_472_144_000);
}

#[test]
fn an_answer_that_is_no_credential_is_an_error_without_its_text() {
    let right = answer("2999-01-01T00:00:00Z");
    for body in [
        "",
        "hunter2",
        "<html>hunter2</html>",
        &right[..right.len() - 5],
        &right.replace("AccessKeyId", "Other"),
        &right.replace("ASIA", ""),
        &right.replace("</Credentials>", "</Credential>"),
        &right.replace("&amp;", "&unknown;"),
        &answer("hunter2"),
    ] {
        let error = credentials(body.as_bytes()).err().unwrap();
        assert_eq!(error.kind(), ErrorKind::Unavailable, "{body}: {error}");
        assert!(!error.to_string().contains("hunter2"), "{error}");
    }
    assert_eq!(credentials(b"\xff").err().unwrap().kind(), ErrorKind::Unavailable);
    let expired = credentials(answer("2001-01-01T00:00:00Z").as_bytes()).err().unwrap();
    assert!(expired.to_string().contains("expired"), "{expired}");
    let damaged = credentials(right.replace("ASIA", "AS\nIA").as_bytes()).err().unwrap();
    assert!(damaged.to_string().contains("header"), "{damaged}");
}

#[test]
fn refusals_have_the_code_and_advice() {
    let body = |code: &str, message: &str| {
        format!(
            "<ErrorResponse><Error><Type>Sender</Type><Code>{code}</Code><Message>{message}</Message></Error></ErrorResponse>"
        )
    };
    for (status, body, kind, says) in [
        (403, body("AccessDenied", "no\n way"), ErrorKind::Invalid, "STS answered AccessDenied: no way (the role must"),
        (403, body("ExpiredToken", "old"), ErrorKind::Invalid, "log in again"),
        (400, body("Throttling", "slow"), ErrorKind::Unavailable, "later"),
        (503, body("Other", "x"), ErrorKind::Unavailable, "STS answered Other: x"),
        (500, "<html/>".to_owned(), ErrorKind::Unavailable, "status 500"),
        (404, String::new(), ErrorKind::Invalid, "AWS_ENDPOINT_URL_STS"),
        (403, body("AccessDenied", "with hunter2"), ErrorKind::Invalid, "STS answered AccessDenied (the role must"),
        (403, body("SignatureDoesNotMatch", "POST /"), ErrorKind::Invalid, "STS answered SignatureDoesNotMatch (check"),
    ] {
        let error = refusal(status, body.as_bytes(), &["hunter2", ""]);
        assert_eq!(error.kind(), kind, "{body}: {error}");
        let text = error.to_string();
        assert!(text.contains(says) && !text.contains("hunter2"), "{text}");
    }
}
