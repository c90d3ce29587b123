#![allow(clippy::expect_used, clippy::unwrap_used, reason = "a test may panic")]

use super::{is_below_connection, resolve};

#[test]
fn other_locations_are_not_asked_of_a_file() {
    for location in ["a.parquet", "./@lake/a", "s3://lake/@a", "lake:a", "-", "C:\\a", "a@b"] {
        assert!(!is_below_connection(location));
        assert!(resolve(location).unwrap().is_none());
    }
    assert!(is_below_connection("@lake"));
}
