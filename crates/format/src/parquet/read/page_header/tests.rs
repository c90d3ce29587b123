#![allow(clippy::unwrap_used)]

use proptest::prelude::*;

use super::{PageHeader, PageKind, parse};

/// A version 1 header: type, sizes, CRC, then the data header with statistics, which are passed over.
const DATA: &[u8] = &[
    0x15, 0x00, 0x15, 0xc8, 0x01, 0x15, 0x64, 0x15, 0x0e, 0x1c, 0x15, 0x14, 0x15, 0x10, 0x15, 0x06, 0x15, 0x06, 0x1c,
    0x18, 0x02, b'a', b'b', 0x00, 0x00, 0x00,
];

#[test]
fn a_data_page() {
    let (header, length) = parse(&[DATA, &[1, 2, 3]].concat()).unwrap().unwrap();
    assert_eq!(length, DATA.len());
    let kind = PageKind::Data { definition_encoding: 3 };
    assert_eq!(header, PageHeader { kind, values: 10, encoding: 8, stored_bytes: 50, plain_bytes: 100, crc: Some(7) });
}

#[test]
fn a_version_2_page() {
    let bytes = [
        0x15, 0x06, 0x15, 0x14, 0x15, 0x14, 0x5c, 0x15, 0x08, 0x15, 0x02, 0x15, 0x08, 0x15, 0x00, 0x15, 0x04, 0x15,
        0x00, 0x12, 0x00, 0x00,
    ];
    let (header, _) = parse(&bytes).unwrap().unwrap();
    let kind = PageKind::DataV2 { definition_bytes: 2, repetition_bytes: 0, nulls: 1, is_compressed: false };
    assert_eq!((header.kind, header.values, header.encoding), (kind, 4, 0));
}

#[test]
fn a_cut_header_asks_for_more() {
    for length in 0..DATA.len() {
        assert_eq!(parse(&DATA[..length]).unwrap(), None, "{length}");
    }
}

#[test]
fn negative_sizes_and_missing_fields_are_damage() {
    assert!(parse(&[0x15, 0x00, 0x15, 0x01, 0x15, 0x02, 0x00]).is_err());
    assert!(parse(&[0x15, 0x00, 0x00]).is_err());
}

proptest! {
    #[test]
    fn noise_does_no_harm(noise in prop::collection::vec(any::<u8>(), 0..300)) {
        let _ = parse(&noise);
    }
}
