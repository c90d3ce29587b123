use super::is_listing;

#[test]
fn listings_are_told_from_objects() {
    for target in ["/b?list-type=2&prefix=x", "/b/", "/b", "/", "/b/?list-type=2"] {
        assert!(is_listing(target), "{target}");
    }
    for target in ["/b/k", "/b/k/l?versionId=1", "/b/k?uploadId=list-type"] {
        assert!(!is_listing(target), "{target}");
    }
}
