#![allow(clippy::unwrap_used, clippy::panic)]

use std::path::PathBuf;

use super::{CredentialService, ProfileCredentials, ResolvedProfile};
use crate::ErrorKind;
use crate::store::s3::profile_files::{ProfileFiles, ProfileNeed};

const CONFIG: &str = "[default]\nregion=us-east-1\n[profile work]\nregion = eu-west-1\ns3 =\n  addressing_style = path\n# no\n\
    [profile sso]\nsso_session = company\nsso_account_id = 1\nsso_role_name = reader\n\
    [sso-session company]\nsso_start_url = https://company.example\nsso_region = eu-west-1\n\
    [profile half]\nsso_start_url = https://company.example\n\
    [profile process]\ncredential_process = /bin/print keys\n\
    [profile pod]\nrole_arn = arn:aws:iam::1:role/pod\nweb_identity_token_file = /token\n\
    [profile role]\nrole_arn = arn:aws:iam::1:role/x\nsource_profile = work\nrole_session_name = me\n\
    external_id = e\nduration_seconds = 900\n\
    [profile chained]\nrole_arn = arn:aws:iam::1:role/y\nsource_profile = role\n\
    [profile own]\nrole_arn = arn:aws:iam::1:role/own\nsource_profile = own\n\
    aws_access_key_id = OWN\naws_secret_access_key = s\n\
    [profile by-keys]\nrole_arn = arn:aws:iam::1:role/z\nsource_profile = own\n\
    [profile machine]\nrole_arn = arn:aws:iam::1:role/m\ncredential_source = Ec2InstanceMetadata\n\
    [profile by-pod]\nrole_arn = arn:aws:iam::1:role/p\nsource_profile = pod\n\
    [profile by-sso]\nrole_arn = arn:aws:iam::1:role/p\nsource_profile = sso\n\
    [profile self]\nrole_arn = r\nsource_profile = self\n\
    [profile one]\nrole_arn = r\nsource_profile = two\n\
    [profile two]\nrole_arn = r\nsource_profile = one\n\
    [profile gone]\nrole_arn = r\nsource_profile = nowhere\n\
    [profile bare]\nrole_arn = r\nsource_profile = default\n\
    [profile both]\nrole_arn = r\nsource_profile = work\ncredential_source = Environment\n\
    [profile neither]\nrole_arn = r\n\
    [profile unknown]\nrole_arn = r\ncredential_source = Cloud\n\
    [profile device]\nrole_arn = r\nsource_profile = work\nmfa_serial = arn:mfa\n\
    [profile long]\nrole_arn = r\nsource_profile = work\nduration_seconds = 1h\n";
const CREDENTIALS: &str =
    "[work]\naws_access_key_id = AKIA\naws_secret_access_key = a=b/c+d==\n[other]\naws_access_key_id=X\n";

fn files() -> ProfileFiles {
    let (_folder, paths) = paths();
    ProfileFiles::of_paths(&paths, ProfileNeed::Named, |warning| panic!("{warning}")).unwrap()
}

fn paths() -> (tempfile::TempDir, Vec<PathBuf>) {
    let folder = tempfile::tempdir().unwrap();
    let paths = vec![folder.path().join("config"), folder.path().join("credentials")];
    std::fs::write(&paths[0], CONFIG).unwrap();
    std::fs::write(&paths[1], CREDENTIALS).unwrap();
    (folder, paths)
}

fn resolved(files: &ProfileFiles, name: &str) -> ResolvedProfile {
    files.profile(name).unwrap().credentials(true).unwrap()
}

#[test]
fn keys_of_a_profile_are_read_from_both_files() {
    let files = files();
    let work = files.profile("work").unwrap();
    assert_eq!(work.settings().collect::<Vec<_>>(), [("aws_region", "eu-west-1")]);
    let base = resolved(&files, "work").base;
    let ProfileCredentials::Settings { settings, source, .. } = base else { panic!("keys") };
    let expected = [("aws_access_key_id", "AKIA"), ("aws_secret_access_key", "a=b/c+d==")];
    assert_eq!(settings, expected.map(|(name, value)| (name, value.to_owned())));
    assert_eq!(source, "the profile work");
    let pod = resolved(&files, "pod");
    let ProfileCredentials::Settings { settings, .. } = pod.base else { panic!("a role") };
    assert_eq!(settings[1], ("aws_web_identity_token_file", "/token".to_owned()));
    assert!(pod.roles.is_empty());
}

