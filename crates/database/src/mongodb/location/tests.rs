#![allow(clippy::unwrap_used)]

use super::*;

#[test]
fn a_location_is_taken_apart_and_shows_no_credentials() {
    let location =
        MongoLocation::parse("mongodb://me:s%40cret@a:1,b:2/shop/orders.2024?tls=true&w=2&schema=infer&nulls=missing")
            .unwrap();
    assert_eq!(location.uri, "mongodb://me:s%40cret@a:1,b:2/?tls=true");
    assert_eq!((location.database.as_str(), location.collection.as_str()), ("shop", "orders.2024"));
    assert_eq!(location.to_string(), "mongodb://a:1,b:2/shop/orders.2024");
    assert_eq!(location.write_concern.w.as_deref(), Some("2"));
    assert!(location.infers_schema && location.skips_nulls && !location.mixed_as_json);
}

#[test]
fn wrong_locations_are_refused_without_their_credentials() {
    for wrong in [
        "mongodb:x",
        "mongodb://me:canary@/a/b",
        "mongodb://me:canary@h",
        "mongodb://me:canary@h/a",
        "mongodb://me:canary@h/a.b/c",
        "mongodb://me:canary@h/a/b$",
        "mongodb://me:canary@h/a/b?schema=canary",
        "mongodb://me:canary@h/a/b?w=0",
    ] {
        let error = MongoLocation::parse(wrong).err().unwrap();
        assert_eq!(error.kind(), lakerace_io::ErrorKind::Usage);
        assert!(!error.to_string().contains("canary"), "{error}");
    }
}
