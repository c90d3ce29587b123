#![allow(clippy::unwrap_used, clippy::panic)]

use std::io::Cursor;

use bytes::Bytes;
use lakerace_io::ErrorKind;

use super::{BlockScanner, FileHeader, StoredBlock, long_of, put_block, put_long};
use crate::avro::codec::MAX_BLOCK_BYTES;

const SYNC: [u8; 16] = *b"0123456789abcdef";

fn header() -> Vec<u8> {
    FileHeader::encode("{}", "null", [("note", "text"), ("avro.own", "left out")].into_iter(), &SYNC)
}

fn scanner(bytes: Vec<u8>, size: Option<u64>) -> BlockScanner {
    BlockScanner::new(Box::new(Cursor::new(bytes)), 0, size, SYNC)
}

fn fails(bytes: Vec<u8>, size: Option<u64>) -> lakerace_io::Error {
    let mut blocks = scanner(bytes, size);
    loop {
        match blocks.next_block() {
            Ok(Some(_)) => {}
            Ok(None) => panic!("the file should be damaged"),
            Err(error) => return error,
        }
    }
}

#[test]
fn integers_come_back_and_longer_ones_are_refused() {
    for value in [0, 1, -1, 63, 64, -64, -65, 1 << 40, i64::MAX, i64::MIN] {
        let mut bytes = Vec::new();
        put_long(value, &mut bytes);
        assert_eq!(long_of(&bytes), Some(value));
    }
    assert_eq!(long_of(&[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2]), None);
}

#[test]
fn a_header_needs_all_of_its_bytes() {
    let whole = Bytes::from(header());
    for n in 0..whole.len() {
        assert_eq!(FileHeader::parse(&whole.slice(..n)).unwrap(), None, "{n}");
    }
    let parsed = FileHeader::parse(&whole).unwrap().unwrap();
    assert_eq!((parsed.length, parsed.sync), (whole.len() as u64, SYNC));
    assert_eq!((parsed.schema().unwrap(), parsed.codec()), ("{}", Some(&b"null"[..])));
    assert_eq!(parsed.notes().collect::<Vec<_>>(), [("note".to_owned(), "text".to_owned())]);
}

#[test]
fn a_header_may_state_the_bytes_of_its_metadata() {
    let mut bytes = b"Obj\x01".to_vec();
    for count in [1, 1] {
        put_long(-count, &mut bytes);
        put_long(4, &mut bytes);
        bytes.extend_from_slice(b"\x02k\x02v");
    }
    put_long(0, &mut bytes);
    bytes.extend_from_slice(&SYNC);
    let parsed = FileHeader::parse(&Bytes::from(bytes)).unwrap().unwrap();
    assert_eq!(parsed.metadata.len(), 2);
    assert_eq!(parsed.schema().unwrap_err().kind(), ErrorKind::Corrupt);
}

#[test]
fn other_bytes_are_no_header() {
    let negative = b"Obj\x01\x02\x01";
    let endless = b"Obj\x01\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff";
    for bytes in [&b"PAR1"[..], b"Obj\x02", b"{}", negative, endless] {
        let error = FileHeader::parse(&Bytes::copy_from_slice(bytes)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corrupt, "{bytes:?}");
        assert!(error.to_string().contains("header, byte"), "{error}");
    }
}

#[test]
fn blocks_are_read_in_order_with_their_positions() {
    let mut bytes = Vec::new();
    put_block(3, b"abc", &SYNC, &mut bytes);
    let second = bytes.len() as u64;
    put_block(0, b"", &SYNC, &mut bytes);
    for size in [Some(bytes.len() as u64), None] {
        let mut blocks = scanner(bytes.clone(), size);
        let found: Vec<_> = std::iter::from_fn(|| blocks.next_block().unwrap()).collect();
        let wanted = [(0, 3, b"abc".to_vec()), (second, 0, Vec::new())];
        assert_eq!(found, wanted.map(|(at, rows, packed)| StoredBlock { at, rows, packed }));
    }
}

#[test]
fn a_truncated_block_is_an_error_at_its_position() {
    let mut bytes = Vec::new();
    put_block(1, b"first", &SYNC, &mut bytes);
    let second = bytes.len();
    put_block(2, b"second block", &SYNC, &mut bytes);
    for n in second + 1..bytes.len() {
        for size in [Some(n as u64), None] {
            let error = fails(bytes[..n].to_vec(), size);
            assert_eq!(error.kind(), ErrorKind::Corrupt);
            let says = error.to_string();
            assert!(says.contains(&format!("block at byte {second}")) && says.contains("truncated"), "{says}");
        }
    }
}

#[test]
fn a_wrong_sync_marker_is_an_error() {
    let mut bytes = Vec::new();
    put_block(1, b"first", b"fedcba9876543210", &mut bytes);
    let error = fails(bytes, None);
    assert_eq!(error.kind(), ErrorKind::Corrupt);
    assert!(error.to_string().contains("sync marker"), "{error}");
}

#[test]
fn a_huge_length_reserves_no_memory() {
    for (length, kind) in [(MAX_BLOCK_BYTES as i64, ErrorKind::Corrupt), (i64::MAX, ErrorKind::Unsupported)] {
        let mut bytes = Vec::new();
        put_long(1, &mut bytes);
        put_long(length, &mut bytes);
        bytes.extend_from_slice(b"few");
        assert_eq!(fails(bytes.clone(), None).kind(), kind);
        let size = bytes.len() as u64;
        assert_eq!(fails(bytes, Some(size)).kind(), ErrorKind::Corrupt);
    }
    for (rows, length) in [(-1, 0), (0, -1), (i64::MIN, 3)] {
        let mut bytes = Vec::new();
        put_long(rows, &mut bytes);
        put_long(length, &mut bytes);
        assert_eq!(fails(bytes, None).kind(), ErrorKind::Corrupt);
    }
}
