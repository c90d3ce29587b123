#![allow(clippy::unwrap_used)]

use super::*;

fn feed(options: &str) -> Result<Option<FeedVersions>> {
    FeedVersions::from_settings(&SparkSettings::parse(options)?)
}

#[test]
fn options_say_which_versions() {
    assert_eq!(feed(r#"{"readChangeFeed":"false"}"#).unwrap(), None);
    let both = r#"{"readChangeFeed":"TRUE","startingVersion":"3","endingVersion":"5"}"#;
    assert_eq!(feed(both).unwrap(), Some(FeedVersions { from: 3, to: Some(5) }));
    for (options, told) in [
        (r#"{"readchangefeed":"true"}"#, "needs a first version"),
        (r#"{"readchangefeed":"true","startingversion":"-1"}"#, "is not a version"),
        (r#"{"readchangefeed":"true","startingtimestamp":"2020-01-01"}"#, "not by time"),
        (r#"{"readchangefeed":"true","startingversion":"1","where":"a = 1"}"#, "no filter"),
    ] {
        let error = feed(options).unwrap_err().to_string();
        assert!(error.contains(told), "{error}");
    }
}
