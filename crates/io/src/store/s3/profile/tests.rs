#![allow(clippy::unwrap_used, clippy::panic)]

use std::path::PathBuf;

use super::{CredentialProfile, ProfileCredentials, missing};
use crate::ErrorKind;

const CONFIG: &str = "[default]\nregion=us-east-1\n[profile work]\nregion = eu-west-1\ns3 =\n  addressing_style = path\n# no\n\
    [profile sso]\nsso_session = company\nsso_account_id = 1\nsso_role_name = reader\n\
    [sso-session company]\nsso_start_url = https://company.example\nsso_region = eu-west-1\n\
    [profile half]\nsso_start_url = https://company.example\n\
    [profile process]\ncredential_process = /bin/print keys\n\
    [profile pod]\nrole_arn = arn:aws:iam::1:role/pod\nweb_identity_token_file = /token\n\
    [profile role]\nrole_arn = arn:aws:iam::1:role/x\nsource_profile = work\n";
const CREDENTIALS: &str =
    "[work]\naws_access_key_id = AKIA\naws_secret_access_key = a=b/c+d==\n[other]\naws_access_key_id=X\n";

fn files() -> (tempfile::TempDir, Vec<PathBuf>) {
    let folder = tempfile::tempdir().unwrap();
    let files = vec![folder.path().join("config"), folder.path().join("credentials")];
    std::fs::write(&files[0], CONFIG).unwrap();
    std::fs::write(&files[1], CREDENTIALS).unwrap();
    (folder, files)
}

#[test]
fn keys_of_a_profile_are_read_from_both_files() {
    let (_folder, files) = files();
    let work = CredentialProfile::of_files("work", &files, true).unwrap().unwrap();
    assert_eq!(work.settings().collect::<Vec<_>>(), [("aws_region", "eu-west-1")]);
    let ProfileCredentials::Settings { settings, source } = work.credentials(true).unwrap() else { panic!("keys") };
    let expected = [("aws_access_key_id", "AKIA"), ("aws_secret_access_key", "a=b/c+d==")];
    assert_eq!(settings, expected.map(|(name, value)| (name, value.to_owned())));
    assert_eq!(source, "the profile work");
    let pod = CredentialProfile::of_files("pod", &files, true).unwrap().unwrap();
    let ProfileCredentials::Settings { settings, .. } = pod.credentials(true).unwrap() else { panic!("a role") };
    assert_eq!(settings[1], ("aws_web_identity_token_file", "/token".to_owned()));
}

#[test]
fn providers_are_told_from_keys() {
    let (_folder, files) = files();
    for (name, says) in [("sso", "single sign-on"), ("process", "credential_process")] {
        let profile = CredentialProfile::of_files(name, &files, true).unwrap().unwrap();
        let ProfileCredentials::Provider { source, .. } = profile.credentials(true).unwrap() else { panic!("{name}") };
        assert!(source.contains(says), "{source}");
    }
    let default = CredentialProfile::of_files("default", &files, true).unwrap().unwrap();
    assert!(matches!(default.credentials(false).unwrap(), ProfileCredentials::Absent));
}

#[test]
fn what_a_profile_lacks_is_said_with_the_command_that_adds_it() {
    let (_folder, files) = files();
    for (name, kind, says) in [
        ("role", ErrorKind::Unsupported, "export-credentials"),
        ("half", ErrorKind::Usage, "aws configure sso --profile half"),
        ("default", ErrorKind::Usage, "aws configure --profile default"),
    ] {
        let error = CredentialProfile::of_files(name, &files, true).unwrap().unwrap().credentials(true).err().unwrap();
        assert_eq!(error.kind(), kind, "{error}");
        assert!(error.to_string().contains(says) && !error.to_string().contains("a=b"), "{error}");
    }
    assert!(CredentialProfile::of_files("wrk", &files, true).unwrap().is_none());
    assert!(missing("wrk", &files).to_string().contains("no profile \"wrk\""));
}
