use super::{GROUPS_AT_MOST, deepest, is_too_deep};

fn varint(mut value: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
    bytes
}

/// A footer: the version, and a schema of groups with so many children each, in the order in which they stand there.
fn footer(children: &[usize]) -> Vec<u8> {
    let mut bytes = vec![0x15, 4, 0x19, 0xfc];
    bytes.extend(varint(children.len()));
    for children in children {
        // A name (field 4), and where it is a group the number of its children (field 5).
        bytes.extend([0x48, 1, b'x']);
        if *children > 0 {
            bytes.push(0x15);
            bytes.extend(varint(2 * children));
        }
        bytes.push(0);
    }
    bytes.push(0);
    bytes
}

#[test]
fn the_depth_is_that_of_the_deepest_element() {
    assert_eq!(deepest(&footer(&[2, 0, 0])), Some(1));
    assert_eq!(deepest(&footer(&[3, 1, 0, 2, 1, 0, 0, 0])), Some(3));
    assert_eq!(deepest(&footer(&[1, 1, 1, 0])), Some(3));
    let chain = |groups: usize| footer(&[vec![1; groups], vec![0]].concat());
    assert!(!is_too_deep(&chain(GROUPS_AT_MOST)));
    assert!(is_too_deep(&chain(GROUPS_AT_MOST + 1)));
    assert!(is_too_deep(&chain(160_000)));
    // Many columns next to one another are not deep.
    assert!(!is_too_deep(&footer(&[vec![50_000], vec![0; 50_000]].concat())));
}

#[test]
fn bytes_that_are_no_footer_say_nothing() {
    let whole = footer(&[2, 0, 0]);
    for length in 0..whole.len() - 1 {
        assert!(!is_too_deep(&whole[..length]), "{length} bytes");
    }
}
