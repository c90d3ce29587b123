#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;

use super::{STORE_KINDS, StoreKind};
use crate::store::azure::AZURE;
use crate::{ErrorKind, Job, Location, StorageOptions};

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
    for text in [
        "gs:///x",
        "az://",
        "abfss://c@/x",
        "abfss://c@account/x",
        // Credentials would go to a host that nobody knows.
        "abfss://c@account.dfs.example.org/x",
        "abfss://c@account.queue.core.windows.net/x",
        "https://",
        "https://host/x#y",
        "http://topsecret@host/x",
        "az://topsecret@container/x",
        "gs://topsecret@bucket/x",
        "s3://bucket/x?X-Amz-Signature=topsecret",
        "gs://bucket/x?X-Goog-Signature=topsecret",
        "az://container/x?sv=2024-11-04&sig=topsecret",
    ] {
        let error = Location::parse(text).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Usage, "{text}: {error}");
        assert!(!error.to_string().contains("topsecret"), "{error}");
    }
}

#[test]
fn each_cloud_of_azure_has_servers_of_its_own() {
    for (host, endpoint) in [
        ("account.dfs.core.windows.net", None),
        ("account.blob.core.windows.net", None),
        ("account.dfs.core.chinacloudapi.cn", Some("https://account.blob.core.chinacloudapi.cn")),
        ("account.dfs.core.usgovcloudapi.net", Some("https://account.blob.core.usgovcloudapi.net")),
        ("onelake.dfs.fabric.microsoft.com", Some("https://onelake.blob.fabric.microsoft.com")),
    ] {
        let rest = format!("c@{host}/x");
        let (address, _) = (AZURE.parse)("abfss", &rest, &rest).unwrap();
        assert_eq!(address.account_endpoint.as_deref(), endpoint, "{host}");
    }
}

#[test]
fn debug_texts_have_no_secrets() {
    let secret = "dG9wc2VjcmV0";
    for (url, options) in [
        ("s3://bucket/x", [("aws_access_key_id", "key"), ("aws_secret_access_key", secret), ("aws_region", "r")]),
        ("gs://bucket/x", [("google_bearer_token", secret), ("http_user", "u"), ("aws_region", "r")]),
        ("az://c/x", [("azure_storage_account_name", "a"), ("azure_storage_account_key", secret), ("aws_region", "r")]),
        ("https://host/x?token=dG9wc2VjcmV0", [("http_user", "u"), ("http_password", secret), ("aws_region", "r")]),
    ] {
        let options = StorageOptions::from_iter(options.map(|(name, value)| (name.to_owned(), value.to_owned())));
        let object = Location::parse(url).unwrap().object(&options, &Job::default()).unwrap();
        let text = format!("{object:?} {:#?}", object.store);
        // Of keys that were decoded, bytes are shown.
        assert!(!text.contains(secret) && !text.contains("116, 111, 112"), "{url}: {text}");
    }
}