#[test]
fn providers_are_told_from_keys() {
    let files = files();
    for (name, says) in [("sso", "single sign-on"), ("process", "credential_process")] {
        let ProfileCredentials::Provider { source, .. } = resolved(&files, name).base else { panic!("{name}") };
        assert!(source.contains(says), "{source}");
    }
    let default = files.profile("default").unwrap().credentials(false).unwrap();
    assert!(matches!(default.base, ProfileCredentials::Absent) && default.roles.is_empty());
}

#[test]
fn roles_are_assumed_from_the_innermost_source_on() {
    let files = files();
    for (name, roles, base) in [
        ("role", vec!["x"], "the profile work"),
        ("chained", vec!["x", "y"], "the profile work"),
        ("own", vec!["own"], "the profile own"),
        // The keys of a source come before its own role.
        ("by-keys", vec!["z"], "the profile own"),
        ("by-pod", vec!["p"], "web identity of the profile pod"),
        ("by-sso", vec!["p"], "single sign-on of the profile sso"),
        ("machine", vec!["m"], "machine"),
    ] {
        let found = resolved(&files, name);
        let arns = found.roles.iter().map(|role| role.arn.rsplit('/').next().unwrap()).collect::<Vec<_>>();
        assert_eq!(arns, roles, "{name}");
        let source = match found.base {
            ProfileCredentials::Settings { source, .. } | ProfileCredentials::Provider { source, .. } => source,
            ProfileCredentials::Service { profile, service: CredentialService::MachineMetadata } => profile,
            _ => panic!("{name}"),
        };
        assert_eq!(source, base, "{name}");
    }
    let role = resolved(&files, "role").roles.remove(0);
    let given = (role.session_name.as_deref(), role.external_id.as_deref(), role.duration_seconds);
    assert_eq!(given, (Some("me"), Some("e"), Some(900)));
    assert_eq!(role.to_string(), "the role arn:aws:iam::1:role/x of the profile role");
}

#[test]
fn what_a_profile_lacks_is_said_with_the_command_that_adds_it() {
    let files = files();
    for (name, kind, says) in [
        ("half", ErrorKind::Usage, "aws configure sso --profile half"),
        ("default", ErrorKind::Usage, "aws configure --profile default"),
        ("self", ErrorKind::Usage, "form a circle: self, self"),
        ("one", ErrorKind::Usage, "form a circle: one, two, one"),
        ("gone", ErrorKind::Usage, "\"nowhere\" of the profile \"gone\" does not exist"),
        ("bare", ErrorKind::Usage, "\"default\" has no keys"),
        ("both", ErrorKind::Usage, "has both source_profile and credential_source"),
        ("neither", ErrorKind::Usage, "add source_profile or credential_source"),
        ("unknown", ErrorKind::Usage, "choose Environment, Ec2InstanceMetadata or EcsContainer"),
        ("device", ErrorKind::Unsupported, "export-credentials --profile device"),
        ("long", ErrorKind::Usage, "duration_seconds of the profile \"long\""),
    ] {
        let error = files.profile(name).unwrap().credentials(true).err().unwrap();
        assert_eq!(error.kind(), kind, "{error}");
        assert!(error.to_string().contains(says) && !error.to_string().contains("a=b"), "{error}");
        assert!(error.location().unwrap().contains("config"), "{error}");
    }
    assert!(files.profile("wrk").is_none());
    assert!(files.missing("wrk").to_string().contains("no profile \"wrk\""));
}

#[test]
fn a_line_that_is_no_entry_is_an_error_or_a_warning_with_its_place() {
    for (text, line) in [("[work]\nhunter2\n", "line 2"), ("[work]\na = b\n\u{fffd}", "line 3")] {
        let (_folder, paths) = paths();
        // The second one is cut within a character.
        let bytes = text.as_bytes();
        std::fs::write(&paths[1], &bytes[..bytes.len() - usize::from(line == "line 3")]).unwrap();
        for need in [ProfileNeed::Named, ProfileNeed::Credentials] {
            let error = ProfileFiles::of_paths(&paths, need, |warning| panic!("{warning}")).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Invalid);
            assert_eq!(error.location().unwrap(), format!("{}, {line}", paths[1].display()));
            assert!(!error.to_string().contains("hunter2"), "{error}");
        }
        let mut warnings = Vec::new();
        let files = ProfileFiles::of_paths(&paths, ProfileNeed::Places, |warning| warnings.push(warning)).unwrap();
        assert!(files.profile("work").is_some());
        assert_eq!(warnings.len(), 1);
        assert!(warnings[0].contains(line) && !warnings[0].contains("hunter2"), "{warnings:?}");
    }
}
