#![allow(clippy::unwrap_used)]

use super::{DatumCursor, DatumForm, SHORT, TOO_LARGE};
use crate::avro::container::put_long;
use crate::avro::schema::AvroType;

/// The bytes that are left after a value, or the reason why there is none.
fn pass(kind: AvroType, bytes: &[u8]) -> Result<usize, &'static str> {
    let form = DatumForm::of_row(&[("c".to_owned(), kind)]);
    let mut cursor = DatumCursor { rest: bytes, memory_bytes: 0, most_bytes: 1 << 20 };
    form.pass(&mut cursor).map(|()| cursor.rest.len())
}

fn decimal(precision: u8, size: Option<usize>) -> AvroType {
    AvroType::Decimal { precision, scale: 0, size }
}

#[test]
fn values_end_where_they_do() {
    let list = || AvroType::Array(Box::new(AvroType::Long(None)));
    for (kind, bytes) in [
        (AvroType::Null, &b""[..]),
        (AvroType::Boolean, b"\x01"),
        (AvroType::Int(None), b"\x80\x01"),
        (AvroType::Float, b"abcd"),
        (AvroType::Double, b"abcdefgh"),
        (AvroType::Text, b"\x04\xc3\xa9"),
        (AvroType::Bytes, b"\x02\xff"),
        (AvroType::Fixed(3), b"abc"),
        (AvroType::Enum(vec!["a".to_owned()]), b"\x00"),
        (AvroType::Nullable(true, Box::new(AvroType::Text)), b"\x00"),
        (AvroType::Nullable(false, Box::new(AvroType::Text)), b"\x00\x02a"),
        (AvroType::Union(vec![AvroType::Null, AvroType::Boolean]), b"\x02\x00"),
        (list(), b"\x04\x02\x04\x00"),
        (list(), b"\x03\x04\x02\x04\x02\x06\x00"),
        (AvroType::Map(Box::new(AvroType::Boolean)), b"\x02\x02k\x01\x00"),
    ] {
        for n in 0..bytes.len() {
            assert_eq!(pass(kind.clone(), &bytes[..n]), Err(SHORT), "{kind:?} {n}");
        }
        assert_eq!(pass(kind, &[bytes, b"\xff\xff"].concat()), Ok(2));
    }
}

#[test]
fn bytes_that_are_no_value_are_refused() {
    for (kind, bytes, says) in [
        (AvroType::Boolean, &b"\x02"[..], "boolean"),
        (AvroType::Int(None), b"\x80\x80\x80\x80\x10", "32 bits"),
        (AvroType::Long(None), b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02", "64 bits"),
        (AvroType::Text, b"\x02\xff", "UTF-8"),
        (AvroType::Bytes, b"\x01", "negative"),
        (AvroType::Enum(vec!["a".to_owned()]), b"\x02", "enum"),
        (AvroType::Enum(vec!["a".to_owned()]), b"\x01", "enum"),
        (AvroType::Nullable(true, Box::new(AvroType::Null)), b"\x04", "union"),
        (AvroType::Nullable(true, Box::new(AvroType::Null)), b"\x01", "union"),
        (AvroType::Union(vec![AvroType::Null]), b"\x02", "union"),
        (AvroType::Duration, b"\0\0\0\x80\0\0\0\0\0\0\0\0", "duration"),
        (AvroType::Array(Box::new(AvroType::Boolean)), b"\x01\x04\x01\x00\x00", "another length"),
    ] {
        let fault = pass(kind.clone(), bytes).unwrap_err();
        assert!(fault.contains(says), "{kind:?}: {fault}");
    }
}

#[test]
fn decimals_have_no_more_digits_than_their_type() {
    assert_eq!(pass(decimal(3, None), b"\x04\x03\xe7"), Ok(0));
    assert_eq!(pass(decimal(3, None), b"\x04\xfc\x19"), Ok(0));
    assert_eq!(pass(decimal(3, None), b"\x00"), Ok(0));
    assert_eq!(pass(decimal(3, Some(2)), b"\x03\xe7"), Ok(0));
    for bytes in [&b"\x04\x03\xe8"[..], b"\x04\xfc\x18"] {
        assert!(pass(decimal(3, None), bytes).unwrap_err().contains("digits"));
    }
    let mut long = Vec::new();
    put_long(40, &mut long);
    long.extend_from_slice(&[0; 39]);
    long.push(7);
    assert_eq!(pass(decimal(3, None), &long), Ok(0));
    long[1] = 1;
    assert!(pass(decimal(76, None), &long).is_err());
}

#[test]
fn rows_that_take_much_memory_are_refused() {
    let count = |n: i64| {
        let mut bytes = Vec::new();
        put_long(n, &mut bytes);
        bytes
    };
    // As many items as an integer can state.
    for item in [AvroType::Null, AvroType::Record(Vec::new()), AvroType::Boolean] {
        assert_eq!(pass(AvroType::Array(Box::new(item)), &count(i64::MAX)), Err(SHORT));
    }
    let wide = AvroType::Nullable(true, Box::new(AvroType::Fixed(1 << 19)));
    let nulls = [count(3), vec![0, 0, 0], count(0)].concat();
    assert_eq!(pass(AvroType::Array(Box::new(wide)), &nulls), Err(TOO_LARGE));
}
