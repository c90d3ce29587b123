#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;

use super::{STORE_KINDS, StoreKind};
use crate::{ErrorKind, Location, StorageOptions};

#[test]
fn each_scheme_is_of_one_store_and_each_common_option_is_known() {
    let mut schemes = BTreeSet::new();
    for kind in STORE_KINDS {
        for scheme in kind.schemes {
            assert!(schemes.insert(*scheme), "{scheme}");
            assert_eq!(StoreKind::of_scheme(&scheme.to_ascii_uppercase()), Some(kind));
        }
        for option in kind.common_options {
            assert!(kind.knows_option(option), "{}: {option}", kind.name);
        }
        for address in kind.addresses {
            assert_eq!((kind.setting)(address).as_deref(), Some(*address), "{}", kind.name);
        }
    }
}

#[test]
fn unknown_options_name_the_nearest_of_each_store() {
    for (wrong, near) in [
        ("google_servce_account", "google_service_account"),
        ("azure_storage_account_nam", "azure_storage_account_name"),
        ("http_bearer_tokn", "http_bearer_token"),
        ("aws_regio", "aws_region"),
    ] {
        let error = StorageOptions::from_iter([(wrong.to_owned(), "x".to_owned())]).check_names().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Usage);
        assert!(error.to_string().contains(&format!("did you mean {near}?")), "{error}");
    }
}

#[test]
fn urls_are_taken_apart_and_put_together() {
    for (text, canonical) in [
        ("gs://bucket/a b/100%#?", "gs://bucket/a b/100%#?"),
        ("GCS://bucket/x", "gs://bucket/x"),
        ("az://container/x", "az://container/x"),
        ("azure://container/x", "az://container/x"),
        ("abfss://c@account.dfs.core.windows.net/x/y", "abfss://c@account.dfs.core.windows.net/x/y"),
        ("s3a://bucket/x", "s3://bucket/x"),
        ("https://host:8443/a%20b/%C3%A4.csv?v=1", "https://host:8443/a b/ä.csv?v=1"),
        ("http://host:80/x", "http://host/x"),
    ] {
        let location = Location::parse(text).unwrap();
        assert_eq!(location.canonical(), canonical, "{text}");
        assert!(!location.as_str().contains("v=1"), "{text}");
    }
    for text in
        ["gs:///x", "az://", "abfss://c@/x", "abfss://c@account/x", "https://", "https://host/x#y", "http://a:b@host/x"]
    {
        let error = Location::parse(text).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Usage, "{text}: {error}");
        assert!(!error.to_string().contains("a:b"), "{error}");
    }
}
