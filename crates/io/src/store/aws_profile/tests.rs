#![allow(clippy::unwrap_used)]

use super::settings_of;
use crate::ErrorKind;

#[test]
fn keys_of_a_profile_are_read_from_both_files() {
    let folder = tempfile::tempdir().unwrap();
    let (config, credentials) = (folder.path().join("config"), folder.path().join("credentials"));
    std::fs::write(
        &config,
        "[default]\nregion=us-east-1\n[profile work]\nregion = eu-west-1\ns3 =\n  addressing_style = path\n# no\n\
         [profile sso]\nsso_session = x\n",
    )
    .unwrap();
    std::fs::write(
        &credentials,
        "[work]\naws_access_key_id = AKIA\naws_secret_access_key = a=b/c+d==\n[other]\naws_access_key_id=X\n",
    )
    .unwrap();
    let files = [config, credentials];
    let found = settings_of("work", &files).unwrap();
    let expected = [("aws_region", "eu-west-1"), ("aws_access_key_id", "AKIA"), ("aws_secret_access_key", "a=b/c+d==")];
    assert_eq!(found, expected.map(|(name, value)| (name, value.to_owned())));
    for (name, says) in [("sso", "export-credentials"), ("wrk", "no profile \"wrk\"")] {
        let error = settings_of(name, &files).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Usage);
        assert!(error.to_string().contains(says) && !error.to_string().contains("a=b"), "{error}");
    }
}
