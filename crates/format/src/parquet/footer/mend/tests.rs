#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use super::*;

/// A chunk's metadata: physical type (field 1), offset of its data (9), then `rest`, inside of file, row group and chunk.
fn footer(rest: &[u8]) -> Vec<u8> {
    let chunk = [&[0x15, 2, 0x86, 8][..], rest, &[0]].concat();
    // File: version, one row group of one chunk, whose metadata is field 3.
    [&[0x15, 4, 0x39, 0x1c, 0x19, 0x1c, 0x3c][..], &chunk, &[0, 0, 0]].concat()
}

#[test]
fn a_footer_of_the_format_is_left_alone() {
    assert_eq!(without_wrong_fields(&footer(&[])), None);
    // Field 14 and 15 as they should be, and 200, which the format does not know: a list of booleans.
    assert_eq!(without_wrong_fields(&footer(&[0x56, 6, 0x15, 8])), None);
    assert_eq!(without_wrong_fields(&footer(&[0x09, 0x90, 0x03, 0x31, 1, 2, 1])), None);
}

#[test]
fn a_field_of_another_type_is_cut_out() {
    // Field 15 as a list of two structs, then field 16, which comes to stand seven after field 9.
    let wrong = footer(&[0x69, 0x2c, 0x15, 4, 0, 0x28, 2, 7, 7, 0, 0x1c, 0]);
    assert_eq!(without_wrong_fields(&wrong).unwrap(), footer(&[0x7c, 0]));
    // Field 2 as a list of strings, where the format has a list of numbers.
    let chunk = |lists: &[u8]| [&[0x15, 4, 0x39, 0x1c, 0x19, 0x1c, 0x3c, 0x15, 2][..], lists, &[0, 0, 0, 0]].concat();
    assert_eq!(without_wrong_fields(&chunk(&[0x19, 0x18, 1, b'x'])).unwrap(), chunk(&[]));
    assert_eq!(without_wrong_fields(&chunk(&[0x19, 0x08])), None);
}

#[test]
fn a_field_far_after_the_last_keeps_its_number() {
    // Fields 1 and 16 are wrong; field 30 comes 14 after them.
    let wrong = [&[0x15, 4, 0x39, 0x1c, 0x19, 0x1c, 0x3c][..], &[0x18, 0, 0xf5, 2, 0xe5, 9, 0], &[0, 0, 0]].concat();
    let right = [&[0x15, 4, 0x39, 0x1c, 0x19, 0x1c, 0x3c][..], &[0x05, 60, 9, 0], &[0, 0, 0]].concat();
    assert_eq!(without_wrong_fields(&wrong).unwrap(), right);
}

#[test]
fn bytes_that_are_no_footer_are_refused() {
    let whole = footer(&[0x69, 0x2c, 0x15, 4, 0, 0x28, 2, 7, 7, 0]);
    for length in 0..whole.len() {
        assert_eq!(without_wrong_fields(&whole[..length]), None, "{length} bytes");
    }
    // A list that claims more than there is, and lists in lists without an end.
    assert_eq!(without_wrong_fields(&footer(&[0x69, 0xfc, 0xff, 0xff, 0xff, 0xff, 0x0f])), None);
    assert_eq!(without_wrong_fields(&[&[0x19][..], &[0x19; 100]].concat()), None);
    assert_eq!(without_wrong_fields(&footer(&[0x6d])), None);
}
