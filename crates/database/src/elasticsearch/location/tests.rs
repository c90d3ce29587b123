#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test may panic")]

use lakerace_io::ErrorKind;

use super::*;

#[test]
fn a_location_has_host_index_and_parameters() {
    let location =
        SearchLocation::parse("elasticsearch://es:9201/orders?op_type=create&keyword=a,b&gzip=false").unwrap();
    assert_eq!(location.base, "http://es:9201");
    assert_eq!(location.index, "orders");
    assert!(location.parameters.creates_only && !location.is_loopback);
    assert_eq!(location.parameters.keyword, ["a", "b"]);
    assert_eq!(location.parameters.gzip, Some(false));
}

#[test]
fn ports_are_those_of_the_transport() {
    assert_eq!(SearchLocation::parse("elasticsearch://127.0.0.1/i").unwrap().base, "http://127.0.0.1:9200");
    assert_eq!(SearchLocation::parse("elasticsearch://h:80/i").unwrap().base, "http://h:80");
    assert_eq!(SearchLocation::parse("elasticsearch+https://h/p/i").unwrap().base, "https://h:443/p");
}

#[test]
fn a_password_is_never_shown() {
    let location = SearchLocation::parse("elasticsearch+https://me:s%40cret@h:9243/i?query=%7B%7D").unwrap();
    assert_eq!(location.user, Some(("me".to_owned(), "s@cret".to_owned())));
    assert_eq!(location.shown, "elasticsearch+https://h:9243/i");
    for wrong in
        ["elasticsearch://me:s3cret@h:9243/", "elasticsearch://me:s3cret@h:x/i", "elasticsearch://me:s3cret@h/I"]
    {
        let error = SearchLocation::parse(wrong).err().unwrap();
        assert_eq!(error.kind(), ErrorKind::Usage);
        assert!(!format!("{error:?}").contains("s3cret"), "{error:?}");
    }
}

#[test]
fn names_of_several_indices_and_unknown_parameters_are_refused() {
    for wrong in
        ["a*", "a,b", "_all", "A", "i?foo=1", "i?gzip=1", "i?query=[]", "i?op_type=update", "i?gzip=true&gzip=true"]
    {
        assert!(SearchLocation::parse(&format!("elasticsearch://h/{wrong}")).is_err(), "{wrong}");
    }
}
