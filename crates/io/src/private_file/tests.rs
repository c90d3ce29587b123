#![allow(clippy::unwrap_used)]

use std::os::unix::fs::{FileExt, MetadataExt};

use super::*;

#[test]
fn a_private_file_has_no_name_and_no_other_reader() {
    let file = private_file().unwrap();
    file.write_all_at(b"rows", 3).unwrap();
    let mut bytes = [0; 4];
    file.read_exact_at(&mut bytes, 3).unwrap();
    assert_eq!(&bytes, b"rows");
    let metadata = file.metadata().unwrap();
    assert_eq!((metadata.mode() & 0o777, metadata.nlink()), (0o600, 0));
}
