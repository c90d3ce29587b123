#![allow(clippy::unwrap_used)]

use super::*;

#[test]
fn keys_are_checked_unless_spark_has_shuffled_by_them() {
    for (options, keys) in [
        (r#"{"write.distribution": "hash"}"#, PartKeys::Own),
        (r#"{"write.distribution": "ranges"}"#, PartKeys::Own),
        (r#"{"write.distribution": "none"}"#, PartKeys::Unknown),
        // What is asked for now is not what has happened.
        (r#"{"distribution": "hash"}"#, PartKeys::Unknown),
    ] {
        assert_eq!(part_keys(&SparkSettings::parse(options).unwrap()), keys, "{options}");
    }
}
