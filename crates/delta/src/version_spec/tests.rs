#![allow(clippy::unwrap_used)]

use lakerace_io::ErrorKind;

use super::VersionSpec;

#[test]
fn numbers_are_versions_and_the_rest_is_time() {
    assert_eq!("12".parse::<VersionSpec>().unwrap(), VersionSpec::Version(12));
    assert_eq!("1970-01-02".parse::<VersionSpec>().unwrap(), VersionSpec::Timestamp(86_400_000));
    assert_eq!("1970-01-01T00:00:01.5Z".parse::<VersionSpec>().unwrap(), VersionSpec::Timestamp(1500));
    assert_eq!("1970-01-01 01:00:00+01:00".parse::<VersionSpec>().unwrap(), VersionSpec::Timestamp(0));
    assert_eq!("1969-12-31 23:59:59.9995".parse::<VersionSpec>().unwrap(), VersionSpec::Timestamp(-1));
    for text in ["", "-1", "yesterday", "2026-13-01"] {
        assert_eq!(text.parse::<VersionSpec>().unwrap_err().kind(), ErrorKind::Usage, "{text}");
    }
}
