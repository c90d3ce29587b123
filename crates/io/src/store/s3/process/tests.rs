#![allow(clippy::unwrap_used)]

use super::ProcessSource;
use crate::ErrorKind;
use crate::store::credentials::CredentialSource;

#[test]
fn a_program_is_asked_again_when_its_credentials_expire() {
    let folder = tempfile::tempdir().unwrap();
    let runs = folder.path().join("runs");
    let run = |expiration: &str| {
        let printed =
            format!(r#"{{"Version":1,"AccessKeyId":"AKIA","SecretAccessKey":"a b","SessionToken":"t"{expiration}}}"#);
        let source = ProcessSource::new("p", &format!("echo run >> {}; echo '{printed}'", runs.display()));
        for _ in 0..3 {
            let credential = source.credential().unwrap();
            let parts = (credential.key_id.as_str(), credential.secret_key.as_str(), credential.token.as_deref());
            assert_eq!(parts, ("AKIA", "a b", Some("t")));
        }
        let counted = std::fs::read_to_string(&runs).unwrap().lines().count();
        std::fs::remove_file(&runs).unwrap();
        counted
    };
    assert_eq!(run(""), 1);
    assert_eq!(run(r#","Expiration":"2999-01-01T00:00:00Z""#), 1);
    // Good for less than five minutes: it is asked each time.
    let soon = (chrono::Utc::now() + chrono::TimeDelta::seconds(60)).to_rfc3339();
    assert_eq!(run(&format!(r#","Expiration":"{soon}""#)), 3);
}

#[test]
fn what_a_program_prints_is_not_shown() {
    for (command, says) in [
        ("echo topsecret; exit 3", "exit status: 3"),
        ("echo topsecret", "something other"),
        (r#"echo '{"Version":2,"AccessKeyId":"A","SecretAccessKey":"topsecret"}'"#, "version 2"),
        (
            r#"echo '{"Version":1,"AccessKeyId":"A","SecretAccessKey":"topsecret","Expiration":"2001-01-01T00:00:00Z"}'"#,
            "expired",
        ),
        ("/no/such/program", "exit status: 127"),
    ] {
        let error = ProcessSource::new("work", command).credential().err().unwrap();
        assert!(matches!(error.kind(), ErrorKind::Invalid | ErrorKind::Unsupported), "{command}: {error}");
        let text = error.to_string();
        assert!(text.contains(says) && text.contains("profile work") && !text.contains("topsecret"), "{text}");
    }
}
